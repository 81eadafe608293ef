//! The statistics of tins, under the names of `tc -s qdisc`.

use aqmlab_units::Duration;

use super::options::Diffserv;

/// Declare the columns of tins with these prefixes.
macro_rules! columns {
    ($($prefix:literal)*) => {
        [$([
            concat!($prefix, "_thresh_mbps"),
            concat!($prefix, "_target_ms"),
            concat!($prefix, "_interval_ms"),
            concat!($prefix, "_quantum_bytes"),
            concat!($prefix, "_pk_delay_ms"),
            concat!($prefix, "_av_delay_ms"),
            concat!($prefix, "_sp_delay_ms"),
            concat!($prefix, "_backlog_bytes"),
            concat!($prefix, "_pkts"),
            concat!($prefix, "_bytes"),
            concat!($prefix, "_way_inds"),
            concat!($prefix, "_way_miss"),
            concat!($prefix, "_way_cols"),
            concat!($prefix, "_drops"),
            concat!($prefix, "_marks"),
            concat!($prefix, "_ack_drops"),
            concat!($prefix, "_sp_flows"),
            concat!($prefix, "_bk_flows"),
            concat!($prefix, "_un_flows"),
        ]),*]
    };
}

/// The number of columns of a tin.
pub(crate) const COLUMNS: usize = 19;

/// The columns of a tin.
pub(crate) type Columns = [&'static str; COLUMNS];

impl Diffserv {
    /// The columns of the tins, in the order in which `tc -s` shows them.
    pub(crate) fn columns(self) -> &'static [Columns] {
        match self {
            Diffserv::Besteffort => &columns!["best_effort"],
            Diffserv::Diffserv3 => &columns!["bulk" "best_effort" "voice"],
            Diffserv::Diffserv4 => &columns!["bulk" "best_effort" "video" "voice"],
            Diffserv::Diffserv8 | Diffserv::Precedence => {
                &columns!["tin_0" "tin_1" "tin_2" "tin_3" "tin_4" "tin_5" "tin_6" "tin_7"]
            }
        }
    }
}

/// Counts and averages of a tin.
#[derive(Clone, Debug, Default)]
pub(crate) struct TinStatistics {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    pub(crate) drops: u64,
    pub(crate) marks: u64,
    /// Acknowledgements that later ones have replaced.
    pub(crate) ack_drops: u64,
    /// Queues whose BLUE drops.
    pub(crate) unresponsive: u32,
    /// Moving averages of the sojourn time, in nanoseconds.
    pub(crate) average_delay: u64,
    pub(crate) peak_delay: u64,
    pub(crate) base_delay: u64,
}

/// Return a moving average after a sample with the weight 2^-`shift`.
pub(crate) fn moving_average(average: u64, sample: u64, shift: u32) -> u64 {
    average - (average >> shift) + (sample >> shift)
}

impl TinStatistics {
    /// A packet leaves after this sojourn time. The peak rises quickly, the base falls quickly.
    #[inline]
    pub(crate) fn record_delay(&mut self, sojourn: Duration) {
        let delay = sojourn.as_nanos();
        self.average_delay = moving_average(self.average_delay, delay, 8);
        self.peak_delay = moving_average(self.peak_delay, delay, if delay > self.peak_delay { 2 } else { 8 });
        self.base_delay = moving_average(self.base_delay, delay, if delay < self.base_delay { 2 } else { 8 });
    }
}
