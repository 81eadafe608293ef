//! A link for tests of a transport: packets of a QUIC or TCP stack queue under `CoDel` and leave at 10 Mbit/s.
//!
//! With a sender in virtual time, as below, every run is the same. `cargo run -p aqmlab-aqm --example transport`.

use aqmlab_aqm::{Codel, CodelConfig, Discipline, Ecn, Fifo, LinkContext, Packet, ParameterError, Qdisc};
use aqmlab_units::{BitRate, Bytes, Duration, Stream, Time};

/// One direction of a link; use a second one for the other direction.
struct Link {
    rate: BitRate,
    queue: Fifo<Codel, Vec<u8>>,
    free: Time,
}

impl Link {
    fn new(rate: BitRate) -> Result<Link, ParameterError> {
        let context = LinkContext { rate, header: Bytes::ZERO, overhead: Bytes::ZERO, peak: None };
        let config = CodelConfig::default().resolve(&context)?;
        let law = Codel::new(&config, &context, Stream::named(1, "link"));
        Ok(Link { rate, queue: Fifo::new(law, config.limit), free: Time::ZERO })
    }

    /// Enqueue a datagram.
    fn send(&mut self, datagram: Vec<u8>, ecn: Ecn, now: Time) {
        if self.due().is_none() {
            self.free = self.free.max(now);
        }
        let packet = Packet { size: Bytes::new(datagram.len() as u64), ecn, flow: 0 };
        self.queue.enqueue(packet, datagram, now, &mut drop);
    }

    /// The time at which the next datagram leaves the queue.
    fn due(&self) -> Option<Time> {
        (self.queue.state().packets > 0).then_some(self.free)
    }

    /// Return that datagram, its ECN field and its sojourn time; `None` if the law has dropped it.
    fn receive(&mut self) -> Option<(Vec<u8>, Ecn, Duration)> {
        let now = self.due()?;
        let sent = self.queue.dequeue(now, &mut drop)?;
        self.free = now + self.rate.time_to_send(sent.packet.size);
        Some((sent.payload, sent.packet.ecn, now.saturating_since(sent.enqueued_at)))
    }
}

fn main() -> Result<(), ParameterError> {
    let mut link = Link::new(BitRate::from_mbit_per_sec(10))?;
    // A sender that is a fifth too fast for ten seconds: a datagram of 1,200 bytes every 0.8 ms.
    let mut marks = 0;
    for now in (0..12_500).map(|step| Time::ZERO + Duration::from_micros(800) * step) {
        link.send(vec![0; 1200], Ecn::Ect0, now);
        while link.due().is_some_and(|due| due <= now) {
            marks += link.receive().map_or(0, |(_, ecn, _)| u32::from(ecn == Ecn::Ce));
        }
    }
    println!("{marks} marks asked it to slow down; {} datagrams wait", link.queue.state().packets);
    assert!(marks > 0);
    Ok(())
}
