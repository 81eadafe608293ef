//! The spec's sources on sockets: connections whose two ends follow one vector, and datagrams.
//!
//! One thread has both ends of all connections, and one clock. A socket stays in the namespace in which it was created: the
//! thread enters a side's namespace only to create one there.

mod datagrams;
mod flow_states;
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
use crate::machine::clock::{CHECK_INTERVAL, Clock, StopTime, std_duration};
use crate::mix::Mix;
use crate::network::namespaces;
use crate::network::sockets;
use crate::network::stack::Stack;
use crate::packet::addresses::{BrowserEnd, OWN_ECN_PORT, SOURCE_PORT};
use crate::report::SideReport;
use crate::router::event_queue::{EventQueue, SideEvent};
use crate::run::STEP;

/// The configuration of a run's sources.
pub(crate) struct SourcesConfig {
    pub(crate) spec: Arc<Spec>,
    pub(crate) seed: u64,
    /// The sides' namespaces.
    pub(crate) networks: [File; 2],
    pub(crate) mix: Arc<Mix>,
    pub(crate) event_queue: Arc<EventQueue>,
    /// True if programs run, whose end ends the run.
    pub(crate) has_programs: bool,
    /// The time at which the run ends early.
    pub(crate) stop_time: Arc<StopTime>,
}

/// The sources with their listening sockets, ready for the run.
pub(crate) struct ReadySources {
    config: SourcesConfig,
    sources: Vec<Source>,
    poll: Poll,
    /// The sockets that accept connections and receive datagrams, by side.
    listeners: [Socket; 2],
    /// Those that accept connections whose congestion control negotiates ECN by itself, where a side has such a control.
    own_ecn_listeners: [Option<Socket>; 2],
    receivers: [Socket; 2],
}

/// Sources during the run.
struct RunningSources {
    config: SourcesConfig,
    sources: Vec<Source>,
    /// The next action of each source.
    next_actions: Vec<Option<NextAction>>,
    clock: Clock,
    poll: Poll,
    /// The wake-ups by time, the next on top.
    wakes: BinaryHeap<Reverse<(Time, WakeUp)>>,
    flows: Flows,
    /// The socket of each flow of datagrams.
    senders: HashMap<BrowserEnd, Socket>,
    /// The actions of a connection after the current event: empty between events.
    actions: Vec<VectorAction>,
    scratch: Vec<u8>,
    wake_lateness_us: Histogram<u64>,
    errors: BTreeMap<String, u64>,
    congestion: BTreeMap<String, u64>,
}

enum NextAction {
    Connection(Vector),
    Datagram(Datagram),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum WakeUp {
    /// The next action of a source is due.
    Source(u8),
    /// The pause of the flow in a slot is over, if its serial number is this one.
    Flow { slot: usize, serial: u64 },
    /// The state of the recorded flows is to be read.
    Record,
    /// The bytes that a guest's kernel has read are to be counted: when the measured window begins, and for each report of progress.
    Count,
}

/// The two ends of a flow's connection.
#[derive(Clone, Copy, Debug)]
enum FlowEnd {
    Initiator = 0,
    Acceptor = 1,
}

/// The sockets that are polled: listeners and receiver of each side, and the two ends of each flow.
enum PolledSocket {
    Listener(usize),
    Receiver(usize),
    OwnEcnListener(usize),
    Flow(usize, FlowEnd),
}

impl PolledSocket {
    /// The number of tokens before those of flows.
    const FIXED: usize = 6;

    fn token(&self) -> Token {
        Token(match self {
            PolledSocket::Listener(side) => *side,
            PolledSocket::Receiver(side) => 2 + side,
            PolledSocket::OwnEcnListener(side) => 4 + side,
            PolledSocket::Flow(slot, end) => PolledSocket::FIXED + 2 * slot + *end as usize,
        })
    }

    fn from_token(token: Token) -> PolledSocket {
        match token.0 {
            side @ (0 | 1) => PolledSocket::Listener(side),
            receiver @ (2 | 3) => PolledSocket::Receiver(receiver - 2),
            listener @ (4 | 5) => PolledSocket::OwnEcnListener(listener - 4),
            flow => {
                let number = flow - PolledSocket::FIXED;
                let end = if number.is_multiple_of(2) { FlowEnd::Initiator } else { FlowEnd::Acceptor };
                PolledSocket::Flow(number / 2, end)
            }
        }
    }
}

impl ReadySources {
    /// Creates the sources of the spec on the calling thread, on which they must also run.
    pub(crate) fn new(config: SourcesConfig) -> Result<ReadySources, Error> {
        let SourcesConfig { spec, seed, networks, mix, .. } = &config;
        let sources = (0..).zip(&spec.sources).map(|(number, source)| {
            Source::new(&source.config, number, &spec.users.rtt, *seed).map_err(|error| {
                Error::Refused(format!("sources[{number}].{}: {}", error.path, error.message))
            })
        });
        let sources = sources.collect::<Result<_, _>>()?;
        let poll = Poll::new().context(|| "epoll".to_owned())?;
        let watched = |side: usize, make: &dyn Fn() -> io::Result<Socket>, polled_socket: PolledSocket| {
            namespaces::enter_network(&networks[side])?;
            let socket = make().context(|| "a socket of sources".to_owned())?;
            sockets::watch(&poll, &socket, polled_socket.token()).context(|| "epoll".to_owned())?;
            Ok::<_, Error>(socket)
        };
        let listener = |side: usize| {
            let listen = || sockets::listen(SOURCE_PORT, &mix.side_stack(side).congestion);
            watched(side, &listen, PolledSocket::Listener(side))
        };
        let receiver =
            |side: usize| watched(side, &|| sockets::receiver(SOURCE_PORT), PolledSocket::Receiver(side));
        let own_ecn_listener = |side: usize| {
            let listen = |stack: &Stack| {
                let listen = || sockets::listen(OWN_ECN_PORT, &stack.congestion);
                watched(side, &listen, PolledSocket::OwnEcnListener(side))
            };
            mix.stack_with_own_ecn(side).map(listen).transpose()
        };
        let listeners = [listener(0)?, listener(1)?];
        let receivers = [receiver(0)?, receiver(1)?];
        let own_ecn_listeners = [own_ecn_listener(0)?, own_ecn_listener(1)?];
        Ok(ReadySources { config, sources, poll, listeners, own_ecn_listeners, receivers })
    }

    /// Runs the sources to the end of the run.
    pub(crate) fn run(self, clock: Clock) -> Result<SideReport, Error> {
        let ReadySources { config, sources, poll, listeners, own_ecn_listeners, receivers } = self;
        let protocol = &config.spec.protocol;
        let window_start = Time::ZERO + protocol.warmup;
        let end = window_start + protocol.duration;
        let mut running = RunningSources {
            next_actions: sources.iter().map(|_| None).collect(),
            flows: Flows::new(sources.len()),
            config,
            sources,
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
        for number in 0..running.sources.len() {
            running.plan(u8::try_from(number).expect("the spec bounds the number of sources"));
        }
        if running.config.spec.record.flows.is_some() {
            running.wakes.push(Reverse((window_start, WakeUp::Record)));
        }
        if running.config.event_queue.engine().is_some() {
            running.wakes.push(Reverse((window_start, WakeUp::Count)));
        }
        let mut events = Events::with_capacity(1024);
        loop {
            let now = clock.now();
            if now >= end || running.config.stop_time.get().is_some() {
                running.count_delivered(now.min(end))?;
                break;
            }
            running.wake(now)?;
            let mut until = running.next_wake().min(end);
            if running.config.has_programs {
                until = until.min(now + CHECK_INTERVAL);
            }
            let pause = std_duration(until.saturating_since(clock.now()));
            let polled = running.poll.poll(&mut events, Some(pause));
            clock.update();
            match polled {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                polled => polled.context(|| "epoll".to_owned())?,
            }
            for event in &events {
                match PolledSocket::from_token(event.token()) {
                    PolledSocket::Listener(side) => running.accept(&listeners[side])?,
                    PolledSocket::OwnEcnListener(side) => {
                        running.accept(own_ecn_listeners[side].as_ref().expect("it is polled"))?;
                    }
                    PolledSocket::Receiver(side) => running.receive(&receivers[side])?,
                    PolledSocket::Flow(slot, end) => {
                        running.update(slot, end, event);
                        running.on_ready(slot)?;
                    }
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
            retransmissions_before: 0,
            exit_code: None,
        })
    }
}

impl RunningSources {
    /// Takes the next action of source `number`, and schedules it.
    fn plan(&mut self, number: u8) {
        let place = usize::from(number);
        let next = match &mut self.sources[place] {
            Source::Connections(source) => source.next().map(NextAction::Connection),
            Source::Datagrams(source) => source.next().map(NextAction::Datagram),
            Source::VideoCalls(_) => unreachable!("a request with video calls is refused"),
        };
        let at = match &next {
            Some(NextAction::Connection(vector)) => Some(vector.start),
            Some(NextAction::Datagram(datagram)) => Some(datagram.at),
            None => None,
        };
        self.next_actions[place] = next;
        self.wakes.extend(at.map(|at| Reverse((at, WakeUp::Source(number)))));
    }

    fn next_wake(&self) -> Time {
        self.wakes.peek().map_or(Time::MAX, |&Reverse((at, _))| at)
    }

    /// Performs the actions that are due by `now`.
    fn wake(&mut self, now: Time) -> Result<(), Error> {
        while let Some(&Reverse((at, wake))) = self.wakes.peek().filter(|Reverse((at, _))| *at <= now) {
            self.wakes.pop();
            let lateness = now.saturating_since(at).as_micros();
            self.wake_lateness_us.record(lateness).expect("the histogram resizes itself");
            match wake {
                WakeUp::Flow { slot, serial } => self.resume(slot, serial)?,
                WakeUp::Record => self.record_flows(at)?,
                WakeUp::Count => {
                    self.count_delivered(at)?;
                    self.wakes.push(Reverse((at + STEP, WakeUp::Count)));
                }
                WakeUp::Source(number) => {
                    let next = self.next_actions[usize::from(number)].take();
                    self.plan(number);
                    match next.expect("a source is due when something was planned") {
                        NextAction::Connection(vector) => self.begin(number, &vector)?,
                        NextAction::Datagram(datagram) => self.send(number, &datagram)?,
                    }
                }
            }
        }
        Ok(())
    }

    fn send_event(&self, event: SideEvent) {
        self.config.event_queue.push(event);
    }
}
