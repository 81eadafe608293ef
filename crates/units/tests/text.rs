//! Printed quantities parse back exactly.

use aqmlab_units::{BitRate, Bytes, Duration};
use proptest::prelude::*;

/// Numbers of every magnitude: uniform draws alone would almost all be huge.
fn any_magnitude() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0_u32..64).prop_map(|(n, shift)| n >> shift)
}

proptest! {
    #[test]
    fn printed_spans_are_read_back_exactly(nanos in any_magnitude()) {
        let span = Duration::from_nanos(nanos);
        prop_assert_eq!(span.to_string().parse(), Ok(span));
    }

    #[test]
    fn printed_sizes_are_read_back_exactly(bytes in any_magnitude()) {
        let size = Bytes::new(bytes);
        prop_assert_eq!(size.to_string().parse(), Ok(size));
    }

    #[test]
    fn printed_rates_are_read_back_exactly(bits in any_magnitude()) {
        if let Some(rate) = BitRate::from_bits_per_sec(bits) {
            prop_assert_eq!(rate.to_string().parse(), Ok(rate));
        }
    }

    #[test]
    fn an_exponent_moves_the_point(whole in 0_u32..10_000, fraction in 0_u32..1_000, power in -6_i32..6) {
        let plain = f64::from(whole) + f64::from(fraction) / 1e3;
        let text = format!("{whole}.{fraction:03}e{power} s");
        let span: Duration = text.parse().expect("a number with an exponent");
        let expected = plain * 10_f64.powi(power);
        prop_assert!((span.as_secs_f64() - expected).abs() <= 0.5e-9 + 1e-12 * expected, "{text}: {span}");
    }

    #[test]
    fn any_text_is_read_or_refused_in_one_line(text in "(?s).{0,20}") {
        if let Err(refusal) = text.parse::<Duration>() {
            prop_assert!(refusal.to_string().lines().count() == 1);
        }
    }
}

#[test]
fn what_is_too_large_is_told_as_that() {
    for text in ["1e300 s", "1E+20 s", "1e99999999999999999999 s", "99999999999999 h"] {
        assert_eq!(text.parse::<Duration>().unwrap_err().to_string(), format!("{text:?}: is too large"));
    }
    for text in ["0e300 s", "1e-300 s", "0 s"] {
        assert_eq!(text.parse(), Ok(Duration::ZERO), "{text}");
    }
    assert_eq!("1.5e3 kB".parse(), Ok(Bytes::new(1_500_000)));
    let refusal = |text: &str| text.parse::<Duration>().unwrap_err().to_string();
    assert_eq!(refusal("1e3"), "\"1e3\": write a unit, such as \"1e3 ms\"");
    assert_eq!(refusal("1e s"), "\"1e s\": the unit must be one of ms, s, min, h, d, us, ns");
}
