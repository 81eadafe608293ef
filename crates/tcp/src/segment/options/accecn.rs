//! Accurate ECN's option (RFC 9768 §3.2.3).

/// How many bytes of the peer's data came in each ECN codepoint, modulo 2^24.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccEcn {
    /// Which counter comes first.
    pub order: AccEcnOrder,
    /// `EE0B`: data in ECT(0), and 1.
    pub ect0: u32,
    /// `ECEB`: data marked.
    pub ce: u32,
    /// `EE1B`: data in ECT(1), and 1.
    pub ect1: u32,
    /// The last of the three counters is left out.
    pub shortened: bool,
}

/// The two forms of [`AccEcn`], which have kinds of their own. Marks come second in both.
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
