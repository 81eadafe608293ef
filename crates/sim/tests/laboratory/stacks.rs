//! Hosts with different TCP stacks in one experiment.

use super::*;

fn with_tcp(tcp: Value) -> Run {
    let mut spec = congested(&law("pi"));
    spec["tcp"] = tcp;
    Run::to_the_end(&spec, 1)
}

#[test]
fn a_stack_that_all_hosts_of_a_mix_have_is_as_good_as_the_common_one() {
    let common = with_tcp(json!({"profile": "freebsd-4.5"}));
    let mixed = with_tcp(json!({"mix": [
        {"share": 1, "role": "client", "profile": "freebsd-4.5"},
        {"share": 0.3, "role": "server", "profile": "freebsd-4.5"},
        {"share": 0.7, "role": "server", "profile": "freebsd-4.5"},
    ]}));
    assert_eq!(format!("{mixed:?}"), format!("{common:?}"));
}

#[test]
fn the_hosts_with_the_smaller_window_wait_longer() {
    // Without a queue to speak of: a window of one segment takes a round trip for each.
    let mut spec = congested(&law("droptail"));
    spec["link"] = json!({"rate": "100 Mbit/s"});
    spec["tcp"] = json!({"mix": [{"share": 1, "side": 0, "role": "client", "receive_window": 1460}]});
    let exchanges = Run::to_the_end(&spec, 1).tables.exchanges;
    let mean_of_side = |side: u8| {
        let times = exchanges.side.iter().zip(&exchanges.response_time_ms);
        let ours: Vec<f64> = times.filter(|&(&its, _)| its == side).map(|(_, &time)| time).collect();
        ours.iter().sum::<f64>() / ours.len() as f64
    };
    assert!(mean_of_side(0) > 1.5 * mean_of_side(1), "{} ms, {} ms", mean_of_side(0), mean_of_side(1));
}
