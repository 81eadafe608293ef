//! The times at which Linux's timers fire: ticks of a millisecond, and coarser ones for longer times.

use aqmlab_units::{Duration, Time};

/// The tick of a kernel for desktops and servers (`CONFIG_HZ=1000`).
const TICK: Duration = Duration::from_millis(1);

/// The time between the set-up of a discipline and the first call of its timer: half a second.
const FIRST: Duration = Duration::from_millis(500);

/// Return the first call of the timer of a discipline that is set up at time zero.
pub(crate) fn first_call() -> Time {
    call_after(Time::ZERO, FIRST)
}

/// Return the time at which a timer fires that is set to `delay` at the tick `now`.
///
/// It never fires early. A delay is rounded up to ticks, and one tick is added; from 63 ticks on, times are rounded to multiples of 8
/// ticks, from 504 on to multiples of 64, and so on.
pub(crate) fn call_after(now: Time, delay: Duration) -> Time {
    let tick = TICK.as_nanos();
    let (now, delay) = (now.as_nanos() / tick, delay.as_nanos().div_ceil(tick));
    let mut granularity = 1;
    while delay > 63 * granularity {
        granularity *= 8;
    }
    let ticks = ((now + delay) / granularity + 1) * granularity;
    Time::from_nanos(ticks * tick)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_rounded_up_to_the_next_tick_of_their_granularity() {
        for (now, delay, fires) in [(0, 15, 16), (504, 15, 520), (0, 63, 64), (3, 64, 72), (0, 500, 504)] {
            let fired = call_after(Time::from_nanos(now * 1_000_000), Duration::from_millis(delay));
            assert_eq!(fired.as_nanos(), fires * 1_000_000, "{delay} ms at {now} ms");
        }
        assert_eq!(call_after(Time::ZERO, Duration::from_micros(1)).as_nanos(), 2_000_000);
    }
}
