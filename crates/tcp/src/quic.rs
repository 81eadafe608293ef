//! A QUIC connection as a sans-IO state machine (RFC 9000, 9001, 9002).
//!
//! [`Connection`] takes datagrams and the time, and gives datagrams, events and the time of its next timer. It counts
//! data and does not carry or encrypt them. It shares congestion controls, delivery rates, the round-trip estimator
//! and intervals with TCP's endpoints.
//!
//! * `wire`: datagrams, their frames and sizes.
//! * `handshake`: TLS 1.3, address validation, packet number spaces with keys.
//! * `received`: packet numbers received, and when to acknowledge them.
//! * `sent`: packets in flight.
//! * `space`: a packet number space.
//! * `loss`: detection of losses, PTO, persistent congestion.
//! * `window`: congestion window, recovery periods, pacing.
//! * `ecn`: ECN validation.
//! * `send_buffer`, `stream`, `streams`: data of streams, flow control; `line`: the order of streams; `totals`: sums over them.
//! * `receive`, `transmit`, `timeout`: input, output and timers of a connection.

mod ecn;
mod handshake;
mod line;
mod loss;
mod path;
mod receive;
mod received;
mod rtt;
mod send_buffer;
mod sent;
mod space;
mod status;
mod stream;
mod streams;
mod timeout;
mod totals;
mod transmit;
mod values;
mod window;
mod wire;

use aqmlab_units::{Duration, Time};

use self::ecn::Validation;
use self::handshake::{Handshake, Role};
use self::path::PathValidation;
use self::rtt::PathRtt;
use self::space::PacketSpace;
use self::streams::Streams;
use self::window::Window;
use self::wire::Space;
use crate::congestion::CongestionControl;
use crate::timer::Timer;
use crate::{Event, Profile, RecoveryCounts};

pub use self::streams::{Priority, StreamId};
pub use self::values::{HandshakeForm, QuicValues};
pub use self::wire::Datagram;
pub(crate) use self::wire::HANDSHAKE_DATAGRAM;

/// One end of a QUIC connection.
#[derive(Debug)]
pub struct Connection<C> {
    /// Its part in the handshake.
    role: Role,
    /// A client with 0-RTT lets its application write before its first flight leaves.
    opens_early: bool,
    is_closed: bool,
    handshake: Handshake,
    spaces: [PacketSpace; 3],
    streams: Streams,
    window: Window<C>,
    rtt: PathRtt,
    ecn: Validation,
    path: PathValidation,
    /// Expires for losses by time and for PTO (RFC 9002 §6).
    loss_timer: Timer,
    /// Runs while an acknowledgement is delayed.
    ack_timer: Timer,
    /// Runs while a packet waits for the pacer.
    pacing_timer: Timer,
    /// Expirations of the PTO since the last acknowledgement.
    pto_count: u8,
    /// Packets tracked so far, over all spaces.
    tracked: u32,
    started: Time,
    connect_timeout: Duration,
    idle_timeout: Duration,
    /// Arrival of the last packet, or departure of the first one after that.
    idle_since: Time,
    events: Events,
    counts: RecoveryCounts,
    /// Stream bytes sent, delivered and marked.
    sent_bytes: u32,
    delivered_bytes: u32,
    marked_bytes: u64,
}

/// Events for the application that have not been polled.
#[derive(Clone, Copy, Debug, Default)]
struct Events([bool; 4]);

/// Their order is the order in which applications expect events.
const EVENTS: [Event; 4] = [Event::Opened, Event::Received, Event::PeerClosed, Event::Aborted];

impl Events {
    fn set(&mut self, event: Event) {
        let index = EVENTS.iter().position(|&known| known == event).expect("all events are listed");
        self.0[index] = true;
    }

    fn any(self) -> bool {
        self.0.contains(&true)
    }

    fn take(&mut self) -> Option<Event> {
        let index = self.0.iter().position(|&is_set| is_set)?;
        self.0[index] = false;
        Some(EVENTS[index])
    }
}

impl<C: CongestionControl> Connection<C> {
    /// `listen()`: a server that waits for a client.
    pub fn listen(profile: &Profile, now: Time) -> Connection<C> {
        Connection::new(Role::Server, profile, now)
    }

    /// `connect()`: a client with its first flight to send.
    pub fn connect(profile: &Profile, now: Time) -> Connection<C> {
        Connection::new(Role::Client, profile, now)
    }

    fn new(role: Role, profile: &Profile, now: Time) -> Connection<C> {
        let mut connection = Connection {
            role,
            opens_early: false,
            is_closed: false,
            handshake: Handshake::new(role, profile),
            spaces: [(); 3].map(|()| PacketSpace::default()),
            streams: Streams::new(profile),
            window: Window::new(profile, now),
            rtt: PathRtt::new(profile),
            ecn: Validation::new(profile),
            path: PathValidation::new(role),
            loss_timer: Timer::OFF,
            ack_timer: Timer::OFF,
            pacing_timer: Timer::OFF,
            pto_count: 0,
            tracked: 0,
            started: now,
            connect_timeout: profile.connect_timeout,
            idle_timeout: profile.quic_values().idle_timeout,
            idle_since: now,
            events: Events::default(),
            counts: RecoveryCounts::default(),
            sent_bytes: 0,
            delivered_bytes: 0,
            marked_bytes: 0,
        };
        if role == Role::Client {
            connection.write_flight(Space::Initial);
            if connection.handshake.is_zero_rtt() {
                connection.opens_early = true;
                // It remembers the limits of the earlier connection (RFC 9000 §7.4.1), as of a server like itself.
                let remembered = connection.handshake.own;
                connection.streams.take_limits(&remembered);
            }
        }
        connection
    }

    /// Open a stream that the peer may answer on, as client. Those of a lower urgency value come first (RFC 9218 §4.1);
    /// those of the same urgency that have turns take them.
    pub fn open_stream(&mut self, priority: Priority) -> StreamId {
        self.streams.open(priority)
    }

    /// Give a stream that the peer has opened its priority.
    pub fn prioritize_stream(&mut self, id: StreamId, priority: Priority) {
        self.streams.prioritize(id, priority);
    }

    /// Append `bytes` to the data of a stream. Data written and not yet acknowledged must stay below 2^31 bytes.
    pub fn write_stream(&mut self, id: StreamId, bytes: u32) {
        self.note_app_limited();
        self.streams.write(id, bytes);
    }

    /// No more data follow on a stream.
    pub fn finish_stream(&mut self, id: StreamId) {
        self.streams.finish(id);
    }

    /// Return a stream whose data have all arrived, the first stream excepted. Each is returned once, after
    /// [`Event::Received`].
    pub fn poll_complete(&mut self) -> Option<StreamId> {
        self.streams.poll_complete()
    }

    /// [`Connection::write_stream`] on the first stream.
    pub fn write(&mut self, bytes: u32) {
        self.write_stream(StreamId::FIRST, bytes);
    }

    /// Take back the data of the first stream that were written and never sent. Returns their number.
    pub(crate) fn withdraw(&mut self) -> u32 {
        self.streams.withdraw()
    }

    /// Finish all streams: no more data follow.
    pub fn close(&mut self) {
        if !self.handshake.has_begun() {
            self.is_closed = true;
        }
        self.streams.finish_all();
    }

    /// Ask for [`Event::Received`] when `bytes` more have arrived in order on the first stream.
    pub fn await_data(&mut self, bytes: u32) {
        self.streams.await_data(bytes);
    }

    /// True if [`Connection::poll_event`] has an event.
    pub fn has_event(&self) -> bool {
        self.events.any()
    }

    /// Return the next event for the application.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.take()
    }

    /// Give the connection up, and notify the application unless it has closed.
    fn abort(&mut self) {
        if !self.streams.is_finished() {
            self.events.set(Event::Aborted);
        }
        self.is_closed = true;
    }
}

#[cfg(test)]
mod tests;
