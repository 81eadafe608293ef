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
    vectors.iter().map(|vector| (*vector, source.units(vector, 99))).collect()
}

#[test]
fn vectors_are_read_with_units_pauses_windows_and_rtts() {
    let read = read(ORIGINAL);
    assert_eq!(read.len(), 2);
    let us = Duration::from_micros;
    let (pushes, sent) = &read[0];
    assert_eq!((pushes.start, pushes.side, pushes.min_rtt), (Time::ZERO + us(3_724), 1, us(70_000)));
    assert!(!pushes.persistent && !pushes.concurrent);
    let (asks, says) = (Adu::request, Adu::response);
    let b = Bytes::new;
    assert_eq!(
        *sent,
        [asks(us(0), b(250)), says(us(48_877), b(1_024)), says(us(1_082_014), b(1_536)), asks(us(20), b(7))]
    );
    let (example, sent) = &read[1];
    assert_eq!((example.start, example.min_rtt), (Time::ZERO + us(6_851), us(1_176_194)));
    assert_eq!(*sent, [asks(us(0), b(245)), says(us(51_257), b(510)), says(us(6_304_943), b(0))]);
}

#[test]
fn both_formats_say_the_same() {
    assert_eq!(read(ORIGINAL), read(ALTERNATE));
}

/// A concurrent vector in the original format: at 0 and 500 us by the acceptor, at 300, 300 and 900 us by the initiator, which
/// is done 7 us later.
const CONCURRENT: &str = "\
CONC 9 3 2 26876 793318
w 65535 5840
r 30000
c< 726
t> 300
c> 222
t< 500
t> 0
c> 80
c< 46
t> 600
c> 90
t> 7
";

/// The same in the alternate format.
const CONCURRENT_ALTERNATE: &str = "\
C 9 3 2 26876 793318
w 65535 5840
r 30000
A 0 0 726
I 300 0 222
I 0 0 80
A 500 0 46
I 600 0 90
I 7 0 0
";

#[test]
fn the_ends_of_a_concurrent_vector_are_merged_by_time() {
    let read = read(&format!("{ORIGINAL}{CONCURRENT}"));
    let kinds: Vec<bool> = read.iter().map(|(vector, _)| vector.concurrent).collect();
    assert_eq!(kinds, [true, false, false], "in the order of starting");
    let (vector, sent) = &read[0];
    let us = Duration::from_micros;
    assert_eq!((vector.min_rtt, vector.persistent), (us(30_000), false));
    let (initiator, acceptor) = (Adu::request, Adu::response);
    let b = Bytes::new;
    assert_eq!(
        *sent,
        [
            acceptor(us(0), b(726)),
            initiator(us(300), b(222)),
            initiator(us(0), b(80)),
            acceptor(us(200), b(46)),
            initiator(us(400), b(90)),
            initiator(us(7), b(0)),
        ]
    );
    assert_eq!(self::read(CONCURRENT), self::read(CONCURRENT_ALTERNATE));
}

#[test]
fn the_later_end_decides_when_a_concurrent_connection_closes() {
    // The acceptor's FIN would come first.
    let read = read("C 0 1 1 0 0\nA 0 0 5\nA 1 0 0\nI 0 0 6\nI 9 0 0\n");
    let us = Duration::from_micros;
    let b = Bytes::new;
    assert_eq!(
        read[0].1,
        [Adu::request(us(0), b(6)), Adu::response(us(0), b(5)), Adu::response(us(9), b(0))]
    );
    assert!(self::read("C 0 0 0 0 0\n")[0].1.is_empty());
}

#[test]
fn concurrent_vectors_are_left_out_on_demand() {
    let text = format!("{CONCURRENT}{ORIGINAL}{CONCURRENT_ALTERNATE}");
    let mut source = source(&tmix(&text, r#", "skip_concurrent": true"#), 1);
    assert!(source.by_ref().all(|vector| !vector.concurrent));
    assert_eq!(read(&text).len(), 4);
}

#[test]
fn mistakes_are_named_by_their_line() {
    let head = "S 10 1 0 0\n";
    let cases = [
        ("> 5\n", 1, "must begin a vector, `S`, `SEQ`, `C` or `CONC`, got `> 5`"),
        ("S 10 1 0\n", 1, "must be `S start epochs id id`, got `S 10 1 0`"),
        ("S x 1 0 0\n", 1, "start (microseconds) must be a number between 0 and 10000000000000, got `x`"),
        (
            "S 10 1 0 0\nr -5\n",
            2,
            "the round-trip time (microseconds) must be a number between 0 and 60000000, got `-5`",
        ),
        ("S 10 1 0 0\n> 0\n", 2, "the size must be a number between 1 and 1000000000000, got `0`"),
        ("S 10 1 0 0\nt 5\n", 2, "a pause must follow a unit"),
        ("S 10 1 0 0\n> 5\nt 5\nt 5\n", 4, "must not follow another line `t`"),
        (
            "S 10 1 0 0\n> 5\nt 7\nI 0 0 0\n",
            4,
            "has pauses of its own, so that it must not follow a line `t`",
        ),
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
        ("C 10 1 0 0\n", 1, "must be `C start initiator_units acceptor_units id id`, got `C 10 1 0 0`"),
        ("C 10 1 1 0 0\n> 5\n", 2, "of a concurrent vector must be c>, c<, t> or t<, got `>`"),
        ("C 10 1 1 0 0\nc> 0\n", 2, "the size must be a number between 1 and 1000000000000, got `0`"),
        ("C 10 1 1 0 0\nt< 5\nt> 5\nt< 5\n", 4, "must not follow another line `t<` of the same end"),
        (
            "C 10 1 1 0 0\nA 0 5 5\n",
            2,
            "a unit of a concurrent vector waits for none, so that its pause after receiving must be 0",
        ),
        (
            "C 10 1 1 0 0\nI 0 0 0\nA 0 0 0\nI 0 0 5\n",
            4,
            "nothing of the same end may follow its unit of size 0",
        ),
        (
            "C 10 1 1 0 0\nt> 10000000000000\nc> 5\nt> 1\n",
            4,
            "the pauses of one end must be no more than 10000000 s in all",
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
            "A 2 0 0", "I 0 0 0", "# so", "", "t", "S", "c> 8", "c< 9", "t> 1", "t< 2", "I 4 0 1",
        ]), 0..12), skip: bool,
    ) {
        let json = tmix(&lines.join("\n"), &format!(r#", "skip_concurrent": {skip}"#));
        match config(&json).check() {
            Ok(()) => {
                let mut source = source(&json, 1);
                let vectors: Vec<Vector> = source.by_ref().collect();
                for vector in vectors {
                    let sent = source.units(&vector, 99);
                    let fin = sent.iter().position(|unit| unit.size == Bytes::ZERO);
                    prop_assert!(fin.is_none_or(|fin| fin + 1 == sent.len()));
                }
            }
            Err(error) => prop_assert!(!error.message.contains('\n'), "{error}"),
        }
    }
}
