//! RED's moving average of the queue.

use aqmlab_units::{Duration, Time};

/// An exponentially weighted moving average over arrivals. In an idle period it decays as if the link had sent
/// packets.
#[derive(Clone, Debug)]
pub(crate) struct Average {
    w_q: f64,
    /// C ln(1 - `w_q`): the decay of the average while the link is idle, per second.
    idle_decay: f64,
    avg: f64,
    /// While the queue is empty: the time up to which the average has been aged.
    idle_since: Time,
}

impl Average {
    /// Return the average of a queue that has been empty, before a link of C packets per second.
    pub(crate) fn new(w_q: f64, packets_per_sec: f64) -> Average {
        Average { w_q, idle_decay: packets_per_sec * libm::log1p(-w_q), avg: 0.0, idle_since: Time::ZERO }
    }

    /// `avg`, in packets.
    #[inline]
    pub(crate) fn get(&self) -> f64 {
        self.avg
    }

    /// Sample `q` waiting packets: avg = (1 - `w_q`) avg + `w_q` q. Returns the average.
    #[inline]
    pub(crate) fn sample(&mut self, q: f64) -> f64 {
        self.avg += self.w_q * (q - self.avg);
        self.avg
    }

    /// Start an idle period.
    #[inline]
    pub(crate) fn start_idle(&mut self, now: Time) {
        self.idle_since = now;
    }

    /// Age the average of an empty queue: avg = (1 - `w_q`)^m avg, where m = idle time x C is the number of
    /// packets that the link could have sent since it was last aged.
    pub(crate) fn age(&mut self, now: Time) {
        let idle = now - self.idle_since;
        self.idle_since = now;
        if idle > Duration::ZERO {
            self.avg *= libm::exp(self.idle_decay * idle.as_secs_f64());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_second_counts_as_samples_of_zero_at_the_links_rate() {
        let mut aged = Average::new(0.002, 100.0);
        let mut sampled = aged.clone();
        (aged.avg, sampled.avg) = (10.0, 10.0);
        aged.age(Time::from_secs_f64(1.0));
        (0..100).for_each(|_| {
            sampled.sample(0.0);
        });
        assert!((aged.get() - sampled.get()).abs() < 1e-12);
    }

    #[test]
    fn the_average_ages_alike_in_one_step_and_in_many() {
        let mut once = Average::new(0.002, 1000.0);
        once.avg = 10.0;
        let mut often = once.clone();
        once.age(Time::from_secs_f64(0.5));
        (1..=50).for_each(|step| often.age(Time::from_secs_f64(0.01 * f64::from(step))));
        assert!((once.get() - often.get()).abs() < 1e-12);
    }
}
