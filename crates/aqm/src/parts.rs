//! Parts of disciplines: averages, curves, hashes, schedulers, and options that several share.

pub(crate) mod average;
pub(crate) mod bloom;
pub(crate) mod cake;
pub(crate) mod ce_threshold;
pub(crate) mod cobalt;
pub(crate) mod control_law;
pub(crate) mod delay;
pub(crate) mod delay_pi;
pub(crate) mod drr;
pub(crate) mod dual;
pub(crate) mod flows;
pub(crate) mod linux;
pub(crate) mod msr_bucket;
pub(crate) mod options;
pub(crate) mod overflow;
pub(crate) mod queue_unit;
pub(crate) mod red_curve;
pub(crate) mod token_bucket;
