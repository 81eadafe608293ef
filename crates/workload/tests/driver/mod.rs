//! A driver for users on a network without queues: each connection gets the delays that a [`Network`] says.

#![allow(dead_code, reason = "each program that includes this driver needs a part of it")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use aqmlab_units::{Duration, Time};
use aqmlab_workload::{Connection, ConnectionId, User, UserAction, UserEvent, Web};

/// A network that serves connections.
pub(crate) trait Network {
    /// The handshake of `connection`, begun at `now`.
    fn connect(&mut self, connection: &Connection, now: Time) -> Outcome;
    /// The exchange of `connection`, its request written at `now`. `window` is the network's own note about the
    /// connection: 0 when it is new or was idle.
    fn exchange(&mut self, connection: &Connection, window: &mut u32, now: Time) -> Outcome;
}

/// The end of a handshake or an exchange.
pub(crate) enum Outcome {
    /// Done after this time.
    Done(Duration),
    /// The connection breaks after this time.
    Broken(Duration),
}

/// An action as the driver carries it out.
pub(crate) struct Seen<'a> {
    pub(crate) now: Time,
    /// The index of the user.
    pub(crate) user: usize,
    /// The connection whose event caused the action; none when the user woke.
    pub(crate) connection: Option<&'a Connection>,
    pub(crate) action: &'a UserAction,
}

/// Users, their connections and what happens next.
pub(crate) struct Driver<'a, N> {
    web: &'a Web,
    pub(crate) network: N,
    users: Vec<User>,
    connections: Vec<Slot>,
    free: Vec<u32>,
    /// By time, then in the order of planning, so that runs repeat.
    agenda: BinaryHeap<Reverse<(Time, u64, Happening)>>,
    serial: u64,
    out: Vec<UserAction>,
}

struct Slot {
    user: usize,
    connection: Connection,
    window: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    Wake(usize),
    Opened(u32),
    Response(u32),
    Broken(u32),
}

impl<'a, N: Network> Driver<'a, N> {
    /// The first `users` users of `web` on `network`.
    pub(crate) fn new(web: &'a Web, network: N, users: u32) -> Driver<'a, N> {
        let mut driver = Driver {
            web,
            network,
            users: Vec::new(),
            connections: Vec::new(),
            free: Vec::new(),
            agenda: BinaryHeap::new(),
            serial: 0,
            out: Vec::new(),
        };
        for number in 0..users {
            let (user, wake) = web.user(number);
            driver.users.push(user);
            driver.plan(Time::ZERO + wake, Happening::Wake(number as usize));
        }
        driver
    }

    /// Live until `end`; every action is shown to `observe`.
    pub(crate) fn run(&mut self, end: Time, mut observe: impl FnMut(&Seen)) {
        while let Some(&Reverse((now, _, happening))) = self.agenda.peek()
            && now < end
        {
            self.agenda.pop();
            match happening {
                Happening::Wake(user) => {
                    self.web.wake(&mut self.users[user], now, &mut self.out);
                    self.act(user, None, now, &mut observe);
                }
                Happening::Opened(id) => self.notify_user(id, UserEvent::Opened, now, &mut observe),
                Happening::Response(id) => {
                    let whole = self.connections[id as usize].connection.awaits();
                    self.notify_user(id, UserEvent::Received(whole), now, &mut observe);
                }
                Happening::Broken(id) => {
                    self.notify_user(id, UserEvent::Closed, now, &mut observe);
                    self.free.push(id);
                }
            }
        }
    }

    /// Exchanges begun and not yet over.
    pub(crate) fn in_progress(&self) -> usize {
        let all = self.connections.iter().filter(|slot| !slot.connection.is_idle()).count();
        let gone =
            self.free.iter().filter(|&&id| !self.connections[id as usize].connection.is_idle()).count();
        all - gone
    }

    fn notify_user(&mut self, id: u32, event: UserEvent, now: Time, observe: &mut impl FnMut(&Seen)) {
        let Slot { user, connection, .. } = &mut self.connections[id as usize];
        let user = *user;
        let user_state = &mut self.users[user];
        self.web.on_event(user_state, connection, ConnectionId(id), event, now, &mut self.out);
        self.act(user, Some(id), now, observe);
    }

    /// Carry out the actions of `user` that an event on connection `cause` gave.
    fn act(&mut self, user: usize, cause: Option<u32>, now: Time, observe: &mut impl FnMut(&Seen)) {
        let mut actions = std::mem::take(&mut self.out);
        let mut resume = None;
        for action in actions.drain(..) {
            let connection = cause.map(|id| &self.connections[id as usize].connection);
            observe(&Seen { now, user, connection, action: &action });
            match action {
                UserAction::Open(connection) => self.open(user, connection, now),
                UserAction::Write(_) => self.exchange(cause.expect("writes answer an event"), now),
                UserAction::Close => self.free.push(cause.expect("closes answer an event")),
                UserAction::Resume(id) => resume = Some(id.0),
                UserAction::Sleep(think) => self.plan(now + think, Happening::Wake(user)),
                UserAction::Completed(_) | UserAction::Aborted => {}
            }
        }
        self.out = actions;
        if let Some(id) = resume {
            self.connections[id as usize].window = 0;
            self.notify_user(id, UserEvent::Resumed, now, observe);
        }
    }

    fn open(&mut self, user: usize, connection: Connection, now: Time) {
        let outcome = self.network.connect(&connection, now);
        let slot = Slot { user, connection, window: 0 };
        let id = if let Some(id) = self.free.pop() {
            self.connections[id as usize] = slot;
            id
        } else {
            self.connections.push(slot);
            u32::try_from(self.connections.len() - 1).expect("few connections")
        };
        match outcome {
            Outcome::Done(after) => self.plan(now + after, Happening::Opened(id)),
            Outcome::Broken(after) => self.plan(now + after, Happening::Broken(id)),
        }
    }

    fn exchange(&mut self, id: u32, now: Time) {
        let Slot { connection, window, .. } = &mut self.connections[id as usize];
        match self.network.exchange(connection, window, now) {
            Outcome::Done(after) => self.plan(now + after, Happening::Response(id)),
            Outcome::Broken(after) => self.plan(now + after, Happening::Broken(id)),
        }
    }

    fn plan(&mut self, at: Time, happening: Happening) {
        self.serial += 1;
        self.agenda.push(Reverse((at, self.serial, happening)));
    }
}
