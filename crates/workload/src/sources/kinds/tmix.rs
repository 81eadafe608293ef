//! Connection vectors in the two text formats of tmix.
//!
//! Source: the ns-2 manual, chapter "Tmix", with `tmix/cvec-orig2alt.pl` of ns-2; Weigle et al., CCR 2006. Times are
//! microseconds, sizes bytes. A vector begins with `SEQ start epochs id id` (original format) or `S ...` (alternate format),
//! followed by `w` windows of initiator and acceptor, `r` minimum round-trip time, `l` loss rates, `m` segment sizes, each of
//! them optional. Then come its units. In the original format these are `> size` (the initiator sends), `< size` (the
//! acceptor sends) and `t pause`; a last `t` is the pause before the connection closes. In the alternate format they are
//! `I send receive size` and `A send receive size`, with the pause after the end's own write or after the arrival of
//! the other's unit; a size of 0 closes.
//!
//! A concurrent vector (`CONC` or `C`, with the numbers of units of both ends in place of epochs) is one in which the ends do
//! not wait for each other: `c> size` and `c< size`, or `I` and `A`, follow after a pause from the same end's unit before,
//! `t> pause` and `t< pause`, or `send`. Its units are no exchanges: there are no requests, so no response times.
//!
//! Windows, loss rates and segment sizes are read over: loss is the queues' to cause, and the others are the stack's. `epochs`
//! and the `id`s say nothing that the units do not.

mod concurrent;

use aqmlab_units::{Bytes, Duration, Time, ranges};
use serde::{Deserialize, Serialize};

use self::concurrent::Concurrent;
use super::fields::SIDE;
use super::lines::{each_line, fault, fields, number};
use super::read_once::ReadOnce;
use crate::config::ConfigError;
use crate::sources::draws::distribution::{MAX_SIZE, MAX_TIME};
use crate::sources::draws::rtt::{MAX_RTT, MinRttConfig};
use crate::sources::kind::{Setting, Source, SourceKind};
use crate::sources::vectors::adu::{Adu, End};
use crate::sources::vectors::recorded::Recorded;

/// Connection vectors from a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = aqmlab_units::schema::with_ranges::<TmixConfig>))]
#[serde(deny_unknown_fields)]
pub struct TmixConfig {
    /// The name of the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The contents of the file.
    pub text: String,
    /// The side of the link that the initiators are on. tmix has a file for each.
    #[serde(default)]
    pub side: u8,
    /// Leave out concurrent vectors? Else they are played too.
    #[serde(default)]
    pub skip_concurrent: bool,
    /// Minimum round-trip times of vectors without a line `r`; the experiment's when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<MinRttConfig>,
    #[serde(skip)]
    read: ReadOnce,
}

ranges! {
    TmixConfig { side: SIDE }
}

impl SourceKind for TmixConfig {
    const EXAMPLE: &'static str =
        r#"{"tmix": {"text": "S 20 1 0 0\nI 0 0 9\nA 0 5 7\nS 10 1 0 0\nI 0 0 8\n"}}"#;

    fn check(&self) -> Result<(), ConfigError> {
        self.rtt.as_ref().map_or(Ok(()), |rtt| rtt.check("rtt"))?;
        self.read.keep(self.record()?);
        Ok(())
    }

    fn source(&self, setting: &Setting<'_>) -> Result<Source, ConfigError> {
        let recorded = self.read.take_or(|| self.record())?;
        Ok(setting.connections(recorded, self.rtt.as_ref()))
    }
}

impl TmixConfig {
    fn record(&self) -> Result<Recorded, ConfigError> {
        let mut recorded = Recorded::default();
        let mut reader = Reader::Nothing;
        each_line(&self.text, |line, words| {
            match words[0] {
                "S" | "SEQ" => {
                    reader.finish(&mut recorded);
                    reader = Reader::Vector(Reading::begin(line, words, self.side)?);
                }
                "C" | "CONC" if self.skip_concurrent => {
                    reader.finish(&mut recorded);
                    reader = Reader::Skipping;
                }
                "C" | "CONC" => {
                    reader.finish(&mut recorded);
                    reader = Reader::Vector(Reading::begin_concurrent(line, words, self.side)?);
                }
                _ => match &mut reader {
                    Reader::Vector(reading) => reading.line(line, words)?,
                    Reader::Skipping => {}
                    Reader::Nothing => {
                        let must = "must begin a vector, `S`, `SEQ`, `C` or `CONC`";
                        return fault(line, format!("{must}, got `{}`", words.join(" ")));
                    }
                },
            }
            Ok(())
        })?;
        reader.finish(&mut recorded);
        Ok(recorded.sorted())
    }
}

/// The vector that the current lines belong to.
enum Reader {
    Nothing,
    Vector(Reading),
    Skipping,
}

impl Reader {
    /// Keep the vector that has been read.
    fn finish(&mut self, recorded: &mut Recorded) {
        let Reader::Vector(reading) = std::mem::replace(self, Reader::Nothing) else { return };
        let Reading { start, side, min_rtt, mut units, pause, concurrent } = reading;
        if let Some(concurrent) = concurrent {
            recorded.push(start, side, min_rtt, concurrent.merged());
            return recorded.mark_concurrent();
        }
        if let (Some(pause), Some(last)) = (pause, units.last()) {
            units.push(Adu { by: last.by, pause, size: Bytes::ZERO });
        }
        recorded.push(start, side, min_rtt, units);
    }
}

/// A vector being read.
struct Reading {
    start: Time,
    side: u8,
    min_rtt: Option<Duration>,
    units: Vec<Adu>,
    /// The pause of a line `t` that no unit has followed yet.
    pause: Option<Duration>,
    /// The units of a concurrent vector, in place of `units`.
    concurrent: Option<Concurrent>,
}

impl Reading {
    fn begin(line: usize, words: &[&str], side: u8) -> Result<Reading, ConfigError> {
        let [_, start, ..] = fields::<5>(line, words, "S start epochs id id")?;
        let start = Time::ZERO + time(line, "start", start, MAX_TIME)?;
        Ok(Reading { start, side, min_rtt: None, units: Vec::new(), pause: None, concurrent: None })
    }

    fn begin_concurrent(line: usize, words: &[&str], side: u8) -> Result<Reading, ConfigError> {
        let [kind, start, _, _, first, second] =
            fields(line, words, "C start initiator_units acceptor_units id id")?;
        let reading = Reading::begin(line, &[kind, start, "0", first, second], side)?;
        Ok(Reading { concurrent: Some(Concurrent::new()), ..reading })
    }

    fn line(&mut self, line: usize, words: &[&str]) -> Result<(), ConfigError> {
        if self.units.last().is_some_and(|last| last.size == Bytes::ZERO) {
            return fault(line, "nothing may follow the unit of size 0 that closes the connection".into());
        }
        if let Some(done) = self.concurrent.as_mut().and_then(|concurrent| concurrent.line(line, words)) {
            return done;
        }
        match words[0] {
            "r" => {
                let [_, rtt] = fields(line, words, "r rtt")?;
                self.min_rtt = Some(time(line, "the round-trip time", rtt, MAX_RTT)?);
                Ok(())
            }
            "w" | "l" | "m" => Ok(()),
            ">" | "<" | "t" if self.concurrent.is_some() => {
                fault(line, format!("of a concurrent vector must be c>, c<, t> or t<, got `{}`", words[0]))
            }
            "t" => {
                let [_, pause] = fields(line, words, "t pause")?;
                match self.pause.replace(time(line, "a pause", pause, MAX_TIME)?) {
                    Some(_) => fault(line, "must not follow another line `t`".into()),
                    None if self.units.is_empty() => fault(line, "a pause must follow a unit".into()),
                    None => Ok(()),
                }
            }
            ">" | "<" => {
                let [end, size] = fields(line, words, "> size` or `< size")?;
                let by = if end == ">" { End::Initiator } else { End::Acceptor };
                let pause = self.pause.take().unwrap_or(Duration::ZERO);
                let size = number(line, "the size", size, 1, MAX_SIZE.get())?;
                self.units.push(Adu { by, pause, size: Bytes::new(size) });
                Ok(())
            }
            "I" | "A" => self.alternate(line, words),
            _ => fault(
                line,
                format!("must be one of w, r, l, m, >, <, t, I, A, S, SEQ, C or CONC, got `{}`", words[0]),
            ),
        }
    }

    /// `I send receive size`.
    fn alternate(&mut self, line: usize, words: &[&str]) -> Result<(), ConfigError> {
        let [end, send, receive, size] = fields(line, words, "I send receive size` or `A send receive size")?;
        let by = if end == "I" { End::Initiator } else { End::Acceptor };
        let send = time(line, "the pause after sending", send, MAX_TIME)?;
        let receive = time(line, "the pause after receiving", receive, MAX_TIME)?;
        let size = number(line, "the size", size, 0, MAX_SIZE.get())?;
        if self.pause.is_some() {
            return fault(line, "has pauses of its own, so that it must not follow a line `t`".into());
        }
        let again = self.units.last().is_some_and(|before| before.by == by);
        let (pause, other) = if again { (send, receive) } else { (receive, send) };
        if other > Duration::ZERO {
            let (whose, after) = if again { ("the same", "sending") } else { ("the other", "receiving") };
            return fault(
                line,
                format!("follows a unit of {whose} end, so that its pause must be the one after {after}"),
            );
        }
        self.units.push(Adu { by, pause, size: Bytes::new(size) });
        Ok(())
    }
}

/// A time in microseconds.
fn time(line: usize, name: &str, word: &str, max: Duration) -> Result<Duration, ConfigError> {
    number(line, &format!("{name} (microseconds)"), word, 0, max.as_micros()).map(Duration::from_micros)
}
