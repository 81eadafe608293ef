//! ECN in SYN and SYN/ACK: RFC 3168 §6.1.1 and the tables of RFC 9768 §3.1.

use super::Feedback::{self, Accurate, Classic, Dctcp};
use crate::{EcnPolicy, Flags};

const NONE: Feedback = Feedback::None;

/// One form of ECN in a handshake. Numbers consist of the header's AE, CWR and ECE.
pub(super) struct Negotiation {
    /// A SYN's request.
    pub(super) request: u8,
    /// The feedback that a server grants for a SYN with this number.
    pub(super) server_grants: [Feedback; 8],
    /// The feedback that a client uses for a SYN/ACK with this number.
    pub(super) client_accepts: [Feedback; 8],
}

/// RFC 3168 §6.1.1.
const CLASSIC: Negotiation = Negotiation {
    request: 0b011,
    //         000   001   010   011      100   101   110   111
    server_grants: [NONE, NONE, NONE, Classic, NONE, NONE, NONE, Classic],
    client_accepts: [NONE, Classic, NONE, NONE, NONE, Classic, NONE, NONE],
};

/// RFC 8257 negotiates as RFC 3168 does.
const DCTCP: Negotiation = Negotiation {
    request: 0b011,
    server_grants: [NONE, NONE, NONE, Dctcp, NONE, NONE, NONE, Dctcp],
    client_accepts: [NONE, Dctcp, NONE, NONE, NONE, Dctcp, NONE, NONE],
};

/// RFC 9768 §3.1.1-3.1.3, table 2. A request of RFC 3168 is granted as such. Any other non-zero request asks for
/// this or a later form, and is granted this one.
const ACCURATE: Negotiation = Negotiation {
    request: 0b111,
    //         000   001       010       011      100       101       110       111
    server_grants: [NONE, Accurate, Accurate, Classic, Accurate, Accurate, Accurate, Accurate],
    client_accepts: [NONE, Classic, Accurate, Accurate, Accurate, Accurate, Accurate, NONE],
};

impl EcnPolicy {
    /// The handshake of this policy.
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

/// Code of a packet that arrived marked, in RFC 9768's tables 2 to 4.
pub(super) const ARRIVED_MARKED: u8 = 0b110;

/// Return the code of a packet's IP-ECN field, as in RFC 9768's tables 2 and 3.
pub(super) fn arrival_code(flags: Flags) -> u8 {
    if flags.contains(Flags::CE) {
        ARRIVED_MARKED
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
        // DCTCP's grant looks like RFC 3168's; that works only if both ends use DCTCP.
        let policies = || EcnPolicy::ALL.into_iter().filter(|&(_, policy)| policy != EcnPolicy::Off);
        for (asking, client) in policies() {
            for (granting, server) in policies() {
                if (client == EcnPolicy::Dctcp) != (server == EcnPolicy::Dctcp) {
                    continue;
                }
                let Negotiation { request, client_accepts, .. } = client.negotiation();
                let granted = server.negotiation().server_grants[usize::from(*request)];
                let grants = match granted {
                    Feedback::None => vec![0],
                    Classic | Dctcp => vec![GRANTS_CLASSIC],
                    Accurate => [Flags::NONE, Flags::ECT1, Flags::ECT, Flags::CE].map(arrival_code).to_vec(),
                };
                for grant in grants {
                    assert_eq!(
                        client_accepts[usize::from(grant)],
                        granted,
                        "{asking} of {granting}, grant {grant:03b}"
                    );
                }
            }
        }
    }
}
