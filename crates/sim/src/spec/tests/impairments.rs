//! Impairments of links that are refused.

use super::*;

#[test]
fn impairments_that_cannot_be_are_refused() {
    for (link, expected) in [
        (json!({"bit_error_rate": 2}), "link.bit_error_rate: must be between 0 and 1, got 2"),
        (json!({"duplicate": {"up": 0, "down": -1}}), "link.duplicate.down: must be between 0 and 1, got -1"),
        (
            json!({"loss": {"four_state": {"p13": 0.7, "p31": 0.1, "p14": 0.4}}}),
            "link.loss.four_state.p14: must be at most 1 - p13, got 0.4",
        ),
        (
            json!({"loss": {"four_state": {"p13": 0.7, "p31": 0}}}),
            "link.loss.four_state.p31: must be above 0 and at most 1, got 0",
        ),
        (json!({"jitter": 5}), r#"link.jitter: "5": write a unit, such as "5 ms""#),
        (json!({"jitter": "2 min"}), "link.jitter: must be at most 60 s, got 120 s"),
        (json!({"reorder": {"probability": 0.1}}), "link.reorder: must have `delay`, which is missing"),
        (json!({"reorder": {"probability": 0.1, "delay": "0 s"}}), "link.reorder.delay: must be above 0 s"),
        (
            json!({"ecn": "drop"}),
            "link.ecn: unknown `drop`: choose pass, bleach, clear_ce, rewrite_ect1, refuse_syn",
        ),
        (json!({"outages": [{"at": "1 s"}]}), "link.outages[0]: must have `lasts`, which is missing"),
        (json!({"outages": [{"at": "1 s", "lasts": "0 s"}]}), "link.outages[0].lasts: must be above 0 s"),
        (
            json!({"outages": [{"at": "1 s", "lasts": "2 s", "every": "2 s"}]}),
            "link.outages[0].every: must be longer than lasts = 2 s, got 2 s",
        ),
        (
            json!({"outages": [
                {"at": "0 s", "lasts": "2 s", "every": "4 s"}, {"at": "2 s", "lasts": "3 s", "every": "6 s"},
            ]}),
            "link.outages: must leave the link up: those with `every` last for 100 % of the time",
        ),
        (
            json!({"delay_changes": [{"at": "0 s", "delay": "1 ms"}]}),
            "link.delay_changes[0].at: must be above 0 s",
        ),
        (
            json!({"delay_changes": [{"at": "1 s", "delay": "1 ms"}, {"at": "1 s", "delay": "2 ms"}]}),
            "link.delay_changes[1].at: must be after the change before, 1 s, got 1 s",
        ),
    ] {
        assert_refused(json!({ "link": link }), expected);
    }
}

#[test]
fn losses_that_cannot_be_are_refused() {
    let of = |loss: Value| json!({"link": {"loss": loss}});
    let bursts = |table: Value| of(json!({"gilbert_elliott": table}));
    for (parts, message) in [
        (of(json!(1.5)), "link.loss: must be between 0 and 1, got 1.5"),
        (of(json!(-1)), "link.loss: must be between 0 and 1, got -1"),
        (
            of(json!("1 %")),
            r#"link.loss: must be a probability, or a table of up and down, of gilbert_elliott, of gilbert_elliott_time or of four_state, got "1 %""#,
        ),
        (of(json!({"up": 0.1})), "link.loss: must have `down`, which is missing"),
        (of(json!({"up": 0.1, "down": 2})), "link.loss.down: must be between 0 and 1, got 2"),
        (of(json!({"burst": 5})), "link.loss.burst: unknown key; allowed are up, down, gilbert_elliott"),
        (bursts(json!({"p": 0.1})), "link.loss.gilbert_elliott: must have `r`, which is missing"),
        (
            bursts(json!({"p": 0.1, "r": 0})),
            "link.loss.gilbert_elliott.r: must be above 0 and at most 1, got 0",
        ),
        (
            bursts(json!({"p": 0.1, "r": 0.1, "h": 0.9, "k": 0.9})),
            "link.loss.gilbert_elliott.k: must be above h = 0.9, got 0.9",
        ),
        (
            of(json!({"gilbert_elliott_time": {"good": "1 s", "bad": "1 s", "h": 0.5, "k": 0.5}})),
            "link.loss.gilbert_elliott_time.k: must be above h = 0.5, got 0.5",
        ),
    ] {
        assert_refused(parts, message);
    }
}

#[test]
fn no_losses_are_as_if_they_were_not_written() {
    let of = |link: Value| in_full(&with(json!({ "link": link })).expect("a sound spec"));
    assert_eq!(of(json!({"loss": 0})), of(json!({})));
    assert_eq!(of(json!({"loss": {"up": 0, "down": 0.0}})), of(json!({})));
    assert!(of(json!({"loss": {"up": 0, "down": 0.01}})).contains(r#""loss":{"up":0.0,"down":0.01}"#));
}
