//! Active queue management, sans-IO.
//!
//! A *law* ([`Aqm`]) judges packets; a *queue* ([`Gate`], [`Fifo`]) acts on its verdicts: it owns the packets, marks,
//! drops and counts. A law is told the time and never asks for it, draws random numbers from the [`Stream`] it was
//! built with, and can therefore be replayed exactly.
//!
//! The laws are [`Droptail`], [`Red`], [`Ared`], [`Pi`], [`Rem`], [`Codel`],
//! [`Cobalt`], [`Pie`] and [`Pi2`], each with a configuration whose fields tell their
//! meaning, unit, default and source; [`catalogue`] lists them, and [`QueueConfig`] chooses one. None has a switch for
//! ECN: a law *signals*, and what a signal does to a packet depends on whether its sender made it ECN-capable.
//! Disciplines of several queues are [`Sfq`], FQ-CoDel ([`FqCodelConfig`]), FQ-PIE ([`FqPieConfig`]), FQ-COBALT
//! ([`FqCobaltConfig`]) and [`DualPi2`].
//!
//! ```
//! use aqmlab_aqm::{Discipline, Ecn, Fifo, LinkContext, Packet, Pi, PiConfig, Qdisc};
//! use aqmlab_units::{BitRate, Bytes, Stream, Time};
//!
//! let link = LinkContext { rate: BitRate::from_mbit_per_sec(100), overhead: Bytes::new(38) };
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

mod ared;
mod average;
mod catalogue;
mod cobalt;
mod codel;
mod codel_options;
mod control_law;
mod counters;
mod coupled;
mod curve;
mod delay;
mod delay_pi;
mod discipline;
mod droptail;
mod dual_options;
mod dual_scheduler;
mod dualpi2;
mod fifo;
mod flow_hash;
mod flow_options;
mod flow_queue;
mod flow_store;
mod fq_cobalt;
mod fq_codel;
mod fq_pie;
mod gate;
mod law;
mod limit;
mod link;
mod measure;
mod overflow;
mod packet;
mod parameter;
mod pi;
mod pi2;
mod pie;
mod pie_options;
mod qdisc;
mod red;
mod red_options;
mod rem;
mod round;
mod sfq;

pub use ared::{Ared, AredConfig};
pub use catalogue::{Entry, QueueConfig, catalogue};
pub use cobalt::{Cobalt, CobaltConfig};
pub use codel::{Codel, CodelConfig};
pub use codel_options::{NextMarkFrom, Reentry};
pub use control_law::Sqrt;
pub use counters::{Admission, Counters};
pub use delay::DelayFrom;
pub use discipline::{DecidesAt, Discipline, Settings, Visitor};
pub use droptail::{Droptail, DroptailConfig};
pub use dual_options::{Controlled, Decide, Native, Overload};
pub use dual_scheduler::Share;
pub use dualpi2::{DualPi2, DualPi2Config};
pub use fifo::Fifo;
pub use flow_options::{Backlog, NoRoom, ThroughOld};
pub use fq_cobalt::FqCobaltConfig;
pub use fq_codel::FqCodelConfig;
pub use fq_pie::FqPieConfig;
pub use gate::Gate;
pub use law::{Aqm, DecidesAtEnqueue, QueueState, Verdict};
pub use limit::{Limit, ParseLimitError};
pub use link::LinkContext;
pub use measure::Mode;
pub use overflow::{End, Half};
pub use packet::{Ecn, Packet};
pub use parameter::{Parameter, ParameterError};
pub use pi::{Pi, PiConfig};
pub use pi2::{Pi2, Pi2Config, SignalAt};
pub use pie::{Pie, PieConfig};
pub use pie_options::{Decay, LightLoad};
pub use qdisc::{Departure, Qdisc};
pub use red::{Red, RedConfig};
pub use red_options::{ByteScaling, EcnPolicy, Spacing};
pub use rem::{Rem, RemConfig};
pub use round::Turns;
pub use sfq::{Sfq, SfqConfig};
