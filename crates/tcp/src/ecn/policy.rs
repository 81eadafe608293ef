//! ECN policies of a stack: the form that it negotiates, and its ECN-capable packets.

use std::fmt::{self, Display};

/// The form of ECN that a stack requests and accepts. Two ends with different policies use the feedback that both
/// support.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnPolicy {
    /// No ECN.
    #[default]
    Off,
    /// RFC 3168: data are ECN-capable, other packets are not; one echo a window.
    Rfc3168,
    /// ECN+ (Kuzmanovic 2005): the SYN/ACK is ECN-capable too. After a mark on it the server continues at once
    /// with half its window.
    Plus,
    /// ECN+/Wait (as RFC 5562 discusses it): after that mark the server waits for a round trip and sends one
    /// segment.
    PlusWait,
    /// ECN+/TryOnce (RFC 5562 §3): after that mark the client reports it and waits. The server at once sends a
    /// SYN/ACK that is not ECN-capable, and starts with one segment.
    TryOnce,
    /// ECN++ (draft-ietf-tcpm-generalized-ecn) with the feedback of RFC 3168: all but SYNs and pure acknowledgements
    /// are ECN-capable.
    PlusPlus,
    /// The feedback of DCTCP (RFC 8257): each acknowledgement says whether the acknowledged data were marked. It
    /// is negotiated as RFC 3168's, so both ends must use it.
    Dctcp,
    /// Accurate ECN (RFC 9768): each segment carries a count of the marked packets received; its TCP
    /// option is [`Profile::accecn_option`](crate::Profile::accecn_option).
    Accurate,
    /// ECN++ with Accurate ECN: every packet is ECN-capable.
    AccuratePlusPlus,
}

/// Kinds of packet that are not ECN-capable in RFC 3168.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PacketKind {
    Syn,
    SynAck,
    /// An acknowledgement without data.
    PureAck,
    Reset,
    /// A FIN without data, or a retransmission.
    FinOrRetransmission,
}

/// A server's response to a mark on its SYN/ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AfterMarkedSynAck {
    Halve,
    OneSegment,
    OneSegmentAfterOneRtt,
    Resend,
}

impl EcnPolicy {
    /// All policies with the names they have in specs. `off` is also written `false`, and `rfc3168` `true`.
    pub const ALL: [(&'static str, EcnPolicy); 9] = [
        ("off", EcnPolicy::Off),
        ("rfc3168", EcnPolicy::Rfc3168),
        ("ecn+", EcnPolicy::Plus),
        ("ecn+/wait", EcnPolicy::PlusWait),
        ("ecn+/try-once", EcnPolicy::TryOnce),
        ("ecn++", EcnPolicy::PlusPlus),
        ("dctcp", EcnPolicy::Dctcp),
        ("accurate", EcnPolicy::Accurate),
        ("accurate++", EcnPolicy::AccuratePlusPlus),
    ];

    /// Return the policy called `name`, or `None`.
    pub fn from_name(name: &str) -> Option<EcnPolicy> {
        EcnPolicy::ALL.iter().find(|(known, _)| *known == name).map(|&(_, policy)| policy)
    }

    /// True if its feedback counts marks, rather than report that there was one.
    #[inline]
    pub const fn counts_marks(self) -> bool {
        matches!(self, EcnPolicy::Dctcp | EcnPolicy::Accurate | EcnPolicy::AccuratePlusPlus)
    }

    /// True if it requests Accurate ECN.
    #[inline]
    pub(crate) const fn is_accurate(self) -> bool {
        matches!(self, EcnPolicy::Accurate | EcnPolicy::AccuratePlusPlus)
    }

    /// True if packets of this kind may be ECN-capable.
    ///
    /// ECN+: RFC 5562 §3. DCTCP: RFC 8257 §3.6. ECN++: draft-ietf-tcpm-generalized-ecn, table 1; the SYN only if
    /// it requests accurate feedback. Pure acknowledgements also need negotiated accurate feedback, which the
    /// endpoint checks.
    #[inline]
    pub(super) const fn permits_ect(self, kind: PacketKind) -> bool {
        match self {
            EcnPolicy::Off | EcnPolicy::Rfc3168 | EcnPolicy::Accurate => false,
            EcnPolicy::Plus | EcnPolicy::PlusWait | EcnPolicy::TryOnce => matches!(kind, PacketKind::SynAck),
            EcnPolicy::Dctcp => matches!(kind, PacketKind::Syn | PacketKind::SynAck | PacketKind::Reset),
            EcnPolicy::PlusPlus => !matches!(kind, PacketKind::Syn),
            EcnPolicy::AccuratePlusPlus => true,
        }
    }

    /// True if a SYN or SYN/ACK stays ECN-capable when it is retransmitted. RFC 5562 §3.1 and RFC 9768 §3.1.4.1
    /// suspect the path; in DCTCP's data centre (RFC 8257 §3.6) packets that are not ECN-capable would be
    /// dropped.
    #[inline]
    pub(super) const fn permits_ect_on_retransmit(self) -> bool {
        matches!(self, EcnPolicy::Dctcp)
    }

    /// Return a server's response to a marked SYN/ACK; `None` if it has none (RFC 8257 §3.6), or sends no capable
    /// one.
    #[inline]
    pub(super) const fn after_marked_syn_ack(self) -> Option<AfterMarkedSynAck> {
        match self {
            EcnPolicy::Off | EcnPolicy::Rfc3168 | EcnPolicy::Accurate | EcnPolicy::Dctcp => None,
            EcnPolicy::Plus => Some(AfterMarkedSynAck::Halve),
            EcnPolicy::PlusWait => Some(AfterMarkedSynAck::OneSegmentAfterOneRtt),
            EcnPolicy::TryOnce => Some(AfterMarkedSynAck::Resend),
            EcnPolicy::PlusPlus | EcnPolicy::AccuratePlusPlus => Some(AfterMarkedSynAck::OneSegment),
        }
    }
}

impl Display for EcnPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = EcnPolicy::ALL.iter().find(|(_, policy)| policy == self);
        f.write_str(known.map_or("", |(name, _)| name))
    }
}

/// Form of policies in specs: `false` and `true` for two of them, else the name.
#[cfg(feature = "serde")]
mod serde_form {
    use std::fmt;

    use serde::de::{Error, Visitor};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::EcnPolicy;

    impl Serialize for EcnPolicy {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            match self {
                EcnPolicy::Off => serializer.serialize_bool(false),
                EcnPolicy::Rfc3168 => serializer.serialize_bool(true),
                named => serializer.collect_str(named),
            }
        }
    }

    impl<'de> Deserialize<'de> for EcnPolicy {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<EcnPolicy, D::Error> {
            deserializer.deserialize_any(PolicyName)
        }
    }

    #[cfg(feature = "schema")]
    impl schemars::JsonSchema for EcnPolicy {
        fn inline_schema() -> bool {
            true
        }

        fn schema_name() -> std::borrow::Cow<'static, str> {
            "EcnPolicy".into()
        }

        fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
            let names = EcnPolicy::ALL.map(|(name, _)| name);
            schemars::json_schema!({ "anyOf": [{ "type": "boolean" }, { "type": "string", "enum": names }] })
        }
    }

    struct PolicyName;

    impl Visitor<'_> for PolicyName {
        type Value = EcnPolicy;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "true, false or one of {}", EcnPolicy::ALL.map(|(name, _)| name).join(", "))
        }

        fn visit_bool<E: Error>(self, on: bool) -> Result<EcnPolicy, E> {
            Ok(if on { EcnPolicy::Rfc3168 } else { EcnPolicy::Off })
        }

        fn visit_str<E: Error>(self, name: &str) -> Result<EcnPolicy, E> {
            EcnPolicy::from_name(name)
                .ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(name), &self))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_reads_back_as_its_policy() {
        for (name, policy) in EcnPolicy::ALL {
            assert_eq!((EcnPolicy::from_name(name), policy.to_string().as_str()), (Some(policy), name));
        }
        assert_eq!(EcnPolicy::from_name("maybe"), None);
    }

    #[test]
    fn only_policies_with_capable_syn_acks_respond_to_their_marks() {
        for (name, policy) in EcnPolicy::ALL {
            let can_be_marked = policy.permits_ect(PacketKind::SynAck) && policy != EcnPolicy::Dctcp;
            assert_eq!(policy.after_marked_syn_ack().is_some(), can_be_marked, "{name}");
        }
    }
}
