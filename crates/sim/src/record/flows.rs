//! The table of flows: the state of chosen connections over time.

use aqmlab_tcp::{ControlVariables, Info};
use aqmlab_units::{BitRate, Duration, Time};

use super::columns::table;
use crate::packet::Owner;
use crate::side::Direction;

table! {
/// The chosen connections at regular instants: one row per instant and end that has sent data. An end that only receives
/// adds no row while its last one holds. With `record.flows = "changes"` one row per change of an end's state.
pub struct FlowTable {
    /// Seconds since the start of the run.
    pub time_s: Vec<f64>,
    /// 0: a web user's; else the number of the source, from 1.
    pub source: Vec<u8>,
    /// The number of the web user, or of the source's flow. It is the same under every scheme with one seed.
    pub flow: Vec<u64>,
    /// The number of the connection among all of the run, from 1: a flow may open several.
    pub connection: Vec<u64>,
    /// Direction of the data that it sends.
    pub direction: Vec<u8>,
    /// The name of its congestion control.
    pub control: Vec<&'static str>,
    /// Congestion window.
    pub cwnd_bytes: Vec<u32>,
    /// Slow-start threshold; null while it does not bound.
    pub ssthresh_bytes: Vec<Option<f64>>,
    /// Pacing rate of the data; null if only the windows limit departures. Of a real kernel, BBR's alone.
    pub pacing_rate_mbps: Vec<Option<f64>>,
    /// Smoothed round-trip time; null before the first sample.
    pub srtt_ms: Vec<Option<f64>>,
    /// Minimum round-trip time; null before the first sample and of a stack without timestamps or SACK.
    pub min_rtt_ms: Vec<Option<f64>>,
    /// Variation of the round-trip time (RTTVAR of RFC 6298); null before the first sample.
    pub rttvar_ms: Vec<Option<f64>>,
    /// Retransmission timeout, with its back-off.
    pub rto_ms: Vec<f64>,
    /// Bytes estimated to be in the network (RFC 6675 section 4); of a stack without SACK, bytes not acknowledged.
    pub in_flight_bytes: Vec<u32>,
    /// Data bytes sent since the connection began, with those sent again.
    pub sent_bytes: Vec<u64>,
    /// Data bytes delivered: acknowledged in order, or by SACK.
    pub delivered_bytes: Vec<u64>,
    /// Bytes found lost, spurious losses included; null of a stack without SACK and of a real kernel.
    pub lost_bytes: Vec<Option<f64>>,
    /// Data bytes sent again.
    pub retransmitted_bytes: Vec<u64>,
    /// Data bytes that the receiver reports as marked; null without feedback that counts marks (DCTCP's, accurate ECN).
    pub marked_bytes: Vec<Option<f64>>,
    /// Receive window of the peer.
    pub receive_window_bytes: Vec<u32>,
    /// The reason why it sends no more: application, `receive_window`, `congestion_window`, recovery, pacing or interface.
    pub limited_by: Vec<&'static str>,
    /// Its state of congestion: open, disorder, recovery or loss.
    pub state: Vec<&'static str>,
    /// BBR's state, as `ProbeBW_CRUISE`; empty for other controls and in a real kernel.
    pub phase: Vec<&'static str>,
    /// BBR's maximum bandwidth; null for other controls, as all that follows is null for controls that lack it.
    pub max_bw_mbps: Vec<Option<f64>>,
    /// The bandwidth that BBR uses.
    pub bw_mbps: Vec<Option<f64>>,
    /// BBR's long-term bound of the data in flight; null without one.
    pub inflight_longterm_bytes: Vec<Option<f64>>,
    /// BBR's short-term bound of the data in flight; null without one.
    pub inflight_shortterm_bytes: Vec<Option<f64>>,
    /// CUBIC's window at the last reduction, after fast convergence.
    pub w_max_bytes: Vec<Option<f64>>,
    /// CUBIC's K: the time from the start of congestion avoidance until the curve is flat.
    pub k_s: Vec<Option<f64>>,
    /// CUBIC's estimate of Reno's window.
    pub w_est_bytes: Vec<Option<f64>>,
    /// The moving average of marks of DCTCP and Prague, of 1.
    pub alpha_fraction: Vec<Option<f64>>,
    /// LEDBAT's base delay.
    pub base_delay_ms: Vec<Option<f64>>,
}
}

/// One end of a connection at one moment.
pub(crate) struct FlowRow<'a> {
    /// The direction of the data that it sends.
    pub(crate) direction: Direction,
    pub(crate) owner: Owner,
    pub(crate) flow: u64,
    pub(crate) connection: u64,
    pub(crate) control: &'static str,
    pub(crate) limited_by: &'static str,
    pub(crate) variables: ControlVariables,
    pub(crate) info: &'a Info,
    /// Data bytes since the connection began: sent, delivered and sent again.
    pub(crate) sent: u64,
    pub(crate) delivered: u64,
    pub(crate) retransmitted: u64,
}

impl FlowTable {
    pub(crate) fn push(&mut self, now: Time, row: &FlowRow<'_>) {
        let Info { sender, cwnd, ssthresh, pacing_rate, srtt, rttvar, rto, .. } = *row.info;
        self.time_s.push(now.as_secs_f64());
        self.source.push(row.owner.number());
        self.flow.push(row.flow);
        self.connection.push(row.connection);
        self.direction.push(row.direction.number());
        self.control.push(row.control);
        self.cwnd_bytes.push(cwnd);
        self.ssthresh_bytes.push(ssthresh.map(f64::from));
        self.pacing_rate_mbps.push(pacing_rate.map(mbps));
        self.srtt_ms.push(srtt.map(Duration::as_millis_f64));
        self.min_rtt_ms.push(sender.min_rtt.map(Duration::as_millis_f64));
        self.rttvar_ms.push(srtt.map(|_| rttvar.as_millis_f64()));
        self.rto_ms.push(rto.as_millis_f64());
        self.in_flight_bytes.push(sender.in_flight);
        self.sent_bytes.push(row.sent);
        self.delivered_bytes.push(row.delivered);
        self.lost_bytes.push(sender.lost.map(|bytes| bytes as f64));
        self.retransmitted_bytes.push(row.retransmitted);
        self.marked_bytes.push(sender.marked.map(|bytes| bytes as f64));
        self.receive_window_bytes.push(sender.receive_window);
        self.limited_by.push(row.limited_by);
        self.state.push(sender.state.name());
        self.push_variables(row.variables);
    }

    fn push_variables(&mut self, own: ControlVariables) {
        let mbps = |rate: f64| 8e-6 * rate;
        self.phase.push(own.phase);
        self.max_bw_mbps.push(own.max_bw.map(mbps));
        self.bw_mbps.push(own.bw.map(mbps));
        self.inflight_longterm_bytes.push(own.inflight_longterm);
        self.inflight_shortterm_bytes.push(own.inflight_shortterm);
        self.w_max_bytes.push(own.w_max);
        self.k_s.push(own.k);
        self.w_est_bytes.push(own.w_est);
        self.alpha_fraction.push(own.alpha);
        self.base_delay_ms.push(own.base_delay.map(Duration::as_millis_f64));
    }
}

fn mbps(rate: BitRate) -> f64 {
    1e-6 * rate.bits_per_sec() as f64
}
