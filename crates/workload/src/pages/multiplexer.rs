//! The order in which a server sends the bytes of concurrent responses over one connection.
//!
//! A server sends the most urgent response first, and takes turns of one frame among those of the same urgency that are
//! incremental (RFC 9218). It decides when TCP takes the bytes. Nothing has to happen at that time here: up to the next
//! arrival of a request the order is determined, and only the ends of responses matter. So the order is worked out when a
//! request arrives, up to what TCP has sent by then, and when the client asks for the end of the next response.

use std::collections::VecDeque;

use super::page::{Priority, ResourceId};

/// The most bytes of a frame, and of a TLS record (RFC 9113 and RFC 8446). Incremental responses take turns of a frame.
pub const FRAME: u32 = 16_384;

/// Responses of one connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Multiplexer {
    /// Bytes given to TCP so far.
    written: u32,
    /// Bytes whose order is fixed.
    fixed: u32,
    /// The ends of responses before that, whose arrival is not reported.
    ends: VecDeque<(u32, ResourceId)>,
    /// The responses after that, in the order in which they get their turns.
    streams: VecDeque<Response>,
}

/// A response that is not sent entirely.
#[derive(Clone, Copy, Debug)]
struct Response {
    resource: ResourceId,
    priority: Priority,
    left: u32,
}

impl Multiplexer {
    /// Send `size` bytes of `resource` too, from now on, when TCP has sent `sent` bytes.
    pub(crate) fn add(&mut self, resource: ResourceId, size: u32, priority: Priority, sent: u32) {
        self.fix(sent);
        self.written += size;
        self.streams.push_back(Response { resource, priority, left: size });
    }

    /// The bytes of the connection after which the next response is complete, unless others are added.
    pub(crate) fn next_end(&self) -> Option<u32> {
        if let Some(&(end, _)) = self.ends.front() {
            return Some(end);
        }
        // With equal urgency the one with the fewest turns left ends first, after as many turns of each other.
        let mut ahead = self.clone();
        while ahead.ends.is_empty() && !ahead.streams.is_empty() {
            ahead.send_frame();
        }
        ahead.ends.front().map(|&(end, _)| end)
    }

    /// Take a response that is complete when `received` bytes have arrived.
    pub(crate) fn take_complete(&mut self, received: u32) -> Option<ResourceId> {
        self.fix(received);
        let &(end, resource) = self.ends.front()?;
        (end <= received).then(|| {
            self.ends.pop_front();
            resource
        })
    }

    /// Fix the order of the first `bytes` bytes. A frame that has begun is completed.
    fn fix(&mut self, bytes: u32) {
        while self.fixed < bytes.min(self.written) {
            self.send_frame();
        }
    }

    /// Send the next frame; of a response that is not incremental, all the rest.
    fn send_frame(&mut self) {
        let most_urgent = (0..self.streams.len()).min_by_key(|&place| self.streams[place].priority.urgency);
        let Some(mut response) = most_urgent.and_then(|place| self.streams.remove(place)) else { return };
        let bytes = if response.priority.incremental { response.left.min(FRAME) } else { response.left };
        response.left -= bytes;
        self.fixed += bytes;
        if response.left == 0 {
            self.ends.push_back((self.fixed, response.resource));
        } else {
            self.streams.push_back(response);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURNS: Priority = Priority { urgency: 3, incremental: true };
    const WHOLE: Priority = Priority { urgency: 3, incremental: false };
    const URGENT: Priority = Priority { urgency: 0, incremental: false };

    /// The ends of all responses in order.
    fn ends(mut multiplexer: Multiplexer) -> Vec<(u32, ResourceId)> {
        let mut ends = Vec::new();
        while let Some(end) = multiplexer.next_end() {
            ends.push((end, multiplexer.take_complete(end).expect("it is complete")));
        }
        ends
    }

    #[test]
    fn incremental_responses_take_turns_and_others_do_not() {
        let mut turns = Multiplexer::default();
        turns.add(1, 3 * FRAME, TURNS, 0);
        turns.add(2, FRAME + 1, TURNS, 0);
        assert_eq!(ends(turns), [(3 * FRAME + 1, 2), (4 * FRAME + 1, 1)]);
        let mut whole = Multiplexer::default();
        whole.add(1, 3 * FRAME, WHOLE, 0);
        whole.add(2, FRAME + 1, WHOLE, 0);
        assert_eq!(ends(whole), [(3 * FRAME, 1), (4 * FRAME + 1, 2)]);
    }

    #[test]
    fn an_urgent_response_overtakes_what_is_not_sent() {
        let mut multiplexer = Multiplexer::default();
        multiplexer.add(1, 10 * FRAME, TURNS, 0);
        assert_eq!(multiplexer.next_end(), Some(10 * FRAME));
        // TCP has sent two frames and a part of the third, which is completed.
        multiplexer.add(2, 100, URGENT, 2 * FRAME + 1);
        assert_eq!(multiplexer.take_complete(3 * FRAME + 99), None);
        assert_eq!(ends(multiplexer), [(3 * FRAME + 100, 2), (10 * FRAME + 100, 1)]);
    }

    #[test]
    fn what_tcp_has_sent_keeps_its_order() {
        let mut multiplexer = Multiplexer::default();
        multiplexer.add(1, FRAME, TURNS, 0);
        multiplexer.add(2, FRAME, URGENT, FRAME);
        assert_eq!(ends(multiplexer), [(FRAME, 1), (2 * FRAME, 2)]);
    }
}
