//! How long packets waited: from their arrival at the queue to their first bit on the wire, the time in the device
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
pub(crate) struct Waits {
    counts: Box<[u64; BINS]>,
    sum_ns: u64,
}

/// The bin of a wait. A wait of nothing, which has no exponent, shares that of 2 ns.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "reduced to the number of bins")]
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

impl Waits {
    pub(crate) fn new() -> Waits {
        Waits { counts: Box::new([0; BINS]), sum_ns: 0 }
    }

    #[inline(always)]
    pub(crate) fn record(&mut self, wait: Duration) {
        self.counts[bin(wait)] += 1;
        self.sum_ns += wait.as_nanos();
    }

    /// Take back what was recorded.
    fn forget(&mut self, wait: Duration) {
        self.counts[bin(wait)] -= 1;
        self.sum_ns -= wait.as_nanos();
    }

    pub(crate) fn add(&mut self, more: &Waits) {
        for (count, more) in self.counts.iter_mut().zip(&*more.counts) {
            *count += more;
        }
        self.sum_ns += more.sum_ns;
    }

    fn subtract(&mut self, fewer: &Waits) {
        for (count, fewer) in self.counts.iter_mut().zip(&*fewer.counts) {
            *count -= fewer;
        }
        self.sum_ns -= fewer.sum_ns;
    }

    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// What they come to together, in milliseconds.
    pub(crate) fn sum_ms(&self) -> f64 {
        self.sum_ns as f64 * 1e-6
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

/// What one direction of a link has made its packets wait since the start: all of them, and apart from each other those of
/// each owner and those in each class of its discipline, where there are several.
#[derive(Clone, Debug)]
pub(crate) struct Waited {
    pub(crate) all: Waits,
    apart: Option<Box<Apart>>,
}

#[derive(Clone, Debug)]
struct Apart {
    /// By number of connection.
    owners: Vec<Owner>,
    /// As many as there are owners, or none; each `None` before its first packet.
    by_owner: Vec<Option<Waits>>,
    by_class: Vec<(&'static str, Waits)>,
}

/// A packet that waited: how long, where to, and in which of the classes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    pub(crate) time: Duration,
    pub(crate) to: EndpointId,
    pub(crate) class: usize,
}

impl Waited {
    /// Those of `owners`, if there are any, and of `classes` are kept apart.
    pub(crate) fn new(owners: usize, classes: &[&'static str]) -> Waited {
        let apart = || Apart {
            owners: Vec::new(),
            by_owner: vec![None; owners],
            by_class: classes.iter().map(|&name| (name, Waits::new())).collect(),
        };
        let is_apart = owners > 0 || !classes.is_empty();
        Waited { all: Waits::new(), apart: is_apart.then(|| Box::new(apart())) }
    }

    /// A connection begins.
    pub(crate) fn opened(&mut self, client: EndpointId, owner: Owner) {
        if let Some(apart) = &mut self.apart
            && !apart.by_owner.is_empty()
        {
            if apart.owners.len() <= client.connection() {
                apart.owners.resize(client.connection() + 1, Owner::default());
            }
            apart.owners[client.connection()] = owner;
        }
    }

    #[inline(always)]
    pub(crate) fn record(&mut self, wait: Wait) {
        self.all.record(wait.time);
        if let Some(apart) = &mut self.apart {
            apart.each(wait, |waits| waits.record(wait.time));
        }
    }

    /// As it is without packets that were recorded before they were sent.
    pub(crate) fn without(&self, unsent: impl Iterator<Item = Wait>) -> Waited {
        let mut sent = self.clone();
        for wait in unsent {
            sent.all.forget(wait.time);
            if let Some(apart) = &mut sent.apart {
                apart.each(wait, |waits| waits.forget(wait.time));
            }
        }
        sent
    }

    /// What came after `before` was read off.
    pub(crate) fn since(&self, before: &Waited) -> Waited {
        let mut since = self.clone();
        since.all.subtract(&before.all);
        if let (Some(since), Some(before)) = (&mut since.apart, &before.apart) {
            for (waits, before) in since.by_owner.iter_mut().zip(&before.by_owner) {
                if let (Some(waits), Some(before)) = (waits, before) {
                    waits.subtract(before);
                }
            }
            for ((_, waits), (_, before)) in since.by_class.iter_mut().zip(&before.by_class) {
                waits.subtract(before);
            }
        }
        since
    }

    /// Those of one owner, if they were kept apart and there are any.
    pub(crate) fn of(&self, owner: Owner) -> Option<&Waits> {
        self.apart.as_ref()?.by_owner.get(owner.index())?.as_ref()
    }

    /// Those of each class, by name; none where the discipline has no classes.
    pub(crate) fn by_class(&self) -> &[(&'static str, Waits)] {
        self.apart.as_ref().map_or(&[], |apart| &apart.by_class)
    }
}

impl Apart {
    /// Show each of the waits that a packet belongs to.
    #[inline(never)]
    fn each(&mut self, Wait { to, class, .. }: Wait, mut show: impl FnMut(&mut Waits)) {
        if !self.by_owner.is_empty() {
            let owner = to.datagram_owner().unwrap_or_else(|| self.owners[to.connection()]);
            show(self.by_owner[owner.index()].get_or_insert_with(Waits::new));
        }
        if let Some((_, waits)) = self.by_class.get_mut(class) {
            show(waits);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Spans of every order of magnitude.
    fn spans() -> impl Strategy<Value = Vec<u64>> {
        let span =
            (0..45u32, any::<u64>()).prop_map(|(octave, digits)| (1 << octave) + digits % (1 << octave));
        prop::collection::vec(prop_oneof![4 => span, 1 => 0..70u64], 1..200)
    }

    fn recorded(spans: &[u64]) -> Waits {
        let mut waits = Waits::new();
        for &span in spans {
            waits.record(Duration::from_nanos(span));
        }
        waits
    }

    #[test]
    fn bins_are_whole_and_side_by_side_and_each_has_a_place_of_its_own() {
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
        fn what_came_later_is_what_is_there_less_what_was_there(before in spans(), after in spans(), unsent in spans()) {
            let wait = |&span: &u64| Wait { time: Duration::from_nanos(span), to: EndpointId::datagram(0, 0, 0), class: 1 };
            let record = |waited: &mut Waited, spans: &[u64]| spans.iter().map(wait).for_each(|wait| waited.record(wait));
            let owner = Owner::source(0);
            let mut waited = Waited::new(2, &["a", "b"]);
            record(&mut waited, &before);
            let first = waited.clone();
            record(&mut waited, &after);
            record(&mut waited, &unsent);
            let since = waited.without(unsent.iter().map(wait)).since(&first);
            let expected = recorded(&after);
            for waits in [&since.all, since.of(owner).expect("it sent packets"), &since.by_class()[1].1] {
                prop_assert_eq!((waits.bins_ms(), waits.sum_ns), (expected.bins_ms(), expected.sum_ns));
            }
            prop_assert!(since.of(Owner::USERS).is_none() && since.by_class()[0].1.count() == 0);
        }
    }
}
