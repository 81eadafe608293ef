//! Events from the sides to the router.

use std::sync::{Mutex, MutexGuard, PoisonError};

use aqmlab_sim::{SourceConnection, SourceFlow, UserConnection};
use aqmlab_units::{Bytes, Time};
use aqmlab_workload::Completed;

use crate::mix::Offers;
use crate::packet::addresses::BrowserEnd;
use crate::packet::datagram::Stamp;

/// An action of a browser or a source. An event that is sent before a packet is handled before it.
#[derive(Debug)]
pub(crate) enum SideEvent {
    /// It is about to open a connection, whose ends offer so much room at most.
    Opening { browser: BrowserEnd, connection: UserConnection, offers: Offers },
    /// It has closed it, or lost it.
    Closed { browser: BrowserEnd },
    /// An exchange of the user's is complete.
    Completed { user: u32, exchange: Completed, at: Time },
    /// An exchange ended without its response.
    Aborted { at: Time },
    /// A source is about to open a connection; its close is an event as for browsers.
    OpeningOfSource { end: BrowserEnd, connection: SourceConnection, offers: Offers },
    /// Bytes have arrived over connections of a source.
    Delivered { source: u8, bytes: Bytes, at: Time },
    /// A datagram has come.
    Received { stamp: Stamp, size: Bytes, at: Time },
    /// An exchange of a source's is complete.
    CompletedOfSource { flow: SourceFlow, exchange: Completed, at: Time },
    /// One ended without its answer.
    AbortedOfSource { source: u8, at: Time },
}

/// Events that are not handled yet. A list behind a lock and not a channel: a channel's receiver spins while a sender that was
/// interrupted completes its message; and that sender may be waiting for the processor on which the router spins.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    notes: Mutex<Vec<SideEvent>>,
}

impl EventQueue {
    /// Put something up.
    pub(crate) fn tell(&self, news: SideEvent) {
        self.lock().push(news);
    }

    /// Take everything down, in the order in which it was put up. `heard` is empty, and takes the place of the list.
    pub(crate) fn take(&self, heard: &mut Vec<SideEvent>) {
        std::mem::swap(&mut *self.lock(), heard);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<SideEvent>> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
