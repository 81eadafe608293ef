//! DOCSIS-PIE: what RFC 8034 changes about bursts, sizes and the estimate of the delay. The oracle of its decisions is in
//! Python, in `tests/disciplines`.

#![expect(clippy::float_cmp, reason = "states are whole numbers")]

use aqmlab_aqm::{
    Aqm, Discipline, DocsisPie, DocsisPieConfig, Ecn, Limit, LinkContext, Peak, QueueState, Verdict,
};
use aqmlab_units::{BitRate, Bytes, Duration, Time};

use crate::common::{link, packet, probed, rng};

/// A law, and a queue of the length that a test sets; 100 Mbit/s are 12.5 kB/ms.
struct Modem {
    law: DocsisPie,
    now: Time,
}

const INACTIVE: f64 = 0.0;
const QUIESCENT: f64 = 1.0;
const ACTIVE: f64 = 2.0;

fn resolved(config: &DocsisPieConfig) -> DocsisPieConfig {
    config.resolve(&link()).expect("a configuration of this test")
}

/// Packets of 1000 B, which take 83 us with their frames.
fn waiting(packets: u32) -> QueueState {
    QueueState { packets, bytes: Bytes::new(1000 * u64::from(packets)) }
}

impl Modem {
    fn new(config: &DocsisPieConfig) -> Modem {
        Modem { law: DocsisPie::new(&resolved(config), &link(), rng()), now: Time::ZERO }
    }

    /// Update once with this number of packets in the queue.
    fn update(&mut self, packets: u32) {
        self.now = self.law.poll_timeout().expect("it samples");
        self.law.on_timeout(waiting(packets), self.now);
    }

    /// Offer packets of `size` until one is dropped, up to `most`. Returns the number that passed.
    fn offer(&mut self, most: usize, size: u64, packets: u32) -> usize {
        let queue = waiting(packets);
        (0..most)
            .take_while(|_| self.law.on_enqueue(&packet(size, Ecn::Ect0), queue, self.now) == Verdict::Pass)
            .count()
    }

    fn state(&self) -> f64 {
        probed(&self.law, "aqm_state")
    }

    fn p(&self) -> f64 {
        probed(&self.law, "drop_prob")
    }
}

/// Updates with 40 ms in the queue, until packets are dropped.
fn loaded() -> Modem {
    let mut modem = Modem::new(&DocsisPieConfig::default());
    for _ in 0..80 {
        modem.update(480);
    }
    assert!(modem.p() > 0.1, "{}", modem.p());
    modem
}

#[test]
fn it_is_inactive_below_a_third_of_the_buffer() {
    let mut modem = loaded();
    // The buffer is 1,250 packets of 1000 B.
    assert_eq!((modem.offer(5_000, 1000, 416), modem.state()), (5_000, INACTIVE));
    assert!(modem.offer(5_000, 1000, 417) < 5_000);
}

#[test]
fn the_first_drop_protects_a_burst_and_the_next_does_not() {
    let mut modem = loaded();
    modem.offer(5_000, 1000, 480);
    assert_eq!(modem.state(), ACTIVE);
    // 142 ms are nine updates of 16 ms.
    for update in 0..9 {
        assert_eq!(modem.offer(5_000, 1000, 480), 5_000, "update {update}");
        modem.update(480);
        assert!(modem.p() <= 0.0, "the probability stays at zero");
    }
    for _ in 0..80 {
        modem.update(480);
    }
    for _ in 0..20 {
        assert!(modem.offer(1_000, 1000, 480) < 1_000, "no further burst is protected");
    }
}

#[test]
fn a_second_without_a_queue_makes_it_inactive_again() {
    let mut modem = loaded();
    modem.offer(5_000, 1000, 480);
    for _ in 0..9 {
        modem.update(0);
    }
    // The first of the quiet updates came with the end of the allowance.
    assert_eq!(modem.state(), QUIESCENT);
    for _ in 0..62 {
        modem.update(0);
    }
    assert_eq!(modem.state(), QUIESCENT, "0.992 s");
    modem.update(0);
    assert_eq!(modem.state(), INACTIVE, "1.008 s");
}

#[test]
fn a_queue_restarts_the_quiet_time() {
    let mut modem = loaded();
    modem.offer(5_000, 1000, 480);
    for _ in 0..60 {
        modem.update(0);
    }
    // 5 ms is half of the target, and its rise is too small for a probability to stay.
    modem.update(61);
    for _ in 0..60 {
        modem.update(0);
    }
    assert_eq!(modem.state(), QUIESCENT);
}

#[test]
fn large_packets_are_dropped_in_proportion_to_their_size() {
    let share = |size| {
        let mut modem = loaded();
        modem.offer(5_000, 1000, 480);
        for _ in 0..60 {
            modem.update(480);
        }
        let drops = 400;
        let passed: usize = (0..drops).map(|_| modem.offer(100_000, size, 480)).sum();
        drops as f64 / (passed + drops) as f64
    };
    let ratio = share(1400) / share(350);
    assert!((3.5..4.5).contains(&ratio), "{ratio}");
}

#[test]
fn the_smallest_packets_bound_the_probability() {
    let mut modem = Modem::new(&DocsisPieConfig { max_burst: Duration::ZERO, ..DocsisPieConfig::default() });
    for _ in 0..2_000 {
        modem.update(1200);
    }
    // PROB_LOW MEAN_PKTSIZE / MIN_PKTSIZE
    assert!((modem.p() - 13.6).abs() < 1e-9, "{}", modem.p());
    let passed: usize = (0..1_000).map(|_| modem.offer(1_000, 64, 1200)).sum();
    let share = 1_000.0 / (1_000 + passed) as f64;
    assert!((share - 0.85).abs() < 0.04, "{share} of the packets of 64 B are dropped");
}

#[test]
fn the_buffer_is_a_tenth_of_a_second_at_the_peak_rate() {
    let limit = |peak_rate: Option<u64>| {
        let peak_rate = peak_rate.map(BitRate::from_mbit_per_sec);
        resolved(&DocsisPieConfig { peak_rate, ..DocsisPieConfig::default() }).limit
    };
    assert_eq!(limit(None), Some(Limit::Bytes(Bytes::new(1_250_000))));
    assert_eq!(limit(Some(200)), Some(Limit::Bytes(Bytes::new(2_500_000))));
    // The line behind the modem's bucket is no part of the plan.
    let peak = Some(Peak { rate: BitRate::from_mbit_per_sec(1_000), burst: Bytes::new(3044) });
    let config = DocsisPieConfig::default().resolve(&LinkContext { peak, ..link() }).expect("it is complete");
    assert_eq!(config.limit, Some(Limit::Bytes(Bytes::new(1_250_000))));
}

#[test]
fn a_peak_rate_below_the_sustained_one_is_refused() {
    let peak_rate = Some(BitRate::from_mbit_per_sec(50));
    let refused = DocsisPieConfig { peak_rate, ..DocsisPieConfig::default() }.resolve(&link()).unwrap_err();
    assert_eq!(refused.to_string(), "peak_rate: must be at least the link's rate, 100 Mbit/s, got 50 Mbit/s");
}

#[test]
fn a_full_queue_drops_before_the_law_and_clears_its_sum() {
    let limit = Some(Limit::Packets(600));
    let mut modem =
        Modem::new(&DocsisPieConfig { limit, max_burst: Duration::ZERO, ..DocsisPieConfig::default() });
    for _ in 0..100 {
        modem.update(590);
    }
    let near = modem.offer(5_000, 1000, 590);
    assert!(near < 5_000);
    // Without overflows the law would drop at the latest when the sum is 8.5.
    assert_eq!(modem.offer(5_000, 1000, 600), 5_000, "the limit refuses them");
}
