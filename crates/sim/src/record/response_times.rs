//! The users' response times: the histogram, and its table.

use aqmlab_units::Duration;
use aqmlab_workload::Completed;
use hdrhistogram::Histogram;

use super::columns::table;

table! {
/// The histogram of response times: one row per bin that holds something, by size and then by time.
pub struct ResponseTimesTable {
    /// The smallest size of a response in the bin, in bytes.
    pub size_low_bytes: Vec<u64>,
    /// The upper end of the sizes, itself excluded, in bytes.
    pub size_high_bytes: Vec<u64>,
    /// The smallest response time in the bin, in milliseconds.
    pub time_low_ms: Vec<f64>,
    /// The upper end of the response times, itself excluded, in milliseconds.
    pub time_high_ms: Vec<f64>,
    /// Exchanges.
    pub count: Vec<u64>,
}
}

/// The users' response times by response size: a histogram for each power of two of bytes, whose bins are at most
/// 1/128 of their time wide, so that a bin's middle is within 0.4 % of every time in it.
#[derive(Debug)]
pub(crate) struct ResponseTimes {
    by_size: Vec<Histogram<u64>>,
    sum: Duration,
    longest: Duration,
    within_500ms: u64,
}

impl ResponseTimes {
    pub(crate) fn new() -> ResponseTimes {
        ResponseTimes { by_size: Vec::new(), sum: Duration::ZERO, longest: Duration::ZERO, within_500ms: 0 }
    }

    /// Those of several, as one.
    pub(crate) fn together<'a>(all: impl Iterator<Item = &'a ResponseTimes>) -> ResponseTimes {
        let mut together = ResponseTimes::new();
        for times in all {
            for (octave, histogram) in times.by_size.iter().enumerate() {
                together.of_octave(octave).add(histogram).expect("the histogram resizes itself");
            }
            together.sum = together.sum + times.sum;
            together.longest = together.longest.max(times.longest);
            together.within_500ms += times.within_500ms;
        }
        together
    }

    /// The histogram for responses of from 2^`octave` bytes to twice that.
    fn of_octave(&mut self, octave: usize) -> &mut Histogram<u64> {
        while self.by_size.len() <= octave {
            self.by_size.push(Histogram::new(2).expect("two significant digits are allowed"));
        }
        &mut self.by_size[octave]
    }

    pub(crate) fn record(&mut self, exchange: &Completed) {
        let octave = exchange.response.get().max(1).ilog2() as usize;
        let micros = exchange.response_time.as_micros();
        self.of_octave(octave).record(micros.max(1)).expect("the histogram resizes itself");
        self.sum = self.sum + exchange.response_time;
        self.longest = self.longest.max(exchange.response_time);
        self.within_500ms += u64::from(micros <= 500_000);
    }

    /// All sizes together.
    pub(crate) fn all(&self) -> Histogram<u64> {
        let mut all = Histogram::new(2).expect("two significant digits are allowed");
        for histogram in &self.by_size {
            all.add(histogram).expect("the histogram resizes itself");
        }
        all
    }

    pub(crate) fn longest(&self) -> Duration {
        self.longest
    }

    pub(crate) fn sum(&self) -> Duration {
        self.sum
    }

    pub(crate) fn within_500ms(&self) -> u64 {
        self.within_500ms
    }

    pub(crate) fn table(&self) -> ResponseTimesTable {
        let mut table = ResponseTimesTable::default();
        for (octave, histogram) in self.by_size.iter().enumerate() {
            for bin in histogram.iter_recorded() {
                table.size_low_bytes.push(1 << octave);
                table.size_high_bytes.push(1 << (octave + 1));
                let value = bin.value_iterated_to();
                table.time_low_ms.push(histogram.lowest_equivalent(value) as f64 * 1e-3);
                table.time_high_ms.push(histogram.next_non_equivalent(value) as f64 * 1e-3);
                table.count.push(bin.count_at_value());
            }
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_units::{Bytes, Time};
    use proptest::prelude::*;

    use super::*;

    fn completed(response: u64, micros: u64) -> Completed {
        Completed {
            request: Bytes::new(300),
            response: Bytes::new(response),
            started: Time::ZERO,
            response_time: Duration::from_micros(micros),
            first: true,
            persistent: false,
            connection: 0,
            top_level: true,
        }
    }

    /// Sizes and times of every order of magnitude.
    fn exchanges() -> impl Strategy<Value = Vec<(u64, u64)>> {
        let any_magnitude = |digits: u32| (0..digits, 1..1_000u64).prop_map(|(n, lead)| lead * 10u64.pow(n));
        prop::collection::vec((any_magnitude(7), any_magnitude(8)), 1..200)
    }

    proptest! {
        #[test]
        fn the_middle_of_an_exchanges_bin_is_exact_to_0_4_percent(exchanges in exchanges()) {
            let mut times = ResponseTimes::new();
            for &(size, micros) in &exchanges {
                times.record(&completed(size, micros));
            }
            let bins = times.table();
            for (bin, &count) in bins.count.iter().enumerate() {
                let (size_low, size_high) = (bins.size_low_bytes[bin], bins.size_high_bytes[bin]);
                let (low, high) = (bins.time_low_ms[bin], bins.time_high_ms[bin]);
                let inside = |&&(size, micros): &&(u64, u64)| {
                    (size_low..size_high).contains(&size) && (low..high).contains(&(micros as f64 * 1e-3))
                };
                prop_assert_eq!(exchanges.iter().filter(inside).count() as u64, count);
                // Times are whole microseconds: the last one in the bin is one before its end.
                let half_width = (high - 1e-3 - low) / 2.0;
                prop_assert!(half_width <= 0.004 * low + 1e-9, "{low} to {high} ms");
            }
            prop_assert_eq!(bins.count.iter().sum::<u64>(), exchanges.len() as u64);
            let places: Vec<(u64, f64)> = bins.size_low_bytes.iter().copied().zip(bins.time_low_ms).collect();
            prop_assert!(places.is_sorted_by(|a, b| a < b));
            let sum: u64 = exchanges.iter().map(|(_, micros)| micros).sum();
            prop_assert_eq!(times.sum(), Duration::from_micros(sum));
        }

        #[test]
        fn merged_histograms_equal_one_histogram_of_all_exchanges(
            exchanges in exchanges(), whose in prop::collection::vec(0..3usize, 200),
        ) {
            let (mut one, mut several) = (ResponseTimes::new(), [(); 3].map(|()| ResponseTimes::new()));
            for (&(size, micros), whose) in exchanges.iter().zip(whose) {
                one.record(&completed(size, micros));
                several[whose].record(&completed(size, micros));
            }
            let together = ResponseTimes::together(several.iter());
            let bins = |times: &ResponseTimes| format!("{:?}", times.table());
            prop_assert_eq!(bins(&together), bins(&one));
            let sums = |times: &ResponseTimes| (times.sum(), times.longest(), times.within_500ms());
            prop_assert_eq!(sums(&together), sums(&one));
        }
    }

    #[test]
    fn half_a_second_is_within_half_a_second() {
        let mut times = ResponseTimes::new();
        for micros in [499_999, 500_000, 500_001] {
            times.record(&completed(1_000, micros));
        }
        assert_eq!(times.within_500ms(), 2);
    }
}
