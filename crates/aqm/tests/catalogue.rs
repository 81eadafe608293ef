//! The catalogue tells the truth about the configurations.
#![cfg(feature = "serde")]

use aqmlab_aqm::{Limit, QueueConfig, catalogue};
use serde_json::{Value, json};

/// The default configuration of each law, as it is read from `{"<name>": {}}`.
fn defaults() -> Vec<QueueConfig> {
    let empty =
        |name: &str| serde_json::from_value(json!({ name: {} })).expect("every parameter has a default");
    catalogue().iter().map(|entry| empty(entry.name)).collect()
}

#[test]
fn parameters_are_the_fields_of_the_configuration_in_their_order() {
    for (entry, config) in catalogue().iter().zip(defaults()) {
        assert_eq!(config.name(), entry.name);
        let text = serde_json::to_string(&config).unwrap();
        let mut from = 0;
        for parameter in &entry.parameters {
            let field = format!("\"{}\":", parameter.name);
            let at = text[from..].find(&field).expect("a field for each parameter, in order");
            from += at + field.len();
        }
        let fields = serde_json::to_value(&config).unwrap()[entry.name].as_object().unwrap().len();
        assert_eq!(fields, entry.parameters.len(), "{} has fields that the catalogue lacks", entry.name);
    }
}

#[test]
fn defaults_are_shown_as_they_are_written() {
    for (entry, config) in catalogue().iter().zip(defaults()) {
        let written = &serde_json::to_value(&config).unwrap()[entry.name];
        for parameter in &entry.parameters {
            let same = match &written[parameter.name] {
                Value::Null => parameter.default == "automatic",
                Value::Number(number) => parameter.default.parse().ok() == number.as_f64(),
                Value::Bool(flag) => parameter.default == flag.to_string(),
                Value::String(text) => &parameter.default == text,
                other => panic!("{} is {other}", parameter.name),
            };
            assert!(same, "{}.{} is shown as {}", entry.name, parameter.name, parameter.default);
        }
    }
}

#[test]
fn every_parameter_has_a_meaning_a_unit_and_a_source() {
    for entry in catalogue() {
        for parameter in &entry.parameters {
            let texts = [parameter.meaning, parameter.unit, parameter.source];
            assert!(texts.iter().all(|text| !text.is_empty()), "{}.{}", entry.name, parameter.name);
            assert!(parameter.meaning.ends_with('.') && !parameter.meaning.contains('\n'));
        }
    }
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
fn unknown_laws_and_parameters_are_refused_with_those_that_exist() {
    let refusal = |text: &str| serde_json::from_str::<QueueConfig>(text).unwrap_err().to_string();
    assert!(refusal(r#"{"pye": {}}"#).contains("expected one of `droptail`, `red`, `ared`, `pi`, `rem`"));
    assert!(refusal(r#"{"red": {"minth": 5}}"#).contains("unknown field `minth`, expected one of `min_th`"));
    assert!(refusal(r#"{"rem": {"tau": 2}}"#).contains(r#""2": write a unit, such as "2 ms""#));
    assert!(refusal(r#"{"pi": {"mode": "bytes"}}"#).contains("expected `packet` or `byte`"));
}
