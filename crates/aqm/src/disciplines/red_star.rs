//! RED*: RED that marks ECN-capable packets at any average queue.
//!
//! Above `max_th`, where RED drops them, they are marked as below it. Other packets are dropped throughout.
//!
//! Source: Kuzmanovic, "The power of explicit congestion notification", SIGCOMM 2005, section 4. RED itself is
//! [`crate::Red`].
//!
//! The only difference from RED is [`EcnAboveMax::Mark`].

use crate::parameter::parameters;
use crate::{
    DecidesAt, Discipline, EcnAboveMax, LinkContext, ParameterError, Red, RedConfig, Variant, Visitor,
};

parameters! {
    /// RED*'s parameters: those of RED, without the ECN policy.
    pub struct RedStarConfig {}
    /// The underlying RED.
    include red: RedConfig {}
    fixed ecn_policy = EcnAboveMax::Mark;
    fixed variant = Variant::Published;
}

impl Discipline for RedStarConfig {
    const FAMILY: &'static str = "RED";
    const DECIDES_AT: DecidesAt = DecidesAt::Enqueue;
    const SUMMARY: &'static str = "RED that never drops ECN-capable packets, however long the average queue";

    fn complete(&self, link: &LinkContext) -> Result<RedStarConfig, ParameterError> {
        self.red.complete(link)?;
        Ok(self.clone())
    }

    fn visit<V: Visitor>(&self, link: &LinkContext, visitor: V) -> V::Output {
        visitor.law(self.red.limit, |rng| Red::new(&self.red, link, rng))
    }
}
