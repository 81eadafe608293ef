//! A law of any kind that decides when a packet arrives, behind a table of functions: so that links of the less frequent
//! capacities are compiled once for all laws.

use aqmlab_aqm::{Aqm, DecidesAtEnqueue, Limit, Packet, Qdisc, QueueState, Verdict, Visitor};
use aqmlab_units::{Stream, Time};

/// Any such law.
pub(crate) struct AnyLaw(Box<dyn Aqm + Send>);

impl AnyLaw {
    /// Returns the visitor that makes the law of a discipline with this random stream, and the limit of its queue; `None` for a
    /// discipline that decides when a packet leaves.
    pub(crate) fn maker(stream: Stream) -> impl Visitor<Output = Option<(AnyLaw, Limit)>> {
        Maker { stream }
    }
}

struct Maker {
    stream: Stream,
}

impl Visitor for Maker {
    type Payload = usize;
    type Output = Option<(AnyLaw, Limit)>;

    fn law<A: DecidesAtEnqueue + Send + 'static>(
        self,
        limit: Limit,
        make: impl Fn(Stream) -> A,
    ) -> Option<(AnyLaw, Limit)> {
        Some((AnyLaw(Box::new(make(self.stream))), limit))
    }

    fn queue<Q: Qdisc<usize> + Send + 'static>(self, _make: impl Fn(Stream) -> Q) -> Option<(AnyLaw, Limit)> {
        None
    }
}

impl DecidesAtEnqueue for AnyLaw {
    const USES_ON_EMPTY: bool = true;
}

impl Aqm for AnyLaw {
    fn on_enqueue(&mut self, packet: &Packet, queue: QueueState, now: Time) -> Verdict {
        self.0.on_enqueue(packet, queue, now)
    }

    fn on_overflow(&mut self, packet: &Packet, queue: QueueState, now: Time) {
        self.0.on_overflow(packet, queue, now);
    }

    fn on_empty(&mut self, now: Time) {
        self.0.on_empty(now);
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.0.poll_timeout()
    }

    fn on_timeout(&mut self, queue: QueueState, now: Time) {
        self.0.on_timeout(queue, now);
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.0.probe(out);
    }
}
