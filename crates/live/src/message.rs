//! Messages of a guest's program to the engine in the kernel's process, written to `/dev/aqmlab`.
//!
//! A message is a sequence of 64-bit words in native byte order, of which the first says which message it is; both ends are the
//! same build on the same machine.

use aqmlab_sim::{SourceConnection, SourceFlow, StackId, UserConnection};
use aqmlab_units::{Bytes, Duration, Time};
use aqmlab_workload::Completed;

use crate::mix::Offers;
use crate::network::tcp_info::TcpInfo;
use crate::packet::addresses::BrowserEnd;
use crate::packet::datagram::Stamp;
use crate::router::event_queue::{FlowReading, SideEvent};

/// A message to the engine.
#[derive(Debug)]
pub(crate) enum Message {
    /// The run starts: its clock is at zero.
    Start,
    /// An event of a side.
    Event(SideEvent),
    /// A program has written this to its output.
    Output(Vec<u8>),
    /// The run has advanced by a step.
    Step,
    /// The run has ended. The text is JSON: what the guest knows about it.
    Finish(String),
}

impl Message {
    /// Returns the words of the message.
    pub(crate) fn encode(&self) -> Vec<u64> {
        match self {
            Message::Start => vec![0],
            Message::Output(bytes) => encode_bytes(1, bytes),
            Message::Step => vec![2],
            Message::Finish(text) => encode_bytes(3, text.as_bytes()),
            Message::Event(event) => encode_event(event),
        }
    }

    /// Reads the message at the beginning of `words`, which then begin after it. Returns `None` for anything else.
    pub(crate) fn decode(words: &mut Words<'_>) -> Option<Message> {
        Some(match words.next()? {
            0 => Message::Start,
            1 => Message::Output(words.text()?),
            2 => Message::Step,
            3 => Message::Finish(String::from_utf8(words.text()?).ok()?),
            number => Message::Event(decode_event(number, words)?),
        })
    }
}

/// Words that are still to be read.
pub(crate) struct Words<'a>(pub(crate) &'a [u8]);

impl Words<'_> {
    fn next(&mut self) -> Option<u64> {
        let (word, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_ne_bytes(*word))
    }

    /// Reads bytes, which fill whole words.
    fn text(&mut self) -> Option<Vec<u8>> {
        let length = usize::try_from(self.next()?).ok()?;
        let (words, rest) = self.0.split_at_checked(length.next_multiple_of(8))?;
        self.0 = rest;
        Some(words[..length].to_vec())
    }

    fn time(&mut self) -> Option<Time> {
        self.next().map(Time::from_nanos)
    }

    fn small<T: TryFrom<u64>>(&mut self) -> Option<T> {
        T::try_from(self.next()?).ok()
    }

    fn end(&mut self) -> Option<BrowserEnd> {
        Some(BrowserEnd { user: self.small()?, port: self.small()? })
    }

    fn duration(&mut self) -> Option<Duration> {
        self.next().map(Duration::from_nanos)
    }

    fn bytes(&mut self) -> Option<Bytes> {
        self.next().map(Bytes::new)
    }

    /// Windows of zero bytes do not exist: zero means that there is no bound.
    fn offers(&mut self) -> Option<Offers> {
        let mut one = || self.small().map(|most: u16| (most > 0).then_some(most));
        Some([one()?, one()?])
    }

    fn exchange(&mut self) -> Option<Completed> {
        Some(Completed {
            request: self.bytes()?,
            response: self.bytes()?,
            started: self.time()?,
            response_time: self.duration()?,
            first: self.next()? == 1,
            persistent: self.next()? == 1,
            connection: self.next()?,
            top_level: self.next()? == 1,
        })
    }
}

fn encode_bytes(number: u64, bytes: &[u8]) -> Vec<u64> {
    [&[number][..], &encode_text(bytes)].concat()
}

/// Returns bytes as their number and words.
fn encode_text(bytes: &[u8]) -> Vec<u64> {
    let words = bytes.chunks(8).map(|part| {
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        u64::from_ne_bytes(word)
    });
    std::iter::once(bytes.len() as u64).chain(words).collect()
}

fn encode_offers(offers: Offers) -> [u64; 2] {
    offers.map(|most| most.unwrap_or(0).into())
}

fn encode_exchange(exchange: &Completed) -> [u64; 8] {
    let &Completed { request, response, started, response_time, first, persistent, connection, top_level } =
        exchange;
    [
        request.get(),
        response.get(),
        started.as_nanos(),
        response_time.as_nanos(),
        first.into(),
        persistent.into(),
        connection,
        top_level.into(),
    ]
}

fn encode_event(event: &SideEvent) -> Vec<u64> {
    let end = |end: BrowserEnd| [u64::from(end.user), end.port.into()];
    match event {
        SideEvent::Opening { browser, connection, offers } => {
            let &UserConnection { user, number, min_rtt } = connection;
            let connection = [user.into(), number, min_rtt.as_nanos()];
            [&[4][..], &end(*browser), &connection, &encode_offers(*offers)].concat()
        }
        SideEvent::Closed { browser } => [&[5][..], &end(*browser)].concat(),
        SideEvent::Completed { user, exchange, at } => {
            [&[6, u64::from(*user)][..], &encode_exchange(exchange), &[at.as_nanos()]].concat()
        }
        SideEvent::Aborted { at } => vec![7, at.as_nanos()],
        SideEvent::OpeningOfSource { end: browser, connection, offers } => {
            let &SourceConnection { source, side, min_rtt } = connection;
            let connection = [source.into(), side.into(), min_rtt.as_nanos()];
            [&[8][..], &end(*browser), &connection, &encode_offers(*offers)].concat()
        }
        SideEvent::Delivered { source, bytes, at } => {
            vec![9, u64::from(*source), bytes.get(), at.as_nanos()]
        }
        SideEvent::Received { stamp, size, at } => {
            let &Stamp { source, side, flow, sent_at } = stamp;
            vec![10, source.into(), side.into(), flow.into(), sent_at.as_nanos(), size.get(), at.as_nanos()]
        }
        SideEvent::CompletedOfSource { flow, exchange, at } => {
            let &SourceFlow { source, number, side } = flow;
            let flow = [11, source.into(), number, side.into()];
            [&flow[..], &encode_exchange(exchange), &[at.as_nanos()]].concat()
        }
        SideEvent::AbortedOfSource { source, at } => vec![12, u64::from(*source), at.as_nanos()],
        SideEvent::CommandEnded { at } => vec![13, at.as_nanos()],
        SideEvent::FlowState { reading, at } => {
            let FlowReading { flow, connection, is_server, stack, info } = reading;
            let &SourceFlow { source, number, side } = flow;
            let stack = stack.index() as u64;
            let numbers = [source.into(), number, side.into(), *connection, (*is_server).into(), stack];
            let (info, control) = (encode_bytes(at.as_nanos(), &info.info), encode_text(&info.control));
            [&[14][..], &numbers, &info, &control].concat()
        }
    }
}

fn decode_event(number: u64, words: &mut Words<'_>) -> Option<SideEvent> {
    Some(match number {
        4 => SideEvent::Opening {
            browser: words.end()?,
            connection: UserConnection {
                user: words.small()?,
                number: words.next()?,
                min_rtt: words.duration()?,
            },
            offers: words.offers()?,
        },
        5 => SideEvent::Closed { browser: words.end()? },
        6 => SideEvent::Completed { user: words.small()?, exchange: words.exchange()?, at: words.time()? },
        7 => SideEvent::Aborted { at: words.time()? },
        8 => SideEvent::OpeningOfSource {
            end: words.end()?,
            connection: SourceConnection {
                source: words.small()?,
                side: words.small()?,
                min_rtt: words.duration()?,
            },
            offers: words.offers()?,
        },
        9 => SideEvent::Delivered { source: words.small()?, bytes: words.bytes()?, at: words.time()? },
        10 => SideEvent::Received {
            stamp: Stamp {
                source: words.small()?,
                side: words.small()?,
                flow: words.small()?,
                sent_at: words.time()?,
            },
            size: words.bytes()?,
            at: words.time()?,
        },
        11 => SideEvent::CompletedOfSource {
            flow: SourceFlow { source: words.small()?, number: words.next()?, side: words.small()? },
            exchange: words.exchange()?,
            at: words.time()?,
        },
        12 => SideEvent::AbortedOfSource { source: words.small()?, at: words.time()? },
        13 => SideEvent::CommandEnded { at: words.time()? },
        14 => {
            let flow = SourceFlow { source: words.small()?, number: words.next()?, side: words.small()? };
            let (connection, is_server) = (words.next()?, words.next()? == 1);
            let stack = StackId::new(words.small()?);
            let at = words.time()?;
            let info = TcpInfo { info: words.text()?, control: words.text()? };
            SideEvent::FlowState { reading: FlowReading { flow, connection, is_server, stack, info }, at }
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange() -> Completed {
        Completed {
            request: Bytes::new(300),
            response: Bytes::new(1 << 33),
            started: Time::from_nanos(1),
            response_time: Duration::from_nanos(2),
            first: true,
            persistent: false,
            connection: 7,
            top_level: true,
        }
    }

    fn messages() -> Vec<Message> {
        let at = Time::from_nanos(123_456_789_012);
        let browser = BrowserEnd { user: 5, port: 1024 };
        let min_rtt = Duration::from_nanos(40_000_001);
        let offers = [Some(16_384), None];
        let exchange = exchange();
        let events = [
            SideEvent::Opening {
                browser,
                connection: UserConnection { user: 5, number: 9, min_rtt },
                offers,
            },
            SideEvent::Closed { browser },
            SideEvent::Completed { user: 5, exchange, at },
            SideEvent::Aborted { at },
            SideEvent::OpeningOfSource {
                end: browser,
                connection: SourceConnection { source: 3, side: 1, min_rtt },
                offers,
            },
            SideEvent::Delivered { source: 3, bytes: Bytes::new(1448), at },
            SideEvent::Received {
                stamp: Stamp { source: 3, side: 1, flow: 8, sent_at: at },
                size: Bytes::new(100),
                at,
            },
            SideEvent::CompletedOfSource {
                flow: SourceFlow { source: 3, number: 1 << 40, side: 1 },
                exchange,
                at,
            },
            SideEvent::AbortedOfSource { source: 3, at },
            SideEvent::CommandEnded { at },
            SideEvent::FlowState {
                reading: FlowReading {
                    flow: SourceFlow { source: 3, number: 9, side: 1 },
                    connection: 2,
                    is_server: true,
                    stack: StackId::new(1),
                    info: TcpInfo { info: vec![1; 232], control: vec![2; 20] },
                },
                at,
            },
        ];
        let others = [
            Message::Start,
            Message::Output(b"nine\0byte".to_vec()),
            Message::Step,
            Message::Finish("{\"é\": 1}".into()),
        ];
        events.into_iter().map(Message::Event).chain(others).collect()
    }

    fn bytes(messages: &[Message]) -> Vec<u8> {
        messages.iter().flat_map(Message::encode).flat_map(u64::to_ne_bytes).collect()
    }

    #[test]
    fn messages_are_read_as_they_were_written() {
        let written = messages();
        let bytes = bytes(&written);
        let mut words = Words(&bytes);
        let read: Vec<_> = std::iter::from_fn(|| Message::decode(&mut words)).collect();
        assert_eq!(format!("{read:?}"), format!("{written:?}"));
        assert!(words.0.is_empty());
    }

    #[test]
    fn a_message_cut_short_is_refused() {
        for message in messages() {
            let bytes = bytes(&[message]);
            for length in 0..bytes.len() / 8 {
                assert!(Message::decode(&mut Words(&bytes[..8 * length])).is_none());
            }
        }
    }
}
