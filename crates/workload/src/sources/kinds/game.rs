//! Games: players send their input to a server at each tick, and the server sends each of them the state of the world.
//!
//! Source: IEEE 802.11-18/2009r6, "RTA TIG report" (2018), section 4.1.4: real-time games on mobile devices, in their
//! stage of gaming. Intervals and data have the largest extreme value distribution; the report's initial and last
//! packets are left out. UDP and IPv4 add 28 bytes. Packets are not ECN-capable: the rate of a game does not react to marks.
//!
//! An update is late if it is lost, or takes longer than a bound: [`crate::sources::quality`].

use aqmlab_units::range::{above, from};
use aqmlab_units::{Bytes, Duration, Range, Stream, Time, ranges};
use serde::{Deserialize, Serialize};

use super::call::rate_of;
use super::fields::{SIDE, TIMES, check_stop, no_time, one_second};
use crate::config::ConfigError;
use crate::sources::datagrams::{
    Audience, DatagramFlows, DatagramSource, Interval, PacketSize, Peer, Receivers, TwoWayFlows,
};
use crate::sources::draws::rtt::MinRttConfig;
use crate::sources::draws::starts::Starts;
use crate::sources::kind::{Setting, Source, SourceKind};
use crate::sources::quality::Updates;

/// Games.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = aqmlab_units::schema::with_ranges::<GameConfig>))]
#[serde(deny_unknown_fields)]
pub struct GameConfig {
    /// The name of the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Players, each with a server.
    pub flows: u32,
    /// The side of the link of the players.
    #[serde(default)]
    pub side: u8,
    /// The way in which the states of players are kept the same.
    #[serde(default)]
    pub synchronization: Synchronization,
    /// Ticks of a player in a second, evenly spaced; the intervals of `synchronization` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_ticks: Option<f64>,
    /// Updates that a server sends to a player in a second, evenly spaced; the intervals of `synchronization` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_ticks: Option<f64>,
    /// The one-way delay beyond which an update is late. The default is half of the 100 ms that Claypool and Claypool,
    /// "Latency and player actions in online games", CACM 2006, have for games in the first person.
    #[serde(default = "fifty_milliseconds")]
    pub late_after: Duration,
    /// The earliest start.
    #[serde(default = "no_time")]
    pub start: Duration,
    /// The starts are spread evenly at random over this time. The default is ours.
    #[serde(default = "one_second")]
    pub spread: Duration,
    /// The end of all games; absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Duration>,
    /// Minimum round-trip times to the servers, half of which is spent in each direction; the experiment's when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<MinRttConfig>,
}

/// The synchronization of players, with the distributions of IEEE 802.11-18/2009r6.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Synchronization {
    /// The server sends states: every 15 ms some 56 bytes of data, in answer to some 40 bytes every 18 ms.
    #[default]
    Status,
    /// The server sends the input of all players: every 30 ms some 230 bytes of data, after some 114 bytes every 24 ms.
    Lockstep,
}

/// Largest extreme values of location and scale.
type Extreme = (f64, f64);

impl Synchronization {
    /// Of client and server: intervals in milliseconds, and data in bytes.
    fn ends(self) -> [(Extreme, Extreme); 2] {
        match self {
            Synchronization::Status => [((15.0, 5.7), (38.0, 3.7)), ((13.0, 3.7), (50.0, 11.0))],
            Synchronization::Lockstep => [((22.0, 3.4), (92.0, 38.0)), ((28.0, 4.2), (210.0, 35.0))],
        }
    }
}

/// The most data of an update, by the report. Its distributions alone have no bound.
const MOST_DATA: f64 = 500.0;

/// Headers of UDP and IPv4.
const HEADERS: Bytes = Bytes::new(8 + 20);

/// More than any server has.
const PLAYERS: Range<u32> = from(1).up_to(100_000);

/// Ticks in a second: no screen shows more.
const TICKS: Range<f64> = from(1.0).up_to(1000.0);

fn fifty_milliseconds() -> Duration {
    Duration::from_millis(50)
}

ranges! {
    GameConfig { flows: PLAYERS,
        side: SIDE,
        client_ticks: TICKS,
        server_ticks: TICKS,
        late_after: above(Duration::ZERO).up_to(Duration::from_secs(10)),
        start: TIMES,
        spread: TIMES,
        stop: TIMES, }
}

impl GameConfig {
    /// Players and servers.
    fn peers(&self) -> [Peer; 2] {
        let sides = [self.side, 1 - self.side];
        let ticks = [self.client_ticks, self.server_ticks];
        let ends = self.synchronization.ends();
        [0, 1].map(|end| {
            let ((location, scale), (size, spread)) = ends[end];
            let interval = match ticks[end] {
                Some(ticks) => Interval::Fixed(Duration::from_secs_f64(1.0 / ticks)),
                None => Interval::LargestExtreme(location, scale),
            };
            Peer {
                side: sides[end],
                interval,
                size: PacketSize::LargestExtreme {
                    headers: HEADERS,
                    location: size,
                    scale: spread,
                    most: MOST_DATA,
                },
            }
        })
    }
}

impl SourceKind for GameConfig {
    const EXAMPLE: &'static str = r#"{"game": {"flows": 2, "rtt": {"fixed": "30 ms"}}}"#;
    const SENDS_DATAGRAMS: bool = true;

    fn check(&self) -> Result<(), ConfigError> {
        self.rtt.as_ref().map_or(Ok(()), |rtt| rtt.check("rtt"))?;
        check_stop(self.start, self.stop)
    }

    fn source(&self, setting: &Setting<'_>) -> Result<Source, ConfigError> {
        let starts =
            Starts::uniform(self.flows, self.start, self.spread, Stream::numbered(setting.key, u64::MAX));
        let stop = self.stop.map_or(Time::MAX, |stop| Time::ZERO + stop);
        let flows = TwoWayFlows::new(self.peers(), starts, stop, setting.key);
        Ok(Source::Datagrams(DatagramSource::new(flows)))
    }

    fn datagrams(&self) -> Option<DatagramFlows> {
        let peers = self.peers();
        let [[smallest, largest], other] = peers.map(|peer| peer.size.bounds());
        let largest = largest.max(other[1]);
        let rates = peers.map(|peer| {
            // Intervals vary, so that a few packets come at twice the mean rate.
            let interval = Duration::from_secs_f64(peer.interval.mean_seconds() / 2.0);
            rate_of(peer.size.bounds()[1], interval)
        });
        let rate = rates[0].max(rates[1]);
        Some(DatagramFlows { flows: self.flows, sides: [true; 2], smallest, largest, rate })
    }

    fn receivers(&self, setting: &Setting<'_>) -> Receivers {
        let updates = Updates::new(self.late_after);
        let players = (0..self.flows).map(|_| [updates; 2]).collect();
        let delays = setting.delays_beyond(self.flows, self.rtt.as_ref());
        Receivers::new(delays, Audience::Players { side: self.side, players })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RttConfig;
    use crate::sources::{Datagram, SourceConfig};

    fn config(rest: &str) -> GameConfig {
        serde_json::from_str(&format!(r#"{{"flows": 2, "side": 1{rest}}}"#))
            .unwrap_or_else(|error| panic!("{error}"))
    }

    fn packets(rest: &str, n: usize) -> Vec<Datagram> {
        let rtt = RttConfig::shipped("uniform").expect("shipped");
        match Source::new(&SourceConfig::Game(config(rest)), 0, &rtt, 1) {
            Ok(Source::Datagrams(source)) => source.take(n).collect(),
            other => panic!("datagrams: {other:?}"),
        }
    }

    /// Mean interval in milliseconds and mean size in bytes of the packets of `side` in flow 0.
    fn means(sent: &[Datagram], side: u8) -> (f64, f64) {
        let own: Vec<&Datagram> = sent.iter().filter(|it| (it.flow, it.side) == (0, side)).collect();
        let time = own[own.len() - 1].at - own[0].at;
        let bytes: u64 = own.iter().map(|packet| packet.size.get()).sum();
        (time.as_millis_f64() / (own.len() - 1) as f64, bytes as f64 / own.len() as f64)
    }

    #[test]
    fn intervals_and_sizes_have_the_means_of_the_report() {
        // The mean of a largest extreme value is location + 0.5772 scale. Tolerances are above 4 standard errors.
        let euler = 0.577_215_7;
        for (name, ends) in [("status", Synchronization::Status), ("lockstep", Synchronization::Lockstep)] {
            let sent = packets(&format!(r#", "synchronization": "{name}""#), 100_000);
            assert!(sent.is_sorted_by_key(|packet| packet.at));
            for (side, (interval, data)) in [1, 0].into_iter().zip(ends.ends()) {
                let (mean_interval, mean_size) = means(&sent, side);
                let expected = [interval.0 + euler * interval.1, 28.0 + data.0 + euler * data.1];
                assert!((mean_interval / expected[0] - 1.0).abs() < 0.015, "{name}: {mean_interval} ms");
                assert!((mean_size / expected[1] - 1.0).abs() < 0.015, "{name}: {mean_size} B");
            }
        }
    }

    #[test]
    fn ticks_are_evenly_spaced() {
        let sent = packets(r#", "client_ticks": 128, "server_ticks": 64"#, 50_000);
        let ((client, _), (server, _)) = (means(&sent, 1), means(&sent, 0));
        assert!((client - 1000.0 / 128.0).abs() < 1e-6 && (server - 1000.0 / 64.0).abs() < 1e-6);
    }

    #[test]
    fn packets_lie_within_the_bounds_that_the_network_is_made_for() {
        for name in ["status", "lockstep"] {
            let rest = format!(r#", "synchronization": "{name}""#);
            let DatagramFlows { smallest, largest, .. } = config(&rest).datagrams().expect("datagrams");
            assert_eq!(largest, Bytes::new(528));
            assert!(packets(&rest, 50_000).iter().all(|it| (smallest..=largest).contains(&it.size)));
        }
    }

    #[test]
    fn the_servers_ticks_change_nothing_of_what_a_player_sends() {
        let first =
            |sent: Vec<Datagram>| sent.into_iter().filter(|it| it.flow == 0).take(50).collect::<Vec<_>>();
        let one = first(packets(r#", "spread": "0 s""#, 200));
        let again = first(packets(r#", "spread": "0 s", "server_ticks": 30"#, 200));
        let ticks = |sent: &[Datagram]| {
            sent.iter().filter(|it| it.side == 1).map(|it| it.at).take(10).collect::<Vec<_>>()
        };
        assert_eq!(ticks(&one), ticks(&again));
    }

    #[test]
    fn mistakes_are_refused_in_one_line() {
        for (rest, why) in [
            (r#", "client_ticks": 0"#, "game.client_ticks: must be between 1 and 1000, got 0"),
            (r#", "late_after": "0 s""#, "game.late_after: must be above 0 s and at most 10 s, got 0 s"),
        ] {
            let error = SourceConfig::Game(config(rest)).check().expect_err("a mistake").to_string();
            assert_eq!(error, why);
        }
    }
}
