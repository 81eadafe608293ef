//! The explainer's reaction to each event.

use aqmlab_tcp::{CongestionControl, Endpoint, Flags, Sender, Seq, State, TimerKind};
use aqmlab_units::{Bytes, Duration, Time};
use aqmlab_workload::pages::{Fetched, PageLoad};

use super::attribution::Part;
use super::timeline::{Cause, EventKind, Location, TimelineEvent};
use super::timers::meaning;
use super::transit::{Tagged, Transit};
use super::{ConnectionTrace, EndpointTrace, Explainer, place_of};
use crate::engine::UserId;
use crate::engine::observer::{ConnectionUse, Observer, Transmission, Written};
use crate::link::Link;
use crate::packet::{EndpointId, Owner, Packet};
use crate::record::{ExchangeRow, Tables};
use crate::side::Direction;

impl<I> Explainer<I> {
    /// Notes the reactions of an endpoint to an event.
    fn note_reactions<S: Sender>(&mut self, id: EndpointId, tcp: &Endpoint<S>) {
        let end = &mut self.ends[id.index()];
        let before = std::mem::replace(&mut end.recovery, tcp.recovery());
        let was_in_recovery = std::mem::replace(&mut end.in_recovery, tcp.in_recovery());
        let happened = [
            (before.fast_retransmits < end.recovery.fast_retransmits, EventKind::FastRetransmit),
            (was_in_recovery && !tcp.in_recovery(), EventKind::Recovered),
            (before.ecn_reductions < end.recovery.ecn_reductions, EventKind::Reduced),
        ];
        for (_, what) in happened.into_iter().filter(|&(happened, _)| happened) {
            self.note(id, TimelineEvent { cwnd: tcp.congestion().cwnd(), ..self.event(id, what) });
        }
    }
}

impl<I> Explainer<I> {
    /// Returns the cause of the drop that a link of `direction` reports now; `on_arrival`: the packet had just arrived.
    fn cause_of_drop<O>(&mut self, links: &impl Link<O>, direction: Direction, on_arrival: bool) -> Cause {
        // The links of a chain report their drops in this order.
        (0..self.drops.len())
            .find_map(|hop| {
                let counters = links.meter(hop).expect("there is a link").counters();
                self.drops[hop][direction.index()].cause(&counters.queue, on_arrival)
            })
            .expect("a queue counts what it drops")
    }
}

/// Returns the moment `duration` before `time`.
fn before(time: Time, duration: Duration) -> Time {
    Time::from_nanos(time.as_nanos() - duration.as_nanos())
}

impl<S: Sender, I: Observer<S>> Observer<S> for Explainer<I> {
    type PacketTag = Tagged<I::PacketTag>;

    fn opened(&mut self, client: EndpointId, owner: Owner, serves: ConnectionUse, now: Time) {
        let places = client.peer().index().max(client.index()) + 1;
        if self.ends.len() < places {
            self.ends.resize(places, EndpointTrace::default());
            self.connections.resize(places.div_ceil(2), ConnectionTrace::default());
        }
        let end = EndpointTrace { base: Seq::new(1), ..EndpointTrace::default() };
        self.ends[client.index()] = end.clone();
        self.ends[client.peer().index()] = end;
        let connection = &mut self.connections[client.connection()];
        (connection.owner, connection.serves, connection.is_new) = (owner, serves, true);
        connection.is_explained = self.owners.contains(&owner);
        if let ConnectionUse::Page(user) = serves {
            self.join_page(client, user);
        } else {
            self.begin(client, now);
        }
    }

    fn wrote(&mut self, id: EndpointId, what: Written, now: Time) {
        let connection = &mut self.connections[id.connection()];
        let is_new = std::mem::replace(&mut connection.is_new, false);
        if connection.serves == ConnectionUse::Exchanges && !is_new && !id.is_server() {
            self.begin(id, now);
            for end in [id, id.peer()] {
                let end = &mut self.ends[end.index()];
                end.base = end.sent;
            }
        }
        let connection = &self.connections[id.connection()];
        let last_event = match connection.serves {
            ConnectionUse::Exchanges => &connection.now,
            ConnectionUse::Page(user) => &self.pages[user.index()].now,
        };
        let end = &mut self.ends[id.index()];
        end.now = last_event.clone().then(Part::Application, now);
        end.written = Some(what);
        self.note(id, self.event(id, EventKind::Wrote));
    }

    fn began_page(&mut self, user: UserId, now: Time) {
        self.begin_page(user, now);
    }

    fn passed_to_application(&mut self, id: EndpointId, now: Time) {
        // QUIC gives up an idle connection by a timer that it does not show.
        let event = self.current(self.ends[id.index()].now.clone(), id).then(Part::DataTimeouts, now);
        match self.connections[id.connection()].serves {
            ConnectionUse::Exchanges => self.connections[id.connection()].now = event,
            ConnectionUse::Page(user) => self.reach_browser(user, id, event),
        }
    }

    fn fetched(&mut self, user: UserId, resource: &Fetched) {
        self.add_resource(user, resource);
    }

    fn loaded(&mut self, user: UserId, load: &PageLoad, tables: &mut Tables) {
        if self.owners.contains(&Owner::USERS) {
            self.end_page(user, load, tables);
        }
    }

    fn sent(
        &mut self,
        packet: Packet<S::Options>,
        transmission: &Transmission<'_, S>,
    ) -> Packet<Self::PacketTag> {
        let Transmission { tcp, now, first_bit, at_link } = *transmission;
        let (segment, from) = (packet.segment, packet.to.peer());
        self.note_reactions(from, tcp);
        let attribution = self.current(self.ends[from.index()].now.clone(), from);
        let end = &mut self.ends[from.index()];
        let way = Explainer::<I>::purpose_of_way(end, &segment, tcp);
        let again = end.has_sent(&segment);
        end.sent = end.sent.max(segment.seq + segment.span());
        end.acked = segment.flags.contains(Flags::ACK).then_some(segment.ack);
        let what = if again { EventKind::SentAgain } else { EventKind::Sent };
        let event = self.about(from, &segment, what, now);
        self.note(from, TimelineEvent { cwnd: tcp.congestion().cwnd(), ..event });
        let packet = self.inner.sent(packet, transmission);
        self.in_transit.depart(packet, Transit { attribution, first_bit, at_link, way })
    }

    fn lost<L: Link<Self::PacketTag>>(&mut self, packet: &Packet<Self::PacketTag>, link: &L, now: Time) {
        let direction = packet.to.peer().direction();
        if packet.to.is_datagram() {
            self.cause_of_drop(link, direction, true);
            return;
        }
        let (packet, transit) = self.in_transit.arrive(packet);
        // It takes the packet out of the network, whether it has come to its receiver or not.
        let packet = self.inner.arrived(packet, now);
        let from = packet.to.peer();
        let cause = self.cause_of_drop(link, direction, transit.at_link == now);
        let epoch = self.epoch(from);
        if transit.attribution.is_of(epoch) {
            if let Some(incidents) = self.incidents(from, epoch) {
                incidents.losses += 1;
            }
            let event = self.about(from, &packet.segment, EventKind::Dropped(cause), now);
            self.note(from, TimelineEvent { place: Location::Link, ..event });
        }
    }

    fn arrived(&mut self, packet: Packet<Self::PacketTag>, now: Time) -> Packet<S::Options> {
        let size = packet.size();
        let (packet, Transit { attribution, first_bit, at_link, way }) = self.in_transit.arrive(&packet);
        let to = packet.to;
        let owner = self.connections[to.connection()].owner;
        let idle = self.paths.idle_time(owner, to.peer().direction(), size);
        // Backwards from the arrival: the delay behind the link, the last bit on the wire, its first. Over several links
        // they are moments of no event, whose distances are the sums over the links.
        let last_bit = before(now, idle.propagation);
        let on_link = before(last_bit, idle.transmission);
        let is_current = attribution.is_of(self.epoch(to));
        let at_hand = self
            .current(attribution, to)
            .then(Part::Interface, first_bit)
            .then(way, at_link)
            .then(Part::Queueing, on_link)
            .then(Part::Transmission, last_bit)
            .then(way, now);
        let end = &mut self.ends[to.index()];
        end.now = at_hand;
        end.written = None;
        let packet = self.inner.arrived(packet, now);
        let epoch = self.epoch(to);
        if is_current {
            let is_marked = packet.segment.flags.contains(Flags::CE);
            if let Some(incidents) = self.incidents(to, epoch) {
                incidents.marks += u32::from(is_marked);
            }
            let what = if is_marked { EventKind::ArrivedMarked } else { EventKind::Arrived };
            let event = self.about(to.peer(), &packet.segment, what, now);
            self.note(to, TimelineEvent { place: place_of(to), waited: on_link - at_link, ..event });
        }
        packet
    }

    fn expiring(&mut self, id: EndpointId, tcp: &Endpoint<S>, now: Time) {
        let Some((kind, set)) = self.ends[id.index()].timers.expired(tcp.deadlines(), now) else { return };
        let is_opening = matches!(tcp.state(), State::SynSent | State::SynReceived);
        let (part, what) = meaning(kind, is_opening);
        let set_at = set.at();
        let expired = self.current(set, id).then(part, now);
        let end = &mut self.ends[id.index()];
        end.now = expired;
        // What is paced belongs to the flight that it was written for.
        if kind != TimerKind::Pacing {
            end.written = None;
        }
        // QUIC reports by a timer without a wait that early data may be written.
        if let Some(what) = what.filter(|_| set_at < now) {
            self.note(id, TimelineEvent { waited: now - set_at, ..self.event(id, what) });
        }
    }

    fn settled(&mut self, id: EndpointId, tcp: &Endpoint<S>) {
        let end = &mut self.ends[id.index()];
        end.timers.are(tcp.deadlines(), &end.now);
        self.note_reactions(id, tcp);
    }

    fn completed(&mut self, client: EndpointId, row: &ExchangeRow<'_>, tables: &mut Tables) {
        let ConnectionTrace { is_explained, now, .. } = &self.connections[client.connection()];
        if !is_explained {
            return;
        }
        let (parts, took) = (now.parts(), row.exchange.response_time);
        assert_eq!(parts.sum(), took, "a part of a response time has no cause");
        let is_upload = row.exchange.response == Bytes::ZERO;
        let end = if is_upload { client.peer() } else { client };
        self.note(end, self.event(end, EventKind::Complete));
        let ConnectionTrace { owner, incidents, .. } = &self.connections[client.connection()];
        tables.explanations.push(row, *owner, &parts, incidents);
        self.timelines.completed(took, &incidents.events, &mut tables.timelines);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use aqmlab_aqm::{Aqm, Fifo, Limit, QueueState, Verdict};
    use aqmlab_tcp::{Basic, Profile, Segment};
    use aqmlab_units::{BitRate, Duration};
    use proptest::prelude::*;

    use super::*;
    use crate::explain::{Paths, TimelineRequest};
    use crate::link::{Queued, Wire};
    use crate::side::Side;
    use crate::spec::{LinkSpec, RateSpec};

    /// Writes down how long each packet waited, by its flow.
    struct Stopwatch(Arc<Mutex<Vec<(u32, Duration)>>>);

    impl Aqm for Stopwatch {
        fn on_dequeue(
            &mut self,
            pkt: &aqmlab_aqm::Packet,
            enqueued_at: Time,
            _queue: QueueState,
            now: Time,
        ) -> Verdict {
            self.0.lock().expect("one thread").push((pkt.flow, now - enqueued_at));
            Verdict::Pass
        }
    }

    proptest! {
        /// Without a device FIFO a packet's wait is all in the discipline's queue, which knows it.
        #[test]
        fn queueing_is_what_the_queue_itself_measures(
            steps in prop::collection::vec((0..400_000u64, 0..1_461u16), 1..200),
        ) {
            let spec = LinkSpec { rate: RateSpec::from(BitRate::from_mbit_per_sec(10)).into(), device_fifo: 0, ..LinkSpec::default() };
            let waited = Arc::new(Mutex::new(Vec::new()));
            let wire = Wire { context: spec.context(), delay: spec.delay, device_fifo: 0, owners: 0 };
            let law = Stopwatch(Arc::clone(&waited));
            let mut link = Queued::new(Fifo::new(law, Limit::Packets(1_000)), &wire);
            let mut explainer = Explainer::new(Paths::new([&spec], Vec::new()), vec![Owner::USERS], TimelineRequest::default(), ());
            let profile = Profile::freebsd_4_5();
            let tcp: Endpoint = Endpoint::connect(&profile, Time::ZERO);
            let mut now = Time::ZERO;
            for (client, &(after, len)) in (0..).map(|slot| EndpointId::client(slot, Side::default())).zip(&steps) {
                now += Duration::from_nanos(after);
                Observer::<Basic>::opened(&mut explainer, client, Owner::USERS, ConnectionUse::Exchanges, now);
                let segment = Segment { seq: Seq::new(1), len, ..Segment::default() };
                let transmission = Transmission { tcp: &tcp, now, first_bit: now, at_link: now };
                let packet = explainer.sent(Packet { to: client.peer(), segment }, &transmission);
                link.arrive(&packet, now);
            }
            let mut explained = Vec::new();
            while link.next_delivery() < Time::MAX {
                let at = link.next_delivery();
                let packet: Packet = Observer::<Basic>::arrived(&mut explainer, link.deliver(), at);
                explained.push(packet.to);
            }
            let queueing = explained.iter().map(|&to| {
                (to.number(), explainer.ends[to.index()].now.parts().of(Part::Queueing))
            });
            prop_assert_eq!(queueing.collect::<Vec<_>>(), waited.lock().expect("one thread").clone());
        }
    }

    #[test]
    fn a_loss_counts_for_the_exchange_that_the_packet_was_sent_in() {
        for begins_another in [false, true] {
            let spec = LinkSpec { device_fifo: 0, ..LinkSpec::default() };
            let wire = Wire { context: spec.context(), delay: spec.delay, device_fifo: 0, owners: 0 };
            let law = Stopwatch(Arc::default());
            let mut link = Queued::new(Fifo::new(law, Limit::Packets(1)), &wire);
            let mut explainer = Explainer::new(
                Paths::new([&spec], Vec::new()),
                vec![Owner::USERS],
                TimelineRequest::default(),
                (),
            );
            let (client, now) = (EndpointId::client(0, Side::default()), Time::ZERO);
            let tcp: Endpoint = Endpoint::connect(&Profile::freebsd_4_5(), now);
            Observer::<Basic>::opened(&mut explainer, client, Owner::USERS, ConnectionUse::Exchanges, now);
            Observer::<Basic>::wrote(&mut explainer, client, Written::Content, now);
            // One is being sent, one waits.
            for _ in 0..3 {
                let transmission = Transmission { tcp: &tcp, now, first_bit: now, at_link: now };
                let packet = Packet { to: client.peer(), segment: Segment::default() };
                link.arrive(&explainer.sent(packet, &transmission), now);
            }
            if begins_another {
                Observer::<Basic>::wrote(&mut explainer, client, Written::Content, now);
            }
            let packet = link.pop_drop().expect("the queue is full");
            Observer::<Basic>::lost(&mut explainer, &packet, &link, now);
            let losses = explainer.connections[client.connection()].incidents.losses;
            assert_eq!(losses, u32::from(!begins_another));
        }
    }
}
