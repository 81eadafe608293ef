//! Whole QUIC connections under random losses, against the response functions of their controls.

use std::collections::BTreeMap;

use aqmlab_tcp::congestion::Any;
use aqmlab_tcp::{Algorithm, AnyHeader, AnyTransport, Endpoint, Profile, Segment};
use aqmlab_units::{Duration, Prob, Stream, Time};

use crate::clocked::{Signal, Spacing, mean_window};

const RTT: Duration = Duration::from_millis(100);
const HALF_RTT: Duration = Duration::from_millis(50);
/// Payload of a datagram, and its data: headers of the packet and the frame take 36 bytes.
const MSS: u16 = 1_200;
const DATA: f64 = 1_164.0;

/// The mean window in datagrams: what a flow delivers in a round trip, over at least a hundred losses.
fn window_under_losses(profile: &Profile, p: f64) -> f64 {
    let (loss, mut stream) = (Prob::clamped(p), Stream::named(1, "loss"));
    let mut ends: [Endpoint<AnyTransport<Any>>; 2] =
        [Endpoint::connect(profile, Time::ZERO), Endpoint::listen(profile, Time::ZERO)];
    let mut network: BTreeMap<(Time, u64), (usize, Segment<AnyHeader>)> = BTreeMap::new();
    ends[0].write(2_000_000_000);
    let (mut now, mut sent) = (Time::ZERO, 0);
    let mut time_of = |datagrams: f64| {
        while f64::from(ends[1].received().get()) < datagrams * DATA {
            for (from, end) in ends.iter_mut().enumerate() {
                while let Some(segment) = end.poll_transmit(now, profile) {
                    sent += 1;
                    if segment.len == 0 || !stream.chance(loss) {
                        network.insert((now + HALF_RTT, sent), (1 - from, segment));
                    }
                }
            }
            let arrival = network.keys().next().map_or(Time::MAX, |&(at, _)| at);
            let timer = ends[0].poll_timeout().min(ends[1].poll_timeout());
            now = now.max(arrival.min(timer));
            if arrival <= timer {
                let (_, (to, segment)) = network.pop_first().expect("one arrives");
                ends[to].handle_segment(&segment, now, profile);
            } else {
                for end in &mut ends {
                    end.handle_timeout(now, profile);
                }
            }
        }
        now
    };
    // Let the first slow start be forgotten.
    let (first, datagrams) = (10.0 / p, (100.0 / p).max(20_000.0));
    let (start, end) = (time_of(first), time_of(first + datagrams));
    datagrams * (RTT / (end - start))
}

#[test]
fn quic_follows_the_response_functions_without_timeouts() {
    for congestion in [Algorithm::Reno, Algorithm::CubicRfc9438] {
        for p in [0.003, 0.01, 0.03] {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number")]
            let segments = (1000.0 / p) as u64;
            let window = mean_window(&congestion, RTT, Signal::Loss, Spacing::random(p), segments);
            let profile = Profile { congestion: congestion.clone(), mss: MSS, ..Profile::quic() };
            let ratio = window_under_losses(&profile, p) / window;
            println!("{congestion} over QUIC, p {p}: {ratio:.3} of what theory gives");
            assert!((0.85..1.15).contains(&ratio), "{congestion}, p {p}: {ratio} of what theory gives");
        }
    }
}
