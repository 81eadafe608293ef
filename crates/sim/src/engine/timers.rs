//! The timers of endpoints, which nearly every packet sets, moves or stops and which almost never expire.
//!
//! An event for each would cost more than the packets do. Which of two policies is followed depends on the hosts' TCP:
//!
//! * **By inspection**, where no timer is set to less than a stack's least timeout: each open connection is looked at once
//!   in that time, and what expires before the next look becomes an event. Held-back acknowledgements are due sooner;
//!   those of one stack wait equally long and stand in a ring.
//! * **By alarm**, where timers may be short (pacing, loss probes, reordering): each endpoint has one event that counts.
//!
//! An expiry that is none is harmless: the endpoint looks at its own deadlines.

mod alarms;
mod delayed_acks;
mod inspection;

use aqmlab_tcp::{EcnPolicy, Sender};
use aqmlab_units::Time;

use self::alarms::Alarms;
use self::delayed_acks::DelayedAcks;
use self::inspection::Inspection;
use super::connections::{Session, Socket, is_done};
use super::hosts::StackId;
use super::observer::Observer;
use super::{ControlEvent, Engine, Event};
use crate::link::Link;
use crate::packet::EndpointId;
use crate::spec::TcpSpec;

/// An event in the wheel of timers.
#[derive(Clone, Copy, Debug)]
pub(super) enum TimerEvent {
    /// Look for retransmission timers that expire soon.
    Inspection,
    /// A retransmission timer may have expired.
    Retransmission(EndpointId),
    /// Held-back acknowledgements of hosts with this stack may be due.
    DelayedAcks(StackId),
    /// Some timer may have expired.
    Alarm(EndpointId),
}

/// An event that timers need, and when.
type Needed = Option<(Time, TimerEvent)>;

/// All timers.
#[derive(Debug)]
pub(super) struct Timers {
    inspection: Inspection,
    /// Of each stack.
    delayed_acks: Vec<DelayedAcks>,
    alarms: Alarms,
}

impl Timers {
    pub(super) fn new(hosts: &TcpSpec) -> Timers {
        Timers {
            inspection: Inspection::new(hosts.profiles()),
            delayed_acks: hosts.profiles().map(DelayedAcks::new).collect(),
            alarms: Alarms::default(),
        }
    }

    /// A connection was opened.
    pub(super) fn opened<S: Sender>(
        &mut self,
        client: EndpointId,
        session: &mut Session,
        now: Time,
    ) -> Needed {
        if !S::TIMERS.is_empty() {
            self.alarms.opened(client);
            return None;
        }
        if std::mem::replace(&mut session.watched, true) {
            return None;
        }
        let first = self.inspection.watch(client, now)?;
        Some((first, TimerEvent::Inspection))
    }

    /// Handles changed timers of `id`; a new event goes to `plan`.
    #[inline(always)]
    pub(super) fn moved<S: Sender>(
        &mut self,
        id: EndpointId,
        end: &Socket<S>,
        now: Time,
        plan: impl FnOnce(Time, TimerEvent),
    ) {
        if !S::TIMERS.is_empty() {
            let deadline = end.tcp.poll_timeout().max(now);
            if self.alarms.set(id, deadline) {
                plan(deadline, TimerEvent::Alarm(id));
            }
            return;
        }
        let deadline = end.tcp.delayed_ack_deadline();
        if deadline < Time::MAX {
            let stack = end.stack();
            if self.delayed_acks[stack.index()].hold(id, deadline, now) {
                plan(deadline, TimerEvent::DelayedAcks(stack));
            }
        }
    }
}

impl<S: Sender, L: Link<O::PacketTag>, O: Observer<S>> Engine<S, L, O> {
    /// The time of `event` has come.
    pub(super) fn on_timer(&mut self, event: TimerEvent) {
        match event {
            TimerEvent::Inspection => self.inspect(),
            TimerEvent::Retransmission(id) => self.expire(id),
            TimerEvent::DelayedAcks(stack) => self.expire_delayed_acks(stack),
            TimerEvent::Alarm(id) => {
                if self.timers.alarms.ring(id, self.now) {
                    self.answer_alarm(id);
                }
            }
        }
    }

    /// Most alarms find that the deadline has moved on: they are set again, and the endpoint is left alone. One whose timers
    /// are all off may be done.
    fn answer_alarm(&mut self, id: EndpointId) {
        let socket = self.connections.socket(id);
        let deadline = socket.tcp.poll_timeout();
        if deadline <= self.now {
            return self.expire(id);
        }
        if deadline == Time::MAX {
            if is_done(socket.tcp.state()) {
                self.connections.release_if_done(id);
            }
            return;
        }
        let wheel = &mut self.wheel;
        self.timers.moved(id, socket, self.now, |at, event| {
            wheel.push(at, Event::Control(ControlEvent::Timer(event)));
        });
    }

    fn expire_delayed_acks(&mut self, stack: StackId) {
        while let Some(id) = self.timers.delayed_acks[stack.index()].next(&self.connections, self.now) {
            self.expire(id);
        }
        if let Some(next) = self.timers.delayed_acks[stack.index()].rearm() {
            self.wheel.push(next, Event::Control(ControlEvent::Timer(TimerEvent::DelayedAcks(stack))));
        }
    }

    /// Put retransmission timers that expire before the next inspection into the wheel.
    fn inspect(&mut self) {
        let inspection = &mut self.timers.inspection;
        while let Some((client, horizon)) = inspection.next(&mut self.connections, self.now) {
            for id in [client, client.peer()] {
                let deadline = self.connections.socket_mut(id).tcp.retransmit_deadline();
                if deadline <= horizon {
                    let event = Event::Control(ControlEvent::Timer(TimerEvent::Retransmission(id)));
                    self.wheel.push(deadline.max(self.now), event);
                }
            }
        }
        if let Some(next) = inspection.rearm() {
            self.wheel.push(next, Event::Control(ControlEvent::Timer(TimerEvent::Inspection)));
        }
    }

    /// ECN+/Wait holds a server's data back for less than inspections are apart.
    pub(super) fn follow_wait(&mut self, server: EndpointId) {
        let endpoint = self.connections.socket(server);
        let deadline = endpoint.tcp.retransmit_deadline();
        if self.stacks.profile(endpoint.stack()).ecn == EcnPolicy::PlusWait && deadline < Time::MAX {
            self.wheel
                .push(deadline, Event::Control(ControlEvent::Timer(TimerEvent::Retransmission(server))));
        }
    }
}
