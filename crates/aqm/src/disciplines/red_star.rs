//! RED*: RED that marks ECN-capable packets at any average queue length.
//!
//! Above `max_th`, where RED drops them, they are marked as below it. Packets that are not ECN-capable are always
//! dropped.
//!
//! Source: Kuzmanovic, "The power of explicit congestion notification", SIGCOMM 2005, section 4. RED itself is
//! [`crate::Red`].
//!
//! Differs from RED only in [`EcnAboveMax::Mark`].

use crate::parameter::parameters;
use crate::{DecidesAt, Discipline, EcnAboveMax, LinkContext, ParameterError, Red, RedConfig, Visitor};

parameters! {
    /// RED*'s parameters: those of RED, but for the ECN policy.
    pub struct RedStarConfig {}
    /// The RED that it is.
    include red: RedConfig {}
    fixed ecn_policy = EcnAboveMax::Mark;
}

impl Discipline for RedStarConfig {
    const FAMILY: &'static str = "RED";
    const DECIDES_AT: DecidesAt = DecidesAt::Enqueue;
    const SUMMARY: &'static str =
        "RED that marks all ECN-capable packets it signals, at any average queue length";

    fn complete(&self, link: &LinkContext) -> Result<RedStarConfig, ParameterError> {
        self.red.complete(link)?;
        Ok(self.clone())
    }

    fn visit<V: Visitor>(&self, link: &LinkContext, visitor: V) -> V::Output {
        visitor.law(self.red.limit, |rng| Red::new(&self.red, link, rng))
    }
}
