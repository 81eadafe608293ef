//! Receive windows that are tuned: how far they grow, and that they hold no sender back.

use aqmlab_tcp::congestion::Any;
use aqmlab_tcp::options::{SynOptions, Timestamps};
use aqmlab_tcp::{Endpoint, Flags, Full, Options, Profile, Segment, Seq};
use aqmlab_units::{Duration, Time};

use crate::network::{CLIENT, Network, SERVER};

const ROUND_TRIP_MS: u32 = 100;
const BYTES: u16 = 1000;

fn at(ms: u32) -> Time {
    Time::ZERO + Duration::from_millis(u64::from(ms))
}

/// The window of the last acknowledgement in each round trip, to a peer that sends these segments in each.
fn windows(profile: &Profile, timestamps: bool, segments: &[u32]) -> Vec<u32> {
    windows_from(1, profile, timestamps, segments)
}

/// The same if the data before `first` are lost.
fn windows_from(first: u32, profile: &Profile, timestamps: bool, segments: &[u32]) -> Vec<u32> {
    let mut tcp = Endpoint::<Full<Any>>::connect(profile, Time::ZERO);
    let stamped = |now_ms: u32| {
        let stamps = Timestamps { value: now_ms, echo: now_ms - ROUND_TRIP_MS };
        if timestamps { Options::default().with_timestamps(stamps) } else { Options::default() }
    };
    let syn = tcp.poll_transmit(at(0), profile).expect("a SYN");
    let shift = syn.options.syn().and_then(|syn| syn.window_scale).expect("an offer to scale windows");
    let offer = SynOptions { mss: BYTES, sack_permitted: true, window_scale: Some(0) };
    let syn_ack = Segment {
        ack: Seq::new(1),
        window: u16::MAX,
        flags: Flags::SYN | Flags::ACK,
        options: stamped(ROUND_TRIP_MS).with_syn(offer),
        ..Segment::default()
    };
    tcp.handle_segment(&syn_ack, at(ROUND_TRIP_MS), profile);
    assert!(tcp.poll_transmit(at(ROUND_TRIP_MS), profile).is_some());
    let mut next = first;
    let mut of_each = Vec::new();
    for (round, count) in (2..).zip(segments) {
        let now_ms = round * ROUND_TRIP_MS;
        let mut window = 0;
        for _ in 0..*count {
            let data = Segment { seq: Seq::new(next), len: BYTES, window: u16::MAX, ..syn_ack };
            let data = Segment { flags: Flags::ACK, options: stamped(now_ms), ..data };
            tcp.handle_segment(&data, at(now_ms), profile);
            next += u32::from(BYTES);
            while let Some(ack) = tcp.poll_transmit(at(now_ms), profile) {
                window = u32::from(ack.window) << shift;
            }
        }
        of_each.push(window);
    }
    of_each
}

fn prompt_receiver() -> Profile {
    Profile { mss: BYTES, ack_every: 1, ..Profile::linux_6() }
}

#[test]
fn a_window_grows_by_what_was_read_in_the_round_trip_before() {
    // By hand: the window starts at 65,000 bytes and grows by 2 * 988 with each segment, to a segment below the limit of 87,040.
    // Twice the 20,000 bytes read and 16 segments is 55,808, and twice the growth of that over 11,000 makes it 147,130; 287,424
    // for 40,000 over 20,000. Less asks for nothing. All in units of 1024.
    let expected = [84_992, 87_040, 146_432, 231_424, 271_360, 286_720];
    assert_eq!(windows(&prompt_receiver(), true, &[10, 20, 40, 44, 20, 20]), expected);
}

#[test]
fn data_beyond_a_gap_take_room_that_a_window_could_grow_into() {
    // By hand: with eight segments beyond the gap, the limit leaves 87,040 - 988 - 7,000 bytes, and less with each further one.
    assert_eq!(windows_from(1001, &prompt_receiver(), true, &[10]), [79_872]);
    assert_eq!(windows(&prompt_receiver(), true, &[10]), [84_992]);
}

#[test]
fn a_tuned_window_grows_to_its_maximum_a_fixed_one_starts_there() {
    let tuned = Profile { receive_window: 200_000, ..prompt_receiver() };
    let fixed = Profile { receive_window_tuning: false, ..tuned.clone() };
    assert_eq!(windows(&tuned, true, &[10, 20, 40, 80, 80])[2..], [146_144, 199_012, 199_012]);
    assert_eq!(windows(&fixed, true, &[10, 20]), [200_000, 200_000]);
}

#[test]
fn without_timestamps_a_round_is_a_windows_worth_of_data() {
    let grown = windows(&prompt_receiver(), false, &[10, 20, 40, 80]);
    assert_eq!(grown[..2], [86_016, 87_040]);
    assert!(grown[3] > 100_000, "{grown:?}");
}

/// The time at which the server has read all `bytes` of a client that windows alone hold back.
fn read_at(profile: Profile, bytes: u32) -> Time {
    let delay = Duration::from_millis(u64::from(ROUND_TRIP_MS / 2));
    let mut network =
        Network::<_, Full<Any>>::between(profile, move |_, segment, now: Time| vec![(now + delay, segment)]);
    network.write(CLIENT, bytes);
    while network.ends[SERVER].tcp.received() != Seq::new(1) + bytes {
        network.step();
    }
    network.now
}

#[test]
fn a_tuned_window_holds_no_slow_start_back() {
    let linux = Profile::linux_6();
    let fixed = Profile { receive_window_tuning: false, ..linux.clone() };
    let narrow = Profile { receive_window: 65_535, ..fixed.clone() };
    assert_eq!(read_at(linux, 8_000_000), read_at(fixed.clone(), 8_000_000));
    assert!(read_at(narrow, 8_000_000) > read_at(fixed, 8_000_000) + Duration::from_secs(5));
}
