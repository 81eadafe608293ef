//! Laws that the caller brings instead of choosing one of the catalogue.

use aqmlab_aqm::{Aqm, Discipline, LinkContext, Pi, PiConfig};
use aqmlab_sim::{Spec, Watch, build, queue_stream};
use aqmlab_units::{BitRate, Bytes};
use serde_json::{Value, json};

use crate::{Run, congested, read};

/// PI as somebody else's law: the run cannot know it.
fn pi(seed: u64) -> [Option<Box<dyn Aqm + Send>>; 2] {
    [0, 1].map(|direction| {
        let rate = BitRate::from_mbit_per_sec(2);
        let link = LinkContext { rate, header: Bytes::ZERO, overhead: Bytes::new(38), peak: None };
        let config = PiConfig { q_ref: 10.0, a: 1e-3, b: 9e-4, ..PiConfig::default() }
            .resolve(&link)
            .expect("a sound law");
        Some(Box::new(Pi::new(&config, &link, queue_stream(seed, direction))) as Box<dyn Aqm + Send>)
    })
}

fn custom() -> Value {
    congested(&json!({"mine:Pi": {"limit": 24, "q_ref": 10, "a": 1e-3, "b": 9e-4}}))
}

#[test]
fn a_custom_law_equals_the_same_law_of_the_catalogue() {
    let known =
        Run::to_the_end(&congested(&json!({"pi": {"limit": 24, "q_ref": 10, "a": 1e-3, "b": 9e-4}})), 7);
    let mut laboratory = build(&read(&custom()), 7, Some(pi(7)), Watch::Nothing).expect("the spec is sound");
    laboratory.advance(laboratory.end());
    let brought = Run::result_of(&mut *laboratory);
    let link = brought.summary.counters[0];
    assert!(
        link.dropped_early > 50 && link.dropped_by_limit > 50,
        "law and limit have something to say: {link:?}"
    );
    assert_eq!(format!("{brought:?}"), format!("{known:?}"));
}

#[test]
fn a_law_that_nobody_brings_is_a_mistake_not_a_panic() {
    let refusal = build(&read(&custom()), 1, None, Watch::Nothing).err().expect("there is no law");
    assert_eq!(refusal.to_string(), "queue.mine:Pi: is a custom law, which the caller has to bring");
}

#[test]
fn a_custom_laws_table_comes_back_with_its_limit_filled_in() {
    let resolved =
        |queue: &Value| serde_json::to_value(read(&congested(queue))).expect("a spec")["queue"].take();
    let table = json!({"mine:Pi": {"q_ref": 10, "mode": "byte", "limit": "30000 B"}});
    assert_eq!(resolved(&table), table);
    assert_eq!(resolved(&json!({"mine:Pi": {}})), json!({"mine:Pi": {"limit": "10000 packets"}}));
    assert_eq!(resolved(&json!({"mine:Pi": {"limit": 24}})), json!({"mine:Pi": {"limit": "24 packets"}}));
}

#[test]
fn a_mistake_in_the_table_of_an_own_law_is_told_with_its_path() {
    for (table, message) in [
        (json!(24), "queue.mine:Pi: must be a table, got 24"),
        (json!({"limit": 0}), "queue.mine:Pi.limit: must be at least 1 packet or 1 B, got 0 packets"),
        (json!({"limit": "0 B"}), "queue.mine:Pi.limit: must be at least 1 packet or 1 B, got 0 B"),
        (json!({"limit": "24"}), r#"queue.mine:Pi.limit: "24": write packets or a size"#),
    ] {
        let spec = congested(&json!({"mine:Pi": table}));
        let refusal = Spec::from_json(&spec.to_string()).expect_err("a mistake").to_string();
        assert!(refusal.starts_with(message), "{refusal}");
    }
}
