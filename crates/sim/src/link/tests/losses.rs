//! Losses on the wire: their closed forms, and a link that has them.

use serde_json::{Value, json};

use super::impairments::impaired;
use super::*;

/// Sends packets of 1,000 bytes, one each millisecond. Returns whether each was lost.
fn losses(loss: &Value, packets: u32) -> Vec<bool> {
    let mut link = impaired(json!({ "loss": loss, "jitter": "1 ns" }));
    let mut is_lost = vec![true; packets as usize];
    let mut deliver = |link: &mut Boxed<WindowScale>, until: Time| {
        while link.next_delivery() <= until && link.next_delivery() < Time::MAX {
            match link.forward_to_next_hop() {
                Forwarding::AtDestination => is_lost[number_of(&link.deliver()) as usize] = false,
                Forwarding::Forwarded => drop(link.pop_wire_event()),
            }
        }
    };
    for number in 0..packets {
        let now = Time::from_nanos(u64::from(number) * 1_000_000);
        deliver(&mut link, now);
        link.arrive(&packet(number, 960, false, 0), now);
    }
    deliver(&mut link, Time::MAX);
    let lost = is_lost.iter().filter(|lost| **lost).count() as u64;
    let counters = meter(&link).counters();
    assert_eq!((counters.sent, counters.wire.lost, counters.held), (u64::from(packets), lost, 0));
    assert_eq!(meter(&link).inside(), 0);
    is_lost
}

/// The share of losses, and the mean length of a run of them.
fn shares(losses: &[bool]) -> (f64, f64) {
    let lost = losses.iter().filter(|lost| **lost).count() as f64;
    let runs = losses.chunk_by(|one, next| one == next).filter(|run| run[0]).count() as f64;
    (lost / losses.len() as f64, lost / runs)
}

fn close(value: f64, expected: f64) {
    assert!((value / expected - 1.0).abs() < 0.03, "{value}, in theory {expected}");
}

#[test]
fn independent_losses_have_their_probability_and_no_bursts() {
    let (share, burst) = shares(&losses(&json!(0.1), 200_000));
    close(share, 0.1);
    close(burst, 1.0 / 0.9);
}

#[test]
fn gilbert_elliott_losses_have_the_bursts_of_theory() {
    // The state is bad for p / (p + r) of the packets, and for 1 / r packets at a time.
    let (share, burst) = shares(&losses(&json!({ "gilbert_elliott": { "p": 0.02, "r": 0.25 } }), 400_000));
    close(share, 0.02 / 0.27);
    close(burst, 4.0);
    let (share, _) =
        shares(&losses(&json!({ "gilbert_elliott": { "p": 0.02, "r": 0.1, "h": 0.4, "k": 0.98 } }), 400_000));
    let bad = 0.02 / 0.12;
    close(share, bad * 0.6 + (1.0 - bad) * 0.02);
}

#[test]
fn states_with_times_have_the_shares_and_the_lengths_of_theory() {
    let process = json!({ "gilbert_elliott_time": { "good": "90 ms", "bad": "10 ms" } });
    let lost = losses(&process, 800_000);
    let (share, burst) = shares(&lost);
    close(share, 0.1);
    // Packets come each millisecond: the next one is lost, too, with the probability of an unchanged state,
    // bad + (1 - bad) exp(-1 ms (1 / 90 ms + 1 / 10 ms)) with bad = 0.1 of the time.
    let again = 0.1 + 0.9 * libm::exp(-(1.0 / 90.0 + 1.0 / 10.0));
    close(burst, 1.0 / (1.0 - again));
    let process = json!({ "gilbert_elliott_time": { "good": "40 ms", "bad": "10 ms", "h": 0.5, "k": 0.99 } });
    let (share, _) = shares(&losses(&process, 800_000));
    close(share, 0.2 * 0.5 + 0.8 * 0.01);
}

#[test]
fn the_state_may_change_after_a_packet() {
    let process = json!({ "gilbert_elliott": { "p": 1, "r": 1, "change": "after" } });
    assert_eq!(losses(&process, 4), [false, true, false, true]);
    let before = json!({ "gilbert_elliott": { "p": 1, "r": 1 } });
    assert_eq!(losses(&before, 4), [true, false, true, false]);
}

#[test]
fn losses_of_four_states_have_the_shares_of_theory() {
    let process = json!({ "four_state": { "p13": 0.02, "p31": 0.1, "p32": 0.3, "p23": 0.5, "p14": 0.01 } });
    let (share, burst) = shares(&losses(&process, 400_000));
    // Of state 1 follow 0.02 / 0.1 of state 3, 0.3 / 0.5 of state 3 is state 2, and 0.01 of state 1 is state 4.
    let (gap, loss, pause, isolated) = (1.0, 0.2, 0.12, 0.01);
    close(share, (loss + isolated) / (gap + loss + pause + isolated));
    // A run of losses ends with probability 0.4, or is of one packet.
    let (runs, single) = (loss * 0.4, isolated);
    close(burst, (loss + isolated) / (runs + single));
}

#[test]
fn nothing_and_everything_may_be_lost() {
    assert!(losses(&json!(0), 1_000).iter().all(|lost| !lost));
    assert!(losses(&json!(1), 1_000).iter().all(|lost| *lost));
}
