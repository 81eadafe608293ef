//! Trace: a table of rates over time, over and over. A packet's bits are sent at the rates of their moments.
//!
//! Source: ours; the columns are those of the traces of Mao et al., "Neural adaptive video streaming with Pensieve", SIGCOMM
//! 2017. Differs from them: a row holds from its time on, and the last row as long as the one before it.

use aqmlab_aqm::LinkContext;
use aqmlab_units::{BitRate, Bytes, Duration, Time, ranges};
use serde::{Deserialize, Serialize};

use super::path::{BoxedPath, Path, PathChanges, PathState};
use super::{BoxedCapacity, Capacity, CapacityKind, MOST_ROWS, Streams, rate_of};
use crate::spec::SpecError;

/// Rates over time, over and over: each row is a time and the rate from then on, and the last one lasts as long as the one
/// before it. Bits are sent at the rates of their moments. The link's discipline knows the mean rate. Delays and losses are those
/// of the path behind it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "Columns", into = "Columns")]
pub struct TraceSpec {
    /// At least one, in order of time from 0.
    rows: Vec<Row>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Row {
    at: Duration,
    bits_per_sec: u64,
    path: PathState,
}

/// Rates over time, over and over: each row is a time and the rate from then on, and the last one lasts as long as the one
/// before it. Bits are sent at the rates of their moments. The link's discipline knows the mean rate. Delays and losses are those
/// of the path behind it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Trace"))]
#[serde(deny_unknown_fields)]
struct Columns {
    /// The times in seconds, from 0 on.
    seconds: Vec<f64>,
    /// The rates in Mbit/s from these times on; 0 is an outage.
    mbps: Vec<f64>,
    /// The delays in milliseconds beyond that of the link, of packets that depart from these times on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(extend("default" = [])))]
    delay_ms: Vec<f64>,
    /// The probabilities that packets that depart from these times on are lost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(extend("default" = [])))]
    loss: Vec<f64>,
}

ranges! {
    TraceSpec {}
}

/// The longest trace: the longest run.
const MOST_SECONDS: f64 = 2.0 * 7.0 * 24.0 * 3600.0;

/// A minute, as of any link.
const MOST_DELAY_MS: f64 = 60_000.0;

/// A Tbit/s, the rate of the fastest link.
const MOST_MBPS: f64 = 1e6;

impl TryFrom<Columns> for TraceSpec {
    type Error = String;

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate is bounded")]
    fn try_from(Columns { seconds, mbps, delay_ms, loss }: Columns) -> Result<TraceSpec, String> {
        if seconds.len() != mbps.len() || seconds.is_empty() || seconds.len() > MOST_ROWS {
            let (times, rates) = (seconds.len(), mbps.len());
            return Err(format!("must have 1 to {MOST_ROWS} times and as many rates, got {times} and {rates}"));
        }
        for (name, column) in [("delay_ms", &delay_ms), ("loss", &loss)] {
            if !column.is_empty() && column.len() != seconds.len() {
                let (rows, times) = (column.len(), seconds.len());
                return Err(format!("must have as many values of {name} as times, {times}, got {rows}"));
            }
        }
        let mut rows: Vec<Row> = Vec::with_capacity(seconds.len());
        for (number, (&second, &mbit)) in (1..).zip(seconds.iter().zip(&mbps)) {
            if !(0.0..=MOST_SECONDS).contains(&second) || !(0.0..=MOST_MBPS).contains(&mbit) {
                return Err(format!(
                    "row {number}: must be from 0 to {MOST_SECONDS} s and from 0 to {MOST_MBPS} Mbit/s, got {second} s and {mbit} Mbit/s"
                ));
            }
            let of = |column: &[f64]| column.get(rows.len()).copied().unwrap_or(0.0);
            let (delay, loss) = (of(&delay_ms), of(&loss));
            if !(0.0..=MOST_DELAY_MS).contains(&delay) || !(0.0..=1.0).contains(&loss) {
                return Err(format!(
                    "row {number}: must have a delay_ms from 0 to {MOST_DELAY_MS} and a loss from 0 to 1, got {delay} and {loss}"
                ));
            }
            let row = Row {
                at: Duration::from_secs_f64(second),
                bits_per_sec: (mbit * 1e6).round() as u64,
                path: PathState { delay: Duration::from_secs_f64(delay / 1e3), loss },
            };
            match rows.last() {
                None if row.at > Duration::ZERO => {
                    return Err(format!("row 1: must be at 0 s, got {second} s"));
                }
                Some(before) if row.at <= before.at => {
                    return Err(format!("row {number}: must be after {}, got {second} s", before.at));
                }
                _ => rows.push(row),
            }
        }
        if rows.iter().all(|row| row.bits_per_sec == 0) {
            return Err("must have a rate above 0".to_owned());
        }
        Ok(TraceSpec { rows })
    }
}

impl From<TraceSpec> for Columns {
    fn from(spec: TraceSpec) -> Columns {
        let seconds = spec.rows.iter().map(|row| row.at.as_nanos() as f64 / 1e9).collect();
        let mbps = spec.rows.iter().map(|row| row.bits_per_sec as f64 / 1e6).collect();
        let changes = spec.path_changes();
        let column = |has: bool, value: fn(&Row) -> f64| {
            if has { spec.rows.iter().map(value).collect() } else { Vec::new() }
        };
        let delay_ms = column(changes.delay, |row| row.path.delay.as_millis_f64());
        let loss = column(changes.loss, |row| row.path.loss);
        Columns { seconds, mbps, delay_ms, loss }
    }
}

impl TraceSpec {
    /// The time after which the trace begins again.
    fn period(&self) -> Duration {
        match self.rows.as_slice() {
            [.., before, last] => Duration::from_nanos(2 * last.at.as_nanos() - before.at.as_nanos()),
            _ => Duration::from_secs(1),
        }
    }

    /// Returns each row with its end.
    fn with_ends(&self) -> impl Iterator<Item = (Row, Duration)> {
        let ends = self.rows.iter().skip(1).map(|row| row.at).chain([self.period()]);
        self.rows.iter().copied().zip(ends)
    }

    /// Returns the bits that can be sent from the start of the trace for `span`, which is not longer than it.
    fn bits_in(&self, span: Duration) -> f64 {
        let bits = |(row, end): (Row, Duration)| {
            let lasts = end.as_nanos().min(span.as_nanos()).saturating_sub(row.at.as_nanos());
            row.bits_per_sec as f64 * lasts as f64 / 1e9
        };
        self.with_ends().map(bits).sum()
    }

    /// Returns the bits that can be sent until `time`.
    fn bits_until(&self, time: Time) -> f64 {
        let (nanos, period) = (time.as_nanos(), self.period().as_nanos());
        let whole = (nanos / period) as f64 * self.bits_in(self.period());
        whole + self.bits_in(Duration::from_nanos(nanos % period))
    }
}

impl CapacityKind for TraceSpec {
    fn rate(&self) -> BitRate {
        rate_of(self.bits_in(self.period()) / self.period().as_secs_f64())
    }

    fn fastest(&self) -> BitRate {
        let most = self.rows.iter().map(|row| row.bits_per_sec).max();
        most.and_then(BitRate::from_bits_per_sec).expect("a trace has a rate above 0")
    }

    fn bits_between(&self, start: Time, end: Time, _streams: &Streams) -> f64 {
        self.bits_until(end) - self.bits_until(start)
    }

    fn drain_rates(&self, until: Time, _streams: &Streams) -> Vec<(Time, f64)> {
        let period = self.period().as_nanos();
        let starts = (0..).map(|number| Time::from_nanos(number * period)).take_while(|&start| start < until);
        let rows = starts.flat_map(|start| self.rows.iter().map(move |row| (start + row.at, row.bits_per_sec as f64)));
        rows.collect()
    }

    fn path_changes(&self) -> PathChanges {
        PathChanges {
            delay: self.rows.iter().any(|row| row.path.delay > Duration::ZERO),
            loss: self.rows.iter().any(|row| row.path.loss > 0.0),
        }
    }

    fn path(&self, _streams: &Streams) -> Option<BoxedPath> {
        let path = TracePath { rows: self.rows.clone(), period: self.period() };
        self.path_changes().any().then(|| Box::new(path) as BoxedPath)
    }

    fn check(&self, _frame: Bytes) -> Result<(), SpecError> {
        Ok(())
    }

    fn capacity(&self, link: &LinkContext, _streams: &Streams) -> BoxedCapacity {
        let mut pieces: Vec<Piece> = Vec::new();
        for (row, end) in self.with_ends() {
            let ns_per_byte = BitRate::from_bits_per_sec(row.bits_per_sec).map(BitRate::ns_per_byte);
            match pieces.last_mut() {
                Some(piece) if piece.ns_per_byte == ns_per_byte => piece.end = end,
                _ => pieces.push(Piece { ns_per_byte, end }),
            }
        }
        if let [only] = pieces.as_mut_slice() {
            // A constant rate has no end at which a packet's time would be rounded.
            only.end = Duration::from_nanos(u64::MAX);
        }
        let busy_until = Time::ZERO;
        let (until, ns_per_byte) = (Time::ZERO, 0);
        Box::new(Trace { pieces, overhead: link.overhead, base: Time::ZERO, now: 0, busy_until, until, ns_per_byte })
    }
}

/// The delays and the losses of a trace.
#[derive(Debug)]
struct TracePath {
    rows: Vec<Row>,
    period: Duration,
}

impl Path for TracePath {
    fn at(&mut self, departure: Time) -> PathState {
        let rest = Duration::from_nanos(departure.as_nanos() % self.period.as_nanos());
        self.rows[self.rows.partition_point(|row| row.at <= rest) - 1].path
    }
}

/// A span of one rate.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// Nanoseconds per byte in units of 2^-20 ns; `None` in an outage.
    ns_per_byte: Option<u64>,
    /// From the start of the trace.
    end: Duration,
}

/// A network interface whose rate is that of a trace.
#[derive(Debug)]
struct Trace {
    pieces: Vec<Piece>,
    overhead: Bytes,
    /// The time at which the trace has begun, again or for the first time.
    base: Time,
    /// The index of the piece of `busy_until`.
    now: usize,
    busy_until: Time,
    /// The end and the rate of the piece in which the last packet was sent, so that most packets need no others.
    until: Time,
    ns_per_byte: u64,
}

/// Bytes are counted in units of 2^-32.
const FRACTION: u32 = 32;

impl Trace {
    /// The end of the current piece.
    fn end(&self) -> Time {
        Time::from_nanos(self.base.as_nanos().saturating_add(self.pieces[self.now].end.as_nanos()))
    }

    fn next_piece(&mut self) {
        self.now += 1;
        if let Some(last) = self.pieces.get(self.now - 1).filter(|_| self.now == self.pieces.len()) {
            self.base += last.end;
            self.now = 0;
        }
    }

    /// Advance to the piece of `time`, which is not before the current one.
    fn seek(&mut self, time: Time) {
        let period = self.pieces[self.pieces.len() - 1].end.as_nanos();
        let periods = (time - self.base).as_nanos() / period;
        if periods > 0 {
            self.base += Duration::from_nanos(periods * period);
            self.now = 0;
        }
        while self.end() <= time {
            self.next_piece();
        }
    }

    /// Send a frame from `at` on, over as many pieces as it takes. Returns the times of its first and of its last bit.
    #[expect(clippy::cast_possible_truncation, reason = "a packet's time fits in 64 bits")]
    #[inline(never)]
    fn send_over_pieces(&mut self, frame: Bytes, mut at: Time) -> (Time, Time) {
        self.seek(at);
        while self.pieces[self.now].ns_per_byte.is_none() {
            at = self.end();
            self.next_piece();
        }
        let first = at;
        let mut rest = u128::from(frame.get()) << FRACTION;
        loop {
            let end = self.end();
            if let Some(ns_per_byte) = self.pieces[self.now].ns_per_byte.map(u128::from) {
                let last = at + Duration::from_nanos(((rest * ns_per_byte) >> (FRACTION + 20)) as u64);
                if last <= end {
                    self.busy_until = last;
                    (self.until, self.ns_per_byte) = (end, self.pieces[self.now].ns_per_byte.unwrap_or(0));
                    return (first, last);
                }
                rest -= (u128::from((end - at).as_nanos()) << (FRACTION + 20)) / ns_per_byte;
            }
            at = end;
            self.next_piece();
        }
    }
}

impl Capacity for Trace {
    fn is_known_ahead(&self) -> bool {
        true
    }

    fn send(&mut self, size: Bytes, now: Time) -> (Time, Time) {
        let (at, frame) = (self.busy_until.max(now), size + self.overhead);
        if let Some(scaled) = frame.get().checked_mul(self.ns_per_byte) {
            let last = at + Duration::from_nanos(scaled >> 20);
            // The piece of `until` began at `busy_until` or before.
            if at < self.until && last <= self.until {
                self.busy_until = last;
                return (at, last);
            }
        }
        self.send_over_pieces(frame, at)
    }
}
