//! The router between the sides. It reads packets from one device, passes them through the emulated network, and writes those
//! that arrive to the other device.
//!
//! The time of a packet's arrival is the time of its read. All later decisions follow the network's own clock: a router that
//! wakes late delays departures, which is measured, but changes no decision about packets that it has read.

pub(crate) mod event_queue;
mod flows;
mod stats;

use std::os::fd::AsFd;
use std::sync::Arc;

use aqmlab_sim::{Capture, EmulatedNetwork, End, Outcome, Sent};
use aqmlab_units::{Duration, Stream, Time};
use aqmlab_workload::Web;
use aqmlab_workload::sources::Datagram;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;

use self::event_queue::{EventQueue, SideEvent};
use self::flows::{FlowEntry, FlowTable};
pub(crate) use self::stats::RouterStats;
use crate::error::{Context, Error};
use crate::machine::clock::{Clock, StopTime, std_duration};
use crate::mix::Offers;
use crate::network::device::Device;
use crate::packet::datagram::Stamp;
use crate::packet::{self, Headers, PacketFlow};

/// The configuration of the router.
#[derive(Debug)]
pub(crate) struct RouterConfig {
    /// The largest windows that programs may advertise.
    pub(crate) program_offers: Offers,
    /// The packet capture, if there is one.
    pub(crate) capture: Option<Capture>,
    /// The round-trip times of programs, if there are programs.
    pub(crate) program_rtt: Option<ProgramRtt>,
    /// The time at which the run ends early.
    pub(crate) stop_time: Arc<StopTime>,
}

/// Draws the round-trip time of each connection of programs by its number, from the distribution of users.
#[derive(Debug)]
pub(crate) struct ProgramRtt {
    pub(crate) web: Arc<Web>,
    pub(crate) seed: u64,
}

impl ProgramRtt {
    fn min_rtt(&self, number: usize) -> Duration {
        self.web.min_rtt(&mut Stream::named(self.seed, &format!("program/{number}")))
    }
}

/// The router of a run, with the emulated network.
pub(crate) struct Router {
    network: EmulatedNetwork,
    devices: [Box<dyn Device>; 2],
    event_queue: Arc<EventQueue>,
    /// The events that [`Router::handle_events`] has taken from the queue: empty between calls.
    events: Vec<SideEvent>,
    clock: Clock,
    flows: FlowTable,
    packets: PacketStore,
    config: RouterConfig,
    pub(crate) stats: RouterStats,
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
}

/// The flow of a packet, through which the network carries it.
enum PacketRoute {
    Connection(FlowEntry),
    Datagram(Stamp),
}

/// The most packets that are read from one device before due events are handled.
const BATCH: usize = 64;

impl Router {
    pub(crate) fn new(
        network: EmulatedNetwork,
        devices: [Box<dyn Device>; 2],
        event_queue: Arc<EventQueue>,
        clock: Clock,
        config: RouterConfig,
    ) -> Router {
        Router {
            network,
            devices,
            event_queue,
            events: Vec::new(),
            clock,
            flows: FlowTable::default(),
            packets: PacketStore::default(),
            config,
            stats: RouterStats::new(),
        }
    }

    /// Runs until `until`, or to the end of the run if it comes first.
    pub(crate) fn run_until(&mut self, until: Time) -> Result<(), Error> {
        let mut scratch = vec![0; 1 << 16];
        loop {
            if let Some(&at) = self.config.stop_time.get() {
                self.network.end_by(at);
            }
            let until = until.min(self.network.end());
            let mut arrived = Vec::new();
            let now = self.clock.now();
            for device in &mut self.devices {
                for _ in 0..BATCH {
                    let received =
                        device.receive(&mut scratch).context(|| "the router's device".to_owned())?;
                    let Some(length) = received else { break };
                    let packet = &scratch[..length];
                    match packet::read(packet) {
                        Some(headers) => arrived.push((headers, self.packets.insert(packet))),
                        None => self.stats.record_other(packet, &self.clock),
                    }
                }
            }
            // Events that were sent before these packets are in the queue by now: they must be handled first.
            self.handle_events(now);
            for (headers, number) in arrived {
                self.forward(&headers, number, now);
            }
            self.deliver(now.min(until))?;
            if now >= until {
                return Ok(());
            }
            self.wait(until)?;
        }
    }

    /// Handles the events of the sides.
    fn handle_events(&mut self, now: Time) {
        self.event_queue.take(&mut self.events);
        for event in self.events.drain(..) {
            match event {
                SideEvent::Opening { browser, connection, offers } => {
                    self.flows.open(browser, FlowEntry { route: self.network.open(&connection), offers });
                }
                SideEvent::Closed { browser } => self.flows.close(browser, now),
                SideEvent::Completed { user, exchange, at } => self.network.completed(user, &exchange, at),
                SideEvent::Aborted { at } => self.network.aborted(at),
                SideEvent::OpeningOfSource { end, connection, offers } => {
                    let route = self.network.open_of_source(&connection);
                    self.flows.open(end, FlowEntry { route, offers });
                }
                SideEvent::Delivered { source, bytes, at } => self.network.delivered(source, bytes, at),
                SideEvent::Received { stamp, size, at } => {
                    self.network.received_datagram(stamp.source, size, stamp.sent_at, at);
                }
                SideEvent::CompletedOfSource { flow, exchange, at } => {
                    self.network.completed_of_source(flow, &exchange, at);
                }
                SideEvent::AbortedOfSource { source, at } => self.network.aborted_of_source(source, at),
            }
        }
        for route in self.flows.remove_expired(now) {
            self.network.close(route);
        }
    }

    /// Handles and counts what is left at the end of the run.
    pub(crate) fn finish(&mut self, end: Time) -> Result<(), Error> {
        self.handle_events(end);
        for device in &mut self.devices {
            self.stats.unread += device.take_drops().context(|| "the router's device".to_owned())?;
        }
        Ok(())
    }

    fn forward(&mut self, headers: &Headers, number: u32, now: Time) {
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
            self.stats.strays += 1;
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
                let datagram = Datagram { at: sent_at, flow, side, size: headers.size };
                self.network.send_datagram(source, &datagram, &sent, now);
            }
        }
    }

    /// Advances the network to `now`, and writes the packets that have arrived to their devices.
    fn deliver(&mut self, now: Time) -> Result<(), Error> {
        let Router { network, devices, clock, packets, stats, .. } = self;
        let mut result = Ok(());
        network.advance(now, &mut |outcome| match outcome {
            Outcome::Lost { number } => packets.free.push(number),
            Outcome::Delivered { number, at, side, ce } => {
                let packet = &mut packets.bytes[number as usize];
                if ce {
                    packet::set_ce(packet);
                }
                match devices[side].deliver(packet) {
                    Ok(true) => {}
                    Ok(false) => stats.undelivered += 1,
                    Err(error) => result = Err(error),
                }
                let lateness = clock.now().saturating_since(at).as_nanos();
                stats.lateness_ns.record(lateness).expect("the histogram resizes itself");
                packets.free.push(number);
            }
        });
        result.context(|| "the router's device".to_owned())
    }

    /// Waits for a packet, or until the network's next event.
    fn wait(&self, until: Time) -> Result<(), Error> {
        let pause = self.network.next_event().min(until).saturating_since(self.clock.now());
        if pause == Duration::ZERO {
            return Ok(());
        }
        let [first, second] = &self.devices;
        let mut ready = [first, second].map(|device| PollFd::new(device.as_fd(), PollFlags::POLLIN));
        match ppoll(&mut ready, Some(TimeSpec::from(std_duration(pause))), None) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(error).context(|| "ppoll".to_owned()),
        }
    }

    /// Returns the emulated network.
    pub(crate) fn network(&mut self) -> &mut EmulatedNetwork {
        &mut self.network
    }
}
