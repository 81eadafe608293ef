//! Random traffic of the oracle: the phases of a pattern differ in load, packet sizes, ECN and flows.

use aqmlab_aqm::Ecn;
use aqmlab_units::{BitRate, Bytes, Duration, Stream};

use super::line::{ARRIVAL, GRID, Line, on_grid};
use super::segments::{self, Segment};
use super::{HEADER, SHORTEST};

/// The time between the set-up of the disciplines and the first packet, in which the kernel activates its own.
pub(crate) const LEAD: Duration = Duration::from_millis(100);

/// The largest number of flows.
pub(crate) const FLOWS: u32 = 12;

/// Returns the destination of a flow, which our hash of flows knows too.
pub(crate) fn address(flow: u32) -> [u8; 4] {
    (0x0A00_0000 + flow).to_be_bytes()
}

/// The longest packet.
const LONGEST: usize = 1500;

/// The traffic of a pattern.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pub(crate) line: Line,
    /// The packets in the order of their arrival.
    pub(crate) arrivals: Vec<Arrival>,
}

/// A packet that arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// Nanoseconds since the set-up of the disciplines.
    pub(crate) after: u64,
    /// Bytes from the IP header on.
    pub(crate) size: usize,
    pub(crate) ecn: Ecn,
    pub(crate) flow: u32,
    /// Its TCP header, if it has one.
    pub(crate) segment: Option<Segment>,
}

/// A part of a pattern whose traffic has one character.
struct Phase {
    packets: usize,
    /// The offered load in parts of the line's rate; `None` for packets back to back.
    load: Option<f64>,
    sizes: (usize, usize),
}

impl Pattern {
    /// Returns pattern `number` of this seed, with TCP segments if `has_segments`.
    pub(crate) fn new(seed: u64, number: u64, packets: usize, has_segments: bool) -> Pattern {
        let mut segments = has_segments.then(|| segments::Flows::new(seed, number, FLOWS));
        let mut rng = Stream::numbered(Stream::key(seed, "oracle"), number);
        // 1 to 20 Mbit/s: intervals of 100 ms are few or many packets long.
        let rate = BitRate::from_mbit_per_sec(pick(&mut rng, &[1, 1, 2, 5, 10, 20]));
        let capable = pick(&mut rng, &[0.0, 0.5, 1.0]);
        let flows = pick(&mut rng, &[1, 2, 5, FLOWS.into()]);
        let mut arrivals = Vec::with_capacity(packets);
        let mut after = on_grid(LEAD.as_nanos(), ARRIVAL);
        while arrivals.len() < packets {
            let mut phase = Phase::draw(&mut rng);
            if has_segments {
                phase.sizes = segments::SIZES;
            }
            for _ in 0..phase.packets.min(packets - arrivals.len()) {
                let size = between(&mut rng, phase.sizes);
                let ecn = if rng.uniform() < capable { capable_field(&mut rng) } else { Ecn::NotEct };
                // The smaller of two draws: some flows send more than others.
                let flow = rng.below(flows).min(rng.below(flows));
                let flow = u32::try_from(flow).expect("few");
                let segment = segments.as_mut().and_then(|segments| segments.next(flow));
                let size = segment.map_or(size, |segment| segment.size());
                arrivals.push(Arrival { after, size, ecn, flow, segment });
                after = on_grid(after + phase.gap(rate, &mut rng), ARRIVAL);
            }
            if rng.below(6) == 0 {
                // The queue empties, and the law may forget.
                after = on_grid(after + rng.below(3_000_000_000), ARRIVAL);
            }
        }
        Pattern { line: Line { rate }, arrivals }
    }

    /// Returns a time after which no packet of the pattern is in a queue of a discipline that sends at `slowest` or faster.
    pub(crate) fn duration(&self, slowest: Option<BitRate>) -> Duration {
        let last = self.arrivals.last().map_or(0, |arrival| arrival.after);
        let rate = slowest.map_or(self.line.rate, |slowest| slowest.min(self.line.rate));
        let sent = self
            .arrivals
            .iter()
            .map(|arrival| rate.time_to_send(Bytes::new((HEADER + arrival.size) as u64)).as_nanos() + GRID);
        Duration::from_nanos(last + sent.sum::<u64>())
    }
}

impl Phase {
    fn draw(rng: &mut Stream) -> Phase {
        Phase {
            packets: between(rng, (1, 400)),
            load: pick(
                rng,
                &[None, Some(0.3), Some(0.8), Some(0.95), Some(1.05), Some(1.2), Some(1.2), Some(3.0)],
            ),
            sizes: pick(rng, &[(SHORTEST, 100), (SHORTEST, LONGEST), (1000, LONGEST), (LONGEST, LONGEST)]),
        }
    }

    /// Draws the nanoseconds from a packet to the next one.
    fn gap(&self, rate: BitRate, rng: &mut Stream) -> u64 {
        let Some(load) = self.load else { return GRID };
        let mean_size = usize::midpoint(self.sizes.0, self.sizes.1) + HEADER;
        let mean = rate.time_to_send(Bytes::new(mean_size as u64)).as_secs_f64() / load;
        // Uniform from 0 to twice the mean.
        GRID + Duration::from_secs_f64(2.0 * mean * rng.uniform()).as_nanos()
    }
}

fn capable_field(rng: &mut Stream) -> Ecn {
    pick(rng, &[Ecn::Ect0, Ecn::Ect0, Ecn::Ect0, Ecn::Ect1, Ecn::Ce])
}

fn pick<T: Copy>(rng: &mut Stream, choices: &[T]) -> T {
    choices[usize::try_from(rng.below(choices.len() as u64)).expect("an index")]
}

fn between(rng: &mut Stream, (least, most): (usize, usize)) -> usize {
    least + usize::try_from(rng.below((most - least + 1) as u64)).expect("a size")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_arrive_one_after_another_in_the_grid() {
        for number in 0..20 {
            let pattern = Pattern::new(1, number, 500, number % 2 == 0);
            assert_eq!(pattern.arrivals.len(), 500);
            assert!(pattern.arrivals.iter().all(|arrival| arrival.after % GRID == ARRIVAL));
            assert!(pattern.arrivals.windows(2).all(|pair| pair[0].after < pair[1].after));
        }
    }
}
