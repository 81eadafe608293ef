//! The stack of each host, as in the simulator.
//!
//! The kernel has most settings of TCP for a whole namespace, so that all hosts of a side share them. The congestion control is
//! set per socket, and the router bounds windows without scaling per connection.

use std::collections::BTreeSet;

use aqmlab_sim::{Spec, StackId, Stacks};
use aqmlab_tcp::Profile;
use aqmlab_workload::sources::SourceConfig;

use crate::error::Error;
use crate::network::stack::{self, Stack};

/// The largest windows that the receivers of a connection may offer, in bytes; the client's first.
pub(crate) type Offers = [Option<u16>; 2];

/// The stacks of a run.
#[derive(Debug)]
pub(crate) struct Mix {
    pub(crate) who: Stacks,
    /// In the order of their numbers.
    each: Vec<Stack>,
    /// By side, those that hosts there have: at least one.
    sides: [BTreeSet<StackId>; 2],
}

impl Mix {
    /// Those of `spec`, with programs beside its hosts or without; refused where the kernel cannot do what they say.
    pub(crate) fn of(spec: &Spec, seed: u64, programs: bool) -> Result<Mix, Error> {
        let profiles: Vec<(String, &Profile)> = std::iter::once(("tcp".to_owned(), &spec.tcp.values))
            .chain((0..).zip(&spec.tcp.mix).map(|(number, entry)| (path(number), &entry.values)))
            .collect();
        let each =
            profiles.iter().map(|(path, profile)| Stack::of(path, profile)).collect::<Result<_, _>>()?;
        let who = Stacks::new(spec, seed);
        let counts = |owner: usize| match owner.checked_sub(1) {
            None => spec.users.per_side > 0 || programs,
            Some(source) => !matches!(spec.sources[source].config, SourceConfig::Datagrams(_)),
        };
        let sides = [0, 1].map(|side| {
            let stacks = who.on_side(side, counts);
            // Datagrams alone have no TCP.
            if stacks.is_empty() { BTreeSet::from([StackId::default()]) } else { stacks }
        });
        for (side, stacks) in sides.iter().enumerate() {
            check(side, stacks, &profiles)?;
        }
        Ok(Mix { who, each, sides })
    }

    pub(crate) fn stack(&self, id: StackId) -> &Stack {
        &self.each[id.index()]
    }

    /// Returns the stack of a side's kernel and programs: the first of its stacks.
    pub(crate) fn of_side(&self, side: usize) -> &Stack {
        let first = self.sides[side].first().expect("each side has one");
        self.stack(*first)
    }

    /// Returns the congestion controls of a side's hosts.
    pub(crate) fn congestion_on(&self, side: usize) -> BTreeSet<&str> {
        self.sides[side].iter().map(|&id| self.stack(id).congestion.as_str()).collect()
    }

    pub(crate) fn offers(&self, ends: [StackId; 2]) -> Offers {
        ends.map(|id| self.stack(id).offers_at_most)
    }

    /// Of programs, whose client is on side 0.
    pub(crate) fn offers_of_programs(&self) -> Offers {
        [0, 1].map(|side| self.of_side(side).offers_at_most)
    }
}

fn path(number: usize) -> String {
    format!("tcp.mix[{number}]")
}

/// That the stacks of a side differ only in what each host can have of its own.
fn check(side: usize, stacks: &BTreeSet<StackId>, profiles: &[(String, &Profile)]) -> Result<(), Error> {
    let mut stacks = stacks.iter().map(|id| &profiles[id.index()]);
    let (_, first) = stacks.next().expect("each side has one");
    for (path, other) in stacks {
        if let Some((name, [one, another])) = stack::differ_per_side(first, other) {
            return Err(Error::Refused(format!(
                "{path}.{name}: the kernel has one for all hosts of a side, and those of side {side} have {one} and {another}"
            )));
        }
    }
    Ok(())
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
        Mix::of(&spec, 1, programs).map_err(|failed| failed.to_string())
    }

    #[test]
    fn each_side_has_the_stack_that_is_all_of_its_hosts() {
        let mix = mix(r#"{"mix": [{"share": 1, "side": 1, "profile": "linux-6", "ecn": true}]}"#, true);
        let mix = mix.expect("the kernel can do it");
        assert_eq!(mix.congestion_on(0), BTreeSet::from(["reno"]));
        assert_eq!(mix.congestion_on(1), BTreeSet::from(["cubic"]));
        assert_eq!([0, 1].map(|side| mix.of_side(side).metrics.initial_window), [2, 10]);
        assert_eq!(mix.offers_of_programs(), [Some(16_384), None]);
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
            for ends in [mix.who.of_user(&user), mix.who.of_flow(&flow)] {
                for (id, offer) in ends.into_iter().zip(mix.offers(ends)) {
                    let is_cubic = mix.stack(id).congestion == "cubic";
                    assert_eq!(offer, Some(if is_cubic { 16_384 } else { 8_192 }));
                }
            }
        }
    }

    #[test]
    fn hosts_of_a_side_that_differ_in_a_setting_of_all_are_refused() {
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
        // One of a source's hosts is one too many.
        assert!(
            refused(r#"{"mix": [{"share": 1, "source": "bulk", "timestamps": true}]}"#)
                .contains("timestamps")
        );
    }

    #[test]
    fn what_the_kernel_has_of_its_own_anyway_may_differ() {
        assert!(mix(r#"{"mix": [{"share": 0.5, "initial_rto": "1 s", "hystart": true}]}"#, false).is_ok());
    }
}
