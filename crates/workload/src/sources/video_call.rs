//! Video calls: frames in both directions over RTP, at the rate of NADA, and reports over RTCP.
//!
//! A party sends frames and receives those of the other. It acts at times of its own: it captures a frame, sends a packet
//! of the shaping buffer, or a report. The network says which packets arrive, or are lost; what arrives changes what a
//! party does after the rest of the path, half of the round-trip time.

mod encoder;
mod nada;
mod receiver;
mod sender;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use aqmlab_units::{BitRate, Bytes, Duration, Stream, Time};

use self::nada::{DELTA, Sample};
use self::receiver::{Arrival, MediaReceiver, Report};
use self::sender::{Frame, HEADERS, MediaPacket, MediaSender};
use super::datagrams::Datagram;
use super::draws::starts::Starts;
use super::quality::{FrameBufferConfig, Screen, VideoCallQuality, Watching};

/// The smallest packet: one byte of a frame, with its headers.
pub(crate) const LEAST_PACKET: Bytes = Bytes::new(HEADERS.get() + 1);

/// The settings that all calls of a source share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CallSettings {
    /// The side of the callers.
    pub(crate) side: u8,
    pub(crate) frames_per_second: f64,
    /// The lowest and the highest rate.
    pub(crate) rates: [BitRate; 2],
    /// The mean size of a key frame.
    pub(crate) key_frame: Bytes,
    /// The largest packet.
    pub(crate) packet: Bytes,
    pub(crate) is_burst: bool,
    pub(crate) buffer: FrameBufferConfig,
    pub(crate) late_after: Duration,
    pub(crate) stop: Time,
}

/// The video calls of a source.
#[derive(Debug)]
pub struct VideoCalls {
    settings: CallSettings,
    calls: Vec<Call>,
    measured_from: Time,
    /// The next action of each party: its time, and the party. Those of other times than its own are void.
    due: BinaryHeap<Reverse<(Time, u32)>>,
}

/// A call between a party on side 0 and one on side 1.
#[derive(Debug)]
struct Call {
    start: Time,
    parties: [Party; 2],
    /// The one-way delay of the path beyond the link.
    beyond: Duration,
}

#[derive(Debug)]
struct Party {
    sender: MediaSender,
    receiver: MediaReceiver,
    media: InFlight<MediaPacket>,
    reports: InFlight<Report>,
    /// The packets that reach it, in order of time.
    inbox: VecDeque<(Time, Received)>,
    /// The number of the media packet after the highest on its way to it.
    expected: u64,
    /// Something reaches it then that it reacts to.
    wake: Option<Time>,
    stop: Time,
    /// The time of its action in the list of those due.
    due: Time,
    /// Frames captured in the measured window.
    measured_frames: u64,
}

#[derive(Debug)]
enum Received {
    Media(Arrival),
    Report(Report),
}

/// Packets that were sent, by number, until the network has said what became of them.
#[derive(Debug)]
struct InFlight<T> {
    first: u64,
    packets: VecDeque<Option<(Time, T)>>,
}

/// Packets carry the lower bits of their number, and in one bit that they are reports.
const NUMBER_BITS: u16 = 15;
const NUMBERS: u64 = 1 << NUMBER_BITS;
const _: () = assert!(Datagram::REPORT == 1 << NUMBER_BITS);

impl<T> InFlight<T> {
    fn new() -> InFlight<T> {
        InFlight { first: 0, packets: VecDeque::new() }
    }

    /// Add a packet that is sent at `now`, and return the lower bits of its number.
    fn add(&mut self, packet: T, now: Time) -> u16 {
        let number = self.first + self.packets.len() as u64;
        self.packets.push_back(Some((now, packet)));
        (number % NUMBERS) as u16
    }

    /// Take the packet out that was sent as `sent`, with its number; `None` for a copy of one that was taken.
    fn take(&mut self, sent: &Datagram) -> Option<(u64, T)> {
        let bits = u64::from(sent.tag) % NUMBERS;
        let nearest = (bits + NUMBERS - self.first % NUMBERS) % NUMBERS;
        // Of packets with the same lower bits the time of sending tells which it is.
        let mut places = (nearest..self.packets.len() as u64).step_by(1 << NUMBER_BITS);
        let is_sent = |place: &u64| {
            let packet = usize::try_from(*place).ok().and_then(|place| self.packets[place].as_ref());
            packet.is_some_and(|(at, _)| *at == sent.at)
        };
        let place = places.find(is_sent)?;
        let (_, packet) = self.packets[usize::try_from(place).ok()?].take()?;
        let number = self.first + place;
        while matches!(self.packets.front(), Some(None)) {
            self.packets.pop_front();
            self.first += 1;
        }
        Some((number, packet))
    }
}

impl VideoCalls {
    /// Calls that begin at `starts`, over paths with these one-way delays `beyond` the link; `key` is that of the source's
    /// streams.
    pub(crate) fn new(
        settings: CallSettings,
        mut starts: Starts,
        beyond: Vec<Duration>,
        key: u64,
    ) -> VideoCalls {
        let mut calls =
            VideoCalls { settings, calls: Vec::new(), measured_from: Time::ZERO, due: BinaryHeap::new() };
        for (flow, beyond) in (0_u32..).zip(beyond) {
            let Some(start) = starts.next() else { break };
            let parties = [0, 1].map(|side| {
                let number = 2 * flow + side;
                let party = Party::new(&settings, Stream::numbered(key, number.into()), start);
                calls.due.push(Reverse((party.due, number)));
                party
            });
            calls.calls.push(Call { start, parties, beyond });
        }
        calls
    }

    /// Measure the frames captured after `time`.
    pub fn measure_from(&mut self, time: Time) {
        self.measured_from = time;
        for party in self.calls.iter_mut().flat_map(|call| &mut call.parties) {
            party.receiver.screen_mut().measure_from(time);
        }
    }

    /// The time at which [`VideoCalls::next_datagram`] may have something; packets that arrive can make it earlier.
    pub fn next_time(&self) -> Option<Time> {
        self.due.peek().map(|&Reverse((at, _))| at).filter(|&at| at < Time::MAX)
    }

    /// Return the next packet that is due at `now`; `None` if there are no more.
    pub fn next_datagram(&mut self, now: Time) -> Option<Datagram> {
        while let Some(&Reverse((at, number))) = self.due.peek().filter(|Reverse((at, _))| *at <= now) {
            let (flow, side) = (number / 2, usize::from(number % 2 == 1));
            let call = &mut self.calls[flow as usize];
            let party = &mut call.parties[side];
            if party.due == at {
                if let Some((size, tag)) = party.act(now) {
                    return Some(Datagram { at: now, flow, side: u8::from(side == 1), size, tag });
                }
                party.due = party.next_time();
                self.due.push(Reverse((party.due, number)));
                call.forget_frames();
            }
            // Those pushed are later than `now`, so that this is still the first.
            self.due.pop();
        }
        None
    }

    /// A packet has crossed the link at `now`.
    pub fn receive(&mut self, sent: &Datagram, is_marked: bool, now: Time) {
        let call = &mut self.calls[sent.flow as usize];
        let arrived = now + call.beyond;
        let [zero, one] = &mut call.parties;
        let (sender, receiver) = if sent.side == 0 { (zero, one) } else { (one, zero) };
        let received = if sent.is_report() {
            sender.reports.take(sent).map(|(_, report)| Received::Report(report))
        } else {
            sender.media.take(sent).map(|(number, packet)| {
                let (delay, size) = (arrived - sent.at, sent.size);
                let sample = Sample { arrived, number, delay, size, is_marked };
                let frame = sender.sender.frame(packet.frame).copied();
                Received::Media(Arrival { sample, sent_at: sent.at, media: packet.media, frame })
            })
        };
        // The first copy of a packet counts.
        let Some(received) = received else { return };
        if receiver.expect(&received) {
            receiver.wake = Some(receiver.wake.map_or(arrived, |wake| wake.min(arrived)));
            if arrived < receiver.due {
                receiver.due = arrived;
                self.due.push(Reverse((arrived, 2 * sent.flow + u32::from(sent.side == 0))));
            }
        }
        receiver.inbox.push_back((arrived, received));
    }

    /// The network has lost a packet.
    pub fn lose(&mut self, sent: &Datagram) {
        let party = &mut self.calls[sent.flow as usize].parties[usize::from(sent.side)];
        if sent.is_report() {
            party.reports.take(sent);
        } else {
            party.media.take(sent);
        }
    }

    /// Return what the parties have seen until `now`.
    pub fn quality(&mut self, now: Time) -> VideoCallQuality {
        let CallSettings { side, late_after, stop, .. } = self.settings;
        let until = now.min(stop);
        let watchings = self.calls.iter_mut().map(|call| {
            for party in &mut call.parties {
                party.read(now);
            }
            call.forget_frames();
            let watched = until.saturating_since(self.measured_from.max(call.start));
            let watching = |side: u8| {
                let watcher = call.parties[usize::from(side)].receiver.screen();
                let sender = &call.parties[usize::from(1 - side)];
                let is_undecided =
                    |frame: &&Frame| watcher.is_measured(frame.captured) && frame.captured + late_after > now;
                let undecided = sender.sender.frames.iter().filter(is_undecided).count() as u64;
                Watching::new(watcher, sender.measured_frames - undecided, watched, until)
            };
            [side, 1 - side].map(watching)
        });
        VideoCallQuality::new(&watchings.collect::<Vec<_>>())
    }
}

impl Call {
    /// Each sender forgets the frames that the other party has shown or given up.
    fn forget_frames(&mut self) {
        let next = [1, 0].map(|other: usize| self.parties[other].receiver.next_frame());
        for (party, next) in self.parties.iter_mut().zip(next) {
            party.sender.forget_before(next);
        }
    }
}

impl Party {
    fn new(settings: &CallSettings, mut stream: Stream, start: Time) -> Party {
        // The clocks of two parties are independent.
        let mut within = |interval: f64| start + Duration::from_secs_f64(interval * stream.uniform());
        let first_frame = within(1.0 / settings.frames_per_second);
        let first_report = within(DELTA.as_secs_f64());
        let screen = Screen::new(settings.buffer, settings.late_after, settings.frames_per_second);
        let mut party = Party {
            sender: MediaSender::new(settings, stream, first_frame),
            receiver: MediaReceiver::new(screen, first_report),
            media: InFlight::new(),
            reports: InFlight::new(),
            inbox: VecDeque::new(),
            expected: 0,
            wake: None,
            stop: settings.stop,
            due: Time::MAX,
            measured_frames: 0,
        };
        party.due = party.next_time();
        party
    }

    fn next_time(&self) -> Time {
        let report = Some(self.receiver.next_report()).filter(|&at| at < self.stop);
        [self.sender.next_time(), report, self.wake].into_iter().flatten().min().unwrap_or(Time::MAX)
    }

    /// Something is on its way to the party. Returns true if the party reacts when it arrives: to a report, and to a gap.
    fn expect(&mut self, received: &Received) -> bool {
        let Received::Media(Arrival { media, .. }) = *received else { return true };
        let is_gap = media > self.expected;
        self.expected = self.expected.max(media + 1);
        is_gap
    }

    /// Return the size and the tag of a packet that it sends at `now`, if it does.
    fn act(&mut self, now: Time) -> Option<(Bytes, u16)> {
        self.wake = self.wake.filter(|&wake| wake > now);
        self.read(now);
        if now < self.stop
            && let Some(report) = self.receiver.report(self.sender.rtt(), now)
        {
            return Some((report.size(), Datagram::REPORT | self.reports.add(report, now)));
        }
        if self.sender.capture(now) {
            self.measured_frames += u64::from(self.receiver.screen().is_measured(now));
        }
        let packet = self.sender.send(now)?;
        Some((packet.size, self.media.add(packet, now)))
    }

    /// Read what has reached it by `now`.
    fn read(&mut self, now: Time) {
        while let Some((at, received)) = self.inbox.pop_front_if(|(at, _)| *at <= now) {
            match received {
                Received::Media(arrival) => self.receiver.receive(&arrival),
                Received::Report(report) => self.sender.handle(&report, at),
            }
        }
    }
}

#[cfg(test)]
mod tests;
