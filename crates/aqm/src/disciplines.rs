//! The disciplines, one a file.

pub(crate) mod ared;
pub(crate) mod avq;
pub(crate) mod blue;
pub(crate) mod choke;
pub(crate) mod cobalt;
pub(crate) mod codel;
pub(crate) mod droptail;
pub(crate) mod dualpi2;
pub(crate) mod fq_cobalt;
pub(crate) mod fq_codel;
pub(crate) mod fq_pie;
pub(crate) mod fred;
pub(crate) mod ldc;
pub(crate) mod mimd_red;
pub(crate) mod pi;
pub(crate) mod pi2;
pub(crate) mod pie;
pub(crate) mod red;
pub(crate) mod red_star;
pub(crate) mod rem;
pub(crate) mod sfb;
pub(crate) mod sfq;
pub(crate) mod sred;
pub(crate) mod threshold;
