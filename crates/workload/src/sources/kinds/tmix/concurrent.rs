//! A concurrent vector being read: what each end sends by its own clock.
//!
//! Neither end waits for the other, so that each unit's instant follows from the start alone: the ends' two schedules are
//! merged into one, whose pauses run from one unit to the next of either end.

use aqmlab_units::{Bytes, Duration, Time};

use super::super::lines::{fault, fields, number};
use super::time;
use crate::config::ConfigError;
use crate::sources::draws::distribution::{MAX_SIZE, MAX_TIME};
use crate::sources::vectors::adu::{Adu, End};

/// The schedules of both ends.
pub(super) struct Concurrent {
    initiator: Schedule,
    acceptor: Schedule,
}

/// The units of one end with their times since the handshake.
struct Schedule {
    units: Vec<(Time, Bytes)>,
    /// The time at which the units read so far are sent.
    at: Time,
    /// The line before was a pause of this end.
    paused: bool,
    /// It has sent its FIN.
    closed: bool,
}

impl Schedule {
    fn new() -> Schedule {
        Schedule { units: Vec::new(), at: Time::ZERO, paused: false, closed: false }
    }

    fn pause(&mut self, line: usize, pause: Duration) -> Result<(), ConfigError> {
        self.at += pause;
        if self.at > Time::ZERO + MAX_TIME {
            return fault(line, format!("the pauses of one end must be no more than {MAX_TIME} in all"));
        }
        Ok(())
    }

    fn send(&mut self, line: usize, size: Bytes) -> Result<(), ConfigError> {
        if self.closed {
            return fault(line, "nothing of the same end may follow its unit of size 0".into());
        }
        self.paused = false;
        if size > Bytes::ZERO {
            self.units.push((self.at, size));
        } else {
            self.closed = true;
        }
        Ok(())
    }
}

impl Concurrent {
    pub(super) fn new() -> Concurrent {
        Concurrent { initiator: Schedule::new(), acceptor: Schedule::new() }
    }

    fn of(&mut self, end: End) -> &mut Schedule {
        match end {
            End::Initiator => &mut self.initiator,
            End::Acceptor => &mut self.acceptor,
        }
    }

    /// A line of units; `None` if it is none.
    pub(super) fn line(&mut self, line: usize, words: &[&str]) -> Option<Result<(), ConfigError>> {
        let end = match words[0] {
            "c>" | "t>" | "I" => End::Initiator,
            "c<" | "t<" | "A" => End::Acceptor,
            _ => return None,
        };
        Some(match words[0] {
            "I" | "A" => self.alternate(end, line, words),
            "c>" | "c<" => fields(line, words, "c> size` or `c< size").and_then(|[_, size]| {
                let size = number(line, "the size", size, 1, MAX_SIZE.get())?;
                self.of(end).send(line, Bytes::new(size))
            }),
            _ => fields(line, words, "t> pause` or `t< pause").and_then(|[kind, pause]| {
                let pause = time(line, "a pause", pause, MAX_TIME)?;
                if std::mem::replace(&mut self.of(end).paused, true) {
                    return fault(line, format!("must not follow another line `{kind}` of the same end"));
                }
                self.of(end).pause(line, pause)
            }),
        })
    }

    /// Reads `I send receive size`; neither end waits to receive.
    fn alternate(&mut self, end: End, line: usize, words: &[&str]) -> Result<(), ConfigError> {
        let [_, send, receive, size] = fields(line, words, "I send receive size` or `A send receive size")?;
        let send = time(line, "the pause after sending", send, MAX_TIME)?;
        let receive = time(line, "the pause after receiving", receive, MAX_TIME)?;
        if receive > Duration::ZERO {
            return fault(
                line,
                "a unit of a concurrent vector waits for none, so that its pause after receiving must be 0"
                    .into(),
            );
        }
        let size = number(line, "the size", size, 0, MAX_SIZE.get())?;
        let schedule = self.of(end);
        schedule.pause(line, send)?;
        schedule.send(line, Bytes::new(size))
    }

    /// All units in the order of their instants, the initiator's first at one instant; the connection closes when both ends
    /// have done all they do.
    pub(super) fn merged(self) -> Vec<Adu> {
        let close = self.initiator.at.max(self.acceptor.at);
        let by = |end, schedule: Schedule| schedule.units.into_iter().map(move |(at, size)| (at, end, size));
        let mut units: Vec<(Time, End, Bytes)> =
            by(End::Initiator, self.initiator).chain(by(End::Acceptor, self.acceptor)).collect();
        units.sort_by_key(|&(at, ..)| at);
        let last = units.last().copied();
        if let Some((_, end, _)) = last.filter(|&(at, ..)| at < close) {
            units.push((close, end, Bytes::ZERO));
        }
        let mut before = Time::ZERO;
        let adu = |(at, by, size): (Time, End, Bytes)| {
            let pause = at - std::mem::replace(&mut before, at);
            Adu { by, pause, size }
        };
        units.into_iter().map(adu).collect()
    }
}
