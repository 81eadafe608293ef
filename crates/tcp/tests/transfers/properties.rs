//! Under any loss, duplication, delay, reordering and marking both streams arrive, in order and complete, and
//! both ends close.

use aqmlab_tcp::{Basic, EcnPolicy, Event, Full, Profile, Scaled, Segment, Seq, State, WindowScale};
use aqmlab_units::{Duration, Time};
use proptest::prelude::*;

use crate::network::{Bounded, CLIENT, Network, SERVER, marked};

/// The fate of one segment. When the script of fates has been played, nothing more goes wrong.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fate {
    pub(crate) copies: usize,
    pub(crate) delay_ms: u64,
    pub(crate) mark: bool,
}

pub(crate) const UNHARMED: Fate = Fate { copies: 1, delay_ms: 50, mark: false };

/// Something the application at one end does, so long after what was done before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    end: usize,
    after_ms: u64,
    bytes: u32,
}

pub(crate) fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let copies = prop_oneof![2 => Just(0usize), 7 => Just(1), 1 => Just(2)];
    let fate = (copies, 1u64..300, prop::bool::weighted(0.3));
    let fate = fate.prop_map(|(copies, delay_ms, mark)| Fate { copies, delay_ms, mark });
    prop::collection::vec(fate, 0..200)
}

pub(crate) fn writes() -> impl Strategy<Value = Vec<Write>> {
    let write = (0usize..2, 0u64..3000, 1u32..20_000);
    let write = write.prop_map(|(end, after_ms, bytes)| Write { end, after_ms, bytes });
    prop::collection::vec(write, 0..12)
}

/// Stacks of many kinds, which never give up.
pub(crate) fn profile() -> impl Strategy<Value = Profile> {
    let sizes = (100u16..1500, 1u16..12, 0u16..100);
    let switches = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (sizes, switches, 1u8..4, 1u8..4, 200u64..1500).prop_map(
        |((mss, segments, rest), (ecn, nagle, restart, opens), initial_window, ack_every, min_rto_ms)| {
            Profile {
                mss,
                receive_window: u32::from(mss * segments + rest),
                initial_window,
                ack_every,
                ecn: if ecn { EcnPolicy::Rfc3168 } else { EcnPolicy::Off },
                nagle,
                restart_after_idle: restart,
                handshake_ack_opens_window: opens,
                min_rto: Duration::from_millis(min_rto_ms),
                connect_timeout: Duration::from_secs(100_000),
                syn_ack_retransmits: 16,
                data_retransmits: 200,
                ..Profile::freebsd_4_5()
            }
        },
    )
}

/// The same with window scaling, and windows that take it.
pub(crate) fn wide_profile() -> impl Strategy<Value = Profile> {
    (profile(), prop_oneof![Just(1u32), Just(16), Just(1000)]).prop_map(|(profile, larger)| Profile {
        window_scaling: true,
        receive_window: profile.receive_window * larger,
        ..profile
    })
}

/// The same with what only a modern stack has.
fn modern_profile() -> impl Strategy<Value = Profile> {
    let switches = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (profile(), switches, 0u8..20, prop_oneof![Just(1u32), Just(16)]).prop_map(
        |(profile, (sack, rack, frto, timestamps, window_scaling, newreno), quick_acks, larger)| Profile {
            sack,
            rack: rack && sack,
            frto,
            timestamps,
            window_scaling,
            newreno,
            quick_acks,
            receive_window: if window_scaling {
                profile.receive_window * larger
            } else {
                profile.receive_window
            },
            ..profile
        },
    )
}

/// The bytes of one stream that have arrived, kept the dull way.
struct Arrived(Vec<bool>);

impl Arrived {
    fn note<O>(&mut self, segment: &Segment<O>) {
        let first = (segment.seq.get() as usize).saturating_sub(1);
        let last = first + usize::from(segment.len);
        if self.0.len() < last {
            self.0.resize(last, false);
        }
        self.0[first..last].fill(true);
    }

    /// The number that have arrived without a gap.
    fn in_order(&self) -> usize {
        self.0.iter().take_while(|&&arrived| arrived).count()
    }
}

type Sent<O> = Vec<(Time, Segment<O>)>;

/// Play a connection to its end: writes, then each end's close. After each arrival exactly the bytes that have
/// arrived without a gap count as received.
pub(crate) fn play<S, P>(network: &mut Network<P, S>, writes: &[Write])
where
    S: Bounded,
    P: FnMut(usize, Segment<S::Options>, Time) -> Sent<S::Options>,
{
    let total = |end| writes.iter().filter(|write| write.end == end).map(|write| write.bytes).sum();
    let totals: [u32; 2] = [total(CLIENT), total(SERVER)];
    for end in [CLIENT, SERVER] {
        if totals[1 - end] > 0 {
            network.ends[end].tcp.await_data(totals[1 - end]);
        }
    }
    let mut arrived = [Arrived(vec![]), Arrived(vec![])];
    let mut steps = 0;
    let mut step = |network: &mut Network<P, S>| {
        steps += 1;
        assert!(steps < 100_000, "the connection never comes to an end");
        let Some((end, segment)) = network.step() else { return };
        arrived[end].note(&segment);
        let at = &network.ends[end];
        let opened = usize::from(at.events.contains(&Event::Opened));
        let peer_closed = usize::from(at.events.contains(&Event::PeerClosed));
        if opened == 1 {
            assert_eq!(at.tcp.received().get() as usize, 1 + arrived[end].in_order() + peer_closed);
        }
    };
    let mut due = Time::ZERO;
    let closes = [Write { end: CLIENT, after_ms: 0, bytes: 0 }, Write { end: SERVER, after_ms: 0, bytes: 0 }];
    for write in writes.iter().chain(&closes) {
        due += Duration::from_millis(write.after_ms);
        while network.next_event() <= due || !network.ends[write.end].events.contains(&Event::Opened) {
            step(network);
        }
        network.now = network.now.max(due);
        match write.bytes {
            0 => network.close(write.end),
            bytes => network.write(write.end, bytes),
        }
    }
    while network.next_event() < Time::MAX {
        step(network);
    }
    for end in [CLIENT, SERVER] {
        let at = &network.ends[end];
        assert!(matches!(at.tcp.state(), State::Closed | State::TimeWait), "{:?}", at.tcp.state());
        assert_eq!(at.tcp.received().get(), 1 + totals[1 - end] + 1, "all data and the FIN");
        let expected: &[Event] = if totals[1 - end] > 0 {
            &[Event::Opened, Event::Received, Event::PeerClosed]
        } else {
            &[Event::Opened, Event::PeerClosed]
        };
        assert_eq!(at.events, expected);
    }
}

/// Play a connection between ends of these profiles over a path that does this to one segment after the other.
pub(crate) fn arrives_complete<S: Bounded>(profiles: [Profile; 2], fates: Vec<Fate>, writes: &[Write]) {
    let mut fates = fates.into_iter();
    let mut network = Network::<_, S>::with_profiles(profiles, move |_, segment, now| {
        let fate = fates.next().unwrap_or(UNHARMED);
        let segment = if fate.mark { marked(segment) } else { segment };
        vec![(now + Duration::from_millis(fate.delay_ms), segment); fate.copies]
    });
    play(&mut network, writes);
}

/// Play a connection between two ends alike over a path of 50 ms that loses nothing and marks as the fates say.
pub(crate) fn play_marked(
    profile: Profile,
    fates: Vec<Fate>,
    writes: &[Write],
) -> Network<impl FnMut(usize, Segment, Time) -> Sent<WindowScale>> {
    let mut fates = fates.into_iter();
    let mut network = Network::new(profile, move |_, segment, now| {
        let mark = fates.next().is_some_and(|fate| fate.mark);
        let segment = if mark { marked(segment) } else { segment };
        vec![(now + Duration::from_millis(50), segment)]
    });
    play(&mut network, writes);
    network
}

/// The segments of both ends over a path of 50 ms that loses nothing: time, end and segment.
fn undisturbed<S: Bounded>(profile: Profile, writes: &[Write]) -> Vec<(Time, usize, Seq, Seq, u16)> {
    let mut sent = vec![];
    let mut network = Network::<_, S>::between(profile, |from, segment, now| {
        sent.push((now, from, segment.seq, segment.ack, segment.len));
        vec![(now + Duration::from_millis(50), segment)]
    });
    play(&mut network, writes);
    drop(network);
    sent
}

proptest! {
    #[test]
    fn both_streams_arrive_complete_and_both_ends_close(
        profile in profile(), fates in fates(), writes in writes(),
    ) {
        arrives_complete::<Basic>([profile.clone(), profile], fates, &writes);
    }

    #[test]
    fn both_streams_arrive_complete_through_wide_windows(
        profile in wide_profile(), fates in fates(), writes in writes(),
    ) {
        arrives_complete::<Scaled>([profile.clone(), profile], fates, &writes);
    }

    #[test]
    fn both_streams_arrive_complete_with_a_modern_stack(
        profile in modern_profile(), fates in fates(), writes in writes(),
    ) {
        arrives_complete::<Full>([profile.clone(), profile], fates, &writes);
    }

    /// The additions of a modern endpoint have effects only after faults.
    #[test]
    fn without_losses_modern_and_classic_endpoints_send_the_same(
        profile in profile(), writes in writes(),
    ) {
        // The round trips that each measures differ, and with them when a pause is long enough to start over.
        let profile = Profile { restart_after_idle: false, min_rto: Duration::from_secs(1), ..profile };
        let modern = Profile { frto: true, ..profile.clone() };
        prop_assert_eq!(undisturbed::<Basic>(profile, &writes), undisturbed::<Full>(modern, &writes));
    }

    #[test]
    fn nor_does_it_with_wide_windows(profile in wide_profile(), writes in writes()) {
        let profile = Profile { restart_after_idle: false, min_rto: Duration::from_secs(1), ..profile };
        let modern = Profile { frto: true, ..profile.clone() };
        prop_assert_eq!(undisturbed::<Scaled>(profile, &writes), undisturbed::<Full>(modern, &writes));
    }

    /// RFC 3168's promise: marks slow a sender down and cost it nothing else.
    #[test]
    fn marks_alone_never_cause_a_retransmission(
        profile in profile(), fates in fates(), writes in writes(),
    ) {
        let profile = Profile { ecn: EcnPolicy::Rfc3168, min_rto: Duration::from_secs(1), ..profile };
        for end in &play_marked(profile, fates, &writes).ends {
            let recovery = end.tcp.recovery();
            prop_assert_eq!((recovery.fast_retransmits, recovery.timeouts, recovery.syn_retransmits), (0, 0, 0));
            prop_assert_eq!(end.sent, u64::from(end.written));
        }
    }
}
