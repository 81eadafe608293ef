//! One end of a connection.
//!
//! It follows RFC 9293's state diagram ([`State`]). `receive` handles segments, `transmit` builds them, and
//! `timeout` handles timers.

mod receive;
mod timeout;
mod transmit;

use std::mem::offset_of;

use aqmlab_units::Time;

use crate::congestion::{CongestionControl, MAX_WINDOW};
use crate::core::{Core, Status};
use crate::quic::Connection;
use crate::timer::TimerKind;
use crate::{Basic, Full, Info, LimitedBy, Profile, RecoveryCounts, Sender, Seq, State};

/// Events for the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The handshake is complete.
    Opened,
    /// The data that [`Endpoint::await_data`] asked for have arrived in order.
    Received,
    /// The peer will send no more.
    PeerClosed,
    /// The connection was refused, reset or given up.
    Aborted,
}

/// One end of a TCP connection: the part of its sender, and the part that all senders share.
#[derive(Debug)]
#[repr(C)]
pub struct Endpoint<S: Sender = Basic> {
    sender: S,
    core: Core,
}

// The fields of an undisturbed transfer fit one cache line. An endpoint leaves room for the engine's state in
// two.
const _: () = assert!(Basic::HOT == 64 && size_of::<Endpoint>() <= 112);
const _: () = assert!(offset_of!(Endpoint, core) + Core::COLD_FROM == Basic::HOT);

impl<S: Sender> Endpoint<S> {
    /// `connect()`: a client that has a SYN to send.
    pub fn connect(profile: &Profile, now: Time) -> Endpoint<S> {
        let mut endpoint = Endpoint::with_state(State::SynSent, profile, now);
        endpoint.begin_connect(profile, now);
        endpoint
    }

    /// `listen()`: a server that waits for a SYN.
    pub fn listen(profile: &Profile, now: Time) -> Endpoint<S> {
        Endpoint::with_state(State::Listen, profile, now)
    }

    /// [`Endpoint::connect`], reusing the memory of an endpoint whose connection is over.
    pub fn reconnect(&mut self, profile: &Profile, now: Time) {
        self.reuse(State::SynSent, profile, now);
        self.begin_connect(profile, now);
    }

    fn begin_connect(&mut self, profile: &Profile, now: Time) {
        match self.sender.quic_mut() {
            Some(quic) => *quic = Connection::connect(profile, now),
            None => self.core.status.set(Status::SYN_DUE),
        }
    }

    /// [`Endpoint::listen`], reusing memory in the same way.
    pub fn relisten(&mut self, profile: &Profile, now: Time) {
        self.reuse(State::Listen, profile, now);
    }

    fn with_state(state: State, profile: &Profile, now: Time) -> Endpoint<S> {
        Endpoint { sender: S::new(profile, now), core: Core::new(state, profile, now) }
    }

    fn reuse(&mut self, state: State, profile: &Profile, now: Time) {
        self.sender.reset(profile, now);
        self.core = Core::new(state, profile, now);
    }

    /// `write()`: append `bytes` to the data to send. They leave with the next [`Endpoint::poll_transmit`]s as
    /// the windows permit. Data written and not yet acknowledged must stay below 2^31 bytes.
    pub fn write(&mut self, bytes: u32) {
        if let Some(quic) = self.sender.quic_mut() {
            return quic.write(bytes);
        }
        debug_assert!(!self.core.status.any(Status::CLOSED), "data written after close()");
        self.sender.on_write(&self.core);
        self.core.snd_end += bytes;
    }

    /// The bytes written and never sent; none over QUIC, where each stream has its own.
    pub fn unsent(&self) -> u32 {
        if self.sender.quic().is_some() {
            return 0;
        }
        self.core.snd_end - self.core.snd_end.min(self.core.snd_max)
    }

    /// Take back the data that were written and that TCP has not taken: all that it has not sent, or that are not in its send buffer
    /// if it has one. Returns their number.
    pub fn withdraw(&mut self) -> u32 {
        if let Some(quic) = self.sender.quic_mut() {
            return quic.withdraw();
        }
        debug_assert!(!self.core.is_unsynchronised(), "an open connection");
        let end = self.core.snd_end.min(self.sender.taken(&self.core));
        let bytes = self.core.snd_end - end;
        self.core.snd_end = end;
        bytes
    }

    /// `close()`: no more data follow; a FIN follows the data written.
    pub fn close(&mut self) {
        if let Some(quic) = self.sender.quic_mut() {
            return quic.close();
        }
        match self.core.state {
            State::Listen | State::SynSent => self.core.enter_closed(),
            _ => self.core.status.set(Status::CLOSED),
        }
    }

    /// Ask for [`Event::Received`] when `bytes` more have arrived in order (a socket's `SO_RCVLOWAT`).
    pub fn await_data(&mut self, bytes: u32) {
        if let Some(quic) = self.sender.quic_mut() {
            return quic.await_data(bytes);
        }
        debug_assert!(bytes > 0, "waiting for no data");
        // Before the handshake `rcv_nxt` is still 0 and the peer's SYN will take that number.
        let first = if matches!(self.core.state, State::SynSent | State::Listen) {
            Seq::new(1)
        } else {
            self.core.rcv_nxt
        };
        self.core.rcv_low_water = first + bytes;
        self.core.status.set(Status::READ_PENDING);
    }

    /// True if [`Endpoint::poll_event`] has an event.
    #[inline]
    pub fn has_event(&self) -> bool {
        if let Some(quic) = self.sender.quic() {
            return quic.has_event();
        }
        self.core.status.any(Status::EVENTS)
    }

    /// Return the next event for the application. Poll again after each segment or timeout.
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        if let Some(quic) = self.sender.quic_mut() {
            return quic.poll_event();
        }
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

    /// The time at which [`Endpoint::handle_timeout`] is next due; [`Time::MAX`] if no timer runs. May change
    /// after any call.
    #[inline]
    pub fn poll_timeout(&self) -> Time {
        if let Some(quic) = self.sender.quic() {
            return quic.poll_timeout();
        }
        if self.core.state == State::Closed {
            return Time::MAX;
        }
        let common = self.retransmit_deadline().min(self.delayed_ack_deadline());
        S::TIMERS.iter().fold(common, |first, &timer| first.min(self.sender.deadline(timer)))
    }

    /// The expiration time of each timer; [`Time::MAX`] for one that is off.
    pub fn deadlines(&self) -> [(TimerKind, Time); TimerKind::ALL.len()] {
        TimerKind::ALL.map(|timer| {
            if let Some(quic) = self.sender.quic() {
                return (timer, quic.deadline(timer));
            }
            let deadline = match timer {
                TimerKind::Retransmission => self.retransmit_deadline(),
                TimerKind::DelayedAck => self.delayed_ack_deadline(),
                _ if self.core.state == State::Closed => Time::MAX,
                sender_timer => self.sender.deadline(sender_timer),
            };
            (timer, deadline)
        })
    }

    /// The expiration time of the retransmission timer; [`Time::MAX`] if it is off.
    #[inline]
    pub fn retransmit_deadline(&self) -> Time {
        if let Some(quic) = self.sender.quic() {
            return quic.deadline(TimerKind::Retransmission);
        }
        self.core.retransmit_timer.deadline()
    }

    /// The time at which a delayed acknowledgement is due; [`Time::MAX`] if none is.
    #[inline]
    pub fn delayed_ack_deadline(&self) -> Time {
        if let Some(quic) = self.sender.quic() {
            return quic.deadline(TimerKind::DelayedAck);
        }
        self.core.delayed_ack_deadline()
    }

    /// The state of the connection.
    #[inline]
    pub fn state(&self) -> State {
        if let Some(quic) = self.sender.quic() {
            return quic.state();
        }
        self.core.state
    }

    /// The QUIC connection that it is, if it is one, with its streams.
    pub fn quic_mut(&mut self) -> Option<&mut Connection<S::Congestion>> {
        self.sender.quic_mut()
    }

    /// The congestion control.
    pub fn congestion(&self) -> &S::Congestion {
        self.sender.congestion()
    }

    /// Counts of recoveries so far.
    pub fn recovery(&self) -> RecoveryCounts {
        if let Some(quic) = self.sender.quic() {
            return quic.recovery();
        }
        self.core.recovery
    }

    /// True during fast recovery from a loss.
    pub fn in_recovery(&self) -> bool {
        if let Some(quic) = self.sender.quic() {
            return quic.in_recovery();
        }
        self.core.status.any(Status::IN_RECOVERY)
    }

    /// True if data are missing before others that have arrived.
    pub fn has_gap(&self) -> bool {
        if let Some(quic) = self.sender.quic() {
            return quic.has_gap();
        }
        self.core.status.any(Status::OUT_OF_ORDER)
    }

    /// The reason why it sends no more at the moment. Valid between calls: after an event, drain
    /// [`Endpoint::poll_transmit`] first.
    pub fn limited_by(&self, profile: &Profile) -> LimitedBy {
        if let Some(quic) = self.sender.quic() {
            return quic.limited_by();
        }
        self.sender.limited_by(&self.core, profile)
    }

    /// The state of its sender. Valid between calls, as [`Endpoint::limited_by`].
    #[inline]
    pub fn info(&self, profile: &Profile) -> Info {
        if let Some(quic) = self.sender.quic() {
            return quic.info();
        }
        let (core, congestion) = (&self.core, self.sender.congestion());
        Info {
            sender: self.sender.info(core),
            sent: core.snd_max.min(core.snd_end) - Seq::new(1),
            cwnd: congestion.cwnd(),
            ssthresh: Some(congestion.ssthresh()).filter(|&ssthresh| ssthresh < MAX_WINDOW),
            pacing_rate: congestion.pacing_rate(),
            srtt: core.rtt.srtt(),
            rttvar: core.rtt.rttvar(),
            rto: profile.backed_off_rto(core.rtt.rto(), core.timeouts),
        }
    }

    /// Bytes sent and not acknowledged.
    pub fn in_flight(&self) -> u32 {
        if let Some(quic) = self.sender.quic() {
            return quic.in_flight();
        }
        self.core.in_flight()
    }

    /// One past the highest byte sent.
    #[inline]
    pub fn highest_sent(&self) -> Seq {
        if let Some(quic) = self.sender.quic() {
            return quic.highest_sent();
        }
        self.core.snd_max
    }

    /// Bytes of the peer's data received in order.
    pub fn received(&self) -> Seq {
        if let Some(quic) = self.sender.quic() {
            return quic.received();
        }
        self.core.rcv_nxt
    }

    /// Abort the connection, and notify the application unless it has already closed.
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
