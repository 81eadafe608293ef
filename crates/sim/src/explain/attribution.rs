//! The attribution of a moment of a wait: the time since the wait began, by cause.

use std::sync::Arc;

use aqmlab_units::{Duration, Time};

/// A part of the time of a wait, by cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// SYN and SYN/ACK on their way, and the handshake of QUIC.
    Handshake,
    /// Waiting for the timer of a SYN or SYN/ACK.
    SynTimeouts,
    /// The handshake of TLS over TCP on its way: the first flights of both ends.
    TlsHandshake,
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
    /// Waiting while an application pauses before it writes.
    Application,
}

impl Part {
    /// Every part, in the order of its number.
    pub(crate) const ALL: [Part; 15] = [
        Part::Handshake,
        Part::SynTimeouts,
        Part::TlsHandshake,
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
        Part::Application,
    ];

    /// The name of its column.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Part::Handshake => "handshake",
            Part::SynTimeouts => "syn_timeouts",
            Part::TlsHandshake => "tls_handshake",
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
            Part::Application => "application",
        }
    }
}

/// The number of a wait, and when it began: of an exchange among those of its connection, or of a page among those of its
/// user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Epoch {
    pub(crate) number: u32,
    pub(crate) start: Time,
}

/// The time of a stretch of a wait, by part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts([Duration; Part::ALL.len()]);

impl Parts {
    /// Returns the time of `part`.
    pub(crate) fn of(&self, part: Part) -> Duration {
        self.0[part as usize]
    }

    /// All parts together.
    pub(crate) fn sum(&self) -> Duration {
        self.0.iter().fold(Duration::ZERO, |sum, &part| sum + part)
    }
}

/// A moment in the history of a connection, and what its wait has spent its time on up to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attribution {
    epoch: Epoch,
    at: Time,
    /// The last of the steps that lead from the begin of the wait to the moment, without a gap.
    last: Option<Arc<Step>>,
}

/// A stretch of time that went to one part. Events that share a history share its steps.
#[derive(Debug)]
struct Step {
    part: Part,
    from: Time,
    until: Time,
    before: Option<Arc<Step>>,
}

impl Drop for Step {
    /// One by one: a long history would overflow the stack.
    fn drop(&mut self) {
        let mut before = self.before.take();
        while let Some(mut step) = before.and_then(Arc::into_inner) {
            before = step.before.take();
        }
    }
}

impl Attribution {
    /// The moment at which a wait begins.
    pub(crate) fn nothing(epoch: Epoch) -> Attribution {
        Attribution { epoch, at: epoch.start, last: None }
    }

    /// The moment.
    pub(crate) fn at(&self) -> Time {
        self.at
    }

    /// Does it belong to this wait, and not to one before it?
    pub(crate) fn is_of(&self, epoch: Epoch) -> bool {
        self.epoch == epoch
    }

    /// The same moment as part of the wait of `epoch`: what was before that wait is none of its time.
    pub(crate) fn within(self, epoch: Epoch) -> Attribution {
        if self.is_of(epoch) { self } else { Attribution { at: self.at, ..Attribution::nothing(epoch) } }
    }

    /// A later moment: from this one to it, the time went to `part`.
    pub(crate) fn then(mut self, part: Part, until: Time) -> Attribution {
        debug_assert!(self.at <= until, "a cause comes before what it causes");
        let from = self.at.max(self.epoch.start);
        if from < until {
            self.last = Some(Arc::new(Step { part, from, until, before: self.last }));
        }
        self.at = until;
        self
    }

    /// The time from `since`, which is not before the begin of the wait, up to the moment.
    pub(crate) fn parts_since(&self, since: Time) -> Parts {
        let mut parts = Parts::default();
        let mut step = self.last.as_deref();
        while let Some(Step { part, from, until, before }) = step.filter(|step| step.until > since) {
            let spent = &mut parts.0[*part as usize];
            *spent = *spent + (*until - since.max(*from));
            step = before.as_deref();
        }
        parts
    }

    /// The time since the wait began.
    pub(crate) fn parts(&self) -> Parts {
        self.parts_since(self.epoch.start)
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
                prop_assert_eq!(attribution.parts().sum().as_nanos(), now.saturating_sub(start));
            }
            // Of a later stretch, the parts are those that the whole has more than what was before.
            let later = at(start.midpoint(now.max(start)));
            prop_assert_eq!(attribution.parts_since(later).sum(), at(now).saturating_since(later));
        }
    }

    #[test]
    fn a_stretch_has_the_parts_between_its_ends() {
        let epoch = Epoch { number: 1, start: at(100) };
        let begin = Attribution::nothing(epoch);
        let history =
            begin.then(Part::Handshake, at(150)).then(Part::Queueing, at(170)).then(Part::Window, at(200));
        let parts = history.parts_since(at(160));
        let times = [Part::Handshake, Part::Queueing, Part::Window].map(|part| parts.of(part).as_nanos());
        assert_eq!(times, [0, 10, 30]);
    }

    #[test]
    fn a_long_history_ends_without_overflowing_the_stack() {
        let begin = Attribution::nothing(Epoch::default());
        let long = (1..1_000_000).fold(begin, |history, now| history.then(Part::Window, at(now)));
        assert_eq!(long.parts().of(Part::Window).as_nanos(), 999_999);
    }

    #[test]
    fn each_part_has_its_own_place_and_name() {
        let names: std::collections::BTreeSet<&str> = Part::ALL.iter().map(|part| part.name()).collect();
        assert_eq!(names.len(), Part::ALL.len());
        assert!(Part::ALL.iter().enumerate().all(|(place, &part)| part as usize == place));
    }
}
