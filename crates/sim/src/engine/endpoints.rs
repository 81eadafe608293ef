//! What endpoints are given and what they have to say: packets in, packets out, and reports to who runs above them.

use aqmlab_tcp::Sender;

use super::connections::is_done;
use super::hosts::Interface;
use super::observer::{Leaving, Observer};
use super::{Engine, Event};
use crate::link::Link;
use crate::packet::{EndpointId, Packet};

impl<S: Sender, L: Link<O::Carried>, O: Observer<S>> Engine<S, L, O> {
    /// A packet has arrived at its endpoint.
    #[inline(always)]
    pub(super) fn receive(&mut self, packet: Packet<O::Carried>) {
        if packet.to.is_datagram() {
            return self.receive_datagram(&packet);
        }
        let packet = self.observer.arrived(packet, self.now);
        let socket = self.connections.socket_mut(packet.to);
        socket.received_packet();
        let profile = self.stacks.profile(socket.stack());
        socket.tcp.handle_segment(&packet.segment, self.now, profile);
        self.settle(packet.to);
    }

    /// Send what an endpoint has to send, then tell its application what happened.
    #[inline(always)]
    pub(super) fn settle(&mut self, id: EndpointId) {
        self.transmit(id);
        let tcp = &self.connections.socket(id).tcp;
        if tcp.has_news() || is_done(tcp.state()) {
            self.tell(id);
        }
    }

    /// Tell the applications what happened at `id`.
    fn tell(&mut self, id: EndpointId) {
        while let Some(event) = self.connections.socket_mut(id).tcp.poll_event() {
            self.on_tcp_event(id, event);
        }
        if is_done(self.connections.socket(id).tcp.state()) {
            self.connections.release_if_done(id);
        }
    }

    /// Put on the network what an endpoint has to send.
    #[inline]
    pub(super) fn transmit(&mut self, id: EndpointId) {
        loop {
            let socket = self.connections.socket_mut(id);
            let profile = self.stacks.profile(socket.stack());
            let Some(segment) = socket.tcp.poll_transmit(self.now, profile) else { break };
            socket.sent_packet();
            let packet = Packet { to: id.peer(), segment };
            let interface = socket.interface();
            let first_bit = if interface == Interface::NONE {
                self.now
            } else {
                self.hosts.send(interface, id, packet.size(), self.now)
            };
            let at_link = first_bit + socket.delay();
            let leaving = Leaving { tcp: &socket.tcp, now: self.now, first_bit, at_link };
            let packet = self.observer.sent(packet, &leaving);
            self.reach_link_at(at_link, packet);
        }
        let socket = self.connections.socket(id);
        self.observer.settled(id, &socket.tcp);
        if let Some((at, event)) = self.timers.moved(id, socket, self.now) {
            self.wheel.push(at, Event::Timer(event));
        }
    }
}
