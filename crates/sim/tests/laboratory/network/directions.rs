//! A discipline for each direction of one link, and names for both.

use aqmlab_sim::{Tables, Watch, build};
use serde_json::{Value, json};

use crate::disciplines;
use crate::watched::capture::{ALL, Seen, captured, packets};
use crate::{Run, put_in_series, read};

/// Unresponsive datagrams in both directions over a link that carries less: what one queue does
/// changes nothing at the other.
fn flooded(queue: &Value) -> Value {
    let flood = |side: u8| json!({"datagrams": {"name": format!("from {side}"), "rate": "700 kbit/s", "packet": "500 B", "flows": 4, "jitter": 0.5, "side": side}});
    json!({
        "link": {"rate": "2 Mbit/s", "device_fifo": 4},
        "queue": queue,
        "users": {"per_side": 0},
        "sources": [flood(0), flood(1)],
        "protocol": {"warmup": "0 s", "duration": "6 s"},
    })
}

fn with_back(queue: &Value, back: &Value) -> Value {
    let mut spec = flooded(queue);
    spec["queue_back"] = back.clone();
    spec
}

/// A capture's record of the packets of one direction: each packet's verdict, delay, and its law's variables then.
fn verdicts(spec: &Value, direction: u32) -> Vec<Seen> {
    packets(&captured(spec, ALL).1).into_iter().filter(|packet| packet.interface == direction).collect()
}

#[test]
fn each_direction_has_the_verdicts_of_its_discipline_alone() {
    let all = disciplines();
    // Each discipline forward, with the next one of the list in the reverse direction.
    for ((name, forth), (_, back)) in all.iter().zip(all.iter().cycle().skip(1)) {
        let unlike = with_back(forth, back);
        assert_eq!(verdicts(&unlike, 0), verdicts(&flooded(forth), 0), "{name}");
        assert_eq!(verdicts(&unlike, 1), verdicts(&flooded(back), 1), "beside {name}");
    }
}

#[test]
fn an_unwatched_run_has_a_discipline_for_each_direction() {
    let (pi, droptail) = (json!({"pi": {"q_ref": 10}}), json!({"droptail": {"limit": 24}}));
    let run = |spec: &Value| Run::to_the_end(spec, 1).summary.directions;
    let text_of = |direction: &aqmlab_sim::DirectionSummary| format!("{direction:?}");
    let unlike = run(&with_back(&pi, &droptail));
    assert_eq!(text_of(&unlike[0]), text_of(&run(&flooded(&pi))[0]));
    assert_eq!(text_of(&unlike[1]), text_of(&run(&flooded(&droptail))[1]));
    assert_ne!(text_of(&unlike[1]), text_of(&run(&flooded(&pi))[1]));
}

#[test]
fn a_link_of_a_chain_has_a_discipline_for_each_direction() {
    let (pi, droptail) = (json!({"pi": {"q_ref": 10}}), json!({"droptail": {"limit": 24}}));
    let one_sided = with_back(&pi, &droptail);
    let run = |spec: &Value| Run::to_the_end(spec, 1).summary.directions;
    for (common, hop) in [
        (json!({"queue": pi, "queue_back": droptail}), json!({})),
        (json!({}), json!({"queue": pi, "queue_back": droptail})),
        (json!({"queue": pi}), json!({"queue_back": droptail})),
    ] {
        let mut chain = flooded(&pi);
        let table = chain.as_object_mut().expect("a table");
        table.remove("queue");
        table.extend(common.as_object().expect("a table").clone());
        put_in_series(&mut chain, &json!([hop]));
        assert_eq!(format!("{:?}", run(&chain)), format!("{:?}", run(&one_sided)), "{chain}");
    }
}

#[test]
fn the_same_discipline_written_twice_is_written_once() {
    let pi = json!({"pi": {"q_ref": 10}});
    let symmetric = serde_json::to_value(read(&with_back(&pi, &pi))).expect("a spec");
    assert_eq!(symmetric, serde_json::to_value(read(&flooded(&pi))).expect("a spec"));
}

#[test]
fn a_variable_that_only_one_direction_has_is_null_in_the_other() {
    let run = Run::to_the_end(&with_back(&json!({"pi": {}}), &json!({"droptail": {}})), 1);
    let Tables { queue, .. } = run.tables;
    let columns = aqmlab_sim::Table::into_columns(queue);
    let p = columns.into_iter().find(|column| column.name == "p").expect("PI shows p");
    let aqmlab_sim::Values::SomeF64(p) = p.values else { panic!("drop-tail has no p") };
    assert!(p.len() > 100 && p.iter().enumerate().all(|(row, p)| p.is_some() == (row % 2 == 0)));
}

#[test]
fn names_of_sides_change_nothing_of_a_run() {
    let spec = flooded(&json!({"pi": {"q_ref": 10}}));
    let mut changed = spec.clone();
    changed["sides"] = json!(["home", "internet"]);
    changed["sources"][1]["datagrams"]["side"] = json!("internet");
    let text_of = |spec: &Value| format!("{:?}", Run::to_the_end(spec, 1));
    assert_eq!(text_of(&changed), text_of(&spec));
}

#[test]
fn a_capture_calls_its_interfaces_by_directions() {
    let mut spec = flooded(&json!({"pi": {}}));
    let has = |spec: &Value, name: &str| {
        captured(spec, ALL).1.windows(name.len()).any(|bytes| bytes == name.as_bytes())
    };
    assert!(has(&spec, "forward") && has(&spec, "reverse"));
    spec["sides"] = json!(["home", "internet"]);
    assert!(has(&spec, "home→internet") && has(&spec, "internet→home") && !has(&spec, "forward"));
}

#[test]
fn a_custom_law_may_stand_in_one_direction_alone() {
    let spec = read(&with_back(&json!({"mine:Law": {}}), &json!({"droptail": {}})));
    let refusal = build(&spec, 1, None, Watch::Nothing).err().expect("the law is missing");
    assert_eq!(refusal.to_string(), "queue.mine:Law: is a custom law, which the caller has to bring");
}
