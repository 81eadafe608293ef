//! A link between two connections, with a fate for each datagram. It checks the rules that a sender has to keep.

use std::collections::BTreeMap;

use aqmlab_units::{Duration, Stream, Time};

use super::oracle::Oracle;
use crate::congestion::CongestionControl;
use crate::quic::wire::Space;
use crate::quic::{Connection, Datagram};
use crate::{Event, Flags, Profile, State};

pub(super) fn ms(millis: u64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}

/// The fate of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Arrives,
    Marked,
    Lost,
    Copied,
    Delayed,
}

/// A datagram that was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) from_client: bool,
    pub(super) at: Time,
    /// Its number among those of its sender.
    pub(super) number: u32,
    pub(super) payload: u16,
}

type Fates = Box<dyn FnMut(&Sent) -> Fate>;

/// Two ends, and the datagrams between them.
pub(super) struct Link<C> {
    pub(super) client: Connection<C>,
    pub(super) server: Connection<C>,
    pub(super) now: Time,
    pub(super) log: Vec<Sent>,
    profile: Profile,
    pub(super) delay: Duration,
    network: BTreeMap<(Time, u64), (bool, Datagram, Flags)>,
    fates: Fates,
    dropped: Vec<(bool, u32)>,
    /// The last packet number of each space, by end.
    numbers: [[Option<u32>; 3]; 2],
    /// Bytes that the server has received and sent before it validated the client.
    unvalidated: (u32, u32),
    pub(super) events: Vec<(bool, Event)>,
    /// Follows the client's loss detection.
    pub(super) oracle: Option<Oracle>,
}

pub(super) fn client_and_server<C: CongestionControl>(profile: &Profile, delay: Time) -> Link<C> {
    Link::new(profile, delay)
}

impl<C: CongestionControl> Link<C> {
    pub(super) fn new(profile: &Profile, delay: Time) -> Link<C> {
        Link {
            client: Connection::connect(profile, Time::ZERO),
            server: Connection::listen(profile, Time::ZERO),
            now: Time::ZERO,
            log: Vec::new(),
            profile: profile.clone(),
            delay: delay - Time::ZERO,
            network: BTreeMap::new(),
            fates: Box::new(|_| Fate::Arrives),
            dropped: Vec::new(),
            numbers: [[None; 3]; 2],
            unvalidated: (0, 0),
            events: Vec::new(),
            oracle: None,
        }
    }

    pub(super) fn set_fates(&mut self, fates: impl FnMut(&Sent) -> Fate + 'static) {
        self.fates = Box::new(fates);
    }

    /// Lose the datagram `number` of an end.
    pub(super) fn drop_number(&mut self, from_client: bool, number: u32) {
        self.dropped.push((from_client, number));
    }

    /// Give datagrams random fates, by percentages.
    pub(super) fn randomize(&mut self, seed: u64, loss: u32, copies: u32, reordered: u32) {
        let mut stream = Stream::named(seed, "fates");
        self.set_fates(move |_| {
            let draw = stream.uniform() * 100.0;
            let bounds = [loss, loss + copies, loss + copies + reordered].map(f64::from);
            match bounds.iter().position(|&bound| draw < bound) {
                Some(0) => Fate::Lost,
                Some(1) => Fate::Copied,
                Some(_) => Fate::Delayed,
                None => Fate::Arrives,
            }
        });
    }

    pub(super) fn now_ms(&self) -> u64 {
        (self.now - Time::ZERO).as_micros() / 1000
    }

    /// The number of datagrams that an end has sent.
    pub(super) fn sent_by(&self, client: bool) -> u32 {
        u32::try_from(self.log.iter().filter(|sent| sent.from_client == client).count()).expect("few")
    }

    /// Run until an end has an event.
    pub(super) fn run_until_event(&mut self, at_client: bool, event: Event) {
        let limit = self.now + Duration::from_secs(100);
        while !self.events.contains(&(at_client, event)) {
            assert!(self.step(limit), "{event:?} never came");
        }
        self.events.clear();
    }

    /// Run until `until`.
    pub(super) fn run(&mut self, until: Time) {
        while self.step(until) {}
        self.now = self.now.max(until);
    }

    /// Handle what is next, not later than `until`. Returns false if there is nothing.
    fn step(&mut self, until: Time) -> bool {
        self.flush();
        let arrival = self.network.keys().next().map_or(Time::MAX, |&(at, _)| at);
        let timer = self.client.poll_timeout().min(self.server.poll_timeout());
        let next = arrival.min(timer);
        if until < next {
            return false;
        }
        self.now = self.now.max(next);
        let is_timer = timer < arrival;
        let are_done = [&self.client, &self.server].map(|end| is_timer && end.state() == State::TimeWait);
        let sent_before = self.log.len();
        if arrival <= timer {
            let (_, (to_client, datagram, flags)) = self.network.pop_first().expect("one arrives");
            if !to_client {
                self.unvalidated.0 = self.unvalidated.0.saturating_add(datagram.payload().into());
                if datagram.number(Space::Handshake).is_some() {
                    self.unvalidated.0 = u32::MAX / 8;
                }
            }
            if let (true, Some(ack), Some(oracle)) = (to_client, datagram.ack, &mut self.oracle) {
                let number = datagram.number(Space::Data).expect("it has an acknowledgement");
                if !self.client.spaces[Space::Data.index()].received.is_duplicate(number) {
                    oracle.on_ack_received(&ack, self.now);
                }
            }
            let end = if to_client { &mut self.client } else { &mut self.server };
            end.handle_datagram(&datagram, flags, self.now, &self.profile);
        } else {
            if let Some(oracle) = self.oracle.as_mut().filter(|_| self.client.loss_timer.is_due(self.now)) {
                oracle.on_loss_detection_timeout(self.now);
            }
            self.client.handle_timeout(self.now);
            self.server.handle_timeout(self.now);
        }
        for (at_client, end) in [(true, &mut self.client), (false, &mut self.server)] {
            while self.now < Time::MAX
                && let Some(event) = end.poll_event()
            {
                self.events.push((at_client, event));
            }
        }
        self.flush();
        for end in [&self.client, &self.server] {
            end.streams.check();
        }
        let mut sent = self.log[sent_before..].iter();
        assert!(sent.all(|sent| !are_done[usize::from(!sent.from_client)]), "an end that is done sends");
        if let Some(oracle) = &mut self.oracle {
            oracle.check(&self.client);
        }
        true
    }

    /// Send what the ends have to send.
    fn flush(&mut self) {
        for from_client in [true, false] {
            loop {
                let end = if from_client { &mut self.client } else { &mut self.server };
                let probes: u8 = end.spaces.iter().map(|space| space.probes).sum();
                let Some((datagram, flags)) = end.poll_transmit(self.now, &self.profile) else { break };
                let (in_flight, window) = (end.in_flight(), end.info().cwnd);
                let number = self.log.iter().filter(|sent| sent.from_client == from_client).count();
                let number = u32::try_from(number).expect("few");
                let sent = Sent { from_client, at: self.now, number, payload: datagram.payload() };
                self.log.push(sent);
                if let (true, Some(oracle)) = (from_client, &mut self.oracle)
                    && let Some(number) = datagram.number(Space::Data)
                    && datagram.frames(Space::Data).next().is_some()
                {
                    oracle.on_packet_sent(number, self.now);
                }
                self.check(&sent, &datagram, (probes, in_flight, window));
                self.forward(&sent, datagram, flags);
            }
        }
    }

    /// Packet numbers increase, probes alone exceed the window, and a server does not amplify.
    fn check(&mut self, sent: &Sent, datagram: &Datagram, (probes, in_flight, window): (u8, u32, u32)) {
        for space in Space::ALL {
            if let Some(number) = datagram.number(space) {
                let last = &mut self.numbers[usize::from(sent.from_client)][space.index()];
                assert!(last.is_none_or(|last| last < number), "number {number} after {last:?}");
                *last = Some(number);
            }
        }
        let carries_data = datagram.data() > 0;
        assert!(
            probes > 0 || !carries_data || in_flight <= window,
            "{in_flight} bytes in a window of {window}"
        );
        assert!(datagram.payload() <= self.profile.mss);
        if !sent.from_client {
            self.unvalidated.1 += u32::from(sent.payload);
            let (received, sent) = self.unvalidated;
            assert!(sent <= received.saturating_mul(3), "{sent} bytes for {received}");
        }
    }

    fn forward(&mut self, sent: &Sent, datagram: Datagram, flags: Flags) {
        let is_dropped = self.dropped.contains(&(sent.from_client, sent.number));
        let fate = if is_dropped { Fate::Lost } else { (self.fates)(sent) };
        let order = self.log.len() as u64;
        let late = Duration::from_nanos(self.delay.as_nanos() / 100 * 173);
        let mut arrive = |after: Duration, flags, order| {
            self.network.insert((self.now + after, order), (!sent.from_client, datagram, flags));
        };
        match fate {
            Fate::Arrives => arrive(self.delay, flags, 2 * order),
            Fate::Marked if flags == Flags::NONE => arrive(self.delay, flags, 2 * order),
            Fate::Marked => arrive(self.delay, flags | Flags::CE, 2 * order),
            Fate::Lost => {}
            Fate::Copied => {
                arrive(self.delay, flags, 2 * order);
                arrive(late, flags, 2 * order + 1);
            }
            Fate::Delayed => arrive(late, flags, 2 * order),
        }
    }
}
