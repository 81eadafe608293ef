//! What a spec comes to: hosts, traffic, and the links in series with their queues.

use aqmlab_aqm::{Limit, QueueConfig};
use aqmlab_tcp::{Needs, Profile};
use aqmlab_units::{Stream, Time};
use aqmlab_workload::Web;
use aqmlab_workload::sources::Source;

use super::{Laws, queue_stream};
use crate::engine::Traffic;
use crate::link::Wire;
use crate::spec::{LinkSpec, QueueSpec, Spec, SpecError};

/// A run, before there is an engine for it.
pub(super) struct Plan<'a> {
    pub(super) spec: &'a Spec,
    pub(super) seed: u64,
    pub(super) traffic: Traffic,
    /// The least TCP that has what all hosts need.
    pub(super) needs: Needs,
    /// Each link: those of the chain, else the one.
    pub(super) hops: Vec<Hop<'a>>,
}

/// A link, both directions alike.
pub(super) struct Hop<'a> {
    /// Its number, counted from 0.
    pub(super) number: usize,
    pub(super) wire: Wire,
    pub(super) queues: Queues<'a>,
    /// What the queues draw from.
    pub(super) streams: [Stream; 2],
}

/// The disciplines of the two queues of a link.
pub(super) enum Queues<'a> {
    /// One of the catalogue.
    Catalogue(&'a QueueConfig),
    /// Custom laws, and the most that may wait.
    Custom(Laws, Limit),
}

impl<'a> Plan<'a> {
    pub(super) fn new(spec: &'a Spec, seed: u64, mut laws: Option<Laws>) -> Result<Plan<'a>, SpecError> {
        let hops = (0..).zip(spec.links()).map(|(number, (link, queue))| {
            let queues = match (queue, laws.take()) {
                (QueueSpec::Own(own), Some(laws)) => Queues::Custom(laws, own.limit),
                _ => Queues::Catalogue(queue.known()?),
            };
            let streams = [0, 1].map(|direction| hop_stream(seed, number, direction));
            Ok(Hop { number, wire: wire(&link, spec), queues, streams })
        });
        Ok(Plan {
            spec,
            seed,
            hops: hops.collect::<Result<_, _>>()?,
            traffic: traffic(spec, seed)?,
            needs: spec.tcp.profiles().map(Profile::needs).max().unwrap_or(Needs::Basic),
        })
    }

    /// The discipline of the catalogue that the only link has, if its rate does not change.
    pub(super) fn one_discipline(&self) -> Option<&'a QueueConfig> {
        match self.hops.as_slice() {
            [Hop { queues: Queues::Catalogue(config), wire, .. }]
                if self.spec.chain.is_empty() && wire.rate_changes.is_empty() =>
            {
                Some(config)
            }
            _ => None,
        }
    }
}

/// One direction of `link`, which `spec` has.
fn wire(link: &LinkSpec, spec: &Spec) -> Wire {
    let changes = link.rate_changes.iter().map(|change| (Time::ZERO + change.at, change.rate));
    Wire {
        context: link.context(),
        delay: link.delay,
        device_fifo: link.device_fifo,
        rate_changes: changes.collect(),
        // The users and each source, where there are any.
        owners: if spec.sources.is_empty() { 0 } else { 1 + spec.sources.len() },
    }
}

/// The random stream of the queue of one direction of link `number` of a chain, counted from 0: the first link's is that
/// of a link alone.
fn hop_stream(seed: u64, number: usize, direction: usize) -> Stream {
    match number {
        0 => queue_stream(seed, direction),
        _ => Stream::named(seed, &format!("queue/{direction}/link/{number}")),
    }
}

fn traffic(spec: &Spec, seed: u64) -> Result<Traffic, SpecError> {
    let (users, sources) = (&spec.users, (0..).zip(&spec.sources));
    let web = Web::new(&users.workload, &users.rtt, seed)
        .map_err(|error| SpecError { path: format!("users.{}", error.path), message: error.message })?;
    let sources = sources.map(|(number, source)| {
        Source::new(&source.config, number, &users.rtt, seed).map_err(|error| SpecError {
            path: format!("sources[{number}].{}", error.path),
            message: error.message,
        })
    });
    Ok(Traffic { web, sources: sources.collect::<Result<_, _>>()? })
}
