//! CAKE's choices, in the words of tc-cake(8).

use crate::parameter::choices;

choices! {
    /// The traffic classes, called tins, and the code points of each.
    pub enum Diffserv {
        /// One tin.
        Besteffort = "besteffort",
        /// Bulk, Best Effort and Voice.
        Diffserv3 = "diffserv3",
        /// Bulk, Best Effort, Video and Voice.
        Diffserv4 = "diffserv4",
        /// Eight tins, by the code points of RFC 4594.
        Diffserv8 = "diffserv8",
        /// Eight tins, by the three bits of IP precedence (RFC 791).
        Precedence = "precedence",
    }
}

choices! {
    /// The isolation of flows, and of the hosts that they belong to.
    pub enum Isolation {
        /// One queue for all packets.
        Flowblind = "flowblind",
        /// A queue for each source host.
        Srchost = "srchost",
        /// A queue for each destination host.
        Dsthost = "dsthost",
        /// A queue for each pair of hosts.
        Hosts = "hosts",
        /// A queue for each flow.
        Flows = "flows",
        /// A queue for each flow; source hosts have equal shares.
        DualSrchost = "dual-srchost",
        /// A queue for each flow; destination hosts have equal shares.
        DualDsthost = "dual-dsthost",
        /// A queue for each flow; source hosts and destination hosts have equal shares.
        TripleIsolate = "triple-isolate",
    }
}

impl Isolation {
    /// True if flows have queues of their own.
    pub(crate) fn separates_flows(self) -> bool {
        use Isolation::{DualDsthost, DualSrchost, Flows, TripleIsolate};
        matches!(self, Flows | DualSrchost | DualDsthost | TripleIsolate)
    }

    /// True if source hosts have queues of their own.
    pub(crate) fn separates_sources(self) -> bool {
        matches!(self, Isolation::Srchost | Isolation::Hosts)
    }

    /// True if destination hosts have queues of their own.
    pub(crate) fn separates_destinations(self) -> bool {
        matches!(self, Isolation::Dsthost | Isolation::Hosts)
    }

    /// True if source hosts have equal shares.
    pub(crate) fn is_fair_to_sources(self) -> bool {
        matches!(self, Isolation::DualSrchost | Isolation::TripleIsolate)
    }

    /// True if destination hosts have equal shares.
    pub(crate) fn is_fair_to_destinations(self) -> bool {
        matches!(self, Isolation::DualDsthost | Isolation::TripleIsolate)
    }
}

choices! {
    /// The filter of acknowledgements.
    pub enum AckFilter {
        /// All stay.
        NoAckFilter = "no-ack-filter",
        /// An acknowledgement is dropped if two later ones of its flow replace it, so that two stay in the queue.
        AckFilter = "ack-filter",
        /// An acknowledgement is also dropped if the packet right behind it replaces it.
        AckFilterAggressive = "ack-filter-aggressive",
    }
}

choices! {
    /// The cells or blocks into which a link divides packets.
    pub enum Atm {
        /// None.
        Noatm = "noatm",
        /// Cells of 53 B with 48 B of payload each, as on ADSL.
        Atm = "atm",
        /// Blocks of 64 B with one more byte each, as on VDSL2.
        Ptm = "ptm",
    }
}

choices! {
    /// The layers between IP and the link.
    pub enum LinkLayer {
        /// The length that the queue counts.
        Raw = "raw",
        /// The length of the IP packet, plus `overhead`.
        Ip = "ip",
        /// At least as much as any common link: 48 B, ATM.
        Conservative = "conservative",
        /// 8 B, ATM.
        IpoaVcmux = "ipoa-vcmux",
        /// 16 B, ATM.
        IpoaLlcsnap = "ipoa-llcsnap",
        /// 24 B, ATM.
        BridgedVcmux = "bridged-vcmux",
        /// 32 B, ATM.
        BridgedLlcsnap = "bridged-llcsnap",
        /// 10 B, ATM.
        PppoaVcmux = "pppoa-vcmux",
        /// 14 B, ATM.
        PppoaLlc = "pppoa-llc",
        /// 32 B, ATM.
        PppoeVcmux = "pppoe-vcmux",
        /// 40 B, ATM.
        PppoeLlcsnap = "pppoe-llcsnap",
        /// 30 B, PTM.
        PppoePtm = "pppoe-ptm",
        /// 22 B, PTM.
        BridgedPtm = "bridged-ptm",
        /// 18 B, at least 64 B.
        Docsis = "docsis",
        /// 38 B, at least 84 B.
        Ethernet = "ethernet",
    }
}
