//! A link whose rate changes, and which has outages: Lindley's recursion with the rate of the moment at which each sending
//! begins, which is not in an outage.

use aqmlab_aqm::{Droptail, Limit};
use serde_json::json;

use super::*;
use crate::spec::LinkSpec;

/// Up to twenty rates from 100 kbit/s to 100 Mbit/s, and how long each lasts.
fn rates() -> impl Strategy<Value = Vec<(u64, u64)>> {
    prop::collection::vec((100_000..100_000_000u64, 1..40_000_000u64), 1..20)
}

proptest! {
    #[test]
    fn a_packet_is_sent_at_the_rate_at_its_transmissions_start(
        rates in rates(), device_fifo in 0..4u32, steps in steps(), outage in (0..50u64, 1..20u64),
    ) {
        let rate_of = |bits| BitRate::from_bits_per_sec(bits).expect("above zero");
        let mut changes = Vec::new();
        let mut since = Time::ZERO;
        for &(bits, lasts) in &rates {
            changes.push((since, rate_of(bits)));
            since += Duration::from_nanos(lasts);
        }
        let context = LinkContext { rate: changes[0].1, header: Bytes::ZERO, overhead: Bytes::new(38), peak: None };
        let wire = Wire { context, delay: Duration::from_millis(3), device_fifo, owners: 0 };
        let (at, lasts) = outage;
        let every = 2 * lasts;
        let outages = json!([{ "at": format!("{at} ms"), "lasts": format!("{lasts} ms"), "every": format!("{every} ms") }]);
        let spec: LinkSpec = serde_json::from_value(json!({ "outages": outages })).expect("a link");
        let capacity = Schedule::new(&context, changes[1..].to_vec(), spec.waiting_outages());
        let up_from = |time: Time| {
            let nanos = time.as_nanos().checked_sub(at * 1_000_000).map(|since| since % (every * 1_000_000));
            let rest = nanos.and_then(|nanos| (lasts * 1_000_000).checked_sub(nanos));
            time + Duration::from_nanos(rest.unwrap_or(0))
        };
        let mut link = Queued::with_capacity(Fifo::new(Droptail, Limit::Packets(10_000)), &wire, capacity);
        let (mut now, mut delivered, mut arrivals) = (Time::ZERO, Vec::new(), Vec::new());
        for (number, step) in (0..).zip(&steps) {
            now += Duration::from_nanos(step.after);
            deliver_until(&mut link, now, &mut delivered);
            let len = step.arrival.map_or(0, |(len, _)| len);
            arrivals.push((now, Bytes::new(HEADERS + u64::from(len)) + context.overhead));
            link.arrive(&packet(number, len, false, 0), now);
        }
        deliver_until(&mut link, Time::MAX, &mut delivered);
        let mut free = Time::ZERO;
        for ((number, _, at), (arrived, size)) in delivered.into_iter().zip(arrivals) {
            let begins = up_from(arrived.max(free));
            let (_, rate) = changes.iter().rev().find(|&&(since, _)| since <= begins).expect("a first rate");
            let exact = begins + rate.time_to_send(size);
            let departed = Time::ZERO + (at - (Time::ZERO + Duration::from_millis(3)));
            prop_assert!(departed.as_nanos().abs_diff(exact.as_nanos()) <= 1, "packet {number}: {departed}, not {exact}");
            free = departed;
        }
    }
}
