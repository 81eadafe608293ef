//! Both links against a plain one: departures worked out at arrival, or lazily, must be the departures that happen.

mod ahead;
mod cable;
mod cellular;
mod impairments;
mod kinds;
mod leo;
mod losses;
mod plain;
mod pon;
mod rates;
mod shaped;
mod theory;
mod traces;
mod wifi;

use aqmlab_aqm::{
    AdmissionControl, AredConfig, ByteScaling, DecidesAtEnqueue, DroptailConfig, EcnAboveMax, Fifo, Limit,
    Mode, PiConfig, Qdisc, QueueConfig, RedConfig, RemConfig, Spacing, Visitor, catalogue,
};
use aqmlab_tcp::{Flags, Segment, Seq};
use aqmlab_units::{BitRate, Prob, Stream};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use self::plain::PlainLink;
use super::*;
use crate::packet::HEADERS;
use crate::quantiles::Bin;

/// An event and its distance from the step before, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Step {
    after: u64,
    /// An arrival: bytes of data, and whether it is ECN-capable. `None`: a look at queue and law.
    arrival: Option<(u16, bool)>,
    /// The flow that it belongs to.
    flow: u32,
}

/// A packet at the far end: its number, whether it was marked, and when it came.
type Delivery = (u32, bool, Time);

/// Packet `number`; the number stands where a connection has its sequence numbers.
fn packet(number: u32, len: u16, is_ect: bool, flow: u32) -> Packet {
    let flags = if is_ect { Flags::ECT } else { Flags::NONE };
    Packet {
        to: EndpointId::from_number(flow),
        segment: Segment { seq: Seq::new(number), len, flags, ..Segment::default() },
    }
}

fn number_of(packet: &Packet) -> u32 {
    packet.segment.seq.get()
}

/// Traces that offer from half of what a link of 10 Mbit/s carries to two and a half times it. Half of them lie on a
/// grid of 40 us, on which there, with 38 bytes of overhead, every 50 bytes take one step: arrivals, departures and the
/// laws' timers meet in one instant.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let after = prop_oneof![
        12 => Just(0),
        24 => 0..900_000u64,
        // The link falls idle, and slow timers come due.
        1 => 0..60_000_000u64,
    ];
    let arrival = prop::option::weighted(0.8, (0u16..1461, any::<bool>()));
    let step = (after, arrival).prop_map(|(after, arrival)| Step { after, arrival, flow: 0 });
    let steps = prop::collection::vec(step, 1..600);
    (1..6u64, any::<bool>(), steps).prop_map(|(pace, on_grid, mut steps)| {
        for step in &mut steps {
            step.after /= pace;
            if on_grid {
                step.after -= step.after % 40_000;
                step.arrival = step.arrival.map(|(len, is_ect)| (len / 50 * 50 + 22, is_ect));
            }
        }
        steps
    })
}

fn mode() -> impl Strategy<Value = Mode> {
    prop_oneof![Just(Mode::Packet), Just(Mode::Byte)]
}

/// Laws so quick-tempered that a short trace sees all they do.
fn queue() -> impl Strategy<Value = QueueConfig> {
    let limit = Limit::Packets(25);
    let (min_th, max_th, w_q) = (2.0, 6.0, 0.2);
    let policy = prop_oneof![
        Just(EcnAboveMax::DropAboveMax),
        Just(EcnAboveMax::MarkInGentle),
        Just(EcnAboveMax::Mark)
    ];
    let spacing = prop_oneof![Just(Spacing::Uniform), Just(Spacing::Wait), Just(Spacing::Altq)];
    prop_oneof![
        (1..30u32).prop_map(|n| QueueConfig::Droptail(DroptailConfig {
            limit: Limit::Packets(n),
            ..DroptailConfig::default()
        })),
        (1..30_000u64).prop_map(|n| QueueConfig::Droptail(DroptailConfig {
            limit: Limit::Bytes(Bytes::new(n)),
            ..DroptailConfig::default()
        })),
        (mode(), policy, spacing, any::<bool>()).prop_map(move |(mode, ecn_policy, spacing, gentle)| {
            let byte_scaling = ByteScaling::AfterSpacing;
            let defaults = RedConfig::default();
            QueueConfig::Red(RedConfig {
                min_th,
                max_th,
                w_q,
                mode,
                ecn_policy,
                spacing,
                gentle,
                byte_scaling,
                limit,
                ..defaults
            })
        }),
        mode().prop_map(move |mode| {
            let interval = Duration::from_millis(20);
            let (min_th, max_th, w_q) = (Some(min_th), Some(max_th), Some(w_q));
            QueueConfig::Ared(AredConfig {
                min_th,
                max_th,
                w_q,
                interval,
                max_p: Prob::clamped(0.2),
                red: RedConfig { mode, limit, ..AredConfig::default().red },
                ..AredConfig::default()
            })
        }),
        mode().prop_map(move |mode| {
            QueueConfig::Pi(PiConfig { q_ref: 3.0, a: 0.03, b: 0.025, mode, limit, ..PiConfig::default() })
        }),
        mode().prop_map(move |mode| {
            QueueConfig::Rem(RemConfig {
                q_ref: 3.0,
                gamma: 0.1,
                phi: 1.1,
                mode,
                limit,
                ..RemConfig::default()
            })
        }),
    ]
}

fn wire() -> impl Strategy<Value = Wire> {
    // With 40 ms dozens of packets are on their way at once.
    let delay = prop_oneof![Just(0), Just(500), Just(40_000)].prop_map(Duration::from_micros);
    let device_fifo = prop_oneof![Just(0), Just(1), Just(5), Just(64)];
    let header = prop_oneof![Just(0), Just(14)];
    (delay, device_fifo, header).prop_map(|(delay, device_fifo, header)| Wire {
        context: LinkContext {
            rate: BitRate::from_mbit_per_sec(10),
            header: Bytes::new(header),
            overhead: Bytes::new(38 - header),
            peak: None,
        },
        delay,
        device_fifo,
        owners: 0,
    })
}

/// The values that `show` shows, to the bit.
fn probe(show: impl FnOnce(&mut dyn FnMut(&'static str, f64))) -> Vec<(&'static str, u64)> {
    let mut values = Vec::new();
    show(&mut |name, value| values.push((name, value.to_bits())));
    values
}

/// Returns the meter of the only link.
fn meter(link: &impl Link) -> &dyn Meter {
    link.meter(0).expect("there is a link")
}

/// Returns the number of packets sent, the sums of their delays in queue and device, and the bins of the delays.
fn all_waits(waits: &DelayHistogram) -> (u64, (f64, f64), Vec<Bin>) {
    (waits.count(), waits.parts_ms(), waits.bins_ms())
}

/// A link and the plain one over the same steps.
fn compare(
    mut link: impl Link,
    mut plain: PlainLink<impl Qdisc<Packet>>,
    steps: &[Step],
    delay: Duration,
) -> Result<(), TestCaseError> {
    let mut delivered: Vec<Delivery> = Vec::new();
    let mut lost: Vec<u32> = Vec::new();
    let mut now = Time::ZERO;
    for (number, step) in (0..).zip(steps) {
        now += Duration::from_nanos(step.after);
        deliver_until(&mut link, now, &mut delivered);
        if let Some((len, is_ect)) = step.arrival {
            let packet = packet(number, len, is_ect, step.flow);
            link.arrive(&packet, now);
            plain.arrive(packet, now);
        } else {
            link.advance(now);
            plain.advance(now);
            prop_assert_eq!(meter(&link).state(), plain.queue.state());
            prop_assert_eq!(probe(|out| meter(&link).probe(out)), probe(|out| plain.queue.probe(out)));
        }
        while let Some(packet) = link.pop_drop() {
            lost.push(number_of(&packet));
        }
        let LinkCounters { queue, sent, sent_bytes, held, .. } = meter(&link).counters();
        prop_assert_eq!(queue, plain.queue.counters());
        prop_assert_eq!((sent, sent_bytes, held), plain.sent_and_held());
        prop_assert_eq!(queue.offered, sent + queue.dropped() + held);
    }
    link.advance(now);
    plain.advance(now);
    prop_assert_eq!(all_waits(&meter(&link).delays().all()), all_waits(&plain.delays), "with packets inside");
    deliver_until(&mut link, Time::MAX, &mut delivered);
    prop_assert_eq!(meter(&link).inside(), 0);
    plain.advance(now + Duration::from_secs(60) + delay);
    link.advance(now + Duration::from_secs(60) + delay);
    while let Some(packet) = link.pop_drop() {
        lost.push(number_of(&packet));
    }
    prop_assert_eq!(all_waits(&meter(&link).delays().all()), all_waits(&plain.delays));
    lost.sort_unstable();
    plain.lost.sort_unstable();
    prop_assert_eq!(&delivered, &plain.delivered);
    prop_assert_eq!(&lost, &plain.lost);
    Ok(())
}

/// The computed link, where it applies, and the queued one.
struct Compare<'a> {
    wire: Wire,
    steps: &'a [Step],
}

impl Visitor for Compare<'_> {
    type Payload = Packet;
    type Output = Result<(), TestCaseError>;

    fn law<A: DecidesAtEnqueue + Send + 'static>(
        self,
        limit: Limit,
        make: impl Fn(Stream) -> A,
    ) -> Self::Output {
        let stream = || Stream::named(1, "queue/0");
        let plain = || PlainLink::new(Fifo::new(make(stream()), limit), self.wire.clone());
        let computed = Computed::new(AdmissionControl::new(make(stream()), limit), &self.wire);
        compare(computed, plain(), self.steps, self.wire.delay)?;
        let capacity = kinds::constant_kind(&self.wire.context, self.steps.len());
        let queued = Queued::with_capacity(Fifo::new(make(stream()), limit), &self.wire, capacity);
        compare(Boxed::new(queued), plain(), self.steps, self.wire.delay)?;
        let queued = Queued::new(Fifo::new(make(stream()), limit), &self.wire);
        compare(Boxed::new(queued), plain(), self.steps, self.wire.delay)
    }

    fn queue<Q: Qdisc<Packet> + Send + 'static>(self, make: impl Fn(Stream) -> Q) -> Self::Output {
        let queue = || make(Stream::named(1, "queue/0"));
        let plain = || PlainLink::new(queue(), self.wire.clone());
        let capacity = kinds::constant_kind(&self.wire.context, self.steps.len());
        let queued = Queued::with_capacity(queue(), &self.wire, capacity);
        compare(Boxed::new(queued), plain(), self.steps, self.wire.delay)?;
        let lossless = impairments::neutral(Queued::new(queue(), &self.wire), self.wire.delay);
        compare(lossless, plain(), self.steps, self.wire.delay)?;
        let queued = Queued::new(queue(), &self.wire);
        compare(Boxed::new(queued), plain(), self.steps, self.wire.delay)
    }
}

/// As the engine does it: what reaches the far end by `now` comes before what happens at `now`.
fn deliver_until(link: &mut impl Link, now: Time, delivered: &mut Vec<Delivery>) {
    while link.next_delivery() <= now && link.next_delivery() < Time::MAX {
        let at = link.next_delivery();
        if link.forward_to_next_hop() == Forwarding::Forwarded {
            continue;
        }
        let segment = link.deliver().segment;
        delivered.push((segment.seq.get(), segment.flags.contains(Flags::CE), at));
    }
}

/// Every discipline at its defaults, with little room.
fn any_discipline() -> impl Strategy<Value = QueueConfig> {
    let names: Vec<&str> = catalogue().iter().map(|entry| entry.name).collect();
    prop::sample::select(names).prop_map(|name| {
        let text = format!(r#"{{"{name}": {{"limit": "25 packets"}}}}"#);
        serde_json::from_str(&text).expect("every discipline has a limit")
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn departures_computed_at_arrival_are_the_actual_departures(
        queue in queue(), wire in wire(), steps in steps(),
    ) {
        let resolved = queue.resolve(&wire.context).expect("a valid law");
        resolved.visit(&{ wire.context }, Compare { wire, steps: &steps })?;
    }

    #[test]
    fn departures_followed_lazily_are_the_departures_that_happen(
        queue in any_discipline(), wire in wire(), flows in 1u32..6, mut steps in steps(),
    ) {
        for (step, flow) in steps.iter_mut().zip((0..flows).cycle()) {
            step.flow = flow;
        }
        let resolved = queue.resolve(&wire.context).expect("a valid discipline");
        resolved.visit(&{ wire.context }, Compare { wire, steps: &steps })?;
    }

    /// Lindley's recursion, to the nanosecond: no packet waits at an idle link.
    #[test]
    fn sending_begins_at_arrival_or_when_the_packet_before_is_sent(
        kbit in 1_000u64..10_000_000, delay_us in 0u64..100_000, steps in steps(),
    ) {
        let rate = BitRate::from_bits_per_sec(kbit * 1_000).expect("above zero");
        let context = LinkContext { rate, header: Bytes::ZERO, overhead: Bytes::new(38), peak: None };
        let wire = Wire { context, delay: Duration::from_micros(delay_us), device_fifo: 3, owners: 0 };
        let mut link = Computed::new(AdmissionControl::new(aqmlab_aqm::Droptail, Limit::Packets(10_000)), &wire);
        let (mut now, mut delivered, mut arrivals) = (Time::ZERO, Vec::new(), Vec::new());
        for (number, step) in (0..).zip(&steps) {
            now += Duration::from_nanos(step.after);
            let len = step.arrival.map_or(0, |(len, _)| len);
            arrivals.push((now, rate.time_to_send(Bytes::new(HEADERS + u64::from(len)) + context.overhead)));
            link.arrive(&packet(number, len, false, 0), now);
        }
        deliver_until(&mut link, Time::MAX, &mut delivered);
        let mut before = Time::ZERO;
        for ((number, _, at), (arrived, sending)) in delivered.into_iter().zip(arrivals) {
            let exact = arrived.max(before) + sending;
            let departed = Time::ZERO + (at - (Time::ZERO + wire.delay));
            prop_assert!(departed.as_nanos().abs_diff(exact.as_nanos()) <= 1, "packet {number}: {departed}, not {exact}");
            before = departed;
        }
    }
}
