//! Checks of the machine for live runs: each capability is tried, none is inferred from a version.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::panic::resume_unwind;
use std::sync::mpsc;
use std::thread;

use aqmlab_tcp::Profile;
use aqmlab_units::{Duration, Time};
use hdrhistogram::Histogram;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::prctl;
use nix::sys::time::TimeSpec;
use serde::Serialize;

use crate::error::{Context, Error};
use crate::machine::clock::{Clock, std_duration};
use crate::machine::limits;
use crate::machine::priority::{self, ThreadPriority};
use crate::network::counters;
use crate::network::device::{Device, Kind};
use crate::network::hosts::{Hosts, RouterDevice};
use crate::network::namespaces::{self, Power};
use crate::network::netlink::Netlink;
use crate::network::sockets;
use crate::network::stack::{self, Stack};
use crate::packet::addresses::{self, BrowserEnd, SERVER_PORT};

/// The results of the checks.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// Can there be live runs?
    can_run: bool,
    checks: Vec<Check>,
}

/// One thing that was tried.
#[derive(Debug, Serialize)]
struct Check {
    what: &'static str,
    ok: bool,
    found: String,
    /// The consequence of a lack, and its remedy.
    lack: Option<&'static str>,
}

/// The consequences of each lack.
mod lacks {
    pub(super) const NAMESPACES: &str = "no live runs. In a container: run it privileged, or with a seccomp profile that allows \
         unshare. Elsewhere: see sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone";
    pub(super) const POWER: &str = "no live runs. Ubuntu from 24.04 on makes such namespaces powerless unless an AppArmor \
         profile names the program: aqmlab doctor --apparmor prints one. Or run as root";
    pub(super) const TUN: &str = "none, where pairs of interfaces are there: they are used. Root may open /dev/net/tun; in a \
         container, give it the device";
    pub(super) const VETH: &str = "none, where TUN devices are there: load the modules veth and af_packet";
    pub(super) const PRIORITY: &str =
        "router and users are later on a busy machine: run as root, or raise RLIMIT_RTPRIO";
    pub(super) const LATENESS: &str =
        "runs will be invalid: let nothing else run, or allow more (--late-p99)";
    pub(super) const FILES: &str =
        "a connection takes two: raise the hard limit (ulimit -Hn) for more than some thousand users";
    pub(super) const QUEUES: &str = "nothing: live runs have queues of ours. Those of the kernel's can be held to them where it was built with them";
    pub(super) const OTHERS: &str = "what else runs makes the router late: a run needs two processors";
}

/// The bounds of a valid run on the lateness of threads: its 99th and 99.9th percentiles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LatencyBounds {
    p99_ms: f64,
    p999_ms: f64,
}

impl LatencyBounds {
    pub(crate) fn read(arguments: impl Iterator<Item = OsString>) -> Result<LatencyBounds, Error> {
        let numbers: Vec<f64> = arguments.filter_map(|it| it.to_str()?.parse().ok()).collect();
        match numbers[..] {
            [p99_ms, p999_ms] => Ok(LatencyBounds { p99_ms, p999_ms }),
            _ => Err(Error::Refused("doctor: must have two numbers, in milliseconds".to_owned())),
        }
    }
}

/// Try everything. To be called while the process has one thread.
pub(crate) fn examine(soon: LatencyBounds) -> Report {
    let mut report = Report { can_run: false, checks: Vec::new() };
    report.machine();
    let entered = namespaces::enter().map(|power| match power {
        Power::Root => "as root".to_owned(),
        Power::UserNamespace => "in a user namespace, without root".to_owned(),
    });
    if report.tell("network namespaces", entered, lacks::NAMESPACES) {
        let up = Netlink::open().and_then(|netlink| netlink.set_up_loopback());
        if report.tell("an interface set up in one", up.map(|()| "lo".to_owned()), lacks::POWER) {
            let joined = [
                ("TCP over TUN devices", Kind::Tun, lacks::TUN),
                ("TCP over pairs of interfaces", Kind::Veth, lacks::VETH),
            ]
            .map(|(what, kind, lack)| report.tell(what, connect_over(kind), lack));
            report.can_run = joined.contains(&true);
            report.kernel();
            report.queues();
        }
    }
    report.timers(soon);
    report
}

impl Report {
    fn tell(&mut self, what: &'static str, found: Result<String, Error>, lack: &'static str) -> bool {
        let ok = found.is_ok();
        let found = found.unwrap_or_else(|failed| failed.to_string());
        self.checks.push(Check { what, ok, found, lack: (!ok).then_some(lack) });
        ok
    }

    fn judge(&mut self, what: &'static str, found: String, ok: bool, lack: &'static str) {
        self.checks.push(Check { what, ok, found, lack: (!ok).then_some(lack) });
    }

    /// Processors, what else they do, and limits.
    fn machine(&mut self) {
        let processors = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let load = counters::load().unwrap_or(f64::NAN);
        let is_free = processors >= 2 && load <= 0.5 * processors as f64;
        self.judge("processors", format!("{processors}, load {load}"), is_free, lacks::OTHERS);
        match limits::raise_open_files() {
            Ok(most) => self.judge("open files", most.to_string(), most >= 10_000, lacks::FILES),
            Err(failed) => self.judge("open files", failed.to_string(), false, lacks::FILES),
        }
    }

    /// Tries the settings of TCP in the namespace of the calling thread.
    fn kernel(&mut self) {
        for (what, values) in ["congestion controls", "ECN modes"].into_iter().zip(stack::accepted()) {
            self.judge(what, values.join(" "), !values.is_empty(), lacks::POWER);
        }
    }

    /// Lists the kernel's own queue disciplines, for comparisons with ours.
    fn queues(&mut self) {
        let mut found: [Vec<&str>; 2] = Default::default();
        let tried = Netlink::open().and_then(|netlink| {
            for kind in QUEUES {
                found[usize::from(!netlink.has_queue(c"lo", kind)?)].push(kind);
            }
            Ok(())
        });
        let [has, lacks] = found.map(|kinds| kinds.join(" "));
        let ok = tried.is_ok() && lacks.is_empty();
        let found = match tried {
            Ok(()) if ok => has,
            Ok(()) => format!("{has}; not {lacks}"),
            Err(failed) => failed.to_string(),
        };
        self.judge("queues of the kernel's own", found, ok, lacks::QUEUES);
    }

    /// Measures the lateness of a thread that waits for a millisecond, as the router does.
    fn timers(&mut self, soon: LatencyBounds) {
        prctl::set_timerslack(1).ok();
        for hurries in [false, true] {
            if hurries {
                let ok = priority::raise(ThreadPriority::Router);
                let found = if ok { "the threads of a run go before others" } else { "not permitted" };
                self.judge("real-time priority", found.to_owned(), ok, lacks::PRIORITY);
                if !ok {
                    return;
                }
            }
            let late = match lateness() {
                Ok(late) => late,
                Err(failed) => return self.judge("timers", failed.to_string(), false, lacks::LATENESS),
            };
            let at = |share| late.value_at_quantile(share) as f64 * 1e-6;
            let what = if hurries { "timers, with priority" } else { "timers" };
            let found =
                format!("{:.3} ms late (p50), {:.3} (p99), {:.3} (p99.9)", at(0.5), at(0.99), at(0.999));
            let is_soon = at(0.99) <= soon.p99_ms && at(0.999) <= soon.p999_ms;
            self.judge(what, found, is_soon, lacks::LATENESS);
        }
    }
}

/// A connection from one side to the other, its packets carried from device to device by this thread.
fn connect_over(device: Kind) -> Result<String, Error> {
    let profile = Profile::from_name("unc-testbed").expect("it is shipped");
    let (stack, router) = (Stack::of("tcp", &profile)?, namespaces::current_network()?);
    let congestion = stack.congestion.as_str();
    let hosts = |side| Hosts { side, stack: &stack, mtu: 1500, device, router: &router };
    let (client_hosts, server_hosts) = (hosts(0), hosts(1));
    let (tell_client, client_joint) = mpsc::channel();
    let (tell_server, server_joint) = mpsc::channel();
    let (go, started) = mpsc::channel::<()>();
    let (end, ended) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let server = scope.spawn(move || {
            let (joint, _) = server_hosts.make()?;
            let _listener =
                sockets::listen(SERVER_PORT, congestion).context(|| "a listening socket".to_owned())?;
            tell_server.send(joint).ok();
            // Until the connection is there, or has been given up.
            ended.recv().ok();
            Ok(())
        });
        let client = scope.spawn(move || {
            let (joint, _) = client_hosts.make()?;
            tell_client.send(joint).ok();
            started.recv().map_err(|_| Error::Odd("the other side is not there".to_owned()))?;
            connect(congestion)
        });
        let carried = match (client_joint.recv(), server_joint.recv()) {
            (Ok(client_joint), Ok(server_joint)) => [client_joint, server_joint]
                .map(RouterDevice::open)
                .into_iter()
                .collect::<Result<Vec<_>, _>>()
                .and_then(|mut devices| {
                    go.send(()).ok();
                    carry(&mut devices, || client.is_finished())
                }),
            // It says why itself.
            _ => Ok(()),
        };
        drop((go, end));
        let joined = [server, client].map(|side| side.join().unwrap_or_else(|panic| resume_unwind(panic)));
        carried?;
        joined.into_iter().collect::<Result<(), _>>()
    })?;
    Ok("a connection, from side to side".to_owned())
}

/// The kernel's queue disciplines that there are some like of here, and the shaper that goes before them.
const QUEUES: [&str; 9] = ["tbf", "pfifo", "bfifo", "red", "pie", "codel", "fq_codel", "dualpi2", "cake"];

/// The longest time of a connection, and of a wait for packets.
const PATIENCE: Duration = Duration::from_secs(2);
const STEP: Duration = Duration::from_millis(1);

/// Connect from side 0 to side 1.
fn connect(congestion: &str) -> Result<(), Error> {
    let what = || "a connection".to_owned();
    let socket = sockets::bind(BrowserEnd::new(0, 0).address(), congestion).context(what)?;
    sockets::connect(&socket, addresses::server(1, 0)).context(what)?;
    let mut ready = [PollFd::new(socket.as_fd(), PollFlags::POLLOUT)];
    ppoll(&mut ready, Some(TimeSpec::from(std_duration(PATIENCE))), None).context(what)?;
    if sockets::is_connected(&socket).context(what)? {
        Ok(())
    } else {
        Err(Error::Odd("no packet comes from side to side".to_owned()))
    }
}

/// Carry packets from each device to the other until `is_over`, or for as long as a connection may take.
fn carry(devices: &mut [Box<dyn Device>], is_over: impl Fn() -> bool) -> Result<(), Error> {
    let what = || "a device".to_owned();
    let clock = Clock::start();
    let mut packet = vec![0; 1 << 16];
    while !is_over() && clock.now() < Time::ZERO + PATIENCE {
        for from in [0, 1] {
            while let Some(length) = devices[from].receive(&mut packet).context(what)? {
                devices[1 - from].deliver(&packet[..length]).context(what)?;
            }
        }
        let mut ready: Vec<_> =
            devices.iter().map(|device| PollFd::new(device.as_fd(), PollFlags::POLLIN)).collect();
        ppoll(&mut ready, Some(TimeSpec::from(std_duration(STEP))), None).context(what)?;
    }
    Ok(())
}

/// Measures the lateness of this thread after many waits of a millisecond, in nanoseconds.
fn lateness() -> Result<Histogram<u64>, Error> {
    let mut late = Histogram::new(3).expect("three significant digits are allowed");
    let clock = Clock::start();
    for _ in 0..WAITS {
        let until = clock.now() + STEP;
        ppoll(&mut [], Some(TimeSpec::from(std_duration(STEP))), None).context(|| "ppoll".to_owned())?;
        let nanos = clock.now().saturating_since(until).as_nanos();
        late.record(nanos).expect("the histogram resizes itself");
    }
    Ok(late)
}

/// The number of waits, enough for a 99.9th percentile below the maximum: a second and a half.
const WAITS: u32 = 1500;
