//! A path that stands still for a while and loses nothing.

use aqmlab_tcp::congestion::Any;
use aqmlab_tcp::{Full, Profile, RecoveryCounts, Seq};
use aqmlab_units::{Duration, Time};

use crate::network::{CLIENT, Network, SERVER};

const BYTES: u32 = 2_000_000;

/// A transfer whose data stand still for 1.5 s in its middle, unless they are lost then: what recovery took, and how many
/// bytes left more than once.
fn transfer(profile: Profile, loses: bool) -> (RecoveryCounts, u64) {
    let begins = Time::ZERO + Duration::from_millis(1000);
    let still = begins..begins + Duration::from_millis(1500);
    let mut free = Time::ZERO;
    let mut network = Network::<_, Full<Any>>::between(profile, move |from, segment, now: Time| {
        let mut departure = now;
        if from == CLIENT {
            // 8 Mbit/s.
            departure = now.max(free) + Duration::from_micros(u64::from(segment.len + 40));
            if still.contains(&departure) {
                if loses {
                    return vec![];
                }
                departure = still.end;
            }
            free = departure;
        }
        vec![(departure + Duration::from_millis(50), segment)]
    });
    network.write(CLIENT, BYTES);
    while network.ends[SERVER].tcp.received() != Seq::new(1) + BYTES {
        network.step();
    }
    (network.ends[CLIENT].tcp.recovery(), network.ends[CLIENT].sent - u64::from(BYTES))
}

fn without_timestamps(sack: bool, frto: bool) -> Profile {
    Profile { timestamps: false, sack, rack: sack, frto, receive_window: 100_000, ..Profile::linux_6() }
}

#[test]
fn late_data_resend_only_the_first_segment_and_a_probe() {
    for sack in [false, true] {
        let (recovery, repeated) = transfer(without_timestamps(sack, true), false);
        assert!(recovery.timeouts > 0);
        // Each timeout repeats the first segment, and before them a probe repeats or brings the last.
        let most = (1 + u64::from(recovery.timeouts)) * 1460;
        assert!(repeated <= most, "sack {sack}: {repeated} bytes, {recovery:?}");
        let (_, without) = transfer(without_timestamps(sack, false), false);
        assert!(without > 10 * 1460, "sack {sack}: {without} bytes");
    }
}

#[test]
fn what_is_lost_is_sent_again_all_the_same() {
    for sack in [false, true] {
        let [(with, repeated), (without, again)] =
            [true, false].map(|frto| transfer(without_timestamps(sack, frto), true));
        assert!(with.timeouts > 0 && without.timeouts > 0);
        assert!(repeated > 10 * 1460 && again > 10 * 1460, "sack {sack}: {repeated} and {again} bytes");
    }
}
