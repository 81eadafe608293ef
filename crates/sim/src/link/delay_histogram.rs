//! The histogram of queueing delays: from the arrival at the queue to the first bit on the wire, the time in the device
//! included.
//!
//! The bins of the histogram are those of floating-point numbers: an exponent and [`DIGITS`] binary digits. So a bin is
//! at most 1/64 of its times wide, no quantile is off by more than 1.6 %, and counting a packet takes some ten
//! instructions. The sum is exact.

use aqmlab_units::Duration;

use crate::packet::{EndpointId, Owner};
use crate::quantiles::Bin;

/// Binary digits of a time that tell its bin, behind the leading one.
const DIGITS: u32 = 6;
/// The low six digits of an exponent are enough to tell all octaves of nanoseconds apart.
const BINS: usize = 64 << DIGITS;

/// The waits of some packets.
#[derive(Clone, Debug)]
pub(crate) struct DelayHistogram {
    counts: Box<[u64; BINS]>,
    sum_ns: u64,
    /// Of that, in the discipline's queue.
    sojourn_sum_ns: u64,
}

/// The bin of a wait. A wait of nothing, which has no exponent, shares that of 2 ns.
#[inline(always)]
fn bin(wait: Duration) -> usize {
    let float = wait.as_nanos().cast_signed() as f64;
    (float.to_bits() >> (f64::MANTISSA_DIGITS - 1 - DIGITS)) as usize & (BINS - 1)
}

/// The bins of all waits above zero in order of time, as the least nanoseconds in each and in the next: up to 2^53 ns,
/// which are 104 days and whole numbers still.
fn bins() -> impl Iterator<Item = (u64, u64)> {
    let edge = |octave: u32, digits: u64| {
        let lead = u128::from((1 << DIGITS) + digits);
        u64::try_from((lead << octave).div_ceil(1 << DIGITS)).expect("at most 2^53 ns")
    };
    let places = (0..53).flat_map(|octave| (0..1 << DIGITS).map(move |digits| (octave, digits)));
    places.map(move |(octave, digits)| (edge(octave, digits), edge(octave, digits + 1)))
}

impl DelayHistogram {
    pub(crate) fn new() -> DelayHistogram {
        let counts = vec![0; BINS].into_boxed_slice().try_into().expect("the vector has this length");
        DelayHistogram { counts, sum_ns: 0, sojourn_sum_ns: 0 }
    }

    #[inline(always)]
    pub(crate) fn record(&mut self, wait: &Wait) {
        self.record_each(std::iter::once(*wait));
    }

    #[inline(always)]
    fn record_each(&mut self, waits: impl Iterator<Item = Wait>) {
        let (mut sum_ns, mut sojourn_sum_ns) = (self.sum_ns, self.sojourn_sum_ns);
        let counts = &mut *self.counts;
        for wait in waits {
            counts[bin(wait.time)] += 1;
            sum_ns += wait.time.as_nanos();
            sojourn_sum_ns += wait.sojourn.as_nanos();
        }
        (self.sum_ns, self.sojourn_sum_ns) = (sum_ns, sojourn_sum_ns);
    }

    /// Take back what was recorded.
    fn forget(&mut self, wait: &Wait) {
        self.counts[bin(wait.time)] -= 1;
        self.sum_ns -= wait.time.as_nanos();
        self.sojourn_sum_ns -= wait.sojourn.as_nanos();
    }

    /// All of them in one.
    pub(crate) fn together<'a>(each: impl IntoIterator<Item = &'a DelayHistogram>) -> DelayHistogram {
        each.into_iter().fold(DelayHistogram::new(), |mut all, waits| {
            all.add(waits);
            all
        })
    }

    fn add(&mut self, more: &DelayHistogram) {
        for (count, more) in self.counts.iter_mut().zip(&*more.counts) {
            *count += more;
        }
        self.sum_ns += more.sum_ns;
        self.sojourn_sum_ns += more.sojourn_sum_ns;
    }

    fn subtract(&mut self, fewer: &DelayHistogram) {
        for (count, fewer) in self.counts.iter_mut().zip(&*fewer.counts) {
            *count -= fewer;
        }
        self.sum_ns -= fewer.sum_ns;
        self.sojourn_sum_ns -= fewer.sojourn_sum_ns;
    }

    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the sum of the delays, in milliseconds.
    pub(crate) fn sum_ms(&self) -> f64 {
        self.sum_ns as f64 * 1e-6
    }

    /// Returns the sums of the delays in the discipline's queue, and in the device below it.
    pub(crate) fn parts_ms(&self) -> (f64, f64) {
        let device_ns = self.sum_ns - self.sojourn_sum_ns;
        (self.sojourn_sum_ns as f64 * 1e-6, device_ns as f64 * 1e-6)
    }

    /// The bins that hold something in order of time, in milliseconds.
    pub(crate) fn bins_ms(&self) -> Vec<Bin> {
        let none = bin(Duration::ZERO);
        let above = bins()
            .filter(|&(low, high)| low < high)
            .map(|(low, high)| (low, high, bin(Duration::from_nanos(low))));
        let all = std::iter::once((0, 0, none)).chain(above.filter(|&(.., place)| place != none));
        let bins = all.map(|(low, high, place)| Bin {
            low: low as f64 * 1e-6,
            high: high as f64 * 1e-6,
            count: self.counts[place],
        });
        bins.filter(|bin| bin.count > 0).collect()
    }
}

/// The queueing delays of one direction of a link since the start, by class of its discipline and, if owners are kept
/// apart, by owner.
#[derive(Clone, Debug)]
pub(crate) struct DelayByOwner {
    /// The names of the classes, if there are several.
    names: &'static [&'static str],
    /// Those of the first class, or of all packets where the discipline knows no classes: beside the others, so that
    /// most packets need no looking up.
    first: DelayHistogram,
    other_classes: Vec<DelayHistogram>,
    owners: Option<Box<Owners>>,
}

#[derive(Clone, Debug)]
struct Owners {
    /// By number of connection.
    of_connections: Vec<Owner>,
    /// Each `None` before its first packet.
    waits: Vec<Option<DelayHistogram>>,
}

/// A packet that waited: how long, where to, and in which of the classes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    pub(crate) time: Duration,
    /// Of that, in the discipline's queue.
    pub(crate) sojourn: Duration,
    pub(crate) to: EndpointId,
    pub(crate) class: u8,
}

impl DelayByOwner {
    /// Returns empty histograms for a number of `owners`, if any are kept apart, and for the `classes` of these names.
    pub(crate) fn new(owners: usize, classes: &'static [&'static str]) -> DelayByOwner {
        let told_apart = || Owners { of_connections: Vec::new(), waits: vec![None; owners] };
        DelayByOwner {
            names: classes,
            first: DelayHistogram::new(),
            other_classes: vec![DelayHistogram::new(); classes.len().saturating_sub(1)],
            owners: (owners > 0).then(|| Box::new(told_apart())),
        }
    }

    /// Returns true if a new connection has another owner than the previous one of its number, where owners are kept apart.
    pub(crate) fn is_another(&self, client: EndpointId, owner: Owner) -> bool {
        let of_connections = self.owners.as_ref().map(|owners| &owners.of_connections);
        of_connections.is_some_and(|owners| owners.get(client.connection()) != Some(&owner))
    }

    /// A connection begins.
    pub(crate) fn opened(&mut self, client: EndpointId, owner: Owner) {
        if let Some(owners) = &mut self.owners {
            if owners.of_connections.len() <= client.connection() {
                owners.of_connections.resize(client.connection() + 1, Owner::default());
            }
            owners.of_connections[client.connection()] = owner;
        }
    }

    #[inline(always)]
    pub(crate) fn record(&mut self, wait: Wait) {
        self.class(wait.class).record(&wait);
        if let Some(owners) = &mut self.owners {
            owners.of(wait.to).record(&wait);
        }
    }

    /// Several at once, of a discipline without classes.
    #[inline(always)]
    pub(crate) fn record_each(&mut self, waits: impl Iterator<Item = Wait> + Clone) {
        self.first.record_each(waits.clone());
        if let Some(owners) = &mut self.owners {
            waits.for_each(|wait| owners.of(wait.to).record(&wait));
        }
    }

    /// As it is with packets that were sent and not recorded, and without those that were recorded before they are sent.
    pub(crate) fn corrected(
        &self,
        more: impl Iterator<Item = Wait>,
        unsent: impl Iterator<Item = Wait>,
    ) -> DelayByOwner {
        let mut sent = self.clone();
        more.for_each(|wait| sent.record(wait));
        for wait in unsent {
            sent.class(wait.class).forget(&wait);
            if let Some(owners) = &mut sent.owners {
                owners.of(wait.to).forget(&wait);
            }
        }
        sent
    }

    /// Returns the delays since `before` was read.
    pub(crate) fn since(&self, before: &DelayByOwner) -> DelayByOwner {
        let mut since = self.clone();
        since.first.subtract(&before.first);
        for (waits, before) in since.other_classes.iter_mut().zip(&before.other_classes) {
            waits.subtract(before);
        }
        if let (Some(since), Some(before)) = (&mut since.owners, &before.owners) {
            for (waits, before) in since.waits.iter_mut().zip(&before.waits) {
                if let (Some(waits), Some(before)) = (waits, before) {
                    waits.subtract(before);
                }
            }
        }
        since
    }

    /// Those of all packets.
    pub(crate) fn all(&self) -> DelayHistogram {
        DelayHistogram::together(self.each())
    }

    /// Returns the delays of one owner, if owners are kept apart and it has any.
    pub(crate) fn of(&self, owner: Owner) -> Option<&DelayHistogram> {
        self.owners.as_ref()?.waits.get(owner.index())?.as_ref()
    }

    /// Those of each class, by name; none where the discipline has no classes.
    pub(crate) fn classes(&self) -> impl Iterator<Item = (&'static str, &DelayHistogram)> + Clone {
        self.names.iter().copied().zip(self.each())
    }

    fn each(&self) -> impl Iterator<Item = &DelayHistogram> + Clone {
        std::iter::once(&self.first).chain(&self.other_classes)
    }

    #[inline(always)]
    fn class(&mut self, class: u8) -> &mut DelayHistogram {
        match class {
            0 => &mut self.first,
            other => &mut self.other_classes[usize::from(other) - 1],
        }
    }
}

impl Owners {
    /// The waits that a packet to `to` belongs to.
    fn of(&mut self, to: EndpointId) -> &mut DelayHistogram {
        let owner = to.datagram_owner().unwrap_or_else(|| self.of_connections[to.connection()]);
        self.waits[owner.index()].get_or_insert_with(DelayHistogram::new)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::side::Side;

    /// Spans of every order of magnitude.
    fn spans() -> impl Strategy<Value = Vec<u64>> {
        let span =
            (0..45u32, any::<u64>()).prop_map(|(octave, digits)| (1 << octave) + digits % (1 << octave));
        prop::collection::vec(prop_oneof![4 => span, 1 => 0..70u64], 1..200)
    }

    /// A third of it in the discipline's queue.
    fn wait(span: u64) -> Wait {
        let to = EndpointId::datagram(0, 0, Side::default());
        Wait { time: Duration::from_nanos(span), sojourn: Duration::from_nanos(span / 3), to, class: 1 }
    }

    fn recorded(spans: &[u64]) -> DelayHistogram {
        let mut waits = DelayHistogram::new();
        for &span in spans {
            waits.record(&wait(span));
        }
        waits
    }

    #[test]
    fn bins_are_contiguous_and_each_has_its_own_index() {
        let all: Vec<_> = bins().filter(|(low, high)| low < high).collect();
        assert!(all.windows(2).all(|pair| pair[0].1 == pair[1].0));
        let mut places: Vec<_> = all.iter().map(|&(low, _)| bin(Duration::from_nanos(low))).collect();
        for (&(low, high), &place) in all.iter().zip(&places) {
            assert_eq!(bin(Duration::from_nanos(high - 1)), place, "{low} to {high} ns");
            assert!(high - low <= low.div_ceil(1 << DIGITS), "{low} to {high} ns");
        }
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), all.len());
        assert_eq!(bin(Duration::ZERO), bin(Duration::from_nanos(2)));
    }

    proptest! {
        #[test]
        fn each_wait_lies_in_one_bin_at_most_a_sixtyfourth_wide(spans in spans()) {
            let spans: Vec<u64> = spans.into_iter().filter(|&span| span != 2).collect();
            let waits = recorded(&spans);
            let bins = waits.bins_ms();
            prop_assert_eq!(bins.iter().map(|bin| bin.count).sum::<u64>(), spans.len() as u64);
            prop_assert!(bins.windows(2).all(|pair| pair[0].high <= pair[1].low));
            for bin in &bins {
                let is_inside = |ms: f64| if ms == 0.0 { bin.low == 0.0 } else { bin.low <= ms && ms < bin.high };
                let inside = spans.iter().filter(|&&span| is_inside(span as f64 * 1e-6)).count();
                prop_assert_eq!(inside as u64, bin.count);
            }
        }

        #[test]
        fn what_came_later_is_what_is_there_less_what_was_there(
            before in spans(), after in spans(), unsent in spans(), unnoted in spans(),
        ) {
            let record = |delays: &mut DelayByOwner, spans: &[u64]| spans.iter().for_each(|&span| delays.record(wait(span)));
            let owner = Owner::source(0);
            let mut delays = DelayByOwner::new(2, &["a", "b"]);
            record(&mut delays, &before);
            let first = delays.clone();
            record(&mut delays, &after);
            record(&mut delays, &unsent);
            let each = |spans: Vec<u64>| spans.into_iter().map(wait);
            let since = delays.corrected(each(unnoted.clone()), each(unsent)).since(&first);
            let expected = recorded(&[after, unnoted].concat());
            let (_, of_class) = since.classes().nth(1).expect("two classes");
            for waits in [&since.all(), since.of(owner).expect("it sent packets"), of_class] {
                prop_assert_eq!((waits.bins_ms(), waits.sum_ns), (expected.bins_ms(), expected.sum_ns));
                prop_assert_eq!(waits.parts_ms(), expected.parts_ms());
            }
            prop_assert!(since.of(Owner::USERS).is_none() && since.classes().next().is_some_and(|(_, waits)| waits.count() == 0));
        }
    }
}
