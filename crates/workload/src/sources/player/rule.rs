//! The rules by which players choose the version of a segment.

mod bola;
mod buffer_based;
mod dash;
mod estimate;
mod throughput;

use aqmlab_units::{Bytes, Duration};
use serde::{Deserialize, Serialize};

use self::bola::BolaO;
use self::dash::{Dynamic, SafeThroughput};
use self::estimate::Estimate;
use self::throughput::Throughputs;
use super::Video;

/// The rule by which a player chooses the rate of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum VideoRule {
    /// By throughput: the highest rate that is not above the harmonic mean of the throughputs of the last five segments.
    /// Source: rule RB of Yin, Jindal, Sekar and Sinopoli, "A control-theoretic approach for dynamic adaptive video
    /// streaming over HTTP", SIGCOMM 2015.
    Throughput,
    /// By the buffer: BBA-0 of Huang, Johari and others, "A buffer-based approach to rate adaptation",
    /// SIGCOMM 2014, algorithm 1. The reservoir is 90 s of a buffer of 240 s, and the highest rate is reached at 216 s.
    /// Other buffers have the same shares of the highest level at which a segment is requested, which is ours.
    BufferBased,
    /// By utility and buffer: BOLA-BASIC of Spiteri, Urgaonkar and Sitaraman, "BOLA: near-optimal bitrate adaptation for
    /// online videos", INFOCOM 2016, with logarithmic utilities, gamma p = 5, and V from the size of the buffer.
    #[default]
    Bola,
    /// BOLA-O of the same paper: BOLA, which rises at most to what the estimated throughput sustains, and pauses where the
    /// buffer is too full for that rate.
    BolaO,
    /// By throughput as in dash.js: 90 % of the throughput that `dash_throughput` estimates from all segments, and no more
    /// than a low buffer can wait for. Source: rule THROUGHPUT of Spiteri, Sitaraman and Sparacio, "From theory to practice:
    /// improving bitrate adaptation in the DASH reference player", Multimedia Systems 2018 and ACM TOMM 2019.
    DashThroughput,
    /// `dash_throughput` while the buffer is below 10 s, and `bola_o` above. Source: DYNAMIC of the same paper, the default
    /// of dash.js.
    Dynamic,
}

/// The choice of a rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Choice {
    /// The version of the next segment.
    pub(super) rung: usize,
    /// The time until it is requested, in seconds.
    pub(super) pause: f64,
}

impl Choice {
    fn at_once(rung: usize) -> Choice {
        Choice { rung, pause: 0.0 }
    }
}

/// The download of a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Download {
    pub(super) size: Bytes,
    /// From the request, or the opening of its connection, to the last byte.
    pub(super) response_time: Duration,
    /// From the request to the first byte.
    pub(super) latency: Duration,
    /// From the first byte to the last.
    pub(super) transfer_time: Duration,
}

/// The knowledge of a rule at a decision, in bits per second and seconds.
#[derive(Debug)]
struct Observed {
    rates: Vec<f64>,
    segment: f64,
    /// The most that the buffer holds.
    size: f64,
    /// The buffer's level.
    level: f64,
}

/// The memory of a rule: estimates from all downloads, and its last decisions.
#[derive(Clone, Debug, Default)]
pub(super) struct RuleState {
    throughputs: Throughputs,
    estimate: Estimate,
    bola_o: BolaO,
    safe_throughput: SafeThroughput,
    dynamic: Dynamic,
}

impl RuleState {
    /// Learn from a download.
    pub(super) fn add(&mut self, video: &Video, download: &Download) {
        self.throughputs.add(download.size, download.response_time);
        self.estimate.add(download, video.segment.as_secs_f64());
    }

    /// Choose the version of the next segment.
    pub(super) fn choose(&mut self, video: &Video, before: Option<usize>, buffer: Duration) -> Choice {
        let Some(before) = before else { return Choice::at_once(0) };
        let observed = Observed {
            rates: video.ladder.iter().map(|rate| rate.bits_per_sec() as f64).collect(),
            segment: video.segment.as_secs_f64(),
            size: video.buffer.as_secs_f64(),
            level: buffer.as_secs_f64(),
        };
        match video.rule {
            VideoRule::Throughput => Choice::at_once(self.throughputs.choose(&observed.rates)),
            VideoRule::BufferBased => {
                let (level, highest) = (buffer / video.segment, video.buffer / video.segment - 1.0);
                Choice::at_once(buffer_based::choose(&observed.rates, before, level / highest))
            }
            VideoRule::Bola => {
                let (level, size) = (buffer / video.segment, video.buffer / video.segment);
                Choice::at_once(bola::choose(&observed.rates, level, size))
            }
            VideoRule::BolaO => self.bola_o.choose(&observed, &self.estimate),
            VideoRule::DashThroughput => self.safe_throughput.choose(&observed, &self.estimate),
            VideoRule::Dynamic => {
                let bola = self.bola_o.choose(&observed, &self.estimate);
                let throughput = self.safe_throughput.choose(&observed, &self.estimate);
                self.dynamic.choose(observed.level, bola, throughput)
            }
        }
    }
}
