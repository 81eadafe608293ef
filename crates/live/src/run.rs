//! A live run, from its request to its tables.

pub(crate) mod guest;
pub(crate) mod measurements;
pub(crate) mod output;
pub(crate) mod request;

use std::fs::{self, File};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use aqmlab_sim::{Capture, EmulatedNetwork, Spec, Table, emulate};
use aqmlab_units::{Duration, Time};
use nix::sys::prctl;
use serde_json::json;

use self::measurements::Measurements;
use self::request::Request;
use crate::error::{Context, Error};
use crate::machine::clock::{Clock, StopTime};
use crate::machine::limits;
use crate::machine::priority::{self, ThreadPriority};
use crate::machine::processors::CpuTimes;
use crate::mix::Mix;
use crate::network::counters;
use crate::network::hosts::RouterDevice;
use crate::network::namespaces::{self, Privilege};
use crate::network::stack::Settings;
use crate::report::SideReport;
use crate::router::event_queue::EventQueue;
use crate::router::{ProgramRtt, Router, RouterConfig};
use crate::side::programs::UserPrograms;
use crate::side::request_table::RequestTable;
use crate::side::{Side, SideConfig};
use crate::sources::{self, ReadySources};

/// The interval of progress lines.
pub(crate) const STEP: Duration = Duration::from_secs(1);

/// A side, or the sources, on a thread that prepares for the run.
struct StartingThread<T> {
    thread: JoinHandle<Result<SideReport, Error>>,
    /// Receives a value when the thread is ready.
    ready: Receiver<T>,
    /// Starts the run on the thread.
    start: Sender<Clock>,
}

/// The network of a side that is ready.
struct SideNetwork {
    /// The router's end of the side's device.
    router_device: RouterDevice,
    /// The kernel's TCP settings.
    settings: Settings,
    /// The side's namespace.
    namespace: File,
}

/// Runs the request, and writes progress lines and results.
pub(crate) fn run(request: &Request) -> Result<(), Error> {
    let Request { spec, seed, device, programs, capture, watched: _ } = request;
    let refused = |message: String| Error::Refused(message);
    let mix = Arc::new(Mix::from_spec(spec, *seed, programs.is_some())?);
    let capture = capture.map(|bounds| Capture::new(spec, bounds));
    let network = emulate(spec, *seed, capture.as_ref()).map_err(|error| refused(error.to_string()))?;
    let open_files = limits::raise_open_files()?;
    let privilege = namespaces::enter()?;
    // The kernel would otherwise lengthen waits by up to 50 microseconds.
    prctl::set_timerslack(1).context(|| "the precision of timers".to_owned())?;

    let program_offers = mix.program_offers();
    let event_queue = Arc::new(EventQueue::default());
    let common = common_config(request, mix, Arc::clone(&event_queue), None)?;
    let stop_time = Arc::clone(&common.stop_time);
    let config = RouterConfig {
        program_offers,
        capture: capture.clone(),
        program_rtt: programs.is_some().then(|| ProgramRtt { web: Arc::clone(&common.web), seed: *seed }),
    };
    // A side's thread may end before the router. The held namespaces keep the side's network, and the router's device, until then.
    let ReadyHosts { settings, devices, threads, namespaces: _held } = prepare(common, *seed)?;
    let has_priority = priority::raise(ThreadPriority::Router);
    let cpu_before = CpuTimes::read()?;
    let clock = Clock::start();
    let mut running = RunningThreads::start(threads, clock, stop_time);
    let [first, second] = devices;
    let devices = [first.open()?, second.open()?];
    let mut router = Router::new(network, devices, event_queue, clock, config);
    run_to_end(&mut router, request, capture.as_ref(), &mut running)?;
    let end = router.network().end();
    let reports = running.reports()?;
    let exit_codes = [&reports[0], &reports[1]].map(|report| report.exit_code);
    router.network().repeated(reports.iter().map(SideReport::retransmissions).sum());
    if let Some(capture) = &capture {
        capture.finish();
        output::bytes("capture", &capture.take());
    }
    let processors = CpuTimes::read()?;
    let about = json!({
        "kernel": kernel()?,
        "user_namespace": privilege == Privilege::UserNamespace,
        "device": device,
        "real_time_priority": has_priority,
        "open_files": open_files,
        "load": counters::load(),
        "cpu_s": processors.process,
        "tcp": settings,
        "exit_codes": exit_codes,
        "capture_cut_s": capture.and_then(|capture| capture.cut()).map(Time::as_secs_f64),
        "measured": Measurements::new(router.finish(end)?, reports, processors.available_percent(&cpu_before, has_priority)),
    });
    let network = router.network();
    write_tables(network, spec);
    output::line(&json!({ "summary": network.summary(), "live": about }));
    Ok(())
}

/// Returns the configuration that both sides share. In a guest, programs write to `guest_output`. The calling thread must be in the router's namespace.
fn common_config(
    request: &Request,
    mix: Arc<Mix>,
    event_queue: Arc<EventQueue>,
    guest_output: Option<File>,
) -> Result<SideConfig, Error> {
    let Request { spec, device, programs, .. } = request;
    Ok(SideConfig {
        spec: Arc::new(spec.clone()),
        web: Arc::new(request.web()?),
        mix,
        requests: Arc::new(RequestTable::default()),
        event_queue,
        device: *device,
        router: Arc::new(namespaces::current_network()?),
        programs: programs
            .as_ref()
            .map(|programs| UserPrograms::new(programs, guest_output).map(Arc::new))
            .transpose()?,
        stop_time: Arc::new(StopTime::new()),
    })
}

/// Runs the router to the end, and writes the progress.
fn run_to_end(
    router: &mut Router,
    request: &Request,
    capture: Option<&Capture>,
    running: &mut RunningThreads,
) -> Result<(), Error> {
    let mut now = Time::ZERO;
    while now < router.network().end() {
        now += STEP;
        router.run_until(now)?;
        let end = router.network().end();
        now = now.min(end);
        if request.watched {
            write_tables(router.network(), &request.spec);
            output::table("glance", router.network().gauges().into_columns());
        }
        output::line(&json!({ "now_s": now.as_secs_f64(), "end_s": end.as_secs_f64() }));
        if let Some(capture) = capture {
            output::bytes("capture", &capture.take());
        }
        if now < end {
            running.check()?;
        }
    }
    Ok(())
}

/// The threads of sides and sources during the run.
struct RunningThreads {
    threads: Vec<Option<JoinHandle<Result<SideReport, Error>>>>,
    stop_time: Arc<StopTime>,
}

impl RunningThreads {
    fn start(threads: Vec<ReadyThread>, clock: Clock, stop_time: Arc<StopTime>) -> RunningThreads {
        let threads = threads.into_iter().map(|(thread, start)| {
            // A thread that has ended returns its error from `join`.
            start.send(clock).ok();
            Some(thread)
        });
        RunningThreads { threads: threads.collect(), stop_time }
    }

    /// Returns the error of a thread that has ended too early, if there is one.
    fn check(&mut self) -> Result<(), Error> {
        for thread in &mut self.threads {
            let ends_by_itself =
                |thread: &mut JoinHandle<_>| thread.is_finished() && self.stop_time.get().is_none();
            if let Some(thread) = thread.take_if(ends_by_itself) {
                join(thread)?;
            }
        }
        Ok(())
    }

    /// Waits for all threads, and returns their reports.
    fn reports(self) -> Result<Vec<SideReport>, Error> {
        let threads = self.threads.into_iter();
        threads.map(|thread| join(thread.expect("a thread that ends early ends the run"))).collect()
    }
}

/// Writes the new rows of tables, and all response times so far.
pub(crate) fn write_tables(network: &mut EmulatedNetwork, spec: &Spec) {
    let losses = spec.record.losses.then_some("losses");
    let flows = spec.record.flows.is_some().then_some("flows");
    for name in ["queue", "link"].into_iter().chain(losses).chain(flows) {
        output::table(name, network.tables().take(name).expect("there is such a table"));
    }
    output::table("response_times", network.response_times().into_columns());
}

/// The sides and sources, ready for the run.
struct ReadyHosts {
    /// The kernel's TCP settings, by side.
    settings: [Settings; 2],
    /// The router's ends of the sides' devices.
    devices: [RouterDevice; 2],
    threads: Vec<ReadyThread>,
    /// The sides' namespaces.
    namespaces: [File; 2],
}

/// Prepares both sides, and the sources if there are any.
fn prepare(common: SideConfig, seed: u64) -> Result<ReadyHosts, Error> {
    let (spec, mix) = (Arc::clone(&common.spec), Arc::clone(&common.mix));
    let (event_queue, stop_time) = (Arc::clone(&common.event_queue), Arc::clone(&common.stop_time));
    let has_programs = common.programs.is_some();
    // Both sides prepare at the same time.
    let (first, second) = (start_side(0, common.clone()), start_side(1, common));
    let [(side_0, network_0), (side_1, network_1)] = [when_ready(first)?, when_ready(second)?];
    let devices = [network_0.router_device, network_1.router_device];
    let mut threads = vec![side_0, side_1];
    let settings = [network_0.settings, network_1.settings];
    let namespaces = [network_0.namespace, network_1.namespace];
    if !spec.sources.is_empty() {
        let again = |namespace: &File| namespace.try_clone().context(|| "a side's namespace".to_owned());
        let networks = [again(&namespaces[0])?, again(&namespaces[1])?];
        let sources =
            sources::SourcesConfig { spec, seed, networks, mix, event_queue, has_programs, stop_time };
        let (thread, ()) = when_ready(start_sources(sources))?;
        threads.push(thread);
    }
    Ok(ReadyHosts { settings, devices, threads, namespaces })
}

fn start_side(number: usize, common: SideConfig) -> StartingThread<SideNetwork> {
    start(move || {
        let (side, router_device) = Side::new(number, common)?;
        let network = SideNetwork {
            router_device,
            settings: side.settings.clone(),
            namespace: namespaces::current_network()?,
        };
        Ok((network, move |clock| side.run(clock)))
    })
}

fn start_sources(setting: sources::SourcesConfig) -> StartingThread<()> {
    start(move || {
        let sources = ReadySources::new(setting)?;
        Ok(((), move |clock| sources.run(clock)))
    })
}

/// Prepares a side or the sources on a new thread, which then runs it when the clock starts.
fn start<T: Send + 'static, R: FnOnce(Clock) -> Result<SideReport, Error>>(
    prepare: impl FnOnce() -> Result<(T, R), Error> + Send + 'static,
) -> StartingThread<T> {
    let (tell_ready, ready) = mpsc::channel();
    let (start, started) = mpsc::channel();
    let thread = thread::spawn(move || {
        let (about, run) = prepare()?;
        // If the receiver is gone, `started` fails too.
        tell_ready.send(about).ok();
        let clock = started.recv().map_err(|_| Error::Odd("the run has not started".to_owned()))?;
        // The result is the same as for the router's thread, which the run reports.
        priority::raise(ThreadPriority::Hosts);
        run(clock)
    });
    StartingThread { thread, ready, start }
}

type ReadyThread = (JoinHandle<Result<SideReport, Error>>, Sender<Clock>);

fn when_ready<T>(started: StartingThread<T>) -> Result<(ReadyThread, T), Error> {
    let StartingThread { thread, ready, start } = started;
    match ready.recv() {
        Ok(about) => Ok(((thread, start), about)),
        // A thread that ends before it is ready returns its error.
        Err(_) => Err(join(thread).expect_err("what is not ready has failed")),
    }
}

fn join(thread: JoinHandle<Result<SideReport, Error>>) -> Result<SideReport, Error> {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Returns the release of the running kernel.
pub(crate) fn kernel() -> Result<String, Error> {
    let path = "/proc/sys/kernel/osrelease";
    Ok(fs::read_to_string(path).context(|| path.to_owned())?.trim().to_owned())
}
