//! Tests of connections: two ends over a link in virtual time.

mod link;
mod oracle;

use proptest::prelude::*;

use self::link::{Fate, Link, client_and_server, ms};
use self::oracle::Oracle;
use super::*;
use crate::congestion::Reno;
use crate::{EcnPolicy, State};

const RTT: u64 = 100;

fn profile() -> Profile {
    Profile { congestion: crate::Algorithm::Reno, ..Profile::quic() }
}

fn with(change: impl FnOnce(&mut QuicValues)) -> Profile {
    let mut profile = profile();
    change(profile.quic.as_mut().expect("the profile is QUIC's"));
    profile
}

/// The priority of streams that take turns.
const TURNS: Priority = Priority { urgency: 3, turn: Some(16_384) };

/// Bytes received in order on a stream that is not done.
fn received_on(end: &Connection<Reno>, id: StreamId) -> u32 {
    end.streams.get(id).expect("it is not done").receive.next.get()
}

/// Exchange a request and a response of 1,000 bytes. Returns the times of the server's request and the client's response.
fn exchange(profile: &Profile) -> (u64, u64, Link<Reno>) {
    let mut link = Link::new(profile, ms(RTT / 2));
    link.client.write(1_000);
    link.server.await_data(1_000);
    link.client.await_data(1_000);
    link.run_until_event(false, Event::Received);
    let request = link.now_ms();
    link.server.write(1_000);
    link.run_until_event(true, Event::Received);
    (request, link.now_ms(), link)
}

#[test]
fn handshakes_take_the_round_trips_of_the_standard() {
    let times = |profile: &Profile| {
        let (request, response, _) = exchange(profile);
        (request, response)
    };
    // 1-RTT: the request leaves after a round trip, and arrives half a round trip later.
    assert_eq!(times(&profile()), (RTT + RTT / 2, 2 * RTT));
    assert_eq!(times(&with(|values| values.handshake = HandshakeForm::Resumed)), (RTT + RTT / 2, 2 * RTT));
    assert_eq!(times(&with(|values| values.handshake = HandshakeForm::ZeroRtt)), (RTT / 2, RTT));
    // 3 x 1,200 bytes hold a certificate of 2,000 bytes and none of 4,000 (RFC 9000 §8.1).
    assert_eq!(times(&with(|values| values.certificate = 4_000)), (2 * RTT + RTT / 2, 3 * RTT));
}

#[test]
fn a_client_with_0_rtt_opens_before_its_first_flight() {
    let mut link: Link<Reno> =
        Link::new(&with(|values| values.handshake = HandshakeForm::ZeroRtt), ms(RTT / 2));
    assert!(link.client.may_send() && link.client.poll_transmit(Time::ZERO, &profile()).is_none());
    link.run_until_event(true, Event::Opened);
    assert_eq!(link.now, Time::ZERO);
    link.run(ms(10 * RTT));
    assert!(!link.events.contains(&(true, Event::Opened)), "it opens once");
}

#[test]
fn full_handshakes_have_the_datagrams_of_aioquic() {
    // aioquic 1.7.2 with a certificate for P-256 of this size: datagrams of the server until the handshake is complete, and
    // the round trips that it takes. The last datagram differs by the length of optional extensions.
    for (certificate, datagrams, round_trips) in [
        (297, &[1_200][..], 1),
        (2_006, &[1_200, 1_200, 188][..], 1),
        (4_005, &[1_200, 1_200, 1_200, 1_033][..], 2),
        (6_006, &[1_200, 1_200, 1_200, 1_200, 1_200, 732][..], 2),
    ] {
        let mut link: Link<Reno> = Link::new(&with(|values| values.certificate = certificate), ms(RTT / 2));
        link.run_until_event(true, Event::Opened);
        assert_eq!(link.now_ms(), round_trips * RTT, "{certificate}");
        let flight = |from_client| {
            let sent = link.log.iter().filter(move |sent| sent.from_client == from_client);
            sent.map(|sent| u32::from(sent.payload)).collect::<Vec<_>>()
        };
        let (client, server) = (flight(true), flight(false));
        println!("{certificate}: {client:?} {server:?}");
        assert_eq!(client[0], 1_200);
        let [ours, theirs] = [server.iter().sum::<u32>(), datagrams.iter().sum()];
        assert!(ours.abs_diff(theirs) <= 100, "{certificate}: {server:?}, aioquic {datagrams:?}");
    }
}

#[test]
fn lost_first_flights_are_repeated_after_the_initial_pto() {
    let mut link: Link<Reno> = Link::new(&profile(), ms(RTT / 2));
    link.drop_number(true, 0);
    link.client.write(1_000);
    link.server.await_data(1_000);
    link.run_until_event(false, Event::Received);
    assert_eq!(link.now_ms(), 999 + RTT + RTT / 2);
    assert_eq!(link.client.recovery().syn_retransmits, 1);
}

#[test]
fn a_lost_server_flight_cannot_deadlock_the_handshake() {
    // RFC 9002 §6.2.2.1: the server has used up its allowance, and the client probes.
    let mut link: Link<Reno> = Link::new(&with(|values| values.certificate = 6_000), ms(RTT / 2));
    for number in 0..3 {
        link.drop_number(false, number);
    }
    link.client.write(1_000);
    link.server.await_data(1_000);
    link.run_until_event(false, Event::Received);
    assert!(link.now_ms() < 4_000, "{}", link.now_ms());
}

#[test]
fn both_ends_are_done_after_both_fins() {
    let (_, _, mut link) = exchange(&profile());
    link.client.close();
    link.run_until_event(false, Event::PeerClosed);
    assert_eq!(link.server.state(), State::CloseWait);
    link.server.close();
    link.run(ms(5_000));
    assert_eq!([link.client.state(), link.server.state()], [State::TimeWait; 2]);
    assert_eq!([link.client.in_flight(), link.server.in_flight()], [0; 2]);
}

#[test]
fn connections_are_given_up_without_an_answer() {
    let mut link: Link<Reno> = Link::new(&profile(), ms(RTT / 2));
    link.set_fates(|_| Fate::Lost);
    link.run(ms(11_000));
    assert_eq!((link.client.state(), link.events.pop()), (State::Closed, Some((true, Event::Aborted))));
    let (_, _, mut link) = exchange(&profile());
    link.set_fates(|_| Fate::Lost);
    link.server.write(100_000);
    link.run(ms(29_000));
    assert_ne!(link.server.state(), State::Closed);
    link.run(ms(60_000));
    assert_eq!(link.server.state(), State::Closed);
}

#[test]
fn a_tail_is_repaired_by_a_probe() {
    let (_, _, mut link) = exchange(&profile());
    link.run(ms(1_000));
    let next = link.sent_by(false);
    link.drop_number(false, next);
    link.server.write(1_000);
    link.client.await_data(1_000);
    let start = link.now_ms();
    link.run_until_event(true, Event::Received);
    // RFC 9002 §6.2.1: smoothed_rtt + 4 rttvar + max_ack_delay, with a few samples of one value.
    let pto = link.now_ms() - start - RTT / 2;
    assert!((RTT + 25..RTT + 25 + 4 * RTT / 2).contains(&pto), "{pto} ms");
    link.run(ms(start + 10 * RTT));
    let counts = link.server.recovery();
    assert_eq!(
        (counts.timeouts, counts.fast_retransmits),
        (1, 1),
        "the probe's acknowledgement shows the loss"
    );
}

#[test]
fn a_lost_packet_delays_only_its_stream() {
    let (_, _, mut link) = exchange(&profile());
    link.run(ms(1_000));
    let [first, second] = [TURNS; 2].map(|priority| link.client.open_stream(priority));
    link.client.write_stream(first, 5_000);
    link.client.write_stream(second, 5_000);
    let next = link.sent_by(true);
    link.drop_number(true, next);
    let start = link.now_ms();
    link.run(ms(start + RTT / 2 + 10));
    let received = [first, second].map(|id| received_on(&link.server, id));
    assert!(received[0] < 5_000 && received[1] == 5_000, "{received:?}");
    link.run(ms(start + 10 * RTT));
    assert_eq!(received_on(&link.server, first), 5_000);
    assert_eq!(link.client.recovery().fast_retransmits, 1);
}

#[test]
fn urgent_streams_come_first_and_incremental_ones_take_turns() {
    let order = |turn| {
        let mut profile = profile();
        profile.initial_window = 100;
        let mut link: Link<Reno> = Link::new(&profile, ms(RTT / 2));
        link.run(ms(1_000));
        let [late, one, two] = [7, 1, 1].map(|urgency| link.client.open_stream(Priority { urgency, turn }));
        for id in [late, one, two] {
            link.client.write_stream(id, 20_000);
        }
        let mut order = Vec::new();
        // Late enough for the pacer.
        for second in 2..20 {
            while let Some((datagram, _)) = link.client.poll_transmit(ms(1_000 * second), &profile) {
                order.extend(datagram.frames(Space::Data).filter_map(|frame| match frame {
                    wire::Frame::Stream { id, .. } => [late, one, two].iter().position(|of| of.0 == id),
                    _ => None,
                }));
            }
        }
        order.dedup();
        order
    };
    assert_eq!(order(Some(16_384)), [1, 2, 1, 2, 0]);
    assert_eq!(order(None), [1, 2, 0]);
}

#[test]
fn an_answered_request_is_reported_once_and_its_stream_retired() {
    let (_, _, mut link) = exchange(&profile());
    let ids = [600, 0, 5_000].map(|bytes| {
        let id = link.client.open_stream(Priority::default());
        link.client.write_stream(id, bytes);
        link.client.finish_stream(id);
        id
    });
    assert_eq!(ids, [0, 1, 2].map(StreamId::opened));
    link.run_until_event(false, Event::Received);
    link.run(link.now + Duration::from_millis(10));
    let polled = |end: &mut Connection<Reno>| std::iter::from_fn(|| end.poll_complete()).collect::<Vec<_>>();
    assert_eq!(polled(&mut link.server), ids);
    for id in ids {
        link.server.write_stream(id, 20_000);
        link.server.finish_stream(id);
    }
    link.run(ms(3_000));
    assert_eq!(polled(&mut link.client), ids);
    for end in [&mut link.client, &mut link.server] {
        assert!(!end.streams.has_open() && polled(end).is_empty());
        assert_eq!(end.state(), State::Established);
    }
}

#[test]
fn a_client_gives_up_on_a_server_that_does_not_answer() {
    let (_, _, mut link) = exchange(&profile());
    let id = link.client.open_stream(Priority::default());
    link.client.write_stream(id, 600);
    link.client.finish_stream(id);
    link.run(ms(1_000));
    assert_eq!(link.client.in_flight(), 0);
    link.run(ms(60_000));
    assert_eq!((link.client.state(), link.events.last()), (State::Closed, Some(&(true, Event::Aborted))));
}

#[test]
fn flow_control_limits_a_sender_and_moves_on() {
    let mut profile = with(|values| values.stream_window = 20_000);
    profile.receive_window = 30_000;
    let mut link: Link<Reno> = Link::new(&profile, ms(RTT / 2));
    link.client.write(200_000);
    link.server.await_data(200_000);
    link.run_until_event(false, Event::Received);
    // One window a round trip, or less: updates come after half of it.
    let round_trips = link.now_ms() / RTT;
    assert!((10..=22).contains(&round_trips), "{round_trips}");
}

#[test]
fn a_mark_halves_the_window_once_a_round_trip() {
    let profile = Profile { ecn: EcnPolicy::Rfc3168, ..profile() };
    let (_, _, mut link) = exchange(&profile);
    link.run(ms(1_000));
    let before = link.server.info().cwnd;
    link.set_fates(|sent| if sent.from_client { Fate::Arrives } else { Fate::Marked });
    link.server.write(5_000);
    link.run(ms(1_000 + RTT + RTT / 2));
    assert_eq!(link.server.info().cwnd, before / 2);
    assert_eq!(link.server.recovery().ecn_reductions, 1);
    assert!(link.server.info().sender.marked > Some(0));
}

#[test]
fn losses_over_three_ptos_are_persistent_congestion() {
    let (_, _, mut link) = exchange(&profile());
    link.run(ms(1_000));
    link.set_fates(|sent| if (ms(1_000)..ms(3_500)).contains(&sent.at) { Fate::Lost } else { Fate::Arrives });
    link.server.write(1_000_000);
    link.run(ms(3_500));
    let mut least = u32::MAX;
    for at in (3_500..6_000).step_by(10) {
        link.run(ms(at));
        least = least.min(link.server.info().cwnd);
    }
    assert_eq!(least, 2 * u32::from(profile().mss), "kMinimumWindow of RFC 9002 §7.2");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Any losses, duplicates and delays: each byte of each stream arrives once, in order, and the sender keeps the rules.
    #[test]
    fn any_network_delivers_every_stream(
        seed in any::<u64>(),
        loss in 0u32..25,
        copies in 0u32..10,
        reordered in 0u32..20,
        sizes in prop::collection::vec(1u32..60_000, 1..5),
        form in prop::sample::select(vec![HandshakeForm::Full, HandshakeForm::ZeroRtt]),
    ) {
        let mut profile = with(|values| (values.handshake, values.certificate) = (form, 5_000));
        profile.connect_timeout = Duration::from_secs(900);
        profile.quic.as_mut().expect("the profile is QUIC's").idle_timeout = Duration::from_secs(900);
        let mut link: Link<Reno> = client_and_server(&profile, ms(20));
        link.randomize(seed, loss, copies, reordered);
        let ids: Vec<_> = sizes.iter().map(|_| link.client.open_stream(TURNS)).collect();
        for (&id, &size) in ids.iter().zip(&sizes) {
            link.client.write_stream(id, size);
            link.client.finish_stream(id);
        }
        // `run` checks the rules of the sender at each datagram.
        link.run(ms(600_000));
        for (&id, &size) in ids.iter().zip(&sizes) {
            prop_assert_eq!(received_on(&link.server, id), size);
            let stream = link.server.streams.get(id).expect("it has data");
            prop_assert!(stream.receive.is_done());
            prop_assert!(link.client.streams.get(id).expect("it is open").send.is_done());
        }
        prop_assert_eq!(link.client.in_flight(), 0);
        prop_assert_eq!(link.client.delivered_bytes, sizes.iter().sum::<u32>());
        // Answered streams are done at both ends.
        for &id in &ids {
            link.server.write_stream(id, 10_000);
            link.server.finish_stream(id);
        }
        link.run(ms(1_200_000));
        prop_assert!(!link.client.streams.has_open() && !link.server.streams.has_open());
        link.client.close();
        link.server.close();
        link.run(ms(1_800_000));
        prop_assert_eq!([link.client.state(), link.server.state()], [State::TimeWait; 2]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Packets in flight, estimates and the timer are those of the pseudocode of RFC 9002 after each event.
    #[test]
    fn loss_detection_follows_the_pseudocode(
        seed in any::<u64>(),
        loss in 0u32..20,
        copies in 0u32..5,
        reordered in 0u32..20,
    ) {
        let (_, _, mut link) = exchange(&profile());
        link.run(ms(1_000));
        prop_assert_eq!(link.client.in_flight(), 0);
        // Times that do not coincide with thresholds, which are rounded to microseconds.
        link.delay = Duration::from_nanos(47_123_457);
        link.oracle = Some(Oracle::of(&link.client));
        link.randomize(seed, loss, copies, reordered);
        link.client.write(300_000);
        // `run` compares both after each event.
        link.run(ms(60_000));
        prop_assert_eq!(received_on(&link.server, StreamId::FIRST), 301_000);
        prop_assert!(link.oracle.is_some_and(|oracle| oracle.lost > 0 || loss < 10));
    }
}
