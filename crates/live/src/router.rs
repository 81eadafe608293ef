//! The router between the sides. It reads packets from one device, passes them through the emulated network, and writes those
//! that arrive to the other device.
//!
//! The time of a packet's arrival is the time of its read. All later decisions follow the network's own clock: a router that
//! wakes late delays departures, which is measured, but changes no decision about packets that it has read.

pub(crate) mod event_queue;
mod flows;
pub(crate) mod forwarding;
mod stats;

use std::os::fd::AsFd;
use std::sync::Arc;

use aqmlab_sim::{Capture, EmulatedNetwork};
use aqmlab_units::{Duration, Stream, Time};
use aqmlab_workload::Web;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;

use self::event_queue::{EventQueue, SideEvent};
use self::forwarding::Forwarding;
pub(crate) use self::stats::RouterStats;
use crate::error::{Context, Error};
use crate::machine::clock::{Clock, std_duration};
use crate::mix::Offers;
use crate::network::device::Device;
use crate::packet;

/// The configuration of the router.
#[derive(Debug)]
pub(crate) struct RouterConfig {
    /// The largest windows that programs may advertise.
    pub(crate) program_offers: Offers,
    /// The packet capture, if there is one.
    pub(crate) capture: Option<Capture>,
    /// The round-trip times of programs, if there are programs.
    pub(crate) program_rtt: Option<ProgramRtt>,
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
    forwarding: Forwarding,
    devices: [Box<dyn Device>; 2],
    event_queue: Arc<EventQueue>,
    /// The events that [`Router::handle_events`] has taken from the queue: empty between calls.
    events: Vec<SideEvent>,
    clock: Clock,
    stats: RouterStats,
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
        let forwarding = Forwarding::new(network, config);
        Router { forwarding, devices, event_queue, events: Vec::new(), clock, stats: RouterStats::new() }
    }

    /// Runs until `until`, or to the end of the run if it comes first.
    pub(crate) fn run_until(&mut self, until: Time) -> Result<(), Error> {
        let mut scratch = vec![0; 1 << 16];
        loop {
            let until = until.min(self.forwarding.network.end());
            let mut arrived = Vec::new();
            let now = self.clock.now();
            for device in &mut self.devices {
                for _ in 0..BATCH {
                    let received =
                        device.receive(&mut scratch).context(|| "the router's device".to_owned())?;
                    let Some(length) = received else { break };
                    let packet = &scratch[..length];
                    match packet::read(packet) {
                        Some(headers) => arrived.push((headers, self.forwarding.store(packet))),
                        None => self.stats.record_other(packet, &self.clock),
                    }
                }
            }
            // Events that were sent before these packets are in the queue by now: they must be handled first.
            self.handle_events(now);
            for (headers, number) in arrived {
                self.forwarding.forward(&headers, number, now);
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
            self.forwarding.handle_event(&event, now);
        }
        self.forwarding.close_expired(now);
    }

    /// Handles and counts what is left at the end of the run, and returns the measurements of the router.
    pub(crate) fn finish(&mut self, end: Time) -> Result<&RouterStats, Error> {
        self.handle_events(end);
        for device in &mut self.devices {
            self.stats.unread += device.take_drops().context(|| "the router's device".to_owned())?;
        }
        self.stats.strays += std::mem::take(&mut self.forwarding.strays);
        Ok(&self.stats)
    }

    /// Advances the network to `now`, and writes the packets that have arrived to their devices.
    fn deliver(&mut self, now: Time) -> Result<(), Error> {
        let Router { forwarding, devices, clock, stats, .. } = self;
        let mut result = Ok(());
        forwarding.advance(now, &mut |packet, side, at| {
            match devices[side].deliver(packet) {
                Ok(true) => {}
                Ok(false) => stats.undelivered += 1,
                Err(error) => result = Err(error),
            }
            let lateness = clock.now().saturating_since(at).as_nanos();
            stats.lateness_ns.record(lateness).expect("the histogram resizes itself");
        });
        result.context(|| "the router's device".to_owned())
    }

    /// Waits for a packet, or until the network's next event.
    fn wait(&self, until: Time) -> Result<(), Error> {
        let next = self.forwarding.network.next_event();
        let pause = next.min(until).saturating_since(self.clock.now());
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
        &mut self.forwarding.network
    }
}
