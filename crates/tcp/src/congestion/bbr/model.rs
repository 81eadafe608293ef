//! The model of the path: its bandwidth, the data that the last round delivered, and the aggregation of ACKs.

use aqmlab_units::Time;

use super::Bbr;
use super::loss::BETA;
use super::max_filter::MaxFilter;

/// Cycles of ProbeBW that `max_bw` covers: this one and the previous one.
const MAX_BW_FILTER_LEN: u64 = 2;
/// Rounds that `extra_acked` covers once the pipe was full.
const EXTRA_ACKED_FILTER_LEN: u64 = 10;

/// The model of the path. A bound that is infinite does not bound.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) max_bw: f64,
    max_bw_filter: MaxFilter,
    cycle_count: u64,
    /// `min(max_bw, bw_shortterm)`
    pub(super) bw: f64,
    pub(super) bw_shortterm: f64,
    pub(super) inflight_shortterm: f64,
    pub(super) inflight_longterm: f64,
    bw_latest: f64,
    pub(super) inflight_latest: f64,
    pub(super) loss_round_delivered: u64,
    pub(super) loss_round_start: bool,
    pub(super) extra_acked: f64,
    extra_acked_filter: MaxFilter,
    extra_acked_delivered: f64,
    extra_acked_interval_start: Time,
}

impl Model {
    pub(super) fn new() -> Model {
        Model {
            max_bw: 0.0,
            max_bw_filter: MaxFilter::default(),
            cycle_count: 0,
            bw: 0.0,
            bw_shortterm: f64::INFINITY,
            inflight_shortterm: f64::INFINITY,
            inflight_longterm: f64::INFINITY,
            bw_latest: 0.0,
            inflight_latest: 0.0,
            loss_round_delivered: 0,
            loss_round_start: false,
            extra_acked: 0.0,
            extra_acked_filter: MaxFilter::default(),
            extra_acked_delivered: 0.0,
            extra_acked_interval_start: Time::ZERO,
        }
    }

    /// `ResetShortTermModel()`
    pub(super) fn reset_short_term(&mut self) {
        self.bw_shortterm = f64::INFINITY;
        self.inflight_shortterm = f64::INFINITY;
    }

    /// `AdvanceMaxBwFilter()`
    pub(super) fn advance_max_bw_filter(&mut self) {
        self.cycle_count += 1;
    }
}

impl Bbr {
    /// `UpdateLatestDeliverySignals()`
    pub(super) fn update_latest_delivery_signals(&mut self) {
        let (model, rs) = (&mut self.model, &self.rs);
        model.bw_latest = model.bw_latest.max(rs.delivery_rate);
        model.inflight_latest = model.inflight_latest.max(rs.delivered);
        model.loss_round_start = rs.prior_delivered >= model.loss_round_delivered;
        if model.loss_round_start {
            model.loss_round_delivered = self.delivered;
        }
    }

    /// `AdvanceLatestDeliverySignals()`
    pub(super) fn advance_latest_delivery_signals(&mut self) {
        if self.model.loss_round_start {
            self.model.bw_latest = self.rs.delivery_rate;
            self.model.inflight_latest = self.rs.delivered;
        }
    }

    /// `ResetCongestionSignals()`
    pub(super) fn reset_congestion_signals(&mut self) {
        self.losses.is_loss_in_round = false;
        self.model.bw_latest = 0.0;
        self.model.inflight_latest = 0.0;
    }

    /// `UpdateCongestionSignals()`
    pub(super) fn update_congestion_signals(&mut self) {
        self.update_max_bw();
        if self.model.loss_round_start {
            self.adapt_lower_bounds_from_congestion();
            self.losses.is_loss_in_round = false;
        }
    }

    /// `UpdateMaxBw()`
    fn update_max_bw(&mut self) {
        self.update_round();
        let (model, rs) = (&mut self.model, &self.rs);
        // An application-limited sample is too low, and counts only if it raises the maximum.
        if rs.delivery_rate > 0.0 && (rs.delivery_rate >= model.max_bw || !rs.is_app_limited) {
            model.max_bw = model.max_bw_filter.update(rs.delivery_rate, model.cycle_count, MAX_BW_FILTER_LEN);
        }
    }

    /// `AdaptLowerBoundsFromCongestion()`, with `InitLowerBounds()` and `LossLowerBounds()`
    fn adapt_lower_bounds_from_congestion(&mut self) {
        // While accelerating, losses are expected; inflight_longterm bounds them instead.
        if self.state.is_accelerating() || !self.losses.is_loss_in_round {
            return;
        }
        let model = &mut self.model;
        // A bound that does not exist yet starts from max_bw or cwnd.
        let bw = model.bw_shortterm.min(model.max_bw);
        let inflight =
            if model.inflight_shortterm.is_infinite() { self.control.cwnd } else { model.inflight_shortterm };
        // bw_shortterm = max(bw_latest, Beta * bw_shortterm); the same for inflight_shortterm
        model.bw_shortterm = model.bw_latest.max(BETA * bw);
        model.inflight_shortterm = model.inflight_latest.max(BETA * inflight);
    }

    /// `BoundBWForModel()`
    pub(super) fn bound_bw_for_model(&mut self) {
        self.model.bw = self.model.max_bw.min(self.model.bw_shortterm);
    }

    /// `UpdateACKAggregation()`
    pub(super) fn update_ack_aggregation(&mut self) {
        let model = &mut self.model;
        let interval = self.now.saturating_since(model.extra_acked_interval_start);
        let mut expected_delivered = model.bw * interval.as_secs_f64();
        // Delivery is no longer ahead of the estimated bandwidth: the burst of ACKs is over.
        if model.extra_acked_delivered <= expected_delivered {
            model.extra_acked_delivered = 0.0;
            model.extra_acked_interval_start = self.now;
            expected_delivered = 0.0;
        }
        model.extra_acked_delivered += self.rs.newly_acked;
        let extra = (model.extra_acked_delivered - expected_delivered).min(self.control.cwnd);
        let window = if self.full_pipe.full_bw_reached { EXTRA_ACKED_FILTER_LEN } else { 1 };
        model.extra_acked = model.extra_acked_filter.update(extra, self.rounds.round_count, window);
    }
}
