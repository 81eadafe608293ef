//! Transcriptions of the papers of RED, ARED, PI and REM.

pub(crate) mod ared;
pub(crate) mod pi;
pub(crate) mod red;
pub(crate) mod rem;
