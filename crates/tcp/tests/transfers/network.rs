//! Two endpoints and what lies between them, in a dull event loop that checks each segment sent.

use std::collections::BTreeMap;

use aqmlab_tcp::{
    Basic, CongestionControl, EcnPolicy, Endpoint, Event, Flags, Full, HeaderOptions, Profile, Scaled,
    Segment, Sender, Seq, State,
};
use aqmlab_units::Time;

/// The end that connects.
pub(crate) const CLIENT: usize = 0;
/// The end that listens.
pub(crate) const SERVER: usize = 1;

type InTransit<O> = BTreeMap<(Time, u64), (usize, Segment<O>)>;

/// Two ends and a path: when and how the copies of a segment that leaves an end arrive at the other.
pub(crate) struct Network<P, S: Sender = Basic> {
    pub(crate) ends: [End<S>; 2],
    pub(crate) now: Time,
    profiles: [Profile; 2],
    path: P,
    /// Segments in flight, by time of arrival and then in the order sent, with the end that they will reach.
    in_transit: InTransit<S::Options>,
    sent: u64,
}

pub(crate) struct End<S: Sender> {
    pub(crate) tcp: Endpoint<S>,
    pub(crate) events: Vec<Event>,
    /// Bytes written.
    pub(crate) written: u32,
    /// Bytes of data sent, with all repetitions.
    pub(crate) sent: u64,
    /// The highest acknowledgement that has arrived here.
    acked: Seq,
}

/// The bytes that a sender may have beyond the acknowledgement.
pub(crate) trait Bounded: Sender {
    fn most_in_flight(tcp: &Endpoint<Self>, profile: &Profile) -> u32;
}

impl Bounded for Basic {
    fn most_in_flight(tcp: &Endpoint<Basic>, profile: &Profile) -> u32 {
        tcp.congestion().cwnd().min(profile.receive_window)
    }
}

impl Bounded for Scaled {
    fn most_in_flight(tcp: &Endpoint<Scaled>, profile: &Profile) -> u32 {
        tcp.congestion().cwnd().min(profile.receive_window)
    }
}

/// With a scoreboard the congestion window bounds what is in the network; what has arrived out of order is not.
impl<C: CongestionControl + std::fmt::Debug + Send + 'static> Bounded for Full<C> {
    fn most_in_flight(tcp: &Endpoint<Self>, profile: &Profile) -> u32 {
        assert!(tcp.pipe() <= 2 * tcp.in_flight(), "each byte is in flight at most twice");
        profile.receive_window
    }
}

impl<P: FnMut(usize, Segment, Time) -> Vec<(Time, Segment)>> Network<P> {
    /// Two ends alike.
    pub(crate) fn new(profile: Profile, path: P) -> Network<P> {
        Network::between(profile, path)
    }
}

impl<S: Bounded, P: FnMut(usize, Segment<S::Options>, Time) -> Vec<(Time, Segment<S::Options>)>>
    Network<P, S>
{
    /// Two ends of stack `S`, alike.
    pub(crate) fn between(profile: Profile, path: P) -> Network<P, S> {
        Network::with_profiles([profile.clone(), profile], path)
    }

    /// A client and a server, of stack `S`.
    pub(crate) fn with_profiles(profiles: [Profile; 2], path: P) -> Network<P, S> {
        for profile in &profiles {
            profile.check().expect("a sensible profile");
        }
        let end = |tcp| End { tcp, events: vec![], written: 0, sent: 0, acked: Seq::ZERO };
        let ends = [
            end(Endpoint::connect(&profiles[0], Time::ZERO)),
            end(Endpoint::listen(&profiles[1], Time::ZERO)),
        ];
        let mut network =
            Network { ends, now: Time::ZERO, profiles, path, in_transit: BTreeMap::new(), sent: 0 };
        network.drain(CLIENT);
        network
    }

    pub(crate) fn write(&mut self, end: usize, bytes: u32) {
        self.ends[end].written = self.ends[end].written.wrapping_add(bytes);
        self.ends[end].tcp.write(bytes);
        self.drain(end);
    }

    pub(crate) fn close(&mut self, end: usize) {
        self.ends[end].tcp.close();
        self.drain(end);
    }

    /// The time of the next event.
    pub(crate) fn next_event(&self) -> Time {
        let arrival = self.in_transit.first_key_value().map_or(Time::MAX, |(&(at, _), _)| at);
        self.ends.iter().map(|end| end.tcp.poll_timeout()).fold(arrival, Time::min)
    }

    /// Let the next thing happen. A segment that arrives is returned with the end it has reached.
    pub(crate) fn step(&mut self) -> Option<(usize, Segment<S::Options>)> {
        self.now = self.next_event();
        assert!(self.now < Time::MAX, "nothing will ever happen again");
        if let Some(end) = (0..2).find(|&end| self.ends[end].tcp.poll_timeout() == self.now) {
            self.ends[end].tcp.handle_timeout(self.now, &self.profiles[end]);
            self.drain(end);
            return None;
        }
        let (_, (end, segment)) = self.in_transit.pop_first()?;
        self.ends[end].acked = self.ends[end].acked.max(segment.ack);
        self.ends[end].tcp.handle_segment(&segment, self.now, &self.profiles[end]);
        self.drain(end);
        Some((end, segment))
    }

    /// Send what there is to send, and check what must hold after each call.
    fn drain(&mut self, from: usize) {
        let end = &mut self.ends[from];
        let profile = &self.profiles[from];
        while let Some(segment) = end.tcp.poll_transmit(self.now, profile) {
            if segment.len > 0 {
                end.sent += u64::from(segment.len);
                let last = segment.seq + u32::from(segment.len);
                let window = S::most_in_flight(&end.tcp, &self.profiles[1 - from]);
                let full = u32::from(segment.len) + u32::from(segment.options.len());
                assert!(full <= u32::from(profile.mss), "{full} bytes of data and options");
                assert!(last - end.acked <= window, "sent {} of a window of {window}", last - end.acked);
                assert!(last <= Seq::new(1) + end.written, "sent up to {last:?}, beyond what was written");
            }
            for (arrival, copy) in (self.path)(from, segment, self.now) {
                self.sent += 1;
                self.in_transit.insert((arrival, self.sent), (1 - from, copy));
            }
        }
        end.events.extend(std::iter::from_fn(|| end.tcp.poll_event()));
        assert!(self.now < end.tcp.poll_timeout(), "a timer that has expired runs no more");
        let waits = end.tcp.in_flight() > 0 && !matches!(end.tcp.state(), State::Closed | State::Listen);
        // The wait of ECN+/Wait has nothing in flight.
        let is_waiting_after_mark = profile.ecn == EcnPolicy::PlusWait && end.tcp.in_flight() == 0;
        assert!(
            is_waiting_after_mark || (end.tcp.retransmit_deadline() < Time::MAX) == waits,
            "the timer runs if and only if something is unacknowledged"
        );
    }
}

/// The segment with the mark that a router gives to one that is ECN-capable.
pub(crate) fn marked<O>(segment: Segment<O>) -> Segment<O> {
    let mark = if segment.flags.intersects(Flags::ECT | Flags::ECT1) { Flags::CE } else { Flags::NONE };
    Segment { flags: segment.flags | mark, ..segment }
}
