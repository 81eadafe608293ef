//! Changes of the delay of a link, once or over and over: another path.

use aqmlab_units::range::{above, from};
#[cfg(feature = "schema")]
use aqmlab_units::schema::with_ranges;
use aqmlab_units::{Duration, Time, ranges};
use serde::{Deserialize, Serialize};

use super::impairments::{LONGEST, MOST_TIME};
use super::outages::{SHORTEST_PERIOD, latest};
use super::{LinkSpec, SpecError, at_most, fault, within};

/// From some time on a link has another delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = with_ranges::<DelayChange>))]
#[serde(deny_unknown_fields)]
pub struct DelayChange {
    /// The time since the start of the run; later than the change before.
    pub at: Duration,
    /// The propagation delay of packets that are sent from then on, until the next change.
    pub delay: Duration,
    /// The time from the change to its repetition, if it comes again and again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<Duration>,
}

ranges! {
    DelayChange {
        at: above(Duration::ZERO).up_to(MOST_TIME),
        delay: from(Duration::ZERO).up_to(LONGEST),
        every: from(SHORTEST_PERIOD).up_to(MOST_TIME),
    }
}

/// The most changes of one link's delay: one each second of the longest run.
const MOST_CHANGES: usize = 1_000_000;

/// The most changes that come again and again, each of which is asked for each packet; ours.
const MOST_REPEATED: usize = 1_000;

/// The delay of a link over time.
#[derive(Clone, Debug)]
pub(crate) struct Delays {
    /// The delay from each of these times on, in order from 0.
    once: Vec<(Time, Duration)>,
    /// Changes that come again and again.
    repeated: Vec<DelayChange>,
}

impl Delays {
    pub(super) fn new(link: &LinkSpec) -> Delays {
        let (repeated, once): (Vec<DelayChange>, Vec<DelayChange>) =
            link.delay_changes.iter().partition(|change| change.every.is_some());
        let later = once.into_iter().map(|change| (Time::ZERO + change.at, change.delay));
        Delays { once: std::iter::once((Time::ZERO, link.delay)).chain(later).collect(), repeated }
    }

    /// Returns true if the delay is not always the same.
    pub(super) fn vary(&self) -> bool {
        self.once.len() > 1 || !self.repeated.is_empty()
    }

    /// Returns the delay of a packet that departs at `time`: that of the latest change.
    pub(crate) fn at(&self, time: Time) -> Duration {
        let once = self.once[self.once.partition_point(|&(at, _)| at <= time) - 1];
        let repeated = self
            .repeated
            .iter()
            .filter_map(|change| latest(change.at, change.every, time).map(|at| (at, change.delay)));
        // Of several changes at one time the last of the list counts.
        let (_, delay) =
            std::iter::once(once).chain(repeated).max_by_key(|&(at, _)| at).expect("there is one");
        delay
    }
}

impl LinkSpec {
    /// Returns the shortest delay that it ever has.
    pub(crate) fn shortest_delay(&self) -> Duration {
        let later = self.delay_changes.iter().map(|change| change.delay);
        later.fold(self.delay, Duration::min)
    }

    pub(super) fn check_delay_changes(&self, path: &str) -> Result<(), SpecError> {
        at_most(path, self.delay_changes.len(), MOST_CHANGES)?;
        let repeated = self.delay_changes.iter().filter(|change| change.every.is_some()).count();
        if repeated > MOST_REPEATED {
            let message = format!("must have at most {MOST_REPEATED} entries with `every`, got {repeated}");
            return Err(fault(path, message));
        }
        let mut before = Duration::ZERO;
        for (number, change) in self.delay_changes.iter().enumerate() {
            let path = format!("{path}[{number}]");
            within(&path, change)?;
            if change.at <= before {
                let message = format!("must be after the change before, {before}, got {}", change.at);
                return Err(fault(&format!("{path}.at"), message));
            }
            before = change.at;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_delay_is_that_of_the_latest_change() {
        let link: LinkSpec = serde_json::from_value(json!({
            "delay": "1 ms",
            "delay_changes": [
                { "at": "2 s", "delay": "2 ms", "every": "10 s" },
                { "at": "5 s", "delay": "3 ms", "every": "10 s" },
                { "at": "13 s", "delay": "4 ms" },
            ],
        }))
        .expect("a link");
        let delays = Delays::new(&link);
        let at = |second: u64| delays.at(Time::from_nanos(second * 1_000_000_000)).as_nanos() / 1_000_000;
        let seconds = [0, 1, 2, 4, 5, 11, 12, 13, 14, 15, 21, 22, 25];
        assert_eq!(seconds.map(at), [1, 1, 2, 2, 3, 3, 2, 4, 4, 3, 3, 2, 3]);
    }
}
