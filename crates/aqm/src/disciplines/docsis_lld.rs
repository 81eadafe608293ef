//! Low-latency DOCSIS: a low-latency queue beside a Classic one, with queue protection.
//!
//! Packets with ECT(1), CE or the code point of non-queue-building traffic go to the low-latency queue, which marks by a
//! ramp of its delay and by the coupled probability of DOCSIS-PIE, the law of the Classic queue. Queue protection
//! ejects packets of flows that build the low-latency queue; the Classic queue gets them. A weighted round robin
//! divides the link.
//!
//! Source: CM-SP-MULPIv3.1, annexes M, N and O, as `docsis-ns3` describes them; RFC 9957.
//!
//! Differs from them: no packet waits for a grant, so that the delay of the low-latency queue is that of its bytes, as
//! downstream. The delay of the Classic queue takes the bytes that have left the other one in the last interval.

use std::collections::{BTreeSet, VecDeque};

use aqmlab_units::{BitRate, Bytes, Duration, Stream, Time};

use crate::parameter::{HOUR, PACKET_SIZE, above, from, parameters, up_to};
use crate::parts::dual::queue_protection::{Arriving, LG_NANOS, QueueProtection, Thresholds};
use crate::parts::dual::scheduler::Lane;
use crate::parts::dual::weighted_drr::WeightedDrr;
use crate::{
    Admission, AdmissionControl, Aqm, Counters, DecidesAt, Departure, Discipline, DocsisPie, DocsisPieConfig,
    Ecn, EcnUse, FlowLabel, LinkContext, Packet, ParameterError, Qdisc, QueueState, Settings, Visitor,
};

/// The highest threshold of the ramp.
const HIGHEST_TH: Duration = Duration::from_micros(65_535);

/// Bits a second of the rate for each byte of the default buffer, which takes 10 ms.
const BITS_PER_BUFFER_BYTE: u64 = 800;

/// Frames in the least default buffer.
const LEAST_FRAMES: u64 = 20;

parameters! {
    /// The parameters of low-latency DOCSIS. The rate of the link is the Maximum Sustained Traffic Rate of both queues.
    pub struct DocsisLldConfig {
        /// `MAXTH`, the delay from which on all packets are marked, unless two frames take longer than the ramp begins.
        max_th: Duration = Duration::from_micros(1000), in above(Duration::ZERO).up_to(HIGHEST_TH), source "CM-SP-MULPIv3.1, annex N";
        /// `LG_RANGE`, the binary logarithm of the ramp in nanoseconds.
        lg_range: u32 = 19, in from(1).up_to(25), unit "1", source "CM-SP-MULPIv3.1, annex N";
        /// `MAX_FRAME_SIZE`, of which two bound the ramp from below.
        max_frame: Bytes = Bytes::new(2000), in PACKET_SIZE, source "CM-SP-MULPIv3.1, annex N";
        /// The coupling factor: low-latency packets are marked with this times the root of the drop probability.
        coupling_factor: f64 = 2.0, in from(0.0).up_to(25.5), unit "1", source "CM-SP-MULPIv3.1, C.2.2.9.17";
        /// The share of the low-latency queue while both have packets.
        weight: u32 = 230, in from(1).up_to(255), unit "of 256", source "CM-SP-MULPIv3.1, C.2.2.9.17";
        /// The bytes of a round of the two queues.
        quantum: Bytes = Bytes::new(1500), in from(Bytes::new(256)).up_to(Bytes::new(1_000_000)), source "docsis-ns3";
        /// The code point of non-queue-building traffic.
        nqb_dscp: u32 = 45, in up_to(63), unit "code point", source "RFC 9956: NQB";
        /// The maximum that may wait in the low-latency queue; automatic: 10 ms, but 20 frames at least.
        ll_buffer: Option<Bytes> = None, in above(Bytes::ZERO).up_to(Bytes::new(1_000_000_000_000)), source "CM-SP-MULPIv3.1, C.2.2.7.11.4";
        /// Eject packets of flows that build the low-latency queue.
        qprotect: bool = true, source "RFC 9957, section 4.1: QPROTECT_ON";
        /// `CRITICALqL`, the delay above which packets are ejected; automatic: the end of the ramp.
        critical_ql: Option<Duration> = None, in up_to(HOUR), source "RFC 9957, section 4.1";
        /// `CRITICALqLSCORE`, the score of a flow above which its packets are ejected at that delay.
        critical_ql_score: Duration = Duration::from_micros(4000), in up_to(HOUR), source "RFC 9957, section 4.1";
        /// `LG_AGING`, the binary logarithm of the bytes a second at which a score drains.
        lg_aging: u32 = 19, in from(1).up_to(LG_NANOS), unit "1", source "RFC 9957, section 4.1";
    }
    /// The law of the Classic queue.
    include classic: DocsisPieConfig {}
    fixed peak_rate = None::<BitRate>;
    fixed burst = None::<Bytes>;
}

impl Discipline for DocsisLldConfig {
    const FAMILY: &'static str = "L4S";
    const DECIDES_AT: DecidesAt = DecidesAt::Enqueue;
    const ECN: EcnUse = EcnUse::Requires;
    const SUMMARY: &'static str =
        "A low-latency queue of cable modems, coupled with DOCSIS-PIE and protected";
    const CLASSES: &'static [&'static str] = &["Low latency", "Classic"];

    fn complete(&self, link: &LinkContext) -> Result<DocsisLldConfig, ParameterError> {
        let limit = self.classic.complete(&LinkContext { peak: None, ..*link })?.limit;
        let least = LEAST_FRAMES * self.max_frame.get();
        let buffer = Bytes::new((link.rate.bits_per_sec() / BITS_PER_BUFFER_BYTE).max(least));
        Ok(DocsisLldConfig {
            ll_buffer: Some(self.ll_buffer.unwrap_or(buffer)),
            critical_ql: Some(self.critical_ql.unwrap_or(self.ramp(link).1)),
            classic: DocsisPieConfig { limit, ..self.classic.clone() },
            ..self.clone()
        })
    }

    fn visit<V: Visitor>(&self, link: &LinkContext, visitor: V) -> V::Output {
        visitor.queue(|rng| DocsisLld::new(self, link, rng))
    }
}

impl DocsisLldConfig {
    /// The delays at which the ramp begins and ends.
    fn ramp(&self, link: &LinkContext) -> (Duration, Duration) {
        let range = Duration::from_nanos(1 << self.lg_range);
        // FLOOR: two frames take so long on a slow link that they are no queue.
        let floor = link.rate.time_to_send(Bytes::new(2 * self.max_frame.get())).min(HIGHEST_TH);
        let start = Duration::from_nanos(self.max_th.as_nanos().saturating_sub(range.as_nanos()));
        // MINTH = max(MAXTH - RANGE, FLOOR); MAXTH = MINTH + RANGE
        let min_th = start.max(floor);
        (min_th, (min_th + range).min(HIGHEST_TH))
    }
}

/// The two queues of low-latency DOCSIS.
#[derive(Clone, Debug)]
pub struct DocsisLld<P> {
    config: DocsisLldConfig,
    link: LinkContext,
    min_th: Duration,
    max_th: Duration,
    ll_buffer: Bytes,
    /// The law, the limit and the packets of the Classic queue; the counts of both.
    control: AdmissionControl<DocsisPie>,
    classic: VecDeque<Departure<P>>,
    classic_state: QueueState,
    low_latency: VecDeque<Departure<P>>,
    ll_state: QueueState,
    round: WeightedDrr,
    protection: QueueProtection,
    /// Flows with the code point of non-queue-building traffic.
    nqb_flows: BTreeSet<u32>,
    /// The sum of probabilities of which each whole one marks a packet.
    count: f64,
    prob_native: f64,
    /// Bytes on the wire that left the low-latency queue since the last update.
    interval_bytes_l: u64,
    sanctioned: QueueState,
    next_update: Time,
}

impl<P> DocsisLld<P> {
    /// Return empty queues. `config` must have passed [`DocsisLldConfig::resolve`].
    pub fn new(config: &DocsisLldConfig, link: &LinkContext, mut rng: Stream) -> DocsisLld<P> {
        let complete = "a resolved configuration is complete";
        let link = LinkContext { peak: None, ..*link };
        let (min_th, max_th) = config.ramp(&link);
        let thresholds = Thresholds {
            critical_ql: config.critical_ql.expect(complete),
            critical_ql_score: config.critical_ql_score,
            lg_aging: config.lg_aging,
        };
        let protection = QueueProtection::new(thresholds, rng.next_u64());
        let classic = config.classic.complete(&link).expect(complete);
        DocsisLld {
            link,
            min_th,
            max_th,
            ll_buffer: config.ll_buffer.expect(complete),
            control: AdmissionControl::new(DocsisPie::new(&classic, &link, rng), classic.limit()),
            classic: VecDeque::new(),
            classic_state: QueueState::default(),
            low_latency: VecDeque::new(),
            ll_state: QueueState::default(),
            round: WeightedDrr::new(config.weight, config.quantum),
            protection,
            nqb_flows: BTreeSet::new(),
            count: 0.0,
            prob_native: 0.0,
            interval_bytes_l: 0,
            sanctioned: QueueState::default(),
            next_update: Time::ZERO + config.classic.interval,
            config: config.clone(),
        }
    }

    /// The bytes of a queue on the wire.
    fn on_wire(&self, queue: QueueState) -> u64 {
        queue.bytes.get() + self.link.overhead.get() * u64::from(queue.packets)
    }

    /// The probability of the low-latency queue's own AQM at this delay.
    fn calc_prob_native(&self, qdelay: Duration) -> f64 {
        if qdelay >= self.max_th {
            return 1.0;
        }
        let above = qdelay.as_nanos().saturating_sub(self.min_th.as_nanos());
        if above == 0 {
            // On a link of some kbit/s the ramp may have no length.
            return 0.0;
        }
        above as f64 / (self.max_th.as_nanos() - self.min_th.as_nanos()) as f64
    }

    /// `probCL`, the coupled probability.
    fn prob_cl(&self) -> f64 {
        (self.config.coupling_factor * self.control.law.drop_prob().sqrt()).min(1.0)
    }

    /// True if a packet with this probability is marked.
    fn recur(&mut self, likelihood: f64) -> bool {
        self.count += likelihood;
        let exceeds = self.count > 1.0;
        self.count -= f64::from(u8::from(exceeds));
        exceeds
    }

    /// The delay of the Classic queue, in seconds: what the other queue takes of the link is not its.
    fn qdelay_coupled_c(&self) -> f64 {
        let rate = self.link.rate.bits_per_sec() as f64;
        let share = f64::from(self.config.weight) / 256.0 * rate;
        let used = 8.0 * self.interval_bytes_l as f64 / self.config.classic.interval.as_secs_f64();
        8.0 * self.on_wire(self.classic_state) as f64 / (rate - share.min(used))
    }

    fn enqueue_classic(
        &mut self,
        packet: Packet,
        payload: P,
        now: Time,
        lost: &mut dyn FnMut(P),
    ) -> Admission {
        let admission = self.control.admit(&packet, self.classic_state, now);
        if !admission.is_queued() {
            lost(payload);
            return admission;
        }
        add(&mut self.classic_state, packet.size);
        self.classic.push_back(Departure { packet, payload, enqueued_at: now });
        admission
    }
}

fn add(queue: &mut QueueState, size: Bytes) {
    queue.packets += 1;
    queue.bytes += size;
}

impl<P> Qdisc<P> for DocsisLld<P> {
    fn enqueue(&mut self, mut packet: Packet, payload: P, now: Time, lost: &mut dyn FnMut(P)) -> Admission {
        if self.class_of(&packet) == Lane::Classic as u8 {
            return self.enqueue_classic(packet, payload, now, lost);
        }
        let mut with_it = self.ll_state;
        add(&mut with_it, packet.size);
        let qdelay = self.link.rate.time_to_send(Bytes::new(self.on_wire(with_it)));
        self.prob_native = self.calc_prob_native(qdelay);
        // probL = max(probNative, min(probCL, 1))
        let is_marked = self.recur(self.prob_native.max(self.prob_cl())) && packet.ecn.is_capable();
        if is_marked {
            packet.ecn = Ecn::Ce;
        }
        let Packet { size, flow, .. } = packet;
        let arriving = Arriving { flow, size, prob_native: self.prob_native, qdelay };
        if self.config.qprotect && self.protection.sanctions(arriving, now) {
            add(&mut self.sanctioned, size);
            let admission = self.enqueue_classic(packet, payload, now, lost);
            if is_marked && admission.is_queued() {
                self.control.counters.marked += 1;
                return Admission::Marked;
            }
            return admission;
        }
        let has_room = self.on_wire(self.ll_state) + self.config.max_frame.get() < self.ll_buffer.get();
        let admission = match (has_room, is_marked) {
            (false, _) => Admission::DroppedByLimit,
            (true, true) => Admission::Marked,
            (true, false) => Admission::Queued,
        };
        self.control.counters.count(admission, size);
        if has_room {
            self.ll_state = with_it;
            self.low_latency.push_back(Departure { packet, payload, enqueued_at: now });
        } else {
            lost(payload);
        }
        admission
    }

    fn dequeue(&mut self, now: Time, _lost: &mut dyn FnMut(P)) -> Option<Departure<P>> {
        let size =
            |queue: &VecDeque<Departure<P>>| queue.front().map(|head| head.packet.size + self.link.overhead);
        let lane = self.round.serve(size(&self.low_latency), size(&self.classic))?;
        let (queue, state) = match lane {
            Lane::L4s => (&mut self.low_latency, &mut self.ll_state),
            Lane::Classic => (&mut self.classic, &mut self.classic_state),
        };
        let head = queue.pop_front().expect("the round chose a queue that has packets");
        state.packets -= 1;
        state.bytes = state.bytes - head.packet.size;
        if lane == Lane::L4s {
            self.interval_bytes_l += (head.packet.size + self.link.overhead).get();
        } else {
            self.control.law.on_dequeue(&head.packet, head.enqueued_at, self.classic_state, now);
        }
        Some(head)
    }

    fn state(&self) -> QueueState {
        QueueState {
            packets: self.classic_state.packets + self.ll_state.packets,
            bytes: self.classic_state.bytes + self.ll_state.bytes,
        }
    }

    fn counters(&self) -> Counters {
        self.control.counters
    }

    fn poll_timeout(&self) -> Option<Time> {
        Some(self.next_update)
    }

    fn on_timeout(&mut self, now: Time) {
        if now >= self.next_update {
            self.next_update += self.config.classic.interval;
            let qdelay = self.qdelay_coupled_c();
            self.control.law.update(qdelay);
            self.interval_bytes_l = 0;
        }
    }

    fn label_flow(&mut self, flow: u32, label: FlowLabel) -> FlowLabel {
        if u32::from(label.dscp) == self.config.nqb_dscp {
            self.nqb_flows.insert(flow);
        }
        label
    }

    fn classes(&self) -> &'static [&'static str] {
        DocsisLldConfig::CLASSES
    }

    fn class_of(&self, packet: &Packet) -> u8 {
        let is_low_latency =
            matches!(packet.ecn, Ecn::Ect1 | Ecn::Ce) || self.nqb_flows.contains(&packet.flow);
        if is_low_latency { Lane::L4s as u8 } else { Lane::Classic as u8 }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.control.law.probe(out);
        out("p_cl", self.prob_cl());
        out("prob_native", self.prob_native);
        out("ll_packets", f64::from(self.ll_state.packets));
        out("classic_packets", f64::from(self.classic_state.packets));
        out("sanctioned_packets", f64::from(self.sanctioned.packets));
        out("sanctioned_bytes", self.sanctioned.bytes.as_f64());
    }
}
