//! Poisson arrivals at a drop-tail link: the queues of the textbooks.

use aqmlab_aqm::{Droptail, Limit};

use super::*;

/// The service time D: 1,000 bytes at 8 Mbit/s.
const SERVICE_S: f64 = 1e-3;
const LEN: u16 = 960;

/// Estimates from batches so long that they are all but independent.
const BATCHES: u32 = 100;
const BATCH: u32 = 10_000;

/// The state that each batch of arrivals saw.
struct Batch {
    /// The mean number that an arrival finds waiting (seen by Poisson arrivals, the mean over time).
    waiting: f64,
    /// The fraction lost.
    lost: f64,
    /// The mean wait of those sent, in seconds.
    waited_s: f64,
}

/// Poisson arrivals at load `rho`.
fn poisson_arrivals(rho: f64, limit: u32) -> Vec<Batch> {
    let context = LinkContext {
        rate: BitRate::from_mbit_per_sec(8),
        header: Bytes::ZERO,
        overhead: Bytes::ZERO,
        peak: None,
    };
    let wire = Wire { context, delay: Duration::ZERO, device_fifo: 0, owners: 0 };
    let mut link = Computed::new(AdmissionControl::new(Droptail, Limit::Packets(limit)), &wire);
    let mut stream = Stream::named(1, "arrivals");
    let mut now = 0.0;
    let mut before = link.delays();
    let mut batch = |_| {
        let (mut waiting, mut lost) = (0, 0);
        for number in 0..BATCH {
            now += SERVICE_S / rho * -libm::log1p(-stream.uniform());
            let at = Time::from_secs_f64(now);
            deliver_until(&mut link, at, &mut Vec::new());
            link.advance(at);
            waiting += link.state().packets;
            link.arrive(&packet(number, LEN, false, 0), at);
            lost += u32::from(link.pop_drop().is_some());
        }
        let waits = link.delays().since(&std::mem::replace(&mut before, link.delays())).all();
        Batch {
            waiting: f64::from(waiting) / f64::from(BATCH),
            lost: f64::from(lost) / f64::from(BATCH),
            waited_s: 1e-3 * waits.sum_ms() / waits.count() as f64,
        }
    };
    // The first batch begins with an empty queue.
    batch(0);
    (0..BATCHES).map(batch).collect()
}

/// The mean of the batches lies within four standard errors of `expected`, and these are small enough to tell.
fn agree(batches: &[Batch], read: fn(&Batch) -> f64, expected: f64) {
    let n = f64::from(BATCHES);
    let batches: Vec<f64> = batches.iter().map(read).collect();
    let mean = batches.iter().sum::<f64>() / n;
    let variance = batches.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let error = (variance / n).sqrt();
    assert!((mean - expected).abs() < 4.0 * error, "{mean} +- {error}, in theory {expected}");
    assert!(error < 0.02 * expected, "too little was simulated: {mean} +- {error}");
}

#[test]
fn mean_queue_and_delay_are_those_of_pollaczek_and_khinchine() {
    for rho in [0.3, 0.7, 0.9] {
        let batches = poisson_arrivals(rho, 1_000_000);
        // M/D/1: L_q = rho^2 / (2 (1 - rho)), W_q = rho D / (2 (1 - rho))
        agree(&batches, |batch| batch.waiting, rho * rho / (2.0 * (1.0 - rho)));
        agree(&batches, |batch| batch.waited_s, rho * SERVICE_S / (2.0 * (1.0 - rho)));
        assert!(batches.iter().all(|batch| batch.lost == 0.0));
    }
}

/// The loss of M/D/1/K by the chain embedded at departures (Gross and Harris, *Fundamentals of queueing theory*).
fn loss_of_m_d_1_k(rho: f64, k: usize) -> f64 {
    // a_j = exp(-rho) rho^j / j!, the probability of j arrivals in a service time
    let mut a = vec![libm::exp(-rho)];
    for j in 1..k {
        a.push(a[j - 1] * rho / j as f64);
    }
    // pi_j = pi_0 a_j + sum_{i=1}^{j+1} pi_i a_{j-i+1}, solved for pi_{j+1}; states 0 to k-1 are left behind
    let mut pi = vec![1.0];
    for j in 0..k - 1 {
        let flow_in: f64 = pi[0] * a[j] + (1..=j).map(|i| pi[i] * a[j - i + 1]).sum::<f64>();
        pi.push((pi[j] - flow_in) / a[0]);
    }
    // P(loss) = 1 - 1 / (pi_0 + rho), with pi summing to 1
    let pi_0 = 1.0 / pi.iter().sum::<f64>();
    1.0 - 1.0 / (pi_0 + rho)
}

#[test]
fn a_full_queue_loses_what_an_m_d_1_k_queue_loses() {
    for (rho, waiting_room) in [(0.8, 3), (0.95, 10), (1.2, 24)] {
        let batches = poisson_arrivals(rho, waiting_room);
        // K counts the packet being sent.
        agree(&batches, |batch| batch.lost, loss_of_m_d_1_k(rho, waiting_room as usize + 1));
    }
}

#[test]
fn the_textbook_formula_is_erlangs_where_nobody_waits() {
    // K = 1: P(loss) = rho / (1 + rho)
    assert!((loss_of_m_d_1_k(0.5, 1) - 1.0 / 3.0).abs() < 1e-15);
}
