//! Scripts of units played on a network with a fixed delay.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::super::adu::Adu;
use super::super::generator::Start;
use super::super::recorded::Recorded;
use super::super::source::VectorSource;
use super::VectorAction::{Aborted, Answer, Close, Completed as Done, Open, Sleep, Write};
use super::*;
use crate::sources::draws::rtt::MinRtt;

const DELAY: Duration = Duration::from_millis(40);

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn at(n: u64) -> Time {
    Time::ZERO + ms(n)
}

fn asks(pause: u64, size: u64) -> Adu {
    Adu::request(ms(pause), Bytes::new(size))
}

fn says(pause: u64, size: u64) -> Adu {
    Adu::response(ms(pause), Bytes::new(size))
}

fn source(generator: impl Generator + 'static) -> VectorSource {
    let rtts = MinRtt::Range { min: ms(80), max: ms(80) };
    VectorSource::new(Box::new(generator), rtts, 1)
}

/// A source of one connection that sends `units`.
fn script(units: &[Adu]) -> VectorSource {
    let mut recorded = Recorded::default();
    recorded.push(Time::ZERO, 0, None, units.iter().copied());
    source(recorded)
}

/// The same two units for ever.
#[derive(Debug)]
struct Repeated(Adu, Adu);

impl Generator for Repeated {
    fn next(&mut self) -> Option<Start> {
        Some(Start::at(Time::ZERO, 0))
    }

    fn adu(&self, cursor: &mut Cursor) -> Option<Adu> {
        let (number, _) = cursor.step();
        Some(if number.is_multiple_of(2) { self.0 } else { self.1 })
    }

    fn is_endless(&self) -> bool {
        true
    }
}

/// Plays the first connection of `source`, opened at 0: written data arrive in this number of `pieces`, the last one
/// after [`DELAY`]. Returns the actions with their times.
fn play(source: &mut VectorSource, pieces: u64) -> Vec<(Time, VectorAction)> {
    let vector = source.next().expect("one connection");
    let mut connection = source.open(&vector, Time::ZERO);
    // A stable order: by time, then by planning.
    let mut agenda: VecDeque<(Time, VectorEvent)> = VecDeque::from([(at(80), VectorEvent::Opened)]);
    let (mut done, mut out) = (Vec::new(), Vec::new());
    while let Some((now, event)) = agenda.pop_front() {
        source.on_event(&mut connection, event, now, &mut out);
        for action in out.drain(..) {
            done.push((now, action));
            let mut plan = |when: Time, event| {
                let place = agenda.partition_point(|(planned, _)| *planned <= when);
                agenda.insert(place, (when, event));
            };
            let mut carry = |size: Bytes, report: fn(Bytes) -> VectorEvent| {
                let part = size.get() / pieces;
                for piece in 1..pieces {
                    if part > 0 {
                        plan(now + DELAY, report(Bytes::new(part)));
                    }
                    let _ = piece;
                }
                plan(now + DELAY, report(Bytes::new(size.get() - part * (pieces - 1))));
            };
            match action {
                Write(size) => carry(size, VectorEvent::Delivered),
                Answer(size) => carry(size, VectorEvent::Received),
                Sleep(pause) => plan(now + pause, VectorEvent::Woken),
                Done(_) | Aborted | Close | Open => {}
                VectorAction::Watched(_) => unreachable!("a vector has no viewer"),
                VectorAction::Withdraw(_) => unreachable!("a vector keeps nothing"),
            }
        }
    }
    assert!(connection.is_over(), "the script ends: {connection:?}");
    done
}

/// The actions but for the completions, and those.
fn split(done: &[(Time, VectorAction)]) -> (Vec<(Time, VectorAction)>, Vec<Completed>) {
    let completed = done.iter().filter_map(|(_, action)| match action {
        Done(completed) => Some(*completed),
        _ => None,
    });
    let rest = done.iter().filter(|(_, action)| !matches!(action, Done(_)));
    (rest.copied().collect(), completed.collect())
}

fn sizes(n: u64) -> Bytes {
    Bytes::new(n)
}

#[test]
fn both_ends_pause_after_reception_and_the_initiator_closes() {
    let done = play(&mut script(&[asks(0, 300), says(25, 5_000), asks(1_000, 200), says(0, 70)]), 1);
    let (actions, completed) = split(&done);
    let expected = [
        (at(80), Write(sizes(300))),
        (at(120), Sleep(ms(25))),
        (at(145), Answer(sizes(5_000))),
        (at(185), Sleep(ms(1_000))),
        (at(1_185), Write(sizes(200))),
        (at(1_225), Answer(sizes(70))),
        (at(1_265), Close),
    ];
    assert_eq!(actions, expected);
    let times: Vec<_> = completed.iter().map(|c| (c.started, c.response_time, c.first)).collect();
    assert_eq!(times, [(at(0), ms(185), true), (at(1_185), ms(80), false)]);
    assert_eq!((completed[0].request, completed[0].response), (sizes(300), sizes(5_000)));
}

#[test]
fn an_end_that_sends_again_pauses_after_its_own_write() {
    // The answer at 120 ms; its sequel 10 ms later, before the answer has come.
    let done = play(&mut script(&[asks(0, 1), says(0, 1_000), says(10, 50), asks(5, 7)]), 1);
    let (actions, completed) = split(&done);
    assert_eq!(
        actions[1..4],
        [(at(120), Answer(sizes(1_000))), (at(120), Sleep(ms(10))), (at(130), Answer(sizes(50)))]
    );
    assert_eq!(actions[4..], [(at(170), Sleep(ms(5))), (at(175), Write(sizes(7))), (at(215), Close)]);
    assert_eq!(completed[0].response_time, ms(160), "to the last byte of the answer, not of its sequel");
    assert_eq!(completed[0].response, sizes(1_000));
    // The initiator's last word is an upload.
    assert_eq!((completed[1].request, completed[1].response), (sizes(7), Bytes::ZERO));
    assert_eq!((completed[1].started, completed[1].response_time), (at(175), DELAY));
}

#[test]
fn units_in_a_row_are_one_request_timed_from_its_last_part() {
    let done = play(&mut script(&[asks(0, 1), says(0, 1), asks(0, 100), asks(30, 20), says(0, 9)]), 1);
    let completed = split(&done).1;
    assert_eq!((completed[1].request, completed[1].started), (sizes(120), at(190)));
    assert_eq!(completed[1].response_time, ms(80));
    // But the first exchange of a connection begins with the handshake.
    let first = split(&play(&mut script(&[asks(0, 100), says(0, 9)]), 1)).1[0];
    assert_eq!((first.started, first.response_time), (at(0), ms(160)));
    let first = split(&play(&mut script(&[asks(0, 100), asks(30, 20), says(0, 9)]), 1)).1[0];
    assert_eq!((first.started, first.response_time, first.first), (at(110), ms(80), true));
}

#[test]
fn a_greeting_is_no_exchange_and_has_the_handshakes_time() {
    let done = play(&mut script(&[says(0, 80), asks(2, 10), says(0, 20)]), 1);
    let (actions, completed) = split(&done);
    assert_eq!(actions[0], (at(80), Answer(sizes(80))));
    assert_eq!(completed.len(), 1);
    assert_eq!(
        (completed[0].started, completed[0].response_time, completed[0].first),
        (at(122), ms(80), false)
    );
}

#[test]
fn a_connection_closes_after_its_last_pause_and_all_data() {
    let closing = |pause| {
        let done = play(&mut script(&[asks(0, 1), says(0, 1), says(pause, 0)]), 1);
        done.last().copied().expect("something happened")
    };
    assert_eq!(closing(500), (at(620), Close), "the pause runs from the write");
    assert_eq!(closing(5), (at(160), Close));
    let done = play(&mut script(&[asks(0, 1), asks(90, 0)]), 1);
    assert_eq!(split(&done).1[0].response_time, ms(120), "an upload is complete when it has come");
    assert_eq!(done.last(), Some(&(at(170), Close)));
}

/// A source of one concurrent connection that sends `units`.
fn concurrent(units: &[Adu]) -> VectorSource {
    let mut recorded = Recorded::default();
    recorded.push(Time::ZERO, 0, None, units.iter().copied());
    recorded.mark_concurrent();
    source(recorded)
}

#[test]
fn the_ends_of_a_concurrent_vector_do_not_wait() {
    let units = [says(0, 80), asks(10, 300), asks(0, 20), says(5, 5_000), asks(200, 7)];
    let done = play(&mut concurrent(&units), 1);
    let (actions, completed) = split(&done);
    let expected = [
        (at(80), Answer(sizes(80))),
        (at(80), Sleep(ms(10))),
        (at(90), Write(sizes(300))),
        (at(90), Write(sizes(20))),
        (at(90), Sleep(ms(5))),
        (at(95), Answer(sizes(5_000))),
        (at(95), Sleep(ms(200))),
        (at(295), Write(sizes(7))),
        (at(335), Close),
    ];
    assert_eq!(actions, expected);
    assert_eq!(completed, []);
    // In a sequential vector the answer waits for the request.
    assert_eq!(split(&play(&mut script(&units), 1)).0[5], (at(175), Answer(sizes(5_000))));
}

#[test]
fn a_concurrent_connection_closes_after_its_last_pause() {
    let closing = |pause| {
        let done = play(&mut concurrent(&[asks(0, 9), says(0, 9), asks(pause, 0)]), 3);
        done.last().copied().expect("something happened")
    };
    assert_eq!((closing(5), closing(500)), ((at(120), Close), (at(580), Close)));
    assert_eq!(play(&mut concurrent(&[]), 1), [(at(80), Close)]);
    let (mut lost, mut out) = (concurrent(&[asks(0, 1), says(9, 1)]), Vec::new());
    let vector = lost.next().expect("one");
    let mut connection = lost.open(&vector, at(0));
    lost.on_event(&mut connection, VectorEvent::Closed, at(75), &mut out);
    assert!(out.is_empty() && connection.is_over(), "no exchange is aborted: {out:?}");
}

#[test]
fn a_lost_connection_is_over_unless_it_is_endless() {
    let (mut once, mut out) = (script(&[asks(0, 1), says(0, 1)]), Vec::new());
    let vector = once.next().expect("one");
    let mut connection = once.open(&vector, at(0));
    once.on_event(&mut connection, VectorEvent::Closed, at(75), &mut out);
    assert_eq!((out.as_slice(), connection.is_over()), ([Aborted].as_slice(), true));
}

#[test]
fn a_lost_endless_connection_is_replaced_after_the_next_pause() {
    let mut source = source(Repeated(asks(100, 10), says(0, 1_000)));
    let vector = source.next().expect("one");
    let (mut connection, mut out) = (source.open(&vector, at(0)), Vec::new());
    let mut tell = |event, now, expected: &[VectorAction]| {
        source.on_event(&mut connection, event, at(now), &mut out);
        assert_eq!(std::mem::take(&mut out), expected, "after {event:?} at {now} ms");
        assert!(!connection.is_over());
    };
    // Not even opened: at once.
    tell(VectorEvent::Closed, 75, &[Aborted, Open]);
    tell(VectorEvent::Opened, 100, &[Sleep(ms(100))]);
    tell(VectorEvent::Woken, 200, &[Write(sizes(10))]);
    // Lost while the response is due.
    tell(VectorEvent::Delivered(sizes(10)), 240, &[Answer(sizes(1_000))]);
    tell(VectorEvent::Received(sizes(400)), 280, &[]);
    tell(VectorEvent::Closed, 300, &[Aborted, Sleep(ms(100))]);
    tell(VectorEvent::Woken, 400, &[Open]);
    tell(VectorEvent::Opened, 480, &[Write(sizes(10))]);
    tell(VectorEvent::Delivered(sizes(10)), 520, &[Answer(sizes(1_000))]);
    let completed = Completed {
        request: sizes(10),
        response: sizes(1_000),
        started: at(400),
        response_time: ms(160),
        first: true,
        persistent: false,
        connection: 0,
        top_level: false,
    };
    tell(VectorEvent::Received(sizes(1_000)), 560, &[Done(completed), Sleep(ms(100))]);
    // Lost while nothing is going on: the pause that runs serves, and nothing is aborted.
    tell(VectorEvent::Closed, 600, &[]);
    tell(VectorEvent::Woken, 660, &[Open]);
}

#[test]
fn low_water_marks_are_where_something_happens() {
    let mut source = script(&[asks(0, 300), says(0, 1_000), says(10, 50)]);
    let vector = source.next().expect("one");
    let (mut connection, mut out) = (source.open(&vector, at(0)), Vec::new());
    source.on_event(&mut connection, VectorEvent::Opened, at(80), &mut out);
    assert_eq!(connection.awaits_at_acceptor(), sizes(300));
    source.on_event(&mut connection, VectorEvent::Delivered(sizes(300)), at(120), &mut out);
    source.on_event(&mut connection, VectorEvent::Woken, at(130), &mut out);
    assert_eq!(connection.awaits_at_initiator(), sizes(1_000), "the answer, although more is on its way");
    source.on_event(&mut connection, VectorEvent::Received(sizes(1_000)), at(160), &mut out);
    assert!(matches!(out.last(), Some(Done(_))));
    assert_eq!(connection.awaits_at_initiator(), sizes(50));
}

#[test]
fn state_is_small() {
    // An engine holds tens of thousands of connections.
    assert!(size_of::<VectorConnection>() <= 96, "{}", size_of::<VectorConnection>());
}

prop_compose! {
    fn unit()(asks: bool, pause in prop::sample::select(vec![0_u64, 0, 1, 30, 40, 100]), size in 1_u64..5_000) -> Adu {
        let by = if asks { End::Initiator } else { End::Acceptor };
        Adu { by, pause: ms(pause), size: Bytes::new(size) }
    }
}

proptest! {
    #[test]
    fn one_report_or_many_give_the_same_actions_at_the_same_times(
        units in prop::collection::vec(unit(), 0..12), pieces in 2_u64..5,
    ) {
        prop_assert_eq!(play(&mut script(&units), 1), play(&mut script(&units), pieces));
    }

    #[test]
    fn every_unit_is_sent_once_and_every_request_is_answered(
        units in prop::collection::vec(unit(), 0..12),
    ) {
        let (actions, completed) = split(&play(&mut script(&units), 1));
        let sent: Vec<(End, Bytes)> = actions.iter().filter_map(|(_, action)| match action {
            Write(size) => Some((End::Initiator, *size)),
            Answer(size) => Some((End::Acceptor, *size)),
            _ => None,
        }).collect();
        let planned: Vec<_> = units.iter().map(|unit| (unit.by, unit.size)).collect();
        prop_assert_eq!(sent, planned);
        prop_assert_eq!(actions.last().map(|(_, action)| *action), Some(Close));
        // A run of the initiator's is an exchange.
        let mut runs = 0;
        let mut before = None;
        for unit in &units {
            runs += usize::from(unit.by == End::Initiator && before != Some(End::Initiator));
            before = Some(unit.by);
        }
        prop_assert_eq!(completed.len(), runs);
        let asked: u64 = units.iter().filter(|u| u.by == End::Initiator).map(|u| u.size.get()).sum();
        prop_assert_eq!(completed.iter().map(|c| c.request.get()).sum::<u64>(), asked);
        prop_assert!(completed.iter().filter(|c| c.first).count() <= 1);
    }
}
