//! The first process of a guest: a kernel in virtual time, in whose process the engine is the router.
//!
//! The files of the guest are those of the host, read only. The run's directory on the host is the current directory of the
//! kernel's process; it has this program as `init` and the request as `request.json`, so that the kernel's command line, on
//! which its random numbers depend, is the same in all runs.

use std::convert::Infallible;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use aqmlab_units::{Duration, Time};
use nix::mount::{MsFlags, mount};
use nix::sys::prctl;
use nix::sys::reboot::{RebootMode, reboot};
use nix::sys::utsname::uname;
use serde_json::json;

use super::measurements::Measurements;
use super::{ReadyHosts, RunningThreads, STEP, common_config, kernel, prepare, request};
use crate::error::{Context, Error};
use crate::kernel_network;
use crate::machine::clock::{self, Clock};
use crate::machine::limits;
use crate::message::Message;
use crate::mix::Mix;
use crate::network::device::Kind;
use crate::network::engine_device::EngineDevice;
use crate::network::kernel_queue;
use crate::oracle;
use crate::report::SideReport;
use crate::router::RouterStats;
use crate::router::event_queue::EventQueue;

/// The files in the run's directory: the request, and a link to this program.
pub(crate) const REQUEST: &str = "request.json";
pub(crate) const INIT: &str = "init";

/// The run's directory, on the host. `self` is the kernel's process: the guest's own `/proc` is not mounted yet.
const DIRECTORY: &str = "/proc/self/cwd";

/// The only directory in which programs can write.
pub(crate) const TEMPORARY: &str = "/run";

/// The time after which the kernel has switched its timers to full resolution: a hundred ticks, of which it needs one.
const FIRST_TICKS: Duration = Duration::from_millis(100);

/// The argument that makes `aqmlab-live` the first process of a guest.
pub(crate) const ARGUMENT: &str = "guest";

/// The mark of our kernels in their release (`kernel/build`).
const MARK: &str = "-aqmlab.";

/// Runs the request of this guest, and ends the guest.
///
/// On any other kernel it is an error: a guest mounts file systems over the host's directories, and ends by stopping its kernel.
pub(crate) fn run() -> Result<(), Error> {
    // `/proc` is still the host's: the kernel itself must be asked.
    let system = uname().context(|| "uname".to_owned())?;
    if std::process::id() != 1 || !system.release().to_string_lossy().contains(MARK) {
        return Err(Error::Refused(
            "guest: must be the first process of a kernel in virtual time".to_owned(),
        ));
    }
    if let Err(error) = run_request() {
        report_error(&error);
    }
    let Err(error): Result<Infallible, _> = reboot(RebootMode::RB_POWER_OFF);
    panic!("the kernel does not stop: {error}");
}

/// Passes an error to the engine, which writes it in place of the results.
fn report_error(error: &Error) {
    let text =
        json!({ if matches!(error, Error::Refused(_)) { "refused" } else { "failed" }: error.to_string() });
    if let Ok(engine) = EngineDevice::open() {
        engine.send(&Message::Finish(text.to_string()));
    }
}

fn run_request() -> Result<(), Error> {
    let text = fs::read_to_string(Path::new(DIRECTORY).join(REQUEST)).context(|| REQUEST.to_owned());
    mount_file_systems()?;
    prctl::set_timerslack(1).context(|| "the precision of timers".to_owned())?;
    let text = text?;
    if let Some(request) = kernel_network::oracle_of(&text) {
        clock::pause(FIRST_TICKS);
        return oracle::guest::run(&request);
    }
    let mut request = request::parse(&text)?;
    request.device = Kind::Engine;
    clock::pause(FIRST_TICKS);
    let open_files = limits::raise_open_files()?;
    let engine = Arc::new(EngineDevice::open()?);
    let mix = Arc::new(Mix::from_spec(&request.spec, request.seed, request.programs.is_some())?);
    let event_queue = Arc::new(EventQueue::to_engine(Arc::clone(&engine)));
    let output = request.programs.is_some().then(|| pass_output_on(Arc::clone(&engine))).transpose()?;
    let common = common_config(&request, mix, event_queue, output)?;
    let stop_time = Arc::clone(&common.stop_time);
    kernel_queue::set_up(&request.spec)?;
    let ReadyHosts { settings, threads, namespaces: _held, .. } = prepare(common, request.seed)?;
    let clock = Clock::start_virtual();
    engine.send(&Message::Start);
    let mut running = RunningThreads::start(threads, clock, Arc::clone(&stop_time));
    let mut end = Time::ZERO + request.spec.protocol.warmup + request.spec.protocol.duration;
    let mut now = Time::ZERO;
    while now < end {
        now = (now + STEP).min(end);
        clock.update();
        clock::pause(now.saturating_since(clock.now()));
        if let Some(&at) = stop_time.get() {
            end = end.min(at.max(Time::ZERO + request.spec.protocol.warmup));
        } else if now < end {
            running.check()?;
        }
        engine.send(&Message::Step);
    }
    let reports = running.reports()?;
    let exit_codes = [&reports[0], &reports[1]].map(|report| report.exit_code);
    let retransmissions: u64 = reports.iter().map(SideReport::retransmissions).sum();
    let about = json!({
        "kernel": kernel()?,
        "device": request.device,
        "open_files": open_files,
        "tcp": settings,
        "exit_codes": exit_codes,
        "retransmissions": retransmissions,
        "kernel_queues": kernel_queue::statistics(&request.spec)?,
        "measured": Measurements::new(&RouterStats::new(), reports, 100.0),
    });
    engine.send(&Message::Finish(about.to_string()));
    Ok(())
}

/// Returns a pipe whose content a thread passes to the engine.
fn pass_output_on(engine: Arc<EngineDevice>) -> Result<File, Error> {
    let (mut reader, writer) = io::pipe().context(|| "a pipe".to_owned())?;
    std::thread::spawn(move || {
        let mut buffer = [0; 1 << 12];
        while let Ok(length @ 1..) = reader.read(&mut buffer) {
            engine.send(&Message::Output(buffer[..length].to_vec()));
        }
    });
    Ok(File::from(OwnedFd::from(writer)))
}

/// Mounts the file systems that the kernel offers over the directories of the host's.
fn mount_file_systems() -> Result<(), Error> {
    for (kind, path) in [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", TEMPORARY)] {
        mount(Some(kind), path, Some(kind), MsFlags::empty(), None::<&str>)
            .context(|| format!("{path} of the guest"))?;
    }
    Ok(())
}
