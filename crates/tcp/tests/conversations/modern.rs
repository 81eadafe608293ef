//! Conversations with modern endpoints only.

mod accecn;
mod frto;
mod marks;
mod options;
mod packets;
mod probe;
mod rack;
mod receiver;
mod recovery;
mod undo;
mod window_use;

use aqmlab_tcp::options::{SynOptions, Timestamps};
use aqmlab_tcp::{ClassicReno, Full, Options, Profile, Segment, Seq};

use crate::script::*;

type Conversation<C = ClassicReno> = Script<Full<C>>;

/// [`wide`] with SACK and an RTO that stays out of the way.
fn selective() -> Profile {
    Profile { sack: true, ack_every: 1, ..wide() }
}

/// [`wide`] on a modern endpoint, of which nothing else shows at a sender.
fn without_sack() -> Profile {
    Profile { quick_acks: 1, ..wide() }
}

/// A SYN or SYN/ACK that permits SACK.
fn permitting(segment: Segment) -> Segment<Options> {
    offering(segment, SynOptions { mss: MSS, sack_permitted: true, window_scale: None })
}

fn offering(segment: Segment, syn: SynOptions) -> Segment<Options> {
    with(segment, Options::default().with_syn(syn))
}

fn with(segment: Segment, options: Options) -> Segment<Options> {
    let Segment { seq, ack, len, window, flags, .. } = segment;
    Segment { seq, ack, len, window, flags, options }
}

/// With `segment` the peer names the full-sized segments `first..=last` of each pair.
fn sack<const N: usize>(segment: Segment, blocks: [(u32, u32); N]) -> Segment<Options> {
    sack_bytes(segment, blocks.map(|(first, last)| (after(first - 1), after(last))))
}

fn sack_bytes<const N: usize>(segment: Segment, blocks: [(u32, u32); N]) -> Segment<Options> {
    let report = blocks.into_iter().fold(Options::default(), |options, (from, to)| {
        options.with_sack_block(Seq::new(from), Seq::new(to))
    });
    with(segment, report)
}

fn stamped(segment: Segment, value: u32, echo: u32) -> Segment<Options> {
    with(segment, Options::default().with_timestamps(Timestamps { value, echo }))
}

/// A client that has agreed on SACK and been open since [`OPENED`].
fn client(profile: Profile) -> Conversation {
    let mut tcp = Conversation::connect(profile);
    tcp.sends_with([permitting(syn())]).at(OPENED).gets(permitting(syn_ack())).sends([ack(1)]);
    tcp
}

/// The same with the segments 1 to 10 in flight and forty more to send.
fn ten_in_flight(profile: Profile) -> Conversation {
    let mut tcp = client(profile);
    tcp.writes(50_000).sends((1..=10).map(full));
    tcp
}
