//! Quantiles and means of times; each is `None` for no values.

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::link::DelayHistogram;
use crate::quantiles::{Bin, quantile, ratio};
use crate::record::ResponseTimes;

/// Percentiles and mean of the response times in milliseconds; `None` when no exchange was completed.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResponseTimeMs {
    /// The 10th percentile.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "p10")))]
    pub p10: Option<f64>,
    /// The 25th percentile.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "p25")))]
    pub p25: Option<f64>,
    /// The 50th percentile, the median.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "p50", "brief" = true)))]
    pub p50: Option<f64>,
    /// The 75th percentile.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "p75")))]
    pub p75: Option<f64>,
    /// The 90th percentile.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "p90")))]
    pub p90: Option<f64>,
    /// The 95th percentile.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "p95", "brief" = true)))]
    pub p95: Option<f64>,
    /// The 99th percentile.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "p99", "brief" = true)))]
    pub p99: Option<f64>,
    /// The mean.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "mean", "brief" = true)))]
    pub mean: Option<f64>,
}

impl ResponseTimeMs {
    pub(crate) fn new(times: &ResponseTimes) -> ResponseTimeMs {
        let all = times.all();
        let bins = bins_ms(&all);
        let at = |fraction| quantile(&bins, fraction);
        ResponseTimeMs {
            p10: at(0.10),
            p25: at(0.25),
            p50: at(0.50),
            p75: at(0.75),
            p90: at(0.90),
            p95: at(0.95),
            p99: at(0.99),
            mean: ratio(times.sum().as_millis_f64(), all.len() as f64),
        }
    }
}

/// The queueing delay of packets, from their arrival to their first bit on the wire, in milliseconds: of those sent in the
/// measured window. Exact in the mean, within 1.6 % in the percentiles; `None` when no packet was sent.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QueueDelayMs {
    /// The mean.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "", "brief" = true)))]
    pub mean: Option<f64>,
    /// Of the mean, the sojourn time: in the queue discipline, from enqueue to dequeue.
    pub sojourn_mean: Option<f64>,
    /// Of the mean, what the device FIFO below the discipline adds, which no discipline controls.
    pub device_fifo_mean: Option<f64>,
    /// The 50th percentile, the median.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "p50")))]
    pub p50: Option<f64>,
    /// The 99th percentile.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "p99")))]
    pub p99: Option<f64>,
    /// The 99.9th percentile.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "p99.9")))]
    pub p999: Option<f64>,
}

impl QueueDelayMs {
    pub(crate) fn new(waits: &DelayHistogram) -> QueueDelayMs {
        let bins = waits.bins_ms();
        let count = waits.count() as f64;
        let (sojourn_ms, device_fifo_ms) = waits.parts_ms();
        QueueDelayMs {
            mean: ratio(waits.sum_ms(), count),
            sojourn_mean: ratio(sojourn_ms, count),
            device_fifo_mean: ratio(device_fifo_ms, count),
            p50: quantile(&bins, 0.5),
            p99: quantile(&bins, 0.99),
            p999: quantile(&bins, 0.999),
        }
    }
}

/// The bins in milliseconds of a histogram of microseconds.
pub(crate) fn bins_ms(histogram: &Histogram<u64>) -> Vec<Bin> {
    let bins = histogram.iter_recorded().map(|bin| Bin {
        low: histogram.lowest_equivalent(bin.value_iterated_to()) as f64 * 1e-3,
        high: (histogram.highest_equivalent(bin.value_iterated_to()) + 1) as f64 * 1e-3,
        count: bin.count_at_value(),
    });
    bins.collect()
}
