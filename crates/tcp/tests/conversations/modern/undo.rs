//! Reductions for losses that were none are taken back (RFC 3522).

use aqmlab_tcp::{Ack, CongestionControl};

use super::*;

/// `NewReno` that remembers the window before the last reduction.
#[derive(Debug)]
struct Remembering {
    window: ClassicReno,
    before: Option<ClassicReno>,
}

impl CongestionControl for Remembering {
    fn new(profile: &Profile) -> Remembering {
        Remembering { window: ClassicReno::new(profile), before: None }
    }

    fn cwnd(&self) -> u32 {
        self.window.cwnd()
    }

    fn ssthresh(&self) -> u32 {
        self.window.ssthresh()
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.window.on_ack(ack);
    }

    fn on_fast_retransmit(&mut self, window: u32, mss: u32) {
        self.before = Some(self.window);
        self.window.on_fast_retransmit(window, mss);
    }

    fn on_recovered(&mut self, flight: u32, mss: u32) {
        self.window.on_recovered(flight, mss);
    }

    fn on_timeout(&mut self, window: u32, mss: u32) {
        self.before = Some(self.window);
        self.window.on_timeout(window, mss);
    }

    fn on_spurious(&mut self) {
        self.window = self.before.take().expect("a reduction came before");
    }

    fn on_ecn_echo(&mut self, window: u32, mss: u32) {
        self.window.on_ecn_echo(window, mss);
    }

    fn on_idle(&mut self, initial_window: u32) {
        self.window.on_idle(initial_window);
    }
}

/// Ten segments of 988 bytes in flight since [`OPENED`], with timestamps and SACK. F-RTO leaves it to the timestamps.
fn in_flight() -> Conversation<Remembering> {
    let profile = Profile { timestamps: true, frto: true, ..selective() };
    let offer = |segment, value, echo| {
        let syn = SynOptions { mss: MSS, sack_permitted: true, window_scale: None };
        with(segment, Options::default().with_timestamps(Timestamps { value, echo }).with_syn(syn))
    };
    let mut tcp = Conversation::<Remembering>::connect(profile);
    tcp.sends_with([offer(syn(), 0, 0)]).at(OPENED).gets(offer(syn_ack(), 50, 0));
    tcp.sends_with([stamped(ack(1), 100, 50)]).writes(50_000);
    tcp.sends_with((1..=10).map(|k| stamped(nth(k), 100, 50)));
    tcp
}

/// Segment `k` of 988 bytes.
fn nth(k: u32) -> Segment {
    data(1 + (k - 1) * 988, 988)
}

#[test]
fn a_spurious_timeout_is_undone_and_no_more_is_resent() {
    let mut tcp = in_flight();
    tcp.at(OPENED + 1000).sends_with([stamped(nth(1), 1100, 50)]);
    assert_eq!(tcp.cwnd(), 1000 - 12);
    // What arrived had left at 100 ms: the segments were late, not lost.
    tcp.at(OPENED + 1010).gets(stamped(ack(989), 1050, 100));
    assert!(tcp.cwnd() >= 10_000);
    tcp.sends_with((11..=12).map(|k| stamped(nth(k), 1110, 1050)));
    tcp.gets(stamped(ack(1 + 10 * 988), 1050, 100));
    assert!(tcp.takes_sent().len() >= 9);
}

#[test]
fn a_timeout_that_was_right_is_not_undone() {
    let mut tcp = in_flight();
    tcp.at(OPENED + 1000).sends_with([stamped(nth(1), 1100, 50)]);
    tcp.at(OPENED + 1100).gets(stamped(ack(989), 1150, 1100));
    tcp.sends_with((2..=3).map(|k| stamped(nth(k), 1200, 1150)));
    assert!(tcp.cwnd() < 2_000);
}

#[test]
fn a_fast_retransmit_for_a_segment_that_was_only_late_is_undone() {
    let mut tcp = in_flight();
    let report = sack_bytes(ack(1), [(989, 1 + 4 * 988)]).options;
    let report = report.with_timestamps(Timestamps { value: 150, echo: 100 });
    tcp.at(OPENED + 100).gets(with(ack(1), report));
    tcp.sends_with([stamped(nth(1), 200, 150), stamped(nth(11), 200, 150)]);
    let halved = tcp.ssthresh();
    assert!(halved < 10_000);
    // The late segment echoes its own time.
    tcp.at(OPENED + 101).gets(stamped(ack(1 + 4 * 988), 160, 100));
    assert!(tcp.cwnd() >= 10_000 && tcp.ssthresh() > halved);
    // Four are acknowledged, and the window has grown by one for it; one has left before.
    assert_eq!(tcp.takes_sent().len(), 4);
}

#[test]
fn a_spurious_second_copy_does_not_undo_the_loss_before() {
    let mut tcp = in_flight();
    let report = sack_bytes(ack(1), [(989, 1 + 4 * 988)]).options;
    let report = report.with_timestamps(Timestamps { value: 150, echo: 100 });
    tcp.at(OPENED + 100).gets(with(ack(1), report));
    tcp.sends_with([stamped(nth(1), 200, 150), stamped(nth(11), 200, 150)]);
    tcp.at(OPENED + 1100).sends_with([stamped(nth(1), 1200, 150)]);
    let after_timeout = tcp.cwnd();
    // The copy of the fast retransmission fills the hole: it was late, but the original was lost.
    tcp.at(OPENED + 1110).gets(stamped(ack(1 + 4 * 988), 1150, 200));
    assert!(tcp.cwnd() <= after_timeout + 4 * 988, "{} after {after_timeout}", tcp.cwnd());
    tcp.sends_with((5..=6).map(|k| stamped(nth(k), 1210, 1150)));
}
