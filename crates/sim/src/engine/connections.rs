//! The open connections: two endpoints each, and their content.

use aqmlab_tcp::{Endpoint, Profile, RecoveryCounts, Sender, State};
use aqmlab_units::{Duration, Time};

use super::content::Content;
use super::hosts::{AccessPath, Interface, StackId, Stacks};
use super::prefetch::{prefetch, prefetch_start};
use crate::capture::ConnectionOrigin;
use crate::packet::{EndpointId, Owner};
use crate::side::Side;

/// Bits of [`Socket::delay_and_stack`] for the delay.
const DELAY_BITS: u32 = 26;

/// One end of a connection in the network. Aligned so that an undisturbed transfer stays within one cache line.
#[derive(Debug)]
#[repr(C, align(128))]
pub(super) struct Socket<S: Sender> {
    /// Packets received by this end; wraps.
    received: u16,
    /// The interface through which it sends.
    interface: Interface,
    /// The low 26 bits: the delay that the path adds to each packet that it sends, in microseconds. The six bits
    /// above: the number of its stack.
    delay_and_stack: u32,
    pub(super) tcp: Endpoint<S>,
    /// Packets sent by this end that were not dropped.
    sent: u64,
}

/// The content of a connection and its accounts, needed only at the edges of an exchange.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) content: Content,
    owner: Owner,
    /// True if the connection is in use; false if the slot is free.
    open: bool,
    /// True while it is in the ring of timers to inspect.
    pub(super) watched: bool,
    /// Recoveries of both ends at the end of the previous exchange.
    at_request: RecoveryCounts,
    /// Its index among its owner's open connections.
    place: usize,
}

impl Session {
    pub(super) fn owner(&self) -> Owner {
        self.owner
    }
}

/// A connection to be opened.
#[derive(Debug)]
pub(super) struct Opening {
    pub(super) content: Content,
    pub(super) origin: ConnectionOrigin,
    /// The side of its client.
    pub(super) side: Side,
    /// The machine of its server; `None` for a source's own.
    pub(super) host: Option<u16>,
    /// The access paths of client and server.
    pub(super) access: [AccessPath; 2],
    pub(super) stacks: [StackId; 2],
}

/// All connections. Slots are reused, separately for each side, the last one freed first, because it is in the
/// cache.
#[derive(Debug)]
pub(super) struct Connections<S: Sender> {
    sockets: Vec<Socket<S>>,
    sessions: Vec<Session>,
    free: [Vec<u32>; 2],
    /// Clients of the open connections, by owner.
    open: Vec<Vec<EndpointId>>,
    /// Packets of closed connections, and packets dropped, by owner.
    packets: Vec<PacketFates>,
}

/// Outcomes of packets, of both directions together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PacketFates {
    /// Packets sent and not dropped.
    through: u64,
    pub(super) lost: u64,
}

impl PacketFates {
    pub(super) fn sent(self) -> u64 {
        self.through + self.lost
    }
}

impl<S: Sender> Socket<S> {
    /// Return a socket that is not in use yet.
    fn new(stacks: &Stacks, now: Time) -> Socket<S> {
        let tcp = Endpoint::listen(stacks.profile(StackId::default()), now);
        Socket { received: 0, interface: Interface::default(), delay_and_stack: 0, tcp, sent: 0 }
    }

    /// Make it the end of another connection, which `start` starts.
    fn open(&mut self, stack: StackId, access: AccessPath, start: impl FnOnce(&mut Endpoint<S>)) {
        let delay = u32::try_from(access.delay.as_micros()).expect("round-trip times are at most a minute");
        debug_assert!(delay >> DELAY_BITS == 0, "the bits above are those of the stack");
        self.delay_and_stack = delay | u32::from(stack.0) << DELAY_BITS;
        self.interface = access.interface;
        (self.received, self.sent) = (0, 0);
        start(&mut self.tcp);
    }

    #[inline]
    pub(super) fn stack(&self) -> StackId {
        StackId((self.delay_and_stack >> DELAY_BITS) as u8)
    }

    #[inline]
    pub(super) fn sent_packet(&mut self) {
        self.sent += 1;
    }

    #[inline]
    pub(super) fn received_packet(&mut self) {
        self.received = self.received.wrapping_add(1);
    }

    /// The delay that the path adds to each packet that this end sends.
    #[inline]
    pub(super) fn delay(&self) -> Duration {
        Duration::from_micros(u64::from(self.delay_and_stack & ((1 << DELAY_BITS) - 1)))
    }

    /// The interface through which it sends.
    #[inline]
    pub(super) fn interface(&self) -> Interface {
        self.interface
    }

    /// Packets in the network from this end to `peer`.
    #[expect(clippy::cast_possible_truncation, reason = "`received` has as many bits")]
    fn in_network(&self, peer: &Socket<S>) -> u16 {
        (self.sent as u16).wrapping_sub(peer.received)
    }
}

impl<S: Sender> Connections<S> {
    /// Return connections for `owners` owners, none of them open.
    pub(super) fn new(owners: usize) -> Connections<S> {
        Connections {
            sockets: Vec::new(),
            sessions: Vec::new(),
            free: Default::default(),
            open: vec![Vec::new(); owners],
            packets: vec![PacketFates::default(); owners],
        }
    }

    /// Open a connection. Returns its client.
    pub(super) fn open(&mut self, opening: Opening, stacks: &Stacks, now: Time) -> EndpointId {
        let Opening { content, origin, side, access, stacks: [client, server], .. } = opening;
        let slot = self.free[side.index()].pop().unwrap_or_else(|| self.grow(side, stacks, now));
        let id = EndpointId::client(slot, side);
        let profile = stacks.profile(client);
        self.socket_mut(id).open(client, access[0], |tcp| tcp.reconnect(profile, now));
        let profile = stacks.profile(server);
        self.socket_mut(id.peer()).open(server, access[1], |tcp| tcp.relisten(profile, now));
        let owner = origin.owner();
        let open = &mut self.open[owner.index()];
        let place = open.len();
        open.push(id);
        let session = &mut self.sessions[id.connection()];
        let (watched, at_request) = (session.watched, RecoveryCounts::default());
        *session = Session { content, owner, open: true, watched, at_request, place };
        id
    }

    /// Add slots for one more connection on each side. Returns that of `side`.
    fn grow(&mut self, side: Side, stacks: &Stacks, now: Time) -> u32 {
        let slot = u32::try_from(self.sessions.len() / 2).expect("fewer than 2^29 connections");
        for _ in 0..2 {
            for _ in 0..2 {
                self.sockets.push(Socket::new(stacks, now));
            }
            self.sessions.push(Session {
                content: Content::Nothing,
                owner: Owner::default(),
                open: false,
                watched: false,
                at_request: RecoveryCounts::default(),
                place: 0,
            });
        }
        self.free[side.other().index()].push(slot);
        slot
    }

    /// Prefetch an endpoint that will be needed soon.
    #[inline]
    pub(super) fn prefetch(&self, id: EndpointId) {
        prefetch_start(&self.sockets, id.index(), S::HOT);
    }

    /// Prefetch both ends of a connection that will be inspected soon.
    #[inline]
    pub(super) fn prefetch_both(&self, client: EndpointId) {
        prefetch(&self.sessions, client.connection());
        prefetch(&self.sockets, client.index());
        prefetch(&self.sockets, client.peer().index());
    }

    #[inline]
    pub(super) fn socket(&self, id: EndpointId) -> &Socket<S> {
        &self.sockets[id.index()]
    }

    #[inline]
    pub(super) fn socket_mut(&mut self, id: EndpointId) -> &mut Socket<S> {
        &mut self.sockets[id.index()]
    }

    /// Return an end, and the profile of its stack.
    #[inline(always)]
    pub(super) fn with_profile<'a>(
        &mut self,
        id: EndpointId,
        stacks: &'a Stacks,
    ) -> (&mut Socket<S>, &'a Profile) {
        let socket = &mut self.sockets[id.index()];
        let profile = stacks.profile(socket.stack());
        (socket, profile)
    }

    pub(super) fn session(&self, id: EndpointId) -> &Session {
        &self.sessions[id.connection()]
    }

    pub(super) fn session_mut(&mut self, id: EndpointId) -> &mut Session {
        &mut self.sessions[id.connection()]
    }

    pub(super) fn is_open(&self, id: EndpointId) -> bool {
        self.sessions[id.connection()].open
    }

    /// The clients of an owner's open connections.
    pub(super) fn open_of(&self, owner: usize) -> &[EndpointId] {
        &self.open[owner]
    }

    /// Take the recoveries of both ends since the last call, at the end of the previous exchange.
    pub(super) fn take_recovery(&mut self, id: EndpointId) -> RecoveryCounts {
        let total = self.recovery(id);
        total - std::mem::replace(&mut self.sessions[id.connection()].at_request, total)
    }

    fn recovery(&self, id: EndpointId) -> RecoveryCounts {
        self.socket(id).tcp.recovery() + self.socket(id.peer()).tcp.recovery()
    }

    /// Free the slot of a connection whose ends are done and which has no packet left in the network.
    pub(super) fn release_if_done(&mut self, id: EndpointId) {
        let (end, peer) = (self.socket(id), self.socket(id.peer()));
        let is_quiet = end.in_network(peer) == 0 && peer.in_network(end) == 0;
        if is_quiet && is_done(end.tcp.state()) && is_done(peer.tcp.state()) {
            let sent = end.sent + peer.sent;
            let session = &mut self.sessions[id.connection()];
            if std::mem::replace(&mut session.open, false) {
                let (owner, place) = (session.owner.index(), session.place);
                self.packets[owner].through += sent;
                self.free[id.side().index()].push(id.slot());
                self.open[owner].swap_remove(place);
                if let Some(moved) = self.open[owner].get(place) {
                    self.sessions[moved.connection()].place = place;
                }
            }
        }
    }

    /// Record that a packet sent by this end was dropped.
    pub(super) fn lost_packet(&mut self, id: EndpointId) {
        self.socket_mut(id).sent -= 1;
        self.packets[self.sessions[id.connection()].owner.index()].lost += 1;
    }

    /// Record that the network has made a second copy of a packet sent by this end.
    pub(super) fn copied_packet(&mut self, id: EndpointId) {
        self.socket_mut(id).sent += 1;
    }

    /// The outcomes of each owner's packets since the start of the run.
    pub(super) fn packets(&self) -> Vec<PacketFates> {
        let mut packets = self.packets.clone();
        for (session, ends) in self.sessions.iter().zip(self.sockets.chunks_exact(2)) {
            if session.open {
                let through = &mut packets[session.owner.index()].through;
                *through += ends.iter().map(|end| end.sent).sum::<u64>();
            }
        }
        packets
    }

    /// The number of packets in the network.
    pub(super) fn packets_in_network(&self) -> u64 {
        let pairs = self.sockets.chunks_exact(2);
        pairs
            .map(|pair| u64::from(pair[0].in_network(&pair[1])) + u64::from(pair[1].in_network(&pair[0])))
            .sum()
    }
}

/// True if the handshake is complete at an endpoint in this state, and the connection is not over (RFC 9293 §3.3.2).
pub(super) fn is_synchronized(state: State) -> bool {
    !matches!(state, State::SynSent | State::SynReceived | State::Listen | State::Closed)
}

/// True if an endpoint in this state does nothing more unless a packet arrives.
#[inline]
pub(super) fn is_done(state: State) -> bool {
    matches!(state, State::Closed | State::TimeWait | State::Listen)
}
