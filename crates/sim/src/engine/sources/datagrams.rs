//! Datagrams on their way: how many, how long, and how many never arrive.

use aqmlab_tcp::{Flags, HeaderOptions, Segment, Seq};
use aqmlab_units::{Duration, Time};
use aqmlab_workload::sources::{CallQuality, Datagram, GameQuality, Receivers};
use hdrhistogram::Histogram;

use crate::packet::{EndpointId, HEADERS, Packet};
use crate::quantiles::quantile;
use crate::side::Side;
use crate::spec::EcnField;
use crate::summary::{DatagramSummary, bins_ms, mean, percent};

/// The fates of a source's datagrams. All but `on_the_way` count those sent in the measured window.
#[derive(Debug)]
pub(in crate::engine) struct Datagrams {
    sent: u64,
    lost: u64,
    pub(in crate::engine) delivered_bytes: u64,
    /// One-way delays in microseconds.
    delays: Histogram<u64>,
    longest: Duration,
    /// Packets in the network now.
    pub(in crate::engine) on_the_way: u64,
    receivers: Receivers,
    ecn: Flags,
}

impl Datagrams {
    pub(in crate::engine) fn new(receivers: Receivers, ecn: EcnField) -> Datagrams {
        let delays = Histogram::new(3).expect("three significant digits are allowed");
        let longest = Duration::ZERO;
        let ecn = match ecn {
            EcnField::NotEct => Flags::NONE,
            EcnField::Ect0 => Flags::ECT,
            EcnField::Ect1 => Flags::ECT1,
        };
        Datagrams { sent: 0, lost: 0, delivered_bytes: 0, delays, longest, on_the_way: 0, receivers, ecn }
    }

    /// A packet leaves. It carries the time of its sending where a segment has its numbers, and its tag for the window.
    pub(in crate::engine) fn send<O: Default>(
        &mut self,
        source: u8,
        datagram: &Datagram,
        window_start: Time,
    ) -> Packet<O> {
        self.on_the_way += 1;
        let is_measured = datagram.at > window_start;
        self.sent += u64::from(is_measured);
        self.receivers.sent(datagram, is_measured);
        let to = EndpointId::datagram(source, datagram.flow, Side::numbered(datagram.side));
        let (high, low) = halves(datagram.at.as_nanos());
        let data = datagram.size.get().saturating_sub(HEADERS);
        let len = u16::try_from(data).expect("the spec bounds a datagram by the MTU");
        let (seq, ack) = (Seq::new(high), Seq::new(low));
        // Feedback over RTCP is not ECN-capable (RFC 6679).
        let flags = if datagram.is_report() { Flags::NONE } else { self.ecn };
        let window = datagram.tag;
        Packet { to, segment: Segment { seq, ack, len, window, flags, ..Segment::default() } }
    }

    /// A packet, as it was sent, is at the end of the link now.
    pub(in crate::engine) fn receive(&mut self, sent: &Datagram, now: Time, window_start: Time) {
        self.on_the_way -= 1;
        let delay = now - sent.at + self.receivers.delay_beyond_link(sent.flow);
        let is_measured = sent.at > window_start;
        self.receivers.decide(sent, Some(delay), is_measured);
        if is_measured {
            self.delivered_bytes += sent.size.get();
            self.longest = self.longest.max(delay);
            self.delays.record(delay.as_micros()).expect("the histogram resizes itself");
        }
    }

    pub(in crate::engine) fn summary(&self) -> DatagramSummary {
        let any_came = !self.delays.is_empty();
        let bins = bins_ms(&self.delays);
        DatagramSummary {
            sent: self.sent,
            loss_percent: percent(self.lost as f64, self.sent as f64),
            delay_ms_mean: mean(&self.delays).map(|micros| 1e-3 * micros),
            delay_ms_p50: quantile(&bins, 0.5),
            delay_ms_p99: quantile(&bins, 0.99),
            delay_ms_p999: quantile(&bins, 0.999),
            delay_ms_max: any_came.then(|| self.longest.as_millis_f64()),
            delay_ms_sd: any_came.then(|| 1e-3 * self.delays.stdev()),
        }
    }

    /// Record a second copy of a datagram, which counts as one more that was sent.
    pub(in crate::engine) fn copy(&mut self, sent_at: Time, window_start: Time) {
        self.on_the_way += 1;
        self.sent += u64::from(sent_at > window_start);
    }

    /// Packets sent and packets lost.
    pub(in crate::engine) fn sent_and_lost(&self) -> (u64, u64) {
        (self.sent, self.lost)
    }

    /// A packet, as it was sent, is lost.
    pub(in crate::engine) fn lose(&mut self, sent: &Datagram, window_start: Time) {
        self.on_the_way -= 1;
        let is_measured = sent.at > window_start;
        self.lost += u64::from(is_measured);
        self.receivers.decide(sent, None, is_measured);
    }

    /// Returns the quality of calls, if its datagrams are calls.
    pub(in crate::engine) fn calls(&self) -> Option<CallQuality> {
        self.receivers.calls()
    }

    /// Returns the quality of games, if its datagrams are updates of games.
    pub(in crate::engine) fn games(&self) -> Option<GameQuality> {
        self.receivers.games()
    }
}

/// Returns a packet as it was sent.
pub(in crate::engine) fn as_sent<O: HeaderOptions>(packet: &Packet<O>) -> Datagram {
    let Segment { seq, ack, window, .. } = packet.segment;
    Datagram {
        at: Time::from_nanos(u64::from(seq.get()) << 32 | u64::from(ack.get())),
        flow: packet.to.flow(),
        side: packet.to.side().number(),
        size: packet.size(),
        tag: window,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "split in two")]
fn halves(number: u64) -> (u32, u32) {
    ((number >> 32) as u32, number as u32)
}
