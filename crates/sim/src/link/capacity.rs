//! Capacities of links: the times at which packets can be sent.
//!
//! [`Transmitter`](super::Transmitter) is the capacity of a constant rate, and [`Schedule`] that of a rate that changes. Every
//! other kind is a file of this directory and a line in `kinds!`: its table in a spec, and the capacity that it describes.

mod bucket;
mod interrupted;
mod opportunities;
mod path;
mod schedule;

use aqmlab_aqm::{LinkContext, Peak, QueueState};
use aqmlab_units::{BitRate, Bytes, Stream, Time};
use serde::{Deserialize, Serialize};

pub use self::bucket::BucketSpec;
pub(crate) use self::interrupted::Interrupted;
pub(crate) use self::path::{BoxedPath, PathChanges};
pub(crate) use self::schedule::Schedule;
use crate::side::Direction;
use crate::spec::{RATES, SpecError, within};

/// The capacity of one direction of a link, told the time in order.
pub(crate) trait Capacity {
    /// Returns the earliest time at which the discipline hands down its next packet; `None` if every free place in the device
    /// is for a packet at once.
    #[inline(always)]
    fn ready(&self) -> Option<Time> {
        None
    }

    /// The queue was empty until `now`: what could have been sent until then is lost, where it cannot be saved.
    #[inline(always)]
    fn idle(&mut self, _now: Time) {}

    /// The discipline holds `queue` at `now`, before it hands down its next packet. Only a capacity that has a time at which it
    /// is [ready](Capacity::ready) learns of it.
    #[inline(always)]
    fn waiting(&mut self, _queue: QueueState, _now: Time) {}

    /// Returns true if the next packet is sent together with the one before, and needs no place in the device.
    #[inline(always)]
    fn is_open(&self) -> bool {
        false
    }

    /// Returns true if a packet of `size`, as the discipline counts it, may enter the queue at `now`, and takes note of it.
    #[inline(always)]
    fn admit(&mut self, _size: Bytes, _now: Time) -> bool {
        true
    }

    /// Returns true if the times of a packet are known when it arrives: [`Capacity::send`] may take it then, before those ahead
    /// of it are sent.
    #[inline(always)]
    fn is_known_ahead(&self) -> bool {
        false
    }

    /// Takes a packet of `size`, as the discipline counts it, at `now`, which is not before [`Capacity::ready`]. Returns the
    /// times of its first and of its last bit.
    fn send(&mut self, size: Bytes, now: Time) -> (Time, Time);

    /// Returns true if the line carries more bytes than those of frames.
    #[inline(always)]
    fn is_padded(&self) -> bool {
        false
    }

    /// Returns the bytes that the line carries for a packet of `size` beyond its frame: the headers of cells, and what fills the
    /// last one.
    #[inline(always)]
    fn padding(&self, _size: Bytes) -> Bytes {
        Bytes::ZERO
    }
}

/// A capacity of any kind.
pub(crate) type BoxedCapacity = Box<dyn Capacity + Send>;

impl Capacity for BoxedCapacity {
    fn ready(&self) -> Option<Time> {
        (**self).ready()
    }

    fn idle(&mut self, now: Time) {
        (**self).idle(now);
    }

    fn waiting(&mut self, queue: QueueState, now: Time) {
        (**self).waiting(queue, now);
    }

    fn is_open(&self) -> bool {
        (**self).is_open()
    }

    fn admit(&mut self, size: Bytes, now: Time) -> bool {
        (**self).admit(size, now)
    }

    fn is_known_ahead(&self) -> bool {
        (**self).is_known_ahead()
    }

    fn send(&mut self, size: Bytes, now: Time) -> (Time, Time) {
        (**self).send(size, now)
    }

    fn is_padded(&self) -> bool {
        (**self).is_padded()
    }

    fn padding(&self, size: Bytes) -> Bytes {
        (**self).padding(size)
    }
}

/// The random streams of the capacity of one direction of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Streams {
    pub(crate) seed: u64,
    /// The number of the link, from 0.
    pub(crate) link: u32,
    pub(crate) direction: Direction,
}

impl Streams {
    /// Returns the key of a family of streams that both directions share.
    fn shared_key(&self, purpose: &str) -> u64 {
        Stream::key(self.seed, &format!("{purpose}/link/{}", self.link))
    }

    /// Returns the stream of a purpose of this direction.
    fn own(&self, purpose: &str) -> Stream {
        Stream::named(self.seed, &format!("{purpose}/{}/link/{}", self.direction.index(), self.link))
    }
}

/// The table of a kind in a spec.
trait CapacityKind {
    /// Returns the mean rate: loads and utilization refer to it.
    fn rate(&self) -> BitRate;

    /// Returns the rate at which the queue is emptied, which its discipline knows.
    fn drain_rate(&self) -> BitRate {
        self.rate()
    }

    /// Returns the bursts that it lets pass at more than that rate, if any.
    fn peak(&self) -> Option<Peak> {
        None
    }

    /// Returns the highest rate that it ever has.
    fn fastest(&self) -> BitRate {
        self.drain_rate()
    }

    /// Returns the bits that can be sent from `start` to `end`.
    fn bits_between(&self, start: Time, end: Time, _streams: &Streams) -> f64 {
        end.saturating_since(start).as_secs_f64() * self.rate().bits_per_sec() as f64
    }

    /// Returns the times before `until` from which the queue is emptied at other rates, in bits a second, from 0 on.
    fn drain_rates(&self, _until: Time, _streams: &Streams) -> Vec<(Time, f64)> {
        vec![(Time::ZERO, self.drain_rate().bits_per_sec() as f64)]
    }

    /// Returns true if each direction draws its own rates.
    fn is_random(&self) -> bool {
        false
    }

    /// Returns the properties of its path that change.
    fn path_changes(&self) -> PathChanges {
        PathChanges::default()
    }

    /// Returns its path, if that changes.
    fn path(&self, _streams: &Streams) -> Option<BoxedPath> {
        None
    }

    /// Returns true if it drops packets before the queue.
    fn polices(&self) -> bool {
        false
    }

    /// Checks conditions between values, on a link whose longest frame is `frame`. The path of an error begins in this table.
    fn check(&self, frame: Bytes) -> Result<(), SpecError>;

    /// Returns the capacity of a link as its discipline knows it.
    fn capacity(&self, link: &LinkContext, streams: &Streams) -> BoxedCapacity;
}

/// From a line for each kind, `module: Variant(Table)`: the table of any kind. The module's name is what the kind is called.
macro_rules! kinds {
    ($($(#[$doc:meta])* $module:ident: $Kind:ident($Table:ident),)+) => {
        $(mod $module;)+

        /// The tables of the kinds.
        pub mod tables {
            $(pub use super::$module::$Table;)+
        }
        use self::tables::*;

        /// A kind of capacity with its values: `{"token_bucket": {"rate": "20 Mbit/s", "burst": "64 kB"}}`.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = "snake_case")]
        pub enum CapacitySpec {
            $($(#[$doc])* $Kind($Table),)+
        }

        impl CapacitySpec {
            /// The names of the kinds after the keys of the two directions, as the table of a rate has one of them.
            pub(crate) const KEYS: &'static [&'static str] = &["up", "down", $(stringify!($module)),+];

            /// Its name in a spec.
            pub(crate) fn name(&self) -> &'static str {
                match self {
                    $(CapacitySpec::$Kind(_) => stringify!($module),)+
                }
            }

            fn table(&self) -> &dyn CapacityKind {
                match self {
                    $(CapacitySpec::$Kind(table) => table,)+
                }
            }

            /// Checks the table at `path`, of a link whose longest frame is `frame`.
            pub(crate) fn check(&self, path: &str, frame: Bytes) -> Result<(), SpecError> {
                let path = format!("{path}.{}", self.name());
                match self {
                    $(CapacitySpec::$Kind(table) => within(&path, table)?,)+
                }
                let inside = |error: SpecError| SpecError { path: format!("{path}.{}", error.path), ..error };
                self.table().check(frame).map_err(inside)?;
                if RATES.contains(&self.rate()) {
                    return Ok(());
                }
                let must = RATES.map(|end| end.to_string()).told("");
                Err(SpecError { message: format!("must have a mean rate {must}, got {}", self.rate()), path })
            }
        }
    };
}

kinds! {
    /// A token bucket.
    token_bucket: TokenBucket(TokenBucketSpec),
    /// A policer.
    policer: Policer(PolicerSpec),
    /// The upstream of a cable modem.
    cable: Cable(CableSpec),
    /// The upstream of a passive optical network.
    pon: Pon(PonSpec),
    /// A station of a Wi-Fi network.
    wifi: Wifi(WifiSpec),
    /// One user of a cell.
    cellular: Cellular(CellularSpec),
    /// Satellites in low orbit.
    leo: Leo(LeoSpec),
    /// Rates over time.
    trace: Trace(TraceSpec),
    /// Cells of ATM.
    atm: Atm(AtmSpec),
    /// Delivery opportunities of Mahimahi.
    mahimahi: Mahimahi(MahimahiSpec),
}

/// The most rows of a table: one each second of the longest run.
const MOST_ROWS: usize = 1_000_000;

/// Returns the nearest bit rate above zero.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate is bounded")]
fn rate_of(bits_per_sec: f64) -> BitRate {
    BitRate::from_bits_per_sec((bits_per_sec.round() as u64).max(1)).expect("it is above zero")
}

impl CapacitySpec {
    /// Returns the mean rate.
    pub(crate) fn rate(&self) -> BitRate {
        self.table().rate()
    }

    /// Returns the rate at which the queue is emptied.
    pub(crate) fn drain_rate(&self) -> BitRate {
        self.table().drain_rate()
    }

    /// Returns the bursts that it lets pass at more than that rate, if any.
    pub(crate) fn peak(&self) -> Option<Peak> {
        self.table().peak()
    }

    /// Returns the highest rate that it ever has.
    pub(crate) fn fastest(&self) -> BitRate {
        self.table().fastest()
    }

    /// Returns the times before `until` from which the queue is emptied at other rates, in bits a second, from 0 on.
    pub(crate) fn drain_rates(&self, until: Time, streams: &Streams) -> Vec<(Time, f64)> {
        self.table().drain_rates(until, streams)
    }

    /// Returns true if it drops packets before the queue.
    pub(crate) fn polices(&self) -> bool {
        self.table().polices()
    }

    /// Returns true if each direction draws its own rates.
    pub(crate) fn is_random(&self) -> bool {
        self.table().is_random()
    }

    /// Returns the properties of its path that change.
    pub(crate) fn path_changes(&self) -> PathChanges {
        self.table().path_changes()
    }

    /// Returns its path, if that changes.
    pub(crate) fn path(&self, streams: &Streams) -> Option<BoxedPath> {
        self.table().path(streams)
    }

    /// Returns the bits that can be sent from `start` to `end`.
    pub(crate) fn bits_between(&self, start: Time, end: Time, streams: &Streams) -> f64 {
        self.table().bits_between(start, end, streams)
    }

    /// Returns the capacity of a link as its discipline knows it.
    pub(crate) fn capacity(&self, link: &LinkContext, streams: &Streams) -> BoxedCapacity {
        self.table().capacity(link, streams)
    }
}
