//! Checks of the machine for live runs. Each capability is tried: none is inferred from a version.

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
use crate::network::namespaces::{self, Privilege};
use crate::network::netlink::Netlink;
use crate::network::sockets;
use crate::network::stack::{self, Stack};
use crate::packet::addresses::{self, BrowserEnd, SERVER_PORT};

/// The results of the checks.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// True if this machine can make live runs.
    can_run: bool,
    checks: Vec<Check>,
}

/// The outcome of one check.
#[derive(Debug, Serialize)]
struct Check {
    what: &'static str,
    ok: bool,
    found: String,
    /// The cost of a missing capability, and its remedy.
    lack: Option<&'static str>,
}

/// The cost and the remedy of each missing capability.
mod lacks {
    pub(super) const NAMESPACES: &str = "all live runs. In a container: run it privileged, or with a seccomp profile that allows \
         unshare. Elsewhere: see sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone";
    pub(super) const POWER: &str = "all live runs. Ubuntu from 24.04 on makes such namespaces powerless unless an AppArmor \
         profile names the program: aqmlab doctor --apparmor prints one. Or run as root";
    pub(super) const TUN: &str = "nothing, if pairs of interfaces work: aqmlab uses those. Root may open /dev/net/tun; in a \
         container, give it the device";
    pub(super) const VETH: &str =
        "nothing, if TUN devices work. Otherwise load the modules veth and af_packet";
    pub(super) const PRIORITY: &str =
        "punctuality of router and users on a busy machine: run as root, or raise RLIMIT_RTPRIO";
    pub(super) const LATENESS: &str = "valid runs: stop other programs, or allow more lateness (--late-p99)";
    pub(super) const FILES: &str = "large runs, since a connection takes two files: raise the hard limit (ulimit -Hn) for thousands of users";
    pub(super) const QUEUES: &str = "nothing in live runs, which have aqmlab's queues. The kernel's queues can be compared with them only if its modules are there";
    pub(super) const OTHERS: &str =
        "punctuality of the router: a run needs two processors without other work";
}

/// The bounds of a valid run on the lateness of threads: its 99th and 99.9th percentiles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LatencyBounds {
    p99_ms: f64,
    p999_ms: f64,
}

impl LatencyBounds {
    pub(crate) fn read(arguments: impl Iterator<Item = OsString>) -> Result<LatencyBounds, Error> {
        let numbers: Vec<f64> = arguments.filter_map(|argument| argument.to_str()?.parse().ok()).collect();
        match numbers[..] {
            [p99_ms, p999_ms] => Ok(LatencyBounds { p99_ms, p999_ms }),
            _ => Err(Error::Refused("doctor: must have two numbers, in milliseconds".to_owned())),
        }
    }
}

/// Runs all checks. The process must have only one thread.
pub(crate) fn run_checks(bounds: LatencyBounds) -> Report {
    let mut report = Report { can_run: false, checks: Vec::new() };
    report.machine();
    let entered = namespaces::enter().map(|privilege| match privilege {
        Privilege::Root => "as root".to_owned(),
        Privilege::UserNamespace => "in a user namespace, without root".to_owned(),
    });
    if report.add_result("network namespaces", entered, lacks::NAMESPACES) {
        let up = Netlink::open().and_then(|netlink| netlink.set_up_loopback());
        if report.add_result("an interface set up in one", up.map(|()| "lo".to_owned()), lacks::POWER) {
            let connected = [
                ("TCP over TUN devices", Kind::Tun, lacks::TUN),
                ("TCP over pairs of interfaces", Kind::Veth, lacks::VETH),
            ]
            .map(|(what, kind, lack)| report.add_result(what, connect_over(kind), lack));
            report.can_run = connected.contains(&true);
            report.kernel();
            report.queues();
        }
    }
    report.timers(bounds);
    report
}

impl Report {
    fn add_result(&mut self, what: &'static str, found: Result<String, Error>, lack: &'static str) -> bool {
        let ok = found.is_ok();
        let found = found.unwrap_or_else(|error| error.to_string());
        self.checks.push(Check { what, ok, found, lack: (!ok).then_some(lack) });
        ok
    }

    fn add_check(&mut self, what: &'static str, found: String, ok: bool, lack: &'static str) {
        self.checks.push(Check { what, ok, found, lack: (!ok).then_some(lack) });
    }

    /// Checks the number of processors, their load, and the limit of open files.
    fn machine(&mut self) {
        let processors = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let load = counters::load().unwrap_or(f64::NAN);
        let is_free = processors >= 2 && load <= 0.5 * processors as f64;
        self.add_check("processors", format!("{processors}, load {load}"), is_free, lacks::OTHERS);
        match limits::raise_open_files() {
            Ok(most) => self.add_check("open files", most.to_string(), most >= 10_000, lacks::FILES),
            Err(error) => self.add_check("open files", error.to_string(), false, lacks::FILES),
        }
    }

    /// Tries the settings of TCP in the namespace of the calling thread.
    fn kernel(&mut self) {
        for (what, values) in ["congestion controls", "ECN modes"].into_iter().zip(stack::accepted_settings())
        {
            self.add_check(what, values.join(" "), !values.is_empty(), lacks::POWER);
        }
    }

    /// Lists the kernel's own queue disciplines, for comparisons with ours.
    fn queues(&mut self) {
        let mut found: [Vec<&str>; 2] = Default::default();
        let result = Netlink::open().and_then(|netlink| {
            for kind in QUEUES {
                found[usize::from(!netlink.has_queue(c"lo", kind)?)].push(kind);
            }
            Ok(())
        });
        let [has, lacks] = found.map(|kinds| kinds.join(" "));
        let ok = result.is_ok() && lacks.is_empty();
        let found = match result {
            Ok(()) if ok => has,
            Ok(()) => format!("{has}; not {lacks}"),
            Err(error) => error.to_string(),
        };
        self.add_check("queues of the kernel's own", found, ok, lacks::QUEUES);
    }

    /// Measures the lateness of a thread that waits for a millisecond, without and with priority.
    fn timers(&mut self, bounds: LatencyBounds) {
        prctl::set_timerslack(1).ok();
        for has_priority in [false, true] {
            if has_priority {
                let ok = priority::raise(ThreadPriority::Router);
                let found = if ok { "the threads of a run go before others" } else { "not permitted" };
                self.add_check("real-time priority", found.to_owned(), ok, lacks::PRIORITY);
                if !ok {
                    return;
                }
            }
            let lateness = match lateness() {
                Ok(lateness) => lateness,
                Err(error) => return self.add_check("timers", error.to_string(), false, lacks::LATENESS),
            };
            let quantile_ms = |share| lateness.value_at_quantile(share) as f64 * 1e-6;
            let what = if has_priority { "timers, with priority" } else { "timers" };
            let found = format!(
                "{:.3} ms late (p50), {:.3} (p99), {:.3} (p99.9)",
                quantile_ms(0.5),
                quantile_ms(0.99),
                quantile_ms(0.999)
            );
            let is_in_time = quantile_ms(0.99) <= bounds.p99_ms && quantile_ms(0.999) <= bounds.p999_ms;
            self.add_check(what, found, is_in_time, lacks::LATENESS);
        }
    }
}

/// Connects from one side to the other, while this thread carries the packets from device to device.
fn connect_over(device: Kind) -> Result<String, Error> {
    let profile = Profile::from_name("unc-testbed").expect("it is shipped");
    let (stack, router) = (Stack::from_profile("tcp", &profile)?, namespaces::current_network()?);
    let congestion = stack.congestion.as_str();
    let hosts = |side| Hosts { side, stack: &stack, mtu: 1500, device, router: &router };
    let (client_hosts, server_hosts) = (hosts(0), hosts(1));
    let (send_client, client_device) = mpsc::channel();
    let (send_server, server_device) = mpsc::channel();
    let (go, started) = mpsc::channel::<()>();
    let (end, ended) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let server = scope.spawn(move || {
            let (router_device, _) = server_hosts.create()?;
            let _listener =
                sockets::listen(SERVER_PORT, congestion).context(|| "a listening socket".to_owned())?;
            send_server.send(router_device).ok();
            // The listener stays open until the connection is established or has failed.
            ended.recv().ok();
            Ok(())
        });
        let client = scope.spawn(move || {
            let (router_device, _) = client_hosts.create()?;
            send_client.send(router_device).ok();
            started.recv().map_err(|_| Error::Odd("the other side is not there".to_owned()))?;
            connect(congestion)
        });
        let carry_result = match (client_device.recv(), server_device.recv()) {
            (Ok(client_device), Ok(server_device)) => [client_device, server_device]
                .map(RouterDevice::open)
                .into_iter()
                .collect::<Result<Vec<_>, _>>()
                .and_then(|mut devices| {
                    go.send(()).ok();
                    carry(&mut devices, || client.is_finished())
                }),
            // A side without a device has failed: its thread returns the error below.
            _ => Ok(()),
        };
        drop((go, end));
        let results = [server, client].map(|side| side.join().unwrap_or_else(|panic| resume_unwind(panic)));
        carry_result?;
        results.into_iter().collect::<Result<(), _>>()
    })?;
    Ok("a connection, from side to side".to_owned())
}

/// The kernel's counterparts of aqmlab's queue disciplines, and the shaper for comparisons with them.
const QUEUES: [&str; 9] = ["tbf", "pfifo", "bfifo", "red", "pie", "codel", "fq_codel", "dualpi2", "cake"];

/// The longest time to establish a connection, and the longest wait for a packet.
const PATIENCE: Duration = Duration::from_secs(2);
const STEP: Duration = Duration::from_millis(1);

/// Connects from side 0 to side 1.
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

/// Carries packets from each device to the other until `is_over`, or until the time for a connection ends.
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

/// Measures the lateness of this thread after waits of a millisecond, in nanoseconds.
fn lateness() -> Result<Histogram<u64>, Error> {
    let mut lateness = Histogram::new(3).expect("three significant digits are allowed");
    let clock = Clock::start();
    for _ in 0..WAITS {
        let until = clock.now() + STEP;
        ppoll(&mut [], Some(TimeSpec::from(std_duration(STEP))), None).context(|| "ppoll".to_owned())?;
        let nanos = clock.now().saturating_since(until).as_nanos();
        lateness.record(nanos).expect("the histogram resizes itself");
    }
    Ok(lateness)
}

/// The number of waits. In 1.5 seconds they are enough for a 99.9th percentile below the maximum.
const WAITS: u32 = 1500;
