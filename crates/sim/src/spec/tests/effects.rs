//! Values that are sound by themselves and change nothing.

use super::*;

#[test]
fn a_value_without_an_effect_is_refused() {
    for (parts, message) in [
        (
            json!({"tcp": {"ledbat_target": "60 ms"}}),
            "tcp.ledbat_target: has no effect: no host has congestion = ledbat, got 60 ms",
        ),
        (
            json!({"tcp": {"prague_reference_rtt": "0 s"}}),
            "tcp.prague_reference_rtt: has no effect: no host has congestion = prague, got 0 s",
        ),
        (
            json!({"tcp": {"hystart": "hystart++"}}),
            "tcp.hystart: has no effect: no host has a congestion control with it: `hystart` is for cubic, `hystart++` for reno and cubic-rfc9438, got hystart++",
        ),
        (
            json!({"tcp": {"ecn": true, "dctcp_two_acks": false}}),
            "tcp.dctcp_two_acks: has no effect: no host has ecn = dctcp, got false",
        ),
        (
            json!({"tcp": {"congestion": "bbr", "hystart": "off"}}),
            "tcp.hystart: has no effect: no host has a congestion control with it: `hystart` is for cubic, `hystart++` for reno and cubic-rfc9438, got off",
        ),
        (
            json!({"tcp": {"pacing_burst": 10}}),
            "tcp.pacing_burst: has no effect: no host has congestion = prague, bbr or a custom control, or QUIC, got 10",
        ),
        (
            json!({"tcp": {"pacing_burst": 10, "mix": [{"share": 0.5, "congestion": "bbr", "pacing_burst": 4}]}}),
            "tcp.pacing_burst: has no effect: no host has congestion = prague, bbr or a custom control, or QUIC, got 10",
        ),
        (
            json!({"tcp": {"mix": [{"share": 0.5, "congestion": "bbr", "hystart": "off"}]}}),
            "tcp.mix[0].hystart: has no effect: these hosts do not have a congestion control with it: `hystart` is for cubic, `hystart++` for reno and cubic-rfc9438, got off",
        ),
        (
            json!({"tcp": {"ecn": true, "mix": [{"share": 0.5, "congestion": "bbr", "abe": true}]}}),
            "tcp.mix[0].abe: must be false unless congestion is reno or cubic or cubic-rfc9438, got bbr",
        ),
        (
            json!({"queue": {"pie": {"noecn": true, "mark_ecnth": 0.5}}}),
            "queue.pie.mark_ecnth: has no effect with noecn: it concerns marks, got 0.5",
        ),
        (
            json!({"queue": {"red": {"noecn": true, "ecn_policy": "mark"}}}),
            "queue.red.ecn_policy: has no effect with noecn: it concerns marks, got \"mark\"",
        ),
        (
            json!({"link": [{"queue": {"pi": {}}}, {"queue": {"pie": {}}}]}),
            "queue: has no effect: every link has a queue of its own, got {\"droptail\":{}}",
        ),
        (
            json!({"link": {"queue": {"pi": {}}}}),
            "queue: has no effect: every link has a queue of its own, got {\"droptail\":{}}",
        ),
        (
            json!({"link": [{"queue_back": {"pi": {}}}, {"queue": {"pie": {}}}], "queue_back": {"red": {}}}),
            "queue_back: has no effect: every link has a queue of its own, got {\"red\":{}}",
        ),
        (json!({"link": {"ecn": "bleach"}}), "link.ecn: has no effect: no host has ECN (tcp.ecn)"),
        (
            json!({"link": [{}, {"ecn": {"up": "pass", "down": "refuse_syn"}}]}),
            "link[1].ecn: has no effect: no host has ECN (tcp.ecn)",
        ),
        (
            json!({"queue": {"droptail": {"noecn": true}}}),
            "queue.droptail.noecn: has no effect: this discipline never marks in place of a drop, got true",
        ),
    ] {
        assert_refused(parts, message);
    }
}

#[test]
fn values_that_quic_cannot_have_are_refused() {
    for (parts, message) in [
        (
            json!({"tcp": {"quic": {"certificate": 4000}}}),
            "tcp.quic: has no effect on TCP: it needs profile = \"quic\"",
        ),
        (
            json!({"tcp": {"profile": "quic", "min_rto": "1 s"}}),
            "tcp.min_rto: has no effect on QUIC, got \"1 s\"",
        ),
        (
            json!({"tcp": {"profile": "quic", "ecn": "ecn+"}}),
            "tcp.ecn: must be false or true with QUIC, whose feedback has one form, got ecn+",
        ),
        (
            json!({"tcp": {"profile": "quic", "congestion": "prague"}}),
            "tcp.congestion: prague counts marks: it needs ecn = true, got off",
        ),
        (
            json!({"tcp": {"profile": "quic", "mss": 1199}}),
            "tcp.mss: must be at least 1200 with QUIC (RFC 9000 §14), got 1199",
        ),
        (
            json!({"tcp": {"profile": "quic", "mss": 1473}}),
            "tcp.mss: must be at most link.mtu - 28 = 1472, got 1473",
        ),
        (
            json!({"tcp": {"profile": "quic", "quic": {"certificate": 0}}}),
            "tcp.quic: certificate must be between 1 and 30000, got 0",
        ),
        (
            json!({"tcp": {"profile": "quic"}, "users": {"per_side": 1, "workload": "web-2024"}}),
            "tcp.profile: must be a profile of TCP: pages use QUIC for HTTP/3 (users.http3), got \"quic\"",
        ),
        (
            json!({"tcp": {"mix": [{"share": 0.5, "profile": "quic"}]}, "users": {"per_side": 1, "workload": "web-2024"}}),
            "tcp.mix[0].profile: must be a profile of TCP: pages use QUIC for HTTP/3 (users.http3), got \"quic\"",
        ),
        (
            json!({"tcp": {"mix": [{"share": 0.5, "role": "server", "profile": "quic"}]}}),
            "tcp.mix[0].role: must not be server: a client chooses between TCP and QUIC, got server",
        ),
    ] {
        assert_refused(parts, message);
    }
}

#[test]
fn hosts_of_a_mix_inherit_abe_only_where_they_can_have_it() {
    for (other, has_abe) in [
        (json!({"share": 0.5, "congestion": "reno"}), true),
        (json!({"share": 0.5, "congestion": "bbr"}), false),
        (json!({"share": 0.5, "ecn": false}), false),
    ] {
        let spec = with(json!({"tcp": {"ecn": true, "abe": true, "mix": [other]}})).expect("a sound spec");
        assert_eq!((spec.tcp.values.abe, spec.tcp.mix[0].values.abe), (true, has_abe));
    }
}

#[test]
fn parameters_that_concern_marks_are_in_the_catalogue() {
    let catalogue = aqmlab_aqm::catalogue();
    let names: Vec<_> = catalogue.iter().flat_map(|entry| &entry.parameters).map(|each| each.name).collect();
    for name in queue::OF_MARKS {
        assert!(names.contains(&name), "{name}");
    }
}

/// One user who loads pages, with other values.
fn pages(values: Value) -> Value {
    let mut users = json!({"per_side": 1, "workload": "web-2024"});
    let Value::Object(values) = values else { unreachable!("values are an object") };
    users.as_object_mut().expect("an object").extend(values);
    users
}

#[test]
fn http3_that_has_no_effect_or_cannot_work_is_refused() {
    for (parts, message) in [
        (
            json!({"users": {"per_side": 1, "http3": 0.5}}),
            "users.http3: has no effect: the workload has no HTTP/3, got 0.5",
        ),
        (json!({"users": pages(json!({"http3": 1.5}))}), "users.http3: must be between 0 and 1, got 1.5"),
        (json!({"users": pages(json!({"http3": -0.5}))}), "users.http3: must be between 0 and 1, got -0.5"),
        (
            json!({"users": pages(json!({})), "link": {"mtu": "1000 B"}}),
            "tcp.mss: must be at most link.mtu - 40 = 960, got 1460",
        ),
        (
            json!({"users": pages(json!({})), "link": {"mtu": "1000 B"}, "tcp": {"mss": 900}}),
            "link.mtu: must be at least 1228 B with users.http3 above 0, got 1000 B",
        ),
        (
            json!({"users": pages(json!({})), "tcp": {"mix": vec![json!({"share": 0.01}); 16]}}),
            "tcp.mix: must have at most 15 entries with users.http3 above 0, got 16",
        ),
    ] {
        assert_refused(parts, message);
    }
    with(json!({"users": pages(json!({"http3": 0})), "link": {"mtu": "1000 B"}, "tcp": {"mss": 900}}))
        .expect("HTTP/2 has small packets");
}

#[test]
fn a_share_of_http3_is_in_the_spec_in_full() {
    let users = |written: Value| {
        let spec = with(json!({"users": written})).expect("a sound spec");
        serde_json::to_value(&spec).expect("a spec has a JSON form")["users"].clone()
    };
    let usual = users(pages(json!({})));
    let share = usual["workload"]["http3"]["origins"]["share"].clone();
    assert_eq!((share.as_f64(), usual.get("http3")), (Some(0.09), None));
    assert_eq!(users(pages(json!({"http3": share}))), usual);
    assert_eq!(users(pages(json!({"http3": 1})))["http3"], json!(1.0));
    // Stored results without HTTP/3 keep their meaning and their text.
    let mut old = usual;
    old["workload"].as_object_mut().expect("an object").remove("http3");
    assert_eq!(users(old.clone()), old);
    let spec = with(json!({"users": old})).expect("a sound spec");
    assert!(!spec.has_http3());
}
