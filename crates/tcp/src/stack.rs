//! What is compiled into an endpoint.

use std::fmt::Debug;
use std::marker::PhantomData;

use crate::congestion::{ClassicReno, CongestionControl};
use crate::endpoint::{Classic, Endpoint, Extension, Modern, Scale};
use crate::options::{HeaderOptions, Options, WindowScale};

/// The parts of a TCP that take room in each endpoint and each segment. What only takes other values is in the
/// [`Profile`](crate::Profile).
pub trait Stack: Sized + 'static {
    /// How the congestion window moves.
    type Congestion: CongestionControl + Debug + Send;
    /// The TCP options that its segments may carry.
    type Options: HeaderOptions;
    /// How it keeps track of what it has sent.
    type Extension: Extension<Self>;
    /// How many bytes from its start a segment touches of an endpoint while nothing is lost.
    const HOT: usize;
    /// May its endpoints set timers that expire before the profile's least timeout? Whoever drives one has to ask for
    /// its next deadline after each call then; else a look now and then is enough.
    const SHORT_TIMERS: bool;
}

/// The TCP of 2001: `NewReno`, windows of 65,535 bytes at most, no options. Small, so that tens of thousands of
/// connections stay fast.
#[derive(Clone, Copy, Debug)]
pub struct Basic;

impl Stack for Basic {
    type Congestion = ClassicReno;
    type Options = WindowScale;
    type Extension = Classic;
    const HOT: usize = Endpoint::<Basic>::COLD_FROM;
    const SHORT_TIMERS: bool = false;
}

/// The same with window scaling (RFC 7323 §2). Apart, since what it takes finds no room in [`Basic`]'s cache lines.
#[derive(Clone, Copy, Debug)]
pub struct Scaled;

impl Stack for Scaled {
    type Congestion = ClassicReno;
    type Options = WindowScale;
    type Extension = Scale;
    const HOT: usize = size_of::<Endpoint<Scaled>>();
    const SHORT_TIMERS: bool = false;
}

/// A TCP of today with the congestion control `C`: SACK, timestamps, window scaling, a record of each segment sent,
/// RACK-TLP, proportional rate reduction, pacing. Which of these a connection uses the profile says.
#[derive(Clone, Copy, Debug)]
pub struct Full<C = ClassicReno>(PhantomData<C>);

impl<C: CongestionControl + Debug + Send + 'static> Stack for Full<C> {
    type Congestion = C;
    type Options = Options;
    type Extension = Modern;
    const HOT: usize = size_of::<Endpoint<Self>>();
    const SHORT_TIMERS: bool = true;
}
