//! Events that the sides and the sources send to the router.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aqmlab_sim::{End, FlowState, SourceConnection, SourceFlow, StackId, UserConnection};
use aqmlab_tcp::Profile;
use aqmlab_units::{Bytes, Time};
use aqmlab_workload::Completed;

use crate::message::Message;
use crate::mix::Offers;
use crate::network::engine_device::EngineDevice;
use crate::network::tcp_info::TcpInfo;
use crate::packet::addresses::BrowserEnd;
use crate::packet::datagram::Stamp;

/// An action of a browser or a source. The router handles an event before packets that were sent after it.
#[derive(Debug)]
pub(crate) enum SideEvent {
    /// A browser is about to open a connection. `offers` has the largest windows of its ends.
    Opening { browser: BrowserEnd, connection: UserConnection, offers: Offers },
    /// A connection of a browser or a source has been closed or lost.
    Closed { browser: BrowserEnd },
    /// An exchange of a user is complete.
    Completed { user: u32, exchange: Completed, at: Time },
    /// An exchange ended without its response.
    Aborted { at: Time },
    /// A source is about to open a connection.
    OpeningOfSource { end: BrowserEnd, connection: SourceConnection, offers: Offers },
    /// Bytes have arrived over a connection of a source.
    Delivered { source: u8, bytes: Bytes, at: Time },
    /// A datagram has arrived.
    Received { stamp: Stamp, size: Bytes, at: Time },
    /// An exchange of a source is complete.
    CompletedOfSource { flow: SourceFlow, exchange: Completed, at: Time },
    /// The state of one end of a source's connection.
    FlowState { reading: FlowReading, at: Time },
    /// An exchange of a source ended without its response.
    AbortedOfSource { source: u8, at: Time },
    /// The command of the user has ended, and with it the run.
    CommandEnded { at: Time },
}

/// The state of one end of a source's connection in the kernel.
#[derive(Clone, Debug)]
pub(crate) struct FlowReading {
    pub(crate) flow: SourceFlow,
    /// The number of the connection among those of all sources, from 1.
    pub(crate) connection: u64,
    pub(crate) is_server: bool,
    pub(crate) stack: StackId,
    pub(crate) info: TcpInfo,
}

impl FlowReading {
    /// Returns the state in the simulator's terms, of a host with this profile.
    pub(crate) fn state(&self, profile: &Profile) -> FlowState {
        let &FlowReading { flow, connection, is_server, stack, ref info } = self;
        let end = if is_server { End::Server } else { End::Client };
        FlowState {
            flow,
            connection,
            end,
            stack,
            info: info.info(profile),
            limited_by: info.limited_by(profile),
            variables: info.variables(profile),
            sent: info.sent(),
            delivered: info.delivered(end),
            retransmitted: info.retransmitted(),
        }
    }
}

/// The queue of events from sides to router.
///
/// It is a list behind a lock, not a channel: the receiver of a channel spins while an interrupted sender completes its message.
/// That sender may be waiting for the processor on which the router spins.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    events: Mutex<Vec<SideEvent>>,
    /// The engine in the kernel's process, if the router is there.
    engine: Option<Arc<EngineDevice>>,
}

impl EventQueue {
    /// Returns a queue whose events go to the engine.
    pub(crate) fn to_engine(engine: Arc<EngineDevice>) -> EventQueue {
        EventQueue { events: Mutex::default(), engine: Some(engine) }
    }

    /// Returns the device of the engine that the events go to.
    pub(crate) fn engine(&self) -> Option<&Arc<EngineDevice>> {
        self.engine.as_ref()
    }

    /// Appends an event.
    pub(crate) fn push(&self, event: SideEvent) {
        match &self.engine {
            None => self.lock().push(event),
            Some(engine) => {
                // The engine must know a connection before its first packet, and the end of the run. It can wait for all other events.
                let is_urgent = matches!(
                    event,
                    SideEvent::Opening { .. }
                        | SideEvent::OpeningOfSource { .. }
                        | SideEvent::CommandEnded { .. }
                );
                engine.append(&Message::Event(event), is_urgent);
            }
        }
    }

    /// Moves all events to `events`, in their order. `events` must be empty: its memory becomes that of the queue.
    pub(crate) fn take(&self, events: &mut Vec<SideEvent>) {
        std::mem::swap(&mut *self.lock(), events);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<SideEvent>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
