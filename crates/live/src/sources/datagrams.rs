//! Datagrams of sources over UDP. Each flow sends from its own socket, and each side receives with one socket.

use std::collections::hash_map::Entry;
use std::io::{self, Read, Write};

use aqmlab_workload::sources::Datagram;
use socket2::Socket;

use super::RunningSources;
use crate::error::{Context, Error};
use crate::network::namespaces;
use crate::network::sockets;
use crate::packet::addresses::{self, BrowserEnd, SOURCE_PORT};
use crate::packet::datagram::Stamp;
use crate::router::event_queue::SideEvent;

impl RunningSources {
    /// Sends a datagram of source `source`. A datagram that the kernel refuses counts as an error and is not sent.
    pub(super) fn send(&mut self, source: u8, datagram: &Datagram) -> Result<(), Error> {
        let &Datagram { flow, side, size, .. } = datagram;
        let end = BrowserEnd::for_source(source, side, flow.into());
        let socket = match self.senders.entry(end) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(place) => {
                namespaces::enter_network(&self.config.networks[usize::from(side)])?;
                let to = addresses::source_peer(usize::from(1 - side), SOURCE_PORT);
                let socket = sockets::sender(end.address(), to);
                place.insert(socket.context(|| "a socket for datagrams".to_owned())?)
            }
        };
        let stamp = Stamp { source, side, flow, sent_at: self.clock.now() };
        if let Err(error) = (&*socket).write(&stamp.data(size)) {
            *self.errors.entry(error.to_string()).or_default() += 1;
        }
        Ok(())
    }

    /// Receives the datagrams that have arrived.
    pub(super) fn receive(&mut self, mut socket: &Socket) -> Result<(), Error> {
        loop {
            match socket.read(&mut self.scratch) {
                Ok(length) => {
                    let (at, size) = (self.clock.now(), Stamp::size(length));
                    if let Some(stamp) = Stamp::parse(&self.scratch[..length]) {
                        self.send_event(SideEvent::Received { stamp, size, at });
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                received => received.map(drop).context(|| "datagrams".to_owned())?,
            }
        }
    }
}
