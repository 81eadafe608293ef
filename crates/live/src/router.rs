//! The router between the sides: what it reads from one device it writes to the other when the network says so.
//!
//! A packet has come when the router reads it. From there on all happens in the network's own time: that the router wakes late
//! delays what leaves it, which is measured, and changes no verdict on what it has read.

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
use self::flows::{Known, KnownFlows};
pub(crate) use self::stats::RouterStats;
use crate::error::{Context, Error};
use crate::machine::clock::{Clock, StopTime, std_duration};
use crate::mix::Offers;
use crate::network::device::Device;
use crate::packet::datagram::Stamp;
use crate::packet::{self, PacketFlow, Seen};

/// The router's part of a run's configuration.
#[derive(Debug)]
pub(crate) struct RouterConfig {
    /// The windows that programs may offer.
    pub(crate) offers_of_programs: Offers,
    /// The capture that sees the packets, if there is one.
    pub(crate) capture: Option<Capture>,
    /// The round trip of each connection of programs, by its number.
    pub(crate) program_rtt: Option<ProgramRtt>,
    /// The time at which the run ends early.
    pub(crate) ending: Arc<StopTime>,
}

/// The round trips of programs' connections, drawn as those of users are, each by its number.
#[derive(Debug)]
pub(crate) struct ProgramRtt {
    pub(crate) web: Arc<Web>,
    pub(crate) seed: u64,
}

impl ProgramRtt {
    fn of(&self, number: usize) -> Duration {
        self.web.min_rtt(&mut Stream::named(self.seed, &format!("program/{number}")))
    }
}

/// The router of a run.
pub(crate) struct Router {
    network: EmulatedNetwork,
    devices: [Box<dyn Device>; 2],
    board: Arc<EventQueue>,
    /// The events that were taken from it: empty outside [`Router::hear`].
    heard: Vec<SideEvent>,
    clock: Clock,
    flows: KnownFlows,
    packets: KeptPackets,
    orders: RouterConfig,
    pub(crate) seen: RouterStats,
}

/// Packets on their way, by number.
#[derive(Debug, Default)]
struct KeptPackets {
    bytes: Vec<Vec<u8>>,
    free: Vec<u32>,
}

impl KeptPackets {
    fn keep(&mut self, packet: &[u8]) -> u32 {
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

/// The next step of a packet.
enum PacketRoute {
    Connection(Known),
    Datagram(Stamp),
}

/// The most packets read from one device before what is due is done.
const BATCH: usize = 64;

impl Router {
    pub(crate) fn new(
        network: EmulatedNetwork,
        devices: [Box<dyn Device>; 2],
        board: Arc<EventQueue>,
        clock: Clock,
        orders: RouterConfig,
    ) -> Router {
        Router {
            network,
            devices,
            board,
            heard: Vec::new(),
            clock,
            flows: KnownFlows::default(),
            packets: KeptPackets::default(),
            orders,
            seen: RouterStats::new(),
        }
    }

    /// Go on until `until`, or to the end if that comes first.
    pub(crate) fn run_until(&mut self, until: Time) -> Result<(), Error> {
        let mut scratch = vec![0; 1 << 16];
        loop {
            if let Some(&at) = self.orders.ending.get() {
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
                        Some(seen) => arrived.push((seen, self.packets.keep(packet))),
                        None => self.seen.other(packet, &self.clock),
                    }
                }
            }
            // What was told before a packet was sent is here by now.
            self.hear(now);
            for (seen, number) in arrived {
                self.forward(&seen, number, now);
            }
            self.deliver(now.min(until))?;
            if now >= until {
                return Ok(());
            }
            self.wait(until)?;
        }
    }

    /// Hear what the sides have told.
    fn hear(&mut self, now: Time) {
        self.board.take(&mut self.heard);
        for news in self.heard.drain(..) {
            match news {
                SideEvent::Opening { browser, connection, offers } => {
                    self.flows.open(browser, Known { route: self.network.open(&connection), offers });
                }
                SideEvent::Closed { browser } => self.flows.close(browser, now),
                SideEvent::Completed { user, exchange, at } => self.network.completed(user, &exchange, at),
                SideEvent::Aborted { at } => self.network.aborted(at),
                SideEvent::OpeningOfSource { end, connection, offers } => {
                    let route = self.network.open_of_source(&connection);
                    self.flows.open(end, Known { route, offers });
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
        for route in self.flows.forget(now) {
            self.network.close(route);
        }
    }

    /// The run has ended: hear and count what is left.
    pub(crate) fn finish(&mut self, end: Time) -> Result<(), Error> {
        self.hear(end);
        for device in &mut self.devices {
            self.seen.unread += device.take_drops().context(|| "the router's device".to_owned())?;
        }
        Ok(())
    }

    fn forward(&mut self, seen: &Seen, number: u32, now: Time) {
        let way = match (seen.flow, &self.orders.program_rtt) {
            (PacketFlow::Browser(browser), _) => self.flows.known(browser).map(PacketRoute::Connection),
            (PacketFlow::Datagram(stamp), _) => Some(PacketRoute::Datagram(stamp)),
            (PacketFlow::Program(flow), Some(rtt)) => {
                let open = |number| self.network.open_program(rtt.of(number));
                let route = self.flows.of_program(flow, open);
                Some(PacketRoute::Connection(Known { route, offers: self.orders.offers_of_programs }))
            }
            (PacketFlow::Program(_), None) => None,
        };
        let Some(way) = way else {
            self.seen.strays += 1;
            self.packets.free.push(number);
            return;
        };
        let packet = &mut self.packets.bytes[number as usize];
        if let PacketRoute::Connection(Known { offers, .. }) = &way
            && let Some(most) = offers[usize::from(seen.from == End::Server)]
        {
            packet::bound_window(packet, seen, most);
        }
        if let Some(capture) = &self.orders.capture {
            capture.show(number, packet);
        }
        let sent = Sent { number, size: seen.size, ecn: seen.ecn };
        match way {
            PacketRoute::Connection(Known { route, .. }) => self.network.send(route, seen.from, &sent, now),
            PacketRoute::Datagram(Stamp { source, side, flow, sent_at }) => {
                let datagram = Datagram { at: sent_at, flow, side, size: seen.size };
                self.network.send_datagram(source, &datagram, &sent, now);
            }
        }
    }

    /// Hand over what has arrived by `now`.
    fn deliver(&mut self, now: Time) -> Result<(), Error> {
        let Router { network, devices, clock, packets, seen, .. } = self;
        let mut failed = Ok(());
        network.advance(now, &mut |fate| match fate {
            Outcome::Lost { number } => packets.free.push(number),
            Outcome::Delivered { number, at, side, ce } => {
                let packet = &mut packets.bytes[number as usize];
                if ce {
                    packet::set_ce(packet);
                }
                match devices[side].deliver(packet) {
                    Ok(true) => {}
                    Ok(false) => seen.undelivered += 1,
                    Err(error) => failed = Err(error),
                }
                let lateness = clock.now().saturating_since(at).as_nanos();
                seen.lateness_ns.record(lateness).expect("the histogram resizes itself");
                packets.free.push(number);
            }
        });
        failed.context(|| "the router's device".to_owned())
    }

    /// Wait for a packet, or for what happens next.
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

    /// The network, at the end.
    pub(crate) fn network(&mut self) -> &mut EmulatedNetwork {
        &mut self.network
    }
}
