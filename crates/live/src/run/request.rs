//! The request for a run: a resolved spec and a seed, as JSON on standard input. Specs that live runs do not support are
//! refused here.

use std::io;

use aqmlab_sim::{Bounds, DisciplineSpec, FlowInstants, QueueSpec, Spec};
use aqmlab_units::{Duration, Time};
use aqmlab_workload::sources::{DatagramsConfig, SourceConfig};
use aqmlab_workload::{Web, WebConfig, WorkloadConfig};
use serde::Deserialize;
use serde_json::Value;

use crate::error::{Context, Error};
use crate::network::device::Kind;
use crate::network::hosts;
use crate::packet::addresses::MOST_USERS;
use crate::packet::datagram::Stamp;
use crate::side::programs::Programs;

/// The request for a run.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) spec: Spec,
    pub(crate) seed: u64,
    /// The kind of device between sides and router.
    pub(crate) device: Kind,
    /// The programs that run at the same time as the users.
    pub(crate) programs: Option<Programs>,
    /// The bounds of the capture, if packets are captured.
    pub(crate) capture: Option<Bounds>,
    /// True if the tables are also written during the run.
    pub(crate) watched: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRequest {
    spec: Value,
    seed: u64,
    /// By default the preferred kind that the machine allows.
    device: Option<Kind>,
    programs: Option<Programs>,
    capture: Option<RawBounds>,
    #[serde(default)]
    watched: bool,
}

/// The bounds of a capture: start, end and number of packets.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawBounds {
    from_s: f64,
    /// By default the end of the run.
    until_s: Option<f64>,
    packets: u64,
}

/// Reads a request from standard input.
pub(crate) fn read() -> Result<Request, Error> {
    let text = io::read_to_string(io::stdin()).context(|| "standard input".to_owned())?;
    let request = parse(&text)?;
    if !request.spec.kernel_disciplines().is_empty() {
        let reason = "the disciplines of a running kernel need its administrator";
        return Err(Error::Refused(format!("queue.kernel: needs world = \"kernel\": {reason}")));
    }
    Ok(request)
}

pub(crate) fn parse(text: &str) -> Result<Request, Error> {
    let RawRequest { spec, seed, device, programs, capture, watched } =
        serde_json::from_str(text).map_err(|error| Error::Refused(format!("standard input: {error}")))?;
    let spec = Spec::from_json(&spec.to_string()).map_err(|error| Error::Refused(error.to_string()))?;
    check(&spec)?;
    if spec.users.per_side == 0 && spec.sources.is_empty() && programs.is_none() {
        return Err(Error::Refused(
            "users.per_side: must be at least 1 where there are no sources and no command is run, got 0"
                .into(),
        ));
    }
    let time = |seconds: f64| Time::ZERO + Duration::from_secs_f64(seconds);
    let capture = capture.map(|RawBounds { from_s, until_s, packets }| Bounds {
        from: time(from_s),
        until: until_s.map_or(Time::MAX, time),
        packets,
    });
    Ok(Request {
        spec,
        seed,
        device: device.unwrap_or_else(hosts::device_available),
        programs,
        capture,
        watched,
    })
}

impl Request {
    /// Returns the model of the web users.
    pub(crate) fn web(&self) -> Result<Web, Error> {
        let users = &self.spec.users;
        let web = Web::new(web_config(&self.spec)?, &users.rtt, self.seed);
        web.map_err(|error| Error::Refused(error.to_string()))
    }
}

/// Returns the tables of the web users.
fn web_config(spec: &Spec) -> Result<&WebConfig, Error> {
    match &spec.users.workload {
        WorkloadConfig::Web(config) => Ok(config),
        WorkloadConfig::Pages(_) => Err(Error::Refused(
            "users.workload: needs world = \"simulated\": hosts have no browser that loads pages over HTTP/2"
                .into(),
        )),
    }
}

/// Returns an error if live runs do not support the spec.
fn check(spec: &Spec) -> Result<(), Error> {
    web_config(spec)?;
    let is_custom = |queue: &QueueSpec| matches!(queue.discipline, DisciplineSpec::Custom(_));
    if spec.links.hops().iter().any(|hop| hop.queues().into_iter().any(is_custom)) {
        return Err(Error::Refused("live has no custom laws: its router is a program without Python".into()));
    }
    if spec.record.exchanges {
        let reason = "the kernel does not say what loss and marks cost each exchange";
        return Err(Error::Refused(format!("live has no record.exchanges: {reason}")));
    }
    if spec.record.flows.as_ref().is_some_and(|flows| flows.every == FlowInstants::Changes) {
        let reason = "the kernel reports no changes: write a period such as \"10 ms\", got \"changes\"";
        return Err(Error::Refused(format!("record.flows: {reason}")));
    }
    if let Some(users) = spec.record.flows.as_ref().map(|flows| flows.users).filter(|&users| users > 0.0) {
        return Err(Error::Refused(format!(
            "record.flows.users: live records the flows of sources, got {users}"
        )));
    }
    if spec.users.per_side > MOST_USERS {
        let per_side = spec.users.per_side;
        return Err(Error::Refused(format!("users.per_side: live has at most {MOST_USERS}, got {per_side}")));
    }
    for (number, source) in spec.sources.iter().enumerate() {
        if matches!(source.config, SourceConfig::Video(_)) {
            let reason = "its program does not report what a player shows";
            return Err(Error::Refused(format!(
                "sources[{number}].video: live has no adaptive video: {reason}"
            )));
        }
        if matches!(source.config, SourceConfig::VideoCall(_)) {
            let reason = "its program sends no feedback over UDP";
            return Err(Error::Refused(format!(
                "sources[{number}].video_call: live has no video calls: {reason}"
            )));
        }
        if let SourceConfig::Datagrams(DatagramsConfig { packet, .. }) = source.config
            && packet < Stamp::SHORTEST
        {
            let least = Stamp::SHORTEST;
            return Err(Error::Refused(format!(
                "sources[{number}].datagrams.packet: live writes into each what it is, and has at least {least}, got {packet}"
            )));
        }
    }
    Ok(())
}
