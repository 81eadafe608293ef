//! The E-model: the rating of a voice connection by its delay and its loss of packets.
//!
//! Source: ITU-T Recommendation G.107 (06/2015), with its default values for everything but the delay and the codec:
//! `R = Ro - Is - Id - Ie,eff + A` (7-1), where `Ro - Is` and `A = 0` follow from the defaults. Echo is that of the
//! default telephone, whose talker echo loudness rating is 65 dB.

/// The impairment of a codec (Ie) and its robustness to loss (Bpl).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct EquipmentImpairment {
    pub(crate) ie: f64,
    pub(crate) bpl: f64,
}

/// Ro: the basic signal-to-noise ratio of the default values, 15 - 1.5 (SLR + No) with SLR = 8 dB, No = -61.18 dBm0p.
const RO: f64 = 94.77;

/// Is: the simultaneous impairment of the default values.
const IS: f64 = 1.41;

/// The default talker echo loudness rating, in dB.
const TELR: f64 = 65.0;

/// The default weighted echo path loss, in dB.
const WEPL: f64 = 110.0;

/// The transmission rating factor R.
///
/// `delay_ms` is the absolute delay from mouth to ear, Ta; the delay of echo is that too, and its round-trip delay is
/// twice that. `loss_percent` is Ppl, and `burst_ratio` is `BurstR`: 1 for independent losses.
pub(crate) fn rating(codec: EquipmentImpairment, delay_ms: f64, loss_percent: f64, burst_ratio: f64) -> f64 {
    RO - IS - delay_impairment(delay_ms) - effective_equipment_impairment(codec, loss_percent, burst_ratio)
}

/// Id = Idte + Idle + Idd (7-17).
fn delay_impairment(delay_ms: f64) -> f64 {
    talker_echo(delay_ms) + listener_echo(2.0 * delay_ms) + absolute_delay(delay_ms)
}

/// Idte (7-18 to 7-21), of a sidetone masking rating from 9 to 20 dB, such as the default 15.
fn talker_echo(delay_ms: f64) -> f64 {
    // Roe = -1.5 (No - RLR)
    let roe = -1.5 * (-61.18 - 2.0);
    let ratio = (1.0 + delay_ms / 10.0) / (1.0 + delay_ms / 150.0);
    let terv = TELR - 40.0 * libm::log10(ratio) + 6.0 * libm::exp(-0.3 * delay_ms * delay_ms);
    let re = 80.0 + 2.5 * (terv - 14.0);
    let half = (roe - re) / 2.0;
    (half + libm::sqrt(half * half + 100.0) - 1.0) * -libm::expm1(-delay_ms)
}

/// Idle (7-25, 7-26).
fn listener_echo(round_trip_ms: f64) -> f64 {
    let rle = 10.5 * (WEPL + 7.0) * libm::pow(round_trip_ms + 1.0, -0.25);
    let half = (RO - rle) / 2.0;
    half + libm::sqrt(half * half + 169.0)
}

/// Idd (7-27, 7-28), for the default delay sensitivity: sT = 1 and mT = 100 ms.
fn absolute_delay(delay_ms: f64) -> f64 {
    if delay_ms <= 100.0 {
        return 0.0;
    }
    let x = libm::log2(delay_ms / 100.0);
    let sixth = |base: f64| libm::pow(1.0 + libm::pow(base, 6.0), 1.0 / 6.0);
    25.0 * (sixth(x) - 3.0 * sixth(x / 3.0) + 2.0)
}

/// Ie,eff (7-29).
fn effective_equipment_impairment(codec: EquipmentImpairment, loss_percent: f64, burst_ratio: f64) -> f64 {
    codec.ie + (95.0 - codec.ie) * loss_percent / (loss_percent / burst_ratio + codec.bpl)
}

/// The estimated mean opinion score of conversational quality (Annex B).
///
/// The formula falls a little below 1 for R from 0 to 6.5; no score is.
pub(crate) fn mean_opinion_score(r: f64) -> f64 {
    if r >= 100.0 {
        return 4.5;
    }
    let r = r.max(0.0);
    (1.0 + 0.035 * r + r * (r - 60.0) * (100.0 - r) * 7e-6).max(1.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const G711: EquipmentImpairment = EquipmentImpairment { ie: 0.0, bpl: 25.1 };

    #[test]
    fn the_default_values_give_the_recommendations_rating() {
        // Clause 7.7: all default values give R = 93.2, of which Annex B makes a MOS of 4.41.
        let r = rating(G711, 0.0, 0.0, 1.0);
        assert!((r - 93.2).abs() < 0.05, "{r}");
        assert!((mean_opinion_score(r) - 4.41).abs() < 0.005);
    }

    #[test]
    fn scores_are_those_of_table_b_1() {
        for (r, mos) in [(90.0, 4.34), (80.0, 4.03), (70.0, 3.60), (60.0, 3.10), (50.0, 2.58)] {
            let score = mean_opinion_score(r);
            assert!((score - mos).abs() < 0.01, "R = {r}: {score}");
        }
        assert_eq!((mean_opinion_score(100.0), mean_opinion_score(-3.0)), (4.5, 1.0));
    }

    #[test]
    fn impairments_of_g729a_are_those_of_g113s_table() {
        // ITU-T G.113 (05/2002), table I.2: Ie of G.729A with VAD, measured at these shares of random loss.
        let g729a = EquipmentImpairment { ie: 11.0, bpl: 19.0 };
        for (loss, ie) in [(0.0, 11.0), (1.0, 15.0), (2.0, 19.0), (4.0, 26.0), (8.0, 36.0), (16.0, 49.0)] {
            let effective = effective_equipment_impairment(g729a, loss, 1.0);
            assert!((effective - ie).abs() <= 0.6, "{loss} %: {effective}");
        }
    }

    #[test]
    fn delay_costs_what_cole_and_rosenbluth_fitted() {
        // Cole and Rosenbluth, "Voice over IP performance monitoring", CCR 2001, eq. 3: a fit of Id of G.107 up to 400 ms.
        for delay in (0..=400).step_by(10).map(f64::from) {
            let fit = 0.024 * delay + if delay > 177.3 { 0.11 * (delay - 177.3) } else { 0.0 };
            let id = delay_impairment(delay);
            assert!((id - fit).abs() < 3.2, "{delay} ms: {id}, fit {fit}");
        }
        // X = 1 at twice the threshold: a closed form of the absolute delay.
        let twice = 25.0 * (libm::pow(2.0, 1.0 / 6.0) - 3.0 * libm::pow(730.0 / 729.0, 1.0 / 6.0) + 2.0);
        assert!((absolute_delay(200.0) - twice).abs() < 1e-9);
    }

    #[test]
    fn bursts_cost_more_than_single_losses() {
        // Ie,eff of G.711 with concealment: 95 Ppl / (Ppl / BurstR + Bpl).
        let effective = |burst_ratio| effective_equipment_impairment(G711, 2.0, burst_ratio);
        assert!((effective(1.0) - 95.0 * 2.0 / 27.1).abs() < 1e-9);
        assert!((effective(2.0) - 95.0 * 2.0 / 26.1).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn more_delay_or_loss_never_improves_a_call(
            delay in 0.0..2000.0, more_delay in 0.0..500.0, loss in 0.0..100.0, more_loss in 0.0..50.0,
        ) {
            let base = rating(G711, delay, loss, 1.0);
            // G.107 has a ripple of 0.04 in Idle and Idte below 10 ms.
            prop_assert!(rating(G711, delay + more_delay, loss, 1.0) <= base + 0.2);
            prop_assert!(rating(G711, delay, loss + more_loss, 1.0) <= base);
        }

        #[test]
        fn scores_rise_with_the_rating(r in -20.0..120.0, more in 0.0..20.0) {
            prop_assert!(mean_opinion_score(r + more) >= mean_opinion_score(r));
            prop_assert!((1.0..=4.5).contains(&mean_opinion_score(r)));
        }
    }
}
