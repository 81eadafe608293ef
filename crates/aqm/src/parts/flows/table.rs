//! FRED's state of each flow that has packets waiting.

use std::collections::BTreeMap;

use crate::{Packet, QueueState};

/// A flow with packets waiting.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flow {
    /// `qlen`, in packets and in bytes.
    pub(crate) waiting: QueueState,
    /// The number of times the flow has exceeded its bounds.
    pub(crate) strike: u32,
}

/// The active flows. A flow's state is removed with its last packet, so that the table is no longer than the
/// queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowTable(BTreeMap<u32, Flow>);

impl FlowTable {
    /// `Nactive`, the number of flows with packets waiting; 1 if there are none, because it is a divisor.
    pub(crate) fn active(&self) -> f64 {
        self.0.len().max(1) as f64
    }

    /// The state of a flow; all zero for one without packets waiting.
    pub(crate) fn get(&self, flow: u32) -> Flow {
        self.0.get(&flow).copied().unwrap_or_default()
    }

    /// Record that the flow has exceeded its bounds.
    pub(crate) fn strike(&mut self, flow: u32) {
        if let Some(flow) = self.0.get_mut(&flow) {
            flow.strike = flow.strike.saturating_add(1);
        }
    }

    /// Add a packet that starts to wait.
    pub(crate) fn add(&mut self, pkt: &Packet) {
        let flow = self.0.entry(pkt.flow).or_default();
        flow.waiting.packets += 1;
        flow.waiting.bytes += pkt.size;
    }

    /// Remove a packet that no longer waits.
    pub(crate) fn remove(&mut self, pkt: &Packet) {
        let flow = self.0.get_mut(&pkt.flow).expect("a waiting packet has been added");
        flow.waiting.packets -= 1;
        flow.waiting.bytes = flow.waiting.bytes - pkt.size;
        if flow.waiting.packets == 0 {
            self.0.remove(&pkt.flow);
        }
    }
}
