//! Costs of each discipline of the catalogue: nanoseconds per packet and bytes of state, as JSON.
//!
//! `cargo run --release -p aqmlab-aqm --features serde --example cost`; `make cost` makes a page of it. With `--
//! NAME N` it passes N packets through one queue and prints nothing, for a tool that counts its instructions. A
//! discipline in the catalogue appears without a change here.

use std::alloc::{GlobalAlloc, Layout, System};
use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use aqmlab_aqm::{
    DecidesAtEnqueue, Ecn, Fifo, Limit, LinkContext, Packet, Qdisc, QueueConfig, Visitor, catalogue,
};
use aqmlab_units::{BitRate, Bytes, Duration, Stream, Time};
use serde_json::json;

/// A link of 100 Mbit/s with Ethernet's overhead.
const LINK: LinkContext = LinkContext {
    rate: BitRate::from_mbit_per_sec(100),
    header: Bytes::ZERO,
    overhead: Bytes::new(38),
    peak: None,
};
/// Packets that arrive in one measurement of time.
const ARRIVALS: usize = 200_000;
/// Measurements of time; the fastest counts, because other load of the machine can only add time.
const REPEATS: usize = 25;
/// Flows of the workload.
const FLOWS: u32 = 256;
/// State is measured with 2^0, 2^1, ... and at most 2^12 packets waiting.
const POWERS: usize = 13;

fn main() -> Result<(), Box<dyn Error>> {
    let arrivals = workload();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [name, packets] = &arguments[..] {
        ns_per_packet(&config(name)?, &arrivals[..packets.parse()?]);
        return Ok(());
    }
    let mut costs = Vec::new();
    for entry in catalogue() {
        costs.push((entry.name, config(entry.name)?, f64::INFINITY));
    }
    // In turns, so that a busy moment of the machine does not affect one discipline alone.
    for _ in 0..REPEATS {
        for (_, config, fastest) in &mut costs {
            *fastest = ns_per_packet(config, &arrivals).min(*fastest);
        }
    }
    let rows: Vec<_> = costs
        .iter()
        .map(|(name, config, ns_per_packet)| {
            let state = State::measure(config);
            json!({
                "name": name,
                "ns_per_packet": ns_per_packet,
                "bytes_empty": state.empty,
                "bytes_per_packet": state.per_packet,
                "bytes_per_flow": state.per_flow,
                "packets": state.packets,
            })
        })
        .collect();
    println!("{}", serde_json::to_string_pretty(&rows)?);
    Ok(())
}

/// The discipline of this name with its defaults.
fn config(name: &str) -> Result<QueueConfig, Box<dyn Error>> {
    let config: QueueConfig = serde_json::from_value(json!({ name: {} }))?;
    Ok(config.resolve(&LINK)?)
}

/// A packet and its arrival time.
struct Arrival {
    at: Time,
    packet: Packet,
}

/// Random packets of 256 flows, in alternating half seconds at 90 % and 110 % of the link's rate. Every second
/// packet is a full one, the others have 40 to 1,500 bytes; every second flow is ECN-capable.
fn workload() -> Vec<Arrival> {
    let mut rng = Stream::named(1, "cost");
    let mut at = Time::ZERO;
    let packet = |rng: &mut Stream| {
        let size = if rng.below(2) == 0 { 1500 } else { 40 + rng.below(1461) };
        #[expect(clippy::cast_possible_truncation, reason = "below a u32")]
        let flow = rng.below(u64::from(FLOWS)) as u32;
        let ecn = if flow.is_multiple_of(2) { Ecn::Ect0 } else { Ecn::NotEct };
        Packet { size: Bytes::new(size), ecn, flow }
    };
    (0..ARRIVALS)
        .map(|_| {
            let arrival = Arrival { at, packet: packet(&mut rng) };
            let load = if at.as_secs_f64().fract() < 0.5 { 0.9 } else { 1.1 };
            let mean = send_time(arrival.packet.size).as_secs_f64() / load;
            at += Duration::from_secs_f64(-libm::log(1.0 - rng.uniform()) * mean);
            arrival
        })
        .collect()
}

fn send_time(size: Bytes) -> Duration {
    LINK.rate.time_to_send(size + LINK.overhead)
}

/// The time to enqueue, judge, and dequeue or drop a packet, including the timeouts in between.
#[expect(clippy::disallowed_methods, reason = "what is measured here is the time that code takes")]
fn ns_per_packet(config: &QueueConfig, arrivals: &[Arrival]) -> f64 {
    let mut queue = config.visit(&LINK, Empty);
    let start = Instant::now();
    carry(&mut *queue, arrivals);
    start.elapsed().as_secs_f64() * 1e9 / arrivals.len() as f64
}

/// Makes a queue whose packets have no payload.
struct Empty;

impl Visitor for Empty {
    type Payload = ();
    type Output = Box<dyn Qdisc<()>>;

    fn law<A: DecidesAtEnqueue + Send + 'static>(
        self,
        limit: Limit,
        make: impl Fn(Stream) -> A,
    ) -> Self::Output {
        self.queue(|stream| Fifo::new(make(stream), limit))
    }

    fn queue<Q: Qdisc<()> + Send + 'static>(self, make: impl Fn(Stream) -> Q) -> Self::Output {
        Box::new(make(Stream::named(1, "queue/0")))
    }
}

/// Pass the packets through the queue and the link behind it.
fn carry(queue: &mut dyn Qdisc<()>, arrivals: &[Arrival]) {
    let mut free_at = Time::ZERO;
    for arrival in arrivals {
        while free_at <= arrival.at {
            time_out(queue, free_at);
            match queue.dequeue(free_at, &mut |()| ()) {
                Some(departure) => free_at += send_time(departure.packet.size),
                None => break,
            }
        }
        free_at = free_at.max(arrival.at);
        time_out(queue, arrival.at);
        queue.enqueue(arrival.packet, (), arrival.at, &mut |()| ());
    }
}

fn time_out(queue: &mut dyn Qdisc<()>, now: Time) {
    while let Some(at) = queue.poll_timeout().filter(|at| *at <= now) {
        queue.on_timeout(at);
    }
}

/// Bytes of heap that a queue uses, without its packets' payloads.
struct State {
    /// Without packets.
    empty: usize,
    /// The number of waiting packets for the next two values.
    packets: usize,
    /// For each waiting packet.
    per_packet: f64,
    /// For each flow beyond the first that has packets waiting.
    per_flow: f64,
}

impl State {
    fn measure(config: &QueueConfig) -> State {
        let (empty, one_flow) = fill(config, |_| 0);
        let (_, a_flow_each) = fill(config, |packet| packet);
        // Tables double as they grow: at a power of two they are full.
        let both = one_flow.len().min(a_flow_each.len()) - 1;
        let packets = 1_usize << both;
        let more = |bytes: usize, than: usize, of: usize| (bytes as f64 - than as f64) / of as f64;
        State {
            empty,
            packets,
            per_packet: more(one_flow[both], empty, packets),
            per_flow: more(a_flow_each[both], one_flow[both], (packets - 1).max(1)),
        }
    }
}

/// Fill a queue at one time with packets of the flows that `flow` returns. Returns the bytes used when empty, and
/// those at each power of two of waiting packets.
fn fill(config: &QueueConfig, flow: impl Fn(u32) -> u32) -> (usize, Vec<usize>) {
    let before = HELD.load(Ordering::Relaxed);
    let held = || HELD.load(Ordering::Relaxed) - before;
    let mut queue = config.visit(&LINK, Empty);
    let empty = held();
    let mut at_powers = Vec::with_capacity(POWERS);
    let own = held() - empty;
    for packet in 0..20_000 {
        let packet = Packet { size: Bytes::new(500), ecn: Ecn::Ect0, flow: flow(packet) };
        queue.enqueue(packet, (), Time::ZERO, &mut |()| ());
        if queue.state().packets == 1 << at_powers.len() && at_powers.len() < POWERS {
            at_powers.push(held() - own);
        }
    }
    (empty, at_powers)
}

/// The system's allocator with a counter.
struct Counting;

/// Bytes on the heap.
static HELD: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[expect(
    unsafe_code,
    reason = "only an allocator can count the memory of a discipline; this one forwards every call"
)]
// SAFETY: the system's allocator does the work, with the arguments of this one.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above; every block came from the system's allocator.
        unsafe { System.dealloc(pointer, layout) };
    }
}
