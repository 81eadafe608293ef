//! Options that disciplines of one family share.

pub(crate) mod codel;
pub(crate) mod pie;
pub(crate) mod red;
pub(crate) mod sfb;
