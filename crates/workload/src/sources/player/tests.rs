//! Players over networks of one connection, without TCP.

mod playback;
mod sabre;

use super::*;

/// A network that serves one player.
trait Network {
    /// The arrival of the first byte of a response, requested now.
    fn first_byte(&mut self, now: Time) -> Time;

    /// The arrival of the last one, as of the first.
    fn last_byte(&mut self, now: Time, size: Bytes) -> Time;

    /// Let time pass without a request.
    fn idle(&mut self, now: Time, pause: Duration) -> Time {
        let _ = self;
        now + pause
    }
}

/// Play a video to its end, and return the rate of each segment.
fn play(video: &Video, network: &mut impl Network, mut see: impl FnMut(&Watched)) -> Vec<BitRate> {
    let (mut now, mut rates) = (Time::ZERO, Vec::new());
    let mut player = Player::new(now);
    let mut events = vec![VectorEvent::Opened];
    let mut on_its_way = Bytes::ZERO;
    while let Some(event) = events.pop() {
        let mut actions = Vec::new();
        player.on_event(video, event, now, &mut actions);
        for action in actions {
            match action {
                VectorAction::Write(size) => {
                    assert_eq!(player.awaits_at_acceptor(), size);
                    events.push(VectorEvent::Delivered(size));
                }
                VectorAction::Answer(size) => {
                    assert_eq!(player.awaits_at_initiator(), Bytes::new(1));
                    on_its_way = size;
                    now = network.first_byte(now);
                    events.push(VectorEvent::Received(Bytes::new(1)));
                }
                VectorAction::Sleep(pause) => {
                    now = network.idle(now, pause);
                    events.push(VectorEvent::Woken);
                }
                VectorAction::Watched(watched) => {
                    rates.push(watched.segment.expect("a segment"));
                    see(&watched);
                }
                VectorAction::Completed(_) | VectorAction::Close => {}
                VectorAction::Aborted | VectorAction::Open => panic!("nothing is lost"),
                VectorAction::Withdraw(_) => panic!("a player keeps nothing"),
            }
        }
        if event == VectorEvent::Received(Bytes::new(1)) && on_its_way > Bytes::ZERO {
            let rest = on_its_way - Bytes::new(1);
            assert_eq!(player.awaits_at_initiator(), rest);
            now = network.last_byte(now, on_its_way);
            on_its_way = Bytes::ZERO;
            events.push(VectorEvent::Received(rest));
        }
    }
    assert!(player.is_over());
    rates
}
