//! The congestion controls that a profile can name, and one value for any of them.

use std::fmt;

use aqmlab_units::BitRate;

use super::{Ack, Bbr, CongestionControl, Cubic, Dctcp, Ledbat, Marks, NewReno, Prague, Reno};
use crate::Profile;

/// A congestion control by its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "each is described where it is written")]
pub enum Algorithm {
    #[default]
    Reno,
    Cubic,
    Dctcp,
    Prague,
    Bbr,
    Ledbat,
}

impl Algorithm {
    /// Each of them, under its name.
    pub const NAMES: [(&'static str, Algorithm); 6] = [
        ("reno", Algorithm::Reno),
        ("cubic", Algorithm::Cubic),
        ("dctcp", Algorithm::Dctcp),
        ("prague", Algorithm::Prague),
        ("bbr", Algorithm::Bbr),
        ("ledbat", Algorithm::Ledbat),
    ];
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Algorithm::NAMES.iter().find(|(_, algorithm)| algorithm == self);
        f.write_str(name.expect("every algorithm has a name").0)
    }
}

/// The congestion control that the profile names.
#[derive(Debug)]
#[expect(missing_docs, reason = "each is described where it is written")]
pub enum Any {
    /// Reno of a classic endpoint, whose recovery is the window's inflation.
    Classic(NewReno),
    Reno(Reno),
    Cubic(Cubic),
    Dctcp(Dctcp),
    Prague(Prague),
    /// Much larger than the others.
    Bbr(Box<Bbr>),
    /// So is its history of delays.
    Ledbat(Box<Ledbat>),
}

/// Call `$method` of whichever control `$any` is.
macro_rules! of_any {
    ($any:expr, $method:ident($($argument:expr),*)) => {
        match $any {
            Any::Classic(control) => control.$method($($argument),*),
            Any::Reno(control) => control.$method($($argument),*),
            Any::Cubic(control) => control.$method($($argument),*),
            Any::Dctcp(control) => control.$method($($argument),*),
            Any::Prague(control) => control.$method($($argument),*),
            Any::Bbr(control) => control.$method($($argument),*),
            Any::Ledbat(control) => control.$method($($argument),*),
        }
    };
}

impl CongestionControl for Any {
    fn new(profile: &Profile) -> Any {
        if profile.is_classic() {
            return Any::Classic(NewReno::new(profile));
        }
        match profile.congestion {
            Algorithm::Reno => Any::Reno(Reno::new(profile)),
            Algorithm::Cubic => Any::Cubic(Cubic::new(profile)),
            Algorithm::Dctcp => Any::Dctcp(Dctcp::new(profile)),
            Algorithm::Prague => Any::Prague(Prague::new(profile)),
            Algorithm::Bbr => Any::Bbr(Box::new(Bbr::new(profile))),
            Algorithm::Ledbat => Any::Ledbat(Box::new(Ledbat::new(profile))),
        }
    }

    fn cwnd(&self) -> u32 {
        of_any!(self, cwnd())
    }

    fn ssthresh(&self) -> u32 {
        of_any!(self, ssthresh())
    }

    fn marks(&self) -> Marks {
        of_any!(self, marks())
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        of_any!(self, pacing_rate())
    }

    fn on_delivery(&mut self, ack: &Ack) {
        of_any!(self, on_delivery(ack));
    }

    fn on_ack(&mut self, ack: &Ack) {
        of_any!(self, on_ack(ack));
    }

    fn on_fast_retransmit(&mut self, window: u32, mss: u32) {
        of_any!(self, on_fast_retransmit(window, mss));
    }

    fn on_duplicate_ack(&mut self, mss: u32) {
        of_any!(self, on_duplicate_ack(mss));
    }

    fn on_partial_ack(&mut self, ack: &Ack) {
        of_any!(self, on_partial_ack(ack));
    }

    fn on_recovered(&mut self, flight: u32, mss: u32) {
        of_any!(self, on_recovered(flight, mss));
    }

    fn on_timeout(&mut self, window: u32, mss: u32) {
        of_any!(self, on_timeout(window, mss));
    }

    fn on_spurious(&mut self) {
        of_any!(self, on_spurious());
    }

    fn on_ecn_echo(&mut self, window: u32, mss: u32) {
        of_any!(self, on_ecn_echo(window, mss));
    }

    fn on_idle(&mut self, initial_window: u32) {
        of_any!(self, on_idle(initial_window));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_algorithm_is_built_under_the_name_that_it_is_written_with() {
        for (name, congestion) in Algorithm::NAMES {
            let profile = Profile { congestion, ..Profile::linux_6() };
            let built = format!("{:?}", Any::new(&profile));
            assert_eq!(
                (congestion.to_string().as_str(), format!("{congestion:?}").to_lowercase().as_str()),
                (name, name)
            );
            assert!(built.starts_with(&format!("{congestion:?}(")), "{built}");
        }
    }
}
