//! The receivers of a source's datagrams: the rest of each flow's path, and the people there.

use aqmlab_units::Duration;

use super::Datagram;
use crate::sources::quality::{CallQuality, GameQuality, Listener, Updates};

/// The receivers of a source of datagrams.
#[derive(Clone, Debug, Default)]
pub struct Receivers {
    /// The one-way delay of each flow beyond the link; none where the source has no such delays.
    beyond: Vec<Duration>,
    audience: Audience,
}

/// The people whose experience of packets is measured.
#[derive(Clone, Debug, Default)]
pub(crate) enum Audience {
    /// Nothing: they count.
    #[default]
    Counters,
    /// They listen: of each call those who hear side 0, then side 1.
    Calls(Vec<[Listener; 2]>),
    /// They play: of each player the updates that side 0 sends, then those of side 1. Players are on `side`.
    Players { side: u8, players: Vec<[Updates; 2]> },
}

impl Receivers {
    pub(crate) fn new(beyond: Vec<Duration>, audience: Audience) -> Receivers {
        Receivers { beyond, audience }
    }

    /// Return the one-way delay of `flow` beyond the link.
    pub fn delay_beyond_link(&self, flow: u32) -> Duration {
        self.beyond.get(flow as usize).copied().unwrap_or(Duration::ZERO)
    }

    /// A packet is sent, which counts if the measurement window has begun.
    pub fn sent(&mut self, datagram: &Datagram, is_measured: bool) {
        if let Audience::Calls(calls) = &mut self.audience {
            let listeners = &mut calls[datagram.flow as usize];
            listeners[usize::from(datagram.side)].sent(datagram.at, is_measured);
        }
    }

    /// The fate of a packet is known: its delay, or `None` if it is lost.
    pub fn decide(&mut self, sent: &Datagram, delay: Option<Duration>, is_measured: bool) {
        let (flow, side) = (sent.flow as usize, usize::from(sent.side));
        match &mut self.audience {
            Audience::Counters => {}
            Audience::Calls(calls) => calls[flow][side].decide(sent.at, delay),
            Audience::Players { players, .. } => {
                if is_measured {
                    players[flow][side].decide(delay);
                }
            }
        }
    }

    /// Return the quality of the calls, if there are calls.
    pub fn calls(&self) -> Option<CallQuality> {
        match &self.audience {
            Audience::Calls(calls) => Some(CallQuality::new(calls)),
            _ => None,
        }
    }

    /// Return the quality of the games, if there are games.
    pub fn games(&self) -> Option<GameQuality> {
        match &self.audience {
            Audience::Players { side, players } => {
                let (own, other) = (usize::from(*side), usize::from(1 - *side));
                let players: Vec<_> = players.iter().map(|updates| [updates[own], updates[other]]).collect();
                Some(GameQuality::new(&players))
            }
            _ => None,
        }
    }
}
