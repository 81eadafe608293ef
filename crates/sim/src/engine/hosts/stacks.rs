//! Assignment of TCP stacks to hosts.

use std::collections::BTreeSet;

use aqmlab_tcp::Profile;
use aqmlab_tcp::quic::HandshakeForm;
use aqmlab_units::Stream;

use crate::engine::emulated::{SourceFlow, UserConnection};
use crate::packet::Owner;
use crate::side::Side;
use crate::spec::{MOST_STACKS, Role, SourceSpec, Spec};

/// The number of a stack; 0 is the common one, n the n-th of the mix. Those of HTTP/3 follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct StackId(pub(in crate::engine) u8);

impl StackId {
    /// The stack of this number, see [`StackId::index`].
    pub fn new(number: u8) -> StackId {
        StackId(number)
    }

    /// Its index in a list of all stacks.
    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.0) % MOST_STACKS
    }
}

/// The stacks of an experiment, and their assignment. A user's host keeps its stack. Servers are more numerous
/// than the machines that run them: each connection reaches another server, with its own stack.
#[derive(Debug)]
pub struct Stacks {
    /// Profiles by [`StackId`]; the common one fills up, so that look-ups need no check.
    profiles: Box<[Profile; MOST_STACKS]>,
    /// The number of stacks of the spec.
    written: u8,
    /// Keys of the families of streams: one stream for each client, one for each connection of a client.
    clients: u64,
    servers: u64,
    /// Shares of the mix, by owner, for clients of each side and servers of each side.
    shares: Vec<[[Shares; 2]; 2]>,
}

/// Upper bounds of the draws with which a host gets a stack of the mix.
type Shares = Vec<(f64, StackId)>;

impl Stacks {
    /// Return the stacks of `spec`.
    pub fn new(spec: &Spec, seed: u64) -> Stacks {
        let owners = std::iter::once(None).chain(spec.sources.iter().map(Some));
        let over_quic = spec.http3_stacks();
        let spec = &spec.tcp;
        let all: Vec<&Profile> = spec.profiles().chain(&over_quic).collect();
        let shares = |source: Option<&SourceSpec>, side, role| {
            let numbered = (1..).map(StackId).zip(&spec.mix);
            let entries = numbered.filter(move |(_, entry)| entry.is_about(source, side, role));
            let cumulated = entries.scan(0.0, |sum, (id, entry)| {
                *sum += entry.share;
                Some((*sum, id))
            });
            cumulated.collect()
        };
        Stacks {
            profiles: Box::new(std::array::from_fn(|id| {
                all.get(id).map_or(&spec.values, |profile| profile).clone()
            })),
            written: u8::try_from(1 + spec.mix.len()).expect("the spec bounds the number of stacks"),
            clients: Stream::key(seed, "tcp/client"),
            servers: Stream::key(seed, "tcp/server"),
            shares: owners
                .map(|source| {
                    [Role::Client, Role::Server].map(|role| Side::BOTH.map(|side| shares(source, side, role)))
                })
                .collect(),
        }
    }

    #[inline]
    pub(in crate::engine) fn profile(&self, id: StackId) -> &Profile {
        &self.profiles[id.index()]
    }

    /// Return the stacks of the two ends of a user's connection, the client's first.
    pub fn of_user(&self, connection: &UserConnection) -> [StackId; 2] {
        let &UserConnection { user, number, .. } = connection;
        self.of_ends(Owner::USERS, connection.client_side(), user.into(), number)
    }

    /// The same for a connection of HTTP/3 with this handshake: the QUIC stacks of the same hosts.
    pub(in crate::engine) fn of_user_over_quic(
        &self,
        connection: &UserConnection,
        form: HandshakeForm,
    ) -> [StackId; 2] {
        // The order is that of `Spec::http3_stacks`.
        let [client, server] = self.of_user(connection).map(|StackId(host)| self.written + 3 * host);
        [StackId(client + form as u8), StackId(server)]
    }

    /// Return the stacks of the two ends of a source's flow, the same for all its connections, the client's
    /// first.
    pub fn of_flow(&self, flow: &SourceFlow) -> [StackId; 2] {
        let &SourceFlow { source, number, side } = flow;
        // Numbers that no user has.
        let host = 1 << 63 | u64::from(source) << 48 | number;
        self.of_ends(Owner::source(source), Side::numbered(side), host, 0)
    }

    fn of_ends(&self, owner: Owner, side: Side, number: u64, connection: u64) -> [StackId; 2] {
        let client = self.of_client(owner, side, number);
        let server = self.of_server(owner, side.other(), number, connection);
        // The client chooses the transport. A server with a stack of the other one has the client's.
        let is_quic = |id| self.profile(id).quic.is_some();
        [client, if is_quic(server) == is_quic(client) { server } else { client }]
    }

    /// Return the stacks that hosts on `side` may have, clients and servers, for the owners for which `counts`
    /// returns true: the web users (0) and the sources (from 1).
    pub fn on_side(&self, side: u8, counts: impl Fn(usize) -> bool) -> BTreeSet<StackId> {
        let owners = self.shares.iter().enumerate().filter(|&(owner, _)| counts(owner));
        let roles = owners.flat_map(|(_, roles)| roles).map(|sides| &sides[usize::from(side)]);
        roles.flat_map(|shares| shares.iter().map(|&(_, id)| id).chain(left_over(shares))).collect()
    }

    /// The stack of client `number` on `side`.
    fn of_client(&self, owner: Owner, side: Side, number: u64) -> StackId {
        pick(&self.shares[owner.index()][0][side.index()], || Stream::numbered(self.clients, number))
    }

    /// The stack of the server on `side` that client `number` reaches with its connection `connection`.
    fn of_server(&self, owner: Owner, side: Side, number: u64, connection: u64) -> StackId {
        pick(&self.shares[owner.index()][1][side.index()], || {
            let key = Stream::numbered(self.servers, number).next_u64();
            Stream::numbered(key, connection)
        })
    }
}

/// Return the common stack, if the shares leave hosts to it.
fn left_over(shares: &[(f64, StackId)]) -> Option<StackId> {
    let total = shares.last().map_or(0.0, |&(up_to, _)| up_to);
    // Decimal shares may miss 1 by a rounding error.
    (total < 1.0 - 1e-9).then(StackId::default)
}

/// Draw a stack from the shares; the rest has the common stack.
fn pick(shares: &[(f64, StackId)], stream: impl FnOnce() -> Stream) -> StackId {
    if shares.is_empty() {
        return StackId::default();
    }
    let draw = stream().uniform();
    shares.iter().find(|&&(up_to, _)| draw < up_to).map_or(StackId::default(), |&(_, id)| id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stacks(mix: &str) -> Stacks {
        let spec = format!(
            r#"{{"queue": {{"droptail": {{}}}}, "users": {{"per_side": 1}}, "tcp": {{"mix": {mix}}},
                "sources": [{{"bulk": {{"flows": 1}}}}, {{"on_off": {{"flows": 1,
                    "size": {{"fixed": "1 kB"}}, "off": {{"fixed": "1 s"}}}}}}]}}"#
        );
        Stacks::new(&Spec::from_json(&spec).expect("a sound spec"), 1)
    }

    /// Return how many of 100,000 hosts have each of the first three stacks.
    fn census(stack_of: impl Fn(u64) -> StackId) -> [u32; 3] {
        (0..100_000).fold([0; 3], |mut census, host| {
            census[stack_of(host).index()] += 1;
            census
        })
    }

    /// True if the count is within four standard deviations of the share.
    fn near(count: u32, share: f64) -> bool {
        (f64::from(count) / 1e5 - share).abs() <= 4.0 * (share * (1.0 - share) / 1e5).sqrt()
    }

    #[test]
    fn each_stack_has_its_share_of_the_hosts() {
        let stacks = stacks(r#"[{"share": 0.2}, {"share": 0.35}]"#);
        for hosts in [
            census(|user| stacks.of_client(Owner::USERS, Side::BOTH[0], user)),
            census(|user| stacks.of_server(Owner::USERS, Side::BOTH[1], user, 1)),
            census(|connection| stacks.of_server(Owner::USERS, Side::BOTH[1], 7, connection)),
        ] {
            assert!(near(hosts[0], 0.45) && near(hosts[1], 0.2) && near(hosts[2], 0.35), "{hosts:?}");
        }
    }

    #[test]
    fn a_stack_of_a_source_is_only_for_its_connections() {
        let stacks = stacks(r#"[{"share": 0.5, "source": "bulk", "role": "server"}, {"share": 0.5}]"#);
        let [users, bulk, on_off] = [0, 1, 2].map(|owner| {
            let owner = if owner == 0 { Owner::USERS } else { Owner::source(owner - 1) };
            let servers = census(|connection| stacks.of_server(owner, Side::BOTH[1], connection, 0));
            (servers, census(|connection| stacks.of_client(owner, Side::BOTH[0], connection)))
        });
        // The second stack has half of the bulk transfers' servers, of those that the first one leaves.
        assert!(bulk.0[0] == 0 && near(bulk.0[1], 0.5) && near(bulk.0[2], 0.5), "{bulk:?}");
        assert!(bulk.1[1] == 0 && near(bulk.1[2], 0.5), "{bulk:?}");
        for others in [users, on_off] {
            assert!(others.0[1] == 0 && others.1[1] == 0 && near(others.0[2], 0.5), "{others:?}");
        }
    }

    #[test]
    fn each_stack_that_a_host_draws_is_listed_for_its_side() {
        let stacks = stacks(
            r#"[{"share": 1, "side": 1, "role": "server"}, {"share": 0.5, "source": "bulk", "side": 1, "role": "client"}]"#,
        );
        let on_side = |side, owners: &[usize]| {
            let ids = stacks.on_side(side, |owner| owners.contains(&owner));
            ids.into_iter().map(StackId::index).collect::<Vec<_>>()
        };
        assert_eq!(on_side(0, &[0, 1, 2]), [0]);
        assert_eq!(on_side(1, &[0]), [0, 1]);
        assert_eq!(on_side(1, &[1]), [0, 1, 2]);
        assert!(on_side(1, &[]).is_empty());
        for number in 0..100 {
            for side in 0..2 {
                let flow = SourceFlow { source: 0, number, side };
                let [client, server] = stacks.of_flow(&flow).map(StackId::index);
                assert!(on_side(side, &[1]).contains(&client) && on_side(1 - side, &[1]).contains(&server));
            }
        }
    }

    #[test]
    fn a_share_is_of_the_hosts_with_that_side_and_role() {
        let stacks = stacks(r#"[{"share": 1, "side": 1, "role": "server"}, {"share": 1, "side": 0}]"#);
        assert_eq!(census(|user| stacks.of_client(Owner::USERS, Side::BOTH[1], user)), [100_000, 0, 0]);
        assert_eq!(census(|user| stacks.of_server(Owner::USERS, Side::BOTH[1], user, 1)), [0, 100_000, 0]);
        assert_eq!(census(|user| stacks.of_client(Owner::USERS, Side::BOTH[0], user)), [0, 0, 100_000]);
        assert_eq!(census(|user| stacks.of_server(Owner::USERS, Side::BOTH[0], user, 1)), [0, 0, 100_000]);
    }
}
