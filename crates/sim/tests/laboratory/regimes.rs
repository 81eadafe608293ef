//! One glance at what a change did: laws and loads on a small fast configuration.

use std::fmt::Write;

use super::*;

/// Half a minute at 10 Mbit/s after half a minute of warm-up; 946 users a side make 100 % load.
fn cell(queue: &Value, ecn: bool, users: u32) -> Summary {
    let spec = json!({
        "link": {"rate": "10 Mbit/s", "device_fifo": 16},
        "queue": queue,
        "tcp": {"ecn": ecn},
        "users": {"per_side": users},
        "protocol": {"warmup": "30 s", "duration": "30 s"},
    });
    Run::to_the_end(&spec, 1).summary
}

#[test]
fn regimes() {
    let mut table = String::from("law       ecn  users  loss %  mark %  completed  busy %  queue  p50 ms\n");
    for name in ["droptail", "red", "ared", "pi", "rem"] {
        for ecn in [false, true] {
            if name == "droptail" && ecn {
                continue;
            }
            for users in [757, 927, 1040] {
                let summary = cell(&law(name), ecn, users);
                writeln!(
                    table,
                    "{name:<8} {:>4} {users:>6} {:>7.1} {:>7.1} {:>10} {:>7.0} {:>6.0} {:>7.0}",
                    if ecn { "yes" } else { "no" },
                    known(summary.loss_percent),
                    known(summary.mark_percent),
                    summary.completed_requests,
                    100.0 * summary.utilisation,
                    known(summary.queue_packets_mean),
                    known(summary.response_time_ms.p50),
                )
                .expect("a text takes what is written");
            }
        }
    }
    insta::assert_snapshot!(table);
}
