//! The network of a run in the process of a kernel in virtual time: it joins hosts by the links of a spec.

use std::collections::VecDeque;
use std::fs;
use std::sync::Arc;

use aqmlab_sim::{Capture, KernelDecision, Table, emulate};
use aqmlab_units::{Bytes, Duration, Time};
use serde_json::{Value, json};

use crate::error::Error;
use crate::kernel_network::{KernelNetwork, SIDES};
use crate::message::{Message, Words};
use crate::mix::Mix;
use crate::packet;
use crate::router::forwarding::Forwarding;
use crate::router::{ProgramRtt, RouterConfig};
use crate::run::request::{self, Request};
use crate::run::{guest, output, write_tables};

/// The network of a run between the devices of a kernel.
pub(crate) struct Engine {
    forwarding: Forwarding,
    request: Request,
    capture: Option<Capture>,
    /// The kernel's time at the start of the run.
    start: Option<u64>,
    /// Packets that have arrived, with their sides.
    arrived: VecDeque<(usize, Vec<u8>)>,
    /// For each queue whose discipline runs in the kernel: the bytes before the IP header that it counts.
    headers: Vec<usize>,
    /// The packet that a queue in the kernel takes at present.
    entering: Option<u32>,
    /// The guest's facts about the run, as JSON, at its end.
    about: Option<String>,
}

impl Engine {
    /// Returns the network of the run that `text` requests.
    pub(crate) fn new(text: &str) -> Result<Engine, Error> {
        let request = request::parse(text)?;
        let refused = |message: String| Error::Refused(message);
        let Request { spec, seed, programs, capture, .. } = &request;
        let capture = capture.map(|bounds| Capture::new(spec, bounds));
        let network = emulate(spec, *seed, capture.as_ref()).map_err(|error| refused(error.to_string()))?;
        let web = Arc::new(request.web()?);
        let config = RouterConfig {
            program_offers: Mix::from_spec(spec, *seed, programs.is_some())?.program_offers(),
            capture: capture.clone(),
            program_rtt: programs.is_some().then_some(ProgramRtt { web, seed: *seed }),
        };
        Ok(Engine {
            forwarding: Forwarding::new(network, config),
            headers: request.spec.kernel_disciplines().iter().map(|(link, _)| length(link.header)).collect(),
            request,
            capture,
            start: None,
            arrived: VecDeque::new(),
            entering: None,
            about: None,
        })
    }

    fn decide(&mut self, port: usize, decision: (u32, KernelDecision), now: Time) -> Option<u64> {
        let arrived = &mut self.arrived;
        let deliver = &mut |packet: &[u8], side, _| arrived.push_back((side, packet.to_vec()));
        let busy = self.forwarding.decide(port - SIDES, decision, now, deliver)?;
        Some(self.start? + busy.as_nanos())
    }

    /// Writes the progress of the run.
    fn step(&mut self, now: Time) {
        let network = &mut self.forwarding.network;
        if self.request.watched {
            write_tables(network, &self.request.spec);
            output::table("glance", network.gauges().into_columns());
        }
        let end = network.end();
        output::line(&json!({ "now_s": now.min(end).as_secs_f64(), "end_s": end.as_secs_f64() }));
        if let Some(capture) = &self.capture {
            output::bytes("capture", &capture.take());
        }
    }

    /// Converts a time of the kernel to the clock of the run. Before its start there is none.
    fn time(&self, now: u64) -> Option<Time> {
        Some(Time::ZERO + Duration::from_nanos(now - self.start?))
    }
}

impl KernelNetwork for Engine {
    fn ports(&self) -> usize {
        SIDES + self.headers.len()
    }

    fn header(&self, port: usize) -> usize {
        port.checked_sub(SIDES).map_or(0, |queue| self.headers[queue])
    }

    fn send(&mut self, port: usize, now: u64, number: u32, packet: &[u8]) -> Option<u64> {
        let now = self.time(now)?;
        if port >= SIDES {
            let packet = &packet[self.header(port)..];
            let decision = KernelDecision::Sent(self.forwarding.replace(number, packet));
            return self.decide(port, (number, decision), now);
        }
        if let Some(headers) = packet::read(packet) {
            let number = self.forwarding.store(packet);
            self.forwarding.forward(&headers, number, now);
        } else {
            self.forwarding.strays += 1;
        }
        None
    }

    fn drop(&mut self, port: usize, now: u64, number: u32) {
        let decision = match self.entering {
            Some(entering) if entering == number => KernelDecision::Refused,
            Some(_) => KernelDecision::Evicted,
            None => KernelDecision::DroppedAtDequeue,
        };
        if let Some(now) = self.time(now) {
            self.decide(port, (number, decision), now);
        }
    }

    fn next_event(&self) -> Option<u64> {
        let start = self.start?;
        let network = &self.forwarding.network;
        let next = network.next_event();
        (next <= network.end()).then(|| start + next.as_nanos())
    }

    fn receive(&mut self, now: u64, packet: &mut [u8]) -> Option<(usize, u32, usize)> {
        let now = self.time(now)?;
        let arrived = &mut self.arrived;
        self.forwarding.advance(now, &mut |packet, side, _| arrived.push_back((side, packet.to_vec())));
        self.entering = None;
        if let Some((side, bytes)) = self.arrived.pop_front() {
            packet[..bytes.len()].copy_from_slice(&bytes);
            return Some((side, 0, bytes.len()));
        }
        let (queue, number, bytes) = self.forwarding.take_kernel_arrival()?;
        let header = self.headers[queue];
        packet[..header].fill(0);
        packet[header..header + bytes.len()].copy_from_slice(bytes);
        self.entering = Some(number);
        Some((SIDES + queue, number, header + bytes.len()))
    }

    fn control(&mut self, at: u64, messages: &[u8]) {
        let mut words = Words(messages);
        while !words.0.is_empty() {
            let message = Message::decode(&mut words).expect("the guest's program is of the same build");
            let now = self.time(at).unwrap_or(Time::ZERO);
            match message {
                Message::Start => {
                    self.start = Some(at);
                    remove_directory();
                }
                Message::Event(event) => {
                    self.forwarding.handle_event(&event, now);
                    self.forwarding.close_expired(now);
                }
                Message::Output(bytes) => output::bytes("output", &bytes),
                Message::Step => self.step(now),
                Message::Finish(about) => self.about = Some(about),
            }
        }
    }

    fn finish(&mut self) {
        let Some(about) = self.about.take() else {
            output::error(&Error::Odd("the guest ended before the run did".to_owned()));
            return;
        };
        let mut about: Value = serde_json::from_str(&about).expect("the guest writes JSON");
        if ["refused", "failed"].iter().any(|key| about.get(key).is_some()) {
            output::line(&about);
            return;
        }
        let end = self.forwarding.network.end();
        self.forwarding.advance(end, &mut |_, _, _| {});
        let retransmissions = about.as_object_mut().and_then(|facts| facts.remove("retransmissions"));
        self.forwarding.network.repeated(retransmissions.and_then(|count| count.as_u64()).unwrap_or(0));
        if let Some(capture) = &self.capture {
            capture.finish();
            output::bytes("capture", &capture.take());
        }
        about["measured"]["strays"] = self.forwarding.strays.into();
        about["capture_cut_s"] = self.capture.as_ref().and_then(Capture::cut).map(Time::as_secs_f64).into();
        let network = &mut self.forwarding.network;
        write_tables(network, &self.request.spec);
        output::line(&json!({ "summary": network.summary(), "live": about }));
    }
}

fn length(header: Bytes) -> usize {
    usize::try_from(header.get()).expect("a short header")
}

/// Removes the run's directory, which is the current one of the kernel's process: after the start of the run nothing reads it, and
/// a process that is killed later leaves nothing behind. Other files in it stay, and so does it.
fn remove_directory() {
    for file in [guest::INIT, guest::REQUEST] {
        fs::remove_file(file).ok();
    }
    if let Ok(directory) = std::env::current_dir() {
        fs::remove_dir(directory).ok();
    }
}
