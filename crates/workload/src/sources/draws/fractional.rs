//! A normal time series with long-range dependence: the fractional sum-difference (FSD) model.
//!
//! Source: Cao et al. (INFOCOM 2004), section IV; Cao, Cleveland and Sun, "Bandwidth estimation for best-effort
//! Internet traffic" (2004). y(t) = sqrt(1 - θ) s(t) + sqrt(θ) n(t): n is white noise, s the sum of two
//! consecutive values of a fractional ARIMA(0, d, 0) series, both with variance 1. The fractional series is drawn by
//! the recursion of Durbin and Levinson in Hosking (Water Resources Research 1984): exact up to a number of lags, with
//! the coefficients of that many lags from then on. Packmime of ns-2 is built the same way.

use std::collections::VecDeque;

use aqmlab_units::Stream;

use super::variates::normal;

/// Lags kept. Source: ns-2, for arrivals; it keeps 5,000 for sizes, ours are 1,000 for both.
const LAGS: usize = 1_000;

/// Draws the series.
#[derive(Debug)]
pub(crate) struct Fractional {
    stream: Stream,
    d: f64,
    /// The factor of the sum, sqrt((1 - θ) / its variance).
    sum: f64,
    /// The factor of the noise, sqrt(θ).
    noise: f64,
    /// The partial regression of the next value on the last ones, the latest first.
    coefficients: Vec<f64>,
    /// The variance of the next value given the last ones.
    variance: f64,
    /// The last values of the fractional series, the latest first.
    past: VecDeque<f64>,
}

impl Fractional {
    /// With memory parameter `d` in (0, 1/2) and noise share `theta` in (0, 1), in its stationary state.
    pub(crate) fn new(d: f64, theta: f64, stream: Stream) -> Fractional {
        // γ(0) = Γ(1 - 2d) / Γ(1 - d)^2;  ρ(1) = d / (1 - d);  var s = 2 γ(0) (1 + ρ(1))
        let variance = libm::exp(libm::lgamma(1.0 - 2.0 * d) - 2.0 * libm::lgamma(1.0 - d));
        let of_sum = 2.0 * variance * (1.0 + d / (1.0 - d));
        let mut series = Fractional {
            stream,
            d,
            sum: libm::sqrt((1.0 - theta) / of_sum),
            noise: libm::sqrt(theta),
            coefficients: Vec::with_capacity(LAGS),
            variance,
            past: VecDeque::with_capacity(LAGS + 1),
        };
        let first = libm::sqrt(variance) * normal(&mut series.stream);
        series.past.push_front(first);
        series
    }

    /// The next value: normal with mean 0 and variance 1.
    pub(crate) fn next(&mut self) -> f64 {
        if self.coefficients.len() < LAGS {
            self.look_further_back();
        }
        let mean: f64 = self.coefficients.iter().zip(&self.past).map(|(phi, x)| phi * x).sum();
        let x = mean + libm::sqrt(self.variance) * normal(&mut self.stream);
        let sum = x + self.past[0];
        self.past.truncate(LAGS - 1);
        self.past.push_front(x);
        self.sum * sum + self.noise * normal(&mut self.stream)
    }

    /// One more lag: φ(t, t) = d / (t - d), φ(t, j) = φ(t-1, j) - φ(t, t) φ(t-1, t-j).
    fn look_further_back(&mut self) {
        let t = self.coefficients.len() + 1;
        let last = self.d / (t as f64 - self.d);
        let before = self.coefficients.clone();
        for (phi, mirrored) in self.coefficients.iter_mut().zip(before.iter().rev()) {
            *phi -= last * mirrored;
        }
        self.coefficients.push(last);
        // v(t) = (1 - φ(t, t)^2) v(t - 1)
        self.variance *= 1.0 - last * last;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_series_is_standard_normal_with_the_defined_correlations() {
        let (d, theta) = (0.33, 0.6);
        // ρ(k) of the fractional series: the product of (i - 1 + d) / (i - d) for i from 1 to k.
        let rho: Vec<f64> = (0..=31)
            .scan(1.0, |rho, i| {
                *rho *= if i == 0 { 1.0 } else { (f64::from(i) - 1.0 + d) / (f64::from(i) - d) };
                Some(*rho)
            })
            .collect();
        let of_sum = |k: usize| (2.0 * rho[k] + rho[k + 1] + rho[k.abs_diff(1)]) / (2.0 + 2.0 * rho[1]);
        // Several series, because long-range dependence makes the estimates of one converge slowly.
        let (mut square, mut products, mut count) = (0.0, [0.0; 3], 0.0);
        for number in 0..20 {
            let mut series = Fractional::new(d, theta, Stream::numbered(4, number));
            let drawn: Vec<f64> = (0..20_000).map(|_| series.next()).collect();
            for t in 30..drawn.len() {
                square += drawn[t] * drawn[t];
                for (product, lag) in products.iter_mut().zip([1, 5, 30]) {
                    *product += drawn[t] * drawn[t - lag];
                }
                count += 1.0;
            }
        }
        assert!((square / count - 1.0).abs() < 0.02, "variance {}", square / count);
        for (product, lag) in products.iter().zip([1, 5, 30]) {
            let (estimate, truth) = (product / count, (1.0 - theta) * of_sum(lag));
            assert!((estimate - truth).abs() < 0.02, "lag {lag}: {estimate} for {truth}");
        }
    }

    #[test]
    fn the_first_values_have_the_variance_of_all_others() {
        let square: f64 = (0..20_000)
            .map(|number| {
                let mut series = Fractional::new(0.33, 0.2, Stream::numbered(9, number));
                let y = series.next();
                y * y
            })
            .sum();
        assert!((square / 20_000.0 - 1.0).abs() < 0.04, "4 standard errors: {}", square / 20_000.0);
    }
}
