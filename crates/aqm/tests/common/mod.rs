//! Shared parts of the tests of disciplines: links, a stream, packets, random traffic, oracles, and a random walk of the queue.
#![allow(dead_code, reason = "each test uses a part of the kit")]

pub(crate) mod oracle;
pub(crate) mod traffic;

use aqmlab_aqm::{Admission, AdmissionControl, Aqm, Ecn, LinkContext, Packet, QueueState};
use aqmlab_units::{BitRate, Bytes, Stream, Time};

/// 100 Mbit/s Ethernet: 23,234 packets of 500 B a second.
pub(crate) fn link() -> LinkContext {
    LinkContext {
        rate: BitRate::from_mbit_per_sec(100),
        header: Bytes::ZERO,
        overhead: Bytes::new(38),
        peak: None,
    }
}

/// 10 Mbit/s Ethernet: about 2,300 packets of 500 B a second.
pub(crate) fn slow_link() -> LinkContext {
    LinkContext { rate: BitRate::from_mbit_per_sec(10), ..link() }
}

/// C of the slow link, in mean packets a second.
pub(crate) fn slow_capacity(mean_packet: f64) -> f64 {
    10e6 / (8.0 * (mean_packet + 38.0))
}

pub(crate) fn rng() -> Stream {
    Stream::named(1, "law")
}

pub(crate) fn packet(size: u64, ecn: Ecn) -> Packet {
    Packet { size: Bytes::new(size), ecn, flow: 0 }
}

/// A packet of one of several flows.
pub(crate) fn packet_of(flow: u32, size: u64, ecn: Ecn) -> Packet {
    Packet { flow, ..packet(size, ecn) }
}

/// The value that `law` shows under `name`.
pub(crate) fn probed(law: &impl Aqm, name: &str) -> f64 {
    let mut probed_value = None;
    law.probe(&mut |shown, value| {
        if shown == name {
            probed_value = Some(value);
        }
    });
    probed_value.expect("the law shows this variable")
}

/// A random walk of the queue seen by 20,000 arrivals, the timeouts between them included.
pub(crate) fn walk<A: Aqm>(control: &mut AdmissionControl<A>, ecn: Ecn) -> Vec<Admission> {
    let mut steps = Stream::named(2, "walk");
    let mut packets = 0_u32;
    (0..20_000)
        .map(|step| {
            let now = Time::from_nanos(step * 40_000);
            packets = (packets + u32::try_from(steps.below(3)).expect("small")).saturating_sub(1).min(25);
            let queue = QueueState { packets, bytes: Bytes::new(u64::from(packets) * 600) };
            if control.law.poll_timeout().is_some_and(|due| due <= now) {
                control.law.on_timeout(queue, now);
            }
            if packets == 0 {
                control.law.on_empty(now);
            }
            control.admit(&packet(40 + steps.below(1461), ecn), queue, now)
        })
        .collect()
}

/// A random walk of a queue of up to 100 packets over eight seconds, seen by 20,000 arrivals: more than
/// a slow link carries.
pub(crate) fn overloaded<A: Aqm>(control: &mut AdmissionControl<A>, ecn: Ecn) -> Vec<Admission> {
    let mut steps = Stream::named(2, "overload");
    let mut packets = 0_u32;
    (0..20_000)
        .map(|step| {
            let now = Time::from_nanos(step * 400_000);
            packets = (packets + u32::try_from(steps.below(5)).expect("small")).saturating_sub(2).min(100);
            let queue = QueueState { packets, bytes: Bytes::new(u64::from(packets) * 600) };
            if control.law.poll_timeout().is_some_and(|due| due <= now) {
                control.law.on_timeout(queue, now);
            }
            if packets == 0 {
                control.law.on_empty(now);
            }
            control.admit(&packet_of(u32::try_from(steps.below(8)).expect("few"), 500, ecn), queue, now)
        })
        .collect()
}
