//! The processors during a run: the share of their time that was still available to it.

use std::fs;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use nix::unistd::{SysconfVar, sysconf};

use crate::error::{Context, Error};

/// Processor time so far, in seconds: of the machine since it started, and of this process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reading {
    /// Of work that yields to no other.
    busy: f64,
    /// Of niced work, which yields to what is not.
    niced: f64,
    idle: f64,
    /// Of this process, the kernel's work for it included.
    pub(crate) own: f64,
}

impl Reading {
    pub(crate) fn now() -> Result<Reading, Error> {
        let path = "/proc/stat";
        let text = fs::read_to_string(path).context(|| path.to_owned())?;
        let ticks = sysconf(SysconfVar::CLK_TCK).ok().flatten().unwrap_or(100) as f64;
        let own = own_s()?;
        parse(&text, ticks, own).ok_or_else(|| Error::Odd(format!("{path}: says nothing of the processors")))
    }

    /// Of the time since `before`, what this process could still have had, in percent: what was idle or niced, and where it
    /// `goes_first` what others had too.
    pub(crate) fn left_percent(&self, before: &Reading, goes_first: bool) -> f64 {
        let [busy, niced, idle, own] = [
            self.busy - before.busy,
            self.niced - before.niced,
            self.idle - before.idle,
            self.own - before.own,
        ];
        let all = busy + niced + idle;
        let not_ours = (all - own).max(0.0);
        let left = if goes_first { not_ours } else { not_ours.min(idle + niced) };
        if all > 0.0 { 100.0 * left / all } else { 100.0 }
    }
}

/// Read the first line of `/proc/stat`, whose numbers are ticks (`proc_stat(5)`). What a hypervisor gave to others counts
/// nowhere, and guests' time is in that of those who run them.
fn parse(text: &str, ticks: f64, own: f64) -> Option<Reading> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let times: Vec<f64> = line
        .split_whitespace()
        .map(|number| number.parse::<f64>().map(|it| it / ticks))
        .collect::<Result<_, _>>()
        .ok()?;
    let [user, nice, system, idle, waiting, interrupts, soft, ..] = times[..] else { return None };
    Some(Reading { busy: user + system + interrupts + soft, niced: nice, idle: idle + waiting, own })
}

fn own_s() -> Result<f64, Error> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).context(|| "the processor time used".to_owned())?;
    let seconds = |time: TimeVal| time.tv_sec() as f64 + 1e-6 * time.tv_usec() as f64;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(line: &str, own: f64) -> Reading {
        parse(line, 100.0, own).expect("it is whole")
    }

    #[test]
    fn time_left_is_idle_or_niced_or_others_if_the_run_has_priority() {
        let before = reading("cpu  100 0 100 500 0 0 0 0 0 0\ncpu0 1 2\n", 0.5);
        // Ten seconds more: 4 busy, of which 2 our own, 1 niced and 5 idle, of which 1 waiting for disks.
        let after = reading("cpu  350 100 200 900 100 20 30 7000 0 0\n", 2.5);
        assert!((after.left_percent(&before, false) - 60.0).abs() < 1e-9);
        assert!((after.left_percent(&before, true) - 80.0).abs() < 1e-9);
    }

    #[test]
    fn a_niced_run_has_not_left_what_it_had_itself() {
        let before = reading("cpu 0 0 0 0 0 0 0 0 0 0", 0.0);
        let after = reading("cpu 0 900 0 100 0 0 0 0 0 0", 9.0);
        for goes_first in [false, true] {
            assert!((after.left_percent(&before, goes_first) - 10.0).abs() < 1e-9);
        }
    }

    #[test]
    fn what_is_no_such_line_is_refused() {
        for text in ["", "intr 1 2 3", "cpu 1 2 3", "cpu a b c d e f g h"] {
            assert_eq!(parse(text, 100.0, 0.0), None, "{text}");
        }
    }
}
