//! The same seed gives the same bytes, however the run is driven.

use aqmlab_units::{Duration, Stream};

use super::*;

/// Everything that a run writes down; floats are printed so that different bits give different texts.
fn fingerprint(run: &Run) -> String {
    format!("{run:?}")
}

#[test]
fn the_same_seed_gives_the_same_bytes_under_every_discipline() {
    for (name, queue) in disciplines() {
        let spec = congested(&queue);
        let [one, two] = [(); 2].map(|()| fingerprint(&Run::to_the_end(&spec, 1)));
        assert!(one == two, "two runs under {name} differ");
    }
}

#[test]
fn different_seeds_give_different_runs() {
    let spec = congested(&law("pi"));
    let [one, two] = [1, 2].map(|seed| Run::to_the_end(&spec, seed));
    assert_ne!(one.summary.bottleneck_packets, two.summary.bottleneck_packets);
    assert_ne!(one.tables.queue.packets, two.tables.queue.packets);
}

#[test]
fn advancing_in_pieces_and_looking_on_the_way_changes_nothing() {
    for (name, queue) in disciplines() {
        let spec = congested(&queue);
        let mut laboratory = prepare(&spec, 1);
        let mut pieces = Stream::named(1, "pieces");
        while laboratory.now() < laboratory.end() {
            let piece = Duration::from_nanos(pieces.below(30_000_000));
            let until = laboratory.now() + piece;
            laboratory.advance(until);
            assert_eq!(laboratory.now(), until.min(laboratory.end()));
            // A look takes a hundred times as long as a piece.
            if pieces.below(16) == 0 {
                laboratory.summary();
                laboratory.response_times();
            }
        }
        let in_pieces = Run::result_of(&mut *laboratory);
        assert!(
            fingerprint(&in_pieces) == fingerprint(&Run::to_the_end(&spec, 1)),
            "pieces matter under {name}"
        );
    }
}

#[test]
fn the_spec_in_full_gives_the_run_of_the_spec_as_written() {
    let spec = congested(&law("ared"));
    assert!(fingerprint(&Run::to_the_end(&in_full(&spec), 1)) == fingerprint(&Run::to_the_end(&spec, 1)));
}
