//! Whole endpoints under random losses, with every form of loss detection and repair.
//!
//! What a loss does to the window is the control's; what recovery adds to it should be little. So an endpoint is held
//! against its control where recovery is perfect ([`mean_window`], itself against published response functions in
//! `response`) and against what timeouts cost beyond that.

use aqmlab_tcp::congestion::Any;
use aqmlab_tcp::{Algorithm, Full, Profile, RequiredStack};
use aqmlab_units::{Duration, Prob, Stream};

use crate::clocked::{Signal, Spacing, mean_window};
use crate::network::{CLIENT, Network, SERVER};

const RTT: Duration = Duration::from_millis(100);
const HALF_RTT: Duration = Duration::from_millis(50);
const LEAST_TIMEOUT: Duration = Duration::from_millis(200);

/// From 0.1 to 3 %.
const LOSSES: [f64; 4] = [0.001, 0.003, 0.01, 0.03];

/// Every way to find and repair losses.
fn recoveries(congestion: &Algorithm) -> impl Iterator<Item = Profile> {
    (0u8..32).map(move |bits| {
        let has = |bit: u8| bits >> bit & 1 == 1;
        Profile {
            sack: has(0),
            rack: has(1),
            frto: has(2),
            timestamps: has(3),
            ack_every: if has(4) { 2 } else { 1 },
            congestion: congestion.clone(),
            mss: 500,
            window_scaling: true,
            receive_window: 1_000_000,
            min_rto: LEAST_TIMEOUT,
            ..Profile::freebsd_4_5()
        }
    })
}

/// The mean window in segments, taken over time: what a flow delivers in a round trip, over at least a hundred losses.
fn window_under_losses(profile: &Profile, p: f64) -> f64 {
    let data = profile.mss - if profile.timestamps { 12 } else { 0 };
    let (loss, mut stream) = (Prob::clamped(p), Stream::named(1, "loss"));
    let mut network = Network::<_, Full<Any>>::between(profile.clone(), move |_, segment, now| {
        let lost = segment.len > 0 && stream.chance(loss);
        if lost { vec![] } else { vec![(now + HALF_RTT, segment)] }
    });
    network.write(CLIENT, 2_000_000_000);
    let mut time_of = |segment: f64| {
        while f64::from(network.ends[SERVER].tcp.received().get()) < segment * f64::from(data) {
            network.step();
        }
        network.now
    };
    // Let the first slow start be forgotten.
    let (first, segments) = (10.0 / p, (100.0 / p).max(20_000.0));
    let (start, end) = (time_of(first), time_of(first + segments));
    segments * (RTT / (end - start))
}

/// The share of a control's window that remains when losses end in timeouts too.
fn with_timeouts(window: f64, b: f64, p: f64) -> f64 {
    // Padhye, Firoiu, Towsley and Kurose 1998, equation 30: which share of the losses does, and what each costs.
    let timeouts = (3.0 * (3.0 * b * p / 8.0).sqrt()).min(1.0) * p * (1.0 + 32.0 * p * p);
    1.0 / (1.0 / window + timeouts * (LEAST_TIMEOUT / RTT))
}

fn every_recovery_keeps_the_window_of(congestion: &Algorithm) {
    for p in LOSSES {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number")]
        let segments = (1000.0 / p) as u64;
        let window = mean_window(congestion, RTT, Signal::Loss, Spacing::random(p), segments);
        for profile in recoveries(congestion) {
            let Profile { sack, rack, frto, timestamps, ack_every, .. } = profile;
            let name = format!(
                "{congestion}, p {p}, SACK {sack}, RACK {rack}, F-RTO {frto}, timestamps {timestamps}, \
                 an acknowledgement for {ack_every}"
            );
            if let Err((field, _)) = profile.check() {
                assert!(field == "rack" && rack && !sack, "{name} is refused for its {field}");
                continue;
            }
            // A classic window grows by acknowledgements, one for b segments, and not by bytes: it is 1 / sqrt(b) of that.
            let b = if profile.required_stack() < RequiredStack::Full { f64::from(ack_every) } else { 1.0 };
            let ratio = window_under_losses(&profile, p) / with_timeouts(window / b.sqrt(), b, p);
            println!("{name}: {ratio:.3} of what theory gives");
            assert!((0.85..1.15).contains(&ratio), "{name}: {ratio} of what theory gives");
        }
    }
}

#[test]
fn reno_follows_the_square_root_law_whatever_recovers() {
    every_recovery_keeps_the_window_of(&Algorithm::Reno);
}

#[test]
fn cubic_follows_its_response_function_whatever_recovers() {
    every_recovery_keeps_the_window_of(&Algorithm::CubicRfc9438);
}
