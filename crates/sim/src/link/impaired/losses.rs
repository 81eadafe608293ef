//! Losses on a wire, of each packet by itself or in bursts.

use aqmlab_units::{Prob, Stream};

use crate::spec::{BurstsSpec, LossSpec};

/// The process that decides which packets are lost.
#[derive(Debug)]
pub(super) struct Losses {
    loss: LossSpec,
    /// The state of a Gilbert-Elliott process.
    is_bad: bool,
    stream: Stream,
}

impl Losses {
    pub(super) fn new(loss: LossSpec, stream: Stream) -> Losses {
        Losses { loss, is_bad: false, stream }
    }

    /// Returns true if the next packet is lost.
    pub(super) fn draw(&mut self) -> bool {
        match self.loss {
            LossSpec::Independent(probability) => self.strikes(probability),
            LossSpec::Bursts(BurstsSpec::GilbertElliott(process)) => {
                let change = if self.is_bad { process.r } else { process.p };
                self.is_bad ^= self.strikes(change);
                let passes = if self.is_bad { process.h } else { process.k };
                !self.strikes(passes)
            }
        }
    }

    fn strikes(&mut self, probability: f64) -> bool {
        self.stream.chance(Prob::clamped(probability))
    }
}
