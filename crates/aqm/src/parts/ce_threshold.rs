//! Marks above a sojourn time, besides the signals of a law: `ce_threshold` of Linux.
//!
//! Source: Linux `codel_impl.h`, `tc-codel(8)` and `tc-fq_codel(8)`; ns-3 has it for COBALT too. It lets senders that respond to the share of marks, as
//! those of DCTCP do, share a link with others.

use aqmlab_units::Duration;

use crate::parameter::{check, choices};
use crate::{Ecn, ParameterError, Verdict};

choices! {
    /// The packets that are marked above a threshold.
    pub enum CeSelector {
        /// All that are ECN-capable.
        Any = "any",
        /// Those with ECT(0).
        Ect0 = "ect0",
        /// Those with ECT(1), the identifier of L4S.
        Ect1 = "ect1",
    }
}

/// A threshold, if there is one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CeThreshold {
    threshold: Option<Duration>,
    selector: CeSelector,
}

impl CeThreshold {
    pub(crate) fn new(threshold: Option<Duration>, selector: CeSelector) -> CeThreshold {
        CeThreshold { threshold, selector }
    }

    /// Refuse a selector without a threshold.
    pub(crate) fn check(threshold: Option<Duration>, selector: CeSelector) -> Result<(), ParameterError> {
        let has_effect = threshold.is_some() || selector == CeSelector::Any;
        check(has_effect, "ce_threshold_selector", "any without ce_threshold", &selector)
    }

    /// Return the verdict on a packet that leaves: that of the law, or a mark above the threshold.
    #[inline]
    pub(crate) fn verdict(&self, law: Verdict, ecn: Ecn, is_above: impl FnOnce(Duration) -> bool) -> Verdict {
        match self.threshold {
            Some(threshold) if law == Verdict::Pass && self.selects(ecn) && is_above(threshold) => {
                Verdict::Mark
            }
            _ => law,
        }
    }

    fn selects(&self, ecn: Ecn) -> bool {
        match self.selector {
            CeSelector::Any => ecn.is_capable(),
            CeSelector::Ect0 => ecn == Ecn::Ect0,
            CeSelector::Ect1 => ecn == Ecn::Ect1,
        }
    }
}
