//! The program `aqmlab-live`: see the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    aqmlab_live::main()
}
