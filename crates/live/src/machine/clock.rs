//! The clock of a run, and the time at which a run ends early.

use std::cell::Cell;
use std::sync::OnceLock;
use std::time::Instant;

use aqmlab_units::{Duration, Time};

/// Time since the start of the run, by the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
    /// True in a guest, where time passes only while a thread waits. The thread then reads the clock once after each wait.
    is_virtual: bool,
}

thread_local! {
    /// The time of the calling thread's last wait.
    static UPDATED: Cell<Time> = const { Cell::new(Time::ZERO) };
}

impl Clock {
    /// Starts the clock of a run at zero.
    #[expect(clippy::disallowed_methods, reason = "the live laboratory lives in real time")]
    pub(crate) fn start() -> Clock {
        Clock { start: Instant::now(), is_virtual: false }
    }

    /// Starts the clock of a run in a guest at zero. Each thread must call [`Clock::update`] after each wait.
    pub(crate) fn start_virtual() -> Clock {
        Clock { is_virtual: true, ..Clock::start() }
    }

    /// Notes that the calling thread has waited.
    pub(crate) fn update(&self) {
        if self.is_virtual {
            UPDATED.set(self.read());
        }
    }

    /// Returns the time.
    pub(crate) fn now(&self) -> Time {
        if self.is_virtual { UPDATED.get() } else { self.read() }
    }

    fn read(&self) -> Time {
        let nanos = u64::try_from(self.start.elapsed().as_nanos()).expect("a run takes less than 500 years");
        Time::ZERO + Duration::from_nanos(nanos)
    }
}

/// The time at which a run ends early, because its command has ended.
pub(crate) type StopTime = OnceLock<Time>;

/// The longest wait between two checks for an early end.
pub(crate) const CHECK_INTERVAL: Duration = Duration::from_millis(5);

/// Converts a span to the standard library's type.
pub(crate) fn std_duration(span: Duration) -> std::time::Duration {
    std::time::Duration::from_nanos(span.as_nanos())
}

/// Blocks the calling thread for `span`.
#[expect(clippy::disallowed_methods, reason = "the live laboratory lives in real time")]
pub(crate) fn pause(span: Duration) {
    std::thread::sleep(std_duration(span));
}
