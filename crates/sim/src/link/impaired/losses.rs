//! Losses on a wire, of each packet by itself or in bursts.

use aqmlab_aqm::Coin;
use aqmlab_units::{Duration, Stream, Time};

use crate::spec::{BurstsSpec, FourStateSpec, GilbertElliottSpec, LossSpec, StateChange, TwoStatesSpec};

/// The process that decides which packets are lost. Each decision is a toss of its coin.
#[derive(Clone, Debug)]
pub struct Losses<C = Stream> {
    loss: LossSpec,
    /// The state of a Gilbert-Elliott process.
    is_bad: bool,
    /// The end of this state, of a process whose states have times.
    changes_at: Time,
    /// The state of a process of four states.
    state: State,
    coin: C,
}

/// The states of the process of four, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Packets pass between bursts.
    Gap = 1,
    /// Packets pass within a burst.
    Pause = 2,
    /// Packets are lost in a burst.
    Burst = 3,
    /// A packet is lost between bursts.
    Isolated = 4,
}

impl State {
    fn is_loss(self) -> bool {
        matches!(self, State::Burst | State::Isolated)
    }
}

impl<C: Coin> Losses<C> {
    /// Return a process before its first packet.
    pub fn new(loss: LossSpec, coin: C) -> Losses<C> {
        let mut losses = Losses { loss, is_bad: false, changes_at: Time::ZERO, state: State::Gap, coin };
        if let LossSpec::Bursts(BurstsSpec::GilbertElliottTime(process)) = loss {
            losses.changes_at = Time::ZERO + losses.exponential(process.good);
        }
        losses
    }

    /// Decide whether the next packet, which departs at `departure`, is lost.
    pub fn draw(&mut self, departure: Time) -> bool {
        match self.loss {
            LossSpec::Independent(probability) => self.toss() < probability,
            LossSpec::Bursts(BurstsSpec::GilbertElliott(process)) => self.draw_of_two(process),
            LossSpec::Bursts(BurstsSpec::GilbertElliottTime(process)) => {
                self.draw_over_time(process, departure)
            }
            LossSpec::Bursts(BurstsSpec::FourState(process)) => {
                self.state = self.next_of_four(process);
                self.state.is_loss()
            }
        }
    }

    /// Return a number from 0 to 1.
    fn toss(&mut self) -> f64 {
        (self.coin.toss() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    fn draw_of_two(&mut self, process: GilbertElliottSpec) -> bool {
        let before = self.is_bad;
        let change = if before { process.r } else { process.p };
        self.is_bad ^= self.toss() < change;
        let u = self.toss();
        match process.change {
            StateChange::Before => u >= if self.is_bad { process.h } else { process.k },
            // The sides of the coin are those of netem.
            StateChange::After if before => u >= process.h,
            StateChange::After => u < 1.0 - process.k,
        }
    }

    fn draw_over_time(&mut self, process: TwoStatesSpec, departure: Time) -> bool {
        while self.changes_at <= departure {
            self.is_bad = !self.is_bad;
            let mean = if self.is_bad { process.bad } else { process.good };
            let lasts = self.exponential(mean);
            self.changes_at += lasts;
        }
        self.toss() >= if self.is_bad { process.h } else { process.k }
    }

    /// Return a time of the exponential distribution, of at least a nanosecond.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a mean is bounded")]
    fn exponential(&mut self, mean: Duration) -> Duration {
        let nanos = -libm::log1p(-self.toss()) * mean.as_nanos() as f64;
        Duration::from_nanos((nanos as u64).max(1))
    }

    fn next_of_four(&mut self, process: FourStateSpec) -> State {
        let FourStateSpec { p13, p31, p32, p23, p14 } = process;
        let u = self.toss();
        match self.state {
            State::Gap if u < p14 => State::Isolated,
            State::Gap if u < p14 + p13 => State::Burst,
            State::Pause if u < p23 => State::Burst,
            State::Burst if u < p32 => State::Pause,
            State::Burst if u < p32 + p31 => State::Gap,
            State::Isolated => State::Gap,
            same => same,
        }
    }
}
