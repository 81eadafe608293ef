//! Packets in flight that elicit an acknowledgement, and the frames in them.

use std::collections::VecDeque;
use std::ops::Range;

use aqmlab_units::Time;

use super::wire::Frame;

/// A packet that elicits an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentPacket {
    pub(super) number: u32,
    /// Its number among all tracked packets of the connection.
    pub(super) tracked: u32,
    pub(super) sent_at: Time,
    /// Bytes delivered when it was sent.
    pub(super) delivered: u64,
    /// The largest number that it acknowledges.
    pub(super) acks: Option<u32>,
    pub(super) size: u16,
    pub(super) is_ect: bool,
    /// False once it is acknowledged or lost.
    pub(super) is_outstanding: bool,
}

/// The packets in the order of their numbers, from the first outstanding one on.
#[derive(Debug, Default)]
pub(super) struct SentPackets {
    /// With the end of each packet's frames, counted from the first frame ever.
    packets: VecDeque<(SentPacket, u32)>,
    /// The frames of these packets, one packet after the other. Most have one, so that lists of the most would be long.
    frames: VecDeque<Frame>,
    /// Frames ever, and those of them before `frames`.
    frames_sent: u32,
    frames_gone: u32,
}

impl SentPackets {
    pub(super) fn push(&mut self, packet: SentPacket, frames: impl Iterator<Item = Frame>) {
        for frame in frames {
            self.frames.push_back(frame);
            self.frames_sent = self.frames_sent.wrapping_add(1);
        }
        self.packets.push_back((packet, self.frames_sent));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &SentPacket> {
        self.packets.iter().map(|(packet, _)| packet)
    }

    /// The packet in a place.
    pub(super) fn get_mut(&mut self, place: usize) -> &mut SentPacket {
        &mut self.packets[place].0
    }

    /// The frames of the packet in a place.
    pub(super) fn frames(&self, place: usize) -> impl Iterator<Item = Frame> {
        let index = |end: u32| end.wrapping_sub(self.frames_gone) as usize;
        let start = place.checked_sub(1).map_or(0, |before| index(self.packets[before].1));
        self.frames.range(start..index(self.packets[place].1)).copied()
    }

    /// The places of the packets numbered `from..to`.
    pub(super) fn places(&self, from: u32, to: u32) -> Range<usize> {
        self.place(from)..self.place(to)
    }

    /// The place of the first packet with this number or a higher one.
    fn place(&self, number: u32) -> usize {
        let Some((front, _)) = self.packets.front() else { return 0 };
        // Nearly always all packets since the first elicit an acknowledgement.
        let place = number.saturating_sub(front.number) as usize;
        match place.checked_sub(1) {
            None => 0,
            Some(before)
                if self.packets.get(before).is_some_and(|(packet, _)| packet.number + 1 == number) =>
            {
                place
            }
            Some(_) => self.packets.partition_point(|(packet, _)| packet.number < number),
        }
    }

    /// Drop settled packets from the front.
    pub(super) fn trim(&mut self) {
        while let Some((_, end)) = self.packets.pop_front_if(|(packet, _)| !packet.is_outstanding) {
            self.frames.drain(..end.wrapping_sub(self.frames_gone) as usize);
            self.frames_gone = end;
        }
    }

    /// Drop all packets. Returns the outstanding ones.
    pub(super) fn clear(&mut self) -> impl Iterator<Item = SentPacket> {
        self.frames.clear();
        self.frames_gone = self.frames_sent;
        self.packets.drain(..).map(|(packet, _)| packet).filter(|packet| packet.is_outstanding)
    }

    /// Return the number of packets below which all are tracked no more.
    pub(super) fn first_tracked(&self) -> Option<u32> {
        self.packets.front().map(|(packet, _)| packet.tracked)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn packet(number: u32) -> SentPacket {
        SentPacket {
            number,
            tracked: number,
            sent_at: Time::ZERO,
            delivered: 0,
            acks: None,
            size: 0,
            is_ect: false,
            is_outstanding: true,
        }
    }

    fn frame(id: u32) -> Frame {
        Frame::Stream { id, offset: crate::Seq::ZERO, len: 0, fin: false }
    }

    proptest! {
        /// The packets that have not gone are at the places of their numbers and have their own frames.
        #[test]
        fn packets_keep_their_places_and_frames(
            steps in prop::collection::vec((1u32..3, 1u32..4, prop::collection::vec(0usize..9, 0..3)), 1..40),
        ) {
            let mut sent = SentPackets::default();
            let (mut model, mut number) = (Vec::new(), 0);
            for (gap, frames, settled) in steps {
                number += gap;
                sent.push(packet(number), (0..frames).map(|index| frame(10 * number + index)));
                model.push((number, frames, true));
                for place in settled {
                    let Some(one) = model.get_mut(place) else { continue };
                    one.2 = false;
                    sent.get_mut(place).is_outstanding = false;
                }
                sent.trim();
                let gone = model.iter().take_while(|(_, _, is_outstanding)| !is_outstanding).count();
                model.drain(..gone);
                prop_assert!(sent.iter().map(|packet| packet.number).eq(model.iter().map(|one| one.0)));
                for (place, &(number, frames, _)) in model.iter().enumerate() {
                    prop_assert!(sent.frames(place).eq((0..frames).map(|index| frame(10 * number + index))));
                }
                for (from, to) in (0..number + 3).flat_map(|from| (from..number + 3).map(move |to| (from, to))) {
                    let below = |bound| model.iter().filter(|one| one.0 < bound).count();
                    prop_assert_eq!(sent.places(from, to), below(from)..below(to));
                }
            }
        }
    }
}
