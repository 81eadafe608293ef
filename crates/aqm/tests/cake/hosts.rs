//! Fairness among hosts, with one to 32 flows a host.

use aqmlab_aqm::{FlowLabel, HostAddress};
use serde_json::json;

use crate::rig::{LABEL, Rig};

/// The ends of a flow, as numbers of hosts.
type Ends = (u32, u32);

/// Bytes that each flow sends of 20,000 packets, when all always have packets waiting.
fn sent(isolation: &str, nat: bool, flows: &[(Ends, Ends)]) -> Vec<f64> {
    let mut rig = Rig::new(json!({"isolation": isolation, "nat": nat, "bandwidth": "20 Mbit/s"}));
    let numbers: Vec<u32> = (0..).take(flows.len()).collect();
    for (&flow, &((source, inner_source), (destination, inner))) in numbers.iter().zip(flows) {
        let source = HostAddress { outer: source, inner: inner_source };
        let destination = HostAddress { outer: destination, inner };
        rig.queue.label_flow(flow, FlowLabel { source, destination, ..LABEL });
    }
    rig.saturate(&numbers, 1514, 20_000);
    numbers.iter().map(|flow| rig.sent.get(flow).map_or(0.0, |&bytes| bytes as f64)).collect()
}

/// Flows between these hosts, without NAT.
fn plain(flows: &[Ends]) -> Vec<(Ends, Ends)> {
    flows.iter().map(|&(source, destination)| ((source, source), (destination, destination))).collect()
}

/// Bytes by which a share may be off: rounds that have begun, a packet and a quantum of each flow.
fn a_round(flows: usize) -> f64 {
    (flows as f64) * (1514.0 + 610.0)
}

/// The sum of bytes by a host of each flow.
fn by_host(bytes: &[f64], host_of: impl Fn(usize) -> u32) -> Vec<f64> {
    let hosts = (0..bytes.len()).map(&host_of).max().map_or(0, |most| most as usize + 1);
    let mut sums = vec![0.0; hosts];
    for (flow, bytes) in bytes.iter().enumerate() {
        sums[host_of(flow) as usize] += bytes;
    }
    sums
}

#[test]
fn hosts_have_equal_shares_however_many_flows_they_have() {
    for flows in 1..=32_u32 {
        // Host 0 has one flow, host 1 has `flows`.
        let host_of = |flow: usize| u32::from(flow > 0);
        let out: Vec<Ends> = (0..=flows).map(|flow| (host_of(flow as usize), 100 + flow)).collect();
        let back: Vec<Ends> = out.iter().map(|&(source, destination)| (destination, source)).collect();
        for (isolation, flows_of) in [
            ("dual-srchost", &out),
            ("dual-dsthost", &back),
            ("triple-isolate", &out),
            ("triple-isolate", &back),
        ] {
            let bytes = sent(isolation, false, &plain(flows_of));
            let hosts = by_host(&bytes, host_of);
            let off = (hosts[0] - hosts[1]).abs();
            // A quantum's dither and the flows' first rounds, in which hosts are not counted yet.
            assert!(
                off < 2.0 * a_round(bytes.len()) + 0.002 * hosts[0],
                "{isolation}, {flows} flows: {hosts:?}"
            );
            let among = &bytes[1..];
            let mean = hosts[1] / f64::from(flows);
            for flow in among {
                assert!(
                    (flow - mean).abs() < a_round(bytes.len()).min(0.05 * mean),
                    "{isolation}: {among:?}"
                );
            }
        }
    }
}

#[test]
fn without_host_isolation_flows_have_equal_shares() {
    let flows: Vec<Ends> = (0..8).map(|flow| (u32::from(flow > 0), 100 + flow)).collect();
    for isolation in ["flows", "dual-dsthost"] {
        let bytes = sent(isolation, false, &plain(&flows));
        let mean = bytes.iter().sum::<f64>() / 8.0;
        assert!(bytes.iter().all(|flow| (flow - mean).abs() < a_round(8)), "{isolation}: {bytes:?}");
    }
}

#[test]
fn modes_without_flows_have_a_queue_for_each_host() {
    // Three flows of host 0 and one of host 1, to one and to three destinations.
    let flows = plain(&[(0, 5), (0, 6), (0, 7), (1, 5)]);
    for (isolation, queues) in [
        ("flowblind", vec![vec![0, 1, 2, 3]]),
        ("srchost", vec![vec![0, 1, 2], vec![3]]),
        ("dsthost", vec![vec![0, 3], vec![1], vec![2]]),
        ("hosts", vec![vec![0], vec![1], vec![2], vec![3]]),
    ] {
        let bytes = sent(isolation, false, &flows);
        let sums: Vec<f64> = queues.iter().map(|queue| queue.iter().map(|&flow| bytes[flow]).sum()).collect();
        let mean = sums.iter().sum::<f64>() / sums.len() as f64;
        assert!(sums.iter().all(|sum| (sum - mean).abs() < a_round(4)), "{isolation}: {sums:?}");
    }
}

#[test]
fn hosts_behind_a_nat_are_one_host_without_nat() {
    // Two hosts behind one address with one and three flows, and a host of its own with one flow.
    let flows: Vec<(Ends, Ends)> = [(1, 11), (1, 12), (1, 12), (1, 12), (2, 2)]
        .into_iter()
        .zip(100..)
        .map(|(source, destination)| (source, (destination, destination)))
        .collect();
    let host_of = |flow: usize| [0, 1, 1, 1, 2][flow];
    let inside = by_host(&sent("dual-srchost", true, &flows), host_of);
    let mean = inside.iter().sum::<f64>() / 3.0;
    assert!(inside.iter().all(|host| (host - mean).abs() < a_round(5)), "{inside:?}");
    let outside = by_host(&sent("dual-srchost", false, &flows), |flow| u32::from(flow == 4));
    assert!((outside[0] - outside[1]).abs() < 2.0 * a_round(5), "{outside:?}");
}
