//! The estimates of throughput and latency in dash.js: two moving averages each, and the more cautious of both.
//!
//! Source: Spiteri, Sitaraman and Sparacio 2018, with the half-lives of dash.js.

use aqmlab_units::Duration;

use super::{Download, Observed};

/// The half-lives of dash.js, of throughput and latency alike.
const HALF_LIVES: [f64; 2] = [3.0, 8.0];

/// Averages whose old values have lost half of their weight after a half-life.
#[derive(Clone, Debug, Default)]
pub(super) struct Estimate {
    /// Bits per second, weighted by the time of the transfer.
    throughputs: [Average; 2],
    /// Seconds, weighted by the length of a segment.
    latencies: [Average; 2],
}

#[derive(Clone, Copy, Debug, Default)]
struct Average {
    sum: f64,
    weight: f64,
}

impl Average {
    /// Add a value that counts for this many half-lives.
    fn add(&mut self, value: f64, half_lives: f64) {
        let kept = libm::exp2(-half_lives);
        self.sum = kept * self.sum + (1.0 - kept) * value;
        self.weight = kept * self.weight + (1.0 - kept);
    }

    fn mean(self) -> f64 {
        self.sum / self.weight
    }
}

impl Estimate {
    pub(super) fn add(&mut self, download: &Download, segment: f64) {
        // A segment whose bytes come together has been transferred while its first byte was awaited; ours.
        let together = download.transfer_time == Duration::ZERO;
        let seconds = if together { download.response_time } else { download.transfer_time }.as_secs_f64();
        let throughput = 8.0 * download.size.as_f64() / seconds;
        for (index, half_life) in HALF_LIVES.into_iter().enumerate() {
            self.throughputs[index].add(throughput, seconds / half_life);
            self.latencies[index].add(download.latency.as_secs_f64(), segment / half_life);
        }
    }

    /// The lower of the averages, in bits per second.
    pub(super) fn throughput(&self) -> f64 {
        self.throughputs.iter().map(|average| average.mean()).fold(f64::INFINITY, f64::min)
    }

    /// The higher of the averages, in seconds.
    pub(super) fn latency(&self) -> f64 {
        self.latencies.iter().map(|average| average.mean()).fold(0.0, f64::max)
    }

    /// The highest version whose segments take no longer than they play, at a share of the estimated throughput.
    pub(super) fn sustained(&self, observed: &Observed, share: f64) -> usize {
        let (latency, throughput) = (self.latency(), share * self.throughput());
        let lasts = |rate: f64| latency + observed.segment * rate / throughput > observed.segment;
        observed.rates[1..].iter().position(|&rate| lasts(rate)).unwrap_or(observed.rates.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_units::Bytes;

    use super::*;

    #[test]
    fn the_more_cautious_of_two_averages_counts() {
        let mut estimate = Estimate::default();
        let download = |mbit: u64, latency| Download {
            size: Bytes::new(mbit * 375_000),
            response_time: Duration::from_millis(3000 + latency),
            latency: Duration::from_millis(latency),
            transfer_time: Duration::from_secs(3),
        };
        // One half-life of 3 s each: weights of 1/4 and 1/2 after the second.
        estimate.add(&download(8, 100), 3.0);
        assert!((estimate.throughput() - 8e6).abs() < 1e-3 && (estimate.latency() - 0.1).abs() < 1e-12);
        estimate.add(&download(2, 400), 3.0);
        assert!((estimate.throughput() - 4e6).abs() < 1e-3, "{}", estimate.throughput());
        assert!((estimate.latency() - 0.3).abs() < 1e-12, "{}", estimate.latency());
        // After a rise the slow average is the lower one.
        estimate.add(&download(20, 400), 3.0);
        let slow = libm::exp2(-3.0 / 8.0);
        let mean = (20.0 + slow * 2.0 + slow * slow * 8.0) / (1.0 + slow + slow * slow);
        assert!((estimate.throughput() / 1e6 - mean).abs() < 1e-9, "{} {mean}", estimate.throughput());
    }
}
