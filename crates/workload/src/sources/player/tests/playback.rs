//! Playback over ideal networks: rates, stalls and buffer.

use super::*;

/// A network of one rate by time, in Mbit/s.
struct Ideal<F>(F);

impl<F: Fn(f64) -> f64> Network for Ideal<F> {
    fn first_byte(&mut self, now: Time) -> Time {
        now
    }

    fn last_byte(&mut self, now: Time, size: Bytes) -> Time {
        now + Duration::from_secs_f64(8e-6 * size.as_f64() / self.0(now.as_secs_f64()))
    }
}

fn video(rule: VideoRule, buffer: u64, segments: u64) -> Video {
    Video {
        ladder: [1, 2, 4].map(BitRate::from_mbit_per_sec).to_vec(),
        segment: Duration::from_secs(4),
        sizes: vec![],
        buffer: Duration::from_secs(buffer),
        rule,
        request: Bytes::new(300),
        segments: Some(segments),
    }
}

/// The rates in Mbit/s of the segments of a video over a network of this rate by time, and the total watched.
fn play(video: &Video, mbit: impl Fn(f64) -> f64) -> (Vec<u64>, Watched) {
    let mut total = Watched::default();
    let rates = super::play(video, &mut Ideal(mbit), |watched| {
        total.played = total.played + watched.played;
        total.stalled = total.stalled + watched.stalled;
        total.start_up = total.start_up.or(watched.start_up);
    });
    (rates.into_iter().map(|rate| rate.bits_per_sec() / 1_000_000).collect(), total)
}

const RULES: [VideoRule; 6] = [
    VideoRule::Throughput,
    VideoRule::BufferBased,
    VideoRule::Bola,
    VideoRule::BolaO,
    VideoRule::DashThroughput,
    VideoRule::Dynamic,
];

#[test]
fn a_link_below_the_lowest_rate_stalls_for_the_rest_of_the_time() {
    // At c times the lowest rate a segment of 4 s takes 4 / c: after the first, 4 / c - 4 of each are stalls.
    for rule in RULES {
        for c in [0.25, 0.5, 0.8] {
            let (rates, watched) = play(&video(rule, 20, 50), |_| c);
            assert_eq!(rates, [1; 50], "{rule:?}");
            let stalled = 49.0 * (4.0 / c - 4.0);
            assert!((watched.stalled.as_secs_f64() - stalled).abs() < 1e-6, "{rule:?}: {watched:?}");
            assert_eq!(watched.played, Duration::from_secs(200));
            assert_eq!(watched.start_up, Some(Duration::from_secs_f64(4.0 / c)));
        }
    }
}

#[test]
fn a_fast_link_plays_the_highest_rate_without_a_stall() {
    for rule in RULES {
        let (rates, watched) = play(&video(rule, 20, 50), |_| 1_000.0);
        assert_eq!((rates[0], rates[49]), (1, 4), "{rule:?}");
        assert_eq!((watched.stalled, watched.played), (Duration::ZERO, Duration::from_secs(200)));
    }
}

#[test]
fn rules_follow_a_step_of_the_link_down_and_up() {
    // 10 Mbit/s, 1.5 from 60 s to 160 s, 10 again.
    for rule in RULES {
        let link = |now: f64| if (60.0..160.0).contains(&now) { 1.5 } else { 10.0 };
        let (rates, _) = play(&video(rule, 30, 80), link);
        assert_eq!(rates[10], 4, "{rule:?}: {rates:?}");
        assert!(
            rates[25..35].iter().all(|&rate| rate <= 2) && rates[25..35].contains(&1),
            "{rule:?}: {rates:?}"
        );
        assert_eq!(rates[79], 4, "{rule:?}: {rates:?}");
    }
}

#[test]
fn the_buffer_is_never_above_its_size() {
    for rule in RULES {
        let video = video(rule, 13, 30);
        let (mut now, mut player) = (Time::ZERO, Player::new(Time::ZERO));
        let mut event = VectorEvent::Opened;
        while !player.is_over() {
            let mut actions = Vec::new();
            player.on_event(&video, event, now, &mut actions);
            assert!(player.buffer <= video.buffer, "{rule:?}: {}", player.buffer);
            event = match actions.iter().rev().find(|action| !matches!(action, VectorAction::Watched(_))) {
                Some(VectorAction::Write(size)) => VectorEvent::Delivered(*size),
                Some(VectorAction::Answer(size)) => VectorEvent::Received(*size),
                Some(VectorAction::Sleep(pause)) => {
                    now += *pause;
                    VectorEvent::Woken
                }
                _ => break,
            };
        }
        assert_eq!(player.done, 30);
    }
}

#[test]
fn a_segment_of_a_lost_connection_is_requested_again() {
    let video = video(VideoRule::Bola, 20, 2);
    let (mut player, mut actions) = (Player::new(Time::ZERO), Vec::new());
    let at = |seconds| Time::ZERO + Duration::from_secs(seconds);
    player.on_event(&video, VectorEvent::Opened, at(0), &mut actions);
    player.on_event(&video, VectorEvent::Closed, at(1), &mut actions);
    assert_eq!(actions[1..], [VectorAction::Aborted, VectorAction::Open]);
    actions.clear();
    player.on_event(&video, VectorEvent::Opened, at(2), &mut actions);
    assert_eq!(actions, [VectorAction::Write(Bytes::new(300))]);
    assert_eq!((player.done, player.awaits_at_initiator()), (0, Bytes::ZERO));
    // Nothing plays before the first segment.
    assert_eq!(player.unreported(at(60)), Watched::default());
}
