//! What the papers of RED, ARED, PI and REM say, transcribed.

pub(crate) mod ared;
pub(crate) mod pi;
pub(crate) mod red;
pub(crate) mod rem;
