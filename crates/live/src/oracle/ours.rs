//! Our side of a comparison: the discipline before the same line, in a loop of its own.

use aqmlab_aqm::{
    Coin, Departure, FlowLabel, HostAddress, LinkContext, Packet, Qdisc, QueueConfig, WithoutEcn,
};
use aqmlab_sim::{LossSpec, Losses};
use aqmlab_units::{BitRate, Bytes, Duration, Stream, Time};

use super::coin::SharedCoin;
use super::guest;
use super::line::Line;
use super::pattern::{self, Arrival, Pattern};
use super::{Comparison, Fate, HEADER, Outcome};
use crate::error::Error;

/// The times that the kernel empties a discipline when it removes it, and the tosses for the key of a hash.
const RESETS: u32 = 2;
const KEY: u32 = 2;

/// Our discipline.
pub(crate) struct Ours {
    queue: QueueConfig,
    ecn: bool,
    coin: SharedCoin,
    loss: Option<LossSpec>,
    slowest: Option<BitRate>,
}

impl Ours {
    pub(crate) fn new(comparison: &Comparison) -> Result<Ours, Error> {
        let coin = SharedCoin::new(comparison.coin);
        let link = link(comparison.pattern(0).line);
        let queue = comparison
            .queue
            .resolve(&link)
            .map_err(|error| Error::Refused(format!("oracle.queue: {error}")))?;
        let Comparison { ecn, loss, slowest, .. } = *comparison;
        Ok(Ours { queue, ecn, coin, loss, slowest })
    }

    /// Returns the fates of the packets of a pattern that begins at `start`, in nanoseconds of the kernel's clock.
    pub(crate) fn fates(&self, pattern: &Pattern, start: u64) -> Vec<Fate> {
        let link = link(pattern.line);
        let mut queue = self.queue.queue_with_coin(&link, random_stream(), &self.coin);
        // As in the packets' headers.
        for flow in 0..pattern::FLOWS {
            let [source, destination] = [0, 1 + flow].map(HostAddress::public);
            queue.label_flow(flow, FlowLabel { dscp: 0, source, destination });
        }
        let queue = if self.ecn { queue } else { Box::new(WithoutEcn::new(queue)) };
        let zero = match &self.queue {
            // A timer of high resolution counts from the nanosecond at which it starts.
            QueueConfig::Dualpi2(_) => start + (guest::SET_UP + guest::TC).as_nanos(),
            // Timers and SFB count from the tick before that.
            QueueConfig::Sfb(_) => start,
            _ if queue.poll_timeout().is_some() => start,
            // Other laws count from the start of the kernel.
            _ => 0,
        };
        let fates = vec![None; pattern.arrivals.len()];
        let losses = self.loss.map(|loss| Losses::new(loss, self.coin.clone()));
        let mut run = Run { pattern, losses, queue, free: None, zero, fates };
        for (number, arrival) in pattern.arrivals.iter().enumerate() {
            let now = start + arrival.after;
            run.advance(now);
            run.arrive(number, arrival, now);
        }
        run.advance(start + pattern.duration(self.slowest).as_nanos());
        let fates = run.fates;
        self.remove();
        fates
    }

    /// Tosses the coin as the kernel does when it removes the discipline: SFB draws new keys whenever it is emptied.
    fn remove(&self) {
        let tosses = if matches!(self.queue, QueueConfig::Sfb(_)) { RESETS * KEY } else { 0 };
        let mut coin = self.coin.clone();
        (0..tosses).for_each(|_| _ = coin.toss());
    }
}

/// Returns the random stream of our discipline, the same for each pattern.
fn random_stream() -> Stream {
    Stream::named(1, "queue")
}

fn link(line: Line) -> LinkContext {
    LinkContext { rate: line.rate, header: Bytes::new(HEADER as u64), overhead: Bytes::ZERO, peak: None }
}

/// A discipline that gets a pattern.
struct Run<'a> {
    pattern: &'a Pattern,
    losses: Option<Losses<SharedCoin>>,
    queue: Box<dyn Qdisc<usize> + Send>,
    /// The time at which the line is free again, if it is busy.
    free: Option<u64>,
    /// The zero of the discipline's clock.
    zero: u64,
    fates: Vec<Fate>,
}

impl Run<'_> {
    fn time(&self, at: u64) -> Time {
        Time::ZERO + Duration::from_nanos(at - self.zero)
    }

    /// Handles the events until `now`.
    fn advance(&mut self, now: u64) {
        loop {
            let timer = self.queue.poll_timeout().map(|timer| self.zero + timer.as_nanos());
            let next = [timer, self.free].into_iter().flatten().min().filter(|&next| next <= now);
            let Some(next) = next else { return };
            if timer == Some(next) {
                self.queue.on_timeout(self.time(next));
                // A shaper may have held a packet back until now.
                if self.free.is_none() {
                    self.request_packet(next);
                }
            } else {
                self.free = None;
                self.request_packet(next);
            }
        }
    }

    fn arrive(&mut self, number: usize, arrival: &Arrival, now: u64) {
        if self.losses.as_mut().is_some_and(|losses| losses.draw(Time::from_nanos(now))) {
            self.fates[number] = Some((Outcome::Refused, now));
            return;
        }
        let size = Bytes::new((HEADER + arrival.size) as u64);
        let packet = Packet { size, ecn: arrival.ecn, flow: arrival.flow };
        let (time, fates) = (self.time(now), &mut self.fates);
        let lost = &mut |lost| {
            let outcome = if lost == number { Outcome::Refused } else { Outcome::Evicted };
            fates[lost] = Some((outcome, now));
        };
        match &arrival.segment {
            Some(segment) => self.queue.enqueue_segment(packet, &segment.header, number, time, lost),
            None => self.queue.enqueue(packet, number, time, lost),
        };
        if self.free.is_none() {
            self.request_packet(now);
        }
    }

    /// The free line asks for a packet.
    fn request_packet(&mut self, now: u64) {
        let (time, fates) = (self.time(now), &mut self.fates);
        let sent = self.queue.dequeue(time, &mut |lost| fates[lost] = Some((Outcome::DroppedAtDequeue, now)));
        if let Some(Departure { packet, payload, .. }) = sent {
            let arrived = self.pattern.arrivals[payload].ecn;
            self.fates[payload] = Some((Outcome::of_departure(arrived, packet.ecn), now));
            self.free = Some(self.pattern.line.free_at(now, packet.size));
        }
    }
}
