//! Defaults of a spec, and the message for each mistake.

mod capacity;
mod effects;
mod impairments;
mod network;
mod testbeds;

use aqmlab_tcp::EcnPolicy;
use serde_json::json;

use aqmlab_tcp::Profile;

use super::*;

/// The least that a person must write.
fn least() -> Value {
    json!({"queue": {"droptail": {}}, "users": {"per_side": 10}})
}

/// The least, with these parts put in.
fn with(parts: Value) -> Result<Spec, SpecError> {
    let mut spec = least();
    let (fields, Value::Object(parts)) = (spec.as_object_mut().expect("an object"), parts) else {
        unreachable!("parts are an object");
    };
    fields.extend(parts);
    Spec::from_json(&spec.to_string())
}

fn in_full(spec: &Spec) -> String {
    serde_json::to_string(spec).expect("a spec has a JSON form")
}

#[test]
fn a_spec_in_full_reads_back_as_itself() {
    let workload = aqmlab_workload::WebConfig {
        name: "mine".into(),
        ..aqmlab_workload::WebConfig::shipped("unc-2001").expect("shipped")
    };
    for parts in [
        json!({}),
        json!({"queue": {"ared": {}}}),
        json!({"queue": {"red": {"noecn": true}}, "queue_back": {"my:Law": {"noecn": true, "a": 1}}}),
        json!({"queue": {"rem": {"tau": "0.3 ms", "limit": "30 kB"}}, "tcp": {"profile": "freebsd-4.5", "ecn": true}}),
        json!({"link": {"rate": "3333333 bit/s", "delay": "1.234567 ms", "overhead": "0 B"}}),
        json!({"link": [{"header": "14 B"}, {"rate": "3 Mbit/s"}], "queue": {"ared": {}}}),
        json!({"users": {"per_side": 1, "workload": workload, "rtt": "general"}}),
        json!({"users": {"per_side": 1, "sides": 1}}),
        json!({"tcp": {"mix": [{"share": 0.2, "side": 1}, {"share": 1e-3, "role": "server", "profile": "freebsd-4.5"}]}}),
        json!({"link": {"rate": {"up": "2 Mbit/s", "down": "10 Mbit/s"}}, "queue": {"ared": {}}}),
        json!({"queue": {"fq_pie": {"noecn": true}}, "tcp": {"pacing_burst": 4, "mix": [{"share": 1, "congestion": "bbr"}]}}),
        json!({"link": [{"rate": {"up": "1 Mbit/s", "down": "10 Mbit/s"}}, {"rate": "3 Mbit/s"}, {"rate": {"down": "1 Mbit/s", "up": "3 Mbit/s"}}], "queue": {"ared": {}}}),
        json!({"link": {"rate": {"token_bucket": {"rate": "5 Mbit/s", "burst": "64 kB", "peak": {"rate": "20 Mbit/s", "burst": "2 kB"}}}}, "queue": {"ared": {}}}),
        json!({"link": {"rate": {"up": "5 Mbit/s", "down": {"policer": {"rate": "5 Mbit/s", "burst": "64 kB"}}}}, "queue": {"ared": {}}}),
        json!({"link": {"rate": {"up": {"cable": {"rate": "25 Mbit/s", "collision": 0.1}}, "down": "9 Mbit/s"}}, "queue": {"docsis_lld": {}}}),
        json!({"link": {"rate": {"up": {"wifi": {"rate": "65 Mbit/s", "stations": 2}}, "down": {"cellular": {"rate": "9 Mbit/s", "snr": 3}}}}}),
        json!({"link": {"rate": {"leo": {"rate": "25 Mbit/s"}}, "loss": {"gilbert_elliott_time": {"good": "9 s", "bad": "10 ms"}}}}),
        json!({"link": {"rate": {"trace": {"seconds": [0, 1], "mbps": [5, 2], "delay_ms": [0, 2.5], "loss": [0, 0.1]}}}}),
        json!({"link": {"rate": {"trace": {"seconds": [0, 1.5, 2.123_456_789], "mbps": [5, 0, 1.234_567]}}}, "queue": {"pi": {}}}),
        json!({"link": {"rate": {"up": {"mahimahi": {"opportunities": [0, 3, 3, 7]}}, "down": "5 Mbit/s"}, "overhead": "4 B"}}),
        json!({"link": {
            "bit_error_rate": 1e-7, "duplicate": {"up": 0.01, "down": 0}, "jitter": {"up": "5 ms", "down": "0 s"},
            "reorder": {"probability": 0.01, "delay": "3 ms"}, "ecn": {"up": "bleach", "down": "pass"},
            "outages": [{"at": "3 s", "lasts": "1 s", "every": "15 s", "packets": "lost"}, {"at": "0 s", "lasts": "1 s"}],
            "delay_changes": [{"at": "8 s", "delay": "20 ms"}],
        }, "tcp": {"ecn": true}}),
        json!({"link": [{"loss": 0.01}, {"loss": {"up": {"gilbert_elliott": {"p": 0.01, "r": 0.5}}, "down": 0}}]}),
        json!({"link": {"rate_changes": [{"at": "20 s", "rate": "50 Mbit/s"}, {"at": "1 min", "rate": {"up": "2 kbit/s", "down": "1 Mbit/s"}}]}}),
        json!({"link": [{}, {"rate": "9 kbit/s", "rate_changes": [{"at": "1 s", "rate": "1 Gbit/s"}]}, {"queue": {"ared": {}}}]}),
        json!({
            "link": [{"delay": "1 ms"}, {"device_fifo": 3}],
            "users": {"per_side": 1, "path": [1, 2]},
            "sources": [{"bulk": {"flows": 1, "path": [2, 3]}}, {"datagrams": {"rate": "1 kbit/s"}}],
            "tcp": {"mix": [{"share": 1, "source": "bulk", "profile": "freebsd-4.5"}]},
        }),
        json!({"sources": [{"bulk": {"flows": 3}}, {"datagrams": {"rate": "50 kbit/s"}}, {"three_gpp": {"users": 7}}]}),
        json!({"protocol": {"warmup": "0 s", "duration": "1.5 h"}, "record": {"exchanges": true}}),
    ] {
        let once = in_full(&with(parts).expect("a sound spec"));
        assert_eq!(in_full(&Spec::from_json(&once).expect("a spec in full is sound")), once);
    }
}

#[test]
fn what_is_left_out_is_a_network_of_today_without_users() {
    let spec = Spec::from_json("{}").expect("a sound spec");
    assert_eq!((spec.links.first(), spec.links.first().device_fifo), (&LinkSpec::default(), 1));
    assert_eq!((spec.protocol, spec.record), (ProtocolSpec::default(), RecordSpec::default()));
    assert_eq!((spec.tcp.profile.as_str(), spec.tcp.values), ("linux-6", Profile::linux_6()));
    assert_eq!(spec.users.per_side, 0);
    assert_eq!(Ok(spec.users.workload), WorkloadConfig::shipped("unc-2001-v3"));
    assert_eq!(Ok(spec.users.rtt), RttConfig::shipped("uniform"));
}

#[test]
fn values_of_a_profile_are_set_one_by_one() {
    let spec =
        with(json!({"tcp": {"profile": "freebsd-4.5", "ecn": true, "mss": 536}})).expect("a sound spec");
    assert_eq!(spec.tcp.values, Profile { ecn: EcnPolicy::Rfc3168, mss: 536, ..Profile::freebsd_4_5() });
}

#[test]
fn ecn_is_written_as_a_switch_or_by_name() {
    for (written, policy, in_full) in [
        (json!(false), EcnPolicy::Off, json!(false)),
        (json!("off"), EcnPolicy::Off, json!(false)),
        (json!(true), EcnPolicy::Rfc3168, json!(true)),
        (json!("rfc3168"), EcnPolicy::Rfc3168, json!(true)),
        (json!("ecn+/try-once"), EcnPolicy::TryOnce, json!("ecn+/try-once")),
    ] {
        let spec = with(json!({"tcp": {"ecn": written}})).expect("a sound spec");
        assert_eq!(spec.tcp.values.ecn, policy);
        assert_eq!(serde_json::to_value(&spec.tcp).expect("a JSON form")["ecn"], in_full);
    }
    for (name, policy) in EcnPolicy::ALL {
        let spec = with(json!({"tcp": {"ecn": name}})).expect("a sound spec");
        assert_eq!(spec.tcp.values.ecn, policy, "{name}");
    }
}

#[test]
fn a_written_receive_window_is_fixed_unless_its_tuning_is_too() {
    let mix = json!([{"share": 0.2, "receive_window": 8192}, {"share": 0.2, "mss": 536}]);
    let spec = with(json!({"tcp": {"mix": mix}})).expect("a sound spec");
    let tuned = |profile: &Profile| (profile.receive_window, profile.receive_window_tuning);
    let all: Vec<_> = spec.tcp.profiles().map(tuned).collect();
    assert_eq!(all, [(33_554_432, true), (8192, false), (33_554_432, true)]);
    for (tcp, expected) in [
        (json!({"receive_window": 1_000_000}), (1_000_000, false)),
        (json!({"receive_window": 1_000_000, "receive_window_tuning": true}), (1_000_000, true)),
        (json!({"receive_window_tuning": false}), (33_554_432, false)),
        (json!({"profile": "unc-testbed"}), (16_384, false)),
    ] {
        let spec = with(json!({"tcp": tcp})).expect("a sound spec");
        assert_eq!(tuned(&spec.tcp.values), expected);
        let again = Spec::from_json(&in_full(&spec)).expect("a spec in full is sound");
        assert_eq!(tuned(&again.tcp.values), expected);
    }
}

#[test]
fn a_spec_in_full_reads_back_to_the_last_digit() {
    for mbps in 1..=40 {
        let spec = with(json!({"link": {"rate": format!("{mbps} Mbit/s")}, "queue": {"ared": {}}}));
        let written = in_full(&spec.expect("a sound spec"));
        let again = Spec::from_json(&written).expect("a spec in full is sound");
        assert_eq!(in_full(&again), written, "{mbps} Mbit/s");
    }
}

#[test]
fn hosts_of_a_mix_differ_in_written_values_but_not_in_ecn() {
    let mix = json!([{"share": 0.5, "mss": 536}, {"share": 0.5, "profile": "freebsd-4.5"}]);
    let spec = with(json!({"tcp": {"ecn": true, "min_rto": "2 s", "mix": mix}})).expect("a sound spec");
    let all = Profile { ecn: EcnPolicy::Rfc3168, min_rto: Duration::from_secs(2), ..Profile::linux_6() };
    let profiles: Vec<_> = spec.tcp.profiles().cloned().collect();
    let freebsd = Profile { ecn: EcnPolicy::Rfc3168, ..Profile::freebsd_4_5() };
    assert_eq!(profiles, [all.clone(), Profile { mss: 536, ..all }, freebsd]);
}

#[test]
fn a_mistake_is_one_line_with_the_field_and_accepted_values() {
    let rtt = |distribution: Value| json!({"users": {"per_side": 1, "rtt": {"source": "", "distribution": distribution}}});
    for (parts, message) in [
        // Unknown names, at each level.
        (json!({"lnik": {}}), "lnik: unknown key; allowed are testbed, sides, link, "),
        (
            json!({"link": {"rat": 1}}),
            "link.rat: unknown key (did you mean `rate`?); allowed are rate, delay, ",
        ),
        (
            json!({"queue": {"pi": {"qref": 1}}}),
            "queue.pi.qref: unknown key (did you mean `q_ref`?); allowed are q_ref, ",
        ),
        (json!({"hosts": {"clients": 1}}), "hosts.clients: unknown key; allowed are servers_per_side, rate"),
        (
            json!({"users": {"per_sid": 1}}),
            "users.per_sid: unknown key (did you mean `per_side`?); allowed are per_side, ",
        ),
        (json!({"protocol": {"end": 1}}), "protocol.end: unknown key; allowed are warmup, duration"),
        (json!({"record": {"all": 1}}), "record.all: unknown key; allowed are queue_every, "),
        (
            rtt(json!({"uniform_ms": {"min": 1, "max": 2, "sd": 1}})),
            "users.rtt.distribution.uniform_ms.sd: unknown key; allowed are min, max",
        ),
        (json!({"queue": {"blau": {}}}), "queue: unknown `blau`: choose droptail, scripted, red, "),
        (
            json!({"users": {"per_side": 1, "workload": "unc"}}),
            "users.workload: unknown `unc`: choose unc-2001, unc-2001-v3, web-2024",
        ),
        (json!({"users": {"per_side": 1, "sides": 3}}), "users.sides: must be between 1 and 2, got 3"),
        (
            json!({"users": {"per_side": 1, "rtt": "long"}}),
            "users.rtt: unknown `long`: choose uniform, general, general-moderate, or write a table",
        ),
        // Numbers that are none, and sizes that no packet has.
        (json!({"queue": {"pi": {"q_ref": "nan"}}}), r#"queue.pi.q_ref: must be a number, got "nan""#),
        (
            json!({"link": {"device_fifo": 1.5}}),
            "link.device_fifo: must be a whole number from 0 to 4294967295, got 1.5",
        ),
        (json!({"link": {"mtu": "100 GB"}}), "link.mtu: must be at most 65535 B, got 100000000000 B"),
        // Units.
        (json!({"link": {"delay": "1e300 s"}}), r#"link.delay: "1e300 s": is too large"#),
        (json!({"link": {"rate": "100 Mbps"}}), r#"link.rate: "100 Mbps": the unit must be one of Mbit/s, "#),
        (json!({"link": {"rate": 100}}), r#"link.rate: "100": write a unit, such as "100 Mbit/s""#),
        (
            json!({"protocol": {"duration": 1.5}}),
            r#"protocol.duration: "1.5": write a unit, such as "1.5 ms""#,
        ),
        (json!({"link": {"delay": "-1 ms"}}), r#"link.delay: "-1 ms": must not be negative"#),
        (
            json!({"queue": {"droptail": {"limit": "9"}}}),
            r#"queue.droptail.limit: "9": write packets or a size, "#,
        ),
        (
            json!({"sources": [{"bulk": {"flows": 1, "dscp": "AF5"}}]}),
            r#"sources[0].bulk.dscp: "AF5": must be a code point such as "EF", "CS1" or "AF41", or a number up to "63""#,
        ),
        // At odds with another field.
        (
            json!({"tcp": {"congestion": "ledbat", "ledbat_target": "101 ms"}}),
            "tcp.ledbat_target: must be between 1 ms and 100 ms, got 101 ms",
        ),
        (
            json!({"queue": {"dualpi2": {"noecn": true}}}),
            "queue.dualpi2.noecn: must be false: this discipline sorts packets by their ECN field, got true",
        ),
        (json!({"queue": {"pi": {"noecn": 1}}}), "queue.pi.noecn: must be true or false, got 1"),
        (json!({"link": {"mtu": "576 B"}}), "tcp.mss: must be at most link.mtu - 40 = 536, got 1460"),
        (json!({"link": {"mtu": "20 B"}}), "tcp.mss: must be at most link.mtu - 40 = 0, got 1460"),
        (
            json!({"queue": {"red": {"min_th": 12, "max_th": 8}}}),
            "queue.red.max_th: must be above min_th = 12 packets, got 8",
        ),
        (
            rtt(json!({"uniform_ms": {"min": 3, "max": 2}})),
            "users.rtt.distribution.uniform_ms: must have min <= max <= 60000, got min = 3, max = 2",
        ),
        // Not exactly one law.
        (json!({"queue": {}}), "queue: must be one law with its parameters, such as {\"red\": {}}, got {}"),
        (json!({"queue": {"pi": {}, "red": {}}}), "queue: must be one law with its parameters, "),
        (json!({"queue": "red"}), "queue: must be one law with its parameters, "),
    ] {
        assert_refused(parts, message);
    }
}

#[test]
fn a_value_out_of_range_is_refused_with_the_ends_of_the_range() {
    for (parts, message) in [
        (
            json!({"link": {"rate": "999 bit/s"}}),
            "link.rate: must be between 1 kbit/s and 1000 Gbit/s, got 999 bit/s",
        ),
        (
            json!({"link": {"rate": "1001 Gbit/s"}}),
            "link.rate: must be between 1 kbit/s and 1000 Gbit/s, got 1001 Gbit/s",
        ),
        (json!({"link": {"delay": "2 min"}}), "link.delay: must be at most 60 s, got 120 s"),
        (json!({"link": {"overhead": "2 kB"}}), "link.overhead: must be at most 1000 B, got 2000 B"),
        (json!({"link": {"header": "39 B"}}), "link.header: must be at most overhead = 38 B, got 39 B"),
        (
            json!({"link": {"device_fifo": 2_000_000}}),
            "link.device_fifo: must be at most 1000000, got 2000000",
        ),
        (
            json!({"hosts": {"servers_per_side": 0}}),
            "hosts.servers_per_side: must be between 1 and 10000, got 0",
        ),
        (json!({"hosts": {"rate": "9 kbit/s"}}), "hosts.rate: must be at least 1 Mbit/s, got 9 kbit/s"),
        (json!({"protocol": {"warmup": "200 h"}}), "protocol.warmup: must be at most 604800 s, got 720000 s"),
        (
            json!({"protocol": {"duration": "0 s"}}),
            "protocol.duration: must be between 1 ms and 604800 s, got 0 s",
        ),
        (
            json!({"record": {"queue_every": "1 us"}}),
            "record.queue_every: must be between 100 us and 604800 s, got 1 us",
        ),
        (
            json!({"record": {"link_every": "200 h"}}),
            "record.link_every: must be between 100 us and 604800 s, got 720000 s",
        ),
        (json!({"queue": {"red": {"max_p": 1.5}}}), "queue.red.max_p: 1.5: must lie between 0 and 1"),
    ] {
        assert_refused(parts, message);
    }
}

#[test]
fn a_stack_or_a_mix_that_cannot_be_is_refused() {
    for (parts, message) in [
        (
            json!({"tcp": {"mms": 1}}),
            "tcp.mms: unknown key (did you mean `mss`?); allowed are profile, mix, control, mss, ",
        ),
        (
            json!({"tcp": {"profil": "linux-6"}}),
            "tcp.profil: unknown key (did you mean `profile`?); allowed are profile, mix, control, mss, ",
        ),
        (
            json!({"tcp": {"mix": [{"share": 1, "sde": 0}]}}),
            "tcp.mix[0].sde: unknown key (did you mean `side`?); allowed are share, ",
        ),
        (json!({"tcp": {"min_rto": "1 us"}}), "tcp.min_rto: must be between 1 ms and 1000 s, got 1 us"),
        (
            json!({"tcp": {"initial_rto": "1 h"}}),
            "tcp.initial_rto: must be between 1 ms and 1000 s, got 3600 s",
        ),
        (json!({"tcp": {"mss": 1461}}), "tcp.mss: must be at most link.mtu - 40 = 1460, got 1461"),
        (json!({"tcp": {"max_rto": "10 ms"}}), "tcp.max_rto: must be at least min_rto = 200 ms, got 10 ms"),
        (
            json!({"tcp": {"profile": "linux"}}),
            "tcp.profile: unknown `linux`: choose freebsd-4.5, unc-testbed",
        ),
        (json!({"tcp": {"ecn": "maybe"}}), "tcp.ecn: must be true, false or one of off, rfc3168, ecn+, "),
        (json!({"tcp": {"ecn": 1}}), "tcp.ecn: must be true, false or one of off, "),
        (
            json!({"tcp": {"ecn": "dctcp", "congestion": "prague"}}),
            "tcp.congestion: prague counts marks: it needs ecn = accurate or accurate++, got dctcp",
        ),
        (
            json!({"tcp": {"mix": [{"profile": "freebsd-4.5"}]}}),
            "tcp.mix[0]: must have `share`, which is missing",
        ),
        (json!({"tcp": {"mix": [{"share": 0}]}}), "tcp.mix[0].share: must be above 0 and at most 1, got 0"),
        (json!({"tcp": {"mix": [{"share": 1, "side": 2}]}}), "tcp.mix[0].side: must be at most 1, got 2"),
        (
            json!({"tcp": {"mix": [{"share": 1, "role": "router"}]}}),
            "tcp.mix[0].role: unknown `router`: choose client, server",
        ),
        (
            json!({"tcp": {"mix": [{"share": 1, "mss": 1461}]}}),
            "tcp.mix[0].mss: must be at most link.mtu - 40",
        ),
        (
            json!({"tcp": {"mix": [{"share": 0.6}, {"share": 0.6, "side": 1, "role": "server"}]}}),
            "tcp.mix: must share out at most all servers of side 1, got 1.2",
        ),
        (
            json!({"tcp": {"mix": vec![json!({"share": 0.01}); 64]}}),
            "tcp.mix: must have fewer than 64 entries",
        ),
    ] {
        assert_refused(parts, message);
    }
}

#[test]
fn labels_and_options_of_cake_without_an_effect_are_refused() {
    for (parts, message) in [
        (
            json!({"queue": {"kernel": "cake"}, "sources": [{"bulk": {"flows": 1, "dscp": "EF"}}]}),
            "sources[0].bulk.dscp: packets to a queue of a kernel do not have it, got EF",
        ),
        (
            json!({"queue": {"kernel": "cake"}, "sources": [{"bulk": {"flows": 1, "host": "laptop"}}]}),
            "sources[0].bulk.host: packets to a queue of a kernel do not have it, got laptop",
        ),
        (
            json!({"queue": {"cake": {"ack_filter": "ack"}}}),
            "queue.cake.ack_filter: unknown `ack`: choose no-ack-filter, ack-filter, ack-filter-aggressive",
        ),
        (
            json!({"queue": {"cake": {"fwmark": 255}}}),
            "queue.cake.fwmark: is not modelled: packets have no marks of a firewall",
        ),
        (
            json!({"queue": {"cake": {}}, "sources": [{"bulk": {"flows": 1, "nat": "router"}}]}),
            "sources[0].bulk.nat: needs `host`, the host behind it, got router",
        ),
        (
            json!({"queue": {"cake": {}}, "sources": [{"bulk": {"flows": 1, "host": "laptop", "peer": "laptop"}}]}),
            "sources[0].bulk.peer: must not be the `host` of a source, got laptop",
        ),
    ] {
        assert_refused(parts, message);
    }
}

/// One line that starts with `message`.
#[track_caller]
fn assert_refused(parts: Value, message: &str) {
    let refusal = with(parts).expect_err(message).to_string();
    assert!(refusal.starts_with(message), "{refusal}\n  instead of\n{message}");
    assert!(!refusal.contains('\n') && !refusal.contains(" at line "), "{refusal}");
}

#[test]
fn what_is_no_spec_at_all_is_refused() {
    for (text, message) in [
        ("", "spec: EOF while parsing a value at line 1 column 0"),
        ("{\"queue\": }", "spec: expected value at line 1 column 11"),
        ("3", "spec: must be a table, got 3"),
    ] {
        let refusal = Spec::from_json(text).expect_err(message).to_string();
        assert!(refusal.starts_with(message), "{refusal}\n  instead of\n{message}");
    }
}
