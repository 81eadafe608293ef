//! Which TCP stack which host has.

use aqmlab_tcp::Profile;
use aqmlab_units::Stream;

use crate::packet::Owner;
use crate::side::Side;
use crate::spec::{MOST_STACKS, Role, SourceSpec, Spec};

/// The number of a stack; 0 is the common one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::engine) struct StackId(pub(in crate::engine) u8);

impl StackId {
    #[inline]
    pub(in crate::engine) fn index(self) -> usize {
        usize::from(self.0) % MOST_STACKS
    }
}

/// The stacks of an experiment, and who has them. A user's host has one for good. Servers are many more than the
/// machines that play them: each connection finds another, with a stack of its own.
#[derive(Debug)]
pub(in crate::engine) struct Stacks {
    /// One for each number a [`StackId`] can be, so that looking one up needs no check; the common one fills up.
    profiles: Box<[Profile; MOST_STACKS]>,
    /// Keys of the families of streams, one for each client and one for each connection of a client.
    clients: u64,
    servers: u64,
    /// By owner, for clients of each side and servers of each side.
    shares: Vec<[[Shares; 2]; 2]>,
}

/// Up to which draw a host has which stack of the mix.
type Shares = Vec<(f64, StackId)>;

impl Stacks {
    pub(in crate::engine) fn new(spec: &Spec, seed: u64) -> Stacks {
        let owners = std::iter::once(None).chain(spec.sources.iter().map(Some));
        let spec = &spec.tcp;
        let shares = |source: Option<&SourceSpec>, side, role| {
            let numbered = (1..).map(StackId).zip(&spec.mix);
            let ours = numbered.filter(move |(_, entry)| entry.is_about(source, side, role));
            let cumulated = ours.scan(0.0, |sum, (id, entry)| {
                *sum += entry.share;
                Some((*sum, id))
            });
            cumulated.collect()
        };
        Stacks {
            profiles: Box::new(std::array::from_fn(|id| {
                spec.profiles().nth(id).unwrap_or(&spec.values).clone()
            })),
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

    /// The stack of client `number`, on `side`.
    pub(in crate::engine) fn of_client(&self, owner: Owner, side: Side, number: u64) -> StackId {
        pick(&self.shares[owner.index()][0][side.index()], || Stream::numbered(self.clients, number))
    }

    /// The stack of the server, on `side`, that client `number` finds with its connection `connection`.
    pub(in crate::engine) fn of_server(
        &self,
        owner: Owner,
        side: Side,
        number: u64,
        connection: u64,
    ) -> StackId {
        pick(&self.shares[owner.index()][1][side.index()], || {
            let key = Stream::numbered(self.servers, number).next_u64();
            Stream::numbered(key, connection)
        })
    }
}

/// Draw from the shares; what they leave has the common stack.
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

    /// How many of 100,000 hosts have each of the first three stacks.
    fn census(stack_of: impl Fn(u64) -> StackId) -> [u32; 3] {
        (0..100_000).fold([0; 3], |mut census, host| {
            census[stack_of(host).index()] += 1;
            census
        })
    }

    /// Within four standard deviations.
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
    fn a_stack_of_a_source_is_that_of_its_connections_alone() {
        let stacks = stacks(r#"[{"share": 0.5, "source": "bulk", "role": "server"}, {"share": 0.5}]"#);
        let [users, bulk, on_off] = [0, 1, 2].map(|owner| {
            let owner = if owner == 0 { Owner::USERS } else { Owner::source(owner - 1) };
            let servers = census(|connection| stacks.of_server(owner, Side::BOTH[1], connection, 0));
            (servers, census(|connection| stacks.of_client(owner, Side::BOTH[0], connection)))
        });
        // The second stack's half of the bulk transfers' servers is the half that the first has left.
        assert!(bulk.0[0] == 0 && near(bulk.0[1], 0.5) && near(bulk.0[2], 0.5), "{bulk:?}");
        assert!(bulk.1[1] == 0 && near(bulk.1[2], 0.5), "{bulk:?}");
        for others in [users, on_off] {
            assert!(others.0[1] == 0 && others.1[1] == 0 && near(others.0[2], 0.5), "{others:?}");
        }
    }

    #[test]
    fn a_share_is_of_the_hosts_with_that_side_and_role_alone() {
        let stacks = stacks(r#"[{"share": 1, "side": 1, "role": "server"}, {"share": 1, "side": 0}]"#);
        assert_eq!(census(|user| stacks.of_client(Owner::USERS, Side::BOTH[1], user)), [100_000, 0, 0]);
        assert_eq!(census(|user| stacks.of_server(Owner::USERS, Side::BOTH[1], user, 1)), [0, 100_000, 0]);
        assert_eq!(census(|user| stacks.of_client(Owner::USERS, Side::BOTH[0], user)), [0, 0, 100_000]);
        assert_eq!(census(|user| stacks.of_server(Owner::USERS, Side::BOTH[0], user, 1)), [0, 0, 100_000]);
    }
}
