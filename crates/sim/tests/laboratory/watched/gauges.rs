//! Gauges do not change the run, and equal its counters at the end.

use aqmlab_sim::GaugeTable;
use aqmlab_units::{Duration, Time};

use crate::*;

/// Ten seconds of warm-up and ten of [`congested`].
fn warmed_up(queue: &Value) -> Value {
    let mut spec = congested(queue);
    spec["protocol"] = json!({"warmup": "10 s", "duration": "10 s"});
    spec
}

/// A run that is looked at each second, and what was seen.
fn looked_at(spec: &Value) -> (Run, Vec<(Time, GaugeTable)>) {
    let mut laboratory = prepare(spec, 1);
    let mut seen = Vec::new();
    while laboratory.now() < laboratory.end() {
        laboratory.advance(laboratory.now() + Duration::from_secs(1));
        seen.push((laboratory.now(), laboratory.gauges()));
    }
    (Run::result_of(&mut *laboratory), seen)
}

#[test]
fn gauges_change_no_run_under_any_discipline() {
    for (name, queue) in disciplines() {
        let spec = warmed_up(&queue);
        let (run, _) = looked_at(&spec);
        assert!(format!("{run:?}") == format!("{:?}", Run::to_the_end(&spec, 1)), "{name}");
    }
}

#[test]
fn the_last_gauges_equal_the_counters_under_every_discipline() {
    for (name, queue) in disciplines() {
        let (run, seen) = looked_at(&warmed_up(&queue));
        let (_, last) = seen.last().expect("it has been looked at");
        for (place, counted) in run.summary.counters.iter().enumerate() {
            let dropped = counted.arrived - counted.sent - counted.held;
            let gauges = (last.arrived[place], last.marks[place], last.drops[place]);
            assert_eq!(gauges, (counted.arrived, counted.marked, dropped), "{name}, direction {place}");
        }
    }
}

#[test]
fn the_warm_up_is_seen_of_which_no_table_tells() {
    let (run, seen) = looked_at(&warmed_up(&law("droptail")));
    let (_, first) =
        seen.iter().find(|(now, _)| (now.as_secs_f64() - 5.0).abs() < 1e-9).expect("the fifth second");
    assert!(first.arrived[0] > 0 && first.bytes[0] > 0, "{first:?}");
    assert!(run.tables.link.time_s.iter().all(|&at| at > 10.0));
}

#[test]
fn each_link_of_a_chain_is_seen() {
    let mut spec = warmed_up(&law("droptail"));
    put_in_series(&mut spec, &json!([{}, {}]));
    let (_, seen) = looked_at(&spec);
    let (_, last) = seen.last().expect("it has been looked at");
    assert_eq!(
        (last.link.as_deref(), last.direction.as_slice()),
        (Some([1, 1, 2, 2].as_slice()), [0, 1, 0, 1].as_slice())
    );
}
