//! What limits the connections of each owner, and for how long.
//!
//! An endpoint knows what it waits for at the moment. A connection keeps that in three bits of each end; times are kept by
//! owner alone, as sums: a connection that begins to be limited subtracts the time, one that ends adds it. So nothing happens
//! until what limits a connection changes.

use aqmlab_tcp::{LimitedBy, Sender};
use aqmlab_units::Time;

use super::connections::Connections;
use crate::packet::{EndpointId, Owner};
use crate::summary::LimitedByPercent;

/// The place of the interface, behind those of [`LimitedBy`].
const INTERFACE: usize = LimitedBy::Pacing as usize + 1;

/// How long so many connections, one after the other or at a time, have been in one state.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    running: u64,
    /// Nanoseconds, modulo 2^64, without the time of now for each that runs.
    sum: u64,
}

impl Clock {
    fn start(&mut self, at: Time) {
        self.running += 1;
        self.sum = self.sum.wrapping_sub(at.as_nanos());
    }

    fn stop(&mut self, at: Time) {
        self.running -= 1;
        self.sum = self.sum.wrapping_add(at.as_nanos());
    }

    fn add(&mut self, from: Time, until: Time) {
        self.sum = self.sum.wrapping_add(until.saturating_since(from).as_nanos());
    }

    fn at(&self, now: Time) -> u64 {
        self.sum.wrapping_add(self.running.wrapping_mul(now.as_nanos()))
    }
}

type Clocks = [Clock; INTERFACE + 1];

/// Nanoseconds by what limited an owner's connections, in the order of [`LimitedBy`] and with the interface last.
type Spans = [u64; INTERFACE + 1];

/// The clocks of all owners.
#[derive(Debug)]
pub(super) struct Limits {
    /// By owner.
    clocks: Vec<Clocks>,
    /// What they had come to when the measured window began.
    before: Vec<Spans>,
}

/// What limits an open connection, and until when its interface does, perhaps in the past.
#[derive(Clone, Copy, Debug)]
struct Limited {
    by: LimitedBy,
    interface_until: Time,
}

impl Limits {
    pub(super) fn new(owners: usize) -> Limits {
        Limits { clocks: vec![Clocks::default(); owners], before: vec![Spans::default(); owners] }
    }

    fn started(&mut self, owner: Owner, limited: Limited, now: Time) {
        let clocks = &mut self.clocks[owner.index()];
        clocks[limited.by as usize].start(limited.interface_until.max(now));
        clocks[INTERFACE].add(now, limited.interface_until);
    }

    fn changed(&mut self, owner: Owner, before: Limited, after: Limited, now: Time) {
        self.stopped(owner, before, now);
        let clocks = &mut self.clocks[owner.index()];
        clocks[INTERFACE].add(before.interface_until.max(now), after.interface_until);
        clocks[after.by as usize].start(after.interface_until.max(now));
    }

    fn stopped(&mut self, owner: Owner, limited: Limited, now: Time) {
        self.clocks[owner.index()][limited.by as usize].stop(limited.interface_until.max(now));
    }

    /// By owner, in the order of [`LimitedBy`]; `open` are the connections that are open `now`.
    fn spans(&self, open: impl Iterator<Item = (Owner, Limited)>, now: Time) -> Vec<Spans> {
        let at = |clocks: &Clocks| clocks.each_ref().map(|clock| clock.at(now));
        let mut spans: Vec<Spans> = self.clocks.iter().map(at).collect();
        for (owner, limited) in open {
            // The clocks know already of the time until the interface has caught up.
            let ahead = limited.interface_until.saturating_since(now).as_nanos();
            let spans = &mut spans[owner.index()];
            spans[INTERFACE] = spans[INTERFACE].wrapping_sub(ahead);
            spans[limited.by as usize] = spans[limited.by as usize].wrapping_add(ahead);
        }
        spans
    }
}

/// In per cent of all.
fn shares(before: &Spans, after: &Spans) -> Option<LimitedByPercent> {
    let spans: Vec<f64> =
        after.iter().zip(before).map(|(after, before)| after.wrapping_sub(*before) as f64).collect();
    let open: f64 = spans.iter().sum();
    let share = |place: usize| 100.0 * spans[place] / open;
    (open > 0.0).then(|| LimitedByPercent {
        application: share(LimitedBy::Application as usize),
        receive_window: share(LimitedBy::ReceiveWindow as usize),
        congestion_window: share(LimitedBy::CongestionWindow as usize),
        recovery: share(LimitedBy::Recovery as usize),
        pacing: share(LimitedBy::Pacing as usize),
        interface: share(INTERFACE),
    })
}

impl<S: Sender> Connections<S> {
    /// The handshake of this client's connection is complete: it is limited by something from now on.
    pub(super) fn begin_limits(&mut self, client: EndpointId, now: Time) {
        let session = self.session_mut(client);
        session.is_established = true;
        let owner = session.owner();
        self.limits.started(owner, self.limited(client.connection()), now);
    }

    /// The end `id` is limited `by` this from now on, and the connection first by an interface until then.
    pub(super) fn note_limit(&mut self, id: EndpointId, by: LimitedBy, interface_until: Time, now: Time) {
        let before = self.limited(id.connection());
        if by == self.socket(id).limited_by() && interface_until <= now {
            return;
        }
        self.socket_mut(id).set_limited_by(by);
        let session = self.session_mut(id);
        session.interface_until = session.interface_until.max(interface_until);
        if session.is_established {
            let owner = session.owner();
            self.limits.changed(owner, before, self.limited(id.connection()), now);
        }
    }

    /// A connection is over.
    pub(super) fn end_limits(&mut self, id: EndpointId, now: Time) {
        let last = self.limited(id.connection());
        let session = self.session_mut(id);
        if std::mem::replace(&mut session.is_established, false) {
            let owner = session.owner();
            self.limits.stopped(owner, last, now);
        }
    }

    /// What limits connection `number`: the end that has something to send.
    fn limited(&self, number: usize) -> Limited {
        let ([client, server], session) = self.ends(number);
        let by = match server.limited_by() {
            LimitedBy::Application => client.limited_by(),
            other => other,
        };
        Limited { by, interface_until: session.interface_until }
    }

    /// The measured window begins.
    pub(super) fn begin_window_of_limits(&mut self, now: Time) {
        self.limits.before = self.spans(now);
    }

    /// What limited each owner's connections in the measured window so far.
    pub(super) fn limited_by_percent(&self, now: Time) -> Vec<Option<LimitedByPercent>> {
        let after = self.spans(now);
        self.limits.before.iter().zip(&after).map(|(before, after)| shares(before, after)).collect()
    }

    fn spans(&self, now: Time) -> Vec<Spans> {
        let open = self.established().map(|number| (self.ends(number).1.owner(), self.limited(number)));
        self.limits.spans(open, now)
    }

    /// Each open connection is limited by one thing at a time.
    pub(super) fn check_limits(&self) {
        let mut open = vec![0; self.limits.clocks.len()];
        for number in self.established() {
            open[self.ends(number).1.owner().index()] += 1;
        }
        let running = |clocks: &Clocks| clocks.iter().map(|clock| clock.running).sum::<u64>();
        assert!(
            self.limits.clocks.iter().map(running).eq(open),
            "an open connection is limited by one thing"
        );
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const EACH: [LimitedBy; INTERFACE] = [
        LimitedBy::Application,
        LimitedBy::ReceiveWindow,
        LimitedBy::CongestionWindow,
        LimitedBy::Recovery,
        LimitedBy::Pacing,
    ];

    /// Steps of one connection: after so many nanoseconds it is limited by this, and by its interface for so long.
    fn steps() -> impl Strategy<Value = Vec<(u64, usize, u64)>> {
        prop::collection::vec((0..50u64, 0..INTERFACE, prop_oneof![Just(0), 0..80u64]), 1..20)
    }

    proptest! {
        #[test]
        fn spans_are_those_of_looking_at_each_nanosecond(steps in steps(), begin in 0..200u64, length in 0..400u64) {
            let (owner, mut limits) = (Owner::USERS, Limits::new(1));
            let (begin, end) = (Time::from_nanos(begin), Time::from_nanos(begin + length));
            let mut limited = Limited { by: LimitedBy::Application, interface_until: Time::ZERO };
            limits.started(owner, limited, Time::ZERO);
            let (mut now, mut dull, mut before) = (0, Spans::default(), None);
            let changes = steps.into_iter().scan(0, |at, (after, by, backlog)| {
                *at += after;
                Some((*at, by, backlog))
            });
            let mut changes = changes.peekable();
            while now <= end.as_nanos() {
                let time = Time::from_nanos(now);
                if time == begin {
                    before = Some(limits.spans(std::iter::once((owner, limited)), time));
                }
                if time == end {
                    break;
                }
                while let Some((_, by, backlog)) = changes.next_if(|&(at, ..)| at == now) {
                    let interface_until = limited.interface_until.max(Time::from_nanos(now + backlog));
                    let after = Limited { by: EACH[by], interface_until };
                    limits.changed(owner, limited, after, time);
                    limited = after;
                }
                if begin <= time {
                    dull[if time < limited.interface_until { INTERFACE } else { limited.by as usize }] += 1;
                }
                now += 1;
            }
            let after = limits.spans(std::iter::once((owner, limited)), end);
            let before = before.expect("the window has begun");
            let spans: Vec<u64> = after[0].iter().zip(before[0]).map(|(after, before)| after.wrapping_sub(before)).collect();
            prop_assert_eq!(&spans[..], &dull[..]);
            prop_assert_eq!(spans.iter().sum::<u64>(), length, "a connection is limited by one thing at a time");
            limits.stopped(owner, limited, end);
            prop_assert_eq!(limits.spans(std::iter::empty(), end)[0].iter().fold(0, |sum: u64, span| sum.wrapping_add(*span)), end.as_nanos().max(limited.interface_until.as_nanos()));
        }
    }
}
