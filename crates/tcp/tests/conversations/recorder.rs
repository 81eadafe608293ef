//! A congestion control that adds up its ECN feedback and never moves its window. It may answer marks itself.

use aqmlab_tcp::{Ack, CongestionControl, Marks, Profile};

#[derive(Debug)]
pub(crate) struct Recorder<const COUNTS: bool> {
    window: u32,
    pub(crate) delivered: u32,
    pub(crate) marked: u32,
    /// The last feedback: `(bytes, marked)`.
    pub(crate) last: (u32, u32),
    pub(crate) grown: u32,
    pub(crate) echoes: u32,
    /// The bytes delivered at the last echo.
    pub(crate) delivered_at_echo: u32,
}

impl<const COUNTS: bool> CongestionControl for Recorder<COUNTS> {
    fn new(profile: &Profile) -> Recorder<COUNTS> {
        let window = u32::from(profile.initial_window) * u32::from(profile.mss);
        Recorder { window, delivered: 0, marked: 0, last: (0, 0), grown: 0, echoes: 0, delivered_at_echo: 0 }
    }

    fn cwnd(&self) -> u32 {
        self.window
    }

    fn ssthresh(&self) -> u32 {
        self.window
    }

    fn marks(&self) -> Marks {
        if COUNTS { Marks::Counted } else { Marks::Echoed }
    }

    fn on_delivery(&mut self, ack: &Ack) {
        self.delivered += ack.bytes;
        self.marked += ack.marked;
        self.last = (ack.bytes, ack.marked);
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.grown += ack.bytes;
    }

    fn on_ecn_echo(&mut self, _window: u32, _mss: u32) {
        self.echoes += 1;
        self.delivered_at_echo = self.delivered;
    }

    fn on_fast_retransmit(&mut self, _window: u32, _mss: u32) {}
    fn on_recovered(&mut self, _flight: u32, _mss: u32) {}
    fn on_timeout(&mut self, _window: u32, _mss: u32) {}
    fn on_idle(&mut self, _initial_window: u32) {}
}
