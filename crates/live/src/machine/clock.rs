//! The only clock, and when a run ends before its time.

use std::sync::OnceLock;
use std::time::Instant;

use aqmlab_units::{Duration, Time};

/// Time since the start of the run, by the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    /// The run starts now.
    #[expect(clippy::disallowed_methods, reason = "the live laboratory lives in real time")]
    pub(crate) fn start() -> Clock {
        Clock { start: Instant::now() }
    }

    pub(crate) fn now(&self) -> Time {
        let nanos = u64::try_from(self.start.elapsed().as_nanos()).expect("a run takes less than 500 years");
        Time::ZERO + Duration::from_nanos(nanos)
    }
}

/// The time at which a run ends early, with its command.
pub(crate) type StopTime = OnceLock<Time>;

/// The period of the check for an early end: a command may end at any time.
pub(crate) const LOOK: Duration = Duration::from_millis(5);

/// A span as the standard library has it.
pub(crate) fn std_duration(span: Duration) -> std::time::Duration {
    std::time::Duration::from_nanos(span.as_nanos())
}

/// Wait.
#[expect(clippy::disallowed_methods, reason = "the live laboratory lives in real time")]
pub(crate) fn pause(span: Duration) {
    std::thread::sleep(std_duration(span));
}
