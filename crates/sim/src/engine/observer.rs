//! Observers of a run: they are notified of events, and change nothing.

use aqmlab_tcp::{Endpoint, HeaderOptions, Sender};
use aqmlab_units::Time;
use aqmlab_workload::pages::{Fetched, PageLoad};

use super::UserId;
use crate::link::Link;
use crate::packet::{EndpointId, Owner, Packet};
use crate::record::{ExchangeRow, Tables};

/// The use of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ConnectionUse {
    /// Exchanges of a web user or a source, one after another.
    #[default]
    Exchanges,
    /// A page of this web user.
    Page(UserId),
}

/// The content that an application has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// A flight of TLS.
    TlsHandshake,
    /// A request or a response.
    Content,
}

/// Notifications of the engine. `()` observes nothing and costs nothing.
pub(crate) trait Observer<S: Sender> {
    /// The content of packets in the network in place of their options, which it must include.
    type PacketTag: HeaderOptions;

    /// `connect()`: this client opens a connection.
    fn opened(&mut self, _client: EndpointId, _owner: Owner, _use: ConnectionUse, _now: Time) {}

    /// The application at this end has written.
    fn wrote(&mut self, _id: EndpointId, _what: Written, _now: Time) {}

    /// A user begins a page.
    fn began_page(&mut self, _user: UserId, _now: Time) {}

    /// An event at this end is passed to the application, which may write at either end.
    fn passed_to_application(&mut self, _id: EndpointId, _now: Time) {}

    /// A resource of a user's page has come.
    fn fetched(&mut self, _user: UserId, _resource: &Fetched) {}

    /// A page has ended in the measurement window, without giving up a resource.
    fn loaded(&mut self, _user: UserId, _load: &PageLoad, _tables: &mut Tables) {}

    /// A packet leaves its sender.
    fn sent(
        &mut self,
        packet: Packet<S::Options>,
        transmission: &Transmission<'_, S>,
    ) -> Packet<Self::PacketTag>;

    /// `link` has dropped a packet or a datagram, and reports it now.
    fn lost<L: Link<Self::PacketTag>>(&mut self, _packet: &Packet<Self::PacketTag>, _link: &L, _now: Time) {}

    /// A packet, not a datagram, will not arrive: a link has dropped it, which [`Observer::lost`] reports first, or lost it on the
    /// wire.
    fn discarded(&mut self, _packet: &Packet<Self::PacketTag>) {}

    /// The network has made a second copy of a packet, not a datagram.
    fn copied(&mut self, _packet: &Packet<Self::PacketTag>) {}

    /// A packet, not a datagram, is at its receiver, which has not handled it yet.
    fn arrived(&mut self, packet: Packet<Self::PacketTag>, now: Time) -> Packet<S::Options>;

    /// A timer of this endpoint may have expired and has not been handled yet.
    fn expiring(&mut self, _id: EndpointId, _tcp: &Endpoint<S>, _now: Time) {}

    /// This endpoint has sent all that it can send for now.
    fn settled(&mut self, _id: EndpointId, _tcp: &Endpoint<S>) {}

    /// An exchange in the measurement window is complete: at its client, or of an upload at its server.
    fn completed(&mut self, _client: EndpointId, _row: &ExchangeRow<'_>, _tables: &mut Tables) {}
}

/// The path of a packet to the link.
pub(crate) struct Transmission<'a, S: Sender> {
    /// Its sender.
    pub(crate) tcp: &'a Endpoint<S>,
    pub(crate) now: Time,
    /// Time at which its first bit leaves the sender's machine.
    pub(crate) first_bit: Time,
    /// Time at which it will be at the link.
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
