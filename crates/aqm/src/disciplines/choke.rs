//! CHOKe: RED that limits greedy flows without state per flow.
//!
//! While the average queue is above `min_th`, each arriving packet is compared with one drawn at random from the
//! queue. If both belong to one flow, both are dropped; this happens more often to a flow that holds more of the
//! queue. Otherwise RED decides.
//!
//! Source: Pan, Prabhakar and Psounis, "CHOKe, a stateless active queue management scheme for approximating fair bandwidth
//! allocation", INFOCOM 2000: the basic scheme, with one drop candidate.
//!
//! Differs from Linux (`sch_choke.c`): the draw is uniform over the waiting packets; Linux tries three slots that
//! may be empty, and then takes the head. RED is this crate's, so its differences from the paper apply here too.
//! The paper does not mention ECN: as in Linux, a matched pair is always dropped, and RED's part marks, by
//! [`EcnAboveMax`]. [`Variant::Linux`] is Linux's discipline in every detail.

use aqmlab_units::{Bytes, Stream, Time};

use crate::parameter::parameters;
use crate::parts::linux::choke::LinuxChoke;
use crate::parts::linux::with_linux_values;
use crate::{
    Admission, Aqm, ByteScaling, DecidesAt, Departure, Discipline, EcnAboveMax, Fifo, Limit, LinkContext,
    Mode, Packet, ParameterError, Qdisc, QueueState, Red, RedConfig, Spacing, Variant, Verdict, Visitor,
    forward_qdisc,
};

parameters! {
    /// CHOKe's parameters. The defaults are those of the paper's simulations, at 1 Mbit/s with 33 flows.
    pub struct ChokeConfig {}
    /// The RED that decides if no pair matches.
    include red: RedConfig {
        /// The average up to which no packet is compared or signalled: some three packets per flow.
        min_th = 100.0, source "Pan et al. 2000";
        /// The average from which every packet is signalled.
        max_th = 200.0, source "Pan et al. 2000: twice min_th";
        /// Treatment of ECN-capable packets from `max_th` on: `drop_above_max` or `mark`; there is no gentle
        /// region.
        ecn_policy = EcnAboveMax::DropAboveMax, source "RFC 3168; Linux with harddrop";
        mode = Mode::Packet, source "Pan et al. 2000; Linux";
        /// The maximum that may wait.
        limit = Limit::Packets(300), source "Pan et al. 2000";
    }
    fixed gentle = false;
}

impl Discipline for ChokeConfig {
    const FAMILY: &'static str = "flows";
    const DECIDES_AT: DecidesAt = DecidesAt::Enqueue;
    const SUMMARY: &'static str =
        "RED that drops an arriving packet and a random waiting one if they belong to one flow";

    fn complete(&self, link: &LinkContext) -> Result<ChokeConfig, ParameterError> {
        let published = RedConfig { variant: Variant::Published, ..self.red.clone() };
        published.complete(link)?;
        self.red.check_linux(Bytes::new(1))?;
        with_linux_values(self, self.red.variant, |config| {
            config.red.spacing = Spacing::Uniform;
            config.red.mode = Mode::Packet;
            config.red.byte_scaling = ByteScaling::BeforeSpacing;
        })
    }

    fn visit<V: Visitor>(&self, link: &LinkContext, visitor: V) -> V::Output {
        match self.red.variant {
            Variant::Published => visitor.queue(|rng| Choke::new(self, link, rng)),
            Variant::Linux => visitor.queue(|rng| LinuxChoke::new(self, link, rng)),
        }
    }
}

/// RED without the update of its average, which CHOKe does before it compares.
#[derive(Clone, Debug)]
struct RedWithoutSample(Red);

impl Aqm for RedWithoutSample {
    fn on_enqueue(&mut self, pkt: &Packet, queue: QueueState, _now: Time) -> Verdict {
        self.0.judge(pkt, queue)
    }

    fn on_empty(&mut self, now: Time) {
        self.0.on_empty(now);
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.0.probe(out);
    }
}

/// The CHOKe queue.
#[derive(Clone, Debug)]
pub struct Choke<P> {
    min_th: f64,
    fifo: Fifo<RedWithoutSample, P>,
}

impl<P> Choke<P> {
    /// Return an empty queue. `config` must have passed [`ChokeConfig::resolve`].
    pub fn new(config: &ChokeConfig, link: &LinkContext, rng: Stream) -> Choke<P> {
        let red = Red::new(&config.red, link, rng);
        Choke { min_th: config.red.min_th, fifo: Fifo::new(RedWithoutSample(red), config.red.limit) }
    }

    /// Draw a waiting packet at random; return its index if it belongs to `flow`.
    fn draw_match(&mut self, flow: u32) -> Option<usize> {
        let waiting = u64::from(self.fifo.state().packets);
        if waiting == 0 {
            return None;
        }
        let drawn = self.fifo.law_mut().0.rng.below(waiting);
        let drawn = usize::try_from(drawn).expect("a place in the queue");
        (self.fifo.packet(drawn).flow == flow).then_some(drawn)
    }
}

impl<P> Qdisc<P> for Choke<P> {
    fn enqueue(&mut self, packet: Packet, payload: P, now: Time, lost: &mut dyn FnMut(P)) -> Admission {
        let queue = self.fifo.state();
        let avg = self.fifo.law_mut().0.sample(queue, now);
        if avg > self.min_th
            && let Some(index) = self.draw_match(packet.flow)
        {
            lost(self.fifo.evict(index, now));
            return self.fifo.refuse(&packet, payload, lost);
        }
        self.fifo.enqueue(packet, payload, now, lost)
    }

    fn dequeue(&mut self, now: Time, lost: &mut dyn FnMut(P)) -> Option<Departure<P>> {
        self.fifo.dequeue(now, lost)
    }

    forward_qdisc!(fifo);
}
