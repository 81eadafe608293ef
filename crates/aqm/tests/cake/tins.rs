//! Tins: their shares of the rate, their parameters, and their classes.

use aqmlab_aqm::{FlowLabel, Packet};
use aqmlab_units::Bytes;
use serde_json::json;

use crate::rig::{LABEL, Rig};

/// The shares in percent of saturated flows with these code points.
fn shares(diffserv: &str, bandwidth: &str, code_points: &[u8]) -> Vec<f64> {
    let mut rig = Rig::new(json!({"diffserv": diffserv, "bandwidth": bandwidth}));
    let flows: Vec<u32> = (0..).take(code_points.len()).collect();
    for (&flow, &dscp) in flows.iter().zip(code_points) {
        rig.queue.label_flow(flow, FlowLabel { dscp, ..LABEL });
    }
    rig.saturate(&flows, 1000, 32_000);
    let all: u64 = rig.sent.values().sum();
    flows.iter().map(|flow| 100.0 * rig.sent[flow] as f64 / all as f64).collect()
}

/// Code points of Best Effort, Bulk, Video and Voice.
const CODE_POINTS: [u8; 4] = [0, 8, 32 + 2, 46];

#[test]
fn saturated_tins_get_their_thresholds_and_best_effort_the_rest() {
    let [best_effort, bulk, video, voice] = CODE_POINTS;
    for (diffserv, code_points, expected) in [
        ("besteffort", vec![best_effort, voice], vec![50.0, 50.0]),
        ("diffserv3", vec![best_effort, bulk], vec![93.75, 6.25]),
        ("diffserv3", vec![best_effort, voice], vec![75.0, 25.0]),
        ("diffserv3", vec![best_effort, bulk, voice], vec![68.75, 6.25, 25.0]),
        ("diffserv4", vec![best_effort, bulk, video, voice], vec![18.75, 6.25, 50.0, 25.0]),
        ("diffserv4", vec![voice], vec![100.0]),
        // Below a tin that may have all, the others keep their thresholds: (7/8)^5 and (7/8)^7.
        ("precedence", vec![0, 56], vec![60.73, 39.27]),
    ] {
        let got = shares(diffserv, "10 Mbit/s", &code_points);
        for (got, expected) in got.iter().zip(&expected) {
            assert!((got - expected).abs() < 0.1, "{diffserv} {code_points:?}: {got} %, not {expected} %");
        }
    }
}

/// The shares in percent of two saturated tins whose thresholds are these shares of the rate: the rule of the clocks, in
/// units of the time that a packet takes at the full rate.
fn two_clocks(thresholds: [f64; 2]) -> [f64; 2] {
    let (mut clocks, mut sent) = ([0.0_f64; 2], [0.0; 2]);
    for step in 0..32_000 {
        let now = f64::from(step);
        let due = |tin: usize| clocks[tin] <= now;
        let chosen = match (due(0), due(1)) {
            (_, true) => 1,
            (true, false) => 0,
            (false, false) => usize::from(clocks[1] <= clocks[0]),
        };
        let takes = 1.0 / thresholds[chosen];
        clocks[chosen] =
            if clocks[chosen] < now { clocks[chosen] + takes } else { clocks[chosen].max(now + takes) };
        sent[chosen] += 100.0 / 32_000.0;
    }
    sent
}

#[test]
fn tins_above_their_thresholds_share_by_their_clocks() {
    for (code_points, thresholds) in
        [([8, 46], [1.0 / 16.0, 0.25]), ([34, 46], [0.5, 0.25]), ([8, 34], [1.0 / 16.0, 0.5])]
    {
        let (got, expected) = (shares("diffserv4", "10 Mbit/s", &code_points), two_clocks(thresholds));
        for (got, expected) in got.iter().zip(expected) {
            assert!((got - expected).abs() < 0.5, "{code_points:?}: {got} %, not {expected} %");
        }
    }
}

#[test]
fn without_a_shaper_tins_share_by_their_quanta() {
    for (diffserv, code_points, quanta) in [
        ("diffserv3", vec![0, 8, 46], vec![1024.0, 64.0, 256.0]),
        ("diffserv4", CODE_POINTS.to_vec(), vec![1024.0, 64.0, 512.0, 256.0]),
        ("diffserv8", vec![1, 8, 0, 34], vec![256.0, 224.0, 196.0, 171.0]),
    ] {
        let all: f64 = quanta.iter().sum();
        for (got, quantum) in shares(diffserv, "unlimited", &code_points).iter().zip(&quanta) {
            let expected = 100.0 * quantum / all;
            assert!((got - expected).abs() < 0.5, "{diffserv}: {got} %, not {expected} %");
        }
    }
}

#[test]
fn each_tin_shows_the_parameters_of_its_threshold() {
    let rig = Rig::new(json!({"bandwidth": "16 Mbit/s", "rtt": "metro"}));
    for (tin, thresh, quantum) in [("bulk", 1.0, 300.0), ("best_effort", 16.0, 488.0), ("voice", 4.0, 300.0)]
    {
        assert!(rig.shows(&format!("{tin}_thresh_mbps"), thresh), "{tin}");
        assert!(rig.shows(&format!("{tin}_quantum_bytes"), quantum), "{tin}");
        // 3/2 times 1514 B, above a twentieth of 10 ms.
        let target = (1514.0 * 8.0 * 1.5 / (1e3 * thresh)).max(0.5);
        let interval = (10.0 + target - 0.5).max(2.0 * target);
        assert!((rig.probe(&format!("{tin}_target_ms")) - target).abs() < 1e-5, "{tin}");
        assert!((rig.probe(&format!("{tin}_interval_ms")) - interval).abs() < 1e-5, "{tin}");
    }
}

#[test]
fn classes_are_the_tins_in_the_order_of_tc() {
    for (diffserv, names) in [
        ("diffserv3", vec!["Best Effort", "Bulk", "Best Effort", "Voice"]),
        ("diffserv4", vec!["Best Effort", "Bulk", "Video", "Voice"]),
        ("precedence", vec!["Tin 0", "Tin 1", "Tin 4", "Tin 5"]),
    ] {
        let mut rig = Rig::new(json!({"diffserv": diffserv}));
        for ((flow, &dscp), name) in (0..).zip(&CODE_POINTS).zip(names) {
            rig.queue.label_flow(flow, FlowLabel { dscp, ..LABEL });
            let packet = Packet { size: Bytes::new(1000), ecn: aqmlab_aqm::Ecn::NotEct, flow };
            assert_eq!(
                rig.queue.classes()[usize::from(rig.queue.class_of(&packet))],
                name,
                "{diffserv} {dscp}"
            );
        }
    }
    assert!(Rig::new(json!({"diffserv": "besteffort"})).queue.classes().is_empty());
}
