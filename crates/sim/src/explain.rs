//! Where the time of an exchange goes: an observer that follows causes.
//!
//! A response is complete when a packet arrives; that packet was sent when another arrived or a timer expired; and so
//! on back to the moment at which the user began to wait. The time along this chain is the response time. So every
//! packet and every timer carries the [`Blame`] of what caused it, the time since its exchange began by [`Part`], and
//! what happens next adds its own share. Nothing is estimated, and the parts add up to the nanosecond.
//!
//! * What an endpoint sends in answer to an event inherits the event's blame.
//! * On its way a packet adds: its way to the link (a client's round-trip time, or the wait for the interface of a
//!   server's machine), its wait in queue and device, its time on the wire, and the way from there.
//! * A timer that expires inherits the blame of the moment when it was last set, and adds the wait.
//! * With a new exchange on an old connection all begins anew: of a cause from before it only the time after its
//!   start counts.
//!
//! Way is booked as what the packet was for: the handshake, the request and the first flight of the response, later
//! flights, or repair. What is off the chain costs nothing: a segment that was lost while others were still on their way
//! may have been repaired for less than a round trip.

mod blame;
mod flights;
mod tables;
mod timeline;

use aqmlab_aqm::Counters;
use aqmlab_tcp::{CongestionControl, Endpoint, Flags, Recovery, Segment, Seq, Stack, State};
use aqmlab_units::{Duration, Time};

use self::blame::{Blame, Epoch, Part};
use self::flights::{Flight, Flights};
use self::timeline::{Cause, Moment, Place, Purpose, Timelines, What, offset};
use crate::link::Link;
use crate::observer::{Leaving, Observer, Row};
use crate::packet::{EndpointId, Packet};
use crate::record::Tables;
use crate::spec::LinkSpec;
use crate::transmitter::Transmitter;

pub(crate) use self::flights::Numbered;
pub use self::tables::{ExplanationTable, PartColumn, TimelineTable};
pub use self::timeline::Wish;

/// The observer.
#[derive(Debug)]
pub(crate) struct Explainer {
    /// The link's delay, and an idle transmitter like its own.
    delay: Duration,
    transmitter: Transmitter,
    flights: Flights,
    /// By the number of the endpoint.
    ends: Vec<End>,
    /// By the number of the connection.
    exchanges: Vec<Exchange>,
    /// Drops that have been told of, by cause, in each direction.
    drops: [Counters; 2],
    timelines: Timelines,
}

/// What is known of an endpoint.
#[derive(Clone, Copy, Debug, Default)]
struct End {
    /// The event it is at, or was at last.
    now: Blame,
    /// Its timers: until when they run, and the moment when they were set.
    retransmit: (Time, Blame),
    delayed_ack: (Time, Blame),
    /// In this event its application has written: what leaves now is the first flight.
    first_flight: bool,
    /// The event is the arrival of a repair.
    answers_repair: bool,
    /// The application has not written its first request.
    is_new: bool,
    /// The last acknowledgement that it sent.
    acked: Option<Seq>,
    /// One past the highest byte that it has sent, and the first byte of its request or response.
    sent: Seq,
    base: Seq,
    /// What recovery it had needed after the event before.
    recovery: Recovery,
    in_recovery: bool,
}

/// The exchange that a connection is at.
#[derive(Clone, Debug, Default)]
struct Exchange {
    epoch: Epoch,
    losses: u32,
    marks: u32,
    moments: Vec<Moment>,
}

impl Explainer {
    pub(crate) fn new(link: &LinkSpec, wish: Wish) -> Explainer {
        Explainer {
            delay: link.delay,
            transmitter: Transmitter::new(link.rate, link.overhead),
            flights: Flights::default(),
            ends: Vec::new(),
            exchanges: Vec::new(),
            drops: Default::default(),
            timelines: Timelines::new(wish),
        }
    }

    /// From now on times are counted from `now`.
    fn begin(&mut self, client: EndpointId, now: Time) {
        let exchange = &mut self.exchanges[client.connection()];
        exchange.epoch = Epoch { number: exchange.epoch.number + 1, start: now };
        exchange.losses = 0;
        exchange.marks = 0;
        exchange.moments.clear();
        self.ends[client.index()].now = Blame::nothing(exchange.epoch);
    }

    fn epoch(&self, id: EndpointId) -> Epoch {
        self.exchanges[id.connection()].epoch
    }

    /// The moment as part of the current exchange of the connection of `id`.
    fn current(&self, blame: Blame, id: EndpointId) -> Blame {
        blame.within(self.epoch(id))
    }

    /// What the way of a packet is for.
    fn purpose_of_way<S: Stack>(end: &End, segment: &Segment<S::Options>, tcp: &Endpoint<S>) -> Part {
        if segment.flags.contains(Flags::SYN) {
            Part::Handshake
        } else if segment.span() == 0 {
            let is_duplicate = end.acked == Some(segment.ack);
            if is_duplicate || end.answers_repair { Part::Recovery } else { Part::Window }
        } else if segment.seq < end.sent || tcp.in_recovery() {
            Part::Recovery
        } else if end.first_flight {
            Part::Request
        } else {
            Part::Window
        }
    }

    /// Why `link` dropped a packet that reached it at `at_link`, when it has told of all drops before.
    fn cause_of_drop(&mut self, direction: usize, counters: &Counters, on_arrival: bool) -> Cause {
        let told = &mut self.drops[direction];
        let causes = [
            (Cause::Early, counters.dropped_early, &mut told.dropped_early),
            (Cause::Forced, counters.dropped_forced, &mut told.dropped_forced),
            (Cause::Limit, counters.dropped_by_limit, &mut told.dropped_by_limit),
            (Cause::AtDequeue, counters.dropped_at_dequeue, &mut told.dropped_at_dequeue),
            (Cause::Evicted, counters.evicted, &mut told.evicted),
        ];
        // Those at the entrance come first for a packet that has just arrived, and last for others.
        let first = if on_arrival { 0 } else { 3 };
        let mut causes = causes.into_iter().collect::<Vec<_>>();
        causes.rotate_left(first);
        let (cause, _, told) =
            causes.into_iter().find(|(_, all, told)| **told < *all).expect("a link counts what it drops");
        *told += 1;
        cause
    }

    /// Write a moment of the timeline down.
    fn note(&mut self, id: EndpointId, moment: Moment) {
        if self.timelines.wanted() {
            self.exchanges[id.connection()].moments.push(moment);
        }
    }

    /// Something that concerns an endpoint and no segment.
    fn event(&self, id: EndpointId, what: What) -> Moment {
        let place = place_of(id);
        Moment {
            since_start: self.ends[id.index()].now.at().saturating_since(self.epoch(id).start),
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
    fn about<O>(&self, from: EndpointId, segment: &Segment<O>, what: What, now: Time) -> Moment {
        let is_ack = segment.span() == 0;
        let (number, counted_from) = if is_ack { (segment.ack, from.peer()) } else { (segment.seq, from) };
        Moment {
            since_start: now.saturating_since(self.epoch(from).start),
            segment: Some(Purpose::of(segment)),
            sender: place_of(from),
            offset: offset(number, self.ends[counted_from.index()].base),
            bytes: segment.len,
            ..self.event(from, what)
        }
    }
}

fn place_of(id: EndpointId) -> Place {
    if id.is_server() { Place::Server } else { Place::Client }
}

impl<S: Stack> Observer<S> for Explainer {
    type Carried = Numbered<S::Options>;

    fn opened(&mut self, client: EndpointId, now: Time) {
        let places = client.peer().index().max(client.index()) + 1;
        if self.ends.len() < places {
            self.ends.resize(places, End::default());
            self.exchanges.resize(places.div_ceil(2), Exchange::default());
        }
        let first = Seq::new(1);
        let end = End { is_new: true, sent: first, base: first, ..End::default() };
        self.ends[client.index()] = end;
        self.ends[client.peer().index()] = end;
        self.begin(client, now);
    }

    fn wrote(&mut self, id: EndpointId, now: Time) {
        let is_new = std::mem::replace(&mut self.ends[id.index()].is_new, false);
        if !id.is_server() && !is_new {
            self.begin(id, now);
        }
        let end = &mut self.ends[id.index()];
        end.first_flight = true;
        end.base = end.sent;
        self.note(id, self.event(id, What::Wrote));
    }

    fn sent(&mut self, packet: Packet<S::Options>, leaving: &Leaving<'_, S>) -> Packet<Self::Carried> {
        let Leaving { tcp, now, at_link } = *leaving;
        let (segment, from) = (packet.segment, packet.to.peer());
        let blame = self.current(self.ends[from.index()].now, from);
        debug_assert_eq!(blame.at(), now, "what is sent has a cause");
        let end = &mut self.ends[from.index()];
        let purpose = Explainer::purpose_of_way(end, &segment, tcp);
        let again = segment.span() > 0 && segment.seq < end.sent;
        end.sent = end.sent.max(segment.seq + segment.span());
        end.acked = segment.flags.contains(Flags::ACK).then_some(segment.ack);
        let what = if again { What::SentAgain } else { What::Sent };
        let moment = self.about(from, &segment, what, now);
        self.note(from, Moment { cwnd: tcp.congestion().cwnd(), ..moment });
        let approach = if from.is_server() { Part::Interface } else { purpose };
        self.flights.take_off(packet, Flight { blame, at_link, ways: [approach, purpose] })
    }

    fn lost<L: Link<Self::Carried>>(&mut self, packet: &Packet<Self::Carried>, link: &L, now: Time) {
        let (packet, flight) = self.flights.land(packet);
        let from = packet.to.peer();
        let cause =
            self.cause_of_drop(from.direction(), &link.counters().queue, flight.at_link == now);
        if flight.blame.is_of(self.epoch(from)) {
            self.exchanges[from.connection()].losses += 1;
            let moment = self.about(from, &packet.segment, What::Dropped(cause), now);
            self.note(from, Moment { place: Place::Link, ..moment });
        }
    }

    fn arrived(&mut self, packet: Packet<Self::Carried>, now: Time) -> Packet<S::Options> {
        let size = packet.size();
        let (packet, Flight { blame, at_link, ways: [approach, way] }) = self.flights.land(&packet);
        // Backwards from the arrival: the delay behind the link, the last bit on the wire, the first.
        let last_bit = Time::from_nanos(now.as_nanos() - self.delay.as_nanos());
        let (_, on_wire) = { self.transmitter }.send(size, Time::ZERO);
        let first_bit = Time::from_nanos(last_bit.as_nanos() - on_wire.as_nanos());
        let to = packet.to;
        let at_hand = self
            .current(blame, to)
            .then(approach, at_link)
            .then(Part::Queueing, first_bit)
            .then(Part::Transmission, last_bit)
            .then(way, now);
        let end = &mut self.ends[to.index()];
        end.now = at_hand;
        end.first_flight = false;
        end.answers_repair = way == Part::Recovery;
        if blame.is_of(self.epoch(to)) {
            let is_marked = packet.segment.flags.contains(Flags::CE);
            self.exchanges[to.connection()].marks += u32::from(is_marked);
            let what = if is_marked { What::ArrivedMarked } else { What::Arrived };
            let moment = self.about(to.peer(), &packet.segment, what, now);
            self.note(to, Moment { place: place_of(to), waited: first_bit - at_link, ..moment });
        }
        packet
    }

    fn expiring(&mut self, id: EndpointId, tcp: &Endpoint<S>, now: Time) {
        let end = &self.ends[id.index()];
        let is_opening = matches!(tcp.state(), State::SynSent | State::SynReceived);
        let ((_, set), part, what) = if tcp.retransmit_deadline() <= now {
            if is_opening {
                (end.retransmit, Part::SynTimeouts, What::SynTimeout)
            } else {
                (end.retransmit, Part::DataTimeouts, What::DataTimeout)
            }
        } else if tcp.delayed_ack_deadline() <= now {
            (end.delayed_ack, Part::DelayedAcks, What::DelayedAck)
        } else {
            return;
        };
        let expired = self.current(set, id).then(part, now);
        let end = &mut self.ends[id.index()];
        end.now = expired;
        end.first_flight = false;
        end.answers_repair &= what == What::DelayedAck;
        self.note(id, Moment { waited: now - set.at(), ..self.event(id, what) });
    }

    fn settled(&mut self, id: EndpointId, tcp: &Endpoint<S>) {
        let end = &mut self.ends[id.index()];
        let deadlines = [tcp.retransmit_deadline(), tcp.delayed_ack_deadline()];
        for (timer, deadline) in [&mut end.retransmit, &mut end.delayed_ack].into_iter().zip(deadlines) {
            if timer.0 != deadline {
                *timer = (deadline, end.now);
            }
        }
        let before = std::mem::replace(&mut end.recovery, tcp.recovery());
        let was_in_recovery = std::mem::replace(&mut end.in_recovery, tcp.in_recovery());
        let since = end.recovery - before;
        let happened = [
            (since.fast_retransmits > 0, What::FastRetransmit),
            (was_in_recovery && !tcp.in_recovery(), What::Recovered),
            (since.ecn_reductions > 0, What::Reduced),
        ];
        for (_, what) in happened.into_iter().filter(|&(happened, _)| happened) {
            self.note(id, Moment { cwnd: tcp.congestion().cwnd(), ..self.event(id, what) });
        }
    }

    fn completed(&mut self, client: EndpointId, row: &Row<'_>, tables: &mut Tables) {
        let blame = self.ends[client.index()].now;
        let took = row.exchange.response_time;
        assert_eq!(blame.sum(), took, "a part of a response time has no cause");
        self.note(client, self.event(client, What::Complete));
        let exchange = &self.exchanges[client.connection()];
        tables.explanations.push(row, &blame, [exchange.losses, exchange.marks]);
        self.timelines.completed(took, &exchange.moments, &mut tables.timelines);
    }
}
