//! Options: what a SYN offers, what both ends agree on, and what later segments carry.

use aqmlab_units::Time;

use super::{Modern, Scale, Scaling};
use crate::congestion::CongestionControl;
use crate::core::Core;
use crate::ecn::byte_counts;
use crate::options::{HeaderOptions, Options, SynOptions, TIMESTAMPS_LEN, Timestamps, timestamp};
use crate::{Profile, Segment};

/// What both ends of a connection can do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Negotiated {
    /// The lesser of both maximum segment sizes, without options.
    pub(super) mss: u16,
    pub(super) sack: bool,
    pub(super) timestamps: bool,
}

/// Bytes of options that a header has room for.
const MAX_OPTIONS: u16 = 40;

impl Negotiated {
    pub(super) fn nothing(profile: &Profile) -> Negotiated {
        Negotiated { mss: profile.mss, sack: false, timestamps: false }
    }
}

impl<C: CongestionControl> Modern<C> {
    /// RFC 2018 §2, RFC 7323 §2.2 and §3.2: a SYN offers what the profile has, a SYN/ACK what the SYN has offered too.
    pub(super) fn offered(&self, core: &Core, now: Time, profile: &Profile) -> Options {
        let answers = core.answers();
        let (sack, timestamps) = if answers {
            (self.negotiated.sack, self.negotiated.timestamps)
        } else {
            (profile.sack, profile.timestamps)
        };
        let syn = SynOptions {
            mss: profile.mss,
            sack_permitted: sack,
            window_scale: self.classic.scaling.offer(answers, profile),
        };
        // RFC 9768 §3.2.3.2.1-3.2.3.2.2: not on a SYN, nor on a SYN/ACK sent again, lest the path drop it for that.
        let counts =
            answers && profile.accecn_option && core.ecn.is_accurate() && core.recovery.syn_retransmits == 0;
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

    /// What the peer's SYN or SYN/ACK offers and this end has is agreed on. An end that has Accurate ECN's option uses it
    /// once it has seen the peer's: on the SYN/ACK, and on the acknowledgement of that.
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
        self.classic.scaling = Scale::negotiated(offer.window_scale, profile);
        core.snd_wnd = self.classic.scaling.field_of_syn(segment.window);
        self.receiver.ts_recent = timestamps.map_or(0, |timestamps| timestamps.value);
        self.receiver.last_ack_sent = core.rcv_nxt;
    }

    /// What leaves with an acknowledgement.
    #[inline(always)]
    pub(super) fn fill_in_options(&mut self, core: &Core, segment: &mut Segment<Options>, now: Time) {
        self.receiver.last_ack_sent = core.rcv_nxt;
        if self.negotiated.timestamps {
            let echo = self.receiver.ts_recent;
            segment.options = segment.options.with_timestamps(Timestamps { value: timestamp(now), echo });
        }
        if self.receiver.ecn_counts.is_negotiated || self.has_ranges() {
            self.report(core, segment, now);
        }
    }

    /// What there is to tell of what has come. Blocks that find no room beside data are left out, and Accurate ECN's
    /// counters that find none beside the blocks (RFC 9768 §3.2.3.3).
    #[inline(never)]
    fn report(&mut self, core: &Core, segment: &mut Segment<Options>, now: Time) {
        let Segment { len, options, .. } = segment;
        let room = if *len == 0 { MAX_OPTIONS } else { (self.negotiated.mss - *len).min(MAX_OPTIONS) };
        if self.has_ranges() {
            let most = usize::from(room.saturating_sub(options.len() + 4) / 8);
            *options = self.receiver.reports.report(&core.reassembly, most, *options);
        }
        let room = room.saturating_sub(options.len());
        if let Some(counters) = self.receiver.ecn_counts.next_option(*len > 0, room, now, core.rtt.srtt()) {
            *options = options.with_accecn(counters);
        }
    }

    /// The most data that a new segment may hold beside the options it will have.
    pub(super) fn room_for_data(&self) -> u16 {
        let timestamps = if self.negotiated.timestamps { TIMESTAMPS_LEN } else { 0 };
        let counters = if self.receiver.ecn_counts.has_news() { byte_counts::FULL_LEN } else { 0 };
        if self.has_ranges() {
            self.negotiated.mss - MAX_OPTIONS
        } else {
            self.negotiated.mss - timestamps - counters
        }
    }

    /// Are there SACK blocks to send?
    fn has_ranges(&self) -> bool {
        self.negotiated.sack && !self.receiver.reports.is_empty()
    }
}
