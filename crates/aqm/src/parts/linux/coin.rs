//! Random numbers of Linux's laws: 64 bits for each decision, from a random stream or from the coin of a kernel.

use aqmlab_units::Stream;

use crate::parts::linux::choke::LinuxChoke;
use crate::parts::linux::flow_hash::FlowKey;
use crate::parts::linux::sfb::LinuxSfb;
use crate::parts::linux::sfq::LinuxSfq;
use crate::{DualPi2, LinkContext, Qdisc, QueueConfig, Variant};

/// A source of random bits.
pub trait Coin: Clone + Send + 'static {
    /// Draw 64 random bits.
    fn toss(&mut self) -> u64;

    /// Return the key of the host's hash of flows.
    fn flow_key(&mut self) -> FlowKey {
        FlowKey::draw(self)
    }
}

impl Coin for Stream {
    fn toss(&mut self) -> u64 {
        self.next_u64()
    }
}

impl QueueConfig {
    /// Return an empty queue, as [`QueueConfig::queue`] does. All laws of Linux's variant in it toss this coin in place of
    /// their random streams, as those of a kernel do.
    pub fn queue_with_coin(
        &self,
        link: &LinkContext,
        rng: Stream,
        coin: &impl Coin,
    ) -> Box<dyn Qdisc<usize> + Send> {
        match self {
            QueueConfig::Pie(config) if config.variant == Variant::Linux => {
                Box::new(config.linux_queue(coin.clone()))
            }
            QueueConfig::FqPie(config) if config.pie.variant == Variant::Linux => {
                let queue = config.linux_queue(rng, |_| coin.clone());
                Box::new(queue.with_flow_key(coin.clone().flow_key()))
            }
            QueueConfig::FqCodel(config) if config.codel.variant == Variant::Linux => {
                Box::new(config.linux_queue(rng).with_flow_key(coin.clone().flow_key()))
            }
            QueueConfig::Fq(config) => Box::new(config.linux_queue::<usize>(&mut coin.clone())),
            QueueConfig::Sfq(config) if config.variant == Variant::Linux => {
                Box::new(LinuxSfq::new(config, coin.clone()))
            }
            QueueConfig::Sfb(config) if config.variant == Variant::Linux => {
                Box::new(LinuxSfb::new(config, coin.clone()))
            }
            QueueConfig::Dualpi2(config) if config.variant == Variant::Linux => {
                Box::new(DualPi2::linux(config, coin.clone()))
            }
            QueueConfig::Red(config) if config.variant == Variant::Linux => {
                Box::new(config.linux_queue(link, coin.clone()))
            }
            QueueConfig::Choke(config) if config.red.variant == Variant::Linux => {
                Box::new(LinuxChoke::new(config, link, coin.clone()))
            }
            QueueConfig::Cake(config) if config.variant == Variant::Linux => {
                Box::new(config.queue_of_linux::<usize, _>(link, rng, coin.clone()))
            }
            other => other.queue(link, rng),
        }
    }
}
