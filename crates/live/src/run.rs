//! A run from its request to its tables.

pub(crate) mod measured;
pub(crate) mod output;
pub(crate) mod request;

use std::fs::{self, File};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use aqmlab_sim::{Capture, EmulatedNetwork, Spec, Table, emulate};
use aqmlab_units::{Duration, Time};
use aqmlab_workload::Web;
use nix::sys::prctl;
use serde_json::json;

use self::measured::Measured;
use self::request::Request;
use crate::error::{Context, Error};
use crate::machine::clock::{Clock, StopTime};
use crate::machine::limits;
use crate::machine::priority::{self, ThreadPriority};
use crate::machine::processors::Reading;
use crate::mix::Mix;
use crate::network::counters;
use crate::network::device::Device;
use crate::network::hosts::RouterDevice;
use crate::network::namespaces::{self, Power};
use crate::network::stack::Settings;
use crate::report::SideReport;
use crate::router::event_queue::EventQueue;
use crate::router::{ProgramRtt, Router, RouterConfig};
use crate::side::programs::UserPrograms;
use crate::side::request_table::RequestTable;
use crate::side::{Common, Side};
use crate::sources::{self, Sources};

/// Between two lines that say how far the run is.
const STEP: Duration = Duration::from_secs(1);

/// A side, or the sources, on a thread.
struct Started<T> {
    thread: JoinHandle<Result<SideReport, Error>>,
    /// Receives its report when it is ready.
    ready: Receiver<T>,
    /// Tells it that the run starts.
    start: Sender<Clock>,
}

/// The report of a side whose network is up.
struct Network {
    /// The router's end of it.
    joint: RouterDevice,
    /// The settings of the kernel's TCP.
    settings: Settings,
    /// Its namespace.
    namespace: File,
}

/// Run it, and write how far it is and what came of it.
pub(crate) fn run(request: &Request) -> Result<(), Error> {
    let Request { spec, seed, device, programs, capture, watched: _ } = request;
    let refused = |message: String| Error::Refused(message);
    let mix = Arc::new(Mix::of(spec, *seed, programs.is_some())?);
    let capture = capture.map(|bounds| Capture::new(spec, bounds));
    let network = emulate(spec, *seed, capture.as_ref()).map_err(|error| refused(error.to_string()))?;
    let web = Web::new(&spec.users.workload, &spec.users.rtt, *seed);
    let web = Arc::new(web.map_err(|error| refused(error.to_string()))?);
    let open_files = limits::raise_open_files()?;
    let power = namespaces::enter()?;
    // The kernel rounds waits up by this much, unless it is asked not to.
    prctl::set_timerslack(1).context(|| "the precision of timers".to_owned())?;

    let (book, board) = (Arc::new(RequestTable::default()), Arc::new(EventQueue::default()));
    let router = Arc::new(namespaces::current_network()?);
    let ending = Arc::new(StopTime::new());
    let programs = programs.as_ref().map(|programs| UserPrograms::new(programs).map(Arc::new)).transpose()?;
    let orders = RouterConfig {
        offers_of_programs: mix.offers_of_programs(),
        capture: capture.clone(),
        program_rtt: programs.is_some().then(|| ProgramRtt { web: Arc::clone(&web), seed: *seed }),
        ending: Arc::clone(&ending),
    };
    let common = Common {
        spec: Arc::new(spec.clone()),
        web,
        mix,
        book,
        board: Arc::clone(&board),
        device: *device,
        router,
        programs,
        ending: Arc::clone(&ending),
    };
    // A side's threads may end before the router knows: its network stays until the last holder of its namespace ends.
    let Made { settings, devices, threads, namespaces: _held } = make(common, *seed)?;
    let hurries = priority::raise(ThreadPriority::Router);
    let before = Reading::now()?;
    let clock = Clock::start();
    let mut running = Running::start(threads, clock, ending);
    let mut router = Router::new(network, devices, board, clock, orders);
    go_on(&mut router, request, capture.as_ref(), &mut running)?;
    let end = router.network().end();
    let reports = running.reports()?;
    let exit_codes = [&reports[0], &reports[1]].map(|report| report.exit_code);
    router.finish(end)?;
    router.network().repeated(reports.iter().map(SideReport::repeats).sum());
    if let Some(capture) = &capture {
        capture.finish();
        output::bytes("capture", &capture.take());
    }
    let processors = Reading::now()?;
    let about = json!({
        "kernel": kernel()?,
        "user_namespace": power == Power::UserNamespace,
        "device": device,
        "real_time_priority": hurries,
        "open_files": open_files,
        "load": counters::load(),
        "cpu_s": processors.own,
        "tcp": settings,
        "exit_codes": exit_codes,
        "capture_cut_s": capture.and_then(|capture| capture.cut()).map(Time::as_secs_f64),
        "measured": Measured::of(&router.seen, reports, processors.left_percent(&before, hurries)),
    });
    let network = router.network();
    tell_tables(network, spec);
    output::line(&json!({ "summary": network.summary(), "live": about }));
    Ok(())
}

/// Continues to the end, and writes the progress.
fn go_on(
    router: &mut Router,
    request: &Request,
    capture: Option<&Capture>,
    running: &mut Running,
) -> Result<(), Error> {
    let mut now = Time::ZERO;
    while now < router.network().end() {
        now += STEP;
        router.run_until(now)?;
        let end = router.network().end();
        now = now.min(end);
        if request.watched {
            tell_tables(router.network(), &request.spec);
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

/// The sides and the sources, on their way.
struct Running {
    threads: Vec<Option<JoinHandle<Result<SideReport, Error>>>>,
    ending: Arc<StopTime>,
}

impl Running {
    fn start(threads: Vec<Waiting>, clock: Clock, ending: Arc<StopTime>) -> Running {
        let threads = threads.into_iter().map(|(thread, start)| {
            // One that has ended says why when it is asked.
            start.send(clock).ok();
            Some(thread)
        });
        Running { threads: threads.collect(), ending }
    }

    /// Before the end: that none has ended by itself.
    fn check(&mut self) -> Result<(), Error> {
        for thread in &mut self.threads {
            let ends_by_itself =
                |thread: &mut JoinHandle<_>| thread.is_finished() && self.ending.get().is_none();
            if let Some(thread) = thread.take_if(ends_by_itself) {
                join(thread)?;
            }
        }
        Ok(())
    }

    /// Returns their reports at the end.
    fn reports(self) -> Result<Vec<SideReport>, Error> {
        let threads = self.threads.into_iter();
        threads.map(|thread| join(thread.expect("a thread that ends early ends the run"))).collect()
    }
}

/// Write the rows that are new, and the response times so far.
fn tell_tables(network: &mut EmulatedNetwork, spec: &Spec) {
    for name in ["queue", "link"].into_iter().chain(spec.record.losses.then_some("losses")) {
        output::table(name, network.tables().take(name).expect("there is such a table"));
    }
    output::table("response_times", network.response_times().into_columns());
}

/// Hosts that are ready.
struct Made {
    /// The settings of the kernel's TCP, by side.
    settings: [Settings; 2],
    /// The router's ends of their networks.
    devices: [Box<dyn Device>; 2],
    threads: Vec<Waiting>,
    /// Of the sides' networks.
    namespaces: [File; 2],
}

/// Make both sides, and the sources if there are any.
fn make(common: Common, seed: u64) -> Result<Made, Error> {
    let (spec, mix) = (Arc::clone(&common.spec), Arc::clone(&common.mix));
    let (board, ending) = (Arc::clone(&common.board), Arc::clone(&common.ending));
    // Both at once.
    let (first, second) = (start_side(0, common.clone()), start_side(1, common));
    let [(side_0, network_0), (side_1, network_1)] = [when_ready(first)?, when_ready(second)?];
    let devices = [network_0.joint.open()?, network_1.joint.open()?];
    let mut threads = vec![side_0, side_1];
    let settings = [network_0.settings, network_1.settings];
    let namespaces = [network_0.namespace, network_1.namespace];
    if !spec.sources.is_empty() {
        let again = |namespace: &File| namespace.try_clone().context(|| "a side's namespace".to_owned());
        let networks = [again(&namespaces[0])?, again(&namespaces[1])?];
        let sources = sources::Setting { spec, seed, networks, mix, board, ending };
        let (waiting, ()) = when_ready(start_sources(sources))?;
        threads.push(waiting);
    }
    Ok(Made { settings, devices, threads, namespaces })
}

fn start_side(number: usize, common: Common) -> Started<Network> {
    start(move || {
        let (side, joint) = Side::new(number, common)?;
        let network =
            Network { joint, settings: side.settings.clone(), namespace: namespaces::current_network()? };
        Ok((network, move |clock| side.run(clock)))
    })
}

fn start_sources(setting: sources::Setting) -> Started<()> {
    start(move || {
        let sources = Sources::new(setting)?;
        Ok(((), move |clock| sources.run(clock)))
    })
}

/// Make something ready on a thread of its own, where it then runs from the start of the clock.
fn start<T: Send + 'static, R: FnOnce(Clock) -> Result<SideReport, Error>>(
    make: impl FnOnce() -> Result<(T, R), Error> + Send + 'static,
) -> Started<T> {
    let (tell_ready, ready) = mpsc::channel();
    let (start, started) = mpsc::channel();
    let thread = thread::spawn(move || {
        let (about, run) = make()?;
        // If the router is gone, so is the run.
        tell_ready.send(about).ok();
        let clock = started.recv().map_err(|_| Error::Odd("the run has not started".to_owned()))?;
        // The run says of the router's thread whether that is allowed.
        priority::raise(ThreadPriority::Hosts);
        run(clock)
    });
    Started { thread, ready, start }
}

type Waiting = (JoinHandle<Result<SideReport, Error>>, Sender<Clock>);

fn when_ready<T>(started: Started<T>) -> Result<(Waiting, T), Error> {
    let Started { thread, ready, start } = started;
    match ready.recv() {
        Ok(about) => Ok(((thread, start), about)),
        // It has said why.
        Err(_) => Err(join(thread).expect_err("what is not ready has failed")),
    }
}

fn join(thread: JoinHandle<Result<SideReport, Error>>) -> Result<SideReport, Error> {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn kernel() -> Result<String, Error> {
    let path = "/proc/sys/kernel/osrelease";
    Ok(fs::read_to_string(path).context(|| path.to_owned())?.trim().to_owned())
}
