//! Active queue management, sans-IO.
//!
//! A *law* ([`Aqm`]) judges packets; a *queue* ([`Gate`], [`Fifo`]) acts on its verdicts: it owns the packets, marks,
//! drops and counts. A law is told the time and never asks for it, draws random numbers from the [`Stream`] it was
//! built with, and can therefore be replayed exactly.
//!
//! Each law has a configuration whose fields tell their meaning, unit, default and source; [`catalogue`] lists them, and
//! [`QueueConfig`] chooses one. None has a switch for ECN: a law *signals*, and what a signal does to a packet depends
//! on whether its sender made it ECN-capable.
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
mod avq;
mod bins;
mod blue;
mod catalogue;
mod choke;
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
mod flow_table;
mod fq_cobalt;
mod fq_codel;
mod fq_pie;
mod fred;
mod gate;
mod law;
mod ldc;
mod limit;
mod link;
mod measure;
mod mimd_red;
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
mod red_star;
mod rem;
mod round;
mod sfb;
mod sfb_options;
mod sfq;
mod sred;
mod threshold;
mod token_bucket;

pub use ared::{Ared, AredConfig};
pub use avq::{Avq, AvqConfig, AvqLoad};
pub use blue::{Blue, BlueConfig, IdleDecrease};
pub use catalogue::{Entry, QueueConfig, catalogue};
pub use choke::{Choke, ChokeConfig};
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
pub use fred::{AboveMax, Fred, FredConfig};
pub use gate::Gate;
pub use law::{Aqm, DecidesAtEnqueue, QueueState, Verdict};
pub use ldc::{Ldc, LdcConfig, OutputRate};
pub use limit::{Limit, ParseLimitError};
pub use link::LinkContext;
pub use measure::Mode;
pub use mimd_red::{MimdRed, MimdRedConfig};
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
pub use red_star::RedStarConfig;
pub use rem::{Rem, RemConfig};
pub use round::Turns;
pub use sfb::{Sfb, SfbConfig};
pub use sfb_options::{AboveHalf, FullBins, Hashing};
pub use sfq::{Sfq, SfqConfig};
pub use sred::{Sred, SredConfig, SredVariant};
pub use threshold::{Threshold, ThresholdConfig};
