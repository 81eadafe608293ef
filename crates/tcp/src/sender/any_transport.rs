//! Hosts of which some speak QUIC: each endpoint has the transport of its profile.

use aqmlab_units::Time;

use super::{Modern, Sender};
use crate::congestion::CongestionControl;
use crate::core::{Core, Limits};
use crate::options::{HeaderOptions, Options};
use crate::quic::{Connection, Datagram};
use crate::timer::TimerKind;
use crate::{LimitedBy, Profile, Segment, SenderInfo, Seq};

/// A modern TCP, or a QUIC connection in its place.
#[derive(Debug)]
pub struct AnyTransport<C> {
    tcp: Modern<C>,
    quic: Option<Box<Connection<C>>>,
}

/// The content of a packet beyond a TCP header: options, or a QUIC datagram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AnyHeader {
    /// Options of a TCP segment.
    Tcp(Options),
    /// A datagram.
    Quic(Datagram),
}

impl Default for AnyHeader {
    fn default() -> AnyHeader {
        AnyHeader::Tcp(Options::default())
    }
}

impl HeaderOptions for AnyHeader {
    fn len(&self) -> u16 {
        match self {
            AnyHeader::Tcp(options) => options.len(),
            AnyHeader::Quic(datagram) => datagram.len(),
        }
    }

    fn modern(&self) -> Option<&Options> {
        match self {
            AnyHeader::Tcp(options) => Some(options),
            AnyHeader::Quic(_) => None,
        }
    }

    fn is_tcp(&self) -> bool {
        matches!(self, AnyHeader::Tcp(_))
    }

    fn is_quic_handshake(&self) -> bool {
        matches!(self, AnyHeader::Quic(datagram) if datagram.is_quic_handshake())
    }

    fn quic_packet_number(&self) -> Option<u32> {
        match self {
            AnyHeader::Tcp(_) => None,
            AnyHeader::Quic(datagram) => datagram.quic_packet_number(),
        }
    }

    fn retransmitted(&self) -> Option<u32> {
        match self {
            AnyHeader::Tcp(_) => None,
            AnyHeader::Quic(datagram) => datagram.retransmitted(),
        }
    }
}

fn tcp(segment: &Segment<AnyHeader>) -> Segment<Options> {
    let AnyHeader::Tcp(options) = segment.options else {
        unreachable!("both ends of a connection have one transport")
    };
    segment.with_options(options)
}

impl<C: CongestionControl> Sender for AnyTransport<C> {
    type Congestion = C;
    type Options = AnyHeader;
    const HOT: usize = size_of::<Self>() + size_of::<Core>();
    const TIMERS: &[TimerKind] = Modern::<C>::TIMERS;

    fn new(profile: &Profile, now: Time) -> AnyTransport<C> {
        let quic = profile.quic.is_some().then(|| Box::new(Connection::listen(profile, now)));
        AnyTransport { tcp: Modern::new(profile, now), quic }
    }

    fn reset(&mut self, profile: &Profile, now: Time) {
        self.tcp.reset(profile, now);
        self.quic = profile.quic.is_some().then(|| Box::new(Connection::listen(profile, now)));
    }

    fn quic(&self) -> Option<&Connection<C>> {
        self.quic.as_deref()
    }

    fn quic_mut(&mut self) -> Option<&mut Connection<C>> {
        self.quic.as_deref_mut()
    }

    fn handle_datagram(&mut self, segment: &Segment<AnyHeader>, now: Time, profile: &Profile) {
        let AnyHeader::Quic(datagram) = &segment.options else {
            unreachable!("both ends of a connection have one transport")
        };
        if let Some(quic) = &mut self.quic {
            quic.handle_datagram(datagram, segment.flags, now, profile);
        }
    }

    fn poll_datagram(&mut self, now: Time, profile: &Profile) -> Option<Segment<AnyHeader>> {
        let (datagram, flags) = self.quic.as_mut()?.poll_transmit(now, profile)?;
        let (len, options) = (datagram.data(), AnyHeader::Quic(datagram));
        Some(Segment { len, flags, options, ..Segment::default() })
    }

    fn congestion(&self) -> &C {
        self.quic.as_ref().map_or_else(|| self.tcp.congestion(), |quic| quic.congestion())
    }

    fn offer(&self, core: &Core, now: Time, profile: &Profile) -> AnyHeader {
        AnyHeader::Tcp(self.tcp.offer(core, now, profile))
    }

    fn negotiate(
        &mut self,
        core: &mut Core,
        segment: &Segment<AnyHeader>,
        profile: &Profile,
    ) -> (&mut C, Limits) {
        self.tcp.negotiate(core, &tcp(segment), profile)
    }

    fn on_segment(&mut self, core: &mut Core, segment: &Segment<AnyHeader>, now: Time, profile: &Profile) {
        self.tcp.on_segment(core, &tcp(segment), now, profile);
    }

    fn on_data(&mut self, core: &mut Core, from: Seq, to: Seq) -> bool {
        self.tcp.on_data(core, from, to)
    }

    fn on_fin(&mut self) -> bool {
        self.tcp.on_fin()
    }

    fn on_write(&mut self, core: &Core) {
        self.tcp.on_write(core);
    }

    fn taken(&self, core: &Core) -> Seq {
        self.tcp.taken(core)
    }

    fn next_segment(&mut self, core: &mut Core, now: Time, profile: &Profile) -> Option<Segment<AnyHeader>> {
        let segment = self.tcp.next_segment(core, now, profile)?;
        Some(segment.with_options(AnyHeader::Tcp(segment.options)))
    }

    fn limited_by(&self, core: &Core, profile: &Profile) -> LimitedBy {
        self.tcp.limited_by(core, profile)
    }

    fn info(&self, core: &Core) -> SenderInfo {
        self.tcp.info(core)
    }

    fn deadline(&self, timer: TimerKind) -> Time {
        self.tcp.deadline(timer)
    }

    fn on_timeout(&mut self, timer: TimerKind, core: &mut Core, now: Time, profile: &Profile) {
        self.tcp.on_timeout(timer, core, now, profile);
    }
}
