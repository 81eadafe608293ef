//! What of the sources' traffic goes through the network, and what those who drive them say has come.

use aqmlab_tcp::RecoveryCounts;
use aqmlab_units::{Bytes, Time};
use aqmlab_workload::Completed;

use super::{EmulatedNetwork, PacketTag, SourceFlow};
use crate::engine::sources::{Datagrams, WindowTotals, sent_at, source_summary};
use crate::packet::{Owner, Packet};
use crate::record::ExchangeRow;
use crate::side::Side;
use crate::summary::{PacketSummary, SourceSummary, Window};

/// Packets by whose they are, and what has come of the sources' traffic.
pub(super) struct SourcesSeen {
    /// By slot.
    owners: Vec<Owner>,
    /// By owner, of connections since the start of the run, and as they were when the measured window began.
    packets: Vec<PacketsSeen>,
    before: Vec<PacketsSeen>,
    /// By source: bytes that have come over its connections in the measured window.
    delivered: Vec<u64>,
    datagrams: Vec<Datagrams>,
}

#[derive(Clone, Copy, Default)]
struct PacketsSeen {
    sent: u64,
    lost: u64,
}

impl SourcesSeen {
    pub(super) fn new(sources: usize) -> SourcesSeen {
        SourcesSeen {
            owners: Vec::new(),
            packets: vec![PacketsSeen::default(); 1 + sources],
            before: vec![PacketsSeen::default(); 1 + sources],
            delivered: vec![0; sources],
            datagrams: (0..sources).map(|_| Datagrams::new()).collect(),
        }
    }

    /// A connection of `owner` has taken the place `slot`.
    pub(super) fn opened(&mut self, slot: u32, owner: Owner) {
        let slot = slot as usize;
        if self.owners.len() <= slot {
            self.owners.resize(slot + 1, owner);
        }
        self.owners[slot] = owner;
    }

    /// A packet of the connection in `slot` leaves its sender.
    pub(super) fn sent(&mut self, slot: u32) {
        self.packets[self.owners[slot as usize].index()].sent += 1;
    }

    /// A queue has dropped `packet`: whose it was.
    pub(super) fn lost(&mut self, packet: &Packet<PacketTag>, window_start: Time) -> Owner {
        if let Some(owner) = packet.to.datagram_owner() {
            self.datagrams[packet.to.source()].lose(sent_at(&packet.segment), window_start);
            return owner;
        }
        let owner = self.owners[packet.to.slot() as usize];
        self.packets[owner.index()].lost += 1;
        owner
    }

    pub(super) fn begin_window(&mut self) {
        self.before.clone_from(&self.packets);
    }

    pub(super) fn datagrams(&mut self, source: u8) -> &mut Datagrams {
        &mut self.datagrams[usize::from(source)]
    }

    /// Packets of `owner`'s connections that were sent, and that were lost, in the measured window so far.
    fn sent_and_lost(&self, owner: Owner) -> (u64, u64) {
        let (now, before) = (self.packets[owner.index()], self.before[owner.index()]);
        (now.sent - before.sent, now.lost - before.lost)
    }
}

impl EmulatedNetwork {
    /// An exchange of a source's flow was completed at `now`. What recovery cost is not known.
    pub fn completed_of_source(&mut self, flow: SourceFlow, exchange: &Completed, now: Time) {
        let SourceFlow { source, number, side } = flow;
        let side = Side::numbered(side);
        let row = ExchangeRow { exchange, side, user: number, recovery: RecoveryCounts::default() };
        self.write_down(Owner::source(source), &row, now);
    }

    /// An exchange of source `source` ended at `now` without its response.
    pub fn aborted_of_source(&mut self, source: u8, now: Time) {
        self.give_up(Owner::source(source), now);
    }

    /// So many bytes have come over connections of source `source` at `now`.
    pub fn delivered(&mut self, source: u8, bytes: Bytes, now: Time) {
        if self.is_measured(now) {
            self.sources.delivered[usize::from(source)] += bytes.get();
        }
    }

    /// A datagram of source `source` that was sent at `sent_at` has come at `now`.
    pub fn received_datagram(&mut self, source: u8, size: Bytes, sent_at: Time, now: Time) {
        if now <= self.end {
            let window_start = self.window_start;
            self.sources.datagrams(source).receive(sent_at, size, now, window_start);
        }
    }

    /// What became of the users' packets, where there are sources, and of each source's traffic.
    pub(super) fn summaries(&self, window: &Window) -> (Option<PacketSummary>, Vec<SourceSummary>) {
        let has_both = self.spec.users.per_side > 0 && !self.spec.sources.is_empty();
        let (sent, lost) = self.sources.sent_and_lost(Owner::USERS);
        let users = has_both.then(|| PacketSummary::new(sent, lost, window, Owner::USERS));
        let each = (0..).zip(&self.spec.sources).map(|(number, source)| {
            let owner = Owner::source(number);
            let place = usize::from(number);
            let came = WindowTotals {
                bytes: self.sources.delivered[place],
                connections: self.sources.sent_and_lost(owner),
                datagrams: &self.sources.datagrams[place],
            };
            source_summary(source, owner, &came, &self.recorder, window)
        });
        (users, each.collect())
    }
}
