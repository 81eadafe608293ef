//! What endpoints are given and what they have to say: packets in, packets out, and reports to who runs above them.

use aqmlab_tcp::{Profile, Sender};
use aqmlab_units::Time;

use super::connections::{Socket, is_done};
use super::hosts::{INTERFACE_BACKLOG, Interface};
use super::observer::{Observer, Transmission};
use super::{Engine, Event, Rare};
use crate::link::Link;
use crate::packet::{EndpointId, Packet};

impl<S: Sender, L: Link<O::Carried>, O: Observer<S>> Engine<S, L, O> {
    /// A packet has arrived at its endpoint.
    #[inline(always)]
    pub(super) fn receive(&mut self, packet: Packet<O::Carried>) {
        if packet.to.is_datagram() {
            return self.receive_datagram(packet);
        }
        let packet = self.observer.arrived(packet, self.now);
        let has_news = self.send_after(packet.to, |socket, now, profile| {
            socket.received_packet();
            socket.tcp.handle_segment(&packet.segment, now, profile);
        });
        if has_news {
            self.tell(packet.to);
        }
    }

    /// A timer of `id` may have expired.
    #[inline(never)]
    pub(super) fn expire(&mut self, id: EndpointId) {
        self.observer.expiring(id, &self.connections.socket(id).tcp, self.now);
        if self.send_after(id, |socket, now, profile| socket.tcp.handle_timeout(now, profile)) {
            self.tell(id);
        }
    }

    /// Tell the applications what happened at `id`.
    fn tell(&mut self, id: EndpointId) {
        while let Some(event) = self.connections.socket_mut(id).tcp.poll_event() {
            self.on_tcp_event(id, event);
        }
        self.look_at_limit(id);
        if is_done(self.connections.socket(id).tcp.state()) {
            self.connections.release_if_done(id, self.now);
        }
    }

    /// Put on the network what an endpoint has to send, which often is nothing.
    #[inline]
    pub(super) fn transmit(&mut self, id: EndpointId) {
        if self.connections.socket(id).tcp.may_send() {
            self.transmit_all(id);
        }
    }

    #[inline(never)]
    fn transmit_all(&mut self, id: EndpointId) {
        if self.send_after(id, |_, _, _| {}) {
            self.look_at_limit(id);
        }
    }

    /// What limits the end `id` may be another than before.
    fn look_at_limit(&mut self, id: EndpointId) {
        let (socket, profile) = self.connections.with_profile(id, &self.stacks);
        if let Some(by) = socket.tcp.poll_limit(profile) {
            let interface_until = self.hosts.limits_until(id.connection());
            self.connections.note_limit(id, by, interface_until, self.now);
        }
    }

    /// Something happens at an endpoint, which then sends what it has to send: does it have something to tell? The endpoint
    /// is looked up once.
    #[inline(always)]
    fn send_after(&mut self, id: EndpointId, happens: impl FnOnce(&mut Socket<S>, Time, &Profile)) -> bool {
        let (mut socket, mut profile) = self.connections.with_profile(id, &self.stacks);
        happens(socket, self.now, profile);
        let highest = socket.tcp.highest_sent();
        while let Some(segment) = socket.tcp.poll_transmit(self.now, profile) {
            if segment.is_repeat(highest) {
                self.recorder.repeated(self.now);
            }
            socket.sent_packet();
            let packet = Packet { to: id.peer(), segment };
            let interface = socket.interface();
            let first_bit = if interface == Interface::NONE {
                self.now
            } else {
                let first_bit = self.hosts.send(interface, id, packet.size(), self.now);
                if first_bit > self.now + INTERFACE_BACKLOG {
                    self.hosts.note_backlog(id.connection(), first_bit);
                    socket.tcp.request_limit();
                }
                first_bit
            };
            let at_link = first_bit + socket.delay();
            let transmission = Transmission { tcp: &socket.tcp, now: self.now, first_bit, at_link };
            let packet = self.observer.sent(packet, &transmission);
            if at_link > self.now {
                self.wheel.push(at_link, Event::AtLink(packet));
            } else {
                self.reach_link(&packet);
                (socket, profile) = self.connections.with_profile(id, &self.stacks);
            }
        }
        self.observer.settled(id, &socket.tcp);
        let wheel = &mut self.wheel;
        self.timers.moved(id, socket, self.now, |at, event| wheel.push(at, Event::Other(Rare::Timer(event))));
        socket.tcp.has_news() || is_done(socket.tcp.state())
    }
}
