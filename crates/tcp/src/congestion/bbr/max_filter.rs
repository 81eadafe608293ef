//! Maximum filter over a window of virtual time.

use std::collections::VecDeque;

/// The largest value of the last few units of a time that never decreases.
#[derive(Debug, Default)]
pub(super) struct MaxFilter {
    /// Times rise and values fall: each is the maximum once those before it are too old.
    candidates: VecDeque<(u64, f64)>,
}

impl MaxFilter {
    /// Add `value` at `time`, remove values older than `window_length`, and return the maximum.
    pub(super) fn update(&mut self, value: f64, time: u64, window_length: u64) -> f64 {
        while self.candidates.back().is_some_and(|&(_, smaller)| smaller <= value) {
            self.candidates.pop_back();
        }
        self.candidates.push_back((time, value));
        while self.candidates.front().is_some_and(|&(at, _)| at + window_length <= time) {
            self.candidates.pop_front();
        }
        self.candidates.front().map_or(value, |&(_, max)| max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_is_forgotten_when_its_window_has_passed() {
        let mut filter = MaxFilter::default();
        let maxima: Vec<f64> = [9.0, 5.0, 7.0, 1.0, 1.0]
            .iter()
            .zip(0..)
            .map(|(&value, time)| filter.update(value, time, 2))
            .collect();
        assert_eq!(maxima, [9.0, 9.0, 7.0, 7.0, 1.0]);
    }
}
