//! The quality of games: updates that are late.

use aqmlab_units::Duration;
use serde::Serialize;

/// The updates that one end of a game receives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Updates {
    late_after: Duration,
    /// Those whose fate is known, of those sent in the measured window.
    decided: u64,
    late: u64,
}

impl Updates {
    pub(crate) fn new(late_after: Duration) -> Updates {
        Updates { late_after, decided: 0, late: 0 }
    }

    /// The fate of an update is known: its delay, or `None` if it is lost.
    pub(crate) fn decide(&mut self, delay: Option<Duration>) {
        self.decided += 1;
        self.late += u64::from(delay.is_none_or(|delay| delay > self.late_after));
    }
}

/// The quality of games in the measured window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GameQuality {
    /// Updates that were lost or took longer than `late_after`, in per cent of those sent in both directions.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "late", "unit" = "%", "digits" = 2, "better" = "lower", "brief" = true)))]
    pub late_percent: Option<f64>,
    /// The same of those from players to servers.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "late to server", "unit" = "%", "digits" = 2, "better" = "lower", "brief" = true)))]
    pub late_to_server_percent: Option<f64>,
    /// The same of those from servers to players.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "late to player", "unit" = "%", "digits" = 2, "better" = "lower", "brief" = true)))]
    pub late_to_player_percent: Option<f64>,
    /// The largest share of any player's updates, in both directions.
    #[cfg_attr(feature = "schema", schemars(extend("label" = "late max", "unit" = "%", "digits" = 2, "better" = "lower")))]
    pub late_percent_max: Option<f64>,
}

impl GameQuality {
    /// The quality of games whose updates are those to the server, then to the player, for each player.
    pub(crate) fn new(players: &[[Updates; 2]]) -> GameQuality {
        let percent = |updates: &mut dyn Iterator<Item = Updates>| {
            let (late, decided) =
                updates.fold((0, 0), |(late, decided), it| (late + it.late, decided + it.decided));
            (decided > 0).then(|| 100.0 * late as f64 / decided as f64)
        };
        let of_end = |end: usize| percent(&mut players.iter().map(|updates| updates[end]));
        GameQuality {
            late_percent: percent(&mut players.iter().flatten().copied()),
            late_to_server_percent: of_end(0),
            late_to_player_percent: of_end(1),
            late_percent_max: players
                .iter()
                .filter_map(|updates| percent(&mut updates.iter().copied()))
                .max_by(f64::total_cmp),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Updates with these delays in milliseconds.
    fn updates(delays: &[Option<u64>]) -> Updates {
        let mut updates = Updates::new(Duration::from_millis(50));
        for delay in delays {
            updates.decide(delay.map(Duration::from_millis));
        }
        updates
    }

    #[test]
    fn lost_updates_and_those_beyond_the_bound_are_late() {
        let to_server = updates(&[Some(50), Some(51), None, Some(1)]);
        let to_player = updates(&[Some(10); 4]);
        let quiet = updates(&[Some(20)]);
        let quality = GameQuality::new(&[[to_server, to_player], [quiet, quiet]]);
        assert_eq!(quality.late_percent, Some(20.0));
        assert_eq!((quality.late_to_server_percent, quality.late_to_player_percent), (Some(40.0), Some(0.0)));
        assert_eq!(quality.late_percent_max, Some(25.0));
        assert_eq!(GameQuality::new(&[]).late_percent, None);
    }
}
