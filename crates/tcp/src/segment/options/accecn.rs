//! Accurate ECN's option (RFC 9768 §3.2.3).

/// Bytes of the peer's data that arrived in each ECN codepoint, modulo 2^24.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccEcn {
    /// Order of the counters.
    pub order: AccEcnOrder,
    /// `EE0B`: bytes in ECT(0), plus 1.
    pub ect0: u32,
    /// `ECEB`: bytes marked CE.
    pub ce: u32,
    /// `EE1B`: bytes in ECT(1), plus 1.
    pub ect1: u32,
    /// The last of the three counters is left out.
    pub shortened: bool,
}

/// The two forms of [`AccEcn`], which have different kinds. CE is second in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccEcnOrder {
    /// `AccECN0`, kind 172.
    Ect0First,
    /// `AccECN1`, kind 174.
    Ect1First,
}

impl AccEcn {
    /// The counters that the option holds, in its order.
    pub fn fields(&self) -> impl Iterator<Item = u32> {
        let [first, last] = match self.order {
            AccEcnOrder::Ect0First => [self.ect0, self.ect1],
            AccEcnOrder::Ect1First => [self.ect1, self.ect0],
        };
        [first, self.ce, last].into_iter().take(if self.shortened { 2 } else { 3 })
    }

    /// Bytes of the option without padding.
    pub fn length(&self) -> u16 {
        if self.shortened { 8 } else { 11 }
    }
}
