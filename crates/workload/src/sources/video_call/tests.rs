//! Calls over a path without a queue, and NADA against the RFC.

mod bottleneck;
mod nada;
mod path;

use aqmlab_units::{Bytes, Duration, Time};

use super::{Datagram, InFlight};

#[test]
fn each_packet_is_taken_once_among_more_than_its_tag_can_number() {
    let mut in_flight = InFlight::new();
    let sent: Vec<Datagram> = (0..100_000_u64)
        .map(|number| {
            let at = Time::ZERO + Duration::from_micros(number / 7);
            Datagram { at, flow: 0, side: 0, size: Bytes::new(100), tag: in_flight.add(number, at) }
        })
        .collect();
    // From the end, so that all of them are in flight at first.
    for (number, datagram) in sent.iter().enumerate().rev() {
        let number = number as u64;
        assert_eq!(in_flight.take(datagram), Some((number, number)));
        assert_eq!(in_flight.take(datagram), None, "a copy");
    }
    assert!(in_flight.packets.is_empty());
}
