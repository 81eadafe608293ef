//! Laws that control how long packets wait: each against a dull transcription of its source that owns its packets, and
//! what each promises.

mod cobalt;
mod cobalt_oracle;
mod codel;
mod codel_oracle;
mod fluid;
mod paths;
mod pi2;
mod pi2_oracle;
mod pie;
mod pie_oracle;
mod traffic;

use aqmlab_aqm::{Ecn, LinkContext, Packet};
use aqmlab_units::{BitRate, Bytes, Stream};

/// 100 Mbit/s Ethernet: a full packet takes 123 us.
fn link() -> LinkContext {
    LinkContext { rate: BitRate::from_mbit_per_sec(100), overhead: Bytes::new(38) }
}

fn rng() -> Stream {
    Stream::named(1, "law")
}

fn packet(size: u64, ecn: Ecn) -> Packet {
    Packet { size: Bytes::new(size), ecn, flow: 0 }
}
