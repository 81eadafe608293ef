//! Why a queue has dropped a packet, told by which of its counters has risen.

use aqmlab_aqm::Counters;

use super::timeline::Cause;

/// The drops of one queue whose causes were asked for, by cause.
#[derive(Debug, Default)]
pub(super) struct Drops {
    told: [u64; 5],
}

impl Drops {
    /// Returns the cause of the next drop, after those of all earlier drops; none if the queue has dropped no more.
    /// `on_arrival`: the packet had just arrived.
    pub(super) fn cause(&mut self, counters: &Counters, on_arrival: bool) -> Option<Cause> {
        let at_entrance = [
            (Cause::Early, counters.dropped_early),
            (Cause::Forced, counters.dropped_forced),
            (Cause::Limit, counters.dropped_by_limit),
        ];
        let inside = [(Cause::AtDequeue, counters.dropped_at_dequeue), (Cause::Evicted, counters.evicted)];
        let (first, second) =
            if on_arrival { (&at_entrance[..], &inside[..]) } else { (&inside[..], &at_entrance[..]) };
        let (cause, _) =
            *first.iter().chain(second).find(|&&(cause, counted)| self.told[cause as usize] < counted)?;
        self.told[cause as usize] += 1;
        Some(cause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_drop_has_the_cause_that_was_counted_and_no_other() {
        let mut drops = Drops::default();
        let mut counters = Counters { dropped_by_limit: 1, dropped_at_dequeue: 1, ..Counters::default() };
        assert_eq!(drops.cause(&counters, false), Some(Cause::AtDequeue));
        assert_eq!(drops.cause(&counters, true), Some(Cause::Limit));
        assert_eq!(drops.cause(&counters, true), None);
        counters.dropped_early = 1;
        assert_eq!(drops.cause(&counters, true), Some(Cause::Early));
        counters.evicted = 1;
        assert_eq!(drops.cause(&counters, true), Some(Cause::Evicted));
    }
}
