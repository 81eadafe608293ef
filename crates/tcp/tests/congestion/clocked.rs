//! A sender that is all acknowledgements: a path of constant delay and endless capacity that loses or marks segments.
//!
//! An acknowledgement comes every RTT / window. Recovery lasts for what was in flight when the loss was found, and the
//! window does not matter to it: that is what a loss recovery with SACK and PRR looks like to its congestion control.

use aqmlab_tcp::congestion::Any;
use aqmlab_tcp::{Ack, Algorithm, CongestionControl};
use aqmlab_units::{Duration, Prob, Stream, Time};

use crate::{MSS, profile};

/// The fate of a segment.
#[derive(Clone, Copy)]
pub(crate) enum Signal {
    Loss,
    Mark,
}

/// The segments that are affected.
#[derive(Clone)]
pub(crate) enum Spacing {
    /// Every nth segment.
    Even(u64),
    /// Each with a probability, independently.
    Random(Prob, Box<Stream>),
}

impl Spacing {
    pub(crate) fn even(p: f64) -> Spacing {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small whole number")]
        Spacing::Even((1.0 / p).round() as u64)
    }

    pub(crate) fn random(p: f64) -> Spacing {
        Spacing::Random(Prob::new(p).expect("a probability"), Box::new(Stream::named(1, "path")))
    }

    fn strikes(&mut self, segment: u64) -> bool {
        match self {
            Spacing::Even(distance) => segment % *distance == *distance - 1,
            Spacing::Random(p, stream) => stream.chance(*p),
        }
    }
}

/// The mean window in segments, taken over time, of `segments` after half as many to settle.
pub(crate) fn mean_window(
    algorithm: &Algorithm,
    rtt: Duration,
    signal: Signal,
    mut spacing: Spacing,
    segments: u64,
) -> f64 {
    let mut control = Any::new(&profile(algorithm.clone()));
    let mut now = Time::ZERO;
    let (mut round_end, mut recovery_end) = (0, 0);
    let mut in_flight = control.cwnd() / MSS;
    let settled_at = segments / 2;
    let mut settled = Time::ZERO;
    for segment in 0..segments + settled_at {
        if segment == settled_at {
            settled = now;
        }
        let recovering = segment < recovery_end;
        if !recovering {
            in_flight = (control.cwnd() / MSS).max(1);
        }
        now += Duration::from_nanos(rtt.as_nanos() / u64::from(in_flight));
        let struck = spacing.strikes(segment);
        let (lost, marked) = match signal {
            Signal::Loss => (struck, false),
            Signal::Mark => (false, struck),
        };
        let new_round = segment >= round_end;
        if new_round {
            round_end = segment + u64::from(in_flight);
        }
        let ack = Ack {
            now,
            bytes: MSS,
            mss: MSS,
            in_flight: in_flight * MSS,
            marked: if marked { MSS } else { 0 },
            rtt: Some(rtt),
            new_round,
            window_limited: true,
            ..Ack::default()
        };
        control.on_delivery(&ack);
        if lost && !recovering {
            recovery_end = segment + u64::from(in_flight);
            control.on_fast_retransmit(control.cwnd(), MSS);
        } else if !recovering {
            control.on_ack(&ack);
        } else if segment + 1 == recovery_end {
            control.on_recovered(control.ssthresh(), MSS);
        }
    }
    // Segments of each round trip.
    segments as f64 * (rtt / (now - settled))
}
