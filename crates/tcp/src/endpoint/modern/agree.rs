//! Options: what a SYN offers, what both ends agree on, and what later segments carry.

use aqmlab_units::Time;

use super::{Modern, ModernStack};
use crate::accecn;
use crate::endpoint::{Endpoint, Scale};
use crate::options::{HeaderOptions, Options, SynOptions, TIMESTAMPS_LEN, Timestamps, is_earlier, timestamp};
use crate::{Profile, Segment};

/// What both ends of a connection can do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Agreed {
    /// The lesser of both maximum segment sizes, without options.
    pub(super) mss: u16,
    pub(super) sack: bool,
    pub(super) timestamps: bool,
    pub(super) scale: Scale,
}

/// Bytes of options that a header has room for.
const MAX_OPTIONS: u16 = 40;

impl Agreed {
    pub(super) fn nothing(profile: &Profile) -> Agreed {
        Agreed { mss: profile.mss, sack: false, timestamps: false, scale: Scale::default() }
    }
}

impl<S: ModernStack> Endpoint<S> {
    /// RFC 2018 §2, RFC 7323 §2.2 and §3.2: a SYN offers what the profile has, a SYN/ACK what the SYN has offered too.
    pub(super) fn offer(&self, now: Time, profile: &Profile) -> Options {
        let this = &self.extension;
        let answers = self.answers();
        if this.is_classic {
            return Options::classic(profile.mss, this.agreed.scale.offer(answers, profile));
        }
        let (sack, timestamps) = if answers {
            (this.agreed.sack, this.agreed.timestamps)
        } else {
            (profile.sack, profile.timestamps)
        };
        let syn = SynOptions {
            mss: profile.mss,
            sack_permitted: sack,
            window_scale: this.agreed.scale.offer(answers, profile),
        };
        // RFC 9768 §3.2.3.2.1-3.2.3.2.2: not on a SYN, nor on a SYN/ACK sent again, lest the path drop it for that.
        let counts =
            answers && profile.accecn_option && self.has_accurate_ecn() && self.recovery.syn_retransmits == 0;
        let mut options = Options::default().with_syn(syn);
        if timestamps {
            options = options.with_timestamps(Timestamps { value: timestamp(now), echo: this.ts_recent });
        }
        if counts {
            options = options.with_accecn(this.ecn_counts.full());
        }
        options
    }

    /// An end that has the option uses it once it has seen the peer's: on the SYN/ACK, and on the acknowledgement of that.
    pub(super) fn note_option(&mut self, segment: &Segment<Options>, profile: &Profile) {
        self.extension.ecn_counts.speaks = profile.accecn_option && segment.options.accecn().is_some();
    }

    /// The peer's SYN or SYN/ACK: what it offers and this end has is agreed on.
    pub(super) fn agree(&mut self, syn: &Segment<Options>, profile: &Profile) {
        self.note_option(syn, profile);
        let Some(offer) = syn.options.syn() else { return };
        let this = &mut self.extension;
        let timestamps = syn.options.timestamps().filter(|_| profile.timestamps);
        this.agreed = Agreed {
            mss: if this.is_classic { profile.mss } else { profile.mss.min(offer.mss) },
            sack: profile.sack && offer.sack_permitted,
            timestamps: timestamps.is_some(),
            scale: Scale::agreed(offer.window_scale, profile),
        };
        self.snd_wnd = this.agreed.scale.field_of_syn(syn.window);
        this.ts_recent = timestamps.map_or(0, |timestamps| timestamps.value);
        this.last_ack_sent = self.rcv_nxt;
    }

    /// RFC 7323 §4.3: the timestamp to echo is that of the earliest segment not yet acknowledged, so that the sender's
    /// sample includes the wait of a held-back acknowledgement. Segments with timestamps from the past are not refused
    /// (PAWS, §5): sequence numbers do not come round within a segment's life here.
    pub(super) fn note_timestamp(&mut self, segment: &Segment<Options>) {
        let this = &mut self.extension;
        if let Some(Timestamps { value, .. }) = segment.options.timestamps()
            && segment.seq <= this.last_ack_sent
            && !is_earlier(value, this.ts_recent)
        {
            this.ts_recent = value;
        }
    }

    /// What leaves with an acknowledgement.
    #[inline(always)]
    pub(super) fn options(&mut self, len: u16, now: Time) -> Options {
        let this = &mut self.extension;
        this.last_ack_sent = self.rcv_nxt;
        let mut options = Options::default();
        if this.agreed.timestamps {
            options = options.with_timestamps(Timestamps { value: timestamp(now), echo: this.ts_recent });
        }
        if this.has_reports() { self.report(options, len, now) } else { options }
    }

    /// `options` with what there is to tell of what has come. Blocks that find no room beside data are left out, and
    /// Accurate ECN's counters that find none beside the blocks (RFC 9768 §3.2.3.3).
    #[inline(never)]
    fn report(&mut self, mut options: Options, len: u16, now: Time) -> Options {
        let srtt = self.rtt.srtt();
        let this = &mut self.extension;
        let room = if len == 0 { MAX_OPTIONS } else { (this.agreed.mss - len).min(MAX_OPTIONS) };
        if this.has_ranges() {
            let most = usize::from(room.saturating_sub(options.len() + 4) / 8);
            options = this.reporter.report(&self.reassembly, most, options);
        }
        match this.ecn_counts.tell(len > 0, room.saturating_sub(options.len()), now, srtt) {
            Some(counters) => options.with_accecn(counters),
            None => options,
        }
    }

    /// The most data that a new segment may hold beside the options it will have.
    pub(super) fn room_for_data(&self) -> u16 {
        let this = &self.extension;
        let timestamps = if this.agreed.timestamps { TIMESTAMPS_LEN } else { 0 };
        let counters = if this.ecn_counts.has_news() { accecn::FULL_LEN } else { 0 };
        if this.has_ranges() {
            this.agreed.mss - MAX_OPTIONS
        } else {
            this.agreed.mss - timestamps - counters
        }
    }
}

impl Modern {
    /// Are there SACK blocks to send?
    fn has_ranges(&self) -> bool {
        self.agreed.sack && !self.reporter.is_empty()
    }

    /// May there be something to tell the peer beside timestamps?
    fn has_reports(&self) -> bool {
        self.ecn_counts.speaks || self.has_ranges()
    }
}
