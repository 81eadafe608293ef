//! The words of Linux's `tc` for disciplines and their parameters.

/// A discipline of Linux in `tc`'s words.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Tc {
    /// Its name. `pfifo` and `bfifo` are one discipline here, with limits in packets and in bytes.
    pub names: &'static [&'static str],
    /// True if it marks without the word `ecn`; `None` if it has no such word.
    pub ecn: Option<bool>,
    /// Linux's values of parameters, where they differ from the defaults here: `("limit", "1000 packets")`.
    pub values: &'static [(&'static str, &'static str)],
    /// Words that are true of this discipline: `split-gso`, or a word with its value, `memory_limit 32Mb`.
    pub accepted: &'static [&'static str],
    /// Words that are not modelled, and the reason.
    pub refused: &'static [(&'static str, &'static str)],
}

/// The words of `tc` for a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
pub enum TcWords {
    /// A word before the value: `target 5ms`.
    Value(&'static str),
    /// A word before the value in milliseconds, without their unit: `rehash 600000`.
    Milliseconds(&'static str),
    /// A word before a multiple of the value: `alpha 2` for 0.125 Hz is the sixteenfold.
    Multiple(&'static str, f64),
    /// A word that is repeated as often as the value says.
    Repeated(&'static str),
    /// The words for true and for false. An empty one is not written.
    Flag(&'static str, &'static str),
    /// The value's name alone, but for some names that have no word.
    Name(&'static [&'static str]),
    /// The name of the discipline for some values.
    Kind(&'static [(&'static str, &'static str)]),
    /// The words for some values.
    Choice(&'static [(&'static str, &'static str)]),
}
