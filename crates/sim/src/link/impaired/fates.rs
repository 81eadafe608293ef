//! The fates of packets on a wire: which are lost, damaged, duplicated, changed or late, and by how much.
//!
//! Each impairment has a random stream of its own and draws once for each packet that was sent, lost or not. All disciplines
//! face the same impairments, and one that is added changes no other.

use aqmlab_tcp::Flags;
use aqmlab_units::{Bytes, Duration, Prob, Stream, Time};

use super::losses::Losses;
use crate::link::BoxedPath;
use crate::spec::{Delays, EcnPath, Impairments, LinkSpec, Outages, ReorderSpec};

/// The processes that decide the fates of packets of one direction.
#[derive(Debug)]
pub(crate) struct Fates {
    loss: Option<Losses>,
    bit_errors: Option<BitErrors>,
    duplicate: Option<(Prob, Stream)>,
    jitter: Option<(Duration, Stream)>,
    reorder: Option<(ReorderSpec, Stream)>,
    profile: Option<Profile>,
    ecn: EcnPath,
    outages: Outages,
    delays: Delays,
    /// The path of the capacity, and the draws of its losses.
    path: Option<(BoxedPath, Stream)>,
    /// The delay of the link inside.
    shortest_delay: Duration,
}

/// Delays packet by packet, over and over.
#[derive(Debug)]
struct Profile {
    /// `None` for a packet that is lost.
    delays: Vec<Option<Duration>>,
    next: usize,
}

impl Profile {
    fn next(&mut self) -> Option<Duration> {
        let delay = self.delays[self.next];
        self.next = (self.next + 1) % self.delays.len();
        delay
    }
}

/// Frames that are damaged.
#[derive(Debug)]
struct BitErrors {
    /// The logarithm of the probability that a bit is not damaged.
    log_intact: f64,
    overhead: Bytes,
    stream: Stream,
}

/// The effects of the wire on a packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fate {
    pub(super) is_lost: bool,
    pub(super) is_duplicated: bool,
    /// The time from its arrival at the shortest delay to its arrival, if no packet before it arrives later.
    pub(super) later: Duration,
    /// The time by which it is late beyond that, so that others overtake it.
    pub(super) late: Duration,
}

impl Fate {
    /// Returns true if others may overtake it.
    pub(super) fn is_late(self) -> bool {
        self.late > Duration::ZERO
    }
}

impl Fates {
    /// `stream` returns the random stream of a purpose.
    pub(crate) fn new(
        impairments: &Impairments,
        link: &LinkSpec,
        path: Option<BoxedPath>,
        stream: impl Fn(&str) -> Stream,
    ) -> Fates {
        let shortest_delay = link.shortest_delay();
        let bit_errors = (impairments.bit_error_rate > 0.0).then(|| BitErrors {
            log_intact: libm::log1p(-impairments.bit_error_rate),
            overhead: link.overhead,
            stream: stream("bit errors"),
        });
        let duplicate = impairments.duplicate;
        Fates {
            loss: impairments.loss.map(|loss| Losses::new(loss, stream("loss"))),
            bit_errors,
            duplicate: (duplicate > 0.0).then(|| (Prob::clamped(duplicate), stream("duplicate"))),
            jitter: (impairments.jitter > Duration::ZERO).then(|| (impairments.jitter, stream("jitter"))),
            reorder: impairments.reorder.map(|reorder| (reorder, stream("reorder"))),
            profile: impairments
                .profile
                .as_ref()
                .map(|profile| Profile { delays: profile.delays(), next: 0 }),
            ecn: impairments.ecn,
            outages: impairments.outages.clone(),
            delays: impairments.delays.clone(),
            path: path.map(|path| (path, stream("path"))),
            shortest_delay,
        }
    }

    /// Returns true if packets keep their order although their delays vary.
    pub(super) fn keeps_order(&self) -> bool {
        self.jitter.is_some()
    }

    /// Decide the fate of a packet of `size` with these flags, which arrives at `now` at the shortest delay; and change its
    /// flags.
    pub(super) fn decide(&mut self, size: Bytes, flags: &mut Flags, now: Time) -> Fate {
        let departure = Time::from_nanos(now.as_nanos() - self.shortest_delay.as_nanos());
        let is_lost = self.loss.as_mut().is_some_and(|losses| losses.draw(departure));
        let is_damaged = self.bit_errors.as_mut().is_some_and(|errors| errors.draw(size));
        let is_down = self.outages.up_from(departure) > departure;
        let path = self.path.as_mut().map(|(path, stream)| {
            let state = path.at(departure);
            (state.delay, stream.chance(Prob::clamped(state.loss)))
        });
        let (path_delay, is_lost_on_path) = path.unwrap_or((Duration::ZERO, false));
        let profile = self.profile.as_mut().map_or(Some(Duration::ZERO), Profile::next);
        let is_refused = self.ecn == EcnPath::RefuseSyn && requests_ecn(*flags);
        *flags = passed(self.ecn, *flags);
        Fate {
            is_lost: is_lost || is_damaged || is_down || is_refused || is_lost_on_path || profile.is_none(),
            is_duplicated: self
                .duplicate
                .as_mut()
                .is_some_and(|(probability, stream)| stream.chance(*probability)),
            later: self.delay(departure)
                + path_delay
                + profile.unwrap_or_default()
                + self.jitter.as_mut().map_or(Duration::ZERO, uniform),
            late: self.reorder.as_mut().map_or(Duration::ZERO, lateness),
        }
    }

    /// Returns the delay of a packet that departs at `departure`, beyond the shortest one.
    fn delay(&self, departure: Time) -> Duration {
        Duration::from_nanos(self.delays.at(departure).as_nanos() - self.shortest_delay.as_nanos())
    }
}

/// Draws a delay from 0 to the longest one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "it is bounded"
)]
fn uniform((longest, stream): &mut (Duration, Stream)) -> Duration {
    Duration::from_nanos((stream.uniform() * longest.as_nanos() as f64) as u64)
}

/// Draws the time by which a packet is late.
fn lateness((reorder, stream): &mut (ReorderSpec, Stream)) -> Duration {
    if stream.chance(Prob::clamped(reorder.probability)) { reorder.delay } else { Duration::ZERO }
}

impl BitErrors {
    /// Returns true if a frame with an IP packet of `size` is damaged: with probability 1 - (1 - rate)^bits.
    fn draw(&mut self, size: Bytes) -> bool {
        let bits = 8.0 * (size + self.overhead).as_f64();
        self.stream.chance(Prob::clamped(-libm::expm1(bits * self.log_intact)))
    }
}

/// Returns true for a SYN that requests ECN of RFC 3168, or accurate ECN.
fn requests_ecn(flags: Flags) -> bool {
    flags.contains(Flags::SYN) && !flags.contains(Flags::ACK) && flags.ace() != 0
}

/// Returns the flags of a packet after a path that does `path` to ECN.
fn passed(path: EcnPath, flags: Flags) -> Flags {
    match path {
        EcnPath::Bleach => flags.without(Flags::ECT | Flags::ECT1 | Flags::CE),
        EcnPath::ClearCe => flags.without(Flags::CE),
        EcnPath::RewriteEct1 if flags.contains(Flags::ECT1) && !flags.contains(Flags::CE) => {
            flags.without(Flags::ECT1) | Flags::ECT
        }
        EcnPath::Pass | EcnPath::RefuseSyn | EcnPath::RewriteEct1 => flags,
    }
}
