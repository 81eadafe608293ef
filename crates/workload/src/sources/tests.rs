//! Properties of every kind of source.

mod datagrams;
mod packmime;
mod recorded;
mod tmix;

use aqmlab_units::{Bytes, Duration, Time};
use proptest::prelude::*;

use super::transfer::ENDLESS;
use super::*;

fn uniform() -> RttConfig {
    RttConfig::shipped("uniform").expect("shipped")
}

fn config(json: &str) -> SourceConfig {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{error} in {json}"))
}

/// The source of connections that `json` says.
pub(super) fn source(json: &str, seed: u64) -> VectorSource {
    match Source::new(&config(json), 0, &uniform(), seed) {
        Ok(Source::Connections(source)) => source,
        other => panic!("a source of connections: {other:?}"),
    }
}

/// The message for a mistake.
fn refusal(json: &str) -> String {
    config(json).check().expect_err("refused").to_string()
}

/// The mean and the value at each of `shares` of the sorted `values`.
pub(super) fn summary<const N: usize>(mut values: Vec<f64>, shares: [f64; N]) -> (f64, [f64; N]) {
    values.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of the number of values"
    )]
    let place = |share: f64| (share * values.len() as f64) as usize;
    (values.iter().sum::<f64>() / values.len() as f64, shares.map(|share| values[place(share)]))
}

/// One of each kind that makes connections.
fn kinds() -> impl Iterator<Item = &'static str> {
    let makes_connections = |json: &&str| config(json).datagrams().is_none();
    SourceConfig::EXAMPLES.iter().copied().filter(makes_connections)
}

#[test]
fn connections_come_in_order_of_start_and_are_numbered() {
    for json in kinds() {
        let vectors: Vec<Vector> = source(json, 1).take(2_000).collect();
        assert!(vectors.is_sorted_by_key(|vector| vector.start), "{json}");
        assert!(vectors.len() >= 2);
        for (number, vector) in (0..).zip(&vectors) {
            assert_eq!((vector.number, vector.side <= 1), (number, true));
        }
    }
}

#[test]
fn traffic_depends_on_seed_and_index_alone() {
    let drawn = |json: &str, index, seed| -> Vec<(Vector, Vec<Adu>)> {
        let Ok(Source::Connections(mut source)) = Source::new(&config(json), index, &uniform(), seed) else {
            panic!("a source of connections")
        };
        let vectors: Vec<Vector> = source.by_ref().take(50).collect();
        vectors.iter().map(|vector| (*vector, source.units(vector, 20))).collect()
    };
    for json in kinds() {
        assert_eq!(drawn(json, 0, 1), drawn(json, 0, 1));
        assert_ne!(drawn(json, 0, 1), drawn(json, 0, 2), "{json}: connections have streams of their own");
        assert_ne!(drawn(json, 0, 1), drawn(json, 1, 1), "{json}");
    }
}

#[test]
fn what_a_connection_sends_depends_on_no_other_connection() {
    for json in kinds() {
        let mut early = source(json, 1);
        let first = early.next().expect("one at least");
        let alone = early.units(&first, 40);
        let others: Vec<Vector> = early.by_ref().take(30).collect();
        for other in &others {
            early.units(other, 7);
        }
        assert_eq!(early.units(&first, 40), alone, "{json}");
    }
}

#[test]
fn round_trip_times_are_the_sources_or_else_the_experiments() {
    let rtts = |rtt: &str| -> Vec<Duration> {
        source(&format!(r#"{{"bulk": {{"flows": 1000{rtt}}}}}"#), 1).map(|vector| vector.min_rtt).collect()
    };
    let (ms, within) = (Duration::from_millis, |rtts: &[Duration], min, max| {
        rtts.iter().all(|rtt| (min..=max).contains(rtt)) && rtts.iter().any(|rtt| *rtt != rtts[0])
    });
    assert!(within(&rtts(""), ms(10), ms(150)));
    assert!(rtts(r#", "rtt": {"fixed": "37 ms"}"#).iter().all(|rtt| *rtt == ms(37)));
    assert!(within(&rtts(r#", "rtt": {"range": {"min": "20 ms", "max": "21 ms"}}"#), ms(20), ms(21)));
    let table =
        r#", "rtt": {"table": {"source": "", "distribution": {"uniform_ms": {"min": 200, "max": 210}}}}"#;
    assert!(within(&rtts(table), ms(200), ms(210)));
}

#[test]
fn bulk_flows_move_their_bytes_in_the_direction_asked_for() {
    let sent = |json: &str| {
        let mut source = source(json, 1);
        let vector = source.next().expect("a flow");
        source.units(&vector, 3).iter().map(|adu| (adu.by, adu.size.get())).collect::<Vec<_>>()
    };
    assert_eq!(
        sent(r#"{"bulk": {"flows": 1, "bytes": "5 MB"}}"#),
        [(End::Initiator, 300), (End::Acceptor, 5_000_000)]
    );
    assert_eq!(
        sent(r#"{"bulk": {"flows": 1, "bytes": "5 MB", "direction": "upload"}}"#),
        [(End::Initiator, 5_000_000)]
    );
    let endless = ENDLESS.get();
    assert_eq!(sent(r#"{"bulk": {"flows": 1}}"#)[1], (End::Acceptor, endless));
    assert_eq!(sent(r#"{"bulk": {"flows": 1, "direction": "upload"}}"#)[0], (End::Initiator, endless));
}

#[test]
fn an_endless_transfer_is_begun_again_when_it_is_lost() {
    for direction in ["upload", "download"] {
        let mut source = source(&format!(r#"{{"bulk": {{"flows": 1, "direction": "{direction}"}}}}"#), 1);
        let vector = source.next().expect("a flow");
        let (mut connection, mut out) = (source.open(&vector, vector.start), Vec::new());
        let mut tell = |event| {
            source.on_event(&mut connection, event, vector.start + Duration::from_secs(9), &mut out);
            std::mem::take(&mut out)
        };
        let opened = tell(VectorEvent::Opened);
        if direction == "download" {
            assert_eq!(tell(VectorEvent::Delivered(Bytes::new(300))), [VectorAction::Answer(ENDLESS)]);
            assert_eq!(tell(VectorEvent::Received(Bytes::new(1 << 40))), []);
        } else {
            assert_eq!(tell(VectorEvent::Delivered(Bytes::new(1 << 40))), []);
        }
        assert_eq!(tell(VectorEvent::Closed), [VectorAction::Aborted, VectorAction::Open]);
        assert_eq!(tell(VectorEvent::Opened), opened, "it continues as it began");
    }
}

#[test]
fn transfers_arrive_at_their_rate_on_each_side_until_their_end() {
    let json = r#"{"transfers": {"rate_per_second": [20, 80], "size": {"fixed": "1 kB"}, "start": "10 s", "stop": "1010 s"}}"#;
    let vectors: Vec<Vector> = source(json, 3).collect();
    let (start, stop) = (Time::from_secs_f64(10.0), Time::from_secs_f64(1010.0));
    assert!(vectors.iter().all(|vector| start < vector.start && vector.start < stop));
    for (side, expected) in [(0, 20_000.0), (1, 80_000.0)] {
        let starts: Vec<f64> =
            vectors.iter().filter(|v| v.side == side).map(|v| v.start.as_secs_f64()).collect();
        let n = starts.len() as f64;
        assert!((n - expected).abs() < 4.0 * f64::sqrt(expected), "side {side}: {n} arrivals");
        // Gaps of a Poisson process vary by as much as their mean.
        let gaps: Vec<f64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / n;
        let square = gaps.iter().map(|gap| gap * gap).sum::<f64>() / n;
        assert!((square / (2.0 * mean * mean) - 1.0).abs() < 0.05, "side {side}");
    }
}

#[test]
fn an_on_off_flow_alternates_bursts_and_pauses_of_given_means() {
    let mut source = source(
        r#"{"on_off": {"flows": 400, "size": {"exponential": {"mean": "20 kB"}}, "off": {"exponential": {"mean": "2 s"}}}}"#,
        1,
    );
    let (mut pauses, mut sizes) = (Vec::new(), Vec::new());
    let vectors: Vec<Vector> = source.by_ref().collect();
    for vector in &vectors {
        let units = source.units(vector, 100);
        assert_eq!(units[0].pause, Duration::ZERO, "a flow begins with a burst");
        for pair in units.chunks(2) {
            assert_eq!((pair[0].by, pair[0].size.get(), pair[1].by), (End::Initiator, 300, End::Acceptor));
            assert_eq!(pair[1].pause, Duration::ZERO);
            sizes.push(pair[1].size.as_f64());
        }
        pauses.extend(units[2..].iter().step_by(2).map(|unit| unit.pause.as_secs_f64()));
    }
    // 20,000 exponential draws: 4 standard errors are 2.8 %.
    assert!((summary(sizes, []).0 / 20e3 - 1.0).abs() < 0.028);
    assert!((summary(pauses, []).0 / 2.0 - 1.0).abs() < 0.028);
}

#[test]
fn a_configuration_survives_serialization_with_its_name() {
    for json in kinds() {
        let read = config(json);
        let written = serde_json::to_string(&read).expect("written");
        assert_eq!(config(&written), read);
        assert!(json.starts_with(&format!("{{\"{}\"", read.kind())));
        assert_eq!(read.name(), read.kind());
    }
    assert_eq!(config(r#"{"bulk": {"name": "backup", "flows": 1}}"#).name(), "backup");
}

#[test]
fn mistakes_are_refused_with_kind_and_field() {
    let cases = [
        (r#"{"bulk": {"flows": 0}}"#, "bulk.flows: must be between 1 and 1000000, got 0"),
        (r#"{"bulk": {"flows": 1, "side": 2}}"#, "bulk.side: must be at most 1, got 2"),
        (
            r#"{"bulk": {"flows": 1, "bytes": "0 B"}}"#,
            "bulk.bytes: must be between 1 B and 1000000000000 B, got 0 B",
        ),
        (
            r#"{"bulk": {"flows": 1, "rtt": {"range": {"min": "9 ms", "max": "8 ms"}}}}"#,
            "bulk.rtt.range.min: must not be above max = 8 ms, got 9 ms",
        ),
        (
            r#"{"on_off": {"flows": 1, "size": {"fixed": "1 B"}, "off": {"pareto": {"mean": "1 s", "shape": 0.9}}}}"#,
            "on_off.off.pareto.shape: must be above 1 and at most 100, got 0.9",
        ),
        (
            r#"{"transfers": {"rate_per_second": [0, 0], "size": {"fixed": "1 B"}}}"#,
            "transfers.rate_per_second: must be above 0 for one side at least, got [0, 0]",
        ),
        (
            r#"{"transfers": {"rate_per_second": [1, -1], "size": {"fixed": "1 B"}}}"#,
            "transfers.rate_per_second[1]: must be between 0.001 and 1000000 a second, got -1",
        ),
        (
            r#"{"transfers": {"rate_per_second": [1, 0], "size": {"fixed": "1 B"}, "start": "5 s", "stop": "5 s"}}"#,
            "transfers.stop: must be above start = 5 s, got 5 s",
        ),
        (
            r#"{"packmime": {"rate_per_second": 0.5}}"#,
            "packmime.rate_per_second: must be between 1 and 100000, got 0.5",
        ),
        (r#"{"three_gpp": {"users": 0}}"#, "three_gpp.users: must be between 1 and 1000000, got 0"),
    ];
    for (json, message) in cases {
        assert_eq!(refusal(json), message);
    }
    let unknown = serde_json::from_str::<SourceConfig>(r#"{"bulk": {"flow": 1}}"#).expect_err("refused");
    assert!(unknown.to_string().contains("unknown field `flow`"), "{unknown}");
    assert!(
        serde_json::from_str::<SourceConfig>(r#"{"bulk": {"flows": 1, "spread": 5}}"#).is_err(),
        "no unit"
    );
}

proptest! {
    #[test]
    fn any_parameters_are_refused_or_work(
        rate in prop::num::f64::ANY, flows in 0_u32..5, mean in 0_u64..2_000_000_000_000, shape in -1.0..120.0_f64,
        side in 0_u8..3, kind in 0..4,
    ) {
        let size = format!(r#"{{"pareto": {{"mean": "{mean} B", "shape": {shape}}}}}"#);
        let off = format!(r#"{{"pareto": {{"mean": "{mean} ns", "shape": {shape}}}}}"#);
        let rate = if rate.is_finite() { rate } else { 7.0 };
        let json = match kind {
            0 => format!(r#"{{"on_off": {{"flows": {flows}, "side": {side}, "size": {size}, "off": {off}}}}}"#),
            1 => format!(r#"{{"transfers": {{"rate_per_second": [{rate:e}, {shape}], "size": {size}}}}}"#),
            2 => format!(r#"{{"packmime": {{"rate_per_second": {rate:e}, "side": {side}}}}}"#),
            _ => format!(r#"{{"three_gpp": {{"users": {flows}, "side": {side}, "reading": "{mean} ns"}}}}"#),
        };
        let config = config(&json);
        let checked = config.check().and_then(|()| Source::new(&config, 0, &uniform(), 1));
        if let Ok(Source::Connections(mut source)) = checked {
            let vectors: Vec<Vector> = source.by_ref().take(5).collect();
            prop_assert!(vectors.is_sorted_by_key(|vector| vector.start));
            for vector in vectors {
                prop_assert!(source.units(&vector, 10).iter().all(|unit| unit.size > Bytes::ZERO));
            }
        } else {
            let message = config.check().expect_err("refused").to_string();
            prop_assert!(message.contains("must") && !message.contains('\n'), "{message}");
        }
    }
}

#[test]
fn draws_never_change() {
    let drawn: Vec<String> = GOLDEN
        .iter()
        .map(|(kind, _)| {
            let json = kinds().find(|json| config(json).kind() == *kind).expect("a kind");
            let mut source = source(json, 1);
            let vector = source.nth(1).expect("several");
            let sent: Vec<String> = source
                .units(&vector, 4)
                .iter()
                .map(|unit| format!("{} after {}", unit.size, unit.pause))
                .collect();
            format!("{}, {}: {}", vector.start, vector.min_rtt, sent.join("; "))
        })
        .collect();
    assert_eq!(
        drawn,
        GOLDEN.map(|(_, draws)| draws),
        "golden draws: changing them changes every published result"
    );
}

const GOLDEN: [(&str, &str); 5] = [
    ("bulk", "0.131262256 s, 93 ms: 300 B after 0 s; 1000000 B after 0 s"),
    (
        "on_off",
        "0.131262256 s, 93 ms: 300 B after 0 s; 21198 B after 0 s; 300 B after 382.028808 ms; 5257 B after 0 s",
    ),
    ("transfers", "0.022766068 s, 93 ms: 300 B after 0 s; 109 B after 0 s"),
    ("packmime", "0.060783936 s, 93 ms: 346 B after 0 s; 1778 B after 2.989471 ms"),
    (
        "three_gpp",
        "2.785383654 s, 93 ms: 328 B after 0 s; 7069 B after 0 s; 328 B after 26.588841 ms; 2606 B after 0 s",
    ),
];
