//! Senders: the part of an endpoint that is chosen at compile time.

mod any_transport;
mod classic;
mod modern;
mod scale;

use std::fmt::Debug;

use aqmlab_units::Time;

use crate::congestion::{ClassicReno, CongestionControl};
use crate::core::{Core, Limits};
use crate::options::HeaderOptions;
use crate::quic::Connection;
use crate::timer::TimerKind;
use crate::{LimitedBy, Profile, Segment, SenderInfo, Seq};

pub use any_transport::{AnyHeader, AnyTransport};
pub(crate) use classic::Classic;
pub(crate) use modern::Modern;
pub(crate) use scale::{Scale, Scaling, Unscaled};

/// The TCP of 2001: `NewReno`, windows of 65,535 bytes at most, no options. Small, so that tens of thousands of
/// connections stay fast.
pub type Basic = Classic<ClassicReno, Unscaled>;

/// [`Basic`] with window scaling (RFC 7323 §2). A type of its own, since its state does not fit [`Basic`]'s cache
/// lines.
pub type Scaled = Classic<ClassicReno, Scale>;

/// A modern TCP with the congestion control `C`: SACK, timestamps, window scaling, a record of each segment sent,
/// RACK-TLP, proportional rate reduction, pacing. The profile selects the mechanisms that a connection uses.
pub type Full<C = ClassicReno> = Modern<C>;

/// A sender: transmission, loss recovery, and the options that it sends as a receiver. Its type decides the state
/// in each endpoint and each segment; values that differ are in the [`Profile`].
///
/// The handshake, the state diagram, reassembly and closing belong to the endpoint. A sender owns its state and
/// gets the `Core`, which it shares with the endpoint, as an argument.
pub trait Sender: Debug + Send + Sized + 'static {
    /// The congestion control of the window.
    type Congestion: CongestionControl;
    /// The TCP options that its segments may carry.
    type Options: HeaderOptions;
    /// Bytes from the start of an endpoint that a segment touches while nothing is lost.
    const HOT: usize;
    /// The sender's own timers, in the order in which they are handled when several have expired. They may be
    /// shorter than the profile's minimum timeout, so the caller of such an endpoint must ask for its next
    /// deadline after each call. Without own timers, occasional polling is enough.
    const TIMERS: &'static [TimerKind];

    /// Return the sender of a connection that starts at `now`.
    fn new(profile: &Profile, now: Time) -> Self;

    /// Reset it for another connection that starts at `now`, as if new; it may keep allocated memory.
    fn reset(&mut self, profile: &Profile, now: Time) {
        *self = Self::new(profile, now);
    }

    /// The QUIC connection that the endpoint is, if it is one. Then the rest of the sender is idle.
    #[inline(always)]
    fn quic(&self) -> Option<&Connection<Self::Congestion>> {
        None
    }

    /// The same, to change it.
    #[inline(always)]
    fn quic_mut(&mut self) -> Option<&mut Connection<Self::Congestion>> {
        None
    }

    /// Handle a received datagram of the QUIC connection.
    fn handle_datagram(&mut self, _segment: &Segment<Self::Options>, _now: Time, _profile: &Profile) {}

    /// Return the next datagram of the QUIC connection.
    fn poll_datagram(&mut self, _now: Time, _profile: &Profile) -> Option<Segment<Self::Options>> {
        None
    }

    /// The congestion control.
    fn congestion(&self) -> &Self::Congestion;

    // Handshake.

    /// The options of a SYN or SYN/ACK.
    fn offer(&self, core: &Core, now: Time, profile: &Profile) -> Self::Options;

    /// Take the peer's options from a SYN, a SYN/ACK or the acknowledgement of that, and apply those that both
    /// ends offer. Returns the congestion control, which the rest of the handshake may affect, and the limits
    /// from now on.
    fn negotiate(
        &mut self,
        core: &mut Core,
        segment: &Segment<Self::Options>,
        profile: &Profile,
    ) -> (&mut Self::Congestion, Limits);

    // Receiving.

    /// Handle the acknowledgement and the marks of a segment of an open connection.
    fn on_segment(&mut self, core: &mut Core, segment: &Segment<Self::Options>, now: Time, profile: &Profile);

    /// Handle its data, `from..to`. Returns true if they must be acknowledged at once. Separate from
    /// [`Sender::on_segment`], because most acknowledgements carry no data.
    fn on_data(&mut self, core: &mut Core, from: Seq, to: Seq) -> bool;

    /// Handle the peer's FIN, which is in order. Returns true if it must be acknowledged at once.
    fn on_fin(&mut self) -> bool {
        true
    }

    // Sending.

    /// The application is about to write. Rate samples need to know whether it has left the window unused until
    /// now.
    fn on_write(&mut self, core: &Core);

    /// One past the last byte that it has taken from the application.
    fn taken(&self, core: &Core) -> Seq {
        core.snd_max
    }

    /// Return the next segment with data or a FIN, or else the acknowledgement that is due. It is called only if
    /// there are unsent data, a close, or a flag in `Status::TO_SEND`; for other segments the sender sets
    /// `Status::RETRANSMIT_DUE`.
    fn next_segment(
        &mut self,
        core: &mut Core,
        now: Time,
        profile: &Profile,
    ) -> Option<Segment<Self::Options>>;

    /// The reason why an open connection sends no more at the moment.
    fn limited_by(&self, core: &Core, profile: &Profile) -> LimitedBy;

    /// Its part of the [`Info`](crate::Info) of an open connection.
    fn info(&self, core: &Core) -> SenderInfo;

    // Timers.

    /// The expiration time of one of its own [timers](Sender::TIMERS); [`Time::MAX`] while it is off. Not called
    /// for a closed connection.
    fn deadline(&self, timer: TimerKind) -> Time;

    /// Handle the expiration of one of its own timers, or of the retransmission timer while data are
    /// unacknowledged.
    fn on_timeout(&mut self, timer: TimerKind, core: &mut Core, now: Time, profile: &Profile);
}
