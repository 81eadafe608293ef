//! Options: those of SYNs, those negotiated, and those of later segments.

use aqmlab_units::Time;

use super::{Modern, Scale, Scaling};
use crate::congestion::CongestionControl;
use crate::core::Core;
use crate::ecn::byte_counts;
use crate::options::{HeaderOptions, Options, SynOptions, TIMESTAMPS_LEN, Timestamps, timestamp};
use crate::{Profile, Segment};

/// Options negotiated by both ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Negotiated {
    /// The smaller of both maximum segment sizes, without options.
    pub(super) mss: u16,
    pub(super) sack: bool,
    pub(super) timestamps: bool,
}

/// Bytes of options that fit a header.
const MAX_OPTIONS: u16 = 40;

impl Negotiated {
    pub(super) fn none(profile: &Profile) -> Negotiated {
        Negotiated { mss: profile.mss, sack: false, timestamps: false }
    }
}

impl<C: CongestionControl> Modern<C> {
    /// Return the options of a SYN or SYN/ACK. A SYN offers the profile's, a SYN/ACK those that the SYN offered
    /// too (RFC 2018 §2, RFC 7323 §2.2 and §3.2).
    pub(super) fn handshake_options(&self, core: &Core, now: Time, profile: &Profile) -> Options {
        let is_responder = core.is_responder();
        let (sack, timestamps) = if is_responder {
            (self.negotiated.sack, self.negotiated.timestamps)
        } else {
            (profile.sack, profile.timestamps)
        };
        let syn = SynOptions {
            mss: profile.mss,
            sack_permitted: sack,
            window_scale: self.classic.scaling.offer(is_responder, profile),
        };
        // Not on a SYN or a retransmitted SYN/ACK: the path may drop them for it (RFC 9768 §3.2.3.2.1-3.2.3.2.2).
        let counts = is_responder
            && profile.accecn_option
            && core.ecn.is_accurate()
            && core.recovery.syn_retransmits == 0;
        let mut options = Options::default().with_syn(syn);
        if timestamps {
            let echo = self.receiver.ts_recent;
            options = options.with_timestamps(Timestamps { value: timestamp(now), echo });
        }
        if counts {
            options = options.with_accecn(self.receiver.ecn_counts.full());
        }
        options
    }

    /// Negotiate the options that the peer's SYN or SYN/ACK offers and this end has. Accurate ECN's option is
    /// used once the peer has sent it: on the SYN/ACK, and on the acknowledgement of that.
    pub(super) fn negotiate_options(
        &mut self,
        core: &mut Core,
        segment: &Segment<Options>,
        profile: &Profile,
    ) {
        let options = &segment.options;
        self.receiver.ecn_counts.is_negotiated = profile.accecn_option && options.accecn().is_some();
        let Some(offer) = options.syn() else { return };
        let timestamps = options.timestamps().filter(|_| profile.timestamps);
        self.negotiated = Negotiated {
            mss: if self.is_classic { profile.mss } else { profile.mss.min(offer.mss) },
            sack: profile.sack && offer.sack_permitted,
            timestamps: timestamps.is_some(),
        };
        self.classic.scaling = Scale::negotiate(offer.window_scale, profile);
        self.update_window_field(profile);
        core.snd_wnd = self.classic.scaling.field_from_syn(segment.window);
        self.receiver.ts_recent = timestamps.map_or(0, |timestamps| timestamps.value);
        self.receiver.last_ack_sent = core.rcv_nxt;
    }

    /// Add the options of a segment after the handshake.
    #[inline(always)]
    pub(super) fn fill_in_options(&mut self, core: &Core, segment: &mut Segment<Options>, now: Time) {
        self.receiver.note_acknowledged(core.rcv_nxt);
        if self.negotiated.timestamps {
            let echo = self.receiver.ts_recent;
            segment.options = segment.options.with_timestamps(Timestamps { value: timestamp(now), echo });
        }
        if self.receiver.ecn_counts.is_negotiated || self.has_ranges() {
            self.report(core, segment, now);
        }
    }

    /// Add SACK blocks and Accurate ECN's counters. Blocks that do not fit with the data are left out, and
    /// counters that do not fit with the blocks (RFC 9768 §3.2.3.3).
    #[inline(never)]
    fn report(&mut self, core: &Core, segment: &mut Segment<Options>, now: Time) {
        let Segment { len, options, .. } = segment;
        let room = if *len == 0 { MAX_OPTIONS } else { (self.negotiated.mss - *len).min(MAX_OPTIONS) };
        if self.has_ranges() {
            let max_blocks = usize::from(room.saturating_sub(options.len() + 4) / 8);
            *options = self.receiver.reports.report(&core.reassembly, max_blocks, *options);
        }
        let room = room.saturating_sub(options.len());
        if let Some(counters) = self.receiver.ecn_counts.next_option(*len > 0, room, now, core.rtt.srtt()) {
            *options = options.with_accecn(counters);
        }
    }

    /// The maximum data of a new segment, given its options.
    pub(super) fn room_for_data(&self) -> u16 {
        let timestamps = if self.negotiated.timestamps { TIMESTAMPS_LEN } else { 0 };
        let counters = if self.receiver.ecn_counts.has_unreported() { byte_counts::FULL_LEN } else { 0 };
        if self.has_ranges() {
            self.negotiated.mss - MAX_OPTIONS
        } else {
            self.negotiated.mss - timestamps - counters
        }
    }

    /// True if there are SACK blocks to send.
    fn has_ranges(&self) -> bool {
        self.negotiated.sack && !self.receiver.reports.is_empty()
    }
}
