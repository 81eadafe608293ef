//! CAKE before a link that is always free, with flows that always have data to send.

use std::collections::BTreeMap;

use aqmlab_aqm::{
    Departure, Ecn, FlowLabel, HostAddress, LinkContext, Packet, Qdisc, QueueConfig, TcpHeader,
};
use aqmlab_units::{BitRate, Bytes, Stream, Time};
use serde_json::{Map, Value};

/// Ethernet of 1 Gbit/s whose queue counts the header, as in Linux.
pub(crate) const LINK: LinkContext = LinkContext {
    rate: BitRate::from_mbit_per_sec(1000),
    header: Bytes::new(14),
    overhead: Bytes::new(24),
    peak: None,
};

/// A flow from host 1 to host 2.
pub(crate) const LABEL: FlowLabel = FlowLabel {
    dscp: 0,
    source: HostAddress { outer: 1, inner: 1 },
    destination: HostAddress { outer: 2, inner: 2 },
};

/// CAKE with these parameters.
pub(crate) fn cake(parameters: Value, seed: u64) -> Box<dyn Qdisc<usize> + Send> {
    let table = Map::from_iter([("cake".to_owned(), parameters)]);
    let config: QueueConfig = serde_json::from_value(Value::Object(table)).expect("parameters");
    config.resolve(&LINK).expect("possible parameters").queue(&LINK, Stream::named(seed, "queue"))
}

/// A queue and its time.
pub(crate) struct Rig {
    pub(crate) queue: Box<dyn Qdisc<usize> + Send>,
    pub(crate) now: Time,
    /// Bytes of each flow that have left.
    pub(crate) sent: BTreeMap<u32, u64>,
    arrived: usize,
}

impl Rig {
    pub(crate) fn new(parameters: Value) -> Rig {
        Rig { queue: cake(parameters, 1), now: Time::from_secs_f64(1.0), sent: BTreeMap::new(), arrived: 0 }
    }

    /// A packet of `size` bytes as the queue counts them arrives.
    pub(crate) fn arrive(&mut self, flow: u32, size: u64) {
        let packet = Packet { size: Bytes::new(size), ecn: Ecn::NotEct, flow };
        self.queue.enqueue(packet, self.arrived, self.now, &mut |_| ());
        self.arrived += 1;
    }

    /// A TCP segment with this header arrives.
    pub(crate) fn arrive_segment(&mut self, flow: u32, size: u64, header: &TcpHeader) {
        let packet = Packet { size: Bytes::new(size), ecn: Ecn::NotEct, flow };
        self.queue.enqueue_segment(packet, header, self.arrived, self.now, &mut |_| ());
        self.arrived += 1;
    }

    /// The next packet leaves, as soon as the shaper lets it.
    pub(crate) fn depart(&mut self) -> Option<Departure<usize>> {
        loop {
            if let Some(departure) = self.queue.dequeue(self.now, &mut |_| ()) {
                *self.sent.entry(departure.packet.flow).or_default() += departure.packet.size.get();
                return Some(departure);
            }
            self.now = self.queue.poll_timeout()?;
            self.queue.on_timeout(self.now);
        }
    }

    /// Send `packets` packets of flows that always have some of `size` bytes waiting.
    pub(crate) fn saturate(&mut self, flows: &[u32], size: u64, packets: u64) {
        for &flow in flows {
            (0..4).for_each(|_| self.arrive(flow, size));
        }
        for _ in 0..packets {
            let flow = self.depart().expect("packets wait").packet.flow;
            self.arrive(flow, size);
        }
    }

    /// True if a variable has this value.
    pub(crate) fn shows(&self, name: &str, value: f64) -> bool {
        (self.probe(name) - value).abs() < 1e-9
    }

    /// The value of a variable.
    pub(crate) fn probe(&self, name: &str) -> f64 {
        let mut value = None;
        self.queue.probe(&mut |shown, shown_value| {
            if shown == name {
                value = Some(shown_value);
            }
        });
        value.unwrap_or_else(|| panic!("no variable is called {name}"))
    }
}
