//! The sources' traffic through the network, and its arrivals as the hosts' drivers report them.

use aqmlab_tcp::RecoveryCounts;
use aqmlab_units::{Bytes, Time};
use aqmlab_workload::Completed;
use aqmlab_workload::sources::Datagram;

use super::{EmulatedNetwork, PacketTag, SourceFlow};
use crate::engine::sources::{Datagrams, WindowTotals, as_sent, source_summary};
use crate::packet::{Owner, Packet};
use crate::record::ExchangeRow;
use crate::side::Side;
use crate::summary::{PacketSummary, SourceSummary, Window};

/// Totals of packets by owner, and of the sources' traffic.
pub(super) struct SourcesSeen {
    /// The owners of connections, by slot.
    owners: Vec<Owner>,
    /// Packets of connections since the start of the run, and at the start of the measurement window, by owner.
    packets: Vec<PacketsSeen>,
    before: Vec<PacketsSeen>,
    /// Bytes that have arrived over connections in the measurement window, by source.
    delivered: Vec<u64>,
    datagrams: Vec<Datagrams>,
}

#[derive(Clone, Copy, Default)]
struct PacketsSeen {
    sent: u64,
    lost: u64,
}

impl SourcesSeen {
    /// `datagrams` are those of each source.
    pub(super) fn new(datagrams: Vec<Datagrams>) -> SourcesSeen {
        let sources = datagrams.len();
        SourcesSeen {
            owners: Vec::new(),
            packets: vec![PacketsSeen::default(); 1 + sources],
            before: vec![PacketsSeen::default(); 1 + sources],
            delivered: vec![0; sources],
            datagrams,
        }
    }

    /// Record that a connection of `owner` uses `slot`.
    pub(super) fn opened(&mut self, slot: u32, owner: Owner) {
        let slot = slot as usize;
        if self.owners.len() <= slot {
            self.owners.resize(slot + 1, owner);
        }
        self.owners[slot] = owner;
    }

    /// Count a packet that the connection in `slot` sends.
    pub(super) fn sent(&mut self, slot: u32) {
        self.packets[self.owners[slot as usize].index()].sent += 1;
    }

    /// Count a packet that will not arrive. Returns its owner.
    pub(super) fn lost(&mut self, packet: &Packet<PacketTag>, window_start: Time) -> Owner {
        if let Some(owner) = packet.to.datagram_owner() {
            self.datagrams[packet.to.source()].lose(&as_sent(packet), window_start);
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

    /// Packets of `owner`'s connections sent and lost in the measurement window so far.
    fn sent_and_lost(&self, owner: Owner) -> (u64, u64) {
        let (now, before) = (self.packets[owner.index()], self.before[owner.index()]);
        (now.sent - before.sent, now.lost - before.lost)
    }
}

impl EmulatedNetwork {
    /// Record an exchange of a source's flow that was completed at `now`. Its recoveries are unknown.
    pub fn completed_of_source(&mut self, flow: SourceFlow, exchange: &Completed, now: Time) {
        let SourceFlow { source, number, side } = flow;
        let side = Side::numbered(side);
        let row = ExchangeRow { exchange, side, user: number, recovery: RecoveryCounts::default() };
        self.write_down(Owner::source(source), &row, now);
    }

    /// Record an exchange of source `source` that ended at `now` without its response.
    pub fn aborted_of_source(&mut self, source: u8, now: Time) {
        self.give_up(Owner::source(source), now);
    }

    /// Record `bytes` that have arrived over connections of source `source` at `now`.
    pub fn delivered(&mut self, source: u8, bytes: Bytes, now: Time) {
        if self.is_measured(now) {
            self.sources.delivered[usize::from(source)] += bytes.get();
        }
    }

    /// Record a datagram of source `source`, as it was sent, that arrived at `now`.
    pub fn received_datagram(&mut self, source: u8, sent: &Datagram, now: Time) {
        if now <= self.end {
            let window_start = self.window_start;
            self.sources.datagrams(source).receive(sent, now, window_start);
        }
    }

    /// Return the outcomes of the users' packets, if there are sources too, and of each source's traffic.
    pub(super) fn summaries(&self, window: &Window) -> (Option<PacketSummary>, Vec<SourceSummary>) {
        let has_both = self.spec.users.per_side > 0 && !self.spec.sources.is_empty();
        let (sent, lost) = self.sources.sent_and_lost(Owner::USERS);
        let users = has_both.then(|| PacketSummary::new(sent, lost, window, Owner::USERS));
        let summaries = (0..).zip(&self.spec.sources).map(|(number, source)| {
            let owner = Owner::source(number);
            let index = usize::from(number);
            let totals = WindowTotals {
                bytes: self.sources.delivered[index],
                connections: self.sources.sent_and_lost(owner),
                datagrams: &self.sources.datagrams[index],
            };
            source_summary(source, owner, &totals, &self.recorder, window)
        });
        (users, summaries.collect())
    }
}
