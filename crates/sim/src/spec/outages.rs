//! Outages: spans in which a link is down, once or over and over.

use aqmlab_units::range::{above, from};
#[cfg(feature = "schema")]
use aqmlab_units::schema::with_ranges;
use aqmlab_units::{Duration, Time, ranges};
use serde::{Deserialize, Serialize};

use super::impairments::MOST_TIME;
use super::{LinkSpec, SpecError, at_most, fault, within};

/// A span in which a link is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Outage", transform = with_ranges::<OutageSpec>))]
#[serde(deny_unknown_fields)]
pub struct OutageSpec {
    /// The time since the start of the run at which it begins.
    pub at: Duration,
    /// The time that it lasts.
    pub lasts: Duration,
    /// The time from its beginning to that of the next one, if it comes again and again; longer than it lasts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<Duration>,
    /// The fate of packets meanwhile.
    #[serde(default)]
    pub packets: OutagePackets,
}

/// The fate of packets in an outage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum OutagePackets {
    /// They wait in the queue. A packet whose transmission has begun arrives.
    #[default]
    Wait,
    /// They are sent and lost.
    Lost,
}

ranges! {
    OutageSpec {
        at: from(Duration::ZERO).up_to(MOST_TIME),
        lasts: above(Duration::ZERO).up_to(MOST_TIME),
        every: from(SHORTEST_PERIOD).up_to(MOST_TIME),
    }
}

/// The shortest time to a repetition: a bound on the number of outages or changes of a run; ours.
pub(super) const SHORTEST_PERIOD: Duration = Duration::from_millis(10);

/// The most outages of one link that are written; ours.
const MOST_OUTAGES: usize = 1_000;

/// Returns the latest of the times `at`, and of its repetitions if it comes again `every` so long, up to `time`.
pub(super) fn latest(at: Duration, every: Option<Duration>, time: Time) -> Option<Time> {
    let first = Time::ZERO + at;
    if time < first {
        return None;
    }
    let Some(every) = every else { return Some(first) };
    let whole = (time - first).as_nanos() / every.as_nanos();
    Some(first + every * whole)
}

/// Outages with one fate of packets.
#[derive(Clone, Debug)]
pub(crate) struct Outages(Vec<OutageSpec>);

impl Outages {
    /// Those of `outages` with the fate `packets`.
    pub(super) fn new(outages: &[OutageSpec], packets: OutagePackets) -> Outages {
        Outages(outages.iter().copied().filter(|outage| outage.packets == packets).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the first time from `time` on at which the link is up.
    pub(crate) fn up_from(&self, mut time: Time) -> Time {
        while let Some(end) = self.0.iter().filter_map(|outage| outage.end(time)).max() {
            time = end;
        }
        time
    }

    /// Returns the beginning of the next outage after `time`, if there is one.
    fn next_after(&self, time: Time) -> Option<Time> {
        self.0.iter().filter_map(|outage| outage.next_after(time)).min()
    }

    /// Returns the spans from `start` to `end` in which the link is up.
    pub(super) fn spans_up(&self, start: Time, end: Time) -> impl Iterator<Item = (Time, Time)> {
        let mut from = start;
        std::iter::from_fn(move || {
            let begin = self.up_from(from);
            let until = self.next_after(begin).unwrap_or(Time::MAX).min(end);
            from = until;
            (begin < until).then_some((begin, until))
        })
    }
}

impl OutageSpec {
    /// Returns the beginning of the latest outage at `time`.
    fn latest(&self, time: Time) -> Option<Time> {
        latest(self.at, self.every, time)
    }

    /// Returns the end of the outage at `time`, if the link is down.
    fn end(&self, time: Time) -> Option<Time> {
        let end = self.latest(time)? + self.lasts;
        (time < end).then_some(end)
    }

    /// Returns the share of the time that it takes, if it comes again and again.
    fn share_down(&self) -> Option<f64> {
        self.every.map(|every| self.lasts.as_secs_f64() / every.as_secs_f64())
    }

    fn next_after(&self, time: Time) -> Option<Time> {
        match self.latest(time) {
            None => Some(Time::ZERO + self.at),
            Some(latest) => self.every.map(|every| latest + every),
        }
    }
}

impl LinkSpec {
    /// Returns the outages in which packets wait.
    pub(crate) fn waiting_outages(&self) -> Outages {
        Outages::new(&self.outages, OutagePackets::Wait)
    }

    pub(super) fn check_outages(&self, path: &str) -> Result<(), SpecError> {
        at_most(path, self.outages.len(), MOST_OUTAGES)?;
        for (number, outage) in self.outages.iter().enumerate() {
            let path = format!("{path}[{number}]");
            within(&path, outage)?;
            if let Some(every) = outage.every
                && every <= outage.lasts
            {
                let message = format!("must be longer than lasts = {}, got {every}", outage.lasts);
                return Err(fault(&format!("{path}.every"), message));
            }
        }
        let share_down: f64 = self.outages.iter().filter_map(OutageSpec::share_down).sum();
        // Below 1, overlapping outages always end.
        if share_down >= 1.0 {
            let message = format!(
                "must leave the link up: those with `every` last for {:.0} % of the time",
                100.0 * share_down
            );
            return Err(fault(path, message));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outage(at: u64, lasts: u64, every: Option<u64>) -> OutageSpec {
        let seconds = Duration::from_secs;
        OutageSpec {
            at: seconds(at),
            lasts: seconds(lasts),
            every: every.map(seconds),
            packets: OutagePackets::Wait,
        }
    }

    fn spans(outages: &[OutageSpec], end: u64) -> Vec<(f64, f64)> {
        let outages = Outages::new(outages, OutagePackets::Wait);
        let spans = outages.spans_up(Time::ZERO, Time::from_nanos(end * 1_000_000_000));
        spans.map(|(start, end)| (start.as_secs_f64(), end.as_secs_f64())).collect()
    }

    #[test]
    fn a_link_is_up_between_its_outages() {
        assert_eq!(spans(&[], 9), [(0.0, 9.0)]);
        assert_eq!(spans(&[outage(2, 3, None)], 9), [(0.0, 2.0), (5.0, 9.0)]);
        assert_eq!(spans(&[outage(1, 1, Some(4))], 8), [(0.0, 1.0), (2.0, 5.0), (6.0, 8.0)]);
    }

    #[test]
    fn outages_may_overlap_and_lie_at_the_ends() {
        assert_eq!(spans(&[outage(0, 2, None), outage(1, 3, None), outage(8, 9, None)], 9), [(4.0, 8.0)]);
        assert_eq!(spans(&[outage(0, 9, None)], 9), []);
    }
}
