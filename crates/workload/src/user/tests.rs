//! One user on a network that does things in random order.

use std::collections::BTreeMap;

use aqmlab_units::Prob;

use super::*;
use crate::{RttConfig, WebConfig};

fn web() -> Web {
    let rtt = RttConfig::shipped("uniform").expect("shipped");
    Web::new(&WebConfig::shipped("unc-2001").expect("shipped"), &rtt, 1).expect("valid")
}

/// A user and its connections. Each step serves a connection chosen at random, in part or whole.
struct World<'a> {
    web: &'a Web,
    user: User,
    live: BTreeMap<u32, Connection>,
    order: Stream,
    breaks: Prob,
    now: Time,
    next_id: u32,
}

/// The events from a wake to the next sleep.
#[derive(Debug, Default)]
struct Page {
    /// Objects that the page consists of, the top-level one included.
    objects: usize,
    /// The number of its connection, its minimum round-trip time, and each completed exchange, in order of time.
    completed: Vec<(u64, Duration, Completed)>,
    aborted: usize,
    resumed: Option<u32>,
    /// Connections opened before the top-level response was complete, and after.
    opened_before: usize,
    opened_after: usize,
    most_active: usize,
    think: Duration,
}

impl Page {
    /// Returns the exchanges of each connection in their order.
    fn by_connection(&self) -> BTreeMap<u64, Vec<(Duration, Bytes, Bytes, bool)>> {
        let mut by_connection: BTreeMap<u64, Vec<_>> = BTreeMap::new();
        for &(number, rtt, c) in &self.completed {
            by_connection.entry(number).or_default().push((rtt, c.request, c.response, c.top_level));
        }
        by_connection
    }
}

impl World<'_> {
    fn new(web: &Web, number: u32, order: u64) -> World<'_> {
        World {
            web,
            user: web.user(number).0,
            live: BTreeMap::new(),
            order: Stream::numbered(order, 0),
            breaks: Prob::ZERO,
            now: Time::ZERO,
            next_id: 0,
        }
    }

    fn page(&mut self) -> Page {
        let mut page = Page::default();
        let mut planned = self.user.clone();
        planned.turn_page(self.web);
        page.objects = planned.remaining.iter().map(|&n| usize::from(n)).sum();

        let mut out = Vec::new();
        self.web.wake(&mut self.user, self.now, &mut out);
        let mut asleep = self.act(None, out, &mut page);
        for _ in 0..10_000 {
            if asleep {
                assert_eq!(self.active().len(), 0, "a user sleeps only when nothing is going on");
                return page;
            }
            asleep = self.step(&mut page);
        }
        panic!("the user is wedged: {:?}", self.user);
    }

    fn active(&self) -> Vec<u32> {
        self.live.iter().filter(|(_, c)| !c.is_idle()).map(|(&id, _)| id).collect()
    }

    /// Serve a connection chosen at random.
    fn step(&mut self, page: &mut Page) -> bool {
        let active = self.active();
        page.most_active = page.most_active.max(active.len());
        let chosen = usize::try_from(self.order.below(active.len() as u64)).expect("a few");
        let id = active[chosen];
        self.now += Duration::from_millis(1 + self.order.below(100));
        let event = match &self.live[&id] {
            _ if self.order.chance(self.breaks) => UserEvent::Closed,
            c if c.phase == Phase::Opening => UserEvent::Opened,
            c if self.order.below(2) == 0 => UserEvent::Received(c.awaits()),
            c => UserEvent::Received(Bytes::new(self.order.below(c.awaits().get()) + 1)),
        };
        self.tell(id, event, page)
    }

    fn tell(&mut self, id: u32, event: UserEvent, page: &mut Page) -> bool {
        let mut conn = self.live.remove(&id).expect("live");
        let mut out = Vec::new();
        self.web.on_event(&mut self.user, &mut conn, ConnectionId(id), event, self.now, &mut out);
        let gone = event == UserEvent::Closed || out.iter().any(|action| matches!(action, UserAction::Close));
        let cause = conn.clone();
        if !gone {
            self.live.insert(id, conn);
        }
        self.act(Some(&cause), out, page)
    }

    fn act(&mut self, cause: Option<&Connection>, out: Vec<UserAction>, page: &mut Page) -> bool {
        let mut asleep = false;
        for action in out {
            match action {
                UserAction::Open(conn) => {
                    if page.completed.is_empty() {
                        page.opened_before += 1;
                    } else {
                        page.opened_after += 1;
                    }
                    self.live.insert(self.next_id, conn);
                    self.next_id += 1;
                }
                UserAction::Resume(id) => {
                    page.resumed = Some(id.0);
                    let event =
                        if self.order.chance(self.breaks) { UserEvent::Closed } else { UserEvent::Resumed };
                    asleep |= self.tell(id.0, event, page);
                }
                UserAction::Completed(completed) => {
                    let conn = cause.expect("caused by a response");
                    page.completed.push((conn.number(), conn.min_rtt(), completed));
                }
                UserAction::Aborted => page.aborted += 1,
                UserAction::Sleep(think) => {
                    page.think = think;
                    asleep = true;
                }
                UserAction::Write(_) | UserAction::Close => {}
            }
        }
        asleep
    }
}

#[test]
fn every_object_is_fetched_once_the_top_level_one_first() {
    let web = web();
    for number in 0..20 {
        let mut world = World::new(&web, number, 7);
        for _ in 0..200 {
            let page = world.page();
            assert_eq!((page.completed.len(), page.aborted), (page.objects, 0));
            let top_level = page.completed.iter().position(|(_, _, c)| c.top_level);
            assert_eq!(
                top_level,
                Some(0),
                "embedded objects are known only when the top-level response has come"
            );
            assert_eq!(page.completed.iter().filter(|(_, _, c)| c.top_level).count(), 1);
            assert_eq!(page.opened_before, usize::from(page.resumed.is_none()));
        }
    }
}

#[test]
fn a_user_has_at_most_two_or_four_active_connections() {
    let web = web();
    for number in 0..40 {
        let mut world = World::new(&web, number, 7);
        let most = (0..300).map(|_| world.page().most_active).max();
        assert_eq!(most, Some(usize::from(world.user.max_parallel)), "user {number}");
        assert!([2, 4].contains(&world.user.max_parallel));
    }
}

#[test]
fn only_a_persistent_connection_to_the_same_server_survives() {
    let web = web();
    let mut survivals = 0;
    for number in 0..20 {
        let mut world = World::new(&web, number, 7);
        for _ in 0..200 {
            let kept = world.live.first_key_value().map(|(&id, c)| (id, c.clone()));
            let page = world.page();
            assert_eq!(page.resumed, kept.as_ref().map(|(id, _)| *id), "what was kept is used");
            if let Some((_, conn)) = kept {
                assert_eq!(page.completed[0].0, conn.number(), "it brings the top-level object");
                assert!(!page.completed[0].2.first && page.completed[0].2.persistent);
            }
            assert!(world.live.len() <= 1, "at most one connection survives");
            if let Some(conn) = world.live.values().next() {
                survivals += 1;
                assert!(conn.is_idle() && conn.is_persistent() && conn.to_page_server && conn.quota > 0);
                assert!(world.user.pages_left > 0, "the next page comes from the same server");
                assert_eq!(conn.awaits(), Bytes::ZERO);
            }
        }
    }
    assert!(survivals > 100, "the rule was exercised, {survivals} times");
}

#[test]
fn a_connection_carries_no_more_requests_than_its_quota() {
    let web = web();
    let mut carried: BTreeMap<u64, u16> = BTreeMap::new();
    let mut world = World::new(&web, 3, 7);
    for _ in 0..2_000 {
        for (number, _, completed) in world.page().completed {
            *carried.entry(number).or_default() += 1;
            assert!(completed.persistent || carried[&number] == 1, "one request, unless persistent");
        }
    }
    for (&number, &requests) in &carried {
        let conn = Connection::draw(&web, Stream::numbered(world.user.key, number), number, true, Time::ZERO);
        assert!(requests <= conn.quota, "{requests} requests of {}", conn.quota);
    }
}

#[test]
fn requests_do_not_depend_on_the_order_of_responses() {
    let web = web();
    for number in 0..20 {
        let (mut one, mut other) = (World::new(&web, number, 7), World::new(&web, number, 8));
        let mut reordered = 0;
        for _ in 0..200 {
            let (a, b) = (one.page(), other.page());
            assert_eq!(a.by_connection(), b.by_connection());
            assert_eq!(a.think, b.think);
            let order = |page: &Page| page.completed.iter().map(|(number, ..)| *number).collect::<Vec<_>>();
            reordered += u32::from(order(&a) != order(&b));
        }
        assert!(reordered > 0, "the two networks did answer in different orders");
    }
}

#[test]
fn broken_connections_change_no_later_request() {
    let web = web();
    let mut aborted = 0;
    for number in 0..20 {
        let (mut sound, mut broken) = (World::new(&web, number, 7), World::new(&web, number, 7));
        broken.breaks = Prob::clamped(0.1);
        let mut differing = 0;
        for _ in 0..200 {
            let (a, b) = (sound.page(), broken.page());
            assert!(b.completed.len() + b.aborted <= b.objects);
            assert_eq!((a.objects, a.think), (b.objects, b.think), "pages are drawn apart from connections");
            aborted += b.aborted;
            differing += usize::from(a.by_connection() != b.by_connection());
        }
        assert!(differing < 150, "most pages without a break are the same, but {differing} of 200 differ");
    }
    assert!(aborted > 1_000, "connections did break, {aborted} times");
}

#[test]
fn a_page_without_its_top_level_response_is_given_up() {
    let web = web();
    let mut world = World::new(&web, 0, 7);
    world.breaks = Prob::ONE;
    for _ in 0..100 {
        let page = world.page();
        assert_eq!((page.completed.len(), page.aborted, page.opened_before), (0, 1, 1));
    }
}

#[test]
fn another_connection_takes_the_place_of_one_lost_while_idle() {
    let web = web();
    let mut lost = [0; 2];
    for number in 0..40 {
        let mut world = World::new(&web, number, 7);
        for _ in 0..50 {
            let mut page = world.page();
            let Some((&id, _)) = world.live.first_key_value() else { continue };
            let asked = number % 2 == 0;
            lost[usize::from(asked)] += 1;
            if asked {
                // Lost when asked to resume: break that, and nothing after.
                let mut out = Vec::new();
                world.web.wake(&mut world.user, world.now, &mut out);
                assert!(matches!(out[..], [UserAction::Resume(ConnectionId(resumed))] if resumed == id));
                assert!(!world.tell(id, UserEvent::Closed, &mut page));
                while !world.step(&mut page) {}
            } else {
                assert!(!world.tell(id, UserEvent::Closed, &mut page), "a thinking user only misses it");
                page = world.page();
                assert_eq!((page.resumed, page.aborted), (None, 0));
                assert_eq!(page.completed.len(), page.objects);
            }
            assert_eq!(page.aborted, 0, "an idle connection has no exchange to abort");
        }
    }
    assert!(lost[0] > 20 && lost[1] > 20, "both losses were exercised: {lost:?}");
}

#[test]
fn response_times_begin_at_connect_or_at_a_later_write() {
    let web = web();
    let at = |ms| Time::ZERO + Duration::from_millis(ms);
    // The first page of some user whose first connection is persistent and takes several objects.
    let (mut user, mut conn) = (0..)
        .find_map(|number| {
            let (mut user, mut out) = (web.user(number).0, Vec::new());
            web.wake(&mut user, at(1_000), &mut out);
            match out.pop() {
                Some(UserAction::Open(conn)) if conn.planned > 1 => Some((user, conn)),
                _ => None,
            }
        })
        .expect("one in a few dozen users");
    let id = ConnectionId(5);
    let mut out = Vec::new();
    web.on_event(&mut user, &mut conn, id, UserEvent::Opened, at(1_080), &mut out);
    let first = conn.exchange();
    assert!(
        matches!(out[..], [UserAction::Write(n)] if n == first.request),
        "the request, and nothing else: {out:?}"
    );
    out.clear();
    web.on_event(&mut user, &mut conn, id, UserEvent::Received(Bytes::new(1)), at(1_160), &mut out);
    assert!(out.is_empty(), "a part of the response ends nothing");
    assert_eq!(conn.awaits() + Bytes::new(1), first.response);
    let rest = UserEvent::Received(conn.awaits());
    web.on_event(&mut user, &mut conn, id, rest, at(1_200), &mut out);
    let UserAction::Completed(completed) = &out[0] else { panic!("completed first: {out:?}") };
    assert_eq!((completed.started, completed.response_time), (at(1_000), Duration::from_millis(200)));
    assert!(completed.first && completed.top_level && completed.persistent);
    assert_eq!((completed.request, completed.response), (first.request, first.response));
    assert!(matches!(out[1], UserAction::Write(n) if n == conn.exchange().request));
    out.clear();
    let whole = UserEvent::Received(conn.awaits());
    web.on_event(&mut user, &mut conn, id, whole, at(1_250), &mut out);
    let UserAction::Completed(completed) = &out[0] else { panic!("completed first: {out:?}") };
    assert_eq!((completed.started, completed.response_time), (at(1_200), Duration::from_millis(50)));
    assert!(!completed.first && !completed.top_level);
}

#[test]
fn state_is_small() {
    // An engine holds tens of thousands of users and walks them in random order: a cache line each.
    assert!(size_of::<User>() <= 64, "{}", size_of::<User>());
    assert!(size_of::<Connection>() <= 64, "{}", size_of::<Connection>());
}

#[test]
fn draws_never_change() {
    let web = web();
    let drawn: Vec<String> = (0..3)
        .map(|number| {
            let wake = web.user(number).1;
            let mut world = World::new(&web, number, 7);
            let pages: Vec<String> = (0..2)
                .map(|_| {
                    let page = world.page();
                    let (number, rtt, top) = page.completed[0];
                    format!(
                        "{number}: {} of {}, {rtt}, {}, {}",
                        top.response, page.objects, top.request, page.think
                    )
                })
                .collect();
            format!("{wake}; {}", pages.join("; "))
        })
        .collect();
    assert_eq!(drawn, GOLDEN, "golden draws: changing them changes every published result");
}

const GOLDEN: [&str; 3] = [
    "39.244921008 s; 257: 1436 B of 1, 132 ms, 393 B, 12.565336984 s; \
     513: 2764 B of 1, 84 ms, 317 B, 7.387833703 s",
    "19.720523292 s; 257: 10466 B of 1, 62 ms, 95 B, 2.487328552 s; \
     513: 727 B of 1, 23 ms, 276 B, 60.085984965 s",
    "561.844164 ms; 257: 1029 B of 3, 14 ms, 97 B, 231.964773553 s; \
     513: 431 B of 2, 131 ms, 486 B, 4.307126229 s",
];
