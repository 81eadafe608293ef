//! The sender of a video call: it captures frames, divides them into packets, and sends these at the rate of NADA.

use std::collections::VecDeque;

use aqmlab_units::{Bytes, Duration, Stream, Time};

use super::CallSettings;
use super::encoder::Encoder;
use super::nada::ReferenceRate;
use super::receiver::Report;

/// Headers of RTP (RFC 3550), UDP and IPv4.
pub(super) const HEADERS: Bytes = Bytes::new(12 + 8 + 20);
/// The number of the original packet in a retransmission (RFC 4588, section 4).
const ORIGINAL_NUMBER: u64 = 2;
/// The latest packets that can be sent again. Source: ours; several seconds at the default rates.
const KEPT: usize = 1024;

/// A frame that was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) number: u64,
    pub(super) captured: Time,
    pub(super) is_key: bool,
    pub(super) size: Bytes,
    /// The media number of its first packet.
    pub(super) first: u64,
    pub(super) packets: u64,
}

/// A packet of media.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MediaPacket {
    /// Its number among the original packets.
    pub(super) media: u64,
    /// The number of its frame.
    pub(super) frame: u64,
    pub(super) size: Bytes,
}

/// The sender at one end of a call.
#[derive(Debug)]
pub(super) struct MediaSender {
    encoder: Encoder,
    rate: ReferenceRate,
    frames_per_second: f64,
    /// The largest data of a packet.
    data: Bytes,
    /// All packets of a frame leave at once.
    is_burst: bool,
    next_frame: Option<Time>,
    stop: Time,
    /// Frames of which the receiver still waits for something.
    pub(super) frames: VecDeque<Frame>,
    captured: u64,
    /// The number of the next packet.
    media: u64,
    /// Packets that can be sent again, the latest last.
    history: VecDeque<MediaPacket>,
    /// The shaping buffer: packets that wait for their time, and their bytes.
    buffer: VecDeque<MediaPacket>,
    buffered: Bytes,
    /// Packets to send again, which go before those in the buffer. They do not raise the sending rate.
    again: VecDeque<MediaPacket>,
    again_bytes: Bytes,
    /// The packet before is sent by then, at the sending rate.
    free_at: Time,
}

impl MediaSender {
    pub(super) fn new(settings: &CallSettings, stream: Stream, start: Time) -> MediaSender {
        MediaSender {
            encoder: Encoder::new(stream, settings.frames_per_second, settings.key_frame),
            rate: ReferenceRate::new(settings.rates, start),
            frames_per_second: settings.frames_per_second,
            data: Bytes::new(settings.packet.get() - HEADERS.get() - ORIGINAL_NUMBER),
            is_burst: settings.is_burst,
            next_frame: (start < settings.stop).then_some(start),
            stop: settings.stop,
            frames: VecDeque::new(),
            captured: 0,
            media: 0,
            history: VecDeque::new(),
            buffer: VecDeque::new(),
            buffered: Bytes::ZERO,
            again: VecDeque::new(),
            again_bytes: Bytes::ZERO,
            free_at: start,
        }
    }

    /// The time of its next action.
    pub(super) fn next_time(&self) -> Option<Time> {
        let packet = (!self.buffer.is_empty() || !self.again.is_empty()).then_some(self.free_at);
        [self.next_frame, packet].into_iter().flatten().min()
    }

    /// The latest round-trip time.
    pub(super) fn rtt(&self) -> Duration {
        self.rate.rtt()
    }

    /// Capture the frame that is due at `now`. Returns false if none is.
    pub(super) fn capture(&mut self, now: Time) -> bool {
        if self.next_frame.is_none_or(|at| at > now) {
            return false;
        }
        // The rates of NADA count headers, which the encoder leaves room for.
        let share = self.data.as_f64() / (self.data + HEADERS).as_f64();
        let waiting = self.buffered + self.again_bytes;
        let rate = share * self.rate.encoder_rate(waiting, self.frames_per_second);
        let encoded = self.encoder.frame(rate, now);
        let next = now + encoded.interval;
        self.next_frame = (next < self.stop).then_some(next);
        let packets = encoded.size.get().div_ceil(self.data.get());
        let frame = Frame {
            number: self.captured,
            captured: now,
            is_key: encoded.is_key,
            size: encoded.size,
            first: self.media,
            packets,
        };
        for index in 0..packets {
            // Packets of a frame have the same size, or differ by a byte.
            let data = encoded.size.get() / packets + u64::from(index < encoded.size.get() % packets);
            let size = HEADERS + Bytes::new(data);
            let packet = MediaPacket { media: self.media + index, frame: frame.number, size };
            self.buffered += size;
            self.buffer.push_back(packet);
            self.history.push_back(packet);
        }
        self.frames.push_back(frame);
        self.captured += 1;
        self.media += packets;
        while self.history.len() > KEPT {
            self.history.pop_front();
        }
        self.free_at = self.free_at.max(now);
        true
    }

    /// Return the packet that is due at `now`, if one is.
    pub(super) fn send(&mut self, now: Time) -> Option<MediaPacket> {
        if self.free_at > now {
            return None;
        }
        let packet = if let Some(packet) = self.again.pop_front() {
            self.again_bytes = Bytes::new(self.again_bytes.get() - packet.size.get());
            packet
        } else {
            let packet = self.buffer.pop_front()?;
            self.buffered = Bytes::new(self.buffered.get() - packet.size.get());
            packet
        };
        if !self.is_burst {
            let rate = self.rate.sending_rate(self.buffered, self.frames_per_second);
            self.free_at = now + Duration::from_secs_f64(8.0 * packet.size.as_f64() / rate);
        }
        Some(packet)
    }

    /// A report arrives at `now`.
    pub(super) fn handle(&mut self, report: &Report, now: Time) {
        if let Some(congestion) = &report.congestion {
            let rtt = now.saturating_since(report.latest_sent + report.held);
            self.rate.update(congestion, rtt, now);
        }
        self.retransmit(&report.missing, now);
        if report.wants_key_frame {
            self.encoder.refresh();
            // What is before the key frame is not needed any more.
            self.again.clear();
            self.again_bytes = Bytes::ZERO;
        }
    }

    /// The receiver asks for packets at `now`: they go before all others.
    fn retransmit(&mut self, missing: &[u64], now: Time) {
        let Some(oldest) = self.history.front().map(|packet| packet.media) else { return };
        for &media in missing {
            let place = media.checked_sub(oldest).and_then(|place| usize::try_from(place).ok());
            let Some(&packet) = place.and_then(|place| self.history.get(place)) else { continue };
            if self.again.iter().any(|waiting| waiting.media == media) {
                continue;
            }
            let size = packet.size + Bytes::new(ORIGINAL_NUMBER);
            self.again_bytes += size;
            self.again.push_back(MediaPacket { size, ..packet });
        }
        self.free_at = self.free_at.max(now);
    }

    /// The receiver waits for nothing of the frames before `number` any more.
    pub(super) fn forget_before(&mut self, number: u64) {
        while self.frames.front().is_some_and(|frame| frame.number < number) {
            self.frames.pop_front();
        }
    }

    /// Return frame `number`, of which the receiver still waits for something.
    pub(super) fn frame(&self, number: u64) -> Option<&Frame> {
        let place = number.checked_sub(self.frames.front()?.number)?;
        self.frames.get(usize::try_from(place).ok()?)
    }
}
