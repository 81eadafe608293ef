//! Behaviour of the shipped profiles, and values that are refused.

use aqmlab_tcp::options::{SynOptions, Timestamps};
use aqmlab_tcp::{
    Algorithm, Basic, EcnPolicy, Full, HyStartForm, Options, Profile, RequiredStack, Segment, State,
};
use aqmlab_units::Duration;

use crate::script::*;

fn with(segment: Segment, options: Options) -> Segment<Options> {
    Segment { options, ..IntoSegment::<Options>::into_segment(segment) }
}

#[test]
fn every_profile_is_sensible_and_known_by_its_name() {
    for name in Profile::names() {
        assert_eq!(Profile::from_name(name).expect("listed").check(), Ok(()), "{name}");
    }
    assert_eq!(Profile::from_name("linux-7"), None);
}

#[test]
fn only_linux_keeps_a_record_of_sent_segments() {
    for old in [Profile::freebsd_4_5(), Profile::unc_testbed(), Profile::ns2_newreno(), Profile::ns2_reno()] {
        assert_eq!(old.required_stack(), RequiredStack::Basic, "{old:?}");
    }
    assert_eq!(Profile::linux_6().required_stack(), RequiredStack::Full);
}

#[test]
fn a_single_wish_decides_what_stack_it_takes() {
    let old = Profile::ns2_newreno;
    let accurate = EcnPolicy::Accurate;
    for (wish, profile, needs) in [
        ("window scaling", Profile { window_scaling: true, ..old() }, RequiredStack::Scaled),
        ("ECN", Profile { ecn: EcnPolicy::Rfc3168, ..old() }, RequiredStack::Basic),
        ("accurate ECN", Profile { ecn: accurate, accecn_option: false, ..old() }, RequiredStack::Basic),
        ("its option without it", Profile { accecn_option: true, ..old() }, RequiredStack::Basic),
        ("its option", Profile { ecn: accurate, accecn_option: true, ..old() }, RequiredStack::Full),
        ("SACK", Profile { sack: true, ..old() }, RequiredStack::Full),
        ("timestamps", Profile { timestamps: true, ..old() }, RequiredStack::Full),
        ("F-RTO", Profile { frto: true, ..old() }, RequiredStack::Full),
        ("quick acknowledgements", Profile { quick_acks: 1, ..old() }, RequiredStack::Full),
        ("the same after marks", Profile { quick_acks_after_mark: 1, ..old() }, RequiredStack::Full),
        ("a window above one segment", Profile { min_window: 2, ..old() }, RequiredStack::Full),
        (
            "a tuned window",
            Profile { receive_window_tuning: true, window_scaling: true, ..old() },
            RequiredStack::Full,
        ),
        ("CUBIC", Profile { congestion: Algorithm::Cubic, ..old() }, RequiredStack::Full),
        ("ABE", Profile { abe: true, ecn: EcnPolicy::Rfc3168, ..old() }, RequiredStack::Full),
        ("HyStart++", Profile { hystart: HyStartForm::PlusPlus, ..old() }, RequiredStack::Full),
    ] {
        assert_eq!(profile.check(), Ok(()), "{wish}");
        assert_eq!(profile.required_stack(), needs, "{wish}");
    }
}

#[test]
fn linux_syns_leave_at_0_to_5_7_11_19_35_67_s_until_131_s() {
    let mut tcp = Script::<Full>::connect(Profile { receive_window_tuning: false, ..Profile::linux_6() });
    let syn_at = |seconds: u32| {
        let syn_options = SynOptions { mss: 1460, sack_permitted: true, window_scale: Some(10) };
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
fn linuxs_rto_is_the_rtt_plus_200_ms_and_doubles_up_to_120_s() {
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
    Profile {
        mss: MSS,
        receive_window: 60_000,
        window_scaling: false,
        receive_window_tuning: false,
        ..Profile::linux_6()
    }
}

#[test]
fn ns2_has_initial_window_1_and_initial_rto_6_s() {
    let profile = Profile::ns2_newreno();
    let mut tcp = Script::<Basic>::connect(profile.clone());
    tcp.sends([syn()]).at(5999).sends([]).at(6000).sends([syn()]);
    tcp.gets(syn_ack()).sends([ack(1)]).writes(50_000).sends([data(1, 960)]);
    // A window of 20 segments, with any larger congestion window.
    let mut open = Script::<Basic>::client(Profile { initial_window: 30, ..profile });
    open.writes(50_000).sends((0..20).map(|k| data(1 + 960 * k, 960)));
}

#[test]
fn ns2_doubles_the_syn_timeout_up_to_its_maximum() {
    // `TcpAgent::rtt_backoff` and `rtt_timeout`: in 2000 from 6 s up to 64 s, in ns-2.35 from 3 s up to 60 s, where a fifth
    // loss has cost 93 s.
    let of_2000 = [6, 12, 24, 48, 64, 64, 64];
    let of_ns_2_35 = [3, 6, 12, 24, 48, 60, 60, 60];
    for (initial_rto, waits) in [(6, &of_2000[..]), (3, &of_ns_2_35[..])] {
        let initial_rto = Duration::from_secs(initial_rto);
        let mut tcp = Script::<Basic>::connect(Profile { initial_rto, ..Profile::ns2_newreno() });
        tcp.sends([syn()]);
        let mut ms = 0;
        for wait in waits {
            ms += 1000 * wait;
            tcp.at(ms - 1).sends([]).at(ms).sends([syn()]);
        }
        tcp.is(State::SynSent);
    }
}

#[test]
fn no_wait_between_syns_is_longer_than_the_greatest_timeout() {
    let profile = Profile { max_rto: Duration::from_secs(5), ..Profile::freebsd_4_5() };
    let mut tcp = Script::<Basic>::connect(profile);
    tcp.sends([syn()]);
    for ms in [3_000, 6_000, 9_000, 12_000, 15_000, 20_000, 25_000] {
        tcp.at(ms - 1).sends([]).at(ms).sends([syn()]);
    }
}

#[test]
fn a_round_trip_of_30_ms_is_a_tick_of_ns2s_clock() {
    let mut tcp = Script::<Basic>::connect(Profile::ns2_newreno());
    tcp.sends([syn()]).at(30).gets(syn_ack()).sends([ack(1)]).writes(300).sends([data(1, 300)]);
    // SRTT 100, 4 RTTVAR 200.
    tcp.at(329).sends([]).at(330).sends([data(1, 300)]);
}

#[test]
fn an_ns2_server_acknowledges_each_segment_and_begins_with_one() {
    let mut tcp = Script::<Basic>::server(Profile::ns2_newreno());
    tcp.gets(full(1)).sends([ack(after(1))]).writes(50_000).sends([data(1, 960).acking(after(1))]);
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
    let old = || Profile { receive_window: 9000, ..Profile::ns2_newreno() };
    let accurate = EcnPolicy::Accurate;
    let cases = [
        ("mss", Profile { mss: 0, ..old() }),
        ("mss", Profile { mss: 9001, ..linux() }),
        ("mss", Profile { mss: 63, sack: true, ..old() }),
        ("mss", Profile { mss: 63, timestamps: true, ..old() }),
        ("mss", Profile { mss: 63, ecn: accurate, accecn_option: true, ..old() }),
        ("rack", Profile { sack: false, ..linux() }),
        ("receive_window", Profile { window_scaling: false, ..linux() }),
        ("receive_window", Profile { receive_window: 1 << 30, ..linux() }),
        ("receive_window_tuning", Profile { receive_window_tuning: true, ..old() }),
        ("receive_window", Profile { receive_window: 1459, ..linux() }),
        ("initial_window", Profile { initial_window: 0, ..old() }),
        ("min_window", Profile { min_window: 0, ..old() }),
        ("pacing_burst", Profile { pacing_burst: 0, ..old() }),
        ("ack_every", Profile { ack_every: 0, ..old() }),
        ("syn_ack_retransmits", Profile { syn_ack_retransmits: 17, ..old() }),
        ("syn_backoff", Profile { syn_backoff: vec![], ..old() }),
        ("data_backoff", Profile { data_backoff: vec![1, 0], ..old() }),
        ("initial_rto", Profile { initial_rto: Duration::ZERO, ..old() }),
        ("min_rto", Profile { min_rto: Duration::ZERO, ..old() }),
        ("delayed_ack", Profile { delayed_ack: Duration::ZERO, ..old() }),
        ("connect_timeout", Profile { connect_timeout: Duration::ZERO, ..old() }),
        ("max_rto", Profile { max_rto: Duration::from_millis(199), ..old() }),
        ("congestion", Profile { congestion: Algorithm::Dctcp, ..old() }),
        ("congestion", Profile { congestion: Algorithm::Prague, ecn: EcnPolicy::Dctcp, ..old() }),
        ("abe", Profile { abe: true, ..old() }),
        ("abe", Profile { abe: true, congestion: Algorithm::Bbr, ecn: EcnPolicy::Rfc3168, ..old() }),
    ];
    for (field, profile) in cases {
        let (named, message) = profile.check().expect_err(field);
        assert_eq!(named, field);
        assert!(!message.contains('\n') && message.contains("got"), "{message}");
    }
}

#[test]
fn what_is_just_within_its_bounds_is_taken() {
    let old = || Profile { receive_window: 9000, ..Profile::ns2_newreno() };
    for profile in [
        Profile { mss: 1, ..old() },
        Profile { mss: 9000, ..old() },
        Profile { mss: 64, sack: true, timestamps: true, ..old() },
        Profile { receive_window: 65_535, ..old() },
        Profile { receive_window: 960, ..old() },
        Profile { syn_ack_retransmits: 16, ..old() },
        Profile { max_rto: Duration::from_millis(200), ..old() },
    ] {
        assert_eq!(profile.check(), Ok(()), "{profile:?}");
    }
}
