//! BBR on a path with one queue.

use aqmlab_tcp::{Algorithm, CongestionControl};
use aqmlab_units::{BitRate, Duration, Time};

use crate::bottleneck::{Flow, Path};
use crate::profile;

/// 10 Mbit/s and 40 ms: 50 segments, with room for twenty times as many.
const DEEP: Path =
    Path { rate: BitRate::from_mbit_per_sec(10), rtt: Duration::from_millis(40), buffer: 1000 };

fn bbr(path: Path) -> Flow {
    Flow::new(&profile(Algorithm::Bbr), path)
}

fn at(secs: f64) -> Time {
    Time::from_secs_f64(secs)
}

/// The share of the path's rate that was delivered from `from` to `to`.
fn utilisation(flow: &mut Flow, from: f64, to: f64) -> f64 {
    flow.run(at(from), |_| {});
    let before = flow.delivered;
    flow.run(at(to), |_| {});
    (flow.delivered - before) as f64 * 8.0 / (to - from) / flow.path.rate.bits_per_sec() as f64
}

#[test]
fn bbr_finds_the_bandwidth_of_any_path_and_holds_it() {
    for (mbit, rtt_ms) in [(1, 10), (10, 40), (100, 20), (50, 150)] {
        let path = Path {
            rate: BitRate::from_mbit_per_sec(mbit),
            rtt: Duration::from_millis(rtt_ms),
            buffer: 10_000,
        };
        let share = utilisation(&mut bbr(path), 5.0, 35.0);
        println!("{mbit} Mbit/s, {rtt_ms} ms: {:.1} %", 100.0 * share);
        assert!(share > 0.95, "{mbit} Mbit/s, {rtt_ms} ms: {share}");
    }
}

#[test]
fn startup_overshoots_by_about_one_bdp_and_drain_removes_it() {
    // "Startup Dynamics": the gain of 2 bounds the queue to one product (and what a round of acknowledgements adds).
    let mut flow = bbr(DEEP);
    let mut peak: f64 = 0.0;
    flow.run(at(1.0), |flow| peak = peak.max(flow.queue()));
    let mut least = f64::INFINITY;
    flow.run(at(1.5), |flow| least = least.min(flow.queue()));
    println!("peak {peak:.0}, then {least:.0} segments");
    assert!((30.0..=80.0).contains(&peak), "{peak} segments");
    assert!(least <= 2.0, "{least} segments");
}

#[test]
fn in_steady_state_inflight_stays_near_the_bdp() {
    // "ProbeBW": from 0.9 to 1.25 times as fast as the path, so inflight is around the product most of the time.
    let mut flow = bbr(DEEP);
    flow.run(at(5.5), |_| {});
    let (mut sum, mut count, mut most) = (0.0, 0.0, 0.0_f64);
    let bdp = DEEP.bdp();
    flow.run(at(30.0), |flow| {
        let products = f64::from(flow.in_flight) / bdp;
        (sum, count, most) = (sum + products, count + 1.0, most.max(products));
    });
    println!("inflight: mean {:.2}, most {most:.2} products", sum / count);
    assert!((0.9..=1.15).contains(&(sum / count)), "mean of {} products", sum / count);
    assert!((1.2..=2.25).contains(&most), "at most {most} products");
}

#[test]
fn probe_rtt_halves_inflight_when_min_rtt_is_5_s_old() {
    // ProbeRTTInterval = 5 s, and ProbeRTTCwndGain = 0.5. A cycle's drain may reach the least round trip again, which
    // puts it off; here the least was the first segment's, alone on the path.
    let mut flow = bbr(DEEP);
    let half = 0.55 * DEEP.bdp();
    let mut episodes: Vec<f64> = Vec::new();
    flow.run(at(1.5), |_| {});
    flow.run(at(31.0), |flow| {
        let since = flow.now.as_secs_f64();
        if f64::from(flow.control.cwnd()) <= half && episodes.last().is_none_or(|&last| since - last > 1.0) {
            episodes.push(since);
        }
    });
    println!("ProbeRTT at {episodes:.2?} s");
    assert!(episodes.len() >= 4, "{episodes:?}");
    for pair in episodes.windows(2) {
        assert!((5.0..=7.0).contains(&(pair[1] - pair[0])), "{episodes:?}");
    }
}

#[test]
fn with_a_shallow_buffer_bbr_loses_little_and_keeps_the_rate() {
    // A fifth of a product: loss-based bounds keep inflight where losses stay near the threshold of 2 %.
    let path = Path { buffer: 10, ..DEEP };
    let mut flow = bbr(path);
    let share = utilisation(&mut flow, 5.0, 65.0);
    let lost = flow.lost as f64 / (flow.lost + flow.delivered) as f64;
    println!("shallow: {:.1} % of the rate, {:.2} % lost", 100.0 * share, 100.0 * lost);
    assert!(share > 0.85, "{share}");
    assert!(lost < 0.02, "{lost}");
}

#[test]
fn bbr_follows_a_path_that_becomes_slower_and_faster() {
    let mut flow = bbr(DEEP);
    flow.run(at(10.0), |_| {});
    flow.path.rate = BitRate::from_mbit_per_sec(5);
    let slower = utilisation(&mut flow, 25.0, 35.0);
    let queue = flow.queue();
    flow.path.rate = BitRate::from_mbit_per_sec(20);
    let faster = utilisation(&mut flow, 55.0, 75.0);
    println!("at half the rate {slower:.3} with {queue:.0} waiting, at four times that {faster:.3}");
    assert!(slower > 0.95 && queue < 30.0, "{slower}, {queue}");
    assert!(faster > 0.9, "{faster}");
}
