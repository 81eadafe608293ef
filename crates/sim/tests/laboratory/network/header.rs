//! The part of a frame's header that queues count: in their bytes only.

use std::sync::{Arc, Mutex};

use aqmlab_aqm::{Aqm, Packet, QueueState, Verdict};
use aqmlab_units::Time;

use crate::*;

/// The spec with links whose queues count this many bytes of a header.
fn counting(spec: &Value, header: u32) -> Value {
    let mut spec = spec.clone();
    let bytes = json!(format!("{header} B"));
    match &mut spec["link"] {
        Value::Array(links) => links.iter_mut().for_each(|link| link["header"] = bytes.clone()),
        link => link["header"] = bytes,
    }
    spec
}

/// A link alone, one that is slower one way, and two in series of which the second is.
fn networks(queue: &Value) -> [Value; 3] {
    let mut single = congested(queue);
    single["protocol"]["duration"] = json!("20 s");
    let (mut uneven, mut chain) = (single.clone(), single.clone());
    uneven["link"]["rate"] = json!({"up": "2 Mbit/s", "down": "1 Mbit/s"});
    put_in_series(&mut chain, &json!([{}, {"rate": {"up": "1500 kbit/s", "down": "1 Mbit/s"}}]));
    [single, uneven, chain]
}

/// Sizes of the packets that a law was asked about.
type Sizes = Arc<Mutex<Vec<u64>>>;

/// A law that lets all pass.
struct Noting(Sizes);

impl Aqm for Noting {
    fn on_enqueue(&mut self, pkt: &Packet, _: QueueState, _: Time) -> Verdict {
        self.0.lock().expect("one thread").push(pkt.size.get());
        Verdict::Pass
    }
}

/// The sizes that laws see in a run whose queues count `header` bytes.
fn sizes_told(header: u32) -> Vec<u64> {
    let sizes = Sizes::default();
    let laws = [0, 1].map(|_| Some(Box::new(Noting(sizes.clone())) as Box<dyn Aqm + Send>));
    let spec = counting(&congested(&json!({"mine:Noting": {"limit": 24}})), header);
    let mut laboratory = build(&read(&spec), 1, Some(laws), Watch::Nothing).expect("the spec is sound");
    laboratory.advance(laboratory.end());
    sizes.lock().expect("one thread").clone()
}

#[test]
fn a_packet_limited_queue_ignores_the_header_setting() {
    // ARED's own parameters follow from the link's capacity, which is what it was.
    for queue in [law("droptail"), law("red"), json!({"ared": {"mode": "packet"}})] {
        for spec in networks(&queue) {
            let run = |header| Run::to_the_end(&counting(&spec, header), 1);
            let (ip, mut frames) = (run(0), run(14));
            let waiting = &ip.tables.queue;
            assert!(waiting.packets.iter().any(|&packets| packets > 10), "{spec}: too little waits to tell");
            let counted = waiting.bytes.iter().zip(&waiting.packets);
            let counted: Vec<u64> =
                counted.map(|(bytes, &packets)| bytes + 14 * u64::from(packets)).collect();
            assert_eq!(frames.tables.queue.bytes, counted);
            frames.tables.queue.bytes.clone_from(&waiting.bytes);
            assert!(format!("{ip:?}") == format!("{frames:?}"), "{spec}");
        }
    }
}

#[test]
fn a_law_is_told_of_frames_with_their_headers() {
    let (ip, frames) = (sizes_told(0), sizes_told(14));
    assert_eq!(ip.iter().min(), Some(&40), "there are acknowledgements");
    assert_eq!(frames, ip.iter().map(|size| size + 14).collect::<Vec<_>>());
}

#[test]
fn a_limit_in_bytes_is_one_of_frames() {
    // One acknowledgement at a time has room.
    let sent = |header| {
        let spec = congested(&json!({"droptail": {"limit": "53 B"}}));
        let counters = Run::to_the_end(&counting(&spec, header), 1).summary.counters;
        counters.iter().map(|direction| direction.sent).collect::<Vec<_>>()
    };
    assert!(sent(13)[0] > 100);
    assert_eq!(sent(14), [0, 0]);
}
