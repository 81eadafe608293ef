//! Active queue management, sans-IO.
//!
//! A *law* ([`Aqm`]) decides about packets. A *queue* ([`AdmissionControl`], [`Fifo`]) acts on its verdicts: it
//! owns the packets, marks, drops and counts. A law gets the time as an argument and draws random numbers from
//! the [`Stream`] that it was built with, so that it can be replayed exactly.
//!
//! Each law has a configuration whose fields have a meaning, a unit, a default and a source; [`catalogue`] lists
//! them, and [`QueueConfig`] chooses one. No law has a switch for ECN: a law *signals*, and the packet's ECN
//! field decides whether the signal is a mark or a drop.
//!
//! ```
//! use aqmlab_aqm::{Discipline, Ecn, Fifo, LinkContext, Packet, Pi, PiConfig, Qdisc};
//! use aqmlab_units::{BitRate, Bytes, Stream, Time};
//!
//! let link = LinkContext { rate: BitRate::from_mbit_per_sec(100), header: Bytes::ZERO, overhead: Bytes::new(38), peak: None };
//! let config = PiConfig { q_ref: 240.0, ..PiConfig::default() }.resolve(&link)?;
//! let law = Pi::new(&config, &link, Stream::named(1, "queue/0"));
//! let mut queue = Fifo::new(law, config.limit);
//!
//! let packet = Packet { size: Bytes::new(1500), ecn: Ecn::Ect0, flow: 7 };
//! queue.enqueue(packet, "what it carries", Time::ZERO, &mut |lost| panic!("{lost} was dropped"));
//! let departure = queue.dequeue(Time::from_nanos(123_040), &mut |_| ()).expect("one packet waits");
//! assert_eq!(departure.payload, "what it carries");
//! # Ok::<(), aqmlab_aqm::ParameterError>(())
//! ```
//!
//! [`Stream`]: aqmlab_units::Stream

mod admission;
mod catalogue;
mod counters;
mod discipline;
mod disciplines;
mod fifo;
mod label;
mod law;
mod limit;
mod link;
mod packet;
mod parameter;
mod parts;
mod qdisc;
mod tc;
mod tcp_header;
mod without_ecn;

pub use admission::AdmissionControl;
pub use catalogue::Entry;
pub use counters::{Admission, Counters};
pub use discipline::{DecidesAt, Discipline, EcnUse, Visitor};
pub use disciplines::*;
pub use fifo::Fifo;
pub use label::{FlowLabel, HostAddress};
pub use law::{Aqm, DecidesAtEnqueue, QueueState, Verdict};
pub use limit::{Limit, ParseLimitError};
pub use link::{LinkContext, Peak};
pub use packet::{Ecn, Packet};
pub use parameter::{
    Allowed, Bandwidth, Choice, PacketNumbers, Parameter, ParameterError, ParsePacketNumbersError, Rtt,
    Settings, SignedSize, Value,
};
pub use parts::cake::options::{AckFilter, Atm, Diffserv, Isolation, LinkLayer};
pub use parts::ce_threshold::CeSelector;
pub use parts::control_law::Sqrt;
pub use parts::delay::DelayFrom;
pub use parts::drr::Turns;
pub use parts::dual::options::{Controlled, Decide, Identifier, Native, Overload};
pub use parts::dual::scheduler::Share;
pub use parts::flows::options::{Backlog, NoRoom, ThroughOld};
pub use parts::linux::Variant;
pub use parts::linux::coin::Coin;
pub use parts::linux::flow_hash::FlowKey;
pub use parts::options::codel::{NextMarkFrom, Reentry};
pub use parts::options::pie::{Decay, LightLoad};
pub use parts::options::red::{ByteScaling, EcnAboveMax, Spacing};
pub use parts::options::sfb::{AboveHalf, FullBins, Hashing};
pub use parts::overflow::{Half, QueueEnd};
pub use parts::queue_unit::Mode;
pub use qdisc::{Departure, Qdisc};
pub use tc::{Tc, TcWords};
pub use tcp_header::{SackBlocks, TcpHeader};
pub use without_ecn::WithoutEcn;
