//! Invariants of every congestion control, on every network.

use aqmlab_tcp::congestion::Any;
use aqmlab_tcp::{Ack, Algorithm, CongestionControl, EcnPolicy, Profile, RateSample};
use aqmlab_units::{Duration, Time};
use proptest::prelude::*;

use crate::{MSS, profile};

/// Something that happens to a control.
#[derive(Clone, Debug)]
enum Operation {
    Ack {
        bytes: u32,
        marked: u32,
        lost: u32,
        rtt_us: u64,
        flags: u8,
    },
    /// `halved`: a mark has halved the window just before.
    FastRetransmit {
        halved: bool,
    },
    Recovered {
        flight: u32,
    },
    Timeout,
    Spurious,
    Echo,
    Idle,
    Wait {
        us: u64,
    },
}

fn operation() -> impl Strategy<Value = Operation> {
    let ack = (0..200_000_u32, 0..200_000_u32, 0..50_000_u32, 0..2_000_000_u64, any::<u8>());
    prop_oneof![
        20 => ack.prop_map(|(bytes, marked, lost, rtt_us, flags)| Operation::Ack { bytes, marked, lost, rtt_us, flags }),
        1 => any::<bool>().prop_map(|halved| Operation::FastRetransmit { halved }),
        1 => (0..1_000_000_u32).prop_map(|flight| Operation::Recovered { flight }),
        1 => Just(Operation::Timeout),
        1 => Just(Operation::Spurious),
        1 => Just(Operation::Echo),
        1 => Just(Operation::Idle),
        3 => (0..20_000_000_u64).prop_map(|us| Operation::Wait { us }),
    ]
}

fn algorithm() -> impl Strategy<Value = Algorithm> {
    proptest::sample::select(Algorithm::NAMES.map(|(_, algorithm)| algorithm).to_vec())
}

fn acknowledgement(now: Time, operation: &Operation) -> Option<Ack> {
    let &Operation::Ack { bytes, marked, lost, rtt_us, flags } = operation else { return None };
    let rtt = Duration::from_micros(rtt_us);
    let set = |bit: u8| flags & (1 << bit) != 0;
    Some(Ack {
        now,
        bytes,
        mss: MSS,
        in_flight: if set(0) { 0 } else { bytes.saturating_mul(3) },
        marked: if set(1) { marked } else { 0 },
        lost: if set(2) { lost } else { 0 },
        rtt: set(3).then_some(rtt),
        one_way_delay: set(2).then_some(Duration::from_micros(rtt_us / 2)),
        new_round: set(4),
        window_limited: set(5),
        pacing_limited: set(7),
        rate: set(6).then_some(RateSample {
            delivered: bytes,
            interval: rtt,
            lost,
            in_flight_at_send: bytes.saturating_mul(2),
            app_limited: set(7),
        }),
    })
}

fn apply(control: &mut Any, now: &mut Time, operation: &Operation) {
    let window = control.cwnd();
    match operation {
        Operation::Ack { .. } => {
            let ack = acknowledgement(*now, operation).expect("it is one");
            control.on_delivery(&ack);
            control.on_ack(&ack);
        }
        Operation::FastRetransmit { halved } => {
            control.on_fast_retransmit(if *halved { 2 * window } else { window }, MSS);
        }
        Operation::Recovered { flight } => control.on_recovered(*flight, MSS),
        Operation::Timeout => control.on_timeout(window, MSS),
        Operation::Spurious => control.on_spurious(),
        Operation::Echo => control.on_ecn_echo(window, MSS),
        Operation::Idle => control.on_idle(10 * MSS),
        Operation::Wait { us } => *now += Duration::from_micros(*us),
    }
}

proptest! {
    #[test]
    fn the_window_is_from_one_segment_to_the_largest_advertisable(
        algorithm in algorithm(),
        operations in proptest::collection::vec(operation(), 0..200),
    ) {
        let mut control = Any::new(&profile(algorithm));
        let mut now = Time::ZERO;
        for operation in &operations {
            apply(&mut control, &mut now, operation);
            prop_assert!((MSS..=1 << 30).contains(&control.cwnd()), "{} after {operation:?}", control.cwnd());
            prop_assert!((MSS..=1 << 30).contains(&control.ssthresh()));
        }
    }

    #[test]
    fn marks_never_leave_less_than_the_least_window(
        algorithm in algorithm().prop_filter("these have one of their own", |a| {
            !matches!(a, Algorithm::Bbr | Algorithm::Ledbat)
        }),
        min_window in 1..4_u8,
        operations in proptest::collection::vec(operation(), 0..200),
    ) {
        let mut control = Any::new(&Profile { min_window, ..profile(algorithm) });
        let mut now = Time::ZERO;
        for operation in &operations {
            let before = control.cwnd();
            apply(&mut control, &mut now, operation);
            if matches!(operation, Operation::Ack { .. } | Operation::Echo) {
                let least = u32::from(min_window) * MSS;
                prop_assert!(control.cwnd() >= before.min(least), "{} after {before}, {operation:?}", control.cwnd());
            }
        }
    }

    #[test]
    fn only_acknowledgements_and_undoing_let_the_window_grow(
        algorithm in algorithm().prop_filter("BBR restores its window after recovery", |a| *a != Algorithm::Bbr),
        operations in proptest::collection::vec(operation(), 0..200),
    ) {
        let mut control = Any::new(&profile(algorithm));
        let mut now = Time::ZERO;
        for operation in &operations {
            let before = control.cwnd();
            apply(&mut control, &mut now, operation);
            let may_grow = matches!(operation, Operation::Ack { .. } | Operation::Spurious | Operation::Recovered { .. });
            // A loss never leaves less than two segments, even of one.
            prop_assert!(may_grow || control.cwnd() <= before.max(2 * MSS), "{operation:?}");
        }
    }

    #[test]
    fn without_marks_or_losses_acks_never_shrink_the_window(
        algorithm in algorithm().prop_filter("these follow rate or delay", |a| {
            !matches!(a, Algorithm::Bbr | Algorithm::Ledbat)
        }),
        operations in proptest::collection::vec(operation(), 0..200),
    ) {
        let mut control = Any::new(&profile(algorithm));
        let mut now = Time::ZERO;
        control.on_fast_retransmit(10 * MSS, MSS);
        control.on_recovered(5 * MSS, MSS);
        for operation in &operations {
            now += Duration::from_millis(1);
            if let Some(ack) = acknowledgement(now, operation) {
                let before = control.cwnd();
                let ack = Ack { marked: 0, lost: 0, ..ack };
                control.on_delivery(&ack);
                control.on_ack(&ack);
                prop_assert!(before <= control.cwnd());
            }
        }
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow(
        algorithm in algorithm().prop_filter("BBR follows its model", |a| *a != Algorithm::Bbr),
        operations in proptest::collection::vec(operation(), 0..100),
    ) {
        let mut control = Any::new(&profile(algorithm));
        for operation in &operations {
            if let Some(ack) = acknowledgement(Time::ZERO, operation) {
                let ack = Ack { window_limited: false, pacing_limited: false, ..ack };
                control.on_delivery(&ack);
                control.on_ack(&ack);
            }
        }
        prop_assert!(control.cwnd() <= 10 * MSS);
    }
}

#[test]
fn options_that_would_do_nothing_are_refused_in_one_line() {
    let refusal = |profile: Profile| {
        let (field, why) = profile.check().expect_err("it makes no sense");
        format!("{field}: {why}")
    };
    let with = |congestion| profile(congestion);
    assert_eq!(
        refusal(Profile { ecn: EcnPolicy::Rfc3168, ..with(Algorithm::Dctcp) }),
        "congestion: dctcp counts marks: it needs ecn = dctcp, accurate or accurate++, got rfc3168"
    );
    assert_eq!(
        refusal(Profile { ecn: EcnPolicy::Off, abe: true, ..with(Algorithm::Reno) }),
        "abe: must be false unless ecn is on, in any form, got ecn = off"
    );
    assert_eq!(
        refusal(Profile { abe: true, ..with(Algorithm::Prague) }),
        "abe: must be false unless congestion is reno or cubic or cubic-rfc9438, got prague"
    );
    for (_, algorithm) in Algorithm::NAMES {
        assert_eq!(with(algorithm).check(), Ok(()));
    }
}
