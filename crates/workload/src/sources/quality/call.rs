//! The quality of calls: what each listener hears, rated by the E-model.

use std::collections::VecDeque;

use aqmlab_units::{Duration, Time};
use serde::Serialize;

use super::e_model::{self, EquipmentImpairment};
use super::jitter_buffer::{JitterBuffer, JitterBufferConfig};

/// One end of a call, as it hears the other.
#[derive(Clone, Debug)]
pub(crate) struct Listener {
    codec: EquipmentImpairment,
    /// From the voice to the packet: frame and look-ahead, in milliseconds.
    coding_ms: f64,
    buffer: JitterBuffer,
    /// Packets in order of sending, from the first one whose fate is unknown.
    pending: VecDeque<Pending>,
    heard: Heard,
    was_missing: bool,
}

/// A packet whose fate, or that of one before it, is unknown.
#[derive(Clone, Copy, Debug)]
struct Pending {
    sent_at: Time,
    is_measured: bool,
    fate: Fate,
}

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Unknown,
    Lost,
    /// Arrived after this delay.
    Arrived(Duration),
}

/// Totals of the packets sent in the measured window.
#[derive(Clone, Copy, Debug, Default)]
struct Heard {
    packets: u64,
    lost: u64,
    late: u64,
    /// Runs of packets that were lost or late.
    bursts: u64,
    /// The sum of the playout delays of those played, in milliseconds.
    playout_ms: f64,
}

impl Listener {
    /// Speech of `codec` in packets of a `frame`; coding takes the frame and the look-ahead.
    pub(crate) fn new(
        codec: EquipmentImpairment,
        [frame, look_ahead]: [Duration; 2],
        buffer: JitterBufferConfig,
    ) -> Listener {
        let coding = frame + look_ahead;
        Listener {
            codec,
            coding_ms: coding.as_millis_f64(),
            buffer: JitterBuffer::new(buffer, frame),
            pending: VecDeque::new(),
            heard: Heard::default(),
            was_missing: false,
        }
    }

    /// A packet is sent to the listener; packets are sent in order of time.
    pub(crate) fn sent(&mut self, sent_at: Time, is_measured: bool) {
        self.pending.push_back(Pending { sent_at, is_measured, fate: Fate::Unknown });
    }

    /// The fate of the packet that was sent at this time is known: its delay, or `None` if it is lost.
    pub(crate) fn decide(&mut self, sent_at: Time, delay: Option<Duration>) {
        let place = self.pending.partition_point(|packet| packet.sent_at < sent_at);
        // Of a packet that the network has copied, the first copy counts.
        if let Some(packet) = self.pending.get_mut(place)
            && packet.sent_at == sent_at
            && packet.fate == Fate::Unknown
        {
            packet.fate = delay.map_or(Fate::Lost, Fate::Arrived);
        }
        while let Some(&Pending { fate, is_measured, .. }) = self.pending.front() {
            match fate {
                Fate::Unknown => break,
                Fate::Lost => self.hear(None, is_measured),
                Fate::Arrived(delay) => self.hear(Some(delay), is_measured),
            }
            self.pending.pop_front();
        }
    }

    /// The next packet in order of sending is played or missing.
    fn hear(&mut self, delay: Option<Duration>, is_measured: bool) {
        let played = delay.and_then(|delay| self.buffer.play(delay.as_millis_f64()));
        let is_missing = played.is_none();
        if is_measured {
            let heard = &mut self.heard;
            heard.packets += 1;
            heard.lost += u64::from(delay.is_none());
            heard.late += u64::from(is_missing && delay.is_some());
            heard.bursts += u64::from(is_missing && !(self.was_missing && heard.bursts > 0));
            heard.playout_ms += played.unwrap_or(0.0);
        }
        self.was_missing = is_missing;
    }

    /// Return the rating of the call by this listener, if there was anything to hear.
    fn rating(&self) -> Option<Rating> {
        let Heard { packets, lost, late, bursts, playout_ms } = self.heard;
        let missing = lost + late;
        if packets == 0 {
            return None;
        }
        if missing == packets {
            return Some(Rating { r: 0.0, mouth_to_ear_ms: None });
        }
        let share = missing as f64 / packets as f64;
        // BurstR: the mean length of bursts, divided by that of independent losses, 1 / (1 - p).
        let burst_ratio = if bursts == 0 { 1.0 } else { missing as f64 / bursts as f64 * (1.0 - share) };
        let mouth_to_ear_ms = self.coding_ms + playout_ms / (packets - missing) as f64;
        let r = e_model::rating(self.codec, mouth_to_ear_ms, 100.0 * share, burst_ratio.max(1.0));
        Some(Rating { r: r.max(0.0), mouth_to_ear_ms: Some(mouth_to_ear_ms) })
    }
}

#[derive(Clone, Copy, Debug)]
struct Rating {
    r: f64,
    mouth_to_ear_ms: Option<f64>,
}

/// The quality of calls in the measured window, by the E-model (ITU-T G.107). Each end of a call is a listener.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallQuality {
    /// The mean of the listeners' estimated mean opinion scores, from 1 (bad) to 4.5.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "MOS", "unit" = "", "digits" = 2, "better" = "higher", "brief" = true)))]
    pub mos_mean: Option<f64>,
    /// Their 10th percentile.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "MOS p10", "unit" = "", "digits" = 2, "better" = "higher")))]
    pub mos_p10: Option<f64>,
    /// Their median.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "MOS p50", "unit" = "", "digits" = 2, "better" = "higher")))]
    pub mos_p50: Option<f64>,
    /// The lowest.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "MOS min", "unit" = "", "digits" = 2, "better" = "higher", "brief" = true)))]
    pub mos_min: Option<f64>,
    /// The mean of the listeners' transmission ratings R, from 0 to 93.2.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "R", "unit" = "", "digits" = 1, "better" = "higher", "brief" = true)))]
    pub r_mean: Option<f64>,
    /// The mean delay from mouth to ear in milliseconds: coding, network and jitter buffer.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "mouth to ear", "unit" = "ms", "better" = "lower", "brief" = true)))]
    pub mouth_to_ear_ms_mean: Option<f64>,
    /// Packets that arrived too late to be played, in per cent of those sent.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "discarded", "unit" = "%", "digits" = 2, "better" = "lower", "brief" = true)))]
    pub discarded_percent: Option<f64>,
    /// Packets that were not played, lost or discarded, in per cent of those sent.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "missing", "unit" = "%", "digits" = 2, "better" = "lower", "brief" = true)))]
    pub missing_percent: Option<f64>,
}

impl CallQuality {
    /// The quality that the ends of `calls` hear.
    pub(crate) fn new(calls: &[[Listener; 2]]) -> CallQuality {
        let listeners = calls.as_flattened();
        let ratings: Vec<Rating> = listeners.iter().filter_map(Listener::rating).collect();
        let mut scores: Vec<f64> =
            ratings.iter().map(|rating| e_model::mean_opinion_score(rating.r)).collect();
        scores.sort_by(f64::total_cmp);
        let total = |count: fn(&Heard) -> u64| listeners.iter().map(|one| count(&one.heard)).sum::<u64>();
        let (packets, lost, late) = (total(|it| it.packets), total(|it| it.lost), total(|it| it.late));
        let percent = |part: u64| (packets > 0).then(|| 100.0 * part as f64 / packets as f64);
        CallQuality {
            mos_mean: mean(scores.iter().copied()),
            mos_p10: nearest_rank(&scores, 10),
            mos_p50: nearest_rank(&scores, 50),
            mos_min: scores.first().copied(),
            r_mean: mean(ratings.iter().map(|rating| rating.r)),
            mouth_to_ear_ms_mean: mean(ratings.iter().filter_map(|rating| rating.mouth_to_ear_ms)),
            discarded_percent: percent(late),
            missing_percent: percent(lost + late),
        }
    }
}

fn mean(values: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let count = values.clone().count();
    (count > 0).then(|| values.sum::<f64>() / count as f64)
}

/// The smallest value that at least `percent` of the sorted `values` do not exceed.
fn nearest_rank(values: &[f64], percent: usize) -> Option<f64> {
    let rank = (percent * values.len()).div_ceil(100).max(1);
    values.get(rank - 1).copied()
}

#[cfg(test)]
mod tests;
