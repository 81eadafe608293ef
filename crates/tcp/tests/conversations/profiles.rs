//! What the shipped profiles do, and which values are refused.

use aqmlab_tcp::options::{SynOptions, Timestamps};
use aqmlab_tcp::{Basic, Full, Needs, Options, Profile, Segment, State};

use crate::script::*;

fn with(segment: Segment, options: Options) -> Segment<Options> {
    Segment { options, ..Said::<Options>::said(segment) }
}

#[test]
fn every_profile_is_sensible_and_known_by_its_name() {
    for name in Profile::NAMES {
        let profile = Profile::named(name).expect("listed");
        assert_eq!(profile.check(), Ok(()), "{name}");
        assert_eq!(profile.needs(), if name == "linux-6" { Needs::Full } else { Needs::Basic }, "{name}");
    }
    assert_eq!(Profile::named("linux-7"), None);
    let wide = Profile { window_scaling: true, ..Profile::ns2_newreno() };
    assert_eq!(wide.needs(), Needs::Scaled);
}

#[test]
fn linux_sends_syns_at_0_1_2_3_4_5_7_11_19_35_67_s_and_gives_up_at_131_s() {
    let mut tcp = Script::<Full>::connect(Profile::linux_6());
    let syn_at = |seconds: u32| {
        let syn_options = SynOptions { mss: 1460, sack_permitted: true, window_scale: Some(7) };
        let timestamps = Timestamps { value: 1000 * seconds, echo: 0 };
        with(syn(), Options::default().with_timestamps(timestamps).with_syn(syn_options))
    };
    tcp.sends_with([syn_at(0)]);
    for seconds in [1, 2, 3, 4, 5, 7, 11, 19, 35, 67] {
        tcp.at(u64::from(seconds) * 1000).sends_with([syn_at(seconds)]);
    }
    tcp.at(130_999).is(State::SynSent).at(131_000).is(State::Closed);
}

#[test]
fn linux_waits_200_ms_beyond_the_round_trip_and_doubles_up_to_120_s() {
    let mut tcp = Script::<Full>::client(Profile { sack: false, rack: false, timestamps: false, ..linux() });
    tcp.writes(300).sends([data(1, 300)]);
    // The handshake took 100 ms: SRTT 100, 4 RTTVAR 200.
    let mut ms = OPENED;
    for wait in [300, 600, 1200, 2400, 4800, 9600, 19_200, 38_400, 76_800, 120_000, 120_000] {
        ms += wait;
        tcp.at(ms - 1).sends([]).at(ms).sends([data(1, 300)]);
    }
}

fn linux() -> Profile {
    Profile { mss: MSS, receive_window: 60_000, window_scaling: false, ..Profile::linux_6() }
}

#[test]
fn ns2_begins_with_one_segment_and_waits_6_s_for_the_first_answer() {
    let profile = Profile::ns2_newreno();
    let mut tcp = Script::<Basic>::connect(profile.clone());
    tcp.sends([syn()]).at(5999).sends([]).at(6000).sends([syn()]);
    tcp.gets(syn_ack()).sends([ack(1)]).writes(50_000).sends([data(1, 960)]);
    // A window of 20 segments, whatever the congestion window.
    let mut open = Script::<Basic>::client(Profile { initial_window: 30, ..profile });
    open.writes(50_000).sends((0..20).map(|k| data(1 + 960 * k, 960)));
}

#[test]
fn in_ns2_reno_the_first_new_acknowledgement_ends_fast_recovery() {
    let ten = |profile: Profile| {
        let mut tcp = Script::<Basic>::client(Profile { mss: MSS, initial_window: 10, ..profile });
        tcp.writes(10_000).sends((1..=10).map(full)).gets_times(3, ack(1)).sends([full(1)]);
        tcp
    };
    // Segment 4 is missing too.
    ten(Profile::ns2_newreno()).gets(ack(after(3))).sends([full(4)]);
    ten(Profile::ns2_reno()).gets(ack(after(3))).sends([]);
}

#[test]
fn what_makes_no_sense_is_refused_by_the_name_of_its_field() {
    let linux = Profile::linux_6;
    let cases = [
        ("rack", Profile { sack: false, ..linux() }),
        ("receive_window", Profile { window_scaling: false, ..linux() }),
        ("receive_window", Profile { receive_window: 1 << 30, ..linux() }),
        ("receive_window", Profile { receive_window: 1459, ..linux() }),
        ("mss", Profile { mss: 63, ..linux() }),
    ];
    for (field, profile) in cases {
        let (named, message) = profile.check().expect_err(field);
        assert_eq!(named, field);
        assert!(!message.contains('\n') && message.contains("got"), "{message}");
    }
}
