//! One end of a connection.
//!
//! Its life is RFC 9293's state diagram ([`State`]); what arrives is handled in `receive`, what leaves in
//! `transmit`, what expires in `timeout`; `ecn` is all of explicit congestion notification, `scale` of wide windows. Fields
//! are ordered so that a segment of an undisturbed transfer touches the first 64 bytes alone.

mod ecn;
mod extension;
mod modern;
mod receive;
mod scale;
mod timeout;
mod transmit;

use std::mem::offset_of;
use std::ops::{Add, Sub};

use aqmlab_units::Time;

use self::ecn::Ecn;
use crate::congestion::CongestionControl;
use crate::reassembly::Reassembly;
use crate::rtt::RttEstimator;
use crate::timer::{Timer, TimerKind};
use crate::{Basic, Profile, Seq, Stack};

pub(crate) use extension::{Classic, Extension};
pub(crate) use modern::Modern;
pub(crate) use scale::Scale;

/// The state of a connection (RFC 9293 §3.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the standard's")]
pub enum State {
    Closed,
    Listen,
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
}

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

/// How often a connection had to recover: what a user's wait is explained with. Counts stop at 65,535.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// SYNs or SYN/ACKs sent again.
    pub syn_retransmits: u16,
    /// Expirations of the data retransmission timer.
    pub timeouts: u16,
    /// Fast retransmits.
    pub fast_retransmits: u16,
    /// Window reductions in answer to ECN echoes.
    pub ecn_reductions: u16,
}

impl Add for Recovery {
    type Output = Recovery;
    fn add(self, other: Recovery) -> Recovery {
        Recovery {
            syn_retransmits: self.syn_retransmits + other.syn_retransmits,
            timeouts: self.timeouts + other.timeouts,
            fast_retransmits: self.fast_retransmits + other.fast_retransmits,
            ecn_reductions: self.ecn_reductions + other.ecn_reductions,
        }
    }
}

impl Sub for Recovery {
    type Output = Recovery;
    /// What was added since `earlier`.
    fn sub(self, earlier: Recovery) -> Recovery {
        Recovery {
            syn_retransmits: self.syn_retransmits - earlier.syn_retransmits,
            timeouts: self.timeouts - earlier.timeouts,
            fast_retransmits: self.fast_retransmits - earlier.fast_retransmits,
            ecn_reductions: self.ecn_reductions - earlier.ecn_reductions,
        }
    }
}

/// One end of a TCP connection.
#[derive(Debug)]
#[repr(C)]
pub struct Endpoint<S: Stack = Basic> {
    /// Oldest byte not acknowledged.
    snd_una: Seq,
    /// Next byte to send; set back by a timeout.
    snd_nxt: Seq,
    /// One past the highest byte ever sent.
    snd_max: Seq,
    /// One past the last byte the application has written.
    snd_end: Seq,
    /// Next byte expected.
    rcv_nxt: Seq,
    /// Tell the application when `rcv_nxt` gets here.
    rcv_low_water: Seq,
    congestion: S::Congestion,
    /// The peer's receive window as it stands in its segments.
    snd_wnd: u16,
    pending: Pending,
    state: State,
    dup_acks: u8,
    /// Expirations of the timer since the last round-trip sample, or of the handshake so far.
    timeouts: u8,
    /// In-order segments not yet acknowledged.
    unacked_segments: u8,
    retransmit_timer: Timer,
    /// The segment being timed, while [`Pending::TIMING`].
    timed: Seq,
    rtt: RttEstimator,
    // Above: what a transfer in which nothing is lost touches. Below: samples, pauses, losses.
    /// While a segment is being timed, when it was sent. While nothing is in flight, since when. While a handshake is
    /// under way, when `connect()` was called or the SYN/ACK first sent.
    since: Time,
    /// Runs while `unacked_segments` is above zero.
    delayed_ack_timer: Timer,
    /// Highest byte sent when the last loss recovery began (RFC 6582's `recover`).
    recover: Seq,
    ecn: Ecn,
    /// Holds something only while [`Pending::OUT_OF_ORDER`].
    reassembly: Reassembly,
    recovery: Recovery,
    /// What only some stacks keep.
    extension: S::Extension,
}

// An undisturbed transfer stays within one cache line, and an endpoint leaves room for the engine's own in two.
const _: () = assert!(Endpoint::<Basic>::COLD_FROM == 64 && size_of::<Endpoint>() <= 112);

/// Small facts and things left to do, one bit each.
#[derive(Clone, Copy, Debug, Default)]
struct Pending(u16);

impl Pending {
    /// Send an acknowledgement now.
    const ACK: u16 = 1;
    /// Send the oldest unacknowledged segment again.
    const RETRANSMIT: u16 = 1 << 1;
    /// Send a SYN or SYN/ACK.
    const SYN: u16 = 1 << 2;
    /// Send a reset.
    const RST: u16 = 1 << 3;
    /// The application has closed: a FIN follows the data.
    const FIN: u16 = 1 << 4;
    const TO_SEND: u16 = Self::ACK | Self::RETRANSMIT | Self::SYN | Self::RST | Self::FIN;
    const EVENT_OPENED: u16 = 1 << 5;
    const EVENT_RECEIVED: u16 = 1 << 6;
    const EVENT_PEER_CLOSED: u16 = 1 << 7;
    const EVENT_ABORTED: u16 = 1 << 8;
    const EVENTS: u16 =
        Self::EVENT_OPENED | Self::EVENT_RECEIVED | Self::EVENT_PEER_CLOSED | Self::EVENT_ABORTED;
    /// Fast recovery is under way.
    const IN_RECOVERY: u16 = 1 << 9;
    /// Both sides speak ECN: new data are ECN-capable.
    const ECT: u16 = 1 << 10;
    /// Segments tell the peer of marks.
    const ECHO: u16 = 1 << 11;
    /// The window was reduced: say CWR with the next new data.
    const CWR: u16 = 1 << 12;
    /// The application waits for `rcv_low_water`.
    const AWAITING: u16 = 1 << 13;
    /// A segment is being timed.
    const TIMING: u16 = 1 << 14;
    /// Data arrived ahead of a gap.
    const OUT_OF_ORDER: u16 = 1 << 15;

    #[inline]
    fn any(self, bits: u16) -> bool {
        self.0 & bits != 0
    }

    #[inline]
    fn set(&mut self, bits: u16) {
        self.0 |= bits;
    }

    #[inline]
    fn clear(&mut self, bits: u16) {
        self.0 &= !bits;
    }

    #[inline]
    fn flip(&mut self, bits: u16) {
        self.0 ^= bits;
    }

    /// Whether any of `bits` was set; they are clear afterwards.
    #[inline]
    fn take(&mut self, bits: u16) -> bool {
        let was = self.any(bits);
        self.clear(bits);
        was
    }
}

impl<S: Stack> Endpoint<S> {
    /// Where the fields begin that only samples, pauses and losses touch.
    pub(crate) const COLD_FROM: usize = offset_of!(Endpoint<S>, since);

    /// `connect()`: a client that has a SYN to send.
    pub fn connect(profile: &Profile, now: Time) -> Endpoint<S> {
        let mut endpoint = Endpoint::in_state(State::SynSent, profile, now);
        endpoint.pending.set(Pending::SYN);
        endpoint
    }

    /// `listen()`: a server that waits for a SYN.
    pub fn listen(profile: &Profile, now: Time) -> Endpoint<S> {
        Endpoint::in_state(State::Listen, profile, now)
    }

    fn in_state(state: State, profile: &Profile, now: Time) -> Endpoint<S> {
        // The SYN has number 0, data begin at 1.
        Endpoint {
            snd_una: Seq::ZERO,
            snd_nxt: Seq::ZERO,
            snd_max: Seq::ZERO,
            snd_end: Seq::new(1),
            rcv_nxt: Seq::ZERO,
            rcv_low_water: Seq::ZERO,
            congestion: S::Congestion::new(profile),
            snd_wnd: 0,
            pending: Pending::default(),
            state,
            dup_acks: 0,
            timeouts: 0,
            unacked_segments: 0,
            retransmit_timer: Timer::OFF,
            timed: Seq::ZERO,
            rtt: RttEstimator::new(profile),
            since: now,
            delayed_ack_timer: Timer::OFF,
            recover: Seq::ZERO,
            ecn: Ecn::default(),
            reassembly: Reassembly::default(),
            recovery: Recovery::default(),
            extension: S::Extension::new(profile, now),
        }
    }

    /// `write()`: `bytes` more to send. They leave with the next [`Endpoint::poll_transmit`]s as the windows allow.
    /// What is written and not yet acknowledged must stay below 2^31 bytes.
    pub fn write(&mut self, bytes: u32) {
        debug_assert!(!self.pending.any(Pending::FIN), "data written after close()");
        S::Extension::before_write(self);
        self.snd_end += bytes;
    }

    /// `close()`: no more will be written; a FIN follows the data.
    pub fn close(&mut self) {
        match self.state {
            State::Listen | State::SynSent => self.enter_closed(),
            _ => self.pending.set(Pending::FIN),
        }
    }

    /// Ask for [`Event::Received`] once `bytes` beyond those already received have come (a socket's `SO_RCVLOWAT`).
    pub fn await_data(&mut self, bytes: u32) {
        debug_assert!(bytes > 0, "waiting for no data");
        // Before the handshake `rcv_nxt` is still 0 and the peer's SYN will take that number.
        let first =
            if matches!(self.state, State::SynSent | State::Listen) { Seq::new(1) } else { self.rcv_nxt };
        self.rcv_low_water = first + bytes;
        self.pending.set(Pending::AWAITING);
    }

    /// Is there anything for [`Endpoint::poll_event`] to tell?
    #[inline]
    pub fn has_news(&self) -> bool {
        self.pending.any(Pending::EVENTS)
    }

    /// The next thing to tell the application. May answer anew after a segment or a timeout.
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        let told = self.pending.0 & Pending::EVENTS;
        // The lowest bit first: their order is the order in which applications expect events.
        let first = told & told.wrapping_neg();
        self.pending.clear(first);
        match first {
            Pending::EVENT_OPENED => Some(Event::Opened),
            Pending::EVENT_RECEIVED => Some(Event::Received),
            Pending::EVENT_PEER_CLOSED => Some(Event::PeerClosed),
            Pending::EVENT_ABORTED => Some(Event::Aborted),
            _ => None,
        }
    }

    /// When [`Endpoint::handle_timeout`] is next due; [`Time::MAX`] when no timer runs. May change after any call.
    #[inline]
    pub fn poll_timeout(&self) -> Time {
        self.retransmit_deadline().min(self.delayed_ack_deadline()).min(self.extension.poll_timeout())
    }

    /// When each timer expires; [`Time::MAX`] for one that is off.
    pub fn deadlines(&self) -> [(TimerKind, Time); TimerKind::COUNT] {
        let [reordering, probe, pacing] = self.extension.deadlines();
        [
            (TimerKind::Retransmission, self.retransmit_deadline()),
            (TimerKind::Reordering, reordering),
            (TimerKind::Probe, probe),
            (TimerKind::Pacing, pacing),
            (TimerKind::DelayedAck, self.delayed_ack_deadline()),
        ]
    }

    /// When the retransmission timer expires; [`Time::MAX`] when it is off.
    #[inline]
    pub fn retransmit_deadline(&self) -> Time {
        self.retransmit_timer.deadline()
    }

    /// When a held-back acknowledgement is due; [`Time::MAX`] when none is.
    #[inline]
    pub fn delayed_ack_deadline(&self) -> Time {
        // The count tells without touching the colder half of the endpoint.
        if self.unacked_segments == 0 { Time::MAX } else { self.delayed_ack_timer.deadline() }
    }

    /// The state of the connection.
    #[inline]
    pub fn state(&self) -> State {
        self.state
    }

    /// The congestion control.
    pub fn congestion(&self) -> &S::Congestion {
        &self.congestion
    }

    /// What recovery has cost so far.
    pub fn recovery(&self) -> Recovery {
        self.recovery
    }

    /// Is it repairing a loss that duplicate acknowledgements told of?
    pub fn in_recovery(&self) -> bool {
        self.pending.any(Pending::IN_RECOVERY)
    }

    /// Does it miss data that came before others which have arrived?
    pub fn has_gap(&self) -> bool {
        self.pending.any(Pending::OUT_OF_ORDER)
    }

    /// Bytes sent and not acknowledged.
    pub fn in_flight(&self) -> u32 {
        self.snd_max - self.snd_una
    }

    /// Bytes of the peer's data received in order.
    pub fn received(&self) -> Seq {
        self.rcv_nxt
    }

    /// How much may be unacknowledged: min(cwnd, the peer's window).
    #[inline]
    fn send_window(&self) -> u32 {
        self.congestion.cwnd().min(S::Extension::peer_window(self))
    }

    /// The sender's maximum segment size.
    #[inline]
    fn mss(&self, profile: &Profile) -> u32 {
        u32::from(S::Extension::mss(self, profile))
    }

    fn is_unsynchronised(&self) -> bool {
        matches!(self.state, State::Closed | State::Listen | State::SynSent | State::SynReceived)
    }

    fn enter_closed(&mut self) {
        self.state = State::Closed;
        self.retransmit_timer = Timer::OFF;
        self.extension.stop();
        self.unacked_segments = 0;
        self.pending.clear(Pending::ACK | Pending::RETRANSMIT | Pending::SYN);
    }

    /// Give the connection up, and tell the application unless it has already closed.
    fn abort(&mut self) {
        if !self.pending.any(Pending::FIN) {
            self.pending.set(Pending::EVENT_ABORTED);
        }
        self.enter_closed();
    }
}

fn count(counter: &mut u16) {
    *counter = counter.saturating_add(1);
}
