//! What is compiled into an endpoint.

mod classic;
mod modern;
mod scale;

use std::fmt::Debug;

use aqmlab_units::Time;

use crate::congestion::{ClassicReno, CongestionControl};
use crate::core::{Core, Limits};
use crate::options::HeaderOptions;
use crate::timer::TimerKind;
use crate::{LimitedBy, Profile, Segment, Seq};

pub(crate) use classic::Classic;
pub(crate) use modern::Modern;
pub(crate) use scale::{Scale, Scaling, Unscaled};

/// The TCP of 2001: `NewReno`, windows of 65,535 bytes at most, no options. Small, so that tens of thousands of
/// connections stay fast.
pub type Basic = Classic<ClassicReno, Unscaled>;

/// The same with window scaling (RFC 7323 §2). Apart, since what it takes finds no room in [`Basic`]'s cache lines.
pub type Scaled = Classic<ClassicReno, Scale>;

/// A TCP of today with the congestion control `C`: SACK, timestamps, window scaling, a record of each segment sent,
/// RACK-TLP, proportional rate reduction, pacing. Which of these a connection uses the profile says.
pub type Full<C = ClassicReno> = Modern<C>;

/// How an endpoint sends and recovers, and what it tells as a receiver beside its acknowledgements: what takes room in each
/// endpoint and each segment. What only takes other values is in the [`Profile`].
///
/// The handshake, the state diagram, reassembly and closing are the endpoint's. A sender owns its state and is handed the
/// `Core`, which it shares with the endpoint; it knows of nothing else.
pub trait Sender: Debug + Send + Sized + 'static {
    /// How the congestion window moves.
    type Congestion: CongestionControl;
    /// The TCP options that its segments may carry.
    type Options: HeaderOptions;
    /// How many bytes from its start a segment touches of an endpoint while nothing is lost.
    const HOT: usize;
    /// The timers of its own, in the order in which they are heard when several have expired. They may do so before the
    /// profile's least timeout: whoever drives an endpoint that has any has to ask for its next deadline after each call;
    /// else a look now and then is enough.
    const TIMERS: &'static [TimerKind];

    /// That of a connection that begins at `now`.
    fn new(profile: &Profile, now: Time) -> Self;

    /// It is that of another connection, which begins at `now`: as a new one, but may go on using what it has allocated.
    fn reset(&mut self, profile: &Profile, now: Time) {
        *self = Self::new(profile, now);
    }

    /// The congestion control.
    fn congestion(&self) -> &Self::Congestion;

    // The handshake.

    /// What a SYN or SYN/ACK carries.
    fn offer(&self, core: &Core, now: Time, profile: &Profile) -> Self::Options;

    /// The peer's part of the handshake has arrived, a SYN, a SYN/ACK or the acknowledgement of that: what both ends offer
    /// is agreed on. Its congestion control, to be told what else the handshake says, and what it keeps to from now on.
    fn negotiate(
        &mut self,
        core: &mut Core,
        segment: &Segment<Self::Options>,
        profile: &Profile,
    ) -> (&mut Self::Congestion, Limits);

    // What arrives.

    /// A segment of an open connection has arrived: what it says about the data sent and about marks.
    fn on_segment(&mut self, core: &mut Core, segment: &Segment<Self::Options>, now: Time, profile: &Profile);

    /// Its data, `from..to`, have arrived. Are they acknowledged at once, however few they are? Apart from
    /// [`Sender::on_segment`], since most acknowledgements come without any.
    fn on_data(&mut self, core: &mut Core, from: Seq, to: Seq) -> bool;

    // What leaves.

    /// The application is about to write: the last moment that shows whether it has left the window unused, which a rate
    /// sample has to know.
    fn on_write(&mut self, core: &Core);

    /// The next segment with data or a FIN, or else the acknowledgement that is due. While there may be one that neither
    /// unsent data nor a close tell of, the core's `Status::RETRANSMIT_DUE` is set: it is looked at before each call.
    fn next_segment(
        &mut self,
        core: &mut Core,
        now: Time,
        profile: &Profile,
    ) -> Option<Segment<Self::Options>>;

    /// The reason why it sends no more at the moment, in a connection that is open.
    fn limited_by(&self, core: &Core, profile: &Profile) -> LimitedBy;

    // What expires.

    /// When a [timer](Sender::TIMERS) of its own is due; [`Time::MAX`] while it is off. Of a connection that is over nobody
    /// asks.
    fn deadline(&self, timer: TimerKind) -> Time;

    /// A timer has expired: one of its own, or that for retransmission while data are unacknowledged.
    fn on_timeout(&mut self, timer: TimerKind, core: &mut Core, now: Time, profile: &Profile);
}
