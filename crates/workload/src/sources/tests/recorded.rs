//! Traces: what is read is what is replayed, in order, and mistakes are named by row or line.

use super::*;

const TRACE: &str = r#"{"trace": {"start_seconds": [2, 0.5, 0.5], "side": [0, 1, 0], "request_bytes": [300, 9, 9],
    "response_bytes": [5000, 0, 7], "rtt_ms": [80, 20.5, 30]}}"#;

#[test]
fn a_trace_is_replayed_by_start_and_then_in_order_of_rows() {
    let mut source = source(TRACE, 1);
    let vectors: Vec<Vector> = source.by_ref().collect();
    let seen: Vec<_> = vectors
        .iter()
        .map(|v| (v.start.as_nanos() / 1_000_000, v.side, v.min_rtt.as_micros(), v.persistent))
        .collect();
    assert_eq!(seen, [(500, 1, 20_500, false), (500, 0, 30_000, false), (2_000, 0, 80_000, false)]);
    let adu = |by, size| Adu { by, pause: Duration::ZERO, size: Bytes::new(size) };
    assert_eq!(source.units(&vectors[0], 9), [adu(End::Initiator, 9)], "nothing answers an upload");
    assert_eq!(source.units(&vectors[2], 9), [adu(End::Initiator, 300), adu(End::Acceptor, 5_000)]);
}

#[test]
fn mistakes_in_a_column_are_named_by_their_row() {
    let cases = [
        ("[0, 1, 0]", "[0, 1, 2]", "trace.side[2]: must be between 0 and 1, got 2"),
        ("[0, 1, 0]", "[0, 1]", "trace.side: must have 3 rows, as start_seconds has, got 2"),
        ("[2, 0.5, 0.5]", "[2, -1, 0.5]", "trace.start_seconds[1]: must be between 0 and 10000000, got -1"),
        ("[2, 0.5, 0.5]", "[]", "trace.start_seconds: must have between 1 and 100000000 rows, got 0"),
        ("[300, 9, 9]", "[300, 9, 0]", "trace.request_bytes[2]: must be between 1 and 1000000000000, got 0"),
        ("[80, 20.5, 30]", "[80, 4e6, 30]", "trace.rtt_ms[1]: must be between 0 and 60000, got 4000000"),
        (
            "30]",
            r#"30], "rtt": {"fixed": "1 ms"}"#,
            "trace.rtt: must be absent where there is a column rtt_ms",
        ),
    ];
    for (sound, broken, message) in cases {
        assert_eq!(refusal(&TRACE.replace(sound, broken)), message);
    }
}

fn pairs(text: &str) -> String {
    format!(r#"{{"pair_trace": {{"text": {text:?}, "rtt": ["10 ms", "20 ms"]}}}}"#)
}

#[test]
fn a_trace_of_pairs_has_round_trip_times_from_its_table() {
    let mut source = source(&pairs("# t dir pair size\n1.5 1 1 700\n\n0.25 0 0 1 # small\n"), 1);
    let vectors: Vec<Vector> = source.by_ref().collect();
    let seen: Vec<_> =
        vectors.iter().map(|v| (v.start.as_secs_f64(), v.side, v.min_rtt.as_micros())).collect();
    assert_eq!(seen, [(0.25, 0, 10_000), (1.5, 1, 20_000)]);
    let sizes: Vec<u64> = source.units(&vectors[1], 9).iter().map(|adu| adu.size.get()).collect();
    assert_eq!(sizes, [300, 700]);
}

#[test]
fn a_checked_text_and_a_changed_copy_are_replayed_as_they_are() {
    let vectors = |config: &SourceConfig| match Source::new(config, 0, &uniform(), 1) {
        Ok(Source::Connections(mut source)) => {
            let vectors: Vec<Vector> = source.by_ref().collect();
            vectors.into_iter().map(|vector| (vector, source.units(&vector, 9))).collect::<Vec<_>>()
        }
        other => panic!("a source of connections: {other:?}"),
    };
    let checked = config(&pairs("2 0 0 5\n1 1 0 6\n"));
    checked.check().expect("a sound trace");
    let mut changed = checked.clone();
    let SourceConfig::PairTrace(trace) = &mut changed else { panic!("a trace of pairs") };
    trace.text = "3 0 1 7\n".into();
    let fresh = vectors(&config(&pairs("2 0 0 5\n1 1 0 6\n")));
    for _ in 0..2 {
        assert_eq!(vectors(&checked), fresh);
    }
    assert_eq!(vectors(&changed), vectors(&config(&pairs("3 0 1 7\n"))));
}

#[test]
fn mistakes_in_a_text_are_named_by_their_line() {
    let cases = [
        ("1 0 0 5\n1 0 0\n", "pair_trace.text, line 2: must be `t dir pair size`, got `1 0 0`"),
        ("\n1 0 2 5\n", "pair_trace.text, line 2: pair must be a number between 0 and 1, got `2`"),
        ("1 2 0 5\n", "pair_trace.text, line 1: dir must be a number between 0 and 1, got `2`"),
        ("x 0 0 5\n", "pair_trace.text, line 1: t must be a number between 0 and 10000000, got `x`"),
        ("1 0 0 0\n", "pair_trace.text, line 1: size must be a number between 1 and 1000000000000, got `0`"),
        ("NaN 0 0 5\n", "pair_trace.text, line 1: t must be a number between 0 and 10000000, got `NaN`"),
    ];
    for (text, message) in cases {
        assert_eq!(refusal(&pairs(text)), message);
    }
    let none = pairs("1 0 0 5").replace(r#"["10 ms", "20 ms"]"#, "[]");
    assert_eq!(refusal(&none), "pair_trace.rtt: must have a round-trip time for each pair, got none");
}

proptest! {
    #[test]
    fn any_text_is_refused_in_one_line_or_replayed(text in "([0-9]{1,3}(\\.[0-9])? [0-3] [0-3] [0-9#]{1,4}\n){0,4}[ -~]{0,8}") {
        let json = pairs(&text);
        match config(&json).check() {
            Ok(()) => prop_assert!(source(&json, 1).count() <= 5),
            Err(error) => prop_assert!(!error.message.contains('\n'), "{error}"),
        }
    }
}
