//! 3GPP's users against the numbers of the methodology.

use super::*;
use crate::sources::Vector;
use crate::sources::tests::{source, summary};

/// Pages of many users: reading and parsing times, main and embedded objects, and how many of these.
#[derive(Default)]
struct Pages {
    reading: Vec<f64>,
    parsing: Vec<f64>,
    main: Vec<f64>,
    embedded: Vec<f64>,
    counts: Vec<f64>,
}

fn pages() -> Pages {
    let mut source = source(r#"{"three_gpp": {"users": 300}}"#, 4);
    let model = ThreeGpp {
        starts: Starts::uniform(0, Duration::ZERO, Duration::ZERO, Stream::numbered(0, 0)),
        side: 0,
        reading: 30.0,
    };
    let mut pages = Pages::default();
    for vector in source.by_ref() {
        let Vector { mut cursor, .. } = vector;
        for i in 0..1_500 {
            let (left, first) = (cursor.state & OBJECTS, cursor.state & FIRST_EMBEDDED != 0);
            let request = model.adu(&mut cursor).expect("endless");
            let response = model.adu(&mut cursor).expect("endless");
            assert_eq!((request.by, request.size, response.pause), (End::Initiator, REQUEST, Duration::ZERO));
            let (pause, size) = (request.pause.as_secs_f64(), response.size.as_f64());
            if left == 0 {
                pages.main.push(size);
                pages.counts.push((cursor.state & OBJECTS) as f64);
                if i > 0 {
                    pages.reading.push(pause);
                } else {
                    assert_eq!(
                        request.pause,
                        Duration::ZERO,
                        "the first reading time is before the connection"
                    );
                }
            } else {
                assert!(cursor.state & OBJECTS == left - 1, "each embedded object is fetched once");
                pages.embedded.push(size);
                if first {
                    pages.parsing.push(pause);
                } else {
                    assert_eq!(
                        request.pause,
                        Duration::ZERO,
                        "objects are asked for one right after another"
                    );
                }
            }
        }
    }
    pages
}

/// Mean of a lognormal between two bounds, by its moments before truncation: the partial expectation
/// exp(mu + sigma^2/2) (Φ(b - sigma) - Φ(a - sigma)) over Φ(b) - Φ(a).
fn truncated_mean(objects: &Objects) -> f64 {
    let below = |x: f64| 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2);
    let variance = libm::log1p((objects.deviation / objects.mean) * (objects.deviation / objects.mean));
    let (sigma, mu) = (variance.sqrt(), libm::log(objects.mean) - variance / 2.0);
    let standard = |x: f64| (libm::log(x) - mu) / sigma;
    let (a, b) = (standard(objects.min), standard(objects.max));
    objects.mean * (below(b - sigma) - below(a - sigma)) / (below(b) - below(a))
}

#[test]
fn every_distribution_is_that_of_the_methodology() {
    let pages = pages();
    let mean = |values: &[f64]| summary(values.to_vec(), []).0;
    // 68,000 pages. Standard errors: 0.4 % of exponential means, 1.2 % of main objects, 2 % of embedded ones.
    assert!((mean(&pages.reading) / 30.0 - 1.0).abs() < 0.02, "reading {}", mean(&pages.reading));
    assert!((mean(&pages.parsing) / 0.13 - 1.0).abs() < 0.02, "parsing {}", mean(&pages.parsing));
    assert!((mean(&pages.counts) / 5.64 - 1.0).abs() < 0.04, "embedded objects {}", mean(&pages.counts));
    let most = pages.counts.iter().filter(|&&count| count > 52.5).count() as f64 / pages.counts.len() as f64;
    assert!((most - 0.0261).abs() < 0.0035, "an atom of (2 / 55)^1.1, and what is rounded up to it: {most}");
    let (main, [median]) = summary(pages.main, [0.5]);
    assert!((main / truncated_mean(&MAIN) - 1.0).abs() < 0.04, "main {main}");
    // exp(mu) of the methodology is exp(8.37).
    assert!((median / libm::exp(8.37) - 1.0).abs() < 0.05, "main median {median}");
    let (embedded, [smallest, median, largest]) = summary(pages.embedded, [0.0, 0.5, 0.999_999]);
    assert!((embedded / truncated_mean(&EMBEDDED) - 1.0).abs() < 0.05, "embedded {embedded}");
    // exp(mu) of the methodology is exp(6.17), of which the lowest 17 % are drawn again.
    let below = |x: f64| 0.5 * libm::erfc(-(libm::log(x) - 6.17) / 2.36 / std::f64::consts::SQRT_2);
    let drawn_again = below(50.0);
    let share = (below(median) - drawn_again) / (1.0 - drawn_again);
    assert!((share - 0.5).abs() < 0.01, "embedded median {median}");
    assert!(smallest >= 50.0 && largest <= 2e6);
}

#[test]
fn users_start_as_pages_do_in_the_long_run() {
    let starts: Vec<f64> = source(r#"{"three_gpp": {"users": 20000, "start": "5 s"}}"#, 1)
        .map(|v| v.start.as_secs_f64() - 5.0)
        .collect();
    let (mean, [median]) = summary(starts, [0.5]);
    assert!((mean / 30.0 - 1.0).abs() < 0.03 && (median / 20.79 - 1.0).abs() < 0.04, "{mean}, {median}");
}
