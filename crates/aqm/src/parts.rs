//! What disciplines are made of: averages, curves, hashes, schedulers, and the options that several share.

pub(crate) mod average;
pub(crate) mod bins;
pub(crate) mod control_law;
pub(crate) mod curve;
pub(crate) mod delay;
pub(crate) mod delay_pi;
pub(crate) mod dual;
pub(crate) mod flows;
pub(crate) mod measure;
pub(crate) mod options;
pub(crate) mod overflow;
pub(crate) mod round;
pub(crate) mod token_bucket;
