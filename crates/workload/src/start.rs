//! The start of a user: in the middle of life, not at its beginning.
//!
//! Users who all began with a fresh think time would bring the load up in waves for tens of minutes. Here they begin
//! in equilibrium: the time to a user's first page is the residual of its cycle of page and think time, so that
//! pages start at the long-run rate from the first instant. Pages already under way at the start are left out, so
//! that the load is low for as long as a page takes; a warm-up covers it.

use aqmlab_units::{Duration, Stream};

use crate::{User, Web};

impl Web {
    /// User `number` of the population, and when it first wakes.
    pub fn user(&self, number: u32) -> (User, Duration) {
        let mut stream = Stream::numbered(self.users, u64::from(number));
        let key = stream.next_u64();
        let max_parallel = self.max_parallel.draw(&mut stream);
        (User::new(key, max_parallel), Duration::from_secs_f64(self.first_wake(&mut stream)))
    }

    /// Seconds to the first page.
    fn first_wake(&self, stream: &mut Stream) -> f64 {
        // The span around a random instant is length-biased, and the instant uniform in it.
        let (piece, within, passed) = (stream.uniform(), stream.uniform(), stream.uniform());
        // P(thinking) = E[think] / (E[think] + E[page])
        let (think, page) = (self.think_exact.mean(), self.page_round_trips * self.rtt.mean());
        if stream.uniform() < think / (think + page) {
            self.think_exact.length_biased(piece, within) * passed
        } else {
            // The rest of a page, which takes `page_round_trips` round-trip times, and a whole think time.
            let page = self.page_round_trips * self.rtt.length_biased(piece, within);
            page * passed + self.think_exact.value(stream.uniform())
        }
    }
}
