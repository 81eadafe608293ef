//! Datagrams: rates, order and bursts.

use super::*;

fn datagrams(more: &str) -> DatagramSource {
    let json = format!(r#"{{"datagrams": {{"rate": "1 Mbit/s", "packet": "1250 B"{more}}}}}"#);
    match Source::new(&config(&json), 0, &uniform(), 1) {
        Ok(Source::Datagrams(source)) => source,
        other => panic!("a source of datagrams: {other:?}"),
    }
}

/// The instants of flow 0 in milliseconds.
fn times(source: DatagramSource, n: usize) -> Vec<f64> {
    source.take(n).map(|datagram| datagram.at.as_secs_f64() * 1e3).collect()
}

#[test]
fn a_constant_bit_rate_is_constant_and_exact() {
    let mut source = datagrams(r#", "start": "2 s", "spread": "0 s", "side": 1"#);
    let first = source.next().expect("endless");
    let expected =
        Datagram { at: Time::from_secs_f64(2.0), flow: 0, side: 1, size: Bytes::new(1250), tag: 0 };
    assert_eq!(first, expected);
    // 10 ms a packet, and no drift.
    assert_eq!(source.nth(99_999).map(|datagram| datagram.at), Some(Time::from_secs_f64(1_002.0)));
    // 1,500 bytes at 7 Mbit/s take 1,714,285.7 ns: after 7,000 of them exactly 12 s have passed.
    let odd = config(r#"{"datagrams": {"rate": "7 Mbit/s", "spread": "0 s"}}"#);
    let Ok(Source::Datagrams(mut odd)) = Source::new(&odd, 0, &uniform(), 1) else { panic!("datagrams") };
    assert_eq!(odd.nth(7_000).map(|datagram| datagram.at), Some(Time::from_secs_f64(12.0)));
}

#[test]
fn packets_of_many_flows_are_in_order_and_evenly_spaced() {
    let datagrams: Vec<Datagram> = datagrams(r#", "flows": 7, "jitter": 1, "stop": "10 s""#).collect();
    assert!(datagrams.is_sorted_by_key(|datagram| datagram.at));
    assert!(datagrams.last().is_some_and(|last| last.at < Time::from_secs_f64(10.0)));
    for flow in 0..7 {
        let n = datagrams.iter().filter(|datagram| datagram.flow == flow).count();
        assert!((899..=1_000).contains(&n), "started within the first second, 100 a second: {n}");
    }
}

#[test]
fn jitter_stays_within_its_share_and_keeps_the_order() {
    for jitter in [0.3, 1.0] {
        let times = times(datagrams(&format!(r#", "spread": "0 s", "jitter": {jitter}"#)), 10_000);
        assert!(times.is_sorted());
        let held: Vec<f64> = (0_u32..).zip(&times).map(|(i, at)| at - 10.0 * f64::from(i)).collect();
        let (mean, [least, most]) = summary(held, [0.0, 0.999_9]);
        assert!(-1e-3 < least && most < 10.0 * jitter + 1e-3 && most > 9.9 * jitter);
        assert!((mean - 5.0 * jitter).abs() < 0.15 * jitter, "uniform: {mean}");
    }
}

#[test]
fn fixed_bursts_are_where_they_are_said_to_be() {
    let bursts = r#", "spread": "0 s", "bursts": {"on": {"fixed": "25 ms"}, "off": {"fixed": "100 ms"}}"#;
    // In bursts, the packets are at 0, 10, 20, 30, ... ms; each 25 ms of those 100 ms of silence are put in.
    let expected = [0.0, 10.0, 20.0, 130.0, 140.0, 250.0, 260.0, 270.0, 380.0, 390.0];
    for (at, expected) in times(datagrams(bursts), 10).into_iter().zip(expected) {
        assert!((at - expected).abs() < 1e-6, "{at} for {expected}");
    }
}

#[test]
fn bursts_of_hardly_a_packet_send_their_share_of_the_rate() {
    for (on, off) in [("10 ms", "30 ms"), ("2 s", "1 s")] {
        let bursts = format!(
            r#", "spread": "0 s", "stop": "20000 s", "bursts": {{"on": {{"exponential": {{"mean": "{on}"}}}}, "off": {{"exponential": {{"mean": "{off}"}}}}}}"#
        );
        let n = datagrams(&bursts).count() as f64;
        let share = if on == "10 ms" { 0.25 } else { 2.0 / 3.0 };
        assert!((n / (2e6 * share) - 1.0).abs() < 0.03, "4 standard errors: {n}");
    }
}

#[test]
fn what_cannot_be_sent_is_refused() {
    let refusal = |more: &str| refusal(&format!(r#"{{"datagrams": {{"rate": "1 Mbit/s"{more}}}}}"#));
    assert_eq!(
        refusal(r#", "packet": "20 B""#),
        "datagrams.packet: must be between 40 B and 65535 B, got 20 B"
    );
    assert_eq!(refusal(r#", "jitter": 1.5"#), "datagrams.jitter: must be between 0 and 1, got 1.5");
    assert_eq!(refusal(r#", "flows": 0"#), "datagrams.flows: must be between 1 and 1000000, got 0");
    assert_eq!(refusal(r#", "stop": "0 s""#), "datagrams.stop: must be above start = 0 s, got 0 s");
    let short = r#", "bursts": {"on": {"fixed": "11 ms"}, "off": {"fixed": "1 s"}}"#;
    assert_eq!(
        refusal(short),
        "datagrams.bursts.on: must last a packet's time, 12 ms, on average, got 11 ms"
    );
}

proptest! {
    #[test]
    fn any_flows_are_refused_or_send_in_order(
        on in 0_u64..40_000, off in 0_u64..200_000, packet in 0_u64..70_000, jitter in -0.1..1.1_f64, flows in 0_u32..4,
    ) {
        let json = format!(
            r#"{{"datagrams": {{"rate": "10 Mbit/s", "packet": "{packet} B", "flows": {flows}, "jitter": {jitter},
            "bursts": {{"on": {{"pareto": {{"mean": "{on} us", "shape": 1.4}}}}, "off": {{"fixed": "{off} us"}}}}}}}}"#
        );
        let config = config(&json);
        let checked = config.check().and_then(|()| Source::new(&config, 0, &uniform(), 1));
        if let Ok(Source::Datagrams(source)) = checked {
            let sent: Vec<Datagram> = source.take(300).collect();
            prop_assert_eq!(sent.len(), 300);
            prop_assert!(sent.is_sorted_by_key(|datagram| datagram.at));
        }
    }
}
