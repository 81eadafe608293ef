//! The state of real connections over time.

use aqmlab_tcp::{ControlVariables, Info, LimitedBy, Profile};
use aqmlab_units::Time;

use super::{EmulatedNetwork, End, SourceFlow};
use crate::engine::hosts::StackId;
use crate::engine::limits::Limit;
use crate::packet::Owner;
use crate::record::FlowRow;
use crate::side::{Direction, Side};

/// The state of one end of a source's connection, as its host knows it.
#[derive(Clone, Copy, Debug)]
pub struct FlowState {
    /// The flow of the connection.
    pub flow: SourceFlow,
    /// The number of the connection among all of the run, from 1.
    pub connection: u64,
    /// The end whose state it is.
    pub end: End,
    /// The stack of this end's host.
    pub stack: StackId,
    /// Windows and times. `sent` and `delivered` in it are not used.
    pub info: Info,
    /// The reason why it sends no more.
    pub limited_by: LimitedBy,
    /// The variables of its congestion control.
    pub variables: ControlVariables,
    /// Data bytes since the connection began: sent, delivered and sent again.
    pub sent: u64,
    /// See `sent`.
    pub delivered: u64,
    /// See `sent`.
    pub retransmitted: u64,
}

impl EmulatedNetwork {
    /// The values of a stack.
    pub fn profile(&self, stack: StackId) -> &Profile {
        self.spec.tcp.profiles().nth(stack.index()).expect("a stack of this spec")
    }

    /// Add a row of one end's state at `now`, if it has sent data.
    pub fn record_flow(&mut self, state: &FlowState, now: Time) {
        if now > self.end || state.sent == 0 {
            return;
        }
        let client = Side::numbered(state.flow.side);
        let sender = if state.end == End::Client { client } else { client.other() };
        let row = FlowRow {
            direction: Direction::from_side(sender),
            owner: Owner::source(state.flow.source),
            flow: state.flow.number,
            connection: state.connection,
            control: self.profile(state.stack).congestion.name(),
            limited_by: Limit::from(state.limited_by).name(),
            variables: state.variables,
            info: &state.info,
            sent: state.sent,
            delivered: state.delivered,
            retransmitted: state.retransmitted,
        };
        self.recorder.tables.flows.push(now, &row);
    }
}
