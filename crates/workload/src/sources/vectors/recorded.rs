//! Connections that are known beforehand: the common form of traces and of connection vectors in files.

use std::ops::Range;

use aqmlab_units::{Bytes, Duration, Time};

use crate::sources::vectors::adu::{Adu, End};
use crate::sources::vectors::generator::{Cursor, Generator, Start};

/// A connection of a record.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) start: Time,
    pub(crate) side: u8,
    pub(crate) min_rtt: Option<Duration>,
    pub(crate) concurrent: bool,
    /// Its units.
    pub(crate) units: Range<u32>,
}

/// All connections of a record, and what they send.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    rows: Vec<Row>,
    units: Vec<Adu>,
    next: usize,
}

impl Recorded {
    /// Add a connection that sends `units`.
    pub(crate) fn push(
        &mut self,
        start: Time,
        side: u8,
        min_rtt: Option<Duration>,
        units: impl IntoIterator<Item = Adu>,
    ) {
        let first = self.length();
        self.units.extend(units);
        self.rows.push(Row { start, side, min_rtt, concurrent: false, units: first..self.length() });
    }

    /// Add a connection with one exchange. A response of zero bytes makes it an upload.
    pub(crate) fn push_exchange(
        &mut self,
        row: (Time, u8, Option<Duration>),
        request: Bytes,
        response: Bytes,
    ) {
        let answer = (response > Bytes::ZERO).then(|| Adu::response(Duration::ZERO, response));
        let (start, side, min_rtt) = row;
        self.push(start, side, min_rtt, [Adu::request(Duration::ZERO, request)].into_iter().chain(answer));
    }

    /// The ends of the connection added last do not wait for each other.
    pub(crate) fn mark_concurrent(&mut self) {
        if let Some(row) = self.rows.last_mut() {
            row.concurrent = true;
        }
    }

    fn length(&self) -> u32 {
        u32::try_from(self.units.len()).expect("a record is far smaller than 2^32 units")
    }

    /// Put in order of start; connections of one instant keep theirs.
    pub(crate) fn sorted(mut self) -> Recorded {
        self.rows.sort_by_key(|row| row.start);
        self
    }
}

impl Generator for Recorded {
    fn next(&mut self) -> Option<Start> {
        let row = self.rows.get(self.next)?;
        self.next += 1;
        let units = &self.units[row.units.start as usize..row.units.end as usize];
        let requests =
            units.windows(2).filter(|pair| pair[0].by != pair[1].by && pair[1].by == End::Acceptor);
        Some(Start {
            min_rtt: row.min_rtt,
            concurrent: row.concurrent,
            persistent: !row.concurrent && requests.count() > 1,
            next: row.units.start,
            state: row.units.end.into(),
            ..Start::at(row.start, row.side)
        })
    }

    fn adu(&self, cursor: &mut Cursor) -> Option<Adu> {
        let number = cursor.next;
        if u64::from(number) == cursor.state {
            return None;
        }
        cursor.next = number + 1;
        Some(self.units[number as usize])
    }
}
