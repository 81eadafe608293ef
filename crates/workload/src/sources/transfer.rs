//! Endless transfers whose application limits their rate from some time on.
//!
//! Before the first change the application always has more data than TCP can send. From a change to a rate on, it gives TCP data
//! at that rate and no others: it keeps what TCP has not taken. So the flow is limited by its application at once.

use aqmlab_units::{BitRate, Bytes, Duration, Time};

use crate::sources::vectors::{End, VectorAction, VectorEvent};

/// The size of an endless transfer: at 1 Tbit/s it takes a year.
pub(crate) const ENDLESS: Bytes = Bytes::new(1 << 62);

/// The data that an application gives at a time: those of this time, ...
const BLOCK: Duration = Duration::from_millis(1);
/// ... or this much, if it takes longer: the data of a full segment on Ethernet with timestamps.
const LEAST: Bytes = Bytes::new(1_448);

/// A transfer, and the rates of its application.
#[derive(Clone, Debug)]
pub(crate) struct LimitedTransfer {
    /// The request, if the acceptor sends the data.
    pub(crate) request: Option<Bytes>,
    /// The rate from each of these times on, in their order; `None`: as fast as TCP sends.
    pub(crate) rates: Vec<(Time, Option<BitRate>)>,
}

impl LimitedTransfer {
    /// The rate at `now`, the time of the change to it, and the time of the next change.
    fn rate_at(&self, now: Time) -> (Option<BitRate>, Time, Option<Time>) {
        let next = self.rates.partition_point(|&(at, _)| at <= now);
        let (since, rate) = next.checked_sub(1).map_or((Time::ZERO, None), |last| self.rates[last]);
        (rate, since, self.rates.get(next).map(|&(at, _)| at))
    }
}

/// The time from one block to the next.
fn block(rate: BitRate) -> Duration {
    rate.time_to_send(LEAST).max(BLOCK)
}

/// The bytes that are due after some time at a rate, in whole blocks.
fn due(rate: BitRate, after: Duration) -> u64 {
    let block = block(rate).as_nanos();
    let nanos = u128::from(after.as_nanos() / block * block);
    let bytes = nanos * u128::from(rate.bits_per_sec()) / 8_000_000_000;
    u64::try_from(bytes).expect("the ranges bound rates and times")
}

/// The state of such a transfer and its connection.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// The end that sends the data.
    sender: End,
    /// Bytes of the request that have not come yet.
    to_acceptor: Bytes,
    /// The data may be sent: the connection is open, and the request has come.
    is_under_way: bool,
    /// TCP has more data than it can send.
    has_all: bool,
    /// The time from which the bytes at the present rate count, once there were data to send, and those given since.
    from: Option<Time>,
    given: u64,
    /// A wake-up is due.
    sleeps: bool,
}

impl Transfer {
    pub(crate) fn new(transfer: &LimitedTransfer) -> Transfer {
        Transfer {
            sender: if transfer.request.is_some() { End::Acceptor } else { End::Initiator },
            to_acceptor: Bytes::ZERO,
            is_under_way: false,
            has_all: false,
            from: None,
            given: 0,
            sleeps: false,
        }
    }

    /// Bytes that have to come to the acceptor before there is something to do.
    pub(crate) fn awaits_at_acceptor(&self) -> Bytes {
        if self.sender == End::Initiator { ENDLESS } else { self.to_acceptor }
    }

    /// The same for the initiator.
    pub(crate) fn awaits_at_initiator(&self) -> Bytes {
        if self.sender == End::Acceptor { ENDLESS } else { Bytes::ZERO }
    }

    pub(crate) fn on_event(
        &mut self,
        transfer: &LimitedTransfer,
        event: VectorEvent,
        now: Time,
        out: &mut Vec<VectorAction>,
    ) {
        match (event, transfer.request) {
            (VectorEvent::Opened, None) => self.begin(transfer, now, out),
            (VectorEvent::Opened, Some(request)) => {
                self.to_acceptor = request;
                out.push(VectorAction::Write(request));
            }
            (VectorEvent::Delivered(bytes), Some(_)) => {
                self.to_acceptor = self.to_acceptor - bytes;
                if self.to_acceptor == Bytes::ZERO {
                    self.begin(transfer, now, out);
                }
            }
            (VectorEvent::Delivered(_), None) | (VectorEvent::Received(_), _) => {}
            (VectorEvent::Woken, _) => {
                self.sleeps = false;
                if self.is_under_way {
                    self.give(transfer, now, out);
                }
            }
            (VectorEvent::Closed, _) => {
                // The transfer continues over another connection; lost data stay lost.
                (self.is_under_way, self.has_all) = (false, false);
                out.extend([VectorAction::Aborted, VectorAction::Open]);
            }
        }
    }

    fn begin(&mut self, transfer: &LimitedTransfer, now: Time, out: &mut Vec<VectorAction>) {
        self.is_under_way = true;
        self.from = self.from.or(Some(now));
        self.give(transfer, now, out);
    }

    /// Give TCP the data that are due, and sleep until more are.
    fn give(&mut self, transfer: &LimitedTransfer, now: Time, out: &mut Vec<VectorAction>) {
        let sender = self.sender;
        let write = |bytes| match sender {
            End::Initiator => VectorAction::Write(bytes),
            End::Acceptor => VectorAction::Answer(bytes),
        };
        let (rate, since, mut next) = transfer.rate_at(now);
        let from = self.from.map_or(now, |from| from.max(since));
        if self.from != Some(from) {
            (self.from, self.given) = (Some(from), 0);
        }
        match rate {
            None if self.has_all => {}
            None => {
                self.has_all = true;
                out.push(write(ENDLESS));
            }
            Some(rate) => {
                if std::mem::take(&mut self.has_all) {
                    out.push(VectorAction::Withdraw(sender));
                }
                let (elapsed, block) = (now - from, block(rate));
                let bytes = due(rate, elapsed) - self.given;
                if bytes > 0 {
                    self.given += bytes;
                    out.push(write(Bytes::new(bytes)));
                }
                let next_block = from + block * (elapsed.as_nanos() / block.as_nanos() + 1);
                next = Some(next.map_or(next_block, |change| change.min(next_block)));
            }
        }
        if let Some(next) = next.filter(|_| !self.sleeps) {
            self.sleeps = true;
            out.push(VectorAction::Sleep(next - now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAST: BitRate = BitRate::from_mbit_per_sec(16);
    const SLOW: BitRate = BitRate::from_mbit_per_sec(3);

    fn second(second: u64) -> Time {
        Time::ZERO + Duration::from_secs(second)
    }

    /// A driver of one transfer, which writes down the time of each action.
    struct Driver {
        transfer: LimitedTransfer,
        state: Transfer,
        now: Time,
        woken: Option<Time>,
        actions: Vec<(Time, VectorAction)>,
    }

    impl Driver {
        fn new(request: Option<Bytes>, rates: Vec<(Time, Option<BitRate>)>) -> Driver {
            let transfer = LimitedTransfer { request, rates };
            let state = Transfer::new(&transfer);
            Driver { transfer, state, now: second(0), woken: None, actions: Vec::new() }
        }

        fn tell(&mut self, event: VectorEvent) {
            let mut out = Vec::new();
            self.state.on_event(&self.transfer, event, self.now, &mut out);
            for action in out {
                match action {
                    VectorAction::Sleep(pause) => {
                        assert_eq!(self.woken, None, "one wake-up is due at a time");
                        self.woken = Some(self.now + pause);
                    }
                    action => self.actions.push((self.now, action)),
                }
            }
        }

        fn run_until(&mut self, end: Time) {
            while let Some(at) = self.woken.take_if(|at| *at <= end) {
                self.now = at;
                self.tell(VectorEvent::Woken);
            }
            self.now = end;
        }

        /// The bytes given in (`from`, `to`], an endless amount left out.
        fn given(&self, from: Time, to: Time) -> u64 {
            let bytes = |&(at, action): &(Time, VectorAction)| match action {
                VectorAction::Write(bytes) | VectorAction::Answer(bytes)
                    if from < at && at <= to && bytes != ENDLESS =>
                {
                    bytes.get()
                }
                _ => 0,
            };
            self.actions.iter().map(bytes).sum()
        }
    }

    #[test]
    fn the_application_gives_its_rate_from_the_change_on() {
        let mut driver =
            Driver::new(None, vec![(second(2), Some(FAST)), (second(5), Some(SLOW)), (second(7), None)]);
        driver.tell(VectorEvent::Opened);
        driver.run_until(second(9));
        let everything = VectorAction::Write(ENDLESS);
        assert_eq!(
            driver.actions[..2],
            [(second(0), everything), (second(2), VectorAction::Withdraw(End::Initiator))]
        );
        // A block that is due with the change is not given.
        assert_eq!(driver.given(second(2), second(5)), 6_000_000 - 2_000);
        assert!((750_000 - 1_448..=750_000).contains(&driver.given(second(5), second(7))));
        assert_eq!(driver.actions.last(), Some(&(second(7), everything)));
        assert_eq!(driver.woken, None, "nothing changes any more");
    }

    #[test]
    fn a_late_wake_up_costs_nothing() {
        let mut driver = Driver::new(None, vec![(second(0), Some(FAST))]);
        driver.tell(VectorEvent::Opened);
        driver.now = second(3);
        driver.woken = None;
        driver.tell(VectorEvent::Woken);
        assert_eq!(driver.given(second(0), second(3)), 6_000_000);
    }

    #[test]
    fn a_transfer_after_the_change_begins_at_the_rate() {
        let mut driver = Driver::new(Some(Bytes::new(300)), vec![(second(1), Some(FAST))]);
        driver.now = second(4);
        driver.tell(VectorEvent::Opened);
        assert_eq!(driver.actions, [(second(4), VectorAction::Write(Bytes::new(300)))]);
        driver.tell(VectorEvent::Delivered(Bytes::new(300)));
        driver.run_until(second(5));
        assert_eq!(driver.given(second(4), second(5)), 2_000_000, "nothing of the time before it");
    }

    #[test]
    fn a_lost_connection_is_replaced() {
        let mut driver = Driver::new(None, vec![(second(1), Some(FAST))]);
        driver.tell(VectorEvent::Opened);
        driver.run_until(second(2));
        driver.tell(VectorEvent::Closed);
        let (_, last) = driver.actions[driver.actions.len() - 1];
        assert_eq!(last, VectorAction::Open);
        driver.run_until(second(3));
        driver.tell(VectorEvent::Opened);
        driver.run_until(second(4));
        assert_eq!(driver.given(second(1), second(4)), 6_000_000, "the data of the meantime wait");
    }
}
