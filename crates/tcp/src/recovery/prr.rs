//! Proportional rate reduction (RFC 9937, before that RFC 6937): the data that may be sent during fast recovery.
//!
//! Over the recovery the window shrinks in proportion to the data delivered, so that the data in flight end at
//! the slow-start threshold. It counts bytes, and a part of a segment that is due counts as a whole one, as in Linux
//! (`tcp_cwnd_reduction`); the RFC leaves rounding open.

/// The state of one recovery (§6).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Prr {
    /// `prr_delivered`: bytes delivered since it began.
    delivered: u32,
    /// `prr_out`: bytes sent since it began.
    out: u32,
    /// `RecoverFS`: bytes in flight when it began.
    recover_fs: u32,
    window: u32,
}

/// Content of one acknowledgement during recovery.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// Bytes newly delivered, by SACK or in order.
    pub(crate) delivered: u32,
    /// Bytes in flight after the acknowledgement.
    pub(crate) pipe: u32,
    pub(crate) ssthresh: u32,
    pub(crate) mss: u32,
    /// It acknowledges new data in order and reveals no further loss (`SafeACK`).
    pub(crate) safe: bool,
}

impl Prr {
    pub(crate) fn new(recover_fs: u32) -> Prr {
        Prr { recover_fs: recover_fs.max(1), ..Prr::default() }
    }

    /// Set the window (§6.2). While more than the threshold is in flight, send `ssthresh` out of `RecoverFS` of
    /// the bytes delivered. Below it, send the bytes delivered, and a segment more after a safe acknowledgement,
    /// up to the threshold.
    pub(crate) fn on_ack(&mut self, ack: Progress) {
        let Progress { delivered, pipe, ssthresh, mss, safe } = ack;
        self.delivered += delivered;
        let mut send_count = if pipe > ssthresh {
            let due = (u64::from(self.delivered) * u64::from(ssthresh)).div_ceil(u64::from(self.recover_fs));
            let due = due.next_multiple_of(u64::from(mss));
            u32::try_from(due).unwrap_or(u32::MAX).saturating_sub(self.out)
        } else {
            let conserved = self.delivered.saturating_sub(self.out).max(delivered);
            (conserved + if safe { mss } else { 0 }).min(ssthresh - pipe)
        };
        // The first retransmission leaves even if none is due (§6.2, "force a fast retransmit").
        if self.out == 0 {
            send_count = send_count.max(mss);
        }
        self.window = pipe + send_count;
    }

    pub(crate) fn on_sent(&mut self, bytes: u32) {
        self.out += bytes;
    }

    /// The bytes that may be in flight.
    pub(crate) fn window(&self) -> u32 {
        self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1000;

    /// Return the segments that leave after each acknowledgement, when each delivers one and no other leaves the
    /// network.
    fn sent(recovery: &mut Prr, pipe: &mut u32, ssthresh: u32, acks: usize, safe: bool) -> Vec<u32> {
        let mut sent = vec![];
        for _ in 0..acks {
            *pipe -= MSS;
            recovery.on_ack(Progress { delivered: MSS, pipe: *pipe, ssthresh, mss: MSS, safe });
            let segments = (recovery.window() - *pipe) / MSS;
            *pipe += segments * MSS;
            recovery.on_sent(segments * MSS);
            sent.push(segments);
        }
        sent
    }

    #[test]
    fn half_the_window_leaves_every_second_acknowledgement() {
        // RFC 6937 §3.1's first example: 20 in flight, the first lost, half of it the threshold.
        let (mut recovery, mut pipe) = (Prr::new(20 * MSS), 20 * MSS);
        let sent = sent(&mut recovery, &mut pipe, 10 * MSS, 20, false);
        // From the 19th on the data in flight equal the threshold, so that a due segment waits for room.
        assert_eq!(sent, [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1]);
        assert_eq!(pipe, 10 * MSS, "in flight ends at the threshold");
    }

    #[test]
    fn seven_tenths_leave_seven_times_in_ten() {
        let (mut recovery, mut pipe) = (Prr::new(100 * MSS), 100 * MSS);
        let sent = sent(&mut recovery, &mut pipe, 70 * MSS, 100, false);
        assert_eq!(sent.iter().sum::<u32>(), 70);
        assert!(sent[..90].windows(2).all(|pair| pair[0] + pair[1] >= 1), "evenly: {sent:?}");
        assert_eq!(pipe, 70 * MSS);
    }

    #[test]
    fn below_the_threshold_a_safe_acknowledgement_adds_a_segment() {
        // RFC 6937 §3.1's second example: 15 of 20 lost, so that 4 are in flight and 10 would be allowed.
        let progress =
            |pipe: u32, safe: bool| Progress { delivered: MSS, pipe, ssthresh: 10 * MSS, mss: MSS, safe };
        let mut recovery = Prr::new(20 * MSS);
        recovery.on_ack(progress(4 * MSS, false));
        assert_eq!(recovery.window(), 5 * MSS, "as many as arrived");
        recovery.on_sent(MSS);
        recovery.on_ack(progress(4 * MSS, true));
        assert_eq!(recovery.window(), 6 * MSS, "one more than arrived");
        recovery.on_sent(2 * MSS);
        // At most up to the threshold, even if more is due.
        recovery.on_ack(Progress { delivered: 9 * MSS, ..progress(7 * MSS, true) });
        assert_eq!(recovery.window(), 10 * MSS);
    }
}
