//! The explainer: an observer that attributes the time of an exchange, or of the load of a page, to causes.
//!
//! A response is complete when a packet arrives; that packet was sent when another arrived or a timer expired; and so
//! on back to the start of the user's wait. The time along this chain is the response time. So every
//! packet and every timer carries the [`Attribution`] of what caused it, the time since its wait began by [`Part`], and
//! what happens next adds its own share. Nothing is estimated, and the parts add up to the nanosecond.
//!
//! * A packet that an endpoint sends in answer to an event inherits the event's attribution.
//! * On its way a packet adds: its wait for the interface of a server's machine, its way to the link (what of the
//!   connection's round-trip time is spent at this end), its wait in queue and device, its time on the wire, and the way from there.
//!   Over a chain of links these are sums over the links of its path.
//! * A timer that expires inherits the attribution of the moment when it was last set, and adds the wait.
//! * A new exchange on an old connection starts from zero: of an earlier cause only the time after its start counts.
//! * An application that has an event of one end may write at the other, and may pause before it writes.
//! * A page is one wait over all its connections: what a browser writes or opens when something has come over one connection
//!   was caused by that, over any connection.
//!
//! Explained are the exchanges of web users, or their pages, or the exchanges of sources. All connections are watched, since a
//! packet is a packet.
//!
//! Propagation is booked by the purpose of the packet: the handshake, the request and the first flight of the response, later
//! flights, or repair. Events off the chain cost nothing: a segment that was lost while others were still on their way
//! may have been repaired for less than a round trip.

mod attribution;
mod drops;
mod pages;
mod paths;
mod tables;
mod timeline;
mod timers;
mod tracer;
mod transit;

use aqmlab_tcp::{Endpoint, Flags, HeaderOptions, RecoveryCounts, Segment, Sender, Seq};
use aqmlab_units::{Duration, Time};

use self::attribution::{Attribution, Epoch, Part};
use self::drops::Drops;
use self::pages::PageTrace;
use self::timeline::{EventKind, Location, Purpose, TimelineEvent, Timelines, offset};
use self::timers::TimerCauses;
use self::transit::InTransit;
use crate::engine::observer::{ConnectionUse, Written};
use crate::packet::{EndpointId, Owner};

pub(crate) use self::paths::Paths;
pub use self::timeline::TimelineRequest;
pub(crate) use self::transit::Tagged;

/// The observer, and another that it passes packets to.
#[derive(Debug)]
pub(crate) struct Explainer<I> {
    inner: I,
    paths: Paths,
    in_transit: InTransit,
    /// By the number of the endpoint.
    ends: Vec<EndpointTrace>,
    /// By the number of the connection.
    connections: Vec<ConnectionTrace>,
    /// By the number of the user.
    pages: Vec<PageTrace>,
    /// By link and direction.
    drops: Vec<[Drops; 2]>,
    /// The owners of what is explained.
    owners: Vec<Owner>,
    timelines: Timelines,
}

/// The trace of an endpoint.
#[derive(Clone, Debug, Default)]
struct EndpointTrace {
    /// The event it is at, or was at last.
    now: Attribution,
    timers: TimerCauses,
    /// In this event its application has written this: what leaves now is the first flight.
    written: Option<Written>,
    /// The last acknowledgement that it sent.
    acked: Option<Seq>,
    /// One past the highest byte that it has sent, and the first byte of its request or response.
    sent: Seq,
    base: Seq,
    /// Its counts of recovery after the event before.
    recovery: RecoveryCounts,
    in_recovery: bool,
}

impl EndpointTrace {
    /// Has it sent something of this segment before?
    fn has_sent<O: HeaderOptions>(&self, segment: &Segment<O>) -> bool {
        match segment.options.retransmitted() {
            Some(bytes) => bytes > 0,
            None => segment.span() > 0 && segment.seq < self.sent,
        }
    }
}

/// The trace of a connection.
#[derive(Clone, Debug, Default)]
struct ConnectionTrace {
    owner: Owner,
    serves: ConnectionUse,
    is_explained: bool,
    /// Its application has not written yet.
    is_new: bool,
    /// Its number among those of its page.
    number: u16,
    /// The exchange that it is at, or the page that it was opened for.
    epoch: Epoch,
    /// Of an exchange: the last event that its application got.
    now: Attribution,
    /// Its losses, marks and events.
    incidents: Incidents,
}

/// The losses, marks and events of a wait.
#[derive(Clone, Debug, Default)]
struct Incidents {
    losses: u32,
    marks: u32,
    events: Vec<TimelineEvent>,
}

impl Incidents {
    fn clear(&mut self) {
        self.losses = 0;
        self.marks = 0;
        self.events.clear();
    }
}

impl<I> Explainer<I> {
    pub(crate) fn new(paths: Paths, owners: Vec<Owner>, request: TimelineRequest, inner: I) -> Explainer<I> {
        Explainer {
            inner,
            drops: (0..paths.links()).map(|_| Default::default()).collect(),
            paths,
            in_transit: InTransit::default(),
            ends: Vec::new(),
            connections: Vec::new(),
            pages: Vec::new(),
            owners,
            timelines: Timelines::new(request),
        }
    }

    /// From now on times are counted from `now`.
    fn begin(&mut self, client: EndpointId, now: Time) {
        let connection = &mut self.connections[client.connection()];
        connection.epoch = Epoch { number: connection.epoch.number + 1, start: now };
        connection.now = Attribution::nothing(connection.epoch);
        connection.incidents.clear();
        self.ends[client.index()].now = connection.now.clone();
    }

    fn epoch(&self, id: EndpointId) -> Epoch {
        self.connections[id.connection()].epoch
    }

    /// Returns the incidents of the wait of `epoch` that the connection of `id` belongs to. None if the wait is over or
    /// is not explained.
    fn incidents(&mut self, id: EndpointId, epoch: Epoch) -> Option<&mut Incidents> {
        let connection = &mut self.connections[id.connection()];
        match connection.serves {
            _ if !connection.is_explained => None,
            ConnectionUse::Exchanges => (connection.epoch == epoch).then_some(&mut connection.incidents),
            ConnectionUse::Page(user) => {
                let page = &mut self.pages[user.index()];
                (page.epoch == epoch).then_some(&mut page.incidents)
            }
        }
    }

    /// The moment as part of the current exchange of the connection of `id`.
    fn current(&self, attribution: Attribution, id: EndpointId) -> Attribution {
        attribution.within(self.epoch(id))
    }

    /// Returns the part to which a packet's propagation is booked.
    fn purpose_of_way<S: Sender>(
        end: &EndpointTrace,
        segment: &Segment<S::Options>,
        tcp: &Endpoint<S>,
    ) -> Part {
        let is_tcp = segment.options.is_tcp();
        if segment.flags.contains(Flags::SYN) || segment.options.is_quic_handshake() {
            Part::Handshake
        } else if segment.span() == 0 {
            let is_duplicate = is_tcp && end.acked == Some(segment.ack);
            if is_duplicate || tcp.has_gap() { Part::Recovery } else { Part::Window }
        } else if end.has_sent(segment) || tcp.in_recovery() {
            Part::Recovery
        } else {
            match end.written {
                Some(Written::TlsHandshake) => Part::TlsHandshake,
                Some(Written::Content) => Part::Request,
                None => Part::Window,
            }
        }
    }

    /// Write an event of the timeline down.
    fn note(&mut self, id: EndpointId, event: TimelineEvent) {
        let epoch = self.epoch(id);
        if self.timelines.wanted()
            && let Some(incidents) = self.incidents(id, epoch)
        {
            incidents.events.push(event);
        }
    }

    /// Something that concerns an endpoint and no segment.
    fn event(&self, id: EndpointId, what: EventKind) -> TimelineEvent {
        let place = place_of(id);
        TimelineEvent {
            since_start: self.ends[id.index()].now.at().saturating_since(self.epoch(id).start),
            connection: self.connections[id.connection()].number,
            place,
            what,
            segment: None,
            sender: place,
            offset: 0,
            bytes: 0,
            waited: Duration::ZERO,
            cwnd: 0,
        }
    }

    /// Something that happens at `now` to a segment from `from`.
    fn about<O: HeaderOptions>(
        &self,
        from: EndpointId,
        segment: &Segment<O>,
        what: EventKind,
        now: Time,
    ) -> TimelineEvent {
        let is_ack = segment.span() == 0;
        let (number, counted_from) = if is_ack { (segment.ack, from.peer()) } else { (segment.seq, from) };
        let in_bytes = || offset(number, self.ends[counted_from.index()].base);
        TimelineEvent {
            since_start: now.saturating_since(self.epoch(from).start),
            segment: Some(Purpose::of(segment)),
            sender: place_of(from),
            offset: segment.options.quic_packet_number().unwrap_or_else(in_bytes),
            bytes: segment.len,
            ..self.event(from, what)
        }
    }
}

fn place_of(id: EndpointId) -> Location {
    if id.is_server() { Location::Server } else { Location::Client }
}

#[cfg(test)]
mod tests {
    use aqmlab_tcp::{Basic, Profile};

    use super::*;

    #[test]
    fn an_ack_is_repair_while_data_are_missing_or_as_a_duplicate() {
        let (profile, now) = (Profile::unc_testbed(), Time::ZERO);
        let mut tcp: Endpoint = Endpoint::connect(&profile, now);
        tcp.poll_transmit(now, &profile);
        let flags = Flags::SYN | Flags::ACK;
        let syn_ack = Segment { ack: Seq::new(1), window: 16_384, flags, ..Segment::default() };
        tcp.handle_segment(&syn_ack, now, &profile);
        let way_of_ack = |tcp: &Endpoint, ack, acked| {
            let segment = Segment { ack: Seq::new(ack), flags: Flags::ACK, ..Segment::default() };
            let end = EndpointTrace { acked: Some(Seq::new(acked)), ..EndpointTrace::default() };
            Explainer::<()>::purpose_of_way::<Basic>(&end, &segment, tcp)
        };
        assert_eq!(way_of_ack(&tcp, 1, 0), Part::Window);
        assert_eq!(way_of_ack(&tcp, 1, 1), Part::Recovery);
        let data = |tcp: &mut Endpoint, seq| {
            let seq = Seq::new(seq);
            let segment = Segment { seq, ack: Seq::new(1), len: 100, flags: Flags::ACK, ..syn_ack };
            tcp.handle_segment(&segment, now, &profile);
        };
        data(&mut tcp, 101);
        assert_eq!(way_of_ack(&tcp, 101, 1), Part::Recovery);
        data(&mut tcp, 1);
        assert_eq!(way_of_ack(&tcp, 201, 1), Part::Window);
    }
}
