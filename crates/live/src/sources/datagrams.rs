//! Datagrams over UDP: each flow from a socket of its own, to one socket on each side.

use std::collections::hash_map::Entry;
use std::io::{self, Read, Write};

use aqmlab_workload::sources::Datagram;
use socket2::Socket;

use super::RunningSources;
use crate::error::{Context, Error};
use crate::network::namespaces;
use crate::network::sockets;
use crate::packet::addresses::{self, BrowserEnd};
use crate::packet::datagram::Stamp;
use crate::router::event_queue::SideEvent;

impl RunningSources {
    /// A datagram of source `source` leaves. One for which the kernel has no room is counted as an error, and has not been sent.
    pub(super) fn send(&mut self, source: u8, datagram: &Datagram) -> Result<(), Error> {
        let &Datagram { flow, side, size, .. } = datagram;
        let end = BrowserEnd::of_source(source, side, flow.into());
        let socket = match self.senders.entry(end) {
            Entry::Occupied(there) => there.into_mut(),
            Entry::Vacant(place) => {
                namespaces::go_to(&self.setting.networks[usize::from(side)])?;
                let to = addresses::source_peer(usize::from(1 - side));
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

    /// Datagrams have come.
    pub(super) fn receive(&mut self, mut socket: &Socket) -> Result<(), Error> {
        loop {
            match socket.read(&mut self.scratch) {
                Ok(length) => {
                    let (at, size) = (self.clock.now(), Stamp::size(length));
                    if let Some(stamp) = Stamp::of(&self.scratch[..length]) {
                        self.say(SideEvent::Received { stamp, size, at });
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                received => received.map(drop).context(|| "datagrams".to_owned())?,
            }
        }
    }
}
