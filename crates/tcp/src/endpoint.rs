//! One end of a connection.
//!
//! Its life is RFC 9293's state diagram ([`State`]); what arrives is handled in `receive`, what leaves in `transmit`, what
//! expires in `timeout`.

mod receive;
mod timeout;
mod transmit;

use std::mem::offset_of;

use aqmlab_units::Time;

use crate::congestion::CongestionControl;
use crate::core::{Core, Status};
use crate::timer::TimerKind;
use crate::{Basic, Full, LimitedBy, Profile, RecoveryCounts, Sender, Seq, State};

/// What an endpoint tells its application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The handshake is complete.
    Opened,
    /// As much as [`Endpoint::await_data`] asked for has arrived in order.
    Received,
    /// The peer will send no more.
    PeerClosed,
    /// The connection was refused, reset or given up.
    Aborted,
}

/// One end of a TCP connection: what its sender keeps of it, and what all have in common.
#[derive(Debug)]
#[repr(C)]
pub struct Endpoint<S: Sender = Basic> {
    sender: S,
    core: Core,
}

// An undisturbed transfer stays within one cache line, and an endpoint leaves room for the engine's own in two.
const _: () = assert!(Basic::HOT == 64 && size_of::<Endpoint>() <= 112);
const _: () = assert!(offset_of!(Endpoint, core) + Core::COLD_FROM == Basic::HOT);

impl<S: Sender> Endpoint<S> {
    /// `connect()`: a client that has a SYN to send.
    pub fn connect(profile: &Profile, now: Time) -> Endpoint<S> {
        let mut endpoint = Endpoint::in_state(State::SynSent, profile, now);
        endpoint.core.status.set(Status::SYN_DUE);
        endpoint
    }

    /// `listen()`: a server that waits for a SYN.
    pub fn listen(profile: &Profile, now: Time) -> Endpoint<S> {
        Endpoint::in_state(State::Listen, profile, now)
    }

    /// [`Endpoint::connect`] in the place of an endpoint whose connection is over, with what that has allocated.
    pub fn reconnect(&mut self, profile: &Profile, now: Time) {
        self.reuse(State::SynSent, profile, now);
        self.core.status.set(Status::SYN_DUE);
    }

    /// [`Endpoint::listen`] in such a place.
    pub fn relisten(&mut self, profile: &Profile, now: Time) {
        self.reuse(State::Listen, profile, now);
    }

    fn in_state(state: State, profile: &Profile, now: Time) -> Endpoint<S> {
        Endpoint { sender: S::new(profile, now), core: Core::new(state, profile, now) }
    }

    fn reuse(&mut self, state: State, profile: &Profile, now: Time) {
        self.sender.reset(profile, now);
        self.core = Core::new(state, profile, now);
    }

    /// `write()`: `bytes` more to send. They leave with the next [`Endpoint::poll_transmit`]s as the windows allow.
    /// What is written and not yet acknowledged must stay below 2^31 bytes.
    pub fn write(&mut self, bytes: u32) {
        debug_assert!(!self.core.status.any(Status::CLOSED), "data written after close()");
        self.sender.on_write(&self.core);
        self.core.snd_end += bytes;
    }

    /// `close()`: no more will be written; a FIN follows the data.
    pub fn close(&mut self) {
        match self.core.state {
            State::Listen | State::SynSent => self.core.enter_closed(),
            _ => self.core.status.set(Status::CLOSED),
        }
    }

    /// Ask for [`Event::Received`] once `bytes` beyond those already received have come (a socket's `SO_RCVLOWAT`).
    pub fn await_data(&mut self, bytes: u32) {
        debug_assert!(bytes > 0, "waiting for no data");
        // Before the handshake `rcv_nxt` is still 0 and the peer's SYN will take that number.
        let first = if matches!(self.core.state, State::SynSent | State::Listen) {
            Seq::new(1)
        } else {
            self.core.rcv_nxt
        };
        self.core.rcv_low_water = first + bytes;
        self.core.status.set(Status::AWAITING);
    }

    /// Is there anything for [`Endpoint::poll_event`] to tell?
    #[inline]
    pub fn has_news(&self) -> bool {
        self.core.status.any(Status::EVENTS)
    }

    /// The next thing to tell the application. May answer anew after a segment or a timeout.
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        // The lowest bit first: their order is the order in which applications expect events.
        let first = self.core.status.first(Status::EVENTS);
        self.core.status.clear(first);
        match first {
            Status::EVENT_OPENED => Some(Event::Opened),
            Status::EVENT_RECEIVED => Some(Event::Received),
            Status::EVENT_PEER_CLOSED => Some(Event::PeerClosed),
            Status::EVENT_ABORTED => Some(Event::Aborted),
            _ => None,
        }
    }

    /// When [`Endpoint::handle_timeout`] is next due; [`Time::MAX`] when no timer runs. May change after any call.
    #[inline]
    pub fn poll_timeout(&self) -> Time {
        if self.core.state == State::Closed {
            return Time::MAX;
        }
        let common = self.retransmit_deadline().min(self.delayed_ack_deadline());
        S::TIMERS.iter().fold(common, |first, &timer| first.min(self.sender.deadline(timer)))
    }

    /// When each timer expires; [`Time::MAX`] for one that is off.
    pub fn deadlines(&self) -> [(TimerKind, Time); TimerKind::ALL.len()] {
        TimerKind::ALL.map(|timer| {
            let deadline = match timer {
                TimerKind::Retransmission => self.retransmit_deadline(),
                TimerKind::DelayedAck => self.delayed_ack_deadline(),
                _ if self.core.state == State::Closed => Time::MAX,
                own => self.sender.deadline(own),
            };
            (timer, deadline)
        })
    }

    /// When the retransmission timer expires; [`Time::MAX`] when it is off.
    #[inline]
    pub fn retransmit_deadline(&self) -> Time {
        self.core.retransmit_timer.deadline()
    }

    /// When a held-back acknowledgement is due; [`Time::MAX`] when none is.
    #[inline]
    pub fn delayed_ack_deadline(&self) -> Time {
        self.core.delayed_ack_deadline()
    }

    /// The state of the connection.
    #[inline]
    pub fn state(&self) -> State {
        self.core.state
    }

    /// The congestion control.
    pub fn congestion(&self) -> &S::Congestion {
        self.sender.congestion()
    }

    /// What recovery has cost so far.
    pub fn recovery(&self) -> RecoveryCounts {
        self.core.recovery
    }

    /// Is it repairing a loss that duplicate acknowledgements told of?
    pub fn in_recovery(&self) -> bool {
        self.core.status.any(Status::IN_RECOVERY)
    }

    /// Does it miss data that came before others which have arrived?
    pub fn has_gap(&self) -> bool {
        self.core.status.any(Status::OUT_OF_ORDER)
    }

    /// The reason why it sends no more at the moment. Between calls: after an event [`Endpoint::poll_transmit`] comes first.
    pub fn limited_by(&self, profile: &Profile) -> LimitedBy {
        self.sender.limited_by(&self.core, profile)
    }

    /// Bytes sent and not acknowledged.
    pub fn in_flight(&self) -> u32 {
        self.core.in_flight()
    }

    /// One past the highest byte ever sent.
    #[inline]
    pub fn highest_sent(&self) -> Seq {
        self.core.snd_max
    }

    /// Bytes of the peer's data received in order.
    pub fn received(&self) -> Seq {
        self.core.rcv_nxt
    }

    /// Give the connection up, and tell the application unless it has already closed.
    fn abort(&mut self) {
        if !self.core.status.any(Status::CLOSED) {
            self.core.status.set(Status::EVENT_ABORTED);
        }
        self.core.enter_closed();
    }
}

impl<C: CongestionControl> Endpoint<Full<C>> {
    /// Bytes estimated to be in the network (RFC 6675 §4).
    pub fn pipe(&self) -> u32 {
        self.sender.pipe()
    }
}
