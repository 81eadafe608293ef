//! What disciplines are made of: averages, curves, hashes, schedulers, and the options that several share.

pub(crate) mod average;
pub(crate) mod bins;
pub(crate) mod codel_options;
pub(crate) mod control_law;
pub(crate) mod coupled;
pub(crate) mod curve;
pub(crate) mod delay;
pub(crate) mod delay_pi;
pub(crate) mod dual_options;
pub(crate) mod dual_scheduler;
pub(crate) mod flow_hash;
pub(crate) mod flow_options;
pub(crate) mod flow_queue;
pub(crate) mod flow_store;
pub(crate) mod flow_table;
pub(crate) mod measure;
pub(crate) mod overflow;
pub(crate) mod pie_options;
pub(crate) mod red_options;
pub(crate) mod round;
pub(crate) mod sfb_options;
pub(crate) mod token_bucket;
