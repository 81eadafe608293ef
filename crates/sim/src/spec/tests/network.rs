//! Sources and chains of links: the parts that may be left out, and the answers to mistakes.

use super::*;

#[test]
fn sources_that_cannot_be_are_refused() {
    let alone = |source: Value| json!({"sources": [source]});
    let twins = json!({"sources": [{"bulk": {"flows": 1}}, {"bulk": {"flows": 2}}]});
    for (parts, message) in [
        (alone(json!({"bulk": {}})), "sources[0].bulk: must have `flows`, which is missing"),
        (alone(json!({"bulk": {"flows": 0}})), "sources[0].bulk.flows: must be between 1 and 1000000, got 0"),
        (alone(json!({"bulc": {}})), "sources[0]: unknown `bulc` (did you mean `bulk`?): choose bulk, "),
        (twins, "sources[1].bulk.name: must differ from that of every other source, got `bulk`"),
        (
            alone(json!({"datagrams": {"rate": "1 Mbit/s", "packet": "30 B"}})),
            "sources[0].datagrams.packet: must be between 40 B and 65535 B, got 30 B",
        ),
        (
            alone(json!({"bulk": {"flows": 1, "interface": "1 bit/s"}})),
            "sources[0].bulk.interface: must be at least 1 kbit/s, got 1 bit/s",
        ),
        (
            alone(json!({"bulk": {"flows": 1, "interface": 10}})),
            r#"sources[0].bulk.interface: "10": write a unit, such as"#,
        ),
        (
            alone(json!({"datagrams": {"rate": "100 Mbit/s", "packet": "962 B", "interface": "100 Mbit/s"}})),
            "sources[0].datagrams.interface: must be at least 103.9501",
        ),
        (
            alone(json!({"bulk": {"flows": 1, "delay_at": "client"}})),
            "sources[0].bulk.delay_at: unknown `client`: choose browser, server, split",
        ),
        (
            alone(json!({"datagrams": {"rate": "1 Mbit/s", "delay_at": "server"}})),
            "sources[0].datagrams.delay_at: unknown key; allowed are ",
        ),
        (
            json!({"users": {"per_side": 1, "delay_at": "client"}}),
            "users.delay_at: unknown `client`: choose browser, server, split",
        ),
        (
            json!({"sources": vec![json!({"bulk": {"flows": 1}}); 256]}),
            "sources: must be at most 255, got 256",
        ),
    ] {
        assert_refused(parts, message);
    }
    let without_users = json!({"users": {"per_side": 0}, "sources": [{"bulk": {"flows": 1}}]});
    assert_eq!(with(without_users).map(|spec| spec.users.per_side), Ok(0));
}

#[test]
fn a_source_has_the_servers_interface_and_the_users_delay() {
    let spec = with(json!({
        "hosts": {"rate": "50 Mbit/s"},
        "users": {"per_side": 1, "delay_at": "split"},
        "sources": [
            {"bulk": {"flows": 1}},
            {"bulk": {"name": "own", "flows": 1, "interface": "1 Gbit/s", "delay_at": "server"}},
            {"datagrams": {"rate": "1 Mbit/s"}},
            {"datagrams": {"name": "fast", "rate": "100 Mbit/s", "packet": "962 B"}},
        ],
    }))
    .expect("a sound spec");
    let in_full = serde_json::to_value(&spec).expect("a JSON form");
    let told = |number: usize, kind: &str, key: &str| in_full["sources"][number][kind][key].clone();
    assert_eq!(
        (told(0, "bulk", "interface"), told(0, "bulk", "delay_at")),
        (json!("50 Mbit/s"), json!("split"))
    );
    assert_eq!(
        (told(1, "bulk", "interface"), told(1, "bulk", "delay_at")),
        (json!("1 Gbit/s"), json!("server"))
    );
    assert_eq!(told(2, "datagrams", "interface"), json!("50 Mbit/s"));
    // As fast as its frames need: 1,000 bytes for each 962.
    let needed = with(json!({"hosts": {"rate": "104 Mbit/s"}})).expect("a sound spec").hosts.rate;
    assert!(spec.sources[3].interface < needed && spec.sources[3].interface > spec.hosts.rate);
    assert_eq!(told(2, "datagrams", "delay_at"), Value::Null);
}

#[test]
fn a_chain_that_cannot_be_is_refused() {
    let chain = |links: Value| json!({ "link": links });
    let on_path = |path: Value| json!({"link": [{}, {}], "sources": [{"bulk": {"flows": 1, "path": path}}]});
    for (parts, message) in [
        (
            chain(json!([{"rat": 1}])),
            "link[0].rat: unknown key (did you mean `rate`?); allowed are rate, delay, ",
        ),
        (
            chain(json!([{}, {"rate": "1 bit/s"}])),
            "link[1].rate: must be between 1 kbit/s and 1000 Gbit/s, got 1 bit/s",
        ),
        (
            chain(json!([{}, {"rate": {"up": "1 Mbit/s", "down": "1 bit/s"}}])),
            "link[1].rate.down: must be between 1 kbit/s and 1000 Gbit/s, got 1 bit/s",
        ),
        (chain(json!([{"rate": {"up": "1 Mbit/s"}}])), "link[0].rate: must have `down`, which is missing"),
        (
            chain(json!([{"rate": {"up": "1 Mbit/s", "dow": "1 Mbit/s"}}])),
            "link[0].rate.dow: unknown key (did you mean `down`?); allowed are up, down",
        ),
        (
            chain(json!([{"rate": {"up": "1 Mbit/s", "down": 5}}])),
            r#"link[0].rate.down: "5": write a unit, such as "5 Mbit/s""#,
        ),
        (
            chain(json!([{"rate": []}])),
            r#"link[0].rate: must be a bit rate such as "100 Mbit/s", or a table of up and down, got a list"#,
        ),
        (
            chain(json!([{"rate": "2 Mbit/s", "rate_back": "9 Mbit/s"}])),
            r#"link[0].rate_back: write rate = { up = "2 Mbit/s", down = "9 Mbit/s" }"#,
        ),
        (chain(json!([{"delay": "2 min"}])), "link[0].delay: must be at most 60 s, got 120 s"),
        (chain(json!([{"device_fifo": 2_000_000}])), "link[0].device_fifo: must be at most 1000000, got "),
        (
            chain(json!([{"queue": {"pi": {"qref": 1}}}])),
            "link[0].queue.pi.qref: unknown key (did you mean `q_ref`?); allowed are q_ref, ",
        ),
        (
            chain(json!([{}, {"queue": {"red": {"min_th": 12, "max_th": 8}}}])),
            "link[1].queue.red.max_th: must be above min_th = 12 packets, got 8",
        ),
        (
            chain(json!([{"queue": {"my:Law": {}}}])),
            "link[0].queue.my:Law: a custom law cannot stand in a chain of links",
        ),
        (
            json!({"link": [{}], "queue": {"my:Law": {}}}),
            "link[0].queue.my:Law: a custom law cannot stand in a chain of links",
        ),
        (chain(json!(vec![json!({}); 65])), "link: must be at most 64, got 65"),
        (chain(json!([])), "link: must be a table, or a list of at least one, got an empty list"),
        (chain(json!([{}, 5])), "link[1]: must be a table, got 5"),
        (chain(json!([{}, {"mtu": "9000 B"}])), "link[1].mtu: must be that of link[0], 1500 B, got 9000 B"),
        (json!({"chain": [{}, {}]}), "chain: unknown key; allowed are testbed, sides, link, "),
        (
            json!({"users": {"per_side": 1, "path": [1, 2]}}),
            "users.path: is a path through links in series, a list `link`; there is none, got [1,2]",
        ),
        (
            json!({"sources": [{"bulk": {"flows": 1, "path": [1, 2]}}]}),
            "sources[0].bulk.path: is a path through links in series, a list `link`; there is none, got [1,2]",
        ),
        (
            json!({"link": [{}, {}], "users": {"per_side": 1, "path": [0, 2]}}),
            "users.path: must be two routers [a, b] with 1 <= a < b <= 3, got [0, 2]",
        ),
        (on_path(json!([2, 2])), "sources[0].bulk.path: must be two routers [a, b] with 1 <= a < b <= 3, "),
        (on_path(json!([3, 1])), "sources[0].bulk.path: must be two routers [a, b] with 1 <= a < b <= 3, "),
        (on_path(json!([1, 4])), "sources[0].bulk.path: must be two routers [a, b] with 1 <= a < b <= 3, "),
        (on_path(json!([1])), "sources[0].bulk.path: must be a list of 2 values, got 1"),
        (on_path(json!("1-2")), r#"sources[0].bulk.path: must be a list of 2 values, got "1-2""#),
    ] {
        assert_refused(parts, message);
    }
}

#[test]
fn who_has_no_path_of_their_own_goes_from_end_to_end() {
    let spec =
        with(json!({"link": [{}, {}, {}], "sources": [{"bulk": {"flows": 1}}]})).expect("a sound spec");
    let in_full = serde_json::to_value(&spec).expect("a JSON form");
    assert_eq!(
        (&in_full["users"]["path"], &in_full["sources"][0]["bulk"]["path"]),
        (&json!([1, 4]), &json!([1, 4]))
    );
    let alone = with(json!({"sources": [{"bulk": {"flows": 1}}]})).expect("a sound spec");
    let alone = super::tests::in_full(&alone);
    assert!(!alone.contains("path") && !alone.contains("rate_changes"), "{alone}");
}

#[test]
fn a_stack_of_a_source_that_cannot_be_is_refused() {
    let mix = |mix: Value| json!({"sources": [{"bulk": {"name": "long", "flows": 1}}, {"datagrams": {"rate": "1 Mbit/s"}}], "tcp": {"mix": mix}});
    for (parts, message) in [
        (
            mix(json!([{"share": 1, "source": "lang"}])),
            "tcp.mix[0].source: no source is called `lang`: choose long",
        ),
        (
            mix(json!([{"share": 1}, {"share": 0.5, "source": "datagrams"}])),
            "tcp.mix[1].source: `datagrams` sends datagrams, without TCP",
        ),
        (
            json!({"tcp": {"mix": [{"share": 1, "source": "long"}]}}),
            "tcp.mix[0].source: no source is called `long`: there is none with connections",
        ),
        (
            mix(json!([{"share": 0.6, "side": 0}, {"share": 0.6, "source": "long", "role": "client"}])),
            "tcp.mix: must share out at most all clients of side 0 for source `long`, got 1.2",
        ),
    ] {
        assert_refused(parts, message);
    }
}

#[test]
fn names_of_sides_that_cannot_be_are_refused() {
    let sides = |first: &str, second: &str| json!({"sides": [first, second]});
    let of_side = |side: Value| json!({"sides": ["home", "internet"], "sources": [{"bulk": {"flows": 1, "side": side}}]});
    for (parts, message) in [
        (json!({"sides": ["home"]}), "sides: must be a list of 2 values, got 1"),
        (sides("home", "home"), r#"sides: must be two different names, got "home" twice"#),
        (sides("", "b"), r#"sides[0]: must not be empty, nor begin or end with a space, got """#),
        (sides("a", "b\n"), r#"sides[1]: must not be empty, nor begin or end with a space, got "b\n""#),
        (sides("a", "b\u{1b}c"), "sides[1]: must have no control characters, got "),
        (
            sides("a->b", "c"),
            "sides[0]: must have no arrow: a direction is written with one, `home->internet`, ",
        ),
        (sides(&"a".repeat(41), "c"), "sides[0]: must have at most 40 characters, got "),
        (of_side(json!("away")), r#"sources[0].bulk.side: must be 0 (home) or 1 (internet), got "away""#),
        (
            json!({"sources": [{"bulk": {"flows": 1, "side": "home"}}]}),
            r#"sources[0].bulk.side: must be 0 or 1 where `sides` gives them no names, got "home""#,
        ),
        (
            json!({"sides": ["home", "internet"], "tcp": {"mix": [{"share": 0.5, "side": "away"}]}}),
            r#"tcp.mix[0].side: must be 0 (home) or 1 (internet), got "away""#,
        ),
    ] {
        assert_refused(parts, message);
    }
    let named = with(of_side(json!("internet"))).expect("a sound spec");
    assert!(in_full(&named).contains(r#""side":1"#), "{}", in_full(&named));
}

#[test]
fn a_mistake_in_the_reverse_queue_has_its_path() {
    let wrong = json!({"red": {"min_th": 12, "max_th": 8}});
    for (parts, place) in [
        (json!({ "queue_back": wrong }), "queue_back"),
        (json!({"link": [{"queue_back": wrong}]}), "link[0].queue_back"),
        (json!({"link": [{"queue": {"pi": {}}, "queue_back": wrong}]}), "link[0].queue_back"),
        (json!({"link": [{}], "queue_back": wrong}), "queue_back"),
        (json!({"link": {"queue_back": wrong}}), "link.queue_back"),
    ] {
        assert_refused(parts, &format!("{place}.red.max_th: must be above min_th = 12 packets, got 8"));
    }
    let law = json!({"my:Law": {}});
    assert_refused(
        json!({"link": [{"queue_back": law}]}),
        "link[0].queue_back.my:Law: a custom law cannot stand in a chain of links",
    );
}
