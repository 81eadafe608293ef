//! The part of the router that knows neither devices nor clocks: connections, packets in flight, and the emulated network.

use aqmlab_aqm::Ecn;
use aqmlab_sim::{EmulatedNetwork, End, KernelArrival, KernelDecision, Outcome, Sent};
use aqmlab_units::Time;
use aqmlab_workload::sources::Datagram;

use super::RouterConfig;
use super::event_queue::SideEvent;
use super::flows::{FlowEntry, FlowTable};
use crate::packet::datagram::Stamp;
use crate::packet::{self, Headers, PacketFlow};

/// The emulated network with the connections and packets of hosts.
pub(crate) struct Forwarding {
    pub(crate) network: EmulatedNetwork,
    flows: FlowTable,
    packets: PacketStore,
    config: RouterConfig,
    /// Packets of hosts that belong to no flow.
    pub(crate) strays: u64,
}

/// The packets in flight, by number.
#[derive(Debug, Default)]
struct PacketStore {
    bytes: Vec<Vec<u8>>,
    free: Vec<u32>,
}

impl PacketStore {
    fn insert(&mut self, packet: &[u8]) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.bytes.push(Vec::new());
            u32::try_from(self.bytes.len() - 1).expect("fewer than 2^32 packets on their way")
        });
        let place = &mut self.bytes[number as usize];
        place.clear();
        place.extend_from_slice(packet);
        number
    }

    /// Removes the packet of an outcome, and passes it to `deliver` if it has arrived.
    fn apply(&mut self, outcome: Outcome, deliver: &mut impl FnMut(&[u8], usize, Time)) {
        let number = match outcome {
            Outcome::Lost { number } => number,
            Outcome::Delivered { number, at, side, ce } => {
                let packet = &mut self.bytes[number as usize];
                if ce {
                    packet::set_ce(packet);
                }
                deliver(packet, side, at);
                number
            }
        };
        self.free.push(number);
    }
}

/// The flow of a packet, through which the network carries it.
enum PacketRoute {
    Connection(FlowEntry),
    Datagram(Stamp),
}

impl Forwarding {
    pub(crate) fn new(network: EmulatedNetwork, config: RouterConfig) -> Forwarding {
        Forwarding {
            network,
            flows: FlowTable::default(),
            packets: PacketStore::default(),
            config,
            strays: 0,
        }
    }

    /// Handles an event of a side.
    pub(crate) fn handle_event(&mut self, event: &SideEvent, now: Time) {
        match *event {
            SideEvent::Opening { browser, ref connection, offers } => {
                self.flows.open(browser, FlowEntry { route: self.network.open(connection), offers });
            }
            SideEvent::Closed { browser } => self.flows.close(browser, now),
            SideEvent::Completed { user, ref exchange, at } => self.network.completed(user, exchange, at),
            SideEvent::Aborted { at } => self.network.aborted(at),
            SideEvent::OpeningOfSource { end, ref connection, offers } => {
                let route = self.network.open_of_source(connection);
                self.flows.open(end, FlowEntry { route, offers });
            }
            SideEvent::Delivered { source, bytes, at } => self.network.delivered(source, bytes, at),
            SideEvent::Received { stamp, size, at } => {
                let Stamp { source, side, flow, sent_at } = stamp;
                self.network.received_datagram(
                    source,
                    &Datagram { at: sent_at, flow, side, size, tag: 0 },
                    at,
                );
            }
            SideEvent::CompletedOfSource { flow, ref exchange, at } => {
                self.network.completed_of_source(flow, exchange, at);
            }
            SideEvent::AbortedOfSource { source, at } => self.network.aborted_of_source(source, at),
            SideEvent::CommandEnded { at } => self.network.end_by(at),
            SideEvent::FlowState { ref reading, at } => {
                let state = reading.state(self.network.profile(reading.stack));
                self.network.record_flow(&state, at);
            }
        }
    }

    /// Closes the connections whose last packets have left the network.
    pub(crate) fn close_expired(&mut self, now: Time) {
        for route in self.flows.remove_expired(now) {
            self.network.close(route);
        }
    }

    /// Stores a packet in flight, and returns its number.
    pub(crate) fn store(&mut self, packet: &[u8]) -> u32 {
        self.packets.insert(packet)
    }

    /// Sends a packet with these headers into the network.
    pub(crate) fn forward(&mut self, headers: &Headers, number: u32, now: Time) {
        let packet_route = match (headers.flow, &self.config.program_rtt) {
            (PacketFlow::Browser(browser), _) => self.flows.find(browser).map(PacketRoute::Connection),
            (PacketFlow::Datagram(stamp), _) => Some(PacketRoute::Datagram(stamp)),
            (PacketFlow::Program(flow), Some(rtt)) => {
                let open = |number| self.network.open_program(rtt.min_rtt(number));
                let route = self.flows.program_route(flow, open);
                Some(PacketRoute::Connection(FlowEntry { route, offers: self.config.program_offers }))
            }
            (PacketFlow::Program(_), None) => None,
        };
        let Some(packet_route) = packet_route else {
            self.strays += 1;
            self.packets.free.push(number);
            return;
        };
        let packet = &mut self.packets.bytes[number as usize];
        if let PacketRoute::Connection(FlowEntry { offers, .. }) = &packet_route
            && let Some(most) = offers[usize::from(headers.from == End::Server)]
        {
            packet::bound_window(packet, headers, most);
        }
        if let Some(capture) = &self.config.capture {
            capture.show(number, packet);
        }
        let sent = Sent { number, size: headers.size, ecn: headers.ecn };
        match packet_route {
            PacketRoute::Connection(FlowEntry { route, .. }) => {
                self.network.send(route, headers.from, &sent, now);
            }
            PacketRoute::Datagram(Stamp { source, side, flow, sent_at }) => {
                let datagram = Datagram { at: sent_at, flow, side, size: headers.size, tag: 0 };
                self.network.send_datagram(source, &datagram, &sent, now);
            }
        }
    }

    /// Advances the network to `now`, and passes each packet that has arrived to `deliver`: its bytes, its side and the time
    /// of its arrival.
    pub(crate) fn advance(&mut self, now: Time, deliver: &mut impl FnMut(&[u8], usize, Time)) {
        let Forwarding { network, packets, .. } = self;
        network.advance(now, &mut |outcome| packets.apply(outcome, deliver));
    }

    /// Takes the next packet for a queue in the kernel: the queue, the packet's number, and its bytes.
    pub(crate) fn take_kernel_arrival(&mut self) -> Option<(usize, u32, &[u8])> {
        let KernelArrival { queue, number, ce } = self.network.take_kernel_arrival()?;
        let packet = &mut self.packets.bytes[number as usize];
        if ce {
            packet::set_ce(packet);
        }
        Some((queue, number, packet))
    }

    /// Replaces the bytes of packet `number`, which a discipline of the kernel may have changed. Returns its ECN field.
    pub(crate) fn replace(&mut self, number: u32, packet: &[u8]) -> Ecn {
        let bytes = &mut self.packets.bytes[number as usize];
        bytes.clear();
        bytes.extend_from_slice(packet);
        packet::ecn(packet)
    }

    /// Applies a decision of the kernel's discipline of `queue`. Returns the time until which the link takes no further packet, if it
    /// takes none now.
    pub(crate) fn decide(
        &mut self,
        queue: usize,
        (number, decision): (u32, KernelDecision),
        now: Time,
        deliver: &mut impl FnMut(&[u8], usize, Time),
    ) -> Option<Time> {
        let Forwarding { network, packets, .. } = self;
        network.decide(queue, (number, decision), now, &mut |outcome| packets.apply(outcome, deliver))
    }
}
