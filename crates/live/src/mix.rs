//! The TCP stack of each host, assigned as in the simulator.
//!
//! Most of the kernel's TCP settings apply to a whole namespace, so that all hosts of a side share them. The congestion control
//! is set per socket, and the router bounds windows without scaling per connection.

use std::collections::BTreeSet;

use aqmlab_sim::{Spec, StackId, Stacks};
use aqmlab_tcp::Profile;

use crate::error::Error;
use crate::network::stack::{self, Stack};

/// The largest windows that the receivers of a connection may advertise, in bytes: the client's, the server's.
pub(crate) type Offers = [Option<u16>; 2];

/// The stacks of a run.
#[derive(Debug)]
pub(crate) struct Mix {
    pub(crate) assignment: Stacks,
    /// By number.
    stacks: Vec<Stack>,
    /// The stacks of each side's hosts: at least one.
    by_side: [BTreeSet<StackId>; 2],
}

impl Mix {
    /// Returns the stacks of `spec`, in which `programs` also use those of their side.
    ///
    /// # Errors
    ///
    /// If the kernel does not support a setting.
    pub(crate) fn from_spec(spec: &Spec, seed: u64, programs: bool) -> Result<Mix, Error> {
        let profiles: Vec<(String, &Profile)> = std::iter::once(("tcp".to_owned(), &spec.tcp.values))
            .chain((0..).zip(&spec.tcp.mix).map(|(number, entry)| (path(number), &entry.values)))
            .collect();
        let stacks = profiles
            .iter()
            .map(|(path, profile)| Stack::from_profile(path, profile))
            .collect::<Result<Vec<_>, _>>()?;
        let assignment = Stacks::new(spec, seed);
        let counts = |owner: usize| match owner.checked_sub(1) {
            None => spec.users.per_side > 0 || programs,
            Some(source) => spec.sources[source].config.datagrams().is_none(),
        };
        let by_side = [0, 1].map(|side| {
            let stacks = assignment.on_side(side, counts);
            // A side with only datagrams has no TCP: any stack will do.
            if stacks.is_empty() { BTreeSet::from([StackId::default()]) } else { stacks }
        });
        for (side, of_side) in (0_u8..).zip(&by_side) {
            check(side, of_side, &profiles)?;
            let of_users = assignment.on_side(side, |owner| owner == 0);
            check_users(&of_users, &stacks)?;
        }
        Ok(Mix { assignment, stacks, by_side })
    }

    pub(crate) fn stack(&self, id: StackId) -> &Stack {
        &self.stacks[id.index()]
    }

    /// Returns the stack of a side's namespace and programs: the first of its stacks, if possible one whose ECN is the namespace's.
    pub(crate) fn side_stack(&self, side: usize) -> &Stack {
        let stacks = &self.by_side[side];
        let shared = stacks.iter().find(|&&id| !self.stack(id).has_own_ecn);
        self.stack(*shared.or(stacks.first()).expect("each side has one"))
    }

    /// Returns a stack of a side whose congestion control negotiates ECN by itself, if there is one.
    pub(crate) fn stack_with_own_ecn(&self, side: usize) -> Option<&Stack> {
        self.by_side[side].iter().map(|&id| self.stack(id)).find(|stack| stack.has_own_ecn)
    }

    /// Returns the congestion controls of a side's hosts.
    pub(crate) fn congestion_on(&self, side: usize) -> BTreeSet<&str> {
        self.by_side[side].iter().map(|&id| self.stack(id).congestion.as_str()).collect()
    }

    pub(crate) fn offers(&self, ends: [StackId; 2]) -> Offers {
        ends.map(|id| self.stack(id).offers_at_most)
    }

    /// Returns the windows of programs, whose client is on side 0.
    pub(crate) fn program_offers(&self) -> Offers {
        [0, 1].map(|side| self.side_stack(side).offers_at_most)
    }
}

fn path(number: usize) -> String {
    format!("tcp.mix[{number}]")
}

/// Checks that the stacks of a side differ only in settings that the kernel has per host.
fn check(side: u8, stacks: &BTreeSet<StackId>, profiles: &[(String, &Profile)]) -> Result<(), Error> {
    let mut stacks = stacks.iter().map(|id| &profiles[id.index()]);
    let (_, first) = stacks.next().expect("each side has one");
    for (path, other) in stacks {
        if let Some((name, [one, another])) = stack::first_shared_difference(first, other) {
            return Err(Error::Refused(format!(
                "{path}.{name}: the kernel has one for all hosts of a side, and those of side {side} have {one} and {another}"
            )));
        }
    }
    Ok(())
}

/// Checks that the users of a side share a listening socket: DCTCP has one of its own.
fn check_users(of_users: &BTreeSet<StackId>, stacks: &[Stack]) -> Result<(), Error> {
    let has_own_ecn = |id: &&StackId| stacks[id.index()].has_own_ecn;
    let Some(own) = of_users.iter().find(has_own_ecn).filter(|_| !of_users.iter().all(|id| has_own_ecn(&id)))
    else {
        return Ok(());
    };
    let path = own.index().checked_sub(1).map_or("tcp".to_owned(), path);
    Err(Error::Refused(format!(
        "{path}.congestion: all users of a side or none must have dctcp in the kernel"
    )))
}

#[cfg(test)]
mod tests {
    use aqmlab_sim::{SourceFlow, UserConnection};
    use aqmlab_units::Duration;

    use super::*;

    fn mix(tcp: &str, programs: bool) -> Result<Mix, String> {
        let spec = format!(
            r#"{{"testbed": "unc-2003", "users": {{"per_side": 3}}, "tcp": {tcp}, "sources": [{{"bulk": {{"flows": 2}}}},
                {{"datagrams": {{"rate": "1 Mbit/s", "packet": "100 B"}}}}]}}"#
        );
        let spec = Spec::from_json(&spec).expect("a sound spec");
        Mix::from_spec(&spec, 1, programs).map_err(|error| error.to_string())
    }

    #[test]
    fn a_side_has_the_stack_that_all_of_its_hosts_have() {
        let mix = mix(r#"{"mix": [{"share": 1, "side": 1, "profile": "linux-6", "ecn": true}]}"#, true);
        let mix = mix.expect("the kernel can do it");
        assert_eq!(mix.congestion_on(0), BTreeSet::from(["reno"]));
        assert_eq!(mix.congestion_on(1), BTreeSet::from(["cubic"]));
        assert_eq!([0, 1].map(|side| mix.side_stack(side).metrics.initial_window), [2, 10]);
        assert_eq!(mix.program_offers(), [Some(16_384), None]);
    }

    #[test]
    fn hosts_of_a_side_may_differ_in_control_and_unscaled_windows() {
        let tcp =
            r#"{"mix": [{"share": 0.5, "congestion": "cubic"}, {"share": 0.5, "receive_window": 8192}]}"#;
        let mix = mix(tcp, false).expect("the kernel can do it");
        assert_eq!(mix.congestion_on(0), BTreeSet::from(["cubic", "reno"]));
        for number in 0..20 {
            let user = UserConnection { user: 1, number, min_rtt: Duration::ZERO };
            let flow = SourceFlow { source: 0, number, side: 0 };
            for ends in [mix.assignment.of_user(&user), mix.assignment.of_flow(&flow)] {
                for (id, offer) in ends.into_iter().zip(mix.offers(ends)) {
                    let is_cubic = mix.stack(id).congestion == "cubic";
                    assert_eq!(offer, Some(if is_cubic { 16_384 } else { 8_192 }));
                }
            }
        }
    }

    #[test]
    fn dctcp_brings_its_own_ecn_beside_hosts_without_it() {
        let dctcp = r#""profile": "linux-6", "ecn": "dctcp", "congestion": "dctcp""#;
        let with = |tcp: &str| mix(&format!(r#"{{"profile": "linux-6", "mix": [{tcp}]}}"#), false);
        let found =
            with(&format!(r#"{{"share": 1, "source": "bulk", {dctcp}}}"#)).expect("the kernel can do it");
        for side in [0, 1] {
            assert_eq!(found.side_stack(side).congestion, "cubic");
            assert_eq!(found.stack_with_own_ecn(side).expect("the source's").congestion, "dctcp");
        }
        let everyone = with(&format!(r#"{{"share": 1, {dctcp}}}"#)).expect("the kernel can do it");
        assert_eq!(everyone.side_stack(0).congestion, "dctcp");
        assert_eq!(
            with(&format!(r#"{{"share": 0.5, {dctcp}}}"#)).expect_err("users share a listening socket"),
            "tcp.mix[0].congestion: all users of a side or none must have dctcp in the kernel"
        );
    }

    #[test]
    fn a_difference_in_a_setting_of_the_whole_side_is_refused() {
        let refused = |tcp| mix(tcp, false).expect_err("the kernel cannot do it");
        assert_eq!(
            refused(r#"{"mix": [{"share": 0.5, "side": 1, "sack": true}]}"#),
            "tcp.mix[0].sack: the kernel has one for all hosts of a side, and those of side 1 have false and true"
        );
        assert_eq!(
            refused(r#"{"mix": [{"share": 0.5, "ecn": true}, {"share": 0.5, "congestion": "cubic"}]}"#),
            "tcp.mix[1].ecn: the kernel has one for all hosts of a side, and those of side 0 have true and false"
        );
        assert_eq!(
            refused(r#"{"window_scaling": true, "mix": [{"share": 0.5, "receive_window": 8192}]}"#),
            "tcp.mix[0].receive_window: the kernel has one for all hosts of a side, and those of side 0 have 16384 and 8192"
        );
        assert_eq!(
            refused(r#"{"mix": [{"share": 0.5, "nagle": true}]}"#),
            "tcp.mix[0].nagle: live has none: Linux holds a small segment back behind another small one alone"
        );
        // A source's hosts share the namespace too.
        assert!(
            refused(r#"{"mix": [{"share": 1, "source": "bulk", "timestamps": true}]}"#)
                .contains("timestamps")
        );
    }

    #[test]
    fn values_that_the_kernel_does_not_take_may_differ() {
        assert!(mix(r#"{"mix": [{"share": 0.5, "initial_rto": "1 s", "hystart": "off"}]}"#, false).is_ok());
    }
}
