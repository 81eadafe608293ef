//! Who watches a run: told what happens, as it happens, without a say in it.

use aqmlab_tcp::{Endpoint, HeaderOptions, Sender};
use aqmlab_units::Time;

use crate::link::Link;
use crate::packet::{EndpointId, Packet};
use crate::record::{ExchangeRow, Tables};

/// What the engine tells. Nobody, `()`, listens to nothing and costs nothing.
pub(crate) trait Observer<S: Sender> {
    /// What packets carry through the network where their options stand: at least these.
    type PacketTag: HeaderOptions;

    /// `connect()`: this client's first exchange begins, if it is a web user's.
    fn opened(&mut self, _client: EndpointId, _by_user: bool, _now: Time) {}

    /// The application at this end has written a user's request, or the response to it.
    fn wrote(&mut self, _id: EndpointId, _now: Time) {}

    /// A packet leaves its sender.
    fn sent(
        &mut self,
        packet: Packet<S::Options>,
        transmission: &Transmission<'_, S>,
    ) -> Packet<Self::PacketTag>;

    /// `link` has dropped a packet or a datagram, and tells so now.
    fn lost<L: Link<Self::PacketTag>>(&mut self, _packet: &Packet<Self::PacketTag>, _link: &L, _now: Time) {}

    /// A packet that is no datagram is at its receiver, who has not seen it yet.
    fn arrived(&mut self, packet: Packet<Self::PacketTag>, now: Time) -> Packet<S::Options>;

    /// A timer of this endpoint may have expired; it does not know yet.
    fn expiring(&mut self, _id: EndpointId, _tcp: &Endpoint<S>, _now: Time) {}

    /// This endpoint has sent all that it has to send for the moment.
    fn settled(&mut self, _id: EndpointId, _tcp: &Endpoint<S>) {}

    /// A user's exchange in the measured window is complete at its client.
    fn completed(&mut self, _client: EndpointId, _row: &ExchangeRow<'_>, _tables: &mut Tables) {}
}

/// A packet's way to the link.
pub(crate) struct Transmission<'a, S: Sender> {
    /// Its sender.
    pub(crate) tcp: &'a Endpoint<S>,
    pub(crate) now: Time,
    /// When its first bit leaves the sender's machine.
    pub(crate) first_bit: Time,
    /// When it will be at the link.
    pub(crate) at_link: Time,
}

impl<S: Sender> Observer<S> for () {
    type PacketTag = S::Options;

    #[inline(always)]
    fn sent(
        &mut self,
        packet: Packet<S::Options>,
        _transmission: &Transmission<'_, S>,
    ) -> Packet<S::Options> {
        packet
    }

    #[inline(always)]
    fn arrived(&mut self, packet: Packet<S::Options>, _now: Time) -> Packet<S::Options> {
        packet
    }
}
