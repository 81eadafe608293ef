//! Where endpoints of different stacks differ.
//!
//! The handshake, the state diagram, reassembly and closing are common. [`Classic`] does the rest as 4.4BSD did: it goes
//! back to the oldest byte, times one segment, and holds nothing of its own. [`Scale`](super::Scale) adds what wide
//! windows take, [`Modern`](super::Modern) keeps a scoreboard for each endpoint whose profile asks for more.

use std::fmt::Debug;

use aqmlab_units::Time;

use super::Endpoint;
use crate::{Profile, Segment, Seq, Stack};

/// What an endpoint of stack `S` does in its own way, if not as 4.4BSD did. A classic endpoint's answers are constants or
/// existing functions, so that nothing is left of this where it is compiled.
pub trait Extension<S: Stack<Extension = Self>>: Debug + Send + Sized {
    /// State of a connection that begins at `now`.
    fn new(profile: &Profile, now: Time) -> Self;

    /// Does a server time its SYN/ACK?
    #[inline(always)]
    fn times_syn_ack(&self) -> bool {
        false
    }

    /// Can an acknowledgement tell of data that have arrived without moving `snd_una`?
    #[inline(always)]
    fn delivers_selectively(&self) -> bool {
        false
    }

    /// The connection is over: no timer runs any more.
    fn stop(&mut self) {}

    /// Is there something to send that neither unsent data nor a pending flag tell of?
    #[inline]
    fn has_repairs(&self) -> bool {
        false
    }

    /// When its own timers are due: for reordering, for a probe, for pacing.
    #[inline]
    fn deadlines(&self) -> [Time; 3] {
        [Time::MAX; 3]
    }

    /// When the first of them is due.
    #[inline]
    fn poll_timeout(&self) -> Time {
        let [reordering, probe, pacing] = self.deadlines();
        reordering.min(probe).min(pacing)
    }

    /// Its own timers may have expired.
    #[inline]
    fn handle_timeout(_tcp: &mut Endpoint<S>, _now: Time, _profile: &Profile) {}

    /// The largest number of data bytes in a segment.
    #[inline(always)]
    fn mss(_tcp: &Endpoint<S>, profile: &Profile) -> u16 {
        profile.mss
    }

    /// The peer's receive window in bytes.
    #[inline(always)]
    fn peer_window(tcp: &Endpoint<S>) -> u32 {
        u32::from(tcp.snd_wnd)
    }

    /// The field that says how large the own receive window is.
    #[inline(always)]
    fn own_window(_tcp: &Endpoint<S>, profile: &Profile) -> u16 {
        profile.unscaled_window()
    }

    /// What a SYN or SYN/ACK carries.
    #[inline(always)]
    fn syn_options(_tcp: &Endpoint<S>, _now: Time, _profile: &Profile) -> S::Options {
        S::Options::default()
    }

    /// What a segment with `len` bytes of data carries that leaves now.
    #[inline(always)]
    fn options(_tcp: &mut Endpoint<S>, _len: u16, _now: Time, _profile: &Profile) -> S::Options {
        S::Options::default()
    }

    /// The peer's SYN or SYN/ACK has arrived: what both ends offer is agreed on.
    #[inline]
    fn agree(_tcp: &mut Endpoint<S>, _syn: &Segment<S::Options>, _profile: &Profile) {}

    /// A segment of an open connection has arrived.
    #[inline]
    fn note_arrival(_tcp: &mut Endpoint<S>, _segment: &Segment<S::Options>) {}

    /// The acknowledgement of a server's SYN/ACK has arrived.
    #[inline]
    fn note_handshake_ack(_tcp: &mut Endpoint<S>, _segment: &Segment<S::Options>, _profile: &Profile) {}

    /// An acknowledgement counts `marks` more packets that came marked, modulo 8. Does it tell of marked bytes besides?
    #[inline]
    fn note_marks(
        _tcp: &mut Endpoint<S>,
        _segment: &Segment<S::Options>,
        _marks: u8,
        _profile: &Profile,
    ) -> bool {
        false
    }

    /// How many bytes came marked in the `marks` packets told of since last asked, at most the `delivered` ones.
    #[inline]
    fn take_marked_bytes(tcp: &mut Endpoint<S>, marks: u16, delivered: u32, profile: &Profile) -> u32 {
        (u32::from(marks) * tcp.mss(profile)).min(delivered)
    }

    /// Data `from..to` have arrived that repeat, overlap or lie beyond a gap.
    #[inline(always)]
    fn reassemble(tcp: &mut Endpoint<S>, from: Seq, to: Seq) {
        tcp.reassemble(from, to);
    }

    /// Is the segment in order that has just arrived acknowledged without delay?
    #[inline]
    fn acknowledges_at_once(&mut self) -> bool {
        false
    }

    /// From now on, so many segments in order are acknowledged without delay, if not more.
    #[inline]
    fn acknowledge_at_once(&mut self, _segments: u8) {}

    /// The application is about to write.
    #[inline]
    fn before_write(_tcp: &mut Endpoint<S>) {}

    /// What an acknowledgement says about the data sent.
    #[inline(always)]
    fn handle_ack(tcp: &mut Endpoint<S>, segment: &Segment<S::Options>, now: Time, profile: &Profile) {
        tcp.handle_ack(segment, now, profile);
    }

    /// The next data segment or FIN.
    #[inline(always)]
    fn transmit_data(tcp: &mut Endpoint<S>, now: Time, profile: &Profile) -> Option<Segment<S::Options>> {
        tcp.transmit_data(now, profile)
    }

    /// The retransmission timer has expired while data are unacknowledged.
    #[inline(always)]
    fn handle_loss_of_all(tcp: &mut Endpoint<S>, _now: Time, profile: &Profile) {
        tcp.go_back(profile);
    }
}

/// What 4.4BSD did.
#[derive(Clone, Copy, Debug)]
pub struct Classic;

impl<S: Stack<Extension = Classic>> Extension<S> for Classic {
    fn new(_profile: &Profile, _now: Time) -> Classic {
        Classic
    }
}
