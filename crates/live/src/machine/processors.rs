//! The share of processor time that a run left unused.

use std::fs;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use nix::unistd::{SysconfVar, sysconf};

use crate::error::{Context, Error};

/// Processor time, in seconds: of the machine since it started, and of this process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CpuTimes {
    /// Work of normal or higher priority.
    busy: f64,
    /// Niced work, which yields to work of normal priority.
    niced: f64,
    idle: f64,
    /// This process, with the kernel's work for it.
    pub(crate) process: f64,
}

impl CpuTimes {
    pub(crate) fn read() -> Result<CpuTimes, Error> {
        let path = "/proc/stat";
        let text = fs::read_to_string(path).context(|| path.to_owned())?;
        let ticks = sysconf(SysconfVar::CLK_TCK).ok().flatten().unwrap_or(100) as f64;
        let process = process_time_s()?;
        parse(&text, ticks, process)
            .ok_or_else(|| Error::Odd(format!("{path}: says nothing of the processors")))
    }

    /// Returns the time since `before` that this process could have used in addition, in percent.
    ///
    /// Idle and niced time count. With priority (`has_priority`) the time of other programs counts too.
    pub(crate) fn available_percent(&self, before: &CpuTimes, has_priority: bool) -> f64 {
        let [busy, niced, idle, process] = [
            self.busy - before.busy,
            self.niced - before.niced,
            self.idle - before.idle,
            self.process - before.process,
        ];
        let all = busy + niced + idle;
        let not_ours = (all - process).max(0.0);
        // A niced run's own time is in `niced`: it is no time that the run left.
        let left = if has_priority { not_ours } else { not_ours.min(idle + niced) };
        if all > 0.0 { 100.0 * left / all } else { 100.0 }
    }
}

/// Parses the first line of `/proc/stat`, whose numbers are ticks (`proc_stat(5)`).
///
/// Stolen time, which a hypervisor gave to others, is left out. The time of guests is part of user time.
fn parse(text: &str, ticks: f64, process: f64) -> Option<CpuTimes> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let times: Vec<f64> = line
        .split_whitespace()
        .map(|number| number.parse::<f64>().map(|count| count / ticks))
        .collect::<Result<_, _>>()
        .ok()?;
    let [user, nice, system, idle, waiting, interrupts, soft, ..] = times[..] else { return None };
    Some(CpuTimes { busy: user + system + interrupts + soft, niced: nice, idle: idle + waiting, process })
}

fn process_time_s() -> Result<f64, Error> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).context(|| "the processor time used".to_owned())?;
    let seconds = |time: TimeVal| time.tv_sec() as f64 + 1e-6 * time.tv_usec() as f64;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu_times(line: &str, process: f64) -> CpuTimes {
        parse(line, 100.0, process).expect("the line is complete")
    }

    #[test]
    fn time_left_is_idle_or_niced_or_others_if_the_run_has_priority() {
        let before = cpu_times("cpu  100 0 100 500 0 0 0 0 0 0\ncpu0 1 2\n", 0.5);
        // After ten seconds: 4 s busy, of which 2 s this process; 1 s niced; 5 s idle, of which 1 s in waits for disks.
        let after = cpu_times("cpu  350 100 200 900 100 20 30 7000 0 0\n", 2.5);
        assert!((after.available_percent(&before, false) - 60.0).abs() < 1e-9);
        assert!((after.available_percent(&before, true) - 80.0).abs() < 1e-9);
    }

    #[test]
    fn the_own_time_of_a_niced_run_is_not_available() {
        let before = cpu_times("cpu 0 0 0 0 0 0 0 0 0 0", 0.0);
        let after = cpu_times("cpu 0 900 0 100 0 0 0 0 0 0", 9.0);
        for has_priority in [false, true] {
            assert!((after.available_percent(&before, has_priority) - 10.0).abs() < 1e-9);
        }
    }

    #[test]
    fn other_lines_are_refused() {
        for text in ["", "intr 1 2 3", "cpu 1 2 3", "cpu a b c d e f g h"] {
            assert_eq!(parse(text, 100.0, 0.0), None, "{text}");
        }
    }
}
