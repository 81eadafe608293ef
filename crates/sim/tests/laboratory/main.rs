//! Experiments on the whole laboratory: invariants under every queue discipline, and theory.

mod accounting;
mod ack_filter;
mod custom;
mod determinism;
mod flows;
mod labels;
mod limits;
mod media;
mod pages;
mod population;
mod regimes;
mod sources;
mod video_calls;
mod waits;

mod hosts {
    mod delay_at;
    mod ecn;
    mod modern;
    mod quic;
    mod stacks;
}

mod network {
    mod chain;
    mod directions;
    mod emulated;
    mod header;
    mod rate_changes;
    mod uncongested;
}

mod watched {
    pub(crate) mod capture;
    mod explain;
    mod explain_sources;
    mod gauges;
}

use aqmlab_aqm::catalogue;
use aqmlab_sim::{
    PacketCounts, QueueDelayMs, ResponseTimesTable, Simulation, Spec, Summary, Tables, Watch, build,
};
use serde_json::{Value, json};

/// Every discipline at its defaults, and some with settings that suit the slow links of these tests.
fn disciplines() -> Vec<(&'static str, Value)> {
    let defaults = catalogue().into_iter().map(|entry| (entry.name, json!({ entry.name: {} })));
    let suited = ["droptail", "red", "ared", "pi", "rem"].map(|name| (name, law(name)));
    defaults.chain(suited).chain([("droptail in bytes", json!({"droptail": {"limit": "12 kB"}}))]).collect()
}

fn law(name: &str) -> Value {
    match name {
        "droptail" => json!({"droptail": {"limit": 24}}),
        "red" => json!({"red": {"min_th": 12, "max_th": 36}}),
        "ared" => json!({"ared": {"min_th": 12, "max_th": 36}}),
        "pi" => json!({"pi": {"q_ref": 24}}),
        "rem" => json!({"rem": {"q_ref": 24}}),
        other => panic!("these tests have no settings for {other}"),
    }
}

/// A minute on a link of 2 Mbit/s with users who would fill 105 % of it.
fn congested(queue: &Value) -> Value {
    json!({
        "link": {"rate": "2 Mbit/s", "device_fifo": 16},
        "queue": queue,
        "users": {"per_side": 200},
        "protocol": {"warmup": "0 s", "duration": "60 s"},
        "record": {"exchanges": true},
    })
}

/// The results of a run.
#[derive(Debug)]
struct Run {
    summary: Summary,
    tables: Tables,
    response_times: ResponseTimesTable,
}

impl Run {
    fn to_the_end(spec: &Value, seed: u64) -> Run {
        let mut laboratory = prepare(spec, seed);
        laboratory.advance(laboratory.end());
        Run::result_of(&mut *laboratory)
    }

    fn result_of(laboratory: &mut dyn Simulation) -> Run {
        Run {
            summary: laboratory.summary(),
            tables: std::mem::take(laboratory.tables()),
            response_times: laboratory.response_times(),
        }
    }
}

/// A share, mean or percentile of something that happened.
fn known(value: Option<f64>) -> f64 {
    value.expect("enough happened")
}

fn prepare(spec: &Value, seed: u64) -> Box<dyn Simulation> {
    build(&read(spec), seed, None, Watch::Nothing).expect("the spec is sound")
}

/// The spec in the testbed of 2003, for which the numbers of these tests are.
fn read(spec: &Value) -> Spec {
    Spec::from_json(&in_the_testbed(spec).to_string()).expect("the spec is sound")
}

fn in_the_testbed(spec: &Value) -> Value {
    let mut spec = spec.clone();
    spec["testbed"] = json!("unc-2003");
    spec
}

/// The spec with its tables in full, to be changed.
fn in_full(spec: &Value) -> Value {
    serde_json::to_value(read(spec)).expect("a spec has a JSON form")
}

/// Put several links in the place of the one of `spec`, each with its keys and those of an entry of `links`.
fn put_in_series(spec: &mut Value, links: &Value) {
    let base = match spec.get("link") {
        Some(Value::Array(links)) => links[0].clone(),
        link => link.cloned().unwrap_or_else(|| json!({})),
    };
    let links = links.as_array().expect("a list").iter().map(|own| {
        let mut link = base.clone();
        link.as_object_mut().expect("a table").extend(own.as_object().expect("a table").clone());
        link
    });
    spec["link"] = links.collect();
}
