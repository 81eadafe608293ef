//! Input and output of endpoints: packets in, packets out, and events for the applications.

use aqmlab_tcp::{Profile, Sender};
use aqmlab_units::Time;

use super::connections::{Socket, is_done};
use super::hosts::Interface;
use super::observer::{Observer, Transmission};
use super::{ControlEvent, Engine, Event};
use crate::link::Link;
use crate::packet::{EndpointId, Packet};

impl<S: Sender, L: Link<O::PacketTag>, O: Observer<S>> Engine<S, L, O> {
    /// Handle a packet that has arrived at its endpoint.
    #[inline(always)]
    pub(super) fn receive(&mut self, packet: Packet<O::PacketTag>) {
        if packet.to.is_datagram() {
            return self.receive_datagram(packet);
        }
        let packet = self.observer.arrived(packet, self.now);
        let has_event = self.send_after(packet.to, |socket, now, profile| {
            socket.received_packet();
            socket.tcp.handle_segment(&packet.segment, now, profile);
        });
        if has_event {
            self.tell(packet.to);
        }
    }

    /// Handle timers of `id` that may have expired.
    #[inline(never)]
    pub(super) fn expire(&mut self, id: EndpointId) {
        self.observer.expiring(id, &self.connections.socket(id).tcp, self.now);
        if self.send_after(id, |socket, now, profile| socket.tcp.handle_timeout(now, profile)) {
            self.tell(id);
        }
    }

    /// Pass TCP's events at `id` to the applications.
    fn tell(&mut self, id: EndpointId) {
        while let Some(event) = self.connections.socket_mut(id).tcp.poll_event() {
            self.on_tcp_event(id, event);
        }
        if is_done(self.connections.socket(id).tcp.state()) {
            self.connections.release_if_done(id);
        }
    }

    /// Send what an endpoint has to send, which is often nothing.
    #[inline]
    pub(super) fn transmit(&mut self, id: EndpointId) {
        if self.connections.socket(id).tcp.may_send() {
            self.transmit_all(id);
        }
    }

    #[inline(never)]
    fn transmit_all(&mut self, id: EndpointId) {
        self.send_after(id, |_, _, _| {});
    }

    /// Apply `handle` to an endpoint, then send what it has to send. Returns true if it has events or is done.
    /// The endpoint is looked up only once.
    #[inline(always)]
    fn send_after(&mut self, id: EndpointId, handle: impl FnOnce(&mut Socket<S>, Time, &Profile)) -> bool {
        let (mut socket, mut profile) = self.connections.with_profile(id, &self.stacks);
        handle(socket, self.now, profile);
        let highest = socket.tcp.highest_sent();
        while let Some(segment) = socket.tcp.poll_transmit(self.now, profile) {
            if let Some(again) = segment.retransmitted(highest) {
                self.recorder.repeated(id, again, self.now);
            }
            socket.sent_packet();
            let packet = Packet { to: id.peer(), segment };
            let interface = socket.interface();
            let first_bit = if interface == Interface::NONE {
                self.now
            } else {
                self.hosts.send(interface, id, packet.size(), self.now)
            };
            let at_link = first_bit + socket.delay();
            let transmission = Transmission { tcp: &socket.tcp, now: self.now, first_bit, at_link };
            let packet = self.observer.sent(packet, &transmission);
            if at_link > self.now {
                self.wheel.push(at_link, Event::AtLink(packet));
            } else {
                self.reach_link(&packet);
                // `reach_link` may change the connections: it drops packets.
                (socket, profile) = self.connections.with_profile(id, &self.stacks);
            }
        }
        self.observer.settled(id, &socket.tcp);
        let wheel = &mut self.wheel;
        self.timers.moved(id, socket, self.now, |at, event| {
            wheel.push(at, Event::Control(ControlEvent::Timer(event)));
        });
        let has_event = socket.tcp.has_event() || is_done(socket.tcp.state());
        if self.recorder.follows_changes {
            self.record_change(id);
        }
        has_event
    }
}
