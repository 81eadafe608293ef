//! Choices where published descriptions of RED differ in ways that change results, each with a name.

use crate::parameter::choices;

choices! {
    /// The spacing of signals at a constant average, and so a constant probability `p_b`. With n the packets
    /// since the last signal, including the current one, the probability is:
    pub enum Spacing {
        /// `p_b / (1 - (n - 1) p_b)`: gaps uniform on 1 to `1/p_b` packets, so that about `2 p_b` of the packets are
        /// signalled. Floyd and Jacobson (1993), as their section 7 derives it: the count grows after the test.
        Uniform = "uniform",
        /// `p_b / (1 - n p_b)`: gaps uniform on 1 to `1/p_b - 1` packets. Floyd and Jacobson (1993), the
        /// pseudocode of their Figure 2, which contradicts their section 7: the count grows before the test. ns-2
        /// and ns-3 without `wait_`.
        Figure2 = "figure2",
        /// 0 while `n p_b < 1`, then `p_b / (2 - n p_b)`: gaps uniform on `1/p_b` to `2/p_b` packets, `2/3 p_b` of the
        /// packets. The default of ns-2 (`wait_`) and ns-3.
        Wait = "wait",
        /// `p_b / (2 - n p_b)`: gaps uniform on 1 to `2/p_b` packets, `p_b` of the packets. ALTQ, which the
        /// testbed of Le et al. used.
        Altq = "altq",
        /// `p_b`: independent signals, gaps geometric with mean `1/p_b`. Floyd and Jacobson's "method 1".
        Geometric = "geometric",
    }
}

impl Spacing {
    /// The divisor that turns `p_b` into the probability of this packet, where `count` is the count since the
    /// last signal and `n` includes this packet; `None` while no packet is signalled.
    #[inline]
    pub(crate) fn rest(self, count: f64, n: f64, p_b: f64) -> Option<f64> {
        match self {
            Spacing::Uniform => Some(1.0 - count * p_b),
            Spacing::Figure2 => Some(1.0 - n * p_b),
            Spacing::Wait if n * p_b < 1.0 => None,
            Spacing::Wait | Spacing::Altq => Some(2.0 - n * p_b),
            Spacing::Geometric => Some(1.0),
        }
    }
}

choices! {
    /// The order of spacing and of scaling by the packet's size, in byte mode.
    pub enum ByteScaling {
        /// Before spacing, which then counts packets: the initial probability `p_b` is scaled. Floyd and Jacobson
        /// (1993), Le et al. (2004). Favours small packets, and signals large ones more than in proportion.
        BeforeSpacing = "before_spacing",
        /// After spacing, which counts bytes over the mean packet: gaps are uniform in bytes. ns-2.
        AfterSpacing = "after_spacing",
    }
}

choices! {
    /// Treatment of ECN-capable packets while the average is at or above `max_th`. Below it they are marked, and
    /// packets that are not ECN-capable are always dropped.
    pub enum EcnAboveMax {
        /// Drop, in the gentle region too: the advice of RFC 3168 section 7, and ALTQ.
        DropAboveMax = "drop_above_max",
        /// Mark in the gentle region, drop from twice `max_th` on: the reversal of that advice that Le et al.
        /// (2004) found better; ns-3 by default, with `UseHardDrop`.
        MarkInGentle = "mark_in_gentle",
        /// Mark always: RED* of Kuzmanovic (2005); ns-3 without `UseHardDrop`.
        Mark = "mark",
    }
}
