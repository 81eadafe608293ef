//! Parameters of every discipline, drawn as it declares them: each set works or is refused with a one-line error.
#![cfg(feature = "serde")]

mod common;

use std::cell::Cell;
use std::collections::VecDeque;
use std::ops::Bound;

use aqmlab_aqm::{
    Admission, Allowed, Choice, Ecn, Entry, Limit, Packet, Parameter, ParameterError, PiConfig, QueueConfig,
    RedConfig, RedStarConfig, RemConfig, SignedSize, Value, catalogue,
};
use aqmlab_units::{BitRate, Bytes, Duration, Range, Stream, Time};
use common::link;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Map, json};

fn rate(bits_per_sec: u64) -> BitRate {
    BitRate::from_bits_per_sec(bits_per_sec).expect("above zero")
}

fn read(name: &str, parameters: &Map<String, serde_json::Value>) -> QueueConfig {
    serde_json::from_value(json!({ name: parameters })).expect("each value is of its parameter's type")
}

/// The default of a parameter, of which others depend, or another value that is likely to do something.
fn plausible(parameter: &Parameter) -> BoxedStrategy<serde_json::Value> {
    let default = serde_json::to_value(&parameter.value).expect("a value");
    prop_oneof![Just(default), likely(&parameter.allowed, &parameter.value)].boxed()
}

/// From a little above the default far down.
fn likely(allowed: &Allowed, default: &Value) -> BoxedStrategy<serde_json::Value> {
    let about = |scale: f64| (-6.0..1.0).prop_map(move |power: f64| scale * power.exp2());
    match allowed {
        Allowed::Flag => any::<bool>().prop_map(Into::into).boxed(),
        Allowed::Choice(choices) => {
            let names: Vec<&str> = choices.iter().map(|Choice { name, .. }| *name).collect();
            prop::sample::select(names).prop_map(Into::into).boxed()
        }
        Allowed::Whole(range) => {
            let Value::Whole(default) = *default else { panic!("a whole number has a default") };
            let range = *range;
            // Halved, so that what must be a multiple of a power of two often is.
            let halved = (0_u32..7).prop_map(move |times| default >> times);
            let near = prop_oneof![halved, 0..=2 * default];
            near.prop_map(move |number| if range.contains(&number) { number } else { default }.into()).boxed()
        }
        Allowed::Number(range) => {
            let range = *range;
            let scale = match *default {
                Value::Number(default) if default > 0.0 => default,
                _ if range.contains(&20.0) => 20.0,
                _ => 1.0,
            };
            about(scale)
                .prop_map(move |drawn| if range.contains(&drawn) { drawn } else { scale }.into())
                .boxed()
        }
        Allowed::Time(_) => {
            let nanos = match default {
                Value::Text(text) => text.parse::<Duration>().expect("a time").as_nanos(),
                _ => 0,
            };
            let nanos = if nanos == 0 { 30e6 } else { nanos as f64 };
            about(nanos * 1e-9).prop_map(|secs| Duration::from_secs_f64(secs).to_string().into()).boxed()
        }
        Allowed::Size(_) => (1_u64..3000).prop_map(|size| Bytes::new(size).to_string().into()).boxed(),
        Allowed::SignedSize(_) => (-64..=256).prop_map(|size| SignedSize(size).to_string().into()).boxed(),
        Allowed::Rate(_) => (1_u64..200).prop_map(|rate| format!("{rate} Mbit/s").into()).boxed(),
        Allowed::Named(names, allowed) => {
            let names: Vec<&str> = names.iter().map(|Choice { name, .. }| *name).collect();
            let named = prop::sample::select(names).prop_map(Into::into);
            prop_oneof![named, likely(allowed, default)].boxed()
        }
        Allowed::Limit => prop_oneof![
            (1_u32..200).prop_map(|packets| Limit::Packets(packets).to_string().into()),
            (1000_u64..20_000).prop_map(|size| Bytes::new(size).to_string().into())
        ]
        .boxed(),
        Allowed::PacketNumbers => (1_u32..50, 0_u32..5)
            .prop_map(|(first, more)| format!("{first} {}-{}", first + 2, first + 2 + more).into())
            .boxed(),
        Allowed::Automatic(allowed) => likely(allowed, default),
    }
}

/// Values at the ends of a parameter's range and beyond them, and further values of its type.
fn odd(allowed: &Allowed) -> BoxedStrategy<serde_json::Value> {
    match allowed {
        Allowed::Whole(range) => {
            prop_oneof![ends(range).prop_map(Into::into), any::<u32>().prop_map(Into::into)].boxed()
        }
        // A probability's type has no others.
        Allowed::Number(range) if range.most == Bound::Included(1.0) => {
            prop_oneof![ends(range), Just(1e-300)].prop_map(Into::into).boxed()
        }
        Allowed::Number(range) => {
            prop_oneof![ends(range), prop::num::f64::NORMAL, Just(-1.0)].prop_map(Into::into).boxed()
        }
        Allowed::Time(range) => prop_oneof![ends(range), any::<u64>().prop_map(Duration::from_nanos)]
            .prop_map(|span| span.to_string().into())
            .boxed(),
        Allowed::Size(range) => prop_oneof![ends(range), any::<u64>().prop_map(Bytes::new)]
            .prop_map(|size| size.to_string().into())
            .boxed(),
        Allowed::SignedSize(range) => prop_oneof![ends(range), (-1000..1000).prop_map(SignedSize)]
            .prop_map(|size| size.to_string().into())
            .boxed(),
        Allowed::Rate(range) => {
            let bits = range.map(BitRate::bits_per_sec);
            prop_oneof![ends(&bits), any::<u64>()]
                .prop_map(|bits| rate(bits.max(1)).to_string().into())
                .boxed()
        }
        Allowed::Limit => prop_oneof![Just("0 packets"), Just("0 B"), Just("1 packet"), Just("40 B")]
            .prop_map(Into::into)
            .boxed(),
        Allowed::Automatic(allowed) | Allowed::Named(_, allowed) => odd(allowed),
        Allowed::Flag | Allowed::Choice(_) | Allowed::PacketNumbers => likely(allowed, &Value::Automatic),
    }
}

/// The ends of a range, zero where it has none.
fn ends<T: Copy + Default + std::fmt::Debug + 'static>(
    range: &Range<T>,
) -> impl Strategy<Value = T> + use<T> {
    let end = |bound: Bound<T>| match bound {
        Bound::Included(end) | Bound::Excluded(end) => end,
        Bound::Unbounded => T::default(),
    };
    prop::sample::select(vec![T::default(), end(range.least), end(range.most)])
}

/// A configuration of one discipline: plausible but, now and then, for one parameter.
fn any_config(entry: &Entry) -> impl Strategy<Value = QueueConfig> + use<> {
    let name = entry.name;
    let names: Vec<&str> = entry.parameters.iter().map(|parameter| parameter.name).collect();
    let values: Vec<_> = entry.parameters.iter().map(plausible).collect();
    let odds: Vec<_> = entry
        .parameters
        .iter()
        .enumerate()
        .map(|(place, parameter)| odd(&parameter.allowed).prop_map(move |value| (place, value)).boxed())
        .collect();
    let odd = prop::option::of(prop::strategy::Union::new(odds));
    (values, odd).prop_map(move |(mut values, odd)| {
        if let Some((place, value)) = odd {
            values[place] = value;
        }
        read(name, &names.iter().map(|name| (*name).to_owned()).zip(values).collect())
    })
}

/// Arrivals and departures of many flows at random, over an idle hour too: every packet is accounted for, and what the
/// probe shows can be.
fn walk(config: &QueueConfig, is_one_queue: bool) -> Result<(), TestCaseError> {
    let mut queue = config.queue(&link(), Stream::named(1, "queue"));
    let mut steps = Stream::named(3, "steps");
    let mut inside: VecDeque<usize> = VecDeque::new();
    let (mut nanos, mut offered, mut dropped, mut sent) = (0, 0, 0, 0);
    for step in 0..3000 {
        nanos += if step == 2500 { 4_000_000_000_000 } else { steps.below(400_000) };
        let mut now = Time::from_nanos(nanos);
        let mut updates = 0;
        while let Some(due) = queue.poll_timeout().filter(|due| *due <= now) {
            queue.on_timeout(due);
            let is_over = queue.poll_timeout().is_none_or(|next| next > due);
            prop_assert!(is_over, "the promised instant counts");
            updates += 1;
            if updates == 20 {
                // An idle hour has millions of updates: it ends early for a discipline with that many.
                now = due;
            }
        }
        nanos = now.as_nanos();
        let mut lost = Vec::new();
        if steps.below(100) < 60 {
            let ecn =
                [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][usize::try_from(steps.below(4)).expect("few")];
            let flow = u32::try_from(steps.below(20)).expect("few");
            let packet = Packet { size: Bytes::new(40 + steps.below(1461)), ecn, flow };
            offered += 1;
            let admission = queue.enqueue(packet, step, now, &mut |packet| lost.push(packet));
            prop_assert!(admission != Admission::Marked || ecn.is_capable());
            prop_assert!(admission.is_queued() || lost.contains(&step));
            inside.push_back(step);
            inside.retain(|packet| !lost.contains(packet));
        } else {
            let left = queue.dequeue(now, &mut |packet| lost.push(packet));
            inside.retain(|packet| !lost.contains(packet));
            if let Some(left) = left {
                sent += 1;
                let place = inside.iter().position(|packet| *packet == left.payload);
                prop_assert!(place.is_some(), "packet {} was not inside", left.payload);
                prop_assert!(place == Some(0) || !is_one_queue, "none overtakes another");
                inside.remove(place.expect("inside"));
            }
        }
        dropped += lost.len() as u64;
        let (counters, waiting) = (queue.counters(), queue.state().packets);
        prop_assert_eq!(waiting as usize, inside.len());
        prop_assert_eq!((counters.offered, counters.dropped()), (offered, dropped));
        prop_assert_eq!(counters.delivered(waiting), sent);
        let mut wrong = None;
        queue.probe(&mut |name, value| {
            let is_probability =
                ["P", "p", "p'", "p_b", "p_c", "p_cl", "p_drop", "p_max", "max_p"].contains(&name);
            let most = if is_probability { 1.0 } else { f64::MAX };
            if !(0.0..=most).contains(&value) {
                wrong = Some(format!("{name} = {value}"));
            }
        });
        prop_assert_eq!(wrong, None);
    }
    Ok(())
}

#[test]
fn any_parameters_are_refused_in_one_line_or_work() {
    for entry in catalogue() {
        let is_one_queue = !["fair queueing", "L4S"].contains(&entry.family);
        let names: Vec<&str> = entry.parameters.iter().map(|parameter| parameter.name).collect();
        let worked = Cell::new(0);
        let mut runner =
            TestRunner::new(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) });
        let ran = runner.run(&any_config(&entry), |config| {
            match config.resolve(&link()) {
                Ok(resolved) => {
                    worked.set(worked.get() + 1);
                    prop_assert_eq!(
                        resolved.resolve(&link()),
                        Ok(resolved.clone()),
                        "resolving is idempotent"
                    );
                    walk(&resolved, is_one_queue)?;
                }
                Err(ParameterError { field, message }) => {
                    prop_assert!(names.contains(&field), "{field}");
                    prop_assert!(message.starts_with("must be ") && message.contains(", got "), "{message}");
                    prop_assert!(!message.contains('\n'));
                }
            }
            Ok(())
        });
        ran.unwrap_or_else(|error| panic!("{}: {error}", entry.name));
        // Some three in ten do where parameters must agree, as thresholds: far fewer would test nothing.
        assert!(worked.get() >= 5, "{} works with {} of the settings drawn", entry.name, worked.get());
    }
}

/// A value just beyond the end of a range, and one within it.
fn beyond(allowed: &Allowed) -> Option<serde_json::Value> {
    match allowed {
        Allowed::Number(range) => match (range.least, range.most) {
            (_, Bound::Included(most)) if most > 1.0 => Some((1.01 * most).into()),
            (Bound::Excluded(least) | Bound::Included(least), _) if least > 0.0 => {
                Some((0.99 * least).into())
            }
            (Bound::Excluded(least), _) => Some(least.into()),
            _ => None,
        },
        Allowed::Whole(range) => match (range.least, range.most) {
            (_, Bound::Included(most)) => Some((most + 1).into()),
            (Bound::Included(least), _) => Some((least - 1).into()),
            _ => None,
        },
        Allowed::Time(range) => match (range.least, range.most) {
            (_, Bound::Included(most)) => Some(Duration::from_nanos(most.as_nanos() + 1).to_string().into()),
            (Bound::Excluded(least), _) => Some(least.to_string().into()),
            _ => None,
        },
        Allowed::Size(range) => match (range.least, range.most) {
            (_, Bound::Included(most)) => Some(Bytes::new(most.get() + 1).to_string().into()),
            (Bound::Excluded(least), _) => Some(least.to_string().into()),
            _ => None,
        },
        Allowed::SignedSize(range) => match range.most {
            Bound::Included(most) => Some(SignedSize(most.0 + 1).to_string().into()),
            _ => None,
        },
        Allowed::Rate(range) => match range.most {
            Bound::Included(most) => Some(rate(most.bits_per_sec() + 1).to_string().into()),
            _ => None,
        },
        Allowed::Automatic(allowed) | Allowed::Named(_, allowed) => beyond(allowed),
        Allowed::Flag | Allowed::Choice(_) | Allowed::Limit | Allowed::PacketNumbers => None,
    }
}

#[test]
fn what_lies_beyond_its_range_is_refused_by_name() {
    for entry in catalogue() {
        for Parameter { name, allowed, .. } in &entry.parameters {
            let Some(value) = beyond(allowed) else { continue };
            let config = read(entry.name, &Map::from_iter([((*name).to_owned(), value.clone())]));
            let refusal = config.resolve(&link()).map(|_| ()).expect_err("it is out of range");
            assert_eq!(refusal.field, *name, "{}.{name} = {value}", entry.name);
        }
    }
}

#[test]
fn refusals_say_what_a_value_must_be_and_what_it_is() {
    for (name, parameters, told) in [
        ("red", json!({"min_th": 12, "max_th": 8}), "max_th: must be above min_th = 12 packets, got 8"),
        ("red_star", json!({"max_th": 4}), "max_th: must be above min_th = 5 packets, got 4"),
        ("choke", json!({"max_th": 50}), "max_th: must be above min_th = 100 packets, got 50"),
        ("fred", json!({"min_th": 90, "max_th": 80}), "max_th: must be above min_th = 90 packets, got 80"),
        (
            "ared",
            json!({"max_p": 0.6}),
            "max_p: must be between max_p_bottom = 0.01 and max_p_top = 0.5, got 0.6",
        ),
        ("mimd_red", json!({"alpha": 1.0}), "alpha: must be above 1 and at most 1000, got 1"),
        ("pi", json!({"a": 1e-5}), "a: must be above b = 1.816e-5 and at most 1000, got 1e-5"),
        ("rem", json!({"limit": 0}), "limit: must be at least 1 packet or 1 B, got 0 packets"),
        ("blue", json!({"freeze_time": "0 s"}), "freeze_time: must be above 0 s and at most 3600 s, got 0 s"),
        ("avq", json!({"gamma": 0}), "gamma: must be above 0, got 0"),
        ("ldc", json!({"w_r": 1.5}), "w_r: must be above 0 and at most 1, got 1.5"),
        ("threshold", json!({"threshold": -1}), "threshold: must be between 0 and 1e9 packets, got -1"),
        ("sred", json!({"m": 0}), "m: must be between 1 and 1000000 flows, got 0"),
        (
            "sfb",
            json!({"warmup_time": "700 s"}),
            "warmup_time: must be below rehash_interval = 600 s, got 700 s",
        ),
        ("sfb", json!({"bin_size": 0}), "bin_size: must be at least 1 packet, got 0"),
        ("sfq", json!({"flows": 0}), "flows: must be between 1 and 65536 queues, got 0"),
        ("fq_codel", json!({"quantum": "10 B"}), "quantum: must be between 64 B and 1000000 B, got 10 B"),
        ("fq_cobalt", json!({"flows": 1001}), "flows: must be a multiple of 8, got 1001"),
        (
            "dualpi2",
            json!({"classic_weight": 100}),
            "classic_weight: must be between 1 and 99 percent, got 100",
        ),
    ] {
        let config = read(name, parameters.as_object().expect("parameters"));
        assert_eq!(config.resolve(&link()).map(|_| ()).expect_err(told).to_string(), told);
    }
}

#[test]
fn what_is_no_number_is_refused_too() {
    let accepts = |config: QueueConfig| config.resolve(&link()).is_ok();
    for (gain, taken) in [(0.0, false), (1e-9, true), (1000.0, true), (1000.1, false), (f64::NAN, false)] {
        assert_eq!(
            accepts(QueueConfig::Rem(RemConfig { alpha: gain, ..RemConfig::default() })),
            taken,
            "{gain}"
        );
    }
    for size in [0, 65_536] {
        let mean_packet = Bytes::new(size);
        assert!(!accepts(QueueConfig::Pi(PiConfig { mean_packet, ..PiConfig::default() })), "{size}");
    }
}

#[test]
fn a_preset_is_what_it_is_a_preset_of() {
    let red_star = RedStarConfig { red: RedConfig::default() };
    let refusal = QueueConfig::RedStar(red_star).resolve(&link()).expect_err("RED is not RED*").to_string();
    assert_eq!(refusal, "ecn_policy: must be mark, got drop_above_max");
    let unknown = serde_json::from_value::<QueueConfig>(json!({"red_star": {"ecn_policy": "mark"}}));
    assert!(
        unknown
            .expect_err("no parameter")
            .to_string()
            .starts_with("unknown field `ecn_policy`, expected one of")
    );
}
