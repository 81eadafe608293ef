//! Players of adaptive video: they request segments one after another over one connection, as their buffer allows.
//!
//! A segment is requested when the last one has come and the buffer has room for it. Its rate is chosen at that moment
//! ([`rule`]). Playback begins with the first segment, stalls when the buffer is empty, and resumes with the next segment.

mod rule;

use aqmlab_units::{BitRate, Bytes, Duration, Time};

pub use self::rule::VideoRule;
use self::rule::{Download, RuleState};
use crate::Completed;
use crate::sources::quality::Watched;
use crate::sources::vectors::{VectorAction, VectorEvent};

/// A video, and the way it is played.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Video {
    /// The rates of its versions, rising.
    pub(crate) ladder: Vec<BitRate>,
    /// The length of a segment.
    pub(crate) segment: Duration,
    /// The size of each version of each segment, over and over; empty where it is that of rate and length.
    pub(crate) sizes: Vec<Vec<Bytes>>,
    /// The most that a player holds.
    pub(crate) buffer: Duration,
    pub(crate) rule: VideoRule,
    pub(crate) request: Bytes,
    /// The number of segments; absent: endless.
    pub(crate) segments: Option<u64>,
}

impl Video {
    /// The size of a segment of version `rung`.
    fn size(&self, segment: u64, rung: usize) -> Bytes {
        if !self.sizes.is_empty() {
            let row =
                usize::try_from(segment % self.sizes.len() as u64).expect("a row is below their number");
            return self.sizes[row][rung];
        }
        let bit_nanos = u128::from(self.ladder[rung].bits_per_sec()) * u128::from(self.segment.as_nanos());
        Bytes::new(u64::try_from(bit_nanos / 8_000_000_000).expect("the ranges bound segments").max(1))
    }
}

/// The state of a player and its connection.
#[derive(Clone, Debug)]
pub struct Player {
    phase: Phase,
    /// Segments that have come.
    done: u64,
    /// The version of the segment that is on its way, and of the one before.
    rung: usize,
    before: Option<usize>,
    rule: RuleState,
    buffer: Duration,
    playback: Playback,
    /// The time up to which buffer and playback are known.
    updated: Time,
    opened: Time,
    /// The start of the wait for the segment on its way.
    started: Time,
    requested: Time,
    /// The arrival of its first byte.
    first_byte: Option<Time>,
    is_first_on_connection: bool,
    to_acceptor: Bytes,
    to_initiator: Bytes,
    unreported: Watched,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The handshake is under way.
    Opening,
    /// A segment is on its way.
    Loading,
    /// The buffer has no room for a segment.
    Full,
    /// The rule waits with the request that it has chosen.
    Pausing,
    /// The connection was lost while nothing was on its way; a wake-up is due.
    Lost,
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Playback {
    NotStarted,
    Playing,
    Stalled,
}

impl Player {
    /// A player that opens its connection at `now`.
    pub(crate) fn new(now: Time) -> Player {
        Player {
            phase: Phase::Opening,
            done: 0,
            rung: 0,
            before: None,
            rule: RuleState::default(),
            buffer: Duration::ZERO,
            playback: Playback::NotStarted,
            updated: now,
            opened: now,
            started: now,
            requested: now,
            first_byte: None,
            is_first_on_connection: true,
            to_acceptor: Bytes::ZERO,
            to_initiator: Bytes::ZERO,
            unreported: Watched::default(),
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// Bytes that have to come to the acceptor before there is something to do.
    pub(crate) fn awaits_at_acceptor(&self) -> Bytes {
        self.to_acceptor
    }

    /// The same for the initiator.
    pub(crate) fn awaits_at_initiator(&self) -> Bytes {
        if self.first_byte.is_none() { self.to_initiator.min(Bytes::new(1)) } else { self.to_initiator }
    }

    /// Return what has not been reported by `now`.
    pub(crate) fn unreported(&self, now: Time) -> Watched {
        let mut later = self.clone();
        later.advance(now);
        later.unreported
    }

    pub(crate) fn on_event(
        &mut self,
        video: &Video,
        event: VectorEvent,
        now: Time,
        out: &mut Vec<VectorAction>,
    ) {
        self.advance(now);
        match event {
            VectorEvent::Delivered(n) => {
                self.to_acceptor = self.to_acceptor - n;
                if self.to_acceptor == Bytes::ZERO && self.phase == Phase::Loading {
                    self.to_initiator = video.size(self.done, self.rung);
                    out.push(VectorAction::Answer(self.to_initiator));
                }
            }
            VectorEvent::Received(n) => {
                self.first_byte = self.first_byte.or(Some(now));
                self.to_initiator = self.to_initiator - n;
                if self.to_initiator == Bytes::ZERO {
                    self.complete(video, now, out);
                }
            }
            VectorEvent::Woken if self.phase == Phase::Lost => self.reopen(now, out),
            VectorEvent::Woken if self.phase == Phase::Pausing => self.request(video, now, out),
            VectorEvent::Opened | VectorEvent::Woken => self.choose(video, now, out),
            VectorEvent::Closed => self.lose(now, out),
        }
    }

    /// Play up to `now`.
    fn advance(&mut self, now: Time) {
        let elapsed = now.saturating_since(self.updated);
        self.updated = now;
        match self.playback {
            Playback::NotStarted => {}
            Playback::Stalled => self.unreported.stalled = self.unreported.stalled + elapsed,
            Playback::Playing => {
                let played = elapsed.min(self.buffer);
                let stalled = less(elapsed, played);
                self.buffer = less(self.buffer, played);
                self.unreported.played = self.unreported.played + played;
                if stalled > Duration::ZERO {
                    self.playback = Playback::Stalled;
                    self.unreported.stalled = self.unreported.stalled + stalled;
                }
            }
        }
    }

    /// Choose the next segment, and request it when the rule says so.
    fn choose(&mut self, video: &Video, now: Time, out: &mut Vec<VectorAction>) {
        let choice = self.rule.choose(video, self.before, self.buffer);
        self.rung = choice.rung;
        if choice.pause > 0.0 {
            self.phase = Phase::Pausing;
            out.push(VectorAction::Sleep(Duration::from_secs_f64(choice.pause)));
        } else {
            self.request(video, now, out);
        }
    }

    fn request(&mut self, video: &Video, now: Time, out: &mut Vec<VectorAction>) {
        if !self.is_first_on_connection {
            self.started = now;
        }
        (self.requested, self.first_byte) = (now, None);
        self.phase = Phase::Loading;
        self.to_acceptor = video.request;
        out.push(VectorAction::Write(video.request));
    }

    /// A segment has come.
    fn complete(&mut self, video: &Video, now: Time, out: &mut Vec<VectorAction>) {
        let (response, response_time) = (video.size(self.done, self.rung), now - self.started);
        let first_byte = self.first_byte.expect("it came before the last one");
        out.push(VectorAction::Completed(Completed {
            request: video.request,
            response,
            started: self.started,
            response_time,
            first: self.is_first_on_connection,
            persistent: true,
            connection: 0,
            top_level: false,
        }));
        self.is_first_on_connection = false;
        let (latency, transfer_time) = (first_byte - self.requested, now - first_byte);
        self.rule.add(video, &Download { size: response, response_time, latency, transfer_time });
        self.done += 1;
        self.buffer = self.buffer + video.segment;
        if self.playback == Playback::NotStarted {
            self.unreported.start_up = Some(now - self.opened);
        }
        self.playback = Playback::Playing;
        self.unreported.segment = Some(video.ladder[self.rung]);
        self.unreported.is_switch = self.before.is_some_and(|before| before != self.rung);
        self.before = Some(self.rung);
        let is_last = video.segments == Some(self.done);
        if is_last {
            // The rest of the video plays without the network.
            self.unreported.played = self.unreported.played + self.buffer;
        }
        out.push(VectorAction::Watched(std::mem::take(&mut self.unreported)));
        let excess = less(self.buffer + video.segment, video.buffer);
        if is_last {
            self.phase = Phase::Over;
            out.push(VectorAction::Close);
        } else if excess > Duration::ZERO {
            self.phase = Phase::Full;
            out.push(VectorAction::Sleep(excess));
        } else {
            self.choose(video, now, out);
        }
    }

    /// The connection broke: the segment on its way is requested over another one.
    fn lose(&mut self, now: Time, out: &mut Vec<VectorAction>) {
        (self.to_acceptor, self.to_initiator) = (Bytes::ZERO, Bytes::ZERO);
        match self.phase {
            Phase::Full | Phase::Pausing => self.phase = Phase::Lost,
            Phase::Opening | Phase::Loading => {
                // The wait for the first segment of a connection begins with the handshake.
                out.push(VectorAction::Aborted);
                self.reopen(now, out);
            }
            Phase::Lost | Phase::Over => {}
        }
    }

    fn reopen(&mut self, now: Time, out: &mut Vec<VectorAction>) {
        self.phase = Phase::Opening;
        self.started = now;
        self.is_first_on_connection = true;
        out.push(VectorAction::Open);
    }
}

/// `a` less `b`; zero if `b` is longer.
fn less(a: Duration, b: Duration) -> Duration {
    Duration::from_nanos(a.as_nanos().saturating_sub(b.as_nanos()))
}

#[cfg(test)]
mod tests;
