//! CAKE's filter of acknowledgements: one that a later one of its flow replaces is dropped, so that a slow uplink carries
//! fewer of them.
//!
//! Source: Høiland-Jørgensen, Täht and Morton, "Piece of CAKE", LANMAN 2018, section III-E; tc-cake(8), "ACK filter";
//! Linux `sch_cake.c`.

use std::collections::VecDeque;

use super::options::AckFilter;
use crate::TcpHeader;

/// The header of a waiting segment, and its flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowHeader {
    pub(crate) flow: u32,
    pub(crate) header: TcpHeader,
}

/// The headers of the packets in a queue, from its head; `None` for packets that are not of TCP.
pub(crate) type Headers = VecDeque<Option<FlowHeader>>;

/// The bits that tell the peer of congestion: an acknowledgement whose bits differ from its neighbour's carries news.
const ECN_BITS: u16 = TcpHeader::ECE | TcpHeader::CWR;

/// The selective acknowledgements of an older segment in view of a newer one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sack {
    /// The newer one lacks some of the older one's, or the older one reports a duplicate.
    Lost,
    /// Both report the same.
    Same,
    /// The newer one has all of the older one's and more.
    Extended,
}

/// True if the sequence number `a` is before `b`.
fn is_before(a: u32, b: u32) -> bool {
    a.wrapping_sub(b).cast_signed() < 0
}

fn compare_sack(older: &TcpHeader, newer: &TcpHeader) -> Sack {
    let bytes = |header: &TcpHeader| {
        let lengths = header.sack.blocks().iter().map(|(from, to)| to.wrapping_sub(*from));
        lengths.fold(0, u32::wrapping_add)
    };
    // A range below the acknowledgement is a duplicate (RFC 2883), which is reported once.
    let is_kept = |&(from, to): &(u32, u32)| {
        !is_before(from, older.ack)
            && newer.sack.blocks().iter().any(|&(start, end)| !is_before(from, start) && !is_before(end, to))
    };
    if !older.sack.blocks().iter().all(is_kept) {
        Sack::Lost
    } else if bytes(newer) > bytes(older) {
        Sack::Extended
    } else {
        Sack::Same
    }
}

/// True if the segment is a bare acknowledgement, whose options and timestamps the newer one renders superfluous.
fn is_bare(older: &TcpHeader, newer: &TcpHeader) -> bool {
    let (newer_value, newer_echo) = newer.timestamps.unwrap_or_default();
    let is_newer = |(value, echo): (u32, u32)| is_before(newer_value, value) || is_before(newer_echo, echo);
    older.flags & !ECN_BITS == TcpHeader::ACK
        && !older.has_data
        && !older.has_other_options
        && !older.timestamps.is_some_and(is_newer)
}

/// True if the newer segment tells its receiver all that the older one does.
fn replaces(newer: &TcpHeader, older: &TcpHeader) -> bool {
    if !is_bare(older, newer) || is_before(newer.ack, older.ack) {
        return false;
    }
    match compare_sack(older, newer) {
        Sack::Lost => false,
        // The same number again is a duplicate acknowledgement, which senders count.
        Sack::Same => newer.ack != older.ack,
        Sack::Extended => true,
    }
}

/// Return the place of the acknowledgement that the last packet of a queue replaces and that `filter` drops.
pub(crate) fn superfluous(filter: AckFilter, headers: &Headers) -> Option<usize> {
    let last = headers.len().checked_sub(1)?;
    let FlowHeader { flow, header: newer } = headers[last]?;
    if newer.flags & (TcpHeader::ACK | TcpHeader::SYN) != TcpHeader::ACK {
        return None;
    }
    let mut found: Option<(usize, u16)> = None;
    for (place, older) in headers.iter().enumerate().take(last) {
        let Some(FlowHeader { header: older, .. }) = older.filter(|older| older.flow == flow) else {
            continue;
        };
        let ecn_bits = older.flags & ECN_BITS;
        found = found.filter(|&(_, bits)| bits == ecn_bits);
        if replaces(&newer, &older) {
            if let Some((first, _)) = found {
                return Some(first);
            }
            found = Some((place, ecn_bits));
        }
    }
    // A single one: no other lies between the two, and the peer hears nothing else of congestion.
    let (place, bits) = found?;
    let is_alone =
        filter == AckFilter::AckFilterAggressive && place + 1 == last && bits == newer.flags & ECN_BITS;
    is_alone.then_some(place)
}
