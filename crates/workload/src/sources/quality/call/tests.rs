use proptest::prelude::*;

use super::*;
use crate::sources::quality::e_model::{mean_opinion_score, rating};

const G711: EquipmentImpairment = EquipmentImpairment { ie: 0.0, bpl: 25.1 };

fn listener(buffer_ms: u64) -> Listener {
    let buffer = JitterBufferConfig::Fixed(Duration::from_millis(buffer_ms));
    Listener::new(G711, [Duration::from_millis(20), Duration::ZERO], buffer)
}

/// A listener to packets every 20 ms with these fates, in milliseconds of delay, which become known in `order`.
fn hearing(mut listener: Listener, fates: &[Option<u64>], order: impl Iterator<Item = usize>) -> Listener {
    let at = |number: usize| Time::from_nanos(20_000_000 * number as u64);
    for number in 0..fates.len() {
        listener.sent(at(number), true);
    }
    for number in order {
        listener.decide(at(number), fates[number].map(Duration::from_millis));
    }
    listener
}

fn quality(listener: &Listener) -> CallQuality {
    CallQuality::new(&[[listener.clone(), listener.clone()]])
}

#[test]
fn a_call_has_the_delay_of_coding_network_and_buffer() {
    let fates = [Some(30); 50];
    let quality = quality(&hearing(listener(40), &fates, 0..50));
    assert_eq!(quality.mouth_to_ear_ms_mean, Some(90.0));
    assert_eq!((quality.discarded_percent, quality.missing_percent), (Some(0.0), Some(0.0)));
    assert_eq!(quality.r_mean, Some(rating(G711, 90.0, 0.0, 1.0)));
    assert_eq!(quality.mos_min, quality.r_mean.map(mean_opinion_score));
}

#[test]
fn losses_and_late_packets_are_missing_and_their_bursts_count() {
    // Two of 20 lost in a row, one late: a missing share of 15 % in bursts of 3 / 2 packets.
    let mut fates = [Some(10); 20];
    fates[4..6].fill(None);
    fates[10] = Some(51);
    let quality = quality(&hearing(listener(40), &fates, 0..20));
    assert_eq!((quality.discarded_percent, quality.missing_percent), (Some(5.0), Some(15.0)));
    let expected = rating(G711, 70.0, 15.0, 1.5 * 0.85);
    assert!((quality.r_mean.expect("a rating") - expected).abs() < 1e-9);
}

#[test]
fn the_warm_up_trains_the_buffer_and_is_not_counted() {
    let mut listener = listener(40);
    for (number, ms) in [500, 10, 300].into_iter().enumerate() {
        let at = Time::from_nanos(20_000_000 * number as u64);
        listener.sent(at, number > 0);
        listener.decide(at, Some(Duration::from_millis(ms)));
    }
    let quality = quality(&listener);
    assert_eq!((quality.mouth_to_ear_ms_mean, quality.missing_percent), (Some(560.0), Some(0.0)));
}

#[test]
fn silence_has_the_lowest_score_and_no_delay() {
    let quality = quality(&hearing(listener(40), &[None; 5], 0..5));
    assert_eq!((quality.mos_mean, quality.mouth_to_ear_ms_mean), (Some(1.0), None));
    assert_eq!(CallQuality::new(&[]).mos_mean, None);
}

#[test]
fn percentiles_of_scores_are_those_of_listeners() {
    let scores: Vec<f64> = (1..=20).map(f64::from).collect();
    assert_eq!([0, 10, 50, 100].map(|p| nearest_rank(&scores, p)), [1.0, 2.0, 10.0, 20.0].map(Some));
}

#[test]
fn a_second_copy_of_a_packet_is_ignored() {
    let mut listener = listener(40);
    for number in [0, 0, 1, 0, 1] {
        let at = Time::from_nanos(20_000_000 * number);
        if number == listener.heard.packets {
            listener.sent(at, true);
        }
        listener.decide(at, Some(Duration::from_millis(10)));
    }
    assert_eq!(listener.heard.packets, 2);
}

proptest! {
    #[test]
    fn the_order_in_which_fates_become_known_changes_nothing(
        fates in prop::collection::vec(prop::option::weighted(0.8, 0..200u64), 1..60), seed in any::<u64>(),
    ) {
        let mut order: Vec<usize> = (0..fates.len()).collect();
        order.sort_by_key(|&number| (number as u64 + 1).wrapping_mul(seed | 1));
        let shuffled = quality(&hearing(listener(50), &fates, order.into_iter()));
        prop_assert_eq!(shuffled, quality(&hearing(listener(50), &fates, 0..fates.len())));
    }

    #[test]
    fn a_deeper_fixed_buffer_never_discards_more(
        delays in prop::collection::vec((0..300u64).prop_map(Some), 1..60), depth in 0..200u64, more in 0..100u64,
    ) {
        let discarded = |depth| quality(&hearing(listener(depth), &delays, 0..delays.len())).discarded_percent;
        prop_assert!(discarded(depth + more) <= discarded(depth));
    }
}
