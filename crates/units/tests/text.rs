//! What is printed can be read back, exactly.

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
    fn any_text_is_read_or_refused_in_one_line(text in "(?s).{0,20}") {
        if let Err(refusal) = text.parse::<Duration>() {
            prop_assert!(refusal.to_string().lines().count() == 1);
        }
    }
}
