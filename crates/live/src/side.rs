//! A side: its browsers, servers and program, on a thread in a namespace of its own.

mod browsers;
mod prober;
pub(crate) mod programs;
pub(crate) mod request_table;
mod servers;

use std::fs::File;
use std::io;
use std::sync::Arc;

use aqmlab_sim::Spec;
use aqmlab_units::Time;
use aqmlab_workload::Web;
use mio::{Events, Poll, Token};
use nix::libc;
use socket2::Socket;

use self::browsers::Browsers;
use self::prober::Prober;
use self::programs::{Program, RunningProgram, UserPrograms};
use self::request_table::RequestTable;
use self::servers::Servers;
use crate::error::{Context, Error};
use crate::machine::clock::{CHECK_INTERVAL, Clock, StopTime, std_duration};
use crate::mix::Mix;
use crate::network::counters;
use crate::network::device::Kind;
use crate::network::hosts::{Hosts, RouterDevice};
use crate::network::sockets;
use crate::network::stack::{self, Settings};
use crate::packet::addresses::SERVER_PORT;
use crate::report::SideReport;
use crate::router::event_queue::{EventQueue, SideEvent};

/// The configuration of both sides.
#[derive(Clone, Debug)]
pub(crate) struct SideConfig {
    pub(crate) spec: Arc<Spec>,
    pub(crate) web: Arc<Web>,
    pub(crate) mix: Arc<Mix>,
    pub(crate) requests: Arc<RequestTable>,
    pub(crate) event_queue: Arc<EventQueue>,
    /// The kind of device between sides and router.
    pub(crate) device: Kind,
    /// The router's namespace.
    pub(crate) router: Arc<File>,
    /// The programs that run at the same time as the users, if there are any.
    pub(crate) programs: Option<Arc<UserPrograms>>,
    /// The time at which the run ends early.
    pub(crate) stop_time: Arc<StopTime>,
}

/// The token of the listening socket. Other tokens are those of connections.
const LISTENER: Token = Token(usize::MAX - 1);

/// A side with its network, ready for the run.
pub(crate) struct Side {
    number: usize,
    common: SideConfig,
    poll: Poll,
    /// The listening socket of servers; none without users.
    listener: Option<Socket>,
    server: Option<Program>,
    /// The sender of probes, which measure the lateness of a router that reads packets.
    prober: Option<Prober>,
    /// The kernel's TCP settings.
    pub(crate) settings: Settings,
}

/// Returns the readiness token of the browser's connection in `slot`.
fn browser_token(slot: usize) -> Token {
    Token(2 * slot)
}

/// Returns the readiness token of the server's connection in `slot`.
fn server_token(slot: usize) -> Token {
    Token(2 * slot + 1)
}

/// Returns the error of a socket without its congestion control.
fn lacks_control(congestion: &str, error: io::Error) -> Error {
    if error.raw_os_error() != Some(libc::ENOENT) {
        return Error::System { what: format!("a socket with {congestion}"), error };
    }
    let known = stack::accepted_controls().join(", ");
    Error::Refused(format!("tcp.congestion: the kernel has no {congestion}: choose {known}"))
}

impl Side {
    /// Creates side `number` on the calling thread, on which it must also run, and returns it with the router's end of its device.
    pub(crate) fn new(number: usize, common: SideConfig) -> Result<(Side, RouterDevice), Error> {
        let mtu = u32::try_from(common.spec.links.mtu().get()).expect("the spec bounds it");
        let SideConfig { mix, device, router, .. } = &common;
        let stack = mix.side_stack(number);
        let has = |congestion| {
            let socket = sockets::new(congestion).map_err(|error| lacks_control(congestion, error))?;
            sockets::congestion(&socket).context(|| "the congestion control".to_owned())
        };
        let congestion = mix.congestion_on(number).into_iter().map(has).collect::<Result<Vec<_>, _>>()?;
        let (router_device, mut settings) =
            Hosts { side: number, stack, mtu, device: *device, router }.create()?;
        let poll = Poll::new().context(|| "epoll".to_owned())?;
        settings.add("TCP_CONGESTION", congestion.join(" "));
        let mut listener = None;
        if common.spec.users.per_side > 0 {
            let socket = sockets::listen(SERVER_PORT, &mix.side_stack(number).congestion);
            let socket = socket.context(|| "a listening socket".to_owned())?;
            sockets::watch(&poll, &socket, LISTENER).context(|| "epoll".to_owned())?;
            listener = Some(socket);
        }
        let prober = if common.device == Kind::Engine { None } else { Some(Prober::new(number)?) };
        let mut server = None;
        if number == 1
            && let Some(programs) = &common.programs
        {
            server = programs.start(number)?;
        }
        if let Some(server) = &mut server {
            server.wait_for_port()?;
        }
        Ok((Side { number, common, poll, listener, server, prober, settings }, router_device))
    }

    /// Runs the side to the end of the run.
    pub(crate) fn run(self, clock: Clock) -> Result<SideReport, Error> {
        let Side { number, common, mut poll, listener, server, mut prober, .. } = self;
        let mut program = RunningProgram::new(number, server);
        let protocol = &common.spec.protocol;
        let begin = Time::ZERO + protocol.warmup;
        let end = begin + protocol.duration;
        let mut browsers = Browsers::new(number, &common, clock);
        let mut servers = Servers::new(&common);
        let mut events = Events::with_capacity(1024);
        let mut retransmissions_before = None;
        loop {
            let now = clock.now();
            if now >= end || common.stop_time.get().is_some() {
                break;
            }
            if now >= begin && retransmissions_before.is_none() {
                retransmissions_before = Some(counters::tcp_counters()?[counters::RETRANSMISSIONS]);
            }
            if program.update(common.programs.as_deref(), now >= begin)? {
                common.stop_time.set(now).expect("one command ends once");
                common.event_queue.push(SideEvent::CommandEnded { at: now });
                break;
            }
            if let Some(prober) = &mut prober {
                prober.send(now, &clock);
            }
            browsers.wake(&poll, now)?;
            let mut until = browsers
                .next_wake()
                .min(prober.as_ref().map_or(Time::MAX, |prober| prober.next_probe))
                .min(if retransmissions_before.is_none() { begin } else { end });
            if common.programs.is_some() {
                until = until.min(now + CHECK_INTERVAL);
            }
            let pause = std_duration(until.saturating_since(clock.now()));
            let polled = poll.poll(&mut events, Some(pause));
            clock.update();
            match polled {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                polled => polled.context(|| "epoll".to_owned())?,
            }
            for event in &events {
                match event.token() {
                    LISTENER => {
                        servers.accept(&poll, listener.as_ref().expect("a listener that is ready exists"))?;
                    }
                    Token(place) if place % 2 == 0 => browsers.on_ready(&poll, place / 2, event)?,
                    Token(place) => servers.on_ready(place / 2, event),
                }
            }
        }
        report(browsers, servers, retransmissions_before, program.exit_code)
    }
}

/// Returns the report of a side at the end of the run.
fn report(
    browsers: Browsers,
    servers: Servers,
    retransmissions_before: Option<u64>,
    exit_code: Option<u8>,
) -> Result<SideReport, Error> {
    let mut errors = browsers.errors;
    let mut congestion = browsers.congestion;
    for (control, count) in servers.congestion() {
        *congestion.entry(control.clone()).or_default() += count;
    }
    for (error, count) in servers.errors {
        *errors.entry(error).or_default() += count;
    }
    Ok(SideReport {
        wake_lateness_us: browsers.wake_lateness_us,
        errors,
        congestion,
        lost: counters::interface_drops()? + counters::datagram_drops()?,
        tcp: counters::tcp_counters()?,
        retransmissions_before: retransmissions_before.unwrap_or(0),
        exit_code,
    })
}
