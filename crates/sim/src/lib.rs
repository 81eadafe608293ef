//! The simulator of the laboratory.
//!
//! Two networks joined by one peering link, with web users and servers on both sides, a round-trip time for each
//! connection, and a queue discipline at each end of the link: the laboratory of Le, Aikat, Jeffay and Smith
//! (SIGCOMM 2003), packet by packet on a virtual clock.
//!
//! A [`Spec`] describes a run, [`Simulation`] runs it, and [`Tables`] and [`Summary`] hold its results. A
//! [`Capture`] records the packets of the queues.

mod build;
mod capture;
mod engine;
mod explain;
mod labels;
mod link;
mod names;
mod packet;
mod quantiles;
mod record;
mod side;
mod simulation;
mod slab;
mod spec;
mod summary;

/// The results number, raised with every change after which the same spec and seed give other results. It is part
/// of a cell's key, so that stored results are never taken for those of another version. The golden cells
/// (`tests/running/golden.py`) fail when it must be raised.
pub const RESULTS: u32 = 6;

pub use build::{Laws, Watch, build, emulate, queue_stream};
pub use capture::{Bounds, Capture};
pub use engine::emulated::{
    EmulatedNetwork, End, FlowState, KernelArrival, Outcome, Route, Sent, SourceConnection, SourceFlow,
    UserConnection,
};
pub use engine::hosts::{StackId, Stacks};
pub use explain::TimelineRequest;
pub use link::{BucketSpec, CapacitySpec, KernelDecision, Losses, capacity_tables};
pub use names::interned;
pub use record::{
    Column, ExchangeTable, ExplainedPageTable, ExplanationTable, FlowTable, GaugeTable, LinkTable, LossTable,
    QueueTable, ResourceTable, ResponseTimesTable, Table, Tables, TimelineTable, Values, Variables,
};
pub use simulation::Simulation;
pub use spec::{
    BurstsSpec, ControlTable, CustomLaw, DelayAt, DelayChange, DisciplineSpec, Dscp, EcnField, EcnPath,
    FlowInstants, FlowsSpec, FourStateSpec, GilbertElliottSpec, HopSpec, HostsSpec, KernelDiscipline,
    LinkSpec, LinksSpec, LossSpec, MixSpec, OutagePackets, OutageSpec, PathSpec, PerDirection, ProfileSpec,
    ProtocolSpec, QueueSpec, RateChange, RateSpec, RecordSpec, ReorderSpec, Role, SidesSpec, SourceSpec,
    Spec, SpecError, StateChange, TcpSpec, Testbed, TestbedValue, TwoStatesSpec, UsersSpec,
};
#[cfg(feature = "schema")]
pub use spec::{SourceKeys, written_schema};
pub use summary::{
    ClassSummary, DatagramSummary, DirectionSummary, LimitedByPercent, PacketCounts, PacketSummary,
    QueueDelayMs, ResponseTimeMs, SourceSummary, Summary,
};
