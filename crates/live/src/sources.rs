//! The spec's sources on sockets: connections whose two ends follow one vector, and datagrams.
//!
//! One thread has both ends of all of them, and one clock. A socket stays in the network namespace in which it was created,
//! independent of its reader and writer: the thread enters a side's namespace to create one there.

mod datagrams;
mod flows;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::fs::File;
use std::io;
use std::sync::Arc;

use aqmlab_sim::Spec;
use aqmlab_units::Time;
use aqmlab_workload::sources::{Datagram, Source, Vector, VectorAction};
use hdrhistogram::Histogram;
use mio::{Events, Poll, Token};
use socket2::Socket;

use self::flows::Flows;
use crate::error::{Context, Error};
use crate::machine::clock::{Clock, LOOK, StopTime, std_duration};
use crate::mix::Mix;
use crate::network::namespaces;
use crate::network::sockets;
use crate::packet::addresses::{BrowserEnd, SOURCE_PORT};
use crate::report::SideReport;
use crate::router::event_queue::{EventQueue, SideEvent};

/// The configuration of a run's sources.
pub(crate) struct Setting {
    pub(crate) spec: Arc<Spec>,
    pub(crate) seed: u64,
    /// The sides' namespaces.
    pub(crate) networks: [File; 2],
    pub(crate) mix: Arc<Mix>,
    pub(crate) board: Arc<EventQueue>,
    /// The time at which the run ends early.
    pub(crate) ending: Arc<StopTime>,
}

/// Sources whose other ends are there, before the run starts.
pub(crate) struct Sources {
    setting: Setting,
    all: Vec<Source>,
    poll: Poll,
    /// By side: where connections come to, and datagrams.
    listeners: [Socket; 2],
    receivers: [Socket; 2],
}

/// Sources during the run.
struct RunningSources {
    setting: Setting,
    all: Vec<Source>,
    /// By source, what it does next.
    next: Vec<Option<Next>>,
    clock: Clock,
    poll: Poll,
    /// The events by time, the next on top.
    wakes: BinaryHeap<Reverse<(Time, Wake)>>,
    flows: Flows,
    /// By flow of datagrams.
    senders: HashMap<BrowserEnd, Socket>,
    /// The actions of a connection: empty between events.
    actions: Vec<VectorAction>,
    scratch: Vec<u8>,
    wake_lateness_us: Histogram<u64>,
    errors: BTreeMap<String, u64>,
    congestion: BTreeMap<String, u64>,
}

enum Next {
    Connection(Vector),
    Datagram(Datagram),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Wake {
    /// A source does what comes next.
    Source(u8),
    /// The pause of the flow in a slot is over, if it is the one of this serial number.
    Flow { slot: usize, serial: u64 },
}

/// The sockets that wait for readiness: each side's listener and receiver, and the two ends of each flow.
enum Watched {
    Listener(usize),
    Receiver(usize),
    Flow(usize),
}

impl Watched {
    /// Tokens that are no flow's.
    const FIXED: usize = 4;

    fn token(&self) -> Token {
        Token(match self {
            Watched::Listener(side) => *side,
            Watched::Receiver(side) => 2 + side,
            Watched::Flow(slot) => Watched::FIXED + slot,
        })
    }

    fn of(token: Token) -> Watched {
        match token.0 {
            side @ (0 | 1) => Watched::Listener(side),
            receiver @ (2 | 3) => Watched::Receiver(receiver - 2),
            flow => Watched::Flow(flow - Watched::FIXED),
        }
    }
}

impl Sources {
    /// Those of the spec, on the thread that they will run on.
    pub(crate) fn new(setting: Setting) -> Result<Sources, Error> {
        let Setting { spec, seed, networks, mix, .. } = &setting;
        let all = (0..).zip(&spec.sources).map(|(number, source)| {
            Source::new(&source.config, number, &spec.users.rtt, *seed).map_err(|error| {
                Error::Refused(format!("sources[{number}].{}: {}", error.path, error.message))
            })
        });
        let all = all.collect::<Result<_, _>>()?;
        let poll = Poll::new().context(|| "epoll".to_owned())?;
        let both = |make: &dyn Fn(usize) -> io::Result<Socket>, watched: fn(usize) -> Watched| {
            let one = |side: usize| {
                namespaces::go_to(&networks[side])?;
                let socket = make(side).context(|| "a socket of sources".to_owned())?;
                sockets::watch(&poll, &socket, watched(side).token()).context(|| "epoll".to_owned())?;
                Ok::<_, Error>(socket)
            };
            Ok::<_, Error>([one(0)?, one(1)?])
        };
        let listen = |side| sockets::listen(SOURCE_PORT, &mix.of_side(side).congestion);
        let listeners = both(&listen, Watched::Listener)?;
        let receivers = both(&|_| sockets::receiver(SOURCE_PORT), Watched::Receiver)?;
        Ok(Sources { setting, all, poll, listeners, receivers })
    }

    /// Run to the end of the spec.
    pub(crate) fn run(self, clock: Clock) -> Result<SideReport, Error> {
        let Sources { setting, all, poll, listeners, receivers } = self;
        let protocol = &setting.spec.protocol;
        let end = Time::ZERO + protocol.warmup + protocol.duration;
        let mut running = RunningSources {
            next: all.iter().map(|_| None).collect(),
            flows: Flows::new(all.len()),
            setting,
            all,
            clock,
            poll,
            wakes: BinaryHeap::new(),
            senders: HashMap::new(),
            actions: Vec::new(),
            scratch: vec![0; 1 << 18],
            wake_lateness_us: Histogram::new(3).expect("three significant digits are allowed"),
            errors: BTreeMap::new(),
            congestion: BTreeMap::new(),
        };
        for number in 0..running.all.len() {
            running.plan(u8::try_from(number).expect("the spec bounds the number of sources"));
        }
        let mut events = Events::with_capacity(1024);
        loop {
            let now = clock.now();
            if now >= end || running.setting.ending.get().is_some() {
                break;
            }
            running.wake(now)?;
            let until = running.next_wake().min(end).min(now + LOOK);
            let pause = std_duration(until.saturating_since(clock.now()));
            match running.poll.poll(&mut events, Some(pause)) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                polled => polled.context(|| "epoll".to_owned())?,
            }
            for event in &events {
                match Watched::of(event.token()) {
                    Watched::Listener(side) => running.accept(&listeners[side])?,
                    Watched::Receiver(side) => running.receive(&receivers[side])?,
                    Watched::Flow(slot) => running.on_ready(slot)?,
                }
            }
        }
        let RunningSources { wake_lateness_us, errors, congestion, .. } = running;
        Ok(SideReport {
            wake_lateness_us,
            errors,
            congestion,
            lost: 0,
            tcp: BTreeMap::new(),
            repeats_before: 0,
            exit_code: None,
        })
    }
}

impl RunningSources {
    /// Find out when source `number` does something next.
    fn plan(&mut self, number: u8) {
        let place = usize::from(number);
        let next = match &mut self.all[place] {
            Source::Connections(source) => source.next().map(Next::Connection),
            Source::Datagrams(source) => source.next().map(Next::Datagram),
        };
        let at = match &next {
            Some(Next::Connection(vector)) => Some(vector.start),
            Some(Next::Datagram(datagram)) => Some(datagram.at),
            None => None,
        };
        self.next[place] = next;
        self.wakes.extend(at.map(|at| Reverse((at, Wake::Source(number)))));
    }

    fn next_wake(&self) -> Time {
        self.wakes.peek().map_or(Time::MAX, |&Reverse((at, _))| at)
    }

    /// Do what is due.
    fn wake(&mut self, now: Time) -> Result<(), Error> {
        while let Some(&Reverse((at, wake))) = self.wakes.peek().filter(|Reverse((at, _))| *at <= now) {
            self.wakes.pop();
            let lateness = now.saturating_since(at).as_micros();
            self.wake_lateness_us.record(lateness).expect("the histogram resizes itself");
            match wake {
                Wake::Flow { slot, serial } => self.resume(slot, serial)?,
                Wake::Source(number) => {
                    let next = self.next[usize::from(number)].take();
                    self.plan(number);
                    match next.expect("a source is due when something was planned") {
                        Next::Connection(vector) => self.begin(number, &vector)?,
                        Next::Datagram(datagram) => self.send(number, &datagram)?,
                    }
                }
            }
        }
        Ok(())
    }

    fn say(&self, news: SideEvent) {
        self.setting.board.tell(news);
    }
}
