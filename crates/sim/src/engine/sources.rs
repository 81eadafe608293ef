//! Traffic beside the web users: when sources open connections and send datagrams, and what of it arrives.

mod datagrams;

use aqmlab_tcp::{Flags, Sender};
use aqmlab_units::Time;
use aqmlab_workload::sources::{
    Datagram, Source, Vector, VectorSource, VideoCalls, VideoQuality, Viewer, Watched,
};

pub(super) use self::datagrams::{Datagrams, as_sent};
use super::applications::Flow;
use super::connections::PacketFates;
use super::observer::Observer;
use super::recorder::Recorder;
use super::{ControlEvent, Engine, Event};
use crate::link::Link;
use crate::packet::{Owner, Packet};
use crate::spec::{SourceSpec, Spec};
use crate::summary::{LimitedByPercent, PacketSummary, ResponseTimeMs, SourceSummary, Window, per};

/// The datagrams of each source of `spec` in the run `seed`.
pub(super) fn datagrams(spec: &Spec, seed: u64) -> Vec<Datagrams> {
    let datagrams = |(number, source): (u32, &SourceSpec)| {
        let receivers = source.config.receivers(number, &spec.users.rtt, seed);
        Datagrams::new(receivers, source.ecn.unwrap_or_default())
    };
    (0..).zip(&spec.sources).map(datagrams).collect()
}

/// The sources of an experiment, and how much of their traffic has arrived.
#[derive(Debug)]
pub(super) struct Sources {
    all: Vec<Source>,
    /// The next action of each source.
    next: Vec<Option<Next>>,
    goodput: Vec<Goodput>,
    /// The fates of each owner's packets at the start of the measured window.
    packets_before: Vec<PacketFates>,
}

#[derive(Debug)]
enum Next {
    Connection(Vector),
    Datagram(Datagram),
    /// Packets of video calls may be due at this time.
    VideoCalls(Time),
}

/// The delivered data of a source.
#[derive(Debug)]
struct Goodput {
    /// Bytes of connections that are over, since the start of the run.
    ended: u64,
    /// Bytes of all connections before the measured window.
    before: u64,
    datagrams: Datagrams,
    /// The viewers of videos, by flow.
    viewers: Vec<Viewer>,
}

impl Sources {
    /// `datagrams` are those of each source. The measured window begins at `window_start`.
    pub(super) fn new(mut sources: Vec<Source>, datagrams: Vec<Datagrams>, window_start: Time) -> Sources {
        for source in &mut sources {
            if let Source::VideoCalls(calls) = source {
                calls.measure_from(window_start);
            }
        }
        let goodput = |datagrams| Goodput { ended: 0, before: 0, datagrams, viewers: Vec::new() };
        Sources {
            next: sources.iter().map(|_| None).collect(),
            goodput: datagrams.into_iter().map(goodput).collect(),
            packets_before: vec![PacketFates::default(); 1 + sources.len()],
            all: sources,
        }
    }

    pub(super) fn numbers(&self) -> std::ops::Range<u8> {
        0..u8::try_from(self.all.len()).expect("the spec bounds the number of sources")
    }

    /// Plans the next action of source `number`, and returns its time if there is one.
    fn plan(&mut self, number: u8) -> Option<Time> {
        let next = match &mut self.all[usize::from(number)] {
            Source::Connections(source) => source.next().map(Next::Connection),
            Source::Datagrams(source) => source.next().map(Next::Datagram),
            Source::VideoCalls(calls) => calls.next_time().map(Next::VideoCalls),
        };
        let at = match &next {
            Some(Next::Connection(vector)) => Some(vector.start),
            Some(Next::Datagram(datagram)) => Some(datagram.at),
            Some(Next::VideoCalls(at)) => Some(*at),
            None => None,
        };
        self.next[usize::from(number)] = next;
        at
    }

    /// Source `number`, which has connections.
    pub(super) fn of_vectors(&self, number: u8) -> &VectorSource {
        match &self.all[usize::from(number)] {
            Source::Connections(source) => source,
            Source::Datagrams(_) | Source::VideoCalls(_) => unreachable!("flows are connections"),
        }
    }

    /// The calls of source `number`, if it has video calls.
    fn video_calls(&mut self, number: usize) -> Option<&mut VideoCalls> {
        match &mut self.all[number] {
            Source::VideoCalls(calls) => Some(calls),
            _ => None,
        }
    }

    /// Adds bytes that arrived over a closed connection of source `number`.
    pub(super) fn delivered(&mut self, number: u8, bytes: u64) {
        self.goodput[usize::from(number)].ended += bytes;
    }

    /// Records what the viewer of a flow has seen.
    pub(super) fn watched(&mut self, number: u8, flow: u64, watched: &Watched, is_measured: bool) {
        add_to_viewers(&mut self.goodput[usize::from(number)].viewers, flow, watched, is_measured);
    }

    /// Returns the results of each source in the measured window so far. `delivered`: bytes of each that have arrived in order
    /// since the start of the run; `packets`: the fates of each owner's packets.
    fn summaries(
        &self,
        spec: &[SourceSpec],
        recorder: &Recorder,
        window: &Window,
        delivered: &[u64],
        packets: &[PacketFates],
    ) -> Vec<SourceSummary> {
        let summary = |(number, (source, goodput)): (u8, (&SourceSpec, &Goodput))| {
            let owner = Owner::source(number);
            let came = WindowTotals {
                bytes: delivered[usize::from(number)] - goodput.before,
                connections: self.sent_and_lost(owner, packets),
                datagrams: &goodput.datagrams,
            };
            source_summary(source, owner, &came, recorder, window)
        };
        self.numbers().zip(spec.iter().zip(&self.goodput)).map(summary).collect()
    }

    /// Packets of `owner`'s connections that were sent, and that were lost, in the measured window so far.
    fn sent_and_lost(&self, owner: Owner, packets: &[PacketFates]) -> (u64, u64) {
        let (now, before) = (packets[owner.index()], self.packets_before[owner.index()]);
        (now.sent() - before.sent(), now.lost - before.lost)
    }

    /// Datagrams in the network.
    pub(super) fn datagrams_on_the_way(&self) -> u64 {
        self.goodput.iter().map(|goodput| goodput.datagrams.on_the_way).sum()
    }
}

/// The totals of a source's traffic in the measured window.
pub(super) struct WindowTotals<'a> {
    /// Bytes that have arrived in order over its connections.
    pub(super) bytes: u64,
    /// Packets of these that were sent, and that were lost.
    pub(super) connections: (u64, u64),
    pub(super) datagrams: &'a Datagrams,
}

/// Adds a report to the viewer of flow `flow`.
fn add_to_viewers(viewers: &mut Vec<Viewer>, flow: u64, watched: &Watched, is_measured: bool) {
    let flow = usize::try_from(flow).expect("the ranges bound the flows");
    if viewers.len() <= flow {
        viewers.resize(flow + 1, Viewer::default());
    }
    viewers[flow].add(watched, is_measured);
}

/// It in one row.
pub(super) fn source_summary(
    source: &SourceSpec,
    owner: Owner,
    came: &WindowTotals<'_>,
    recorder: &Recorder,
    window: &Window,
) -> SourceSummary {
    let (config, account) = (&source.config, recorder.account(owner));
    let bytes = came.bytes + came.datagrams.delivered_bytes;
    let is_datagrams = config.datagrams().is_some();
    let (sent, lost) = if is_datagrams { came.datagrams.sent_and_lost() } else { came.connections };
    SourceSummary {
        name: config.name().to_owned(),
        kind: config.kind(),
        goodput_mbps: per(8e-6 * bytes as f64, window.seconds()),
        completed: account.completed,
        aborted: account.aborted,
        response_time_ms: ResponseTimeMs::new(&account.times),
        response_time_ms_max: (account.completed > 0).then(|| account.times.longest().as_millis_f64()),
        packets: PacketSummary::new(sent, lost, window, owner),
        datagrams: is_datagrams.then(|| came.datagrams.summary()),
        calls: came.datagrams.calls(),
        games: came.datagrams.games(),
        video_calls: None,
        videos: None,
        limited_by_percent: LimitedByPercent::default(),
    }
}

impl<S: Sender, L: Link<O::PacketTag>, O: Observer<S>> Engine<S, L, O> {
    /// Find out when source `number` does something next.
    pub(super) fn schedule_source(&mut self, number: u8) {
        if let Some(at) = self.sources.plan(number) {
            self.wheel.push(at, Event::Control(ControlEvent::Source(number)));
        }
    }

    /// Source `number` does what was planned.
    #[inline(never)]
    pub(super) fn run_source(&mut self, number: u8) {
        if self.sources.video_calls(usize::from(number)).is_some() {
            return self.run_video_calls(number);
        }
        let next = self.sources.next[usize::from(number)].take();
        self.schedule_source(number);
        match next {
            Some(Next::Connection(vector)) => {
                let state = self.sources.of_vectors(number).open(&vector, self.now);
                self.begin_flow(Flow::new(number, &vector, state));
            }
            Some(Next::Datagram(datagram)) => self.send_datagram(number, &datagram),
            Some(Next::VideoCalls(_)) | None => unreachable!("a source runs when something was planned"),
        }
    }

    /// The video calls of source `number` do what is due now, and plan what is next. A plan that an earlier one has replaced
    /// does nothing.
    fn run_video_calls(&mut self, number: u8) {
        match self.sources.next[usize::from(number)] {
            Some(Next::VideoCalls(planned)) if planned <= self.now => {}
            _ => return,
        }
        while let Some(datagram) =
            self.sources.video_calls(usize::from(number)).and_then(|calls| calls.next_datagram(self.now))
        {
            self.send_datagram(number, &datagram);
        }
        self.schedule_source(number);
    }

    fn send_datagram(&mut self, number: u8, datagram: &Datagram) {
        let datagrams = &mut self.sources.goodput[usize::from(number)].datagrams;
        let packet = datagrams.send(number, datagram, self.window_start);
        let at_link = self.hosts.send_datagram(number, datagram, datagram.size, self.now);
        if at_link > self.now {
            self.wheel.push(at_link, Event::AtLink(packet));
        } else {
            self.reach_link(&packet);
        }
    }

    #[inline(never)]
    pub(super) fn receive_datagram(&mut self, packet: Packet<O::PacketTag>) {
        let (number, sent) = (packet.to.source(), as_sent(&packet));
        self.sources.goodput[number].datagrams.receive(&sent, self.now, self.window_start);
        let Some(calls) = self.sources.video_calls(number) else { return };
        calls.receive(&sent, packet.segment.flags.contains(Flags::CE), self.now);
        let next = calls.next_time();
        let planned = match self.sources.next[number] {
            Some(Next::VideoCalls(at)) => at,
            _ => Time::MAX,
        };
        if let Some(at) = next.filter(|&at| at < planned) {
            self.sources.next[number] = Some(Next::VideoCalls(at));
            let number = u8::try_from(number).expect("the spec bounds the number of sources");
            self.wheel.push(at, Event::Control(ControlEvent::Source(number)));
        }
    }

    #[inline(never)]
    pub(super) fn lose_datagram(&mut self, packet: &Packet<O::PacketTag>) {
        let (number, sent) = (packet.to.source(), as_sent(packet));
        self.sources.goodput[number].datagrams.lose(&sent, self.window_start);
        if let Some(calls) = self.sources.video_calls(number) {
            calls.lose(&sent);
        }
    }

    /// Record that the network has made a second copy of a datagram.
    pub(super) fn copied_datagram(&mut self, packet: &Packet<O::PacketTag>) {
        let datagrams = &mut self.sources.goodput[packet.to.source()].datagrams;
        datagrams.copy(as_sent(packet).at, self.window_start);
    }

    /// Bytes of each source that have arrived in order since the start of the run.
    fn delivered_by_source(&self) -> Vec<u64> {
        let mut delivered: Vec<u64> = self.sources.goodput.iter().map(|goodput| goodput.ended).collect();
        for flow in self.flows.iter() {
            delivered[usize::from(flow.source)] += flow.delivered(&self.connections);
        }
        delivered
    }

    /// The measured window begins.
    pub(super) fn note_delivered(&mut self) {
        let delivered = self.delivered_by_source();
        for (goodput, before) in self.sources.goodput.iter_mut().zip(delivered) {
            goodput.before = before;
        }
        self.sources.packets_before = self.connections.packets();
    }

    /// Returns the results of the web users' packets, if there are sources too.
    pub(super) fn users_summary(&self, window: &Window) -> Option<PacketSummary> {
        let has_both = self.spec.users.per_side > 0 && !self.spec.sources.is_empty();
        let (sent, lost) = self.sources.sent_and_lost(Owner::USERS, &self.connections.packets());
        has_both.then(|| PacketSummary::new(sent, lost, window, Owner::USERS))
    }

    /// Returns the results of each source in the measured window so far.
    pub(super) fn source_summaries(&mut self, window: &Window) -> Vec<SourceSummary> {
        let (delivered, packets) = (self.delivered_by_source(), self.connections.packets());
        let mut summaries =
            self.sources.summaries(&self.spec.sources, &self.recorder, window, &delivered, &packets);
        for (number, summary) in self.sources.numbers().zip(&mut summaries) {
            summary.limited_by_percent = self.limits.percent(Owner::source(number));
            summary.videos = self.videos(number);
            let calls = self.sources.video_calls(usize::from(number));
            summary.video_calls = calls.map(|calls| calls.quality(self.now));
        }
        summaries
    }

    /// Returns the quality of the videos of source `number`, if it has videos.
    fn videos(&self, number: u8) -> Option<VideoQuality> {
        let mut viewers = self.sources.goodput[usize::from(number)].viewers.clone();
        for flow in self.flows.iter().filter(|flow| flow.source == number) {
            let (flow, watched) = flow.unreported(self.now)?;
            add_to_viewers(&mut viewers, flow, &watched, self.now > self.window_start);
        }
        (!viewers.is_empty()).then(|| VideoQuality::new(&viewers))
    }
}
