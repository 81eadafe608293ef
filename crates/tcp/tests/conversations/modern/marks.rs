//! ECN feedback to the congestion control of a modern endpoint: RFC 3168 §6.1.2, RFC 8257 §3.3, RFC 9768 §3.2.2,
//! RFC 9331 §4.1-4.2.

use std::cell::Cell;
use std::fmt::Debug;

use aqmlab_tcp::congestion::{Cubic, Dctcp, Prague, Reno};
use aqmlab_tcp::{CongestionControl, EcnPolicy, Endpoint, Flags, Full, Options, Profile, Segment};
use aqmlab_units::{Duration, Time};
use proptest::prelude::*;

use super::{Conversation, after, sack, with};
use crate::recorder::Recorder;
use crate::script::*;

type Counting = Recorder<true>;
type Echoed = Recorder<false>;

/// On a modern endpoint, which it takes F-RTO for: that shows after timeouts alone.
fn speaking(ecn: EcnPolicy) -> Profile {
    Profile { ecn, handshake_ack_opens_window: false, frto: true, ..wide() }
}

/// A client that has agreed on the form of ECN, with the segments 1 to 10 in flight and forty more to send.
fn ten_in_flight<C: CongestionControl + Debug + Send + 'static>(profile: Profile) -> Conversation<C> {
    let accurate = matches!(profile.ecn, EcnPolicy::Accurate | EcnPolicy::AccuratePlusPlus);
    let grant = if accurate { Flags::with_ace(0b010) } else { Flags::ECE };
    let permits = profile.sack;
    let mut tcp = Conversation::connect(profile);
    tcp.takes_sent();
    let answer = if permits {
        super::permitting(syn_ack().and(grant))
    } else {
        with(syn_ack().and(grant), Options::default())
    };
    tcp.at(OPENED).gets(answer).takes_sent();
    tcp.writes(50_000);
    assert_eq!(tcp.takes_sent().len(), 10);
    tcp
}

fn counted(ackno: u32, count: u8) -> Segment {
    ack(ackno).and(Flags::with_ace(count))
}

/// A client that has agreed on the form of ECN and holds back each second acknowledgement.
fn receiver(ecn: EcnPolicy, quick_acks_after_mark: u8) -> Conversation {
    let mut tcp = Conversation::connect(Profile { quick_acks_after_mark, ..speaking(ecn) });
    tcp.takes_sent();
    let agreed = if ecn == EcnPolicy::Dctcp { Flags::ECE | Flags::ECT } else { Flags::ECE };
    tcp.gets(with(syn_ack().and(agreed), Options::default())).sends([ack(1)]);
    tcp
}

fn marked(k: u32) -> Segment {
    ect(k).and(Flags::CE)
}

#[test]
fn in_linux_an_unechoed_mark_is_acked_with_the_next_segment() {
    // `tcp_enter_quickack_mode(sk, 2)` in `__tcp_ecn_check_ce`, unless `TCP_ECN_DEMAND_CWR` is set.
    let mut tcp = receiver(EcnPolicy::Rfc3168, 2);
    tcp.gets(ect(1)).sends([]).gets(ect(2)).sends([ack(after(2))]);
    tcp.gets(marked(3)).sends([echo(after(3))]).gets(marked(4)).sends([echo(after(4))]);
    // While marks are echoed another changes nothing.
    tcp.gets(marked(5)).sends([]).gets(ect(6)).sends([echo(after(6))]);
    // A stack without that habit holds them all back.
    receiver(EcnPolicy::Rfc3168, 0).gets(marked(1)).sends([]).gets(ect(2)).sends([echo(after(2))]);
}

#[test]
fn in_linux_a_mark_lets_go_what_was_held_back() {
    let mut tcp = receiver(EcnPolicy::Rfc3168, 2);
    tcp.gets(ect(1)).gets(marked(2)).sends([echo(after(2))]);
    // Of two acknowledgements at once the one before was the first.
    tcp.gets(ect(3)).sends([echo(after(3))]).gets(ect(4)).sends([]).gets(ect(5)).sends([echo(after(5))]);
}

#[test]
fn in_linux_data_that_say_cwr_are_acknowledged_at_once() {
    // `tcp_ecn_accept_cwr`
    for ecn in [EcnPolicy::Rfc3168, EcnPolicy::Dctcp] {
        let mut tcp = receiver(ecn, 2);
        tcp.gets(ect(1).and(Flags::CWR)).sends([ack(after(1))]).gets(ect(2)).sends([]);
        tcp.gets(ack(1).numbered(after(2)).and(Flags::CWR)).sends([]);
        tcp.at(100).sends([ack(after(2))]);
        let mut old = receiver(ecn, 0);
        old.gets(ect(1).and(Flags::CWR)).sends([]).gets(ect(2)).sends([ack(after(2))]);
    }
}

/// A client that speaks DCTCP and acknowledges a change of marks once or twice.
fn dctcp_receiver(dctcp_two_acks: bool) -> Conversation {
    let mut tcp = Conversation::connect(Profile { dctcp_two_acks, ..speaking(EcnPolicy::Dctcp) });
    tcp.takes_sent();
    tcp.gets(with(syn_ack().and(Flags::ECE | Flags::ECT), Options::default())).sends([ack(1)]);
    tcp
}

#[test]
fn dctcp_acknowledges_a_change_of_marks_once_or_as_linux_twice() {
    // RFC 8257 §3.2: "an implementation MAY choose to send two ACKs".
    let mut once = dctcp_receiver(false);
    once.gets(ect(1)).sends([]).gets(marked(2)).sends([echo(after(2))]);
    once.gets(marked(3)).sends([]).gets(ect(4)).sends([ack(after(4))]);
    let mut twice = dctcp_receiver(true);
    twice.gets(ect(1)).sends([]).gets(marked(2)).sends([ack(after(1)), echo(after(2))]);
    twice.gets(marked(3)).sends([]).gets(ect(4)).sends([echo(after(3)), ack(after(4))]);
    // Nothing was held back.
    twice.gets(marked(5)).sends([echo(after(5))]).gets(ect(6)).sends([ack(after(6))]);
}

#[test]
fn data_may_carry_the_first_of_dctcps_two_acknowledgements() {
    let profile = Profile { dctcp_two_acks: true, ..speaking(EcnPolicy::Dctcp) };
    let mut tcp = ten_in_flight::<Reno>(profile);
    tcp.gets(ect(1)).sends([]).gets(marked(2).acking(after(1)));
    tcp.sends([ect(11).acking(after(1)), ect(12).acking(after(2)).and(Flags::ECE)]);
}

/// The least window that round trips leave of which every byte came marked.
fn window_under_marks<C: CongestionControl + Debug + Send + 'static>(ecn: EcnPolicy, min_window: u8) -> u32 {
    let mut tcp = ten_in_flight::<C>(Profile { min_window, ..speaking(ecn) });
    let (mut acked, mut least, mut ms) = (0, tcp.cwnd(), OPENED);
    while acked < 50 {
        acked += 1;
        ms += 50;
        let count = u8::try_from((5 + acked) % 8).expect("of three bits");
        let says = if ecn == EcnPolicy::Accurate { Flags::with_ace(count) } else { Flags::ECE };
        tcp.at(ms).gets(ack(after(acked)).and(says)).takes_sent();
        least = least.min(tcp.cwnd());
    }
    least
}

#[test]
fn marks_leave_two_segments_in_linux_and_one_by_rfc_3168() {
    use EcnPolicy::{Accurate, Rfc3168};
    for (min_window, least) in [(1, 1000), (2, 2000)] {
        assert_eq!(window_under_marks::<Reno>(Rfc3168, min_window), least);
        assert_eq!(window_under_marks::<Cubic>(Rfc3168, min_window), least);
        assert_eq!(window_under_marks::<Dctcp>(Rfc3168, min_window), least);
        assert_eq!(window_under_marks::<Dctcp>(Accurate, min_window), least);
    }
}

#[test]
fn an_echo_halves_the_window_once_a_window() {
    let mut tcp = ten_in_flight::<Reno>(speaking(EcnPolicy::Rfc3168));
    for k in 1..=5 {
        tcp.gets(echo(after(k))).sends([]);
        assert_eq!(tcp.cwnd(), 5000, "halved once, not grown");
    }
    tcp.gets(echo(after(6))).sends([ect(11).and(Flags::CWR)]).gets(echo(after(10))).takes_sent();
    assert_eq!((tcp.cwnd(), tcp.tcp.recovery().ecn_reductions), (5000, 1));
    tcp.gets(echo(after(11))).takes_sent();
    assert_eq!((tcp.cwnd(), tcp.tcp.recovery().ecn_reductions), (2500, 2));
}

#[test]
fn counts_are_one_echo_a_window_to_a_control_without_counts() {
    fn window_after_marks<C: CongestionControl + Debug + Send + 'static>() -> (u32, u16) {
        let mut tcp = ten_in_flight::<C>(speaking(EcnPolicy::Accurate));
        for (k, count) in [(1, 6), (3, 0), (5, 2)] {
            tcp.gets(counted(after(k), count)).takes_sent();
        }
        (tcp.cwnd(), tcp.tcp.recovery().ecn_reductions)
    }
    // A segment of two unmarked ones grows nothing in congestion avoidance worth a whole segment.
    let (reno, reductions) = window_after_marks::<Reno>();
    assert_eq!((reno / 1000, reductions), (5, 1));
    let (cubic, reductions) = window_after_marks::<Cubic>();
    assert_eq!((cubic / 1000, reductions), (7, 1));
}

#[test]
fn the_delivery_is_told_before_the_echo() {
    for profile in [EcnPolicy::Rfc3168, EcnPolicy::Accurate].map(speaking) {
        let says = if profile.ecn == EcnPolicy::Accurate { Flags::with_ace(6) } else { Flags::ECE };
        let mut tcp = ten_in_flight::<Echoed>(Profile { sack: true, ..profile.clone() });
        let says_none = if profile.ecn == EcnPolicy::Accurate { Flags::with_ace(5) } else { Flags::NONE };
        tcp.gets(ack(after(1)).and(says_none)).takes_sent();
        // Whether it acknowledges in order or selectively.
        tcp.gets(sack(ack(after(1)).and(says), [(3, 3)])).takes_sent();
        let control = tcp.tcp.congestion();
        assert_eq!((control.echoes, control.delivered_at_echo), (1, 2000));
    }
}

#[test]
fn a_control_that_counts_hears_the_marked_bytes_and_no_echo() {
    let mut tcp = ten_in_flight::<Counting>(speaking(EcnPolicy::Accurate));
    let mut hears = |ackno, count, expected| {
        tcp.gets(counted(ackno, count)).takes_sent();
        assert_eq!(tcp.tcp.congestion().last, expected);
    };
    hears(after(1), 5, (1000, 0));
    hears(after(3), 6, (2000, 1000));
    hears(after(5), 0, (2000, 2000));
    let control = tcp.tcp.congestion();
    // What it makes of them, and of growth, is its own business.
    assert_eq!((control.echoes, control.grown, control.marked), (0, 5000, 3000));
    assert_eq!(tcp.tcp.recovery().ecn_reductions, 1);
}

#[test]
fn marks_are_counted_in_recovery_and_carried_by_sacks() {
    let mut tcp = ten_in_flight::<Counting>(Profile { sack: true, ..speaking(EcnPolicy::Accurate) });
    tcp.gets(counted(after(1), 5)).takes_sent();
    for (k, count) in [(3, 5), (4, 6), (5, 7), (6, 0)] {
        tcp.gets(sack(counted(after(1), count), [(3, k)])).takes_sent();
    }
    assert_eq!(tcp.tcp.recovery().fast_retransmits, 1);
    let control = tcp.tcp.congestion();
    assert_eq!((control.delivered, control.marked, control.echoes), (5000, 3000, 0));
    assert_eq!(tcp.tcp.recovery().ecn_reductions, 1, "the mark before the recovery");
}

#[test]
fn a_counting_control_gets_one_echo_from_classic_feedback() {
    let mut tcp = ten_in_flight::<Counting>(speaking(EcnPolicy::Rfc3168));
    tcp.gets(echo(after(1))).takes_sent();
    tcp.gets(echo(after(2))).takes_sent();
    let control = tcp.tcp.congestion();
    assert_eq!((control.echoes, control.marked, control.grown), (1, 0, 0));
}

#[test]
fn no_echo_is_answered_in_recovery() {
    let mut tcp = ten_in_flight::<Echoed>(speaking(EcnPolicy::Rfc3168));
    for _ in 0..3 {
        tcp.gets(ack(1)).takes_sent();
    }
    tcp.gets(echo(after(3))).takes_sent();
    assert_eq!((tcp.tcp.recovery().fast_retransmits, tcp.tcp.congestion().echoes), (1, 0));
}

#[test]
fn rfc_8257_3_3_echoed_bytes_were_marked_and_one_cwr_a_window() {
    let profile = Profile { ecn: EcnPolicy::Dctcp, ..speaking(EcnPolicy::Dctcp) };
    let mut tcp = ten_in_flight::<Counting>(profile);
    tcp.gets(echo(after(2))).sends([ect(11).and(Flags::CWR), ect(12)]);
    assert_eq!(tcp.tcp.congestion().last, (2000, 2000));
    tcp.gets(echo(after(3))).sends([ect(13)]).gets(ack(after(6))).takes_sent();
    let control = tcp.tcp.congestion();
    assert_eq!((control.last, control.delivered, control.marked), ((3000, 0), 6000, 3000));
    assert_eq!((control.echoes, tcp.tcp.recovery().ecn_reductions), (0, 1));
}

#[test]
fn dctcp_reduces_by_what_accurate_feedback_counts() {
    let mut tcp = ten_in_flight::<Dctcp>(speaking(EcnPolicy::Accurate));
    // The first mark halves: alpha is 1. Of the ten segments four came marked, so alpha = 15/16 + 0.4/16.
    for (k, count) in (1..=10).zip([6, 7, 0, 1, 1, 1, 1, 1, 1, 1]) {
        tcp.at(OPENED + 50 + u64::from(k)).gets(counted(after(k), count)).takes_sent();
        assert!((5000..=6000).contains(&tcp.cwnd()), "one reduction a window: {} bytes", tcp.cwnd());
    }
    let before = f64::from(tcp.cwnd());
    // The first segment of the next window: the window that grew is counted, and reduced by its first mark.
    tcp.at(OPENED + 150).gets(counted(after(11), 2)).takes_sent();
    let expected = before * (1.0 - (15.0 + 0.4) / 16.0 / 2.0);
    assert!((f64::from(tcp.cwnd()) - expected).abs() < 2.0, "{} bytes, expected {expected}", tcp.cwnd());
}

/// The codepoint of the first data under each form of ECN.
fn codepoint<C: CongestionControl + Debug + Send + 'static>(ecn: EcnPolicy, grant: Flags) -> Flags {
    let mut tcp = Conversation::<C>::connect(speaking(ecn));
    tcp.takes_sent();
    tcp.gets(with(syn_ack().and(grant), Options::default())).takes_sent();
    tcp.writes(1000);
    tcp.takes_sent()[0].flags & (Flags::ECT | Flags::ECT1)
}

#[test]
fn rfc_9331_4_1_ect_1_needs_scalable_control_and_counts() {
    let (accurate, classic) = (Flags::with_ace(0b010), Flags::ECE);
    assert_eq!(codepoint::<Prague>(EcnPolicy::Accurate, accurate), Flags::ECT1);
    assert_eq!(codepoint::<Prague>(EcnPolicy::Accurate, classic), Flags::ECT);
    assert_eq!(codepoint::<Dctcp>(EcnPolicy::Accurate, accurate), Flags::ECT);
    assert_eq!(codepoint::<Reno>(EcnPolicy::Accurate, accurate), Flags::ECT);
}

/// A sender whose congestion control records, and its peer, with data marked and acknowledgements lost by a script.
struct Pair {
    sender: Endpoint<Full<Counting>>,
    receiver: Endpoint<Full>,
    profile: Profile,
    now: Time,
}

impl Pair {
    fn open(ack_every: u8, accecn_option: bool) -> Pair {
        let accurate = speaking(EcnPolicy::Accurate);
        let profile = Profile { initial_window: 50, ack_every, accecn_option, ..accurate };
        let now = Time::ZERO;
        let mut pair = Pair {
            sender: Endpoint::connect(&profile, now),
            receiver: Endpoint::listen(&profile, now),
            profile,
            now,
        };
        for _ in 0..2 {
            pair.exchange(|segment| segment, |_| true);
        }
        pair
    }

    /// All that the sender has to send arrives as `road` makes it, and what the receiver says each time arrives
    /// if `returns`.
    fn exchange(
        &mut self,
        mut road: impl FnMut(Segment<Options>) -> Segment<Options>,
        mut returns: impl FnMut(&Segment<Options>) -> bool,
    ) {
        self.now += Duration::from_millis(1);
        let feedback: Vec<_> =
            std::iter::from_fn(|| self.sender.poll_transmit(self.now, &self.profile)).collect();
        for segment in feedback {
            self.receiver.handle_segment(&road(segment), self.now, &self.profile);
            while let Some(answer) = self.receiver.poll_transmit(self.now, &self.profile) {
                if returns(&answer) {
                    self.sender.handle_segment(&answer, self.now, &self.profile);
                }
            }
        }
    }

    /// Held-back acknowledgements arrive.
    fn settle(&mut self) {
        self.now += self.profile.delayed_ack;
        self.receiver.handle_timeout(self.now, &self.profile);
        while let Some(answer) = self.receiver.poll_transmit(self.now, &self.profile) {
            self.sender.handle_segment(&answer, self.now, &self.profile);
        }
    }
}

proptest! {
    /// RFC 9768 §3.2.2.5: despite lost acknowledgements, while fewer than 8 marks lie between those that arrive; §3.2.3:
    /// with the option however many do.
    #[test]
    fn the_senders_count_of_marks_is_the_receivers(
        fates in prop::collection::vec((prop::bool::weighted(0.6), any::<bool>()), 1..400), ack_every in 1u8..4,
        accecn_option: bool,
    ) {
        let mut pair = Pair::open(ack_every, accecn_option);
        let mut fates = fates.into_iter();
        let marks = Cell::new(0u32);
        // Since an acknowledgement last arrived: marks and segments.
        let untold = Cell::new((0, 0));
        let loses = Cell::new(false);
        while fates.len() > 0 {
            pair.sender.write(10 * u32::from(MSS));
            pair.exchange(
                |segment| {
                    let (mark, lose) = fates.next().unwrap_or((false, false));
                    loses.set(lose);
                    marks.set(marks.get() + u32::from(mark));
                    untold.set((untold.get().0 + u32::from(mark), untold.get().1 + 1));
                    if mark { Segment { flags: segment.flags | Flags::CE, ..segment } } else { segment }
                },
                |_| {
                    // Two more marks at most come before the next, and the window never fills.
                    let unsafe_count = !accecn_option && untold.get().0 >= 5;
                    let arrives = !loses.get() || unsafe_count || untold.get().1 >= 20;
                    if arrives {
                        untold.set((0, 0));
                    }
                    arrives
                },
            );
        }
        pair.sender.write(u32::from(MSS));
        pair.exchange(|segment| segment, |_| true);
        pair.settle();
        prop_assert_eq!(pair.sender.in_flight(), 0);
        prop_assert_eq!(pair.sender.congestion().marked, marks.get() * u32::from(MSS));
    }
}

#[test]
fn marks_on_dupacks_count_with_the_next_ack_up_to_its_bytes() {
    let mut pair = Pair::open(1, false);
    pair.sender.write(10 * u32::from(MSS));
    let profile = pair.profile.clone();
    let now = pair.now;
    while pair.sender.poll_transmit(now, &profile).is_some() {}
    let mut get = |segment| {
        pair.sender.handle_segment(&with(segment, Options::default()), now, &profile);
        pair.sender.congestion().last
    };
    // Without SACK a duplicate reports one segment that has arrived.
    assert_eq!(get(counted(1, 0)), (1000, 1000));
    assert_eq!(get(counted(after(5), 3)), (4000, 3000));
    assert_eq!(get(counted(after(6), 6)), (1000, 1000));
    assert_eq!(get(counted(after(7), 6)), (1000, 0));
}

#[test]
fn a_paced_senders_burst_size_is_its_stacks() {
    /// Ten segments after ten were acknowledged: when they leave, and how many together.
    fn bursts(pacing_burst: u8) -> (Duration, Vec<usize>) {
        let profile = Profile { pacing_burst, ..speaking(EcnPolicy::Accurate) };
        let mut conversation = ten_in_flight::<Prague>(profile.clone());
        let tcp = &mut conversation.tcp;
        let begin = Time::ZERO + Duration::from_millis(OPENED + 100);
        let acknowledged = Segment { window: 60_000, ..counted(after(10), 5) };
        tcp.handle_segment(&with(acknowledged, Options::default()), begin, &profile);
        let (mut now, mut sent) = (begin, Vec::new());
        loop {
            sent.push(std::iter::from_fn(|| tcp.poll_transmit(now, &profile)).count());
            if sent.iter().sum::<usize>() >= 10 {
                return (now - begin, sent);
            }
            now = tcp.poll_timeout();
            tcp.handle_timeout(now, &profile);
        }
    }
    let ((alone, singles), (paired, pairs)) = (bursts(1), bursts(2));
    assert_eq!((singles, pairs), (vec![1; 10], vec![2; 5]));
    // At the same rate: the tenth of ten leaves after nine intervals, the fifth pair after eight.
    assert_eq!(alone * 8, paired * 9);
}
