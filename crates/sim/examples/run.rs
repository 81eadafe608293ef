//! Runs a spec from a file and prints its summary: `cargo run --release --example run -- SPEC.json [SEED]`.

use std::error::Error;

use aqmlab_sim::{Spec, Watch, build};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: run SPEC.json [SEED]")?;
    let seed = arguments.next().map_or(Ok(1), |seed| seed.parse())?;
    let spec = Spec::from_json(&std::fs::read_to_string(path)?)?;
    let mut laboratory = build(&spec, seed, None, Watch::Nothing)?;
    laboratory.advance(laboratory.end());
    println!("{}", serde_json::to_string_pretty(&laboratory.summary())?);
    Ok(())
}
