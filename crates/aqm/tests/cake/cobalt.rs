//! COBALT in one queue of CAKE, against the COBALT of one queue.

use aqmlab_aqm::{Ecn, Packet, Qdisc, QueueConfig};
use aqmlab_units::{Bytes, Duration, Stream, Time};
use proptest::prelude::*;
use serde_json::json;

use crate::rig::{LINK, cake};

/// COBALT as CAKE without a shaper has it.
fn cobalt() -> Box<dyn Qdisc<usize> + Send> {
    let config: QueueConfig = serde_json::from_value(
        json!({"cobalt": {"mtu": "0 B", "sqrt": "exact_table32", "limit": "100000 packets"}}),
    )
    .expect("COBALT");
    config.resolve(&LINK).expect("possible").queue(&LINK, Stream::named(1, "queue"))
}

/// Packets that left, whether they were marked, and packets that were dropped, of a queue that never becomes empty.
fn outcomes(
    mut queue: Box<dyn Qdisc<usize> + Send>,
    steps: &[(u64, bool)],
) -> (Vec<(usize, bool)>, Vec<usize>) {
    let (mut left, mut lost) = (Vec::new(), Vec::new());
    let mut now = Time::from_secs_f64(1.0);
    let arrive = |queue: &mut Box<dyn Qdisc<usize> + Send>, number: usize, is_ect: bool, now: Time| {
        let ecn = if is_ect { Ecn::Ect0 } else { Ecn::NotEct };
        queue.enqueue(Packet { size: Bytes::new(1500), ecn, flow: 7 }, number, now, &mut |_| ());
    };
    // All wait for longer than the target before the first leaves.
    for number in 0..2_000 {
        arrive(&mut queue, number, steps[number % steps.len()].1, now);
    }
    now += Duration::from_millis(20);
    for (number, &(pause_us, is_ect)) in (2_000..).zip(steps) {
        now += Duration::from_micros(pause_us);
        let departure = queue.dequeue(now, &mut |number| lost.push(number)).expect("the queue is not empty");
        left.push((departure.payload, departure.packet.ecn == Ecn::Ce));
        arrive(&mut queue, number, is_ect, now);
    }
    (left, lost)
}

/// One queue of CAKE.
fn one_queue() -> Box<dyn Qdisc<usize> + Send> {
    cake(json!({"isolation": "flowblind", "diffserv": "besteffort"}), 1)
}

proptest! {
    #[test]
    fn one_queue_decides_as_cobalt_does(
        pace in 1..3000_u64, steps in prop::collection::vec((0..1000_u64, any::<bool>()), 200..900),
    ) {
        let steps: Vec<(u64, bool)> = steps.into_iter().map(|(pause, is_ect)| (pause * pace / 1000, is_ect)).collect();
        prop_assert_eq!(outcomes(one_queue(), &steps), outcomes(cobalt(), &steps));
    }
}

#[test]
fn one_queue_marks_and_drops_as_cobalt_does() {
    let steps: Vec<(u64, bool)> = (0..900).map(|step| (2_000, step % 3 == 0)).collect();
    let (left, lost) = outcomes(one_queue(), &steps);
    assert!(left.iter().any(|&(_, is_marked)| is_marked) && lost.len() > 3);
    assert_eq!((left, lost), outcomes(cobalt(), &steps));
}
