//! The receiver of a video call: it puts frames together, asks for what is missing, and reports congestion.
//!
//! A frame is predicted from the one before, so that it is shown only after that one; a key frame needs none before it.

use std::collections::{BTreeMap, VecDeque};

use aqmlab_units::{Bytes, Duration, Time};

use super::nada::{CongestionMeter, CongestionReport, DELTA, Sample};
use super::sender::Frame;
use crate::sources::quality::Screen;

/// The receiver asks for a missing packet for this long, and then for a key frame, each time a round-trip time and this long
/// after the last. Source: ours.
const PATIENCE: Duration = Duration::from_millis(500);
/// The least time between two requests for a packet, where the round-trip time is shorter. Source: ours.
const LEAST_RETRY: Duration = Duration::from_millis(20);
/// UDP and IPv4.
const BELOW_RTCP: u64 = 8 + 20;
/// Header of an RTCP feedback message (RFC 4585, section 6.1).
const FEEDBACK_HEADER: u64 = 12;
/// The fields of NADA (RFC 8698, section 5.3): 6 bytes, in words of 4.
const NADA_FIELDS: u64 = 8;
/// A request for a packet and any of the 16 after it (RFC 4585, section 6.2.1).
const REQUEST: u64 = 4;
const REQUESTED: u64 = 17;

/// An RTCP packet.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Report {
    pub(super) congestion: Option<CongestionReport>,
    /// The time at which the latest packet was sent.
    pub(super) latest_sent: Time,
    /// The time since it arrived.
    pub(super) held: Duration,
    /// Packets to send again.
    pub(super) missing: Vec<u64>,
    pub(super) wants_key_frame: bool,
}

impl Report {
    /// Its size, headers included, in RTCP of reduced size (RFC 5506).
    pub(super) fn size(&self) -> Bytes {
        let nada = self.congestion.map_or(0, |_| FEEDBACK_HEADER + NADA_FIELDS);
        let (mut requests, mut covered) = (0, None);
        for &media in &self.missing {
            if covered.is_none_or(|until| media >= until) {
                (requests, covered) = (requests + 1, Some(media + REQUESTED));
            }
        }
        let nack = if requests > 0 { FEEDBACK_HEADER + REQUEST * requests } else { 0 };
        let picture_loss = if self.wants_key_frame { FEEDBACK_HEADER } else { 0 };
        Bytes::new(BELOW_RTCP + nada + nack + picture_loss)
    }
}

/// A packet of media that has arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) sample: Sample,
    pub(super) sent_at: Time,
    pub(super) media: u64,
    /// Its frame, unless that has been shown or given up.
    pub(super) frame: Option<Frame>,
}

/// A packet that was sent, and has not arrived.
#[derive(Clone, Copy, Debug)]
struct Missing {
    since: Time,
    requested: Option<Time>,
}

/// The receiver at one end of a call.
#[derive(Debug)]
pub(super) struct MediaReceiver {
    meter: CongestionMeter,
    screen: Screen,
    /// The frame to decode next.
    next: u64,
    /// From that one on: frames of which a packet has arrived, and how many packets of each.
    frames: VecDeque<Option<(Frame, u64)>>,
    /// The number of the media packet after the highest that has arrived.
    expected: u64,
    missing: BTreeMap<u64, Missing>,
    /// The latest packet: when it was sent, and when it arrived.
    latest: Option<(Time, Time)>,
    next_report: Time,
    /// Packets have been found missing since the last report.
    has_news: bool,
    asked_for_key_frame: Option<Time>,
}

impl MediaReceiver {
    /// A receiver whose first report is due at `first_report`.
    pub(super) fn new(screen: Screen, first_report: Time) -> MediaReceiver {
        MediaReceiver {
            meter: CongestionMeter::default(),
            screen,
            next: 0,
            frames: VecDeque::new(),
            expected: 0,
            missing: BTreeMap::new(),
            latest: None,
            next_report: first_report,
            has_news: false,
            asked_for_key_frame: None,
        }
    }

    pub(super) fn next_report(&self) -> Time {
        self.next_report
    }

    pub(super) fn screen(&self) -> &Screen {
        &self.screen
    }

    pub(super) fn screen_mut(&mut self) -> &mut Screen {
        &mut self.screen
    }

    /// The frame to decode next, and all after it, are not yet shown.
    pub(super) fn next_frame(&self) -> u64 {
        self.next
    }

    /// A packet of media has arrived; packets are in order of arrival.
    pub(super) fn receive(&mut self, arrival: &Arrival) {
        let Arrival { sample, sent_at, media, frame } = *arrival;
        let now = sample.arrived;
        self.meter.add(sample);
        self.latest = Some((sent_at, now));
        if media >= self.expected {
            let found = self.expected..media;
            self.has_news |= !found.is_empty();
            self.missing.extend(found.map(|media| (media, Missing { since: now, requested: None })));
            self.expected = media + 1;
        } else if self.missing.remove(&media).is_none() {
            return;
        }
        let Some(frame) = frame.filter(|frame| frame.number >= self.next) else { return };
        let place = usize::try_from(frame.number - self.next).expect("frames in flight are few");
        if self.frames.len() <= place {
            self.frames.resize(place + 1, None);
        }
        let (_, packets) = self.frames[place].get_or_insert((frame, 0));
        *packets += 1;
        if *packets == frame.packets {
            self.decode(now);
        }
    }

    /// Show the frames that can be decoded at `now`.
    fn decode(&mut self, now: Time) {
        loop {
            if let Some((frame, _)) = self.frames.front().copied().and_then(complete) {
                self.screen.show(frame.captured, now, frame.size);
                self.frames.pop_front();
                self.next = frame.number + 1;
                continue;
            }
            // A key frame needs nothing of the frames before it.
            let mut complete_frames = self.frames.iter().copied().filter_map(complete);
            let Some((key, _)) = complete_frames.rfind(|(frame, _)| frame.is_key) else { break };
            while self.next < key.number {
                self.frames.pop_front();
                self.next += 1;
            }
            self.missing = self.missing.split_off(&key.first);
        }
    }

    /// Return the report that is due at `now`, if one is: each DELTA, and at once where packets are found missing.
    pub(super) fn report(&mut self, rtt: Duration, now: Time) -> Option<Report> {
        let is_regular = self.next_report <= now;
        if is_regular {
            self.next_report += DELTA;
        }
        let (latest_sent, arrived) = self.latest?;
        if !is_regular && !self.has_news {
            return None;
        }
        self.has_news = false;
        let retry = rtt.max(LEAST_RETRY);
        let mut missing = Vec::new();
        for (&media, packet) in &mut self.missing {
            let is_hopeless = packet.since + PATIENCE <= now;
            if !is_hopeless && packet.requested.is_none_or(|requested| requested + retry <= now) {
                packet.requested = Some(now);
                missing.push(media);
            }
        }
        let is_stuck =
            self.missing.first_key_value().is_some_and(|(_, packet)| packet.since + PATIENCE <= now);
        let wants_key_frame =
            is_stuck && self.asked_for_key_frame.is_none_or(|asked| asked + rtt + PATIENCE <= now);
        if wants_key_frame {
            self.asked_for_key_frame = Some(now);
        }
        let congestion = if is_regular { self.meter.report(now) } else { None };
        Some(Report { congestion, latest_sent, held: now - arrived, missing, wants_key_frame })
    }
}

/// The frame, if all of its packets have arrived.
fn complete(frame: Option<(Frame, u64)>) -> Option<(Frame, u64)> {
    frame.filter(|(frame, packets)| frame.packets == *packets)
}
