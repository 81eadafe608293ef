//! Detection of spurious timeouts without timestamps (RFC 5682).

use aqmlab_tcp::CongestionControl;
use aqmlab_tcp::congestion::Reno;

use super::*;
use crate::recorder::Recorder;

type Sender = Conversation<Reno>;

/// The window, and the threshold that nothing has lowered yet.
const BEFORE: (u32, u32) = (10_000, 1 << 30);

/// The timeout of [`timed_out`].
const TIMEOUT: u64 = OPENED + 1000;

fn frto() -> Profile {
    Profile { frto: true, ..wide() }
}

/// A client that has agreed on SACK if `profile` has it, with segments 1 to 10 in flight since [`OPENED`] of `bytes`.
fn in_flight(profile: Profile, bytes: u32) -> Sender {
    let mut tcp = if profile.sack {
        let mut tcp = Sender::connect(profile);
        tcp.sends_with([permitting(syn())]).at(OPENED).gets(permitting(syn_ack())).sends([ack(1)]);
        tcp
    } else {
        Sender::client(profile)
    };
    tcp.writes(bytes).sends((1..=10).map(full));
    tcp
}

/// The same when the first segment has been sent again.
fn timed_out(profile: Profile) -> Sender {
    let mut tcp = in_flight(profile, 50_000);
    tcp.at(TIMEOUT).sends([full(1)]);
    assert_eq!((tcp.cwnd(), tcp.ssthresh()), (1000, 5000));
    tcp
}

fn basic() -> Sender {
    timed_out(frto())
}

fn selective() -> Sender {
    timed_out(Profile { sack: true, ack_every: 1, ..frto() })
}

/// Reduced by the timeout, and grown by a segment for each acknowledgement since.
fn is_reduced(tcp: &Sender, acknowledgements: u32) {
    assert_eq!((tcp.cwnd(), tcp.ssthresh()), (1000 * (1 + acknowledgements), 5000));
}

/// The window before the timeout, after the last acknowledgement, of one segment.
fn is_undone(tcp: &Sender) {
    assert_eq!((tcp.cwnd(), tcp.ssthresh()), (BEFORE.0 + 1000, BEFORE.1));
}

#[test]
fn rfc_5682_2_1_step_3b_two_new_acks_undo_the_timeout() {
    let mut tcp = basic();
    tcp.at(TIMEOUT + 10).gets(ack(after(1))).sends([full(11), full(12)]);
    is_reduced(&tcp, 1);
    tcp.gets(ack(after(2))).sends([full(13)]);
    is_undone(&tcp);
    for k in 3..=10 {
        tcp.gets(ack(after(k))).sends([full(2 * k + 8), full(2 * k + 9)]);
    }
    assert_eq!(tcp.tcp.recovery().timeouts, 1);
}

#[test]
fn rfc_5682_2_1_step_3b_fast_retransmit_then_repairs_losses() {
    let mut tcp = basic();
    tcp.gets(ack(after(1))).takes_sent();
    tcp.gets(ack(after(2))).takes_sent();
    for _ in 0..3 {
        assert!(!tcp.tcp.in_recovery());
        tcp.gets(ack(after(2)));
        assert!(!tcp.takes_sent().is_empty());
    }
    assert!(tcp.tcp.in_recovery());
}

#[test]
fn rfc_5682_2_1_step_3a_a_dupack_of_new_data_confirms_the_rto() {
    let mut tcp = basic();
    tcp.at(TIMEOUT + 100).gets(ack(after(1))).sends([full(11), full(12)]);
    // One of the new segments has arrived, so that one may leave: two are in flight.
    tcp.at(TIMEOUT + 200).gets(ack(after(1))).sends([full(2)]).gets(ack(after(1))).sends([]);
    is_reduced(&tcp, 1);
    tcp.at(TIMEOUT + 300).gets(ack(after(2))).sends([full(3), full(4)]);
    is_reduced(&tcp, 2);
    tcp.gets(ack(after(12))).takes_sent();
}

#[test]
fn rfc_5682_2_1_step_2a_a_first_dupack_means_plain_recovery() {
    let mut tcp = basic();
    tcp.gets(ack(1)).sends([]).gets(ack(after(1))).sends([full(2), full(3)]);
    is_reduced(&tcp, 1);
}

#[test]
fn rfc_5682_2_1_step_2a_an_ack_of_all_data_ends_detection() {
    let mut tcp = basic();
    tcp.gets(ack(after(10))).sends([full(11), full(12)]);
    is_reduced(&tcp, 1);
    tcp.gets(ack(after(11))).takes_sent();
    is_reduced(&tcp, 2);
}

#[test]
fn rfc_5682_2_1_step_2a_a_partial_ack_means_plain_recovery() {
    let mut tcp = basic();
    tcp.gets(ack(501)).sends([full(2)]);
}

#[test]
fn rfc_5682_2_1_step_2b_without_data_or_window_it_falls_back() {
    let mut tcp = in_flight(frto(), 10_000);
    tcp.at(TIMEOUT).sends([full(1)]).gets(ack(after(1))).sends([full(2), full(3)]);
    let mut tcp = basic();
    tcp.gets_offering(ack(after(1)).into_segment(), 9999).sends([full(2), full(3)]);
}

#[test]
fn rfc_5682_2_1_step_2b_one_new_segment_suffices_despite_nagle() {
    let profile = Profile { nagle: true, ..frto() };
    let mut tcp = in_flight(profile, 10_300);
    tcp.at(TIMEOUT).sends([full(1)]).gets(ack(after(1))).sends([data(after(10), 300)]);
    // The window was full within the last round trip, so it grows.
    tcp.gets(ack(after(2))).sends([]);
    assert_eq!((tcp.cwnd(), tcp.ssthresh()), (BEFORE.0 + 1_000, BEFORE.1));
}

#[test]
fn rfc_5682_2_1_step_1_repeats_at_a_second_rto_without_acks() {
    let mut tcp = basic();
    tcp.at(TIMEOUT + 2000).sends([full(1)]).gets(ack(after(1))).sends([full(11), full(12)]);
    tcp.gets(ack(after(2))).sends([full(13)]);
    is_undone(&tcp);
}

#[test]
fn rfc_5682_2_1_step_1_an_rto_in_rto_recovery_starts_nothing() {
    let mut tcp = basic();
    tcp.gets(ack(after(1))).sends([full(11), full(12)]);
    tcp.at(TIMEOUT + 2000).sends([full(2)]).gets(ack(after(2))).sends([full(3), full(4)]);
    // Nor when step 3 has found the first to be right.
    let mut tcp = basic();
    tcp.gets(ack(after(1))).takes_sent();
    tcp.gets(ack(after(1))).sends([full(2)]);
    tcp.at(TIMEOUT + 2000).sends([full(2)]).gets(ack(after(2))).sends([full(3), full(4)]);
}

#[test]
fn rfc_5682_3_1_step_3b_late_data_in_sack_undo_the_timeout() {
    let mut tcp = selective();
    tcp.gets(ack(after(1))).sends([full(11), full(12)]);
    // Segment 2 is lost, 3 was late: two segments more and it is sent again.
    tcp.gets(sack(ack(after(1)), [(3, 3)])).sends([]);
    assert_eq!((tcp.cwnd(), tcp.ssthresh()), BEFORE);
    tcp.gets(sack(ack(after(1)), [(3, 4)])).sends([full(13)]);
    tcp.gets(sack(ack(after(1)), [(3, 5)])).sends([full(2)]);
    assert_eq!(tcp.tcp.recovery().fast_retransmits, 1);
}

#[test]
fn rfc_5682_3_1_step_3b_late_data_acked_in_order_undo_the_rto() {
    let mut tcp = selective();
    tcp.gets(ack(after(1))).sends([full(11), full(12)]).gets(ack(after(2))).sends([full(13)]);
    is_undone(&tcp);
}

#[test]
fn rfc_5682_3_1_step_3a_sack_of_new_before_old_confirms_the_rto() {
    let mut tcp = selective();
    tcp.gets(ack(after(1))).sends([full(11), full(12)]);
    tcp.gets(sack(ack(after(1)), [(11, 11)])).sends([full(2)]).gets(sack(ack(after(1)), [(11, 12)]));
    tcp.sends([full(3)]);
    is_reduced(&tcp, 1);
    // Reported together with old data, or in order, they mean the same.
    for tells in [sack(ack(after(1)), [(11, 11), (4, 4)]), sack(ack(after(11)), [])] {
        let mut tcp = selective();
        tcp.gets(ack(after(1))).sends([full(11), full(12)]).gets(tells);
        assert_eq!(tcp.ssthresh(), 5000);
        tcp.takes_sent();
    }
}

#[test]
fn rfc_5682_3_1_step_3a_a_dupack_without_sack_confirms_the_rto() {
    for tells in [sack(ack(after(1)), []), sack(ack(after(1)), [(1, 1)])] {
        let mut tcp = selective();
        tcp.gets(ack(after(1))).sends([full(11), full(12)]).gets(tells);
        tcp.gets(ack(after(2))).sends([full(3)]);
        is_reduced(&tcp, 2);
    }
}

#[test]
fn rfc_5682_3_1_step_3_peer_data_without_new_acks_are_ignored() {
    let mut tcp = selective();
    tcp.gets(ack(after(1))).sends([full(11), full(12)]);
    let peers = Segment { len: MSS, ..ack(after(1)) };
    tcp.gets(peers).takes_sent();
    tcp.gets(ack(after(2)));
    is_undone(&tcp);
    tcp.takes_sent();
}

#[test]
fn rfc_5682_3_1_step_2_duplicates_are_waited_out() {
    let mut tcp = selective();
    tcp.gets(sack(ack(1), [(5, 5)])).sends([]).gets(sack(ack(1), [])).sends([]);
    tcp.gets(sack(ack(after(1)), [(5, 5)])).sends([full(11), full(12)]);
    tcp.gets(sack(ack(after(1)), [(5, 6)]));
    assert_eq!((tcp.cwnd(), tcp.ssthresh()), BEFORE);
    tcp.takes_sent();
}

#[test]
fn rfc_5682_3_1_step_1_an_rto_in_fast_recovery_starts_nothing() {
    for with_sack in [false, true] {
        let mut tcp = in_flight(Profile { sack: with_sack, ack_every: 1, ..frto() }, 50_000);
        for _ in 0..3 {
            tcp.gets(if with_sack { sack(ack(1), [(2, 4)]) } else { sack(ack(1), []) }).takes_sent();
        }
        assert!(tcp.tcp.in_recovery());
        tcp.at(TIMEOUT).sends([full(1)]).gets(ack(after(4))).sends([full(5), full(6)]);
    }
}

#[test]
fn rfc_5682_3_1_step_3b_a_loss_probes_copy_proves_nothing() {
    let rack = Profile { sack: true, rack: true, ack_every: 1, ..frto() };
    let mut tcp = in_flight(rack, 10_000);
    // The probe repeats segment 10; then new data are written and the timer expires.
    tcp.at(OPENED + 202).sends([full(10)]).writes(3000).takes_sent();
    tcp.at(OPENED + 1202).sends([full(1)]);
    tcp.gets(ack(after(1))).takes_sent();
    tcp.gets(sack(ack(after(1)), [(10, 10)])).takes_sent();
    assert_eq!((tcp.ssthresh(), tcp.tcp.recovery().fast_retransmits), (5000, 0));
}

#[test]
fn rfc_5682_2_1_step_2b_at_most_two_new_segments_no_repairs() {
    let mut tcp = Conversation::<Recorder<false>>::client(frto());
    tcp.writes(50_000).sends((1..=10).map(full)).at(TIMEOUT).sends([full(1)]);
    tcp.gets(ack(after(1))).sends([full(11), full(12)]);
    tcp.gets(ack(after(1))).sends((2..=10).map(full));
}

#[test]
fn without_it_all_that_was_in_flight_is_sent_again() {
    let mut tcp = timed_out(without_sack());
    tcp.gets(ack(after(1))).sends([full(2), full(3)]).gets(ack(after(2))).sends([full(4), full(5)]);
    is_reduced(&tcp, 2);
}

#[test]
fn other_controls_restore_their_windows_too() {
    fn restores<C: CongestionControl + std::fmt::Debug + Send + 'static>() {
        let mut tcp = Conversation::<C>::client(frto());
        tcp.writes(50_000).sends((1..=10).map(full)).at(TIMEOUT).sends([full(1)]);
        tcp.gets(ack(after(1))).takes_sent();
        assert!(tcp.cwnd() < 10_000);
        tcp.gets(ack(after(2))).takes_sent();
        assert!(tcp.cwnd() >= 10_000 && tcp.ssthresh() >= 10_000, "{:?}", tcp.tcp.congestion());
    }
    restores::<aqmlab_tcp::congestion::Cubic>();
    restores::<aqmlab_tcp::congestion::Dctcp>();
    restores::<aqmlab_tcp::congestion::Prague>();
}
