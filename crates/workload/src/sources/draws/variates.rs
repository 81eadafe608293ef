//! Random variates of the exponential, normal and other distributions, from uniform draws and with `libm` alone.

use std::f64::consts::TAU;

use aqmlab_units::Stream;

/// Exponential of mean 1, by inversion.
pub(crate) fn exponential(stream: &mut Stream) -> f64 {
    -libm::log1p(-stream.uniform())
}

/// Standard normal (Box and Muller 1958).
pub(crate) fn normal(stream: &mut Stream) -> f64 {
    let radius = libm::sqrt(2.0 * exponential(stream));
    radius * libm::cos(TAU * stream.uniform())
}

/// The normal distribution function.
pub(crate) fn normal_below(x: f64) -> f64 {
    0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

/// Weibull, by inversion: `scale` (-ln(1 - u))^(1 / `shape`).
pub(crate) fn weibull(shape: f64, scale: f64, stream: &mut Stream) -> f64 {
    scale * libm::pow(exponential(stream), 1.0 / shape)
}

/// Gamma of mean 1, for a `shape` of at least 1 (Marsaglia and Tsang 2000).
pub(crate) fn gamma(shape: f64, stream: &mut Stream) -> f64 {
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / libm::sqrt(9.0 * d);
    loop {
        let x = normal(stream);
        let v = 1.0 + c * x;
        let v = v * v * v;
        // ln u < x^2 / 2 + d - d v + d ln v, and -ln u is exponential.
        if v > 0.0 && -exponential(stream) < 0.5 * x * x + d - d * v + d * libm::log(v) {
            return d * v / shape;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first two moments of many draws.
    fn moments(mut draw: impl FnMut(&mut Stream) -> f64) -> (f64, f64) {
        let (mut stream, n) = (Stream::named(5, "test"), 400_000);
        let draws: Vec<f64> = (0..n).map(|_| draw(&mut stream)).collect();
        let mean = draws.iter().sum::<f64>() / f64::from(n);
        let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / f64::from(n);
        (mean, variance)
    }

    #[test]
    fn means_and_variances_are_those_of_the_textbook() {
        // Mean and variance; tolerances are at least 4 standard errors.
        let cases = [
            ("exponential", moments(exponential), (1.0, 1.0)),
            ("normal", moments(normal), (0.0, 1.0)),
            // Γ(1 + 1/2) and Γ(2) - Γ(3/2)^2
            ("weibull", moments(|s| weibull(2.0, 1.0, s)), (0.886_227, 0.214_602)),
            ("gamma 1.85", moments(|s| gamma(1.85, s)), (1.0, 1.0 / 1.85)),
            ("gamma 1", moments(|s| gamma(1.0, s)), (1.0, 1.0)),
        ];
        for (name, (mean, variance), (true_mean, true_variance)) in cases {
            assert!((mean - true_mean).abs() < 0.01, "{name}: mean {mean}");
            assert!((variance / true_variance - 1.0).abs() < 0.02, "{name}: variance {variance}");
        }
    }

    #[test]
    fn the_distribution_function_of_normal_draws_is_uniform() {
        let (mean, variance) = moments(|s| normal_below(normal(s)));
        assert!((mean - 0.5).abs() < 0.002 && (variance * 12.0 - 1.0).abs() < 0.01, "{mean}, {variance}");
        assert!((normal_below(1.644_853_627) - 0.95).abs() < 1e-9);
    }
}
