//! The filter of acknowledgements: its truth table, its counts, and its effect on limits and clocks.

use aqmlab_aqm::{Ecn, Packet, TcpHeader};
use aqmlab_units::{Bytes, Time};
use serde_json::json;

use crate::rig::{Rig, cake};

const ACK: u16 = TcpHeader::ACK;
const ECE: u16 = TcpHeader::ECE;
const CWR: u16 = TcpHeader::CWR;

fn ack(number: u32) -> TcpHeader {
    TcpHeader { ack: number, flags: ACK, ..TcpHeader::default() }
}

fn with_flags(number: u32, flags: u16) -> TcpHeader {
    TcpHeader { flags: ACK | flags, ..ack(number) }
}

fn with_sack(number: u32, blocks: &[(u32, u32)]) -> TcpHeader {
    TcpHeader { sack: blocks.iter().copied().collect(), ..ack(number) }
}

fn with_stamps(number: u32, value: u32, echo: u32) -> TcpHeader {
    TcpHeader { timestamps: Some((value, echo)), ..ack(number) }
}

fn with_data(number: u32) -> TcpHeader {
    TcpHeader { has_data: true, ..ack(number) }
}

fn with_counters(number: u32) -> TcpHeader {
    TcpHeader { has_other_options: true, ..ack(number) }
}

/// The numbers of the packets that are dropped when segments of these flows arrive one after another.
fn dropped(filter: &str, arrivals: &[(u32, Option<TcpHeader>)]) -> Vec<usize> {
    let mut queue = cake(json!({"ack_filter": filter, "isolation": "flowblind"}), 1);
    let mut lost = Vec::new();
    for (number, &(flow, header)) in arrivals.iter().enumerate() {
        let packet = Packet { size: Bytes::new(66), ecn: Ecn::NotEct, flow };
        let lost = &mut |number| lost.push(number);
        match header {
            Some(header) => queue.enqueue_segment(packet, &header, number, Time::ZERO, lost),
            None => queue.enqueue(packet, number, Time::ZERO, lost),
        };
    }
    lost
}

/// The dropped packets of one flow under the conservative and under the aggressive filter.
fn of_flow(headers: &[TcpHeader]) -> [Vec<usize>; 2] {
    let arrivals: Vec<_> = headers.iter().map(|&header| (7, Some(header))).collect();
    ["ack-filter", "ack-filter-aggressive"].map(|filter| dropped(filter, &arrivals))
}

/// A case of the truth table: segments of a flow, and the packets that each filter drops.
type Case<'a> = (&'a str, Vec<TcpHeader>, [&'a [usize]; 2]);

#[test]
fn acknowledgements_are_dropped_as_the_truth_table_says() {
    let none: [&[usize]; 2] = [&[], &[]];
    // Two that a third replaces, of which the first is dropped; the second one alone is dropped by the aggressive filter.
    let first_or_each: [&[usize]; 2] = [&[0], &[0, 1]];
    let second_only: [&[usize]; 2] = [&[], &[1]];
    let cases: Vec<Case<'_>> = vec![
        ("one", vec![ack(1)], none),
        ("two", vec![ack(1), ack(2)], [&[], &[0]]),
        ("three", vec![ack(1), ack(2), ack(3)], first_or_each),
        ("five", vec![ack(1), ack(2), ack(3), ack(4), ack(5)], [&[0, 1, 2], &[0, 1, 2, 3]]),
        ("numbers that wrap", vec![ack(u32::MAX), ack(0), ack(1)], first_or_each),
        ("duplicates", vec![ack(1), ack(1), ack(1)], none),
        ("an older one arrives last", vec![ack(3), ack(2), ack(1)], none),
        (
            "data are kept, and a segment with data replaces",
            vec![with_data(1), with_data(2), with_data(3)],
            none,
        ),
        ("a segment with data comes behind", vec![ack(1), ack(2), with_data(3)], first_or_each),
        ("a SYN", vec![with_flags(1, TcpHeader::SYN), ack(2), ack(3)], second_only),
        ("a FIN", vec![with_flags(1, TcpHeader::FIN), ack(2), ack(3)], second_only),
        ("a reset", vec![with_flags(1, TcpHeader::RST), ack(2), ack(3)], second_only),
        ("a push", vec![with_flags(1, TcpHeader::PSH), ack(2), ack(3)], second_only),
        ("a SYN replaces nothing", vec![ack(1), ack(2), with_flags(3, TcpHeader::SYN)], [&[], &[0]]),
        ("no ACK bit", vec![ack(1), TcpHeader { flags: TcpHeader::RST, ..ack(2) }], none),
        // Congestion.
        ("ECE begins", vec![ack(1), with_flags(2, ECE)], none),
        ("ECE stays", vec![with_flags(1, ECE), with_flags(2, ECE), with_flags(3, ECE)], first_or_each),
        ("ECE ends", vec![with_flags(1, ECE), ack(2), ack(3)], second_only),
        ("ECE in the middle", vec![ack(1), with_flags(2, ECE), ack(3)], none),
        ("ECE at the end", vec![ack(1), ack(2), with_flags(3, ECE)], [&[0], &[0]]),
        ("CWR", vec![with_flags(1, CWR), ack(2), ack(3)], second_only),
        ("AE", vec![with_flags(1, TcpHeader::AE), with_flags(2, TcpHeader::AE), ack(3)], none),
        ("counters of Accurate ECN", vec![with_counters(1), with_counters(2), with_counters(3)], none),
        // Selective acknowledgements.
        ("the same ranges again", vec![with_sack(1, &[(10, 20)]), with_sack(1, &[(10, 20)])], none),
        ("a range grows", vec![with_sack(1, &[(10, 20)]), with_sack(1, &[(10, 30)])], [&[], &[0]]),
        ("a range shrinks", vec![with_sack(1, &[(10, 30)]), with_sack(1, &[(10, 20)])], none),
        (
            "a range is added",
            vec![with_sack(1, &[(10, 20)]), with_sack(1, &[(40, 50), (10, 20)])],
            [&[], &[0]],
        ),
        ("a range is left out", vec![with_sack(1, &[(40, 50), (10, 20)]), with_sack(1, &[(10, 20)])], none),
        ("the first range", vec![ack(1), with_sack(1, &[(10, 20)])], [&[], &[0]]),
        ("the ranges are filled", vec![with_sack(1, &[(10, 20)]), ack(20)], none),
        (
            "the same range, a higher number",
            vec![with_sack(1, &[(10, 20)]), with_sack(2, &[(10, 20)])],
            [&[], &[0]],
        ),
        ("a duplicate below the number", vec![with_sack(30, &[(10, 20)]), with_sack(40, &[(10, 20)])], none),
        // Timestamps.
        ("timestamps grow", vec![with_stamps(1, 5, 5), with_stamps(2, 6, 5)], [&[], &[0]]),
        ("timestamps stay", vec![with_stamps(1, 5, 5), with_stamps(2, 5, 5)], [&[], &[0]]),
        ("an older value", vec![with_stamps(1, 5, 5), with_stamps(2, 4, 5)], none),
        ("an older echo", vec![with_stamps(1, 5, 5), with_stamps(2, 5, 4)], none),
        ("timestamps that wrap", vec![with_stamps(1, u32::MAX, 5), with_stamps(2, 0, 5)], [&[], &[0]]),
        ("timestamps begin", vec![ack(1), with_stamps(2, u32::MAX, 5)], [&[], &[0]]),
        ("timestamps end", vec![with_stamps(1, 5, 5), ack(2)], none),
    ];
    for (name, headers, expected) in cases {
        assert_eq!(of_flow(&headers), expected, "{name}");
    }
}

#[test]
fn only_acknowledgements_of_the_same_flow_replace_each_other() {
    let header = |flow, number| (flow, Some(ack(number)));
    let between = [header(1, 1), header(2, 2), header(1, 2)];
    assert_eq!(dropped("ack-filter-aggressive", &between), [0_usize; 0], "another flow's packet is between");
    let three = [header(1, 1), header(2, 1), header(1, 2), header(2, 2), header(1, 3), header(2, 3)];
    assert_eq!(dropped("ack-filter", &three), [0, 1]);
    let datagrams = [(1, None), (1, None), header(1, 3), (1, None)];
    assert_eq!(dropped("ack-filter-aggressive", &datagrams), [0_usize; 0]);
    assert_eq!(dropped("no-ack-filter", &three), [0_usize; 0]);
}

#[test]
fn filtered_packets_are_counted_and_take_no_memory() {
    let mut rig = Rig::new(json!({"ack_filter": "ack-filter"}));
    for number in 0..10 {
        rig.arrive_segment(1, 66, &ack(number));
    }
    assert!(rig.shows("best_effort_ack_drops", 8.0) && rig.shows("best_effort_drops", 0.0));
    assert!(rig.shows("best_effort_pkts", 10.0) && rig.shows("best_effort_bytes", 660.0));
    assert!(rig.shows("memory_used_bytes", 2.0 * 960.0) && rig.shows("best_effort_backlog_bytes", 132.0));
    let counters = rig.queue.counters();
    assert_eq!((counters.queued, counters.evicted, rig.queue.state().packets), (10, 8, 2));
    let left: Vec<usize> = std::iter::from_fn(|| rig.depart()).map(|departure| departure.payload).collect();
    assert_eq!(left, [8, 9], "the newest stay, in order");
}

#[test]
fn only_incoming_shapers_charge_filtered_packets() {
    // 84 B each at 84 kB/s are a millisecond.
    for (ingress, wait_ms) in [(false, 1.0), (true, 1.5)] {
        let mut rig = Rig::new(json!({
            "ack_filter": "ack-filter", "bandwidth": "672 kbit/s", "link_layer": "ethernet", "ingress": ingress,
        }));
        let start = rig.now;
        for number in 0..8 {
            rig.arrive_segment(1, 60, &ack(number));
        }
        rig.depart().expect("two wait");
        assert_eq!(rig.now, start, "the queue was empty");
        rig.depart().expect("one waits");
        // The fail-safe clock bounds the wait to one and a half times that of the packet that left.
        let wait = (rig.now - start).as_millis_f64();
        assert!((wait - wait_ms).abs() < 1e-3, "ingress = {ingress}: {wait} ms");
    }
}
