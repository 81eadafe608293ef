//! A conversation with one endpoint, in the spirit of packetdrill.
//!
//! [`Conversation::at`] moves the clock, [`Conversation::gets`] gives the endpoint a segment, and
//! [`Conversation::sends`] says exactly what it has sent in answer. A segment that is sent but not expected, or sent
//! at another time than expected, fails the test at the next step or at its end.

use std::mem::take;

use aqmlab_tcp::options::{AccEcnOrder, SynOptions};
use aqmlab_tcp::{
    CongestionControl, Endpoint, Event, Flags, HeaderOptions, LimitedBy, Options, Profile, Segment, Sender,
    Seq, State, WindowScale,
};
use aqmlab_units::{Duration, Time};

/// The segment size of most conversations: numbers that are easy to read.
pub(crate) const MSS: u16 = 1000;

/// The end of the handshake of [`Conversation::client`] and [`Conversation::server`], in ms; their round trip.
pub(crate) const OPENED: u64 = 100;

/// FreeBSD 4.5 with segments of [`MSS`] bytes and windows large enough not to matter.
pub(crate) fn profile() -> Profile {
    Profile { mss: MSS, receive_window: 60_000, ..Profile::freebsd_4_5() }
}

/// The same with room for ten segments from the start: loss and marks without slow start before them.
pub(crate) fn wide() -> Profile {
    Profile { initial_window: 10, ..profile() }
}

pub(crate) fn syn() -> Segment {
    Segment { flags: Flags::SYN, ..Segment::default() }
}

pub(crate) fn syn_ack() -> Segment {
    Segment { ack: Seq::new(1), flags: Flags::SYN | Flags::ACK, ..Segment::default() }
}

/// A bare acknowledgement, from an end that has sent no data, of all up to `ack`.
pub(crate) fn ack(ack: u32) -> Segment {
    Segment { seq: Seq::new(1), ack: Seq::new(ack), flags: Flags::ACK, ..Segment::default() }
}

/// The data `seq..seq + len`, from an end that has received none.
pub(crate) fn data(seq: u32, len: u16) -> Segment {
    Segment { len, ..ack(1).numbered(seq) }
}

/// Full-sized segment number `k`, counted from 1.
pub(crate) fn full(k: u32) -> Segment {
    data(after(k - 1), MSS)
}

/// The number that follows full-sized segment `k`: what acknowledges it.
pub(crate) fn after(k: u32) -> u32 {
    1 + k * u32::from(MSS)
}

/// A SYN and SYN/ACK of RFC 3168.
pub(crate) fn ecn_syn() -> Segment {
    syn().and(Flags::ECE).and(Flags::CWR)
}

pub(crate) fn ecn_syn_ack() -> Segment {
    syn_ack().and(Flags::ECE)
}

/// Full-sized segment `k`, ECN-capable.
pub(crate) fn ect(k: u32) -> Segment {
    full(k).and(Flags::ECT)
}

pub(crate) fn echo(ackno: u32) -> Segment {
    ack(ackno).and(Flags::ECE)
}

pub(crate) fn fin(seq: u32) -> Segment {
    ack(1).numbered(seq).and(Flags::FIN)
}

/// Properties of a segment beyond its kind.
pub(crate) trait Wording {
    fn numbered(self, seq: u32) -> Segment;
    fn acking(self, ack: u32) -> Segment;
    fn and(self, flags: Flags) -> Segment;
}

impl Wording for Segment {
    fn numbered(self, seq: u32) -> Segment {
        Segment { seq: Seq::new(seq), ..self }
    }

    fn acking(self, ack: u32) -> Segment {
        Segment { ack: Seq::new(ack), ..self }
    }

    fn and(self, flags: Flags) -> Segment {
        Segment { flags: self.flags | flags, ..self }
    }
}

/// The vocabulary of scripts: segments to, and expectations of, an endpoint whose segments have options `O`.
pub(crate) trait IntoSegment<O> {
    fn into_segment(self) -> Segment<O>;
}

impl<O: ScriptOptions> IntoSegment<O> for Segment {
    fn into_segment(self) -> Segment<O> {
        let Segment { seq, ack, len, window, flags, options } = self;
        Segment { seq, ack, len, window, flags, options: O::from_scale(options) }
    }
}

impl IntoSegment<Options> for Segment<Options> {
    fn into_segment(self) -> Segment<Options> {
        self
    }
}

/// Options as a trace shows them.
pub(crate) trait ScriptOptions: HeaderOptions {
    /// The same offer as this stack makes it.
    fn from_scale(scale: WindowScale) -> Self;
    fn to_text(&self) -> String;
    /// Does a SYN with them offer window scaling?
    fn scales(&self) -> bool;
}

impl ScriptOptions for WindowScale {
    fn from_scale(scale: WindowScale) -> WindowScale {
        scale
    }

    fn to_text(&self) -> String {
        self.shift().map(|scale| format!(" scale {scale}")).unwrap_or_default()
    }

    fn scales(&self) -> bool {
        self.shift().is_some()
    }
}

impl ScriptOptions for Options {
    fn from_scale(scale: WindowScale) -> Options {
        let syn = SynOptions { mss: MSS, sack_permitted: false, window_scale: scale.shift() };
        if scale.scales() { Options::default().with_syn(syn) } else { Options::default() }
    }

    /// ` sack 2001:3001 ts 100 ecr 0 accecn0 1001 500 1 scale 7 sackok`, what there is of it; an MSS alone is as good as none.
    fn to_text(&self) -> String {
        let sack = self.sack().map(|(from, to)| format!(" sack {}:{}", from.get(), to.get()));
        let timestamps = self.timestamps().map(|both| format!(" ts {} ecr {}", both.value, both.echo));
        let accecn = self.accecn().map(|accecn| {
            let kind = u8::from(accecn.order == AccEcnOrder::Ect1First);
            let fields: Vec<String> = accecn.fields().map(|field| field.to_string()).collect();
            format!(" accecn{kind} {}", fields.join(" "))
        });
        let scale = self.syn().and_then(|syn| syn.window_scale).map(|scale| format!(" scale {scale}"));
        let permitted = self.syn().filter(|syn| syn.sack_permitted).map(|_| " sackok".to_string());
        sack.chain(timestamps).chain(accecn).chain(scale).chain(permitted).collect()
    }

    fn scales(&self) -> bool {
        self.syn().is_some_and(|syn| syn.window_scale.is_some())
    }
}

pub(crate) struct Script<S: Sender> {
    pub(crate) tcp: Endpoint<S>,
    profile: Profile,
    now: Time,
    sent: Vec<Segment<S::Options>>,
    events: Vec<Event>,
    /// By how much windows are shifted.
    scale: u8,
}

impl<S: Sender<Options: ScriptOptions>> Script<S> {
    /// A client that has just called `connect()`, at 0 ms.
    pub(crate) fn connect(profile: Profile) -> Script<S> {
        Script::with(Endpoint::connect(&profile, Time::ZERO), profile)
    }

    /// A server that waits.
    pub(crate) fn listen(profile: Profile) -> Script<S> {
        Script::with(Endpoint::listen(&profile, Time::ZERO), profile)
    }

    /// A client whose connection has been open since [`OPENED`], without ECN.
    pub(crate) fn client(profile: Profile) -> Script<S> {
        let mut tcp = Script::connect(profile);
        tcp.sends([syn()]).at(OPENED).gets(syn_ack()).sends([ack(1)]).tells([Event::Opened]);
        tcp
    }

    /// A server whose connection has been open since [`OPENED`], without ECN.
    pub(crate) fn server(profile: Profile) -> Script<S> {
        let mut tcp = Script::listen(profile);
        tcp.gets(syn()).sends([syn_ack()]).at(OPENED).gets(ack(1)).tells([Event::Opened]);
        tcp
    }

    fn with(tcp: Endpoint<S>, profile: Profile) -> Script<S> {
        profile.check().expect("a sensible profile");
        let mut conversation =
            Script { tcp, profile, now: Time::ZERO, sent: vec![], events: vec![], scale: 0 };
        conversation.drain();
        conversation
    }

    /// It is now `ms`. Timers due by then have expired, each at its own instant.
    pub(crate) fn at(&mut self, ms: u64) -> &mut Self {
        let then = Time::ZERO + Duration::from_millis(ms);
        assert!(self.now <= then, "the script runs backwards to {then}");
        loop {
            self.sends([]);
            self.now = self.tcp.poll_timeout().min(then);
            self.tcp.handle_timeout(self.now, &self.profile);
            self.drain();
            if self.now == then {
                return self;
            }
        }
    }

    /// A segment arrives from the peer, which offers the same window.
    pub(crate) fn gets(&mut self, segment: impl IntoSegment<S::Options>) -> &mut Self {
        let segment = segment.into_segment();
        if segment.options.scales() && self.profile.window_scaling {
            self.scale = 7;
        }
        self.gets_offering(segment, self.window(segment.flags))
    }

    /// The same from a peer that offers `window`.
    pub(crate) fn gets_offering(&mut self, segment: Segment<S::Options>, window: u16) -> &mut Self {
        self.sends([]);
        self.tcp.handle_segment(&Segment { window, ..segment }, self.now, &self.profile);
        self.drain();
        self
    }

    /// The window in a segment with `flags`, in either direction.
    fn window(&self, flags: Flags) -> u16 {
        let scale = if flags.contains(Flags::SYN) { 0 } else { self.scale };
        u16::try_from(self.profile.receive_window >> scale).unwrap_or(u16::MAX)
    }

    /// `count` equal segments arrive; nothing is sent before the last.
    pub(crate) fn gets_times(
        &mut self,
        count: usize,
        segment: impl IntoSegment<S::Options> + Copy,
    ) -> &mut Self {
        for _ in 0..count {
            self.gets(segment);
        }
        self
    }

    /// The application calls `write()`.
    pub(crate) fn writes(&mut self, bytes: u32) -> &mut Self {
        self.sends([]);
        self.tcp.write(bytes);
        self.drain();
        self
    }

    /// The application calls `close()`.
    pub(crate) fn closes(&mut self) -> &mut Self {
        self.sends([]);
        self.tcp.close();
        self.drain();
        self
    }

    /// Exactly these segments were sent since the last step.
    #[track_caller]
    pub(crate) fn sends(&mut self, expected: impl IntoIterator<Item = Segment>) -> &mut Self {
        self.sends_with(expected.into_iter().map(IntoSegment::into_segment))
    }

    /// Exactly these segments with options were sent since the last step.
    #[track_caller]
    pub(crate) fn sends_with(
        &mut self,
        expected: impl IntoIterator<Item = Segment<S::Options>>,
    ) -> &mut Self {
        let sent: Vec<String> = take(&mut self.sent).iter().map(show).collect();
        let expected: Vec<String> = expected.into_iter().map(|segment| show(&segment)).collect();
        assert_eq!(sent, expected, "sent (left) and expected (right) at {}", self.now);
        self
    }

    /// Take the segments sent since the last step, for a test that looks at one thing about them.
    pub(crate) fn takes_sent(&mut self) -> Vec<Segment<S::Options>> {
        take(&mut self.sent)
    }

    /// The application was told exactly this since last asked.
    #[track_caller]
    pub(crate) fn tells(&mut self, expected: impl IntoIterator<Item = Event>) -> &mut Self {
        assert_eq!(take(&mut self.events), expected.into_iter().collect::<Vec<_>>(), "at {}", self.now);
        self
    }

    #[track_caller]
    pub(crate) fn is(&mut self, state: State) -> &mut Self {
        assert_eq!(self.tcp.state(), state, "at {}", self.now);
        self
    }

    /// The slow-start threshold in bytes.
    pub(crate) fn ssthresh(&self) -> u32 {
        self.tcp.congestion().ssthresh()
    }

    /// The congestion window in bytes.
    pub(crate) fn cwnd(&self) -> u32 {
        self.tcp.congestion().cwnd()
    }

    /// The reason why no more data leave.
    pub(crate) fn limited_by(&self) -> LimitedBy {
        self.tcp.limited_by(&self.profile)
    }

    fn drain(&mut self) {
        while let Some(segment) = self.tcp.poll_transmit(self.now, &self.profile) {
            let closed = segment.flags.contains(Flags::RST);
            assert!(closed || segment.window == self.window(segment.flags), "the window stays open");
            self.sent.push(segment);
        }
        self.events.extend(std::iter::from_fn(|| self.tcp.poll_event()));
        assert!(self.now < self.tcp.poll_timeout(), "a timer that has expired runs no more");
    }
}

impl<S: Sender> Drop for Script<S> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert!(self.sent.is_empty(), "sent and not expected: {:?}", self.sent);
        }
    }
}

/// A segment as a trace shows it: `S. 0:0 ack 1`, `. 1:1001 ack 1 ECT`.
fn show<O: ScriptOptions>(segment: &Segment<O>) -> String {
    let names = [
        (Flags::SYN, "S"),
        (Flags::FIN, "F"),
        (Flags::RST, "R"),
        (Flags::ACK, "."),
        (Flags::AE, " AE"),
        (Flags::ECE, " ECE"),
        (Flags::CWR, " CWR"),
        (Flags::ECT, " ECT"),
        (Flags::ECT1, " ECT1"),
        (Flags::CE, " CE"),
    ];
    let set = |&(flag, name): &(Flags, &'static str)| segment.flags.contains(flag).then_some(name);
    let control: String = names[..4].iter().filter_map(set).collect();
    let ecn: String = names[4..].iter().filter_map(set).collect();
    let (first, last) = (segment.seq.get(), (segment.seq + u32::from(segment.len)).get());
    format!("{control} {first}:{last} ack {}{ecn}{}", segment.ack.get(), segment.options.to_text())
}
