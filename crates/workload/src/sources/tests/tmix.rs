//! Connection vectors in both formats of tmix.

use super::*;

/// The example of the ns-2 manual in the original format, with a vector of pushes.
const ORIGINAL: &str = "\
# a comment
SEQ 6851 1 21217 555382
w 64800 6432
r 1176194
l 0.000000 0.000000
> 245
t 51257
< 510
t 6304943

SEQ 3724 3 15715 439847
> 250
t 48877
< 1024
t 1082014
< 1536
t 20
> 7
";

/// The same in the alternate format.
const ALTERNATE: &str = "\
S 6851 1 21217 555382
w 64800 6432
r 1176194
l 0.000000 0.000000
I 0 0 245
A 0 51257 510
A 6304943 0 0
S 3724 3 15715 439847
m 1460 1460
I 0 0 250
A 0 48877 1024
A 1082014 0 1536
I 0 20 7
";

fn tmix(text: &str, more: &str) -> String {
    format!(r#"{{"tmix": {{"text": {text:?}, "rtt": {{"fixed": "70 ms"}}{more}}}}}"#)
}

fn read(text: &str) -> Vec<(Vector, Vec<Adu>)> {
    let mut source = source(&tmix(text, r#", "side": 1"#), 1);
    let vectors: Vec<Vector> = source.by_ref().collect();
    vectors.iter().map(|vector| (*vector, units(&source, vector, 99))).collect()
}

#[test]
fn vectors_are_read_with_their_units_pauses_windows_and_round_trip_times() {
    let read = read(ORIGINAL);
    assert_eq!(read.len(), 2);
    let us = Duration::from_micros;
    let (pushes, sent) = &read[0];
    assert_eq!((pushes.start, pushes.side, pushes.min_rtt), (Time::ZERO + us(3_724), 1, us(70_000)));
    assert_eq!((pushes.windows, pushes.persistent), (None, false));
    let (asks, says) = (Adu::request, Adu::response);
    let b = Bytes::new;
    assert_eq!(
        *sent,
        [asks(us(0), b(250)), says(us(48_877), b(1_024)), says(us(1_082_014), b(1_536)), asks(us(20), b(7))]
    );
    let (example, sent) = &read[1];
    assert_eq!((example.start, example.min_rtt), (Time::ZERO + us(6_851), us(1_176_194)));
    assert_eq!(example.windows, Some(Windows { initiator: b(64_800), acceptor: b(6_432) }));
    assert_eq!(*sent, [asks(us(0), b(245)), says(us(51_257), b(510)), says(us(6_304_943), b(0))]);
}

#[test]
fn both_formats_say_the_same() {
    assert_eq!(read(ORIGINAL), read(ALTERNATE));
}

#[test]
fn concurrent_vectors_are_refused_unless_they_are_to_be_left_out() {
    let text = format!(
        "CONC 9 2 2 26876 793318\nw 65535 5840\nc> 222\nt> 62\nc< 726\nt< 6\n{ORIGINAL}C 1 1 1 0 0\nI 0 0 9\n"
    );
    assert_eq!(
        refusal(&tmix(&text, "")),
        "tmix.text, line 1: concurrent connection vectors are not replayed: take them out, or set skip_concurrent = true"
    );
    let mut source = source(&tmix(&text, r#", "skip_concurrent": true"#), 1);
    assert_eq!(source.by_ref().count(), 2);
}

#[test]
fn mistakes_are_named_by_their_line() {
    let head = "S 10 1 0 0\n";
    let cases = [
        ("> 5\n", 1, "must begin a vector, `S` or `SEQ`, got `> 5`"),
        ("S 10 1 0\n", 1, "must be `S start epochs id id`, got `S 10 1 0`"),
        ("S x 1 0 0\n", 1, "start (microseconds) must be a number between 0 and 10000000000000, got `x`"),
        ("S 10 1 0 0\nw 5\n", 2, "must be `w initiator acceptor`, got `w 5`"),
        ("S 10 1 0 0\nw 0 5\n", 2, "a window must be a number between 1 and 1073741824, got `0`"),
        (
            "S 10 1 0 0\nr -5\n",
            2,
            "the round-trip time (microseconds) must be a number between 0 and 60000000, got `-5`",
        ),
        ("S 10 1 0 0\n> 0\n", 2, "the size must be a number between 1 and 1000000000000, got `0`"),
        ("S 10 1 0 0\nt 5\n", 2, "a pause must follow a unit"),
        ("S 10 1 0 0\n> 5\nt 5\nt 5\n", 4, "must not follow another line `t`"),
        (
            "S 10 1 0 0\nI 0 0 5\nA 5 0 5\n",
            3,
            "follows a unit of the other end, so that its pause must be the one after receiving",
        ),
        (
            "S 10 1 0 0\nI 0 0 5\nI 0 5 5\n",
            3,
            "follows a unit of the same end, so that its pause must be the one after sending",
        ),
        (
            "S 10 1 0 0\nI 0 0 0\nA 0 0 5\n",
            3,
            "nothing may follow the unit of size 0 that closes the connection",
        ),
        ("S 10 1 0 0\nc> 5\n", 2, "must be one of w, r, l, m, >, <, t, I, A, S, SEQ, C or CONC, got `c>`"),
    ];
    for (text, line, message) in cases {
        assert_eq!(refusal(&tmix(text, "")), format!("tmix.text, line {line}: {message}"));
    }
    assert_eq!(config(&tmix(head, "")).check(), Ok(()), "a vector that sends nothing is opened and closed");
}

proptest! {
    #[test]
    fn any_lines_are_refused_in_one_line_or_replayed_to_the_end(
        lines in prop::collection::vec(prop::sample::select(vec![
            "S 1 1 0 0", "SEQ 2 1 0 0", "C 3 1 1 0 0", "w 9 9", "r 7", "l 0 0", "> 5", "< 6", "t 7", "I 0 0 5", "A 0 3 5",
            "A 2 0 0", "I 0 0 0", "# so", "", "t", "S",
        ]), 0..12),
    ) {
        let json = tmix(&lines.join("\n"), r#", "skip_concurrent": true"#);
        match config(&json).check() {
            Ok(()) => {
                let mut source = source(&json, 1);
                let vectors: Vec<Vector> = source.by_ref().collect();
                for vector in vectors {
                    let sent = units(&source, &vector, 99);
                    let fin = sent.iter().position(|unit| unit.size == Bytes::ZERO);
                    prop_assert!(fin.is_none_or(|fin| fin + 1 == sent.len()));
                }
            }
            Err(error) => prop_assert!(!error.message.contains('\n'), "{error}"),
        }
    }
}
