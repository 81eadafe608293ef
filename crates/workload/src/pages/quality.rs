//! The quality of page loads, as users notice it.

use aqmlab_units::Duration;
use serde::Serialize;

use super::page::Version;

/// A page that has been loaded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PageLoad {
    /// From the start of the page to its last resource.
    pub duration: Duration,
    /// From the start of the page until the document and all that blocks rendering were there.
    pub first_render: Duration,
    /// The mean time of arrival of its bytes, each counted when its resource was complete, in seconds.
    pub byte_index_s: f64,
    /// Requests.
    pub requests: u32,
    /// Bytes of the responses.
    pub bytes: u64,
    /// The version of HTTP that its own origin speaks.
    pub version: Version,
    /// No resource was given up.
    pub is_complete: bool,
}

/// The pages loaded in the measured window.
#[derive(Clone, Debug, Default)]
pub struct PageLoads {
    loads: Vec<PageLoad>,
    incomplete: u64,
}

/// The experience of the users who load pages, in the measured window. Times are of pages of which no resource was given up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageQuality {
    /// Pages loaded.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "pages", "unit" = "pages", "digits" = 0, "better" = "higher", "brief" = true)))]
    pub pages: u64,
    /// Pages of which a resource was given up.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "incomplete", "unit" = "pages", "digits" = 0, "better" = "lower")))]
    pub incomplete_pages: u64,
    /// The page load time, from the start of a page to its last resource, in seconds: the median.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "page load", "unit" = "s", "better" = "lower", "brief" = true)))]
    pub load_s_p50: Option<f64>,
    /// Its 95th percentile.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "page load p95", "unit" = "s", "better" = "lower", "brief" = true)))]
    pub load_s_p95: Option<f64>,
    /// Its mean.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "page load mean", "unit" = "s", "better" = "lower")))]
    pub load_s_mean: Option<f64>,
    /// The time until the document and all that blocks rendering is there, in seconds: the median.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "first render", "unit" = "s", "better" = "lower", "brief" = true)))]
    pub first_render_s_p50: Option<f64>,
    /// Its 95th percentile.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "first render p95", "unit" = "s", "better" = "lower")))]
    pub first_render_s_p95: Option<f64>,
    /// The mean time of arrival of a page's bytes, the `ByteIndex`, in seconds: mean over the pages.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "byte index", "unit" = "s", "better" = "lower")))]
    pub byte_index_s_mean: Option<f64>,
    /// The median page load time of pages whose own origin speaks HTTP/1.1, in seconds.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "page load HTTP/1.1", "unit" = "s", "better" = "lower")))]
    pub http1_load_s_p50: Option<f64>,
    /// The same over HTTP/2.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "page load HTTP/2", "unit" = "s", "better" = "lower")))]
    pub http2_load_s_p50: Option<f64>,
    /// The same over HTTP/3.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "page load HTTP/3", "unit" = "s", "better" = "lower")))]
    pub http3_load_s_p50: Option<f64>,
    /// Requests of a page, in the mean.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "requests of a page", "unit" = "requests", "digits" = 1)))]
    pub requests_mean: Option<f64>,
    /// Megabytes of a page, in the mean.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "page weight", "unit" = "MB")))]
    pub weight_mb_mean: Option<f64>,
}

impl PageLoads {
    /// Add a page.
    pub fn add(&mut self, load: PageLoad) {
        if load.is_complete {
            self.loads.push(load);
        } else {
            self.incomplete += 1;
        }
    }

    /// Returns what users noticed.
    pub fn quality(&self) -> PageQuality {
        let times = |time: fn(&PageLoad) -> Duration, version: Option<Version>| {
            let wanted =
                self.loads.iter().filter(|load| version.is_none_or(|version| load.version == version));
            let mut times: Vec<f64> = wanted.map(|load| time(load).as_secs_f64()).collect();
            times.sort_by(f64::total_cmp);
            times
        };
        let (durations, renders) = (times(|load| load.duration, None), times(|load| load.first_render, None));
        let mean = |value: fn(&PageLoad) -> f64| {
            (!self.loads.is_empty())
                .then(|| self.loads.iter().map(value).sum::<f64>() / self.loads.len() as f64)
        };
        PageQuality {
            pages: self.loads.len() as u64,
            incomplete_pages: self.incomplete,
            load_s_p50: quantile(&durations, 0.5),
            load_s_p95: quantile(&durations, 0.95),
            load_s_mean: mean(|load| load.duration.as_secs_f64()),
            first_render_s_p50: quantile(&renders, 0.5),
            first_render_s_p95: quantile(&renders, 0.95),
            byte_index_s_mean: mean(|load| load.byte_index_s),
            http1_load_s_p50: quantile(&times(|load| load.duration, Some(Version::Http1)), 0.5),
            http2_load_s_p50: quantile(&times(|load| load.duration, Some(Version::Http2)), 0.5),
            http3_load_s_p50: quantile(&times(|load| load.duration, Some(Version::Http3)), 0.5),
            requests_mean: mean(|load| f64::from(load.requests)),
            weight_mb_mean: mean(|load| 1e-6 * load.bytes as f64),
        }
    }
}

/// The smallest value that at least a fraction `u` of the sorted `values` do not exceed.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a fraction of a length")]
fn quantile(values: &[f64], u: f64) -> Option<f64> {
    let rank = (u * values.len() as f64).ceil() as usize;
    values.get(rank.saturating_sub(1)).copied()
}
