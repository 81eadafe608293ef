//! From a resolved spec to a run: a plan of links, hosts and traffic, and an engine of a suitable type.
//!
//! | hosts | network | observed | engine |
//! |---|---|---|---|
//! | all with the TCP of 2001 | one link at one rate, its discipline of the catalogue | no | one for each discipline |
//! | any | one link | no, or captured | one for each transport, over boxed links |
//! | any | a chain | no, or captured | one for each transport, over chains of them |
//! | any | one link at one rate | explained | one for each transport, over queues of numbers |
//!
//! Hosts of which some speak QUIC are not captured: their engine's observer keeps the datagrams in the network.
//!
//! The first is the most frequent run. Each engine takes seconds to compile, so the slower cases share one, and
//! so does the first in debug builds, whose speed does not matter.

mod links;
mod plan;

use aqmlab_aqm::{AckFilter, AdmissionControl, Aqm, DecidesAtEnqueue, Limit, Qdisc, QueueConfig, Visitor};
use aqmlab_tcp::congestion::Any;
use aqmlab_tcp::{AnyTransport, Basic, Full, RequiredStack, Scaled, Sender};
use aqmlab_units::Stream;
use aqmlab_workload::sources::SourceConfig;

use self::links::{chains, paths};
use self::plan::{Hop, OneWay, Plan};
use crate::capture::{Capture, OnTheWire};
use crate::engine::emulated::EmulatedNetwork;
use crate::engine::observer::Observer;
use crate::engine::{Engine, Network, QuicDatagrams, Traffic};
use crate::explain::{Explainer, Paths, Tagged, TimelineRequest};
use crate::link::{Boxed, Computed, Link, Queued, Wire};
use crate::packet::{Owner, Packet};
use crate::side::Direction;
use crate::simulation::Simulation;
use crate::spec::{DisciplineSpec, HopSpec, QueueSpec, SourceSpec, Spec, SpecError};

/// Custom laws of the caller: one for each direction whose queue has one, each in a first-in first-out queue with
/// the spec's limit. They should draw random numbers from [`queue_stream`].
pub type Laws = [Option<Box<dyn Aqm + Send>>; 2];

/// Additional records of a run, which do not change its results.
#[derive(Clone, Copy, Debug)]
pub enum Watch<'a> {
    /// None.
    Nothing,
    /// The packets of the queues.
    Capture(&'a Capture),
    /// The time of each exchange, or of each page, by cause, and timelines of some of them: of the web users, or of the sources
    /// with these numbers, from 0.
    Explain(&'a [u8], TimelineRequest),
}

/// Prepare the run `seed` of `spec`, with custom laws if the spec uses them. Custom congestion controls are in the spec
/// ([`Spec::with_controls`]).
pub fn build(
    spec: &Spec,
    seed: u64,
    laws: Option<Laws>,
    watch: Watch<'_>,
) -> Result<Box<dyn Simulation>, SpecError> {
    if spec.users.per_side == 0 && spec.sources.is_empty() {
        let message = "must be at least 1 where there are no sources, got 0".to_owned();
        return Err(SpecError { path: "users.per_side".to_owned(), message });
    }
    if !spec.kernel_disciplines().is_empty() {
        let message =
            "needs world = \"kernel\": a simulation has no discipline of the Linux kernel".to_owned();
        return Err(SpecError { path: "queue.kernel".to_owned(), message });
    }
    spec.check_controls()?;
    if matches!(watch, Watch::Explain(..)) {
        check_explained(spec)?;
    }
    if matches!(watch, Watch::Capture(_)) {
        check_captured(spec)?;
    }
    let plan = Plan::new(spec, seed, laws)?;
    // Debug builds compile no engine per discipline, which would take minutes.
    let fast_discipline = if cfg!(debug_assertions) { None } else { plan.one_discipline() };
    Ok(match (plan.required_stack, fast_discipline, watch) {
        (RequiredStack::Basic, Some(config), Watch::Nothing) => {
            config.visit(&spec.links.first().context(), plan)
        }
        (RequiredStack::Basic, ..) => plan.engine::<Basic>(watch),
        (RequiredStack::Scaled, ..) => plan.engine::<Scaled>(watch),
        (RequiredStack::Full, ..) => plan.engine::<Full<Any>>(watch),
        (RequiredStack::AnyTransport, ..) => plan.any_transport(watch),
    })
}

/// Prepare the network of `spec` in the run `seed` for packets of real hosts. A capture, if given, needs their
/// headers by [`Capture::show`].
pub fn emulate(spec: &Spec, seed: u64, capture: Option<&Capture>) -> Result<EmulatedNetwork, SpecError> {
    check_emulated(spec)?;
    let hops = Plan::new(spec, seed, None)?.hops;
    let kernel_queues = hops.iter().flat_map(Hop::kernel_queues).collect();
    let hops = hops.into_iter().map(|hop| hop.emulated(capture));
    let links =
        if spec.links.is_chain() { chains(spec, hops.collect()).map(boxed) } else { single(hops).map(boxed) };
    Ok(EmulatedNetwork::new(spec, seed, links, kernel_queues))
}

/// Refuse what a network does not do to packets of real hosts: it forwards each packet once, with the headers it came with,
/// and reads of those headers only what the IP header has.
fn check_emulated(spec: &Spec) -> Result<(), SpecError> {
    refuse_quic(spec, "hosts of a live run and of the kernel have no QUIC of this engine")?;
    if let Some((number, source)) = (0..).zip(&spec.sources).find(|(_, source)| source.ecn.is_some()) {
        let path = format!("sources[{number}].{}.ecn", source.config.kind());
        let message = "needs world = \"simulated\": hosts send datagrams that are not ECN-capable".to_owned();
        return Err(SpecError { path, message });
    }
    let is_video_call = |source: &SourceSpec| matches!(source.config, SourceConfig::VideoCall(_));
    if let Some(number) = spec.sources.iter().position(is_video_call) {
        let path = format!("sources[{number}].video_call");
        let message = "needs world = \"simulated\": hosts send datagrams without feedback".to_owned();
        return Err(SpecError { path, message });
    }
    let unsupported = spec.links.hops().iter().find_map(|hop| {
        let (link, has_filter) = (&hop.link, hop.queues().into_iter().any(has_ack_filter));
        let keys = [
            ("link.duplicate", link.duplicate.is_some(), "packets of real hosts are forwarded once"),
            ("link.ecn", link.ecn.is_some(), "packets of real hosts keep their headers"),
            ("queue.cake.ack_filter", has_filter, "of real hosts, only queues of Linux read TCP headers"),
        ];
        keys.into_iter().find(|(_, is_present, _)| *is_present)
    });
    match unsupported {
        None => Ok(()),
        Some((path, _, why)) => {
            let message = format!("needs world = \"simulated\": {why}");
            Err(SpecError { path: path.to_owned(), message })
        }
    }
}

fn has_ack_filter(queue: &QueueSpec) -> bool {
    matches!(&queue.discipline, DisciplineSpec::Known(QueueConfig::Cake(cake)) if cake.ack_filter != AckFilter::NoAckFilter)
}

fn boxed<O>(link: impl Link<O> + Send + 'static) -> Box<dyn Link<O> + Send> {
    Box::new(link)
}

/// The random stream of the queue of one direction in the run `seed`.
pub fn queue_stream(seed: u64, direction: usize) -> Stream {
    Stream::named(seed, &format!("queue/{direction}"))
}

/// Return the item of the only link.
fn single<T>(links: impl IntoIterator<Item = T>) -> T {
    links.into_iter().next().expect("there is a link")
}

/// Refuse QUIC, whose packets no capture reads.
fn check_captured(spec: &Spec) -> Result<(), SpecError> {
    let reason = "captures show TCP headers, and QUIC encrypts its own";
    if spec.has_http3() {
        let message = format!("must be 0: {reason}");
        return Err(SpecError { path: "users.http3".to_owned(), message });
    }
    refuse_quic(spec, reason)
}

/// Refuse hosts that speak QUIC, for this reason.
fn refuse_quic(spec: &Spec, reason: &str) -> Result<(), SpecError> {
    match spec.tcp.profiles().position(|stack| stack.quic.is_some()) {
        None => Ok(()),
        Some(number) => {
            let entry = number.checked_sub(1).map_or("tcp".to_owned(), |entry| format!("tcp.mix[{entry}]"));
            let message = format!("must be a profile of TCP: {reason}, got \"quic\"");
            Err(SpecError { path: format!("{entry}.profile"), message })
        }
    }
}

/// Refuse links that explanations do not support: their packets take the time of their bits at a rate that stays.
fn check_explained(spec: &Spec) -> Result<(), SpecError> {
    spec.links.hops().iter().enumerate().try_for_each(|(number, HopSpec { link, .. })| {
        let has_kind = || Direction::BOTH.iter().any(|&direction| link.rate.of(direction).kind().is_some());
        let changes = || (!link.rate_changes.is_empty()).then_some("rate_changes");
        match changes().or_else(|| link.impairment()).or_else(|| has_kind().then_some("rate")) {
            None => Ok(()),
            Some(key) => {
                let message = "such a run cannot be explained: explanations know of links of constant rates";
                Err(SpecError {
                    path: format!("{}.{key}", spec.links.key(number)),
                    message: message.to_owned(),
                })
            }
        }
    })
}

impl Plan<'_> {
    /// Return the run with hosts of the TCP `S`, over links of any kind.
    fn engine<S: Sender<Options: OnTheWire>>(self, watch: Watch<'_>) -> Box<dyn Simulation> {
        let Plan { spec, seed, traffic, hops, .. } = self;
        let hops = hops.into_iter();
        let (hops, capture): (Vec<[Boxed<S::Options>; 2]>, _) = match watch {
            Watch::Nothing => (hops.map(Hop::links).collect(), None),
            Watch::Capture(capture) => {
                (hops.map(|hop| hop.captured(capture)).collect(), Some(capture.clone()))
            }
            Watch::Explain(sources, request) => {
                return explained::<S, ()>((spec, seed, traffic), hops, (sources, request), ());
            }
        };
        over_links::<S, _, _>((spec, seed, traffic), hops, capture, ())
    }

    /// Return the run with hosts of which some speak QUIC.
    fn any_transport(self, watch: Watch<'_>) -> Box<dyn Simulation> {
        let Plan { spec, seed, traffic, hops, .. } = self;
        let hops = hops.into_iter();
        if let Watch::Explain(sources, request) = watch {
            let (run, datagrams) = ((spec, seed, traffic), QuicDatagrams::default());
            return explained::<AnyTransport<Any>, _>(run, hops, (sources, request), datagrams);
        }
        let hops = hops.map(Hop::links).collect();
        over_links::<AnyTransport<Any>, _, _>((spec, seed, traffic), hops, None, QuicDatagrams::default())
    }

    /// Return the run over one link whose two directions `make` makes, with hosts of the TCP of 2001.
    fn compiled<L: Link + Send + 'static>(self, make: impl Fn(Stream, Wire) -> L) -> Box<dyn Simulation> {
        let Plan { spec, seed, traffic, hops, .. } = self;
        let Hop { directions, .. } = single(hops);
        let links = directions.map(|OneWay { wire, stream, .. }| make(stream, wire));
        Box::new(Engine::<Basic, L>::new(spec, seed, traffic, Network { links, capture: None }, ()))
    }
}

/// Return the run over one link or a chain, explained; packets also go to the observer `inner`.
fn explained<'a, S: Sender, I: Observer<S> + Send + 'static>(
    (spec, seed, traffic): (&Spec, u64, Traffic),
    hops: impl Iterator<Item = Hop<'a>>,
    (sources, request): (&[u8], TimelineRequest),
    inner: I,
) -> Box<dyn Simulation> {
    let paths = Paths::new(spec.links.hops().iter().map(|hop| &hop.link), paths(spec));
    let users = sources.is_empty().then_some(Owner::USERS);
    let owners = users.into_iter().chain(sources.iter().map(|&number| Owner::source(number))).collect();
    let explainer = Explainer::new(paths, owners, request, inner);
    let hops = hops.map(Hop::parked::<Tagged<I::PacketTag>>).collect();
    over_links::<S, _, _>((spec, seed, traffic), hops, None, explainer)
}

/// Return the run over one link or a chain.
fn over_links<S: Sender, O: Observer<S> + Send + 'static, L: Link<O::PacketTag> + Send + 'static>(
    (spec, seed, traffic): (&Spec, u64, Traffic),
    hops: Vec<[L; 2]>,
    capture: Option<Capture>,
    observer: O,
) -> Box<dyn Simulation> {
    if spec.links.is_chain() {
        let network = Network { links: chains(spec, hops), capture };
        Box::new(Engine::<S, _, O>::new(spec, seed, traffic, network, observer))
    } else {
        let network = Network { links: single(hops), capture };
        Box::new(Engine::<S, _, O>::new(spec, seed, traffic, network, observer))
    }
}

impl Visitor for Plan<'_> {
    type Payload = Packet;
    type Output = Box<dyn Simulation>;

    fn law<A: DecidesAtEnqueue + Send + 'static>(
        self,
        limit: Limit,
        make: impl Fn(Stream) -> A,
    ) -> Box<dyn Simulation> {
        self.compiled(|stream, wire| Computed::new(AdmissionControl::new(make(stream), limit), &wire))
    }

    fn queue<Q: Qdisc<Packet> + Send + 'static>(self, make: impl Fn(Stream) -> Q) -> Box<dyn Simulation> {
        self.compiled(|stream, wire| Queued::new(make(stream), &wire))
    }
}
