//! What is compiled into an endpoint.

mod classic;
mod modern;
mod scale;

use std::fmt::Debug;

use aqmlab_units::Time;

use crate::congestion::{ClassicReno, CongestionControl};
use crate::core::{Core, Limits};
use crate::ecn::MarksHeard;
use crate::options::HeaderOptions;
use crate::{Flags, Profile, Segment, Seq};

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

/// A segment that leaves, but for what every segment says of what has arrived.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    pub(crate) seq: Seq,
    pub(crate) len: u16,
    /// FIN and the ECN codepoint, if they are set.
    pub(crate) flags: Flags,
}

/// What takes room in each endpoint and each segment, and what is done with it: how data are sent and recovered, and what
/// a receiver tells beside its acknowledgements. What only takes other values is in the [`Profile`].
///
/// The handshake, the state diagram, reassembly and closing are the endpoint's. A stack owns its state and is handed the
/// `Core`, which it shares with the endpoint; it knows of nothing else.
pub trait Stack: Debug + Send + Sized + 'static {
    /// How the congestion window moves.
    type Congestion: CongestionControl;
    /// The TCP options that its segments may carry.
    type Options: HeaderOptions;
    /// How many bytes from its start a segment touches of an endpoint while nothing is lost.
    const HOT: usize;
    /// May its endpoints set timers that expire before the profile's least timeout? Whoever drives one has to ask for
    /// its next deadline after each call then; else a look now and then is enough.
    const SHORT_TIMERS: bool;

    /// That of a connection that begins at `now`.
    fn new(profile: &Profile, now: Time) -> Self;

    /// The congestion control.
    fn congestion(&self) -> &Self::Congestion;

    /// The congestion control, to be told of something.
    fn congestion_mut(&mut self) -> &mut Self::Congestion;

    /// What its sender keeps to.
    fn limits(&self, core: &Core, profile: &Profile) -> Limits;

    /// Is it repairing a loss that duplicate acknowledgements told of?
    fn in_recovery(&self, core: &Core) -> bool;

    // The handshake.

    /// What a SYN or SYN/ACK carries.
    fn offer(&self, core: &Core, now: Time, profile: &Profile) -> Self::Options;

    /// The peer's part of the handshake has arrived, a SYN, a SYN/ACK or the acknowledgement of that: what both ends offer
    /// is agreed on.
    fn agree(&mut self, core: &mut Core, segment: &Segment<Self::Options>, profile: &Profile);

    // What arrives.

    /// A segment may be marked, or tell of marks on what was sent. Those that an acknowledgement tells of which delivers
    /// something are answered with its delivery, in [`Stack::on_segment`].
    fn on_marks(
        &mut self,
        core: &mut Core,
        segment: &Segment<Self::Options>,
        heard: MarksHeard,
        profile: &Profile,
    );

    /// A segment of an open connection has arrived: what it says about the data sent.
    fn on_segment(&mut self, core: &mut Core, segment: &Segment<Self::Options>, now: Time, profile: &Profile);

    /// Data `from..to` have arrived that repeat, overlap or lie beyond a gap.
    fn on_disorder(&mut self, core: &mut Core, from: Seq, to: Seq);

    /// Is the segment in order that has just arrived acknowledged without delay?
    fn takes_quick_ack(&mut self) -> bool;

    // What leaves.

    /// The application is about to write.
    fn on_write(&mut self, core: &Core);

    /// Is there something to send that neither unsent data nor the core's status tell of?
    fn has_repairs(&self) -> bool;

    /// The oldest unacknowledged segment once more, which the status in the core asks for.
    fn repeat_oldest(&mut self, core: &mut Core, profile: &Profile) -> Departure;

    /// The next segment with data or a FIN.
    fn next_segment(&mut self, core: &mut Core, now: Time, profile: &Profile) -> Option<Departure>;

    /// What a segment with `len` bytes of data that leaves now says of its sender as a receiver: the field for its window,
    /// and options.
    fn header(&mut self, core: &Core, len: u16, now: Time, profile: &Profile) -> (u16, Self::Options);

    // What expires.

    /// The retransmission timer has expired while data are unacknowledged.
    fn on_retransmission_timeout(&mut self, core: &mut Core, now: Time, profile: &Profile);

    /// When its own timers are due: for reordering, for a probe, for pacing.
    fn deadlines(&self) -> [Time; 3];

    /// Its own timers may have expired.
    fn on_timeout(&mut self, core: &mut Core, now: Time, profile: &Profile);

    /// The connection is over: no timer runs any more.
    fn stop(&mut self);
}
