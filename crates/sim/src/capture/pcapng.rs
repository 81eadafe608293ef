//! The four blocks of a pcapng file that a capture needs: section header, interface, enhanced packet, statistics.
//!
//! Source: draft-ietf-opsawg-pcapng, sections 3.1 (blocks), 3.5 (options), 4.1 to 4.3 and 4.6. Always
//! little-endian, so that one run gives one file on every machine.

use aqmlab_units::{BitRate, Time};

/// Raw IP: packets begin with their IP header (`LINKTYPE_RAW` of the registry of link types).
const LINKTYPE_RAW: u16 = 101;

const OPT_COMMENT: u16 = 1;
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_SPEED: u16 = 8;
const IF_TSRESOL: u16 = 9;
const ISB_ENDTIME: u16 = 3;

/// Time stamps count 10^-9 seconds.
const NANOSECONDS: u8 = 9;

/// Write the section header, the first block of the file. The length of the section is not known yet.
pub(super) fn section(out: &mut Vec<u8>) {
    block(out, 0x0A0D_0D0A, |body| {
        body.extend(0x1A2B_3C4D_u32.to_le_bytes());
        // Version 1.0.
        body.extend(1_u16.to_le_bytes());
        body.extend(0_u16.to_le_bytes());
        body.extend((-1_i64).to_le_bytes());
        option(body, SHB_USERAPPL, b"aqmlab");
        end_of_options(body);
    });
}

/// Write an interface; packets refer to it by its index in the file.
pub(super) fn interface(out: &mut Vec<u8>, name: &str, speed: BitRate, most_stored: u32) {
    block(out, 1, |body| {
        body.extend(LINKTYPE_RAW.to_le_bytes());
        body.extend([0; 2]);
        body.extend(most_stored.to_le_bytes());
        option(body, IF_NAME, name.as_bytes());
        option(body, IF_SPEED, &speed.bits_per_sec().to_le_bytes());
        option(body, IF_TSRESOL, &[NANOSECONDS]);
        end_of_options(body);
    });
}

/// Content of an enhanced packet block.
pub(super) struct PacketBlock<'a> {
    pub(super) interface: u32,
    pub(super) time: Time,
    /// The stored bytes, from the first of the IP header.
    pub(super) stored: &'a [u8],
    /// Length of the packet on the link.
    pub(super) length: u32,
    pub(super) comment: &'a str,
}

impl PacketBlock<'_> {
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let stored = u32::try_from(self.stored.len()).expect("headers are 80 bytes at most");
        block(out, 6, |body| {
            body.extend(self.interface.to_le_bytes());
            body.extend(halves(self.time));
            body.extend([stored, self.length].iter().flat_map(|length| length.to_le_bytes()));
            padded(body, self.stored);
            option(body, OPT_COMMENT, self.comment.as_bytes());
            end_of_options(body);
        });
    }
}

/// Write the statistics of an interface whose capture ended at `end`.
pub(super) fn statistics(out: &mut Vec<u8>, interface: u32, end: Time, comment: &str) {
    block(out, 5, |body| {
        body.extend(interface.to_le_bytes());
        body.extend(halves(end));
        option(body, OPT_COMMENT, comment.as_bytes());
        option(body, ISB_ENDTIME, &halves(end));
        end_of_options(body);
    });
}

/// Return a time stamp: its upper half, then its lower.
#[expect(clippy::cast_possible_truncation, reason = "the halves of a number")]
fn halves(time: Time) -> [u8; 8] {
    let nanos = time.as_nanos();
    let [upper, lower] = [(nanos >> 32) as u32, nanos as u32].map(u32::to_le_bytes);
    std::array::from_fn(|byte| if byte < 4 { upper[byte] } else { lower[byte - 4] })
}

/// Write a block with its length before and after its body.
fn block(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend(kind.to_le_bytes());
    out.extend([0; 4]);
    body(out);
    let length = u32::try_from(out.len() + 4 - start).expect("a block holds headers and a short text");
    out[start + 4..start + 8].copy_from_slice(&length.to_le_bytes());
    out.extend(length.to_le_bytes());
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    let length = u16::try_from(value.len()).expect("a name or a line of text");
    body.extend(code.to_le_bytes());
    body.extend(length.to_le_bytes());
    padded(body, value);
}

fn end_of_options(body: &mut Vec<u8>) {
    body.extend([0; 4]);
}

/// Append `bytes`, padded to a multiple of four.
fn padded(body: &mut Vec<u8>, bytes: &[u8]) {
    body.extend(bytes);
    body.resize(body.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Return the blocks of a file as (kind, body), after a check of their structure.
    fn blocks(mut file: &[u8]) -> Vec<(u32, &[u8])> {
        let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
        let mut blocks = Vec::new();
        while !file.is_empty() {
            let length = word(&file[4..8]);
            let (block, rest) = file.split_at(length as usize);
            assert_eq!(length % 4, 0);
            assert_eq!(word(&block[block.len() - 4..]), length, "the length is at both ends");
            blocks.push((word(&block[..4]), &block[8..block.len() - 4]));
            file = rest;
        }
        blocks
    }

    #[test]
    fn each_block_has_its_length_at_both_ends() {
        let mut file = Vec::new();
        section(&mut file);
        interface(&mut file, "direction 0", BitRate::from_mbit_per_sec(100), 80);
        for length in 0..9 {
            let (stored, comment) = (vec![7; length], "x".repeat(9 - length));
            let packet = PacketBlock {
                interface: 0,
                time: Time::from_nanos(1),
                stored: &stored,
                length: 1500,
                comment: &comment,
            };
            packet.write(&mut file);
        }
        let kinds: Vec<u32> = blocks(&file).iter().map(|&(kind, _)| kind).collect();
        assert_eq!(kinds[..2], [0x0A0D_0D0A, 1]);
        assert_eq!(kinds[2..], [6; 9]);
    }

    #[test]
    fn a_packet_has_the_layout_of_the_draft() {
        let mut file = Vec::new();
        let time = Time::from_nanos((7 << 32) + 9);
        PacketBlock { interface: 1, time, stored: &[1, 2, 3, 4, 5], length: 60, comment: "dropped" }
            .write(&mut file);
        let (_, body) = blocks(&file)[0];
        let numbers: Vec<u32> =
            body[..20].chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
        assert_eq!(numbers, [1, 7, 9, 5, 60]);
        assert_eq!(body[20..28], [1, 2, 3, 4, 5, 0, 0, 0]);
        assert_eq!(body[28..32], [1, 0, 7, 0], "a comment of seven bytes");
        assert_eq!(&body[32..40], b"dropped\0");
        assert_eq!(body[40..], [0; 4], "the end of the options");
    }
}
