//! `PackMime`'s connections against the published distributions. Quantiles are those of the ns-2 tables; tolerances are the
//! sampling error and the 1 % to which our tables follow them.

use super::*;

/// The first exchange of many connections, by size of the response: (gap, request, response).
fn connections(json: &str, n: usize) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let mut source = source(json, 5);
    let vectors: Vec<Vector> = source.by_ref().take(n).collect();
    let gaps = vectors.windows(2).map(|pair| (pair[1].start - pair[0].start).as_secs_f64()).collect();
    let firsts: Vec<Vec<Adu>> = vectors.iter().map(|vector| source.units(vector, 2)).collect();
    let size = |i: usize| firsts.iter().map(|units| units[i].size.as_f64()).collect();
    (gaps, size(0), size(1))
}

/// Of `values` a share u lies at or below each published quantile. The tolerance is 4 standard errors, and what a shift by 1 %
/// of a value does to its share.
fn follow(name: &str, values: &[f64], published: &[(f64, f64)]) {
    let n = values.len() as f64;
    for &(u, quantile) in published {
        let share = values.iter().filter(|&&value| value <= quantile).count() as f64 / n;
        let tolerance = 4.0 * (u * (1.0 - u) / n).sqrt() + f64::min(0.015, 0.03 * (1.0 - u));
        assert!(
            (share - u).abs() < tolerance,
            "{name}: {share} of the draws at or below {quantile}, not {u}"
        );
    }
}

#[test]
fn sizes_follow_the_published_quantiles() {
    // At this rate nearly all of the variance of request sizes is noise, so that draws are as good as independent.
    let (_, requests, responses) = connections(r#"{"packmime": {"rate_per_second": 1000}}"#, 100_000);
    let published =
        [(0.01, 123.0), (0.25, 351.0), (0.5, 422.0), (0.75, 514.0), (0.9, 869.0), (0.99, 3_062.0)];
    follow("requests", &requests, &published);
    let (mean, _) = summary(requests, []);
    assert!((mean / 580.0 - 1.0).abs() < 0.03, "mean request {mean}");
    let bodies: Vec<f64> = responses.iter().copied().filter(|&size| size > 273.0).collect();
    let validations: Vec<f64> = responses.iter().copied().filter(|&size| size <= 273.0).collect();
    let share = bodies.len() as f64 / responses.len() as f64;
    assert!((0.70..0.735).contains(&share), "P(body) is 0.71 to 0.725, got {share}");
    let published =
        [(0.05, 324.0), (0.5, 2_258.0), (0.75, 8_895.0), (0.9, 20_311.0), (0.95, 35_871.0), (0.99, 93_108.0)];
    follow("bodies", &bodies, &published);
    follow("bodies", &bodies, &[(0.999, 604_295.0)]);
    follow("cache validations", &validations, &[(0.5, 141.0), (0.9, 249.0)]);
    follow("responses", &responses, &[(0.25, 254.0), (0.5, 903.0), (0.9, 14_935.0), (0.95, 30_000.0)]);
    let (mean, _) = summary(validations, []);
    assert!((mean / 153.0 - 1.0).abs() < 0.02, "mean cache validation {mean}");
}

#[test]
fn connections_arrive_at_their_rate_with_weibull_gaps() {
    for rate in [5.0, 500.0] {
        let json = format!(r#"{{"packmime": {{"rate_per_second": {rate}}}}}"#);
        let (gaps, ..) = connections(&json, 100_000);
        let (mean, [median]) = summary(gaps, [0.5]);
        // Long-range dependence: the mean converges more slowly at low rates.
        assert!((mean * rate - 1.0).abs() < 0.1, "{rate}: mean gap {mean}");
        let shape = 1.0 / (1.0 + libm::exp(-(0.352 + 0.388 * libm::log2(rate))));
        let truth = libm::pow(std::f64::consts::LN_2, 1.0 / shape) / libm::tgamma(1.0 + 1.0 / shape);
        assert!((median * rate / truth - 1.0).abs() < 0.1, "{rate}: median gap {median}");
    }
}

#[test]
fn arrivals_are_bursty_over_long_times_where_the_rate_is_low() {
    // Counts of 1,000 gaps each: independent gaps would give an index of dispersion near 1.
    let dispersion = |rate: f64| {
        let (gaps, ..) = connections(&format!(r#"{{"packmime": {{"rate_per_second": {rate}}}}}"#), 100_000);
        let (mean, _) = summary(gaps.clone(), []);
        let variance = gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / gaps.len() as f64;
        let sums: Vec<f64> = gaps.chunks(1_000).map(|chunk| chunk.iter().sum::<f64>()).collect();
        let of_sums = sums.iter().map(|sum| (sum - 1e3 * mean) * (sum - 1e3 * mean)).sum::<f64>();
        of_sums / sums.len() as f64 / (1e3 * variance)
    };
    let (slow, fast) = (dispersion(5.0), dispersion(50_000.0));
    assert!(slow > 10.0, "the variance of long sums grows faster than their length: {slow}");
    assert!(fast < 3.0, "fast links carry arrivals that are nearly independent: {fast}");
}

#[test]
fn connections_have_one_exchange_over_http_1_0_several_over_1_1() {
    let exchanges = |http: &str| -> Vec<usize> {
        let mut source =
            source(&format!(r#"{{"packmime": {{"rate_per_second": 100, "http": "{http}"}}}}"#), 2);
        let vectors: Vec<Vector> = source.by_ref().take(20_000).collect();
        let counts = vectors.iter().map(|vector| {
            let units = source.units(vector, 1_000);
            assert!(units.chunks(2).all(|pair| pair[0].size == units[0].size), "one size of request");
            assert_eq!(vector.persistent, units.len() > 2);
            units.len() / 2
        });
        counts.collect()
    };
    assert!(exchanges("1.0").iter().all(|&n| n == 1));
    let several: Vec<f64> = exchanges("1.1").iter().filter(|&&n| n > 1).map(|&n| n as f64).collect();
    let share = several.len() as f64 / 20_000.0;
    // A persistent connection with several pages of one object each has several exchanges as well.
    assert!((share - 0.09).abs() < 0.0081, "4 standard errors: {share}");
    // One page of 1 + ceil(Exp(1.578)) objects with 0.82, else 1 + ceil(Exp(0.417)) pages, which have one object with
    // 0.69: E ceil(Exp(m)) = 1 / (1 - exp(-1 / m)).
    let more = |mean: f64| 1.0 / (1.0 - libm::exp(-1.0 / mean));
    let objects = 1.0 + more(1.578);
    let mean = 0.82 * objects + 0.18 * (1.0 + more(0.417)) * (0.69 + 0.31 * objects);
    let drawn = summary(several, []).0;
    assert!((drawn / mean - 1.0).abs() < 0.06, "{drawn} exchanges for {mean}");
}

#[test]
fn gaps_in_persistent_connections_have_the_published_medians() {
    let mut source = source(r#"{"packmime": {"rate_per_second": 100}}"#, 2);
    let vectors: Vec<Vector> = source.by_ref().filter(|vector| vector.persistent).take(8_000).collect();
    let (mut gaps, mut later, mut servers) = (Vec::new(), Vec::new(), Vec::new());
    for vector in &vectors {
        let units = source.units(vector, 1_000);
        servers.extend(units.iter().skip(1).step_by(2).map(|unit| unit.pause.as_secs_f64()));
        assert_eq!(units[0].pause, Duration::ZERO);
        gaps.push(units[2].pause.as_secs_f64());
        if units[1].size.get() > 275 {
            later.push(units[3].size.as_f64());
        } else {
            assert_eq!(units[3].size, units[1].size, "all responses are validations of that size");
        }
    }
    // The first gap is between objects in nearly all connections: 0.82 + 0.18 * 0.31 of them.
    let (_, [at]) = summary(gaps, [0.5]);
    let within = 0.876;
    assert!(
        (0.056 * 0.9..0.056 * 1.6).contains(&at),
        "median 2^-4.15 s = 56 ms in {within} of them, got {at}"
    );
    let (_, [median]) = summary(later, [0.5]);
    assert!((median / 1_574.0 - 1.0).abs() < 0.1, "2^10.62 bytes, got {median}");
    // 1 / Weibull(0.63, 305): median 1 / (305 (ln 2)^(1 / 0.63)) s.
    let (_, [median, most]) = summary(servers, [0.5, 0.999_9]);
    assert!((median / 0.005_867 - 1.0).abs() < 0.05 && most <= 0.1, "server times {median}, {most}");
}
