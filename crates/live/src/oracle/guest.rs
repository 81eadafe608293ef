//! The guest of an oracle: it sets up the kernel's discipline for each pattern of traffic, and waits for the pattern's end.

use std::fs;

use aqmlab_units::Duration;
use serde_json::{Value, json};

use super::{Comparison, PORT, pattern};
use crate::error::{Context, Error};
use crate::machine::clock;
use crate::message::Message;
use crate::network::engine_device::EngineDevice;
use crate::network::kernel_queue;
use crate::run;

/// The tick of the kernel's timers.
pub(crate) const TICK: Duration = Duration::from_millis(1);

/// The time from a tick to the set-up of a discipline. It is not the tick itself, at which the kernel counts it before or after.
pub(crate) const SET_UP: Duration = Duration::from_micros(500);

/// The time for which `tc` sets up a discipline before its timer of high resolution starts: each reading of the clock costs some. It
/// is what `/proc/timer_list` of Linux 7.3 shows for each pattern; without it a discipline with such a timer differs.
pub(crate) const TC: Duration = Duration::from_nanos(3005);

/// A discipline is set up at a tick whose number is a multiple of this, so that its timer has the same phase each time. The kernel
/// rounds timers of up to half a second to multiples of eight ticks.
const PHASE: u64 = 32;

/// Runs the comparison.
pub(crate) fn run(request: &Value) -> Result<(), Error> {
    let comparison = Comparison::parse(request)?;
    let engine = EngineDevice::open()?;
    let device = kernel_queue::device(PORT);
    for number in 0..comparison.patterns {
        let pattern = comparison.pattern(number);
        let rate = format!("{}bit", pattern.line.rate.bits_per_sec());
        let duration = pattern.duration(comparison.slowest);
        if number > 0 {
            kernel_queue::remove(&device)?;
        } else {
            kernel_queue::bring_up(&device, 1500)?;
        }
        let begin = wait_for_phase()?;
        engine.send(&Message::Start);
        kernel_queue::add(&device, &format!("handle 1: {}", comparison.tc.replace("{rate}", &rate)))?;
        let late = KernelTime::read()?.nanos - begin;
        if late >= pattern::LEAD.as_nanos() {
            return Err(Error::Odd(format!("the kernel took {late} ns to set up a queue discipline")));
        }
        clock::pause(duration);
        engine.send(&Message::Step);
    }
    engine.send(&Message::Finish(json!({ "kernel": run::kernel()? }).to_string()));
    Ok(())
}

/// Waits until shortly after a tick of the phase. Returns the time.
fn wait_for_phase() -> Result<u64, Error> {
    let KernelTime { nanos, ticks } = KernelTime::read()?;
    let tick = TICK.as_nanos();
    let missing = PHASE - ticks % PHASE;
    let at = (nanos / tick + missing) * tick + SET_UP.as_nanos();
    clock::pause(Duration::from_nanos(at - nanos));
    Ok(at)
}

/// The kernel's time and its number of ticks.
struct KernelTime {
    nanos: u64,
    ticks: u64,
}

impl KernelTime {
    fn read() -> Result<KernelTime, Error> {
        let path = "/proc/timer_list";
        let text = fs::read_to_string(path).context(|| path.to_owned())?;
        let number = |label: &str| {
            let rest = text.split_once(label)?.1.trim_start();
            rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
        };
        let time = || Some(KernelTime { nanos: number("now at ")?, ticks: number("jiffies:")? });
        time().ok_or_else(|| Error::Odd(format!("{path}: no time in it")))
    }
}
