use super::*;

fn shipped() -> WebConfig {
    WebConfig::shipped("unc-2001").expect("shipped")
}

/// The message for a shipped model with one mistake in it.
fn refusal(spoil: impl FnOnce(&mut WebConfig)) -> String {
    let mut config = shipped();
    spoil(&mut config);
    config.check().expect_err("refused").to_string()
}

#[test]
fn everything_that_ships_is_valid() {
    for name in WebConfig::SHIPPED {
        let config = WebConfig::shipped(name).expect("shipped");
        assert_eq!(config.check(), Ok(()));
        assert_eq!(config.name, name);
    }
    for name in RttConfig::SHIPPED {
        assert_eq!(RttConfig::shipped(name).expect("shipped").check(), Ok(()));
    }
}

#[test]
fn an_unknown_name_is_answered_with_the_known_ones() {
    let error = RttConfig::shipped("lunar").expect_err("unknown").to_string();
    assert_eq!(error, "rtt: unknown `lunar`: choose uniform, general, general-moderate");
    assert!(WebConfig::shipped("unc").is_err());
}

#[test]
fn a_configuration_survives_being_written_and_read() {
    let text = serde_json::to_string(&shipped()).expect("written");
    assert_eq!(serde_json::from_str::<WebConfig>(&text).expect("read"), shipped());
}

#[test]
fn an_unknown_field_is_refused() {
    let text = serde_json::to_string(&shipped()).expect("written");
    let text = text.replacen("page_round_trips", "page_round_trip", 1);
    let error = serde_json::from_str::<WebConfig>(&text).expect_err("refused").to_string();
    assert!(error.contains("unknown field `page_round_trip`"), "{error}");
}

#[test]
fn nodes_that_do_not_increase_are_refused_with_their_place() {
    assert_eq!(
        refusal(|c| c.think_seconds.nodes[3][0] = 0.2),
        "think_seconds.nodes[3]: u must be above 0.25, that of the node before, and below 1, got 0.2"
    );
    assert_eq!(
        refusal(|c| c.request_bytes.nodes[1][1] = 40.0),
        "request_bytes.nodes[1]: value must not be below 80, that of the node before, got 40"
    );
    assert_eq!(
        refusal(|c| c.request_bytes.nodes[0][0] = 0.1),
        "request_bytes.nodes[0]: u of the first node must be 0, got 0.1"
    );
    assert_eq!(
        refusal(|c| c.pages_per_visit.nodes.last_mut().expect("nodes")[0] = 1.0),
        "pages_per_visit.nodes[8]: u must be above 0.97, that of the node before, and below 1, got 1"
    );
}

#[test]
fn empty_negative_and_absurd_tables_are_refused() {
    assert_eq!(
        refusal(|c| c.embedded_bytes.nodes.clear()),
        "embedded_bytes.nodes: needs at least 2 nodes [u, value], got 0"
    );
    assert_eq!(
        refusal(|c| c.top_level_bytes.nodes[0][1] = 0.0),
        "top_level_bytes.nodes[0]: value must be above 0 and at most 4000000000, got 0"
    );
    assert_eq!(
        refusal(|c| c.request_bytes.nodes[9][1] = 1e12),
        "request_bytes.nodes[9]: value must be above 0 and at most 4000000000, got 1000000000000"
    );
    assert_eq!(
        refusal(|c| c.think_seconds.nodes[2][1] = f64::NAN),
        "think_seconds.nodes[2]: value must be above 0 and at most 10000000, got NaN"
    );
}

#[test]
fn probabilities_that_are_none_are_refused() {
    assert_eq!(
        refusal(|c| c.servers_per_page.probabilities[0] = 0.5),
        "servers_per_page.probabilities: must sum to 1 within 0.000001, got 0.88"
    );
    assert_eq!(
        refusal(|c| c.max_parallel.probabilities.clear()),
        "max_parallel.probabilities: must not be empty"
    );
    assert_eq!(
        refusal(|c| c.max_parallel.min = 0),
        "max_parallel.min: values must lie from 1 to 255, got 0 to 2"
    );
    assert_eq!(
        refusal(|c| c.embedded_per_page.probabilities[2] = -0.1),
        "embedded_per_page.probabilities[2]: must be between 0 and 1, got -0.1"
    );
    assert_eq!(
        refusal(|c| c.persistent_probability = 1.5),
        "persistent_probability: must be between 0 and 1, got 1.5"
    );
    assert_eq!(
        refusal(|c| c.persistent_response_cap_bytes = Some(70)),
        "persistent_response_cap_bytes: must be above the smallest response, 80, got 70"
    );
}

#[test]
fn round_trip_times_are_checked_too() {
    let uniform = RttDistribution::UniformMs { min: 150, max: 10 };
    let error = RttConfig { source: String::new(), distribution: uniform }.check().expect_err("refused");
    assert_eq!(
        error.to_string(),
        "distribution.uniform_ms: must have min <= max <= 60000, got min = 150, max = 10"
    );
    let falling = RttDistribution::QuantilesMs(vec![[0.0, 5.0], [0.5, 4.0]]);
    let error = RttConfig { source: String::new(), distribution: falling }.check().expect_err("refused");
    assert_eq!(error.path, "distribution.quantiles_ms[1]");
}
