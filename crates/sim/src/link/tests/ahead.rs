//! Departures worked out at arrival over capacities that are known ahead, against those followed lazily.

use serde_json::{Value, json};

use super::kinds::capacity;
use super::*;
use crate::link::{AnyLaw, BoxedCapacity, Capacity, Schedule};
use crate::spec::Spec;

/// A rate that changes and outages in which packets wait.
fn schedule(context: &LinkContext) -> BoxedCapacity {
    let rate = |mbit| BitRate::from_mbit_per_sec(mbit);
    let at = |ms| Time::ZERO + Duration::from_millis(ms);
    let changes = vec![(at(20), rate(2)), (at(70), rate(30)), (at(150), rate(7))];
    let text = r#"{"link": {"outages": [{"at": "40 ms", "lasts": "15 ms", "every": "90 ms"}]}, "queue": {"droptail": {}}}"#;
    let spec = Spec::from_json(text).expect("a valid spec");
    Box::new(Schedule::new(context, changes, spec.links.first().waiting_outages()))
}

/// The capacities that are known ahead, by a number, each with rates that vary.
fn known_ahead(context: &LinkContext, number: usize) -> BoxedCapacity {
    let trace = json!({ "seconds": [0, 0.03, 0.05, 0.051, 0.1], "mbps": [10, 3, 0, 25, 8.5] });
    let leo = json!({ "rate": "10 Mbit/s", "offset": "30 ms", "every": "40 ms", "handover": "5 ms" });
    let kind = |name: &str, table: Value| capacity(json!({ name: table }), context);
    match number % 3 {
        0 => kind("trace", trace),
        1 => kind("leo", leo),
        _ => schedule(context),
    }
}

/// All that is seen of a link over `steps`: after each of them its queue, its law and its counters, and in the end the
/// deliveries, the drops and the delays.
fn seen(mut link: impl Link, steps: &[Step]) -> (Vec<String>, Vec<Delivery>, Vec<u32>, String) {
    let (mut now, mut delivered, mut lost, mut looks) = (Time::ZERO, Vec::new(), Vec::new(), Vec::new());
    for (number, step) in (0..).zip(steps) {
        now += Duration::from_nanos(step.after);
        deliver_until(&mut link, now, &mut delivered);
        match step.arrival {
            Some((len, is_ect)) => _ = link.arrive(&packet(number, len, is_ect, step.flow), now),
            None => link.advance(now),
        }
        lost.extend(std::iter::from_fn(|| link.pop_drop().map(|packet| number_of(&packet))));
        let meter = meter(&link);
        let variables = probe(|out| meter.probe(out));
        looks.push(format!("{:?} {:?} {variables:?}", meter.state(), meter.counters()));
    }
    deliver_until(&mut link, Time::MAX, &mut delivered);
    link.advance(now + Duration::from_secs(600));
    let meter = meter(&link);
    let end = format!("{:?} {:?}", meter.counters(), all_waits(&meter.delays().all()));
    (looks, delivered, lost, end)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn departures_of_varying_links_are_known_at_arrival(
        queue in queue(), wire in wire(), kind in 0..3usize, steps in steps(),
    ) {
        let context = wire.context;
        let law = || {
            let resolved = queue.resolve(&context).expect("a valid law");
            resolved.visit(&context, AnyLaw::maker(Stream::named(1, "queue/0"))).expect("it decides at arrival")
        };
        prop_assert!(known_ahead(&context, kind).is_known_ahead());
        let ((law_ahead, limit), (law_later, _)) = (law(), law());
        let ahead: Computed<_, WindowScale, _> =
            Computed::with_capacity(AdmissionControl::new(law_ahead, limit), &wire, known_ahead(&context, kind));
        let later: Queued<_, WindowScale, _> =
            Queued::with_capacity(Fifo::new(law_later, limit), &wire, known_ahead(&context, kind));
        prop_assert_eq!(seen(Boxed::new(ahead), &steps), seen(Boxed::new(later), &steps));
    }
}

#[test]
fn capacities_that_depend_on_the_queue_are_not_known_ahead() {
    let context = wire_context();
    let bucket = json!({ "rate": "10 Mbit/s", "burst": "16 kB" });
    let kinds = [
        json!({ "token_bucket": bucket }),
        json!({ "policer": bucket }),
        json!({ "wifi": { "rate": "100 Mbit/s" } }),
        json!({ "cellular": { "rate": "10 Mbit/s" } }),
        json!({ "pon": { "rate": "10 Mbit/s" } }),
        json!({ "mahimahi": { "opportunities": [1, 2] } }),
        json!({ "atm": { "rate": "10 Mbit/s" } }),
    ];
    for kind in kinds {
        assert!(!capacity(kind.clone(), &context).is_known_ahead(), "{kind}");
    }
}

fn wire_context() -> LinkContext {
    LinkContext {
        rate: BitRate::from_mbit_per_sec(10),
        header: Bytes::ZERO,
        overhead: Bytes::new(38),
        peak: None,
    }
}
