//! Transfers so long that sequence numbers wrap.

use aqmlab_tcp::{EcnPolicy, Profile, Segment, Seq};
use aqmlab_units::{Duration, Time};

use crate::network::{CLIENT, Network, SERVER, marked};

const GIGABYTE: u32 = 1_000_000_000;

/// As many GB in segments of 9 kB. Only the `nth` data segment has a `fate` of its own.
fn transfer(
    gigabytes: u32,
    nth: u64,
    fate: impl Fn(Segment) -> Option<Segment>,
) -> Network<impl FnMut(usize, Segment, Time) -> Vec<(Time, Segment)>> {
    let profile =
        Profile { mss: 9_000, receive_window: 65_535, ecn: EcnPolicy::Rfc3168, ..Profile::freebsd_4_5() };
    let mut count = 0;
    let mut network = Network::new(profile, move |_, segment, now| {
        count += u64::from(segment.len > 0);
        let arriving = if segment.len > 0 && count == nth { fate(segment) } else { Some(segment) };
        arriving.map(|segment| (now + Duration::from_millis(5), segment)).into_iter().collect()
    });
    for sent in 1..=gigabytes {
        network.write(CLIENT, GIGABYTE);
        let end = Seq::new(1) + GIGABYTE.wrapping_mul(sent);
        while network.ends[SERVER].tcp.received() != end {
            network.step();
        }
    }
    network
}

/// The segment so late that what the sender remembers of its start lies more than 2^31 bytes behind.
const LATE: u64 = 260_000;

#[test]
fn a_first_loss_after_2_gigabytes_gets_fast_retransmit() {
    let network = transfer(3, LATE, |_| None);
    let recovery = network.ends[CLIENT].tcp.recovery();
    assert_eq!((recovery.fast_retransmits, recovery.timeouts, recovery.ecn_reductions), (1, 0, 0));
}

#[test]
fn a_mark_after_2_gigabytes_without_any_halves_the_window_once() {
    let network = transfer(3, LATE, |segment| Some(marked(segment)));
    let recovery = network.ends[CLIENT].tcp.recovery();
    assert_eq!((recovery.fast_retransmits, recovery.timeouts, recovery.ecn_reductions), (0, 0, 1));
}

#[test]
fn a_loss_after_sequence_wrap_is_repaired_like_any_other() {
    let network = transfer(5, 500_000, |_| None);
    let recovery = network.ends[CLIENT].tcp.recovery();
    assert_eq!((recovery.fast_retransmits, recovery.timeouts), (1, 0));
}
