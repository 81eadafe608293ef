//! What SYN and SYN/ACK say of ECN: RFC 3168 §6.1.1 and the tables of RFC 9768 §3.1.

use super::Feedback::{self, Accurate, Classic, Dctcp};
use crate::{EcnPolicy, Flags};

const NONE: Feedback = Feedback::None;

/// What one form of ECN says in a handshake. The numbers are AE, CWR and ECE of a header.
pub(super) struct Negotiation {
    /// A SYN's request.
    pub(super) request: u8,
    /// What a server grants a SYN with this number.
    pub(super) granted: [Feedback; 8],
    /// What a client takes a SYN/ACK with this number to grant.
    pub(super) taken: [Feedback; 8],
}

/// RFC 3168 §6.1.1.
const CLASSIC: Negotiation = Negotiation {
    request: 0b011,
    //         000   001   010   011      100   101   110   111
    granted: [NONE, NONE, NONE, Classic, NONE, NONE, NONE, Classic],
    taken: [NONE, Classic, NONE, NONE, NONE, Classic, NONE, NONE],
};

/// RFC 8257 asks and grants as RFC 3168 does.
const DCTCP: Negotiation = Negotiation {
    request: 0b011,
    granted: [NONE, NONE, NONE, Dctcp, NONE, NONE, NONE, Dctcp],
    taken: [NONE, Dctcp, NONE, NONE, NONE, Dctcp, NONE, NONE],
};

/// RFC 9768 §3.1.1-3.1.3, table 2: a request of RFC 3168 is granted as such; any other but none asks for what this or a
/// later form offers.
const ACCURATE: Negotiation = Negotiation {
    request: 0b111,
    //         000   001       010       011      100       101       110       111
    granted: [NONE, Accurate, Accurate, Classic, Accurate, Accurate, Accurate, Accurate],
    taken: [NONE, Classic, Accurate, Accurate, Accurate, Accurate, Accurate, NONE],
};

impl EcnPolicy {
    /// What this policy says in a handshake.
    pub(super) fn negotiation(self) -> &'static Negotiation {
        match self {
            EcnPolicy::Accurate | EcnPolicy::AccuratePlusPlus => &ACCURATE,
            EcnPolicy::Dctcp => &DCTCP,
            _ => &CLASSIC,
        }
    }
}

/// A grant of RFC 3168.
pub(super) const GRANTS_CLASSIC: u8 = 0b001;

/// RFC 9768's tables 2 to 4: a packet came marked.
pub(super) const CAME_MARKED: u8 = 0b110;

/// How a packet came, as RFC 9768's tables 2 and 3 encode the IP-ECN field.
pub(super) fn arrival_code(flags: Flags) -> u8 {
    if flags.contains(Flags::CE) {
        CAME_MARKED
    } else if flags.contains(Flags::ECT) {
        0b100
    } else if flags.contains(Flags::ECT1) {
        0b011
    } else {
        0b010
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_take_a_grant_for_the_same_feedback() {
        // DCTCP's looks like RFC 3168's: it takes both ends to have it.
        let policies = || EcnPolicy::ALL.into_iter().filter(|&(_, policy)| policy != EcnPolicy::Off);
        for (asking, client) in policies() {
            for (granting, server) in policies() {
                if (client == EcnPolicy::Dctcp) != (server == EcnPolicy::Dctcp) {
                    continue;
                }
                let Negotiation { request, taken, .. } = client.negotiation();
                let granted = server.negotiation().granted[usize::from(*request)];
                let grants = match granted {
                    Feedback::None => vec![0],
                    Classic | Dctcp => vec![GRANTS_CLASSIC],
                    Accurate => [Flags::NONE, Flags::ECT1, Flags::ECT, Flags::CE].map(arrival_code).to_vec(),
                };
                for grant in grants {
                    assert_eq!(
                        taken[usize::from(grant)],
                        granted,
                        "{asking} of {granting}, grant {grant:03b}"
                    );
                }
            }
        }
    }
}
