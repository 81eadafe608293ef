//! RFC 3168 in the loss recovery of a classic endpoint, where duplicates send nothing new.

use aqmlab_tcp::{EcnPolicy, Flags, Profile};

use super::classic::{receiver, ten_in_flight};
use super::script::*;

#[test]
fn only_new_data_are_ecn_capable() {
    // SYN and SYN/ACK: see `classic.rs`. Not fast retransmissions (their CWR-bearing successors are new data again),
    let mut tcp = ten_in_flight();
    tcp.gets_times(3, ack(1)).sends([full(1)]);
    // nor what a timeout sends again, up to the last byte sent before,
    let mut tcp = ten_in_flight();
    tcp.at(OPENED + 1000).sends([full(1)]).gets(ack(after(9))).sends([full(10), ect(11).and(Flags::CWR)]);
    // nor bare acknowledgements and FINs.
    let mut tcp = receiver();
    tcp.gets(ect(1)).sends([ack(after(1))]).closes().sends([fin(1).acking(after(1))]);
}

#[test]
fn echoes_of_recovery_and_the_window_before_do_not_reduce_again() {
    let mut tcp = ten_in_flight();
    tcp.gets_times(3, ack(1)).sends([full(1)]);
    tcp.gets(echo(after(3))).sends([full(4)]).gets(echo(after(10)));
    assert_eq!(tcp.ssthresh(), 5000);
    assert_eq!(tcp.tcp.recovery().ecn_reductions, 0);
    // CWR reports the reduction for the loss.
    tcp.sends([ect(11).and(Flags::CWR), ect(12)]);
}

#[test]
fn an_echo_on_the_ack_that_ends_recovery_waits_for_the_next_ack() {
    let mut tcp = ten_in_flight();
    tcp.gets_times(3, ack(1))
        .sends([full(1)])
        .gets_times(2, ack(1))
        .gets(ack(1))
        .sends([ect(11).and(Flags::CWR)]);
    // Segment 11 was sent during recovery and marked; its window has just been halved.
    tcp.gets(echo(after(11))).sends([ect(12), ect(13)]);
    assert_eq!((tcp.ssthresh(), tcp.tcp.recovery().ecn_reductions), (5000, 0));
    tcp.gets(echo(after(12)));
    assert_eq!(tcp.tcp.recovery().ecn_reductions, 1);
}

#[test]
fn fast_retransmissions_are_ecn_capable_with_ecn_plus_plus() {
    for (ecn, resent) in [(EcnPolicy::Rfc3168, full(1)), (EcnPolicy::PlusPlus, ect(1))] {
        let mut tcp = Conversation::connect(Profile { ecn, ..wide() });
        tcp.sends([ecn_syn()]).at(OPENED).gets(ecn_syn_ack()).sends([ack(1)]);
        tcp.writes(50_000).sends((1..=10).map(ect)).gets_times(3, ack(1)).sends([resent]);
    }
}
