//! Random TCP segments of the oracle: acknowledgements that replace each other, or almost do.

use aqmlab_aqm::TcpHeader;
use aqmlab_units::Stream;

/// The bytes of headers without options.
const IP_HEADER: usize = 20;
const TCP_HEADER: usize = 20;

/// The bytes of a full segment.
const SEGMENT: u32 = 1448;

/// The most bytes of data.
const MOST_DATA: u64 = 200;

/// The sizes of most segments.
pub(crate) const SIZES: (usize, usize) = (IP_HEADER + TCP_HEADER, IP_HEADER + 60);

/// A segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) header: TcpHeader,
    /// Bytes of data.
    data: usize,
}

/// The flows of a pattern, as receivers of data.
pub(crate) struct Flows {
    receivers: Vec<Receiver>,
    has_timestamps: bool,
    rng: Stream,
}

/// The state of a receiver, in which its next segment differs from the one before.
#[derive(Clone, Copy, Debug, Default)]
struct Receiver {
    ack: u32,
    /// The data above `ack` that it has.
    block: Option<(u32, u32)>,
    echoes: bool,
    timestamps: (u32, u32),
}

impl Flows {
    pub(crate) fn new(seed: u64, pattern: u64, flows: u32) -> Flows {
        let mut rng = Stream::numbered(Stream::key(seed, "oracle segments"), pattern);
        // Numbers that wrap soon.
        let mut receiver = || Receiver {
            ack: u32::MAX - 100 * SEGMENT,
            timestamps: (u32::MAX - 50, below(&mut rng, 1000)),
            ..Receiver::default()
        };
        let receivers = (0..flows).map(|_| receiver()).collect();
        Flows { receivers, has_timestamps: rng.uniform() < 0.5, rng }
    }

    /// Returns the next segment of a flow; `None` for a packet that is none.
    pub(crate) fn next(&mut self, flow: u32) -> Option<Segment> {
        let Flows { receivers, has_timestamps, rng } = self;
        let mut is = |probability: f64| rng.uniform() < probability;
        if is(0.05) {
            return None;
        }
        let receiver = &mut receivers[flow as usize];
        receiver.echoes ^= is(0.05);
        let rare = [
            (TcpHeader::FIN, 0.005),
            (TcpHeader::SYN, 0.005),
            (TcpHeader::RST, 0.005),
            (TcpHeader::PSH, 0.02),
            (TcpHeader::CWR, 0.03),
            (TcpHeader::AE, 0.02),
        ];
        let rare: u16 = rare.iter().filter(|&&(_, probability)| is(probability)).map(|(bit, _)| bit).sum();
        let ece = if receiver.echoes { TcpHeader::ECE } else { 0 };
        let has_ack = if is(0.01) { 0 } else { TcpHeader::ACK };
        let (has_data, has_other_options, is_late) = (is(0.05), is(0.02), is(0.03));
        receiver.advance(rng);
        let header = TcpHeader {
            // A late segment is older than the one before.
            ack: receiver.ack.wrapping_sub(if is_late { 2 * SEGMENT } else { 0 }),
            flags: has_ack | ece | rare,
            has_data,
            has_other_options,
            timestamps: has_timestamps
                .then_some((receiver.timestamps.0.wrapping_sub(u32::from(is_late)), receiver.timestamps.1)),
            sack: receiver.blocks(rng).into_iter().take(if has_other_options { 1 } else { 3 }).collect(),
        };
        let data = if has_data { 1 + below(rng, MOST_DATA) as usize } else { 0 };
        Some(Segment { header, data })
    }
}

impl Receiver {
    /// Data or time pass.
    fn advance(&mut self, rng: &mut Stream) {
        if rng.uniform() < 0.8 {
            self.ack = self.ack.wrapping_add(SEGMENT * below(rng, 3));
        }
        self.timestamps.0 = self.timestamps.0.wrapping_add(below(rng, 2));
        self.timestamps.1 = self.timestamps.1.wrapping_add(below(rng, 2));
        self.block = match self.block {
            Some((from, to)) if rng.uniform() < 0.7 => Some((from, to.wrapping_add(SEGMENT * below(rng, 3)))),
            _ if rng.uniform() < 0.15 => {
                let from = self.ack.wrapping_add(SEGMENT * (1 + below(rng, 9)));
                Some((from, from.wrapping_add(SEGMENT)))
            }
            _ => None,
        };
    }

    /// Returns the ranges that it reports: a duplicate, its block, and one before that.
    fn blocks(&self, rng: &mut Stream) -> Vec<(u32, u32)> {
        let duplicate = (self.ack.wrapping_sub(SEGMENT), self.ack);
        let has_duplicate = rng.uniform() < 0.02;
        let has_second = rng.uniform() < 0.5;
        let second =
            |(from, _): (u32, u32)| (from.wrapping_add(99 * SEGMENT), from.wrapping_add(100 * SEGMENT));
        let mut blocks: Vec<(u32, u32)> = has_duplicate.then_some(duplicate).into_iter().collect();
        blocks.extend(self.block);
        blocks.extend(self.block.filter(|_| has_second).map(second));
        blocks
    }
}

fn below(rng: &mut Stream, bound: u64) -> u32 {
    u32::try_from(rng.below(bound)).expect("a small bound")
}

/// The kinds of options, and their lengths.
const NO_OPERATION: u8 = 1;
const SACK: u8 = 5;
const TIMESTAMPS: [u8; 2] = [8, 10];
const ACC_ECN_0: [u8; 2] = [172, 11];

impl Segment {
    /// Returns the length of its packet.
    pub(crate) fn size(&self) -> usize {
        IP_HEADER + TCP_HEADER + self.options().len() + self.data
    }

    /// Writes its TCP header behind an IP header.
    pub(crate) fn write(&self, packet: &mut [u8]) {
        let (options, header) = (self.options(), self.header);
        packet[9] = 6;
        let tcp = &mut packet[IP_HEADER..];
        tcp[8..12].copy_from_slice(&header.ack.to_be_bytes());
        let offset = u16::try_from((TCP_HEADER + options.len()) / 4).expect("at most 15 words");
        tcp[12..14].copy_from_slice(&(offset << 12 | header.flags).to_be_bytes());
        tcp[TCP_HEADER..TCP_HEADER + options.len()].copy_from_slice(&options);
    }

    /// Returns its options in wire format, padded.
    fn options(&self) -> Vec<u8> {
        let TcpHeader { timestamps, sack, has_other_options, .. } = self.header;
        let mut options = Vec::new();
        if let Some((value, echo)) = timestamps {
            options.extend(
                [&[NO_OPERATION; 2], &TIMESTAMPS[..], &value.to_be_bytes(), &echo.to_be_bytes()].concat(),
            );
        }
        if !sack.blocks().is_empty() {
            let length = u8::try_from(2 + 8 * sack.blocks().len()).expect("at most four blocks");
            options.extend([NO_OPERATION, NO_OPERATION, SACK, length]);
            options.extend(
                sack.blocks().iter().flat_map(|(from, to)| [from.to_be_bytes(), to.to_be_bytes()].concat()),
            );
        }
        if has_other_options {
            options.extend(ACC_ECN_0);
            options.extend([0; 9]);
        }
        options.resize(options.len().next_multiple_of(4), NO_OPERATION);
        options
    }
}
