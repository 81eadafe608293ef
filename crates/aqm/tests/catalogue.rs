//! The catalogue tells the truth about the configurations.
#![cfg(feature = "serde")]

use aqmlab_aqm::{Admission, DecidesAt, Ecn, Limit, LinkContext, Packet, QueueConfig, catalogue};
use aqmlab_units::{BitRate, Bytes, Stream, Time};
use serde_json::{Value, json};

/// The default configuration of each law, as it is read from `{"<name>": {}}`.
fn defaults() -> Vec<QueueConfig> {
    let empty =
        |name: &str| serde_json::from_value(json!({ name: {} })).expect("every parameter has a default");
    catalogue().iter().map(|entry| empty(entry.name)).collect()
}

#[test]
fn parameters_are_the_configurations_fields_in_order() {
    for (entry, config) in catalogue().iter().zip(defaults()) {
        assert_eq!(config.name(), entry.name);
        let text = serde_json::to_string(&config).unwrap();
        let mut from = 0;
        let written = || entry.parameters.iter().filter(|parameter| parameter.is_written);
        for parameter in written() {
            let field = format!("\"{}\":", parameter.name);
            let position = text[from..].find(&field).expect("a field for each parameter, in order");
            from += position + field.len();
        }
        let fields = serde_json::to_value(&config).unwrap()[entry.name].as_object().unwrap().len();
        assert_eq!(fields, written().count(), "{} has fields that the catalogue lacks", entry.name);
    }
}

#[test]
fn a_variant_is_written_only_if_it_is_not_the_published_one() {
    let written = |variant: &str| {
        let config: QueueConfig = serde_json::from_value(json!({ "codel": { "variant": variant } })).unwrap();
        serde_json::to_value(&config).unwrap()["codel"].get("variant").cloned()
    };
    assert_eq!((written("published"), written("linux")), (None, Some(json!("linux"))));
}

#[test]
fn defaults_are_shown_as_they_are_written() {
    for (entry, config) in catalogue().iter().zip(defaults()) {
        let written = &serde_json::to_value(&config).unwrap()[entry.name];
        for parameter in &entry.parameters {
            let value_text = parameter.value.to_string();
            let same = match &written[parameter.name] {
                Value::Null if !parameter.is_written => true,
                Value::Null => value_text == "automatic",
                Value::Number(number) => value_text.parse().ok() == number.as_f64(),
                Value::Bool(flag) => value_text == flag.to_string(),
                Value::String(text) => &value_text == text,
                other => panic!("{} is {other}", parameter.name),
            };
            assert!(same, "{}.{} is shown as {value_text}", entry.name, parameter.name);
        }
    }
}

/// Packets that `name` with its defaults, and room for 200, dropped or marked when they arrived and when they left: 10 s
/// of twice the link's capacity, from eight flows of which a third each is not ECN-capable, ECT(0) and ECT(1).
fn decided(name: &str) -> (u64, u64) {
    let config: QueueConfig =
        serde_json::from_value(json!({ name: {"limit": 200} })).expect("a limit is all");
    let link = LinkContext {
        rate: BitRate::from_mbit_per_sec(10),
        header: Bytes::ZERO,
        overhead: Bytes::ZERO,
        peak: None,
    };
    let mut queue = config.resolve(&link).expect("the defaults do").queue(&link, Stream::named(1, "queue"));
    let mut marked_at_arrival = 0;
    for step in 0..25_000_u32 {
        // A packet of 1000 B is 800 us on the wire; two arrive meanwhile.
        let now = Time::from_nanos(u64::from(step) * 400_000);
        if queue.poll_timeout().is_some_and(|due| due <= now) {
            queue.on_timeout(now);
        }
        if step % 2 == 0 {
            queue.dequeue(now, &mut |_| {});
        }
        let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1][step as usize % 3];
        let admission =
            queue.enqueue(Packet { size: Bytes::new(1000), ecn, flow: step % 8 }, 0, now, &mut |_| {});
        marked_at_arrival += u64::from(admission == Admission::Marked);
    }
    let counters = queue.counters();
    let at_arrival = counters.refused() + counters.evicted + marked_at_arrival;
    (at_arrival, counters.dropped_at_dequeue + counters.marked - marked_at_arrival)
}

#[test]
fn the_declared_decision_point_is_the_actual_one() {
    for entry in catalogue() {
        let (at_arrival, at_departure) = decided(entry.name);
        let does = if at_departure > 0 { DecidesAt::Dequeue } else { DecidesAt::Enqueue };
        assert!(at_arrival + at_departure > 100, "{} has reason to decide", entry.name);
        assert_eq!(entry.decides_at, does, "{}: {at_arrival} at arrival, {at_departure} later", entry.name);
    }
}

#[test]
fn every_parameter_has_a_meaning_a_unit_and_a_source() {
    for entry in catalogue() {
        for parameter in &entry.parameters {
            let texts = [&parameter.meaning, parameter.unit, parameter.source];
            assert!(texts.iter().all(|text| !text.is_empty()), "{}.{}", entry.name, parameter.name);
            assert!(parameter.meaning.ends_with('.') && !parameter.meaning.contains('\n'));
        }
    }
}

/// JSON's name of a value's type.
fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[test]
fn each_parameter_has_a_schema_that_allows_its_default() {
    for (entry, config) in catalogue().iter().zip(defaults()) {
        let written = &serde_json::to_value(&config).unwrap()[entry.name];
        for (row, parameter) in serde_json::to_value(entry).unwrap()["parameters"]
            .as_array()
            .unwrap()
            .iter()
            .zip(&entry.parameters)
        {
            let not_written = || row["schema"].get("default").cloned().unwrap_or(Value::Null);
            let value = written.get(parameter.name).cloned().unwrap_or_else(not_written);
            let (schema, value) = (&row["schema"], &value);
            let name = format!("{}.{}: {schema}", entry.name, parameter.name);
            assert_eq!(schema["description"], json!(parameter.meaning));
            assert_eq!(schema.get("default").unwrap_or(&Value::Null), value, "{name}");
            if let Some(choices) = schema["oneOf"].as_array() {
                assert!(value.is_null() || choices.iter().any(|choice| &choice["const"] == value), "{name}");
                assert!(
                    choices
                        .iter()
                        .all(|choice| choice["description"].as_str().is_some_and(|it| !it.is_empty()))
                );
                continue;
            }
            let allowed = &schema["type"];
            let is = type_of(value);
            let fits = allowed == is
                || is == "null"
                || allowed.as_array().is_some_and(|types| types.iter().any(|allowed| allowed == is));
            assert!(fits, "{name}");
            // Values that are no number are refused by the range.
            if allowed == "number" {
                let ends = ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"];
                assert!(ends.iter().filter(|end| schema.get(end).is_some()).count() == 2, "{name}");
            }
        }
    }
}

#[test]
fn a_schema_says_what_may_be_written() {
    let schema = |discipline: &str, parameter: &str| {
        let entry = catalogue().into_iter().find(|entry| entry.name == discipline).expect("a discipline");
        let row = entry.parameters.into_iter().find(|row| row.name == parameter).expect("a parameter");
        serde_json::to_value(&row).unwrap()["schema"].clone()
    };
    let w_q = schema("red", "w_q");
    assert_eq!(
        (&w_q["type"], &w_q["exclusiveMinimum"], &w_q["maximum"]),
        (&json!("number"), &json!(0.0), &json!(1.0))
    );
    assert_eq!(w_q["unit"], "1");
    let t_update = schema("pie", "t_update");
    assert_eq!((&t_update["minimum"], &t_update["maximum"]), (&json!("1 us"), &json!("3600 s")));
    let mode = schema("choke", "mode");
    let names: Vec<&Value> =
        mode["oneOf"].as_array().unwrap().iter().map(|choice| &choice["const"]).collect();
    assert_eq!(names, ["packet", "byte"]);
    assert_eq!(schema("droptail", "limit")["type"], json!(["integer", "string"]));
}

#[test]
fn the_defaults_of_every_law_resolve_and_survive_a_round_trip() {
    for config in defaults() {
        let text = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<QueueConfig>(&text).unwrap(), config);
    }
}

#[test]
fn a_limit_is_a_number_of_packets_or_a_text() {
    let limit = |value: Value| {
        serde_json::from_value::<QueueConfig>(json!({"droptail": {"limit": value}}))
            .map(|config| config.limit())
    };
    assert_eq!(limit(json!(24)).unwrap(), Limit::Packets(24));
    assert_eq!(limit(json!("240 packets")).unwrap(), Limit::Packets(240));
    assert_eq!(limit(json!("30 kB")).unwrap().to_string(), "30000 B");
    for wrong in [json!(-1), json!(1.5), json!("many"), json!(null)] {
        let refusal = limit(wrong).unwrap_err().to_string();
        assert!(refusal.contains("\"240 packets\" or \"30 kB\""), "{refusal}");
    }
}

#[test]
fn unknown_laws_and_parameters_are_refused_with_a_list() {
    let refusal = |text: &str| serde_json::from_str::<QueueConfig>(text).unwrap_err().to_string();
    let names: Vec<String> = catalogue().iter().map(|entry| format!("`{}`", entry.name)).collect();
    let there_are = format!("expected one of {}", names.join(", "));
    assert!(refusal(r#"{"green": {}}"#).contains(&there_are));
    assert!(refusal(r#"{"red": {"minth": 5}}"#).contains("unknown field `minth`, expected one of `min_th`"));
    assert!(refusal(r#"{"rem": {"tau": 2}}"#).contains(r#""2": write a unit, such as "2 ms""#));
    assert!(refusal(r#"{"pi": {"mode": "bytes"}}"#).contains("expected `packet` or `byte`"));
}
