//! Readings of the state of connections in the kernel, for the table of flows.

use std::cmp::Reverse;
use std::io;
use std::sync::Arc;

use aqmlab_sim::{FlowInstants, SourceFlow};
use aqmlab_units::Time;

use super::flows::Flow;
use super::{RunningSources, WakeUp};
use crate::error::{Context, Error};
use crate::network::tcp_info::TcpInfo;
use crate::router::event_queue::{FlowReading, SideEvent};

impl RunningSources {
    /// Reads the state of both ends of each recorded flow, and schedules the next reading, which follows that of `due`.
    pub(super) fn record_flows(&mut self, due: Time) -> Result<(), Error> {
        let spec = Arc::clone(&self.config.spec);
        let Some(recorded) = &spec.record.flows else { return Ok(()) };
        let FlowInstants::Every(period) = recorded.every else { return Ok(()) };
        let at = self.clock.now();
        for flow in
            self.flows.active().filter(|flow| recorded.records(&spec.sources[usize::from(flow.source)]))
        {
            for reading in readings(flow) {
                let reading = reading.context(|| "the state of a connection".to_owned())?;
                self.send_event(SideEvent::FlowState { reading, at });
            }
        }
        self.wakes.push(Reverse((due + period, WakeUp::Record)));
        Ok(())
    }
}

/// Returns the state of both ends of a flow's connection, as far as they are open.
fn readings(flow: &Flow) -> impl Iterator<Item = io::Result<FlowReading>> {
    let &Flow { source, number, side, .. } = flow;
    let flow_of_source = SourceFlow { source, number, side };
    flow.connection.iter().flat_map(move |connection| {
        let ends = [(false, &connection.client), (true, &connection.server)];
        ends.into_iter().filter_map(move |(is_server, end)| {
            let info = TcpInfo::read(&end.as_ref()?.socket);
            let stack = connection.stacks[usize::from(is_server)];
            Some(info.map(|info| FlowReading {
                flow: flow_of_source,
                connection: connection.number,
                is_server,
                stack,
                info,
            }))
        })
    })
}
