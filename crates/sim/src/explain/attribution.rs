//! The attribution of a moment of an exchange: the time since the exchange began, by cause.

use aqmlab_units::{Duration, Time};

/// A part of the time of an exchange, by cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// SYN and SYN/ACK on their way.
    Handshake,
    /// Waiting for the timer of a SYN or SYN/ACK.
    SynTimeouts,
    /// The request on its way, and the first flight of the response.
    Request,
    /// Acknowledgements on their way, and the later flights that they let go.
    Window,
    /// Acknowledgements on their way that tell of a gap, what is sent again, and what is sent in fast recovery.
    Recovery,
    /// Waiting for the retransmission timer.
    DataTimeouts,
    /// Waiting whether a segment was only late before it is taken for lost.
    Reordering,
    /// Waiting for the timer of a tail-loss probe.
    Probes,
    /// Waiting for the congestion control's rate to let the next segment go.
    Pacing,
    /// Waiting for the timer of a held-back acknowledgement.
    DelayedAcks,
    /// Waiting in the link's queue and in the device below it.
    Queueing,
    /// Being sent by the link, bit by bit.
    Transmission,
    /// Waiting for the interface of the server's machine.
    Interface,
}

impl Part {
    /// Every part, in the order of its number.
    pub(crate) const ALL: [Part; 13] = [
        Part::Handshake,
        Part::SynTimeouts,
        Part::Request,
        Part::Window,
        Part::Recovery,
        Part::DataTimeouts,
        Part::Reordering,
        Part::Probes,
        Part::Pacing,
        Part::DelayedAcks,
        Part::Queueing,
        Part::Transmission,
        Part::Interface,
    ];

    /// The name of its column.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Part::Handshake => "handshake",
            Part::SynTimeouts => "syn_timeouts",
            Part::Request => "request_round_trip",
            Part::Window => "further_round_trips",
            Part::Recovery => "recovery",
            Part::DataTimeouts => "data_timeouts",
            Part::Reordering => "reordering",
            Part::Probes => "probes",
            Part::Pacing => "pacing",
            Part::DelayedAcks => "delayed_acks",
            Part::Queueing => "queueing",
            Part::Transmission => "transmission",
            Part::Interface => "interface",
        }
    }
}

/// The number of an exchange among those of its connection, and when it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Epoch {
    pub(crate) number: u32,
    pub(crate) start: Time,
}

/// A moment in the history of a connection, and what its exchange has spent its time on up to it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Attribution {
    epoch: Epoch,
    at: Time,
    parts: [Duration; Part::ALL.len()],
}

impl Attribution {
    /// The moment at which an exchange begins.
    pub(crate) fn nothing(epoch: Epoch) -> Attribution {
        Attribution { epoch, at: epoch.start, parts: Default::default() }
    }

    /// The moment.
    pub(crate) fn at(&self) -> Time {
        self.at
    }

    /// Does it belong to this exchange, and not to one before it?
    pub(crate) fn is_of(&self, epoch: Epoch) -> bool {
        self.epoch == epoch
    }

    /// The same moment as part of the exchange of `epoch`: what was before that exchange is none of its time.
    pub(crate) fn within(self, epoch: Epoch) -> Attribution {
        if self.is_of(epoch) { self } else { Attribution { at: self.at, ..Attribution::nothing(epoch) } }
    }

    /// A later moment: from this one to it, the time went to `part`.
    pub(crate) fn then(mut self, part: Part, until: Time) -> Attribution {
        debug_assert!(self.at <= until, "a cause comes before what it causes");
        let since = self.at.max(self.epoch.start);
        let spent = &mut self.parts[part as usize];
        *spent = *spent + until.saturating_since(since);
        self.at = until;
        self
    }

    /// Returns the time of `part`.
    pub(crate) fn part(&self, part: Part) -> Duration {
        self.parts[part as usize]
    }

    /// All parts together: the time since the exchange began.
    pub(crate) fn sum(&self) -> Duration {
        self.parts.iter().fold(Duration::ZERO, |sum, &part| sum + part)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    proptest! {
        #[test]
        fn the_parts_add_up_to_the_time_since_the_exchange_began(
            start in 0..5_000u64, steps in prop::collection::vec((0..Part::ALL.len(), 0..1_000u64), 1..20),
        ) {
            // The chain begins in the exchange before, which began at 0.
            let epoch = Epoch { number: 1, start: at(start) };
            let mut attribution = Attribution::nothing(Epoch::default()).within(epoch);
            let mut now = 0;
            for (part, step) in steps {
                now += step;
                attribution = attribution.then(Part::ALL[part], at(now));
                prop_assert_eq!(attribution.sum().as_nanos(), now.saturating_sub(start));
            }
        }
    }

    #[test]
    fn each_part_has_its_own_place_and_name() {
        let names: std::collections::BTreeSet<&str> = Part::ALL.iter().map(|part| part.name()).collect();
        assert_eq!(names.len(), Part::ALL.len());
        assert!(Part::ALL.iter().enumerate().all(|(place, &part)| part as usize == place));
    }
}
