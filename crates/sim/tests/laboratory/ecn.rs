//! With ECN a law signals by marks, and what it marks is not lost.

use super::*;

fn run(queue: &Value, ecn: impl Into<Value>) -> Run {
    let mut spec = congested(queue);
    spec["tcp"] = json!({"ecn": ecn.into()});
    spec["protocol"]["duration"] = json!("3 min");
    Run::to_the_end(&spec, 1)
}

fn sum(column: &[u16]) -> u64 {
    column.iter().copied().map(u64::from).sum()
}

#[test]
fn under_pi_ecn_capable_data_are_marked_and_never_lost() {
    for q_ref in [5, 24] {
        let queue = json!({"pi": {"q_ref": q_ref}});
        let [without, with] = [false, true].map(|ecn| run(&queue, ecn));
        let exchanges = &with.tables.exchanges;
        assert!(with.summary.mark_percent > 0.5, "{}", with.summary.mark_percent);
        assert!(sum(&exchanges.ecn_reductions) > 100, "senders heed the marks");
        // Three duplicate acknowledgements tell of lost data.
        assert_eq!(sum(&exchanges.fast_retransmits), 0);
        assert!(with.summary.links.iter().all(|link| link.dropped_by_limit == 0));
        assert!(sum(&without.tables.exchanges.fast_retransmits) > 100);
        assert!(without.summary.links.iter().all(|link| link.marked == 0));
        assert_eq!(sum(&without.tables.exchanges.ecn_reductions), 0);
        // What is not ECN-capable, SYNs and bare acknowledgements, is still dropped.
        assert!(with.summary.links.iter().all(|link| link.dropped_early > 0));
    }
}

#[test]
fn drop_tail_marks_nothing() {
    let with = run(&law("droptail"), true);
    assert!(with.summary.loss_percent > 0.5);
    assert!(with.summary.links.iter().all(|link| link.marked == 0));
}

/// With ECN+ a SYN/ACK is lost no more. Kuzmanovic (2005): that is what ECN costs short transfers.
#[test]
fn under_pi_ecn_plus_marks_the_syn_acks_that_ecn_drops() {
    let queue = json!({"pi": {"q_ref": 5}});
    let syns_again = |ecn: &str| {
        let run = run(&queue, ecn);
        assert!(sum(&run.tables.exchanges.ecn_reductions) > 100, "{ecn}: senders heed the marks");
        assert_eq!(sum(&run.tables.exchanges.fast_retransmits), 0, "{ecn}");
        sum(&run.tables.exchanges.syn_retransmits)
    };
    let plain = syns_again("rfc3168");
    for ecn in ["ecn+", "ecn+/wait", "ecn++"] {
        let plus = syns_again(ecn);
        assert!(plus < plain, "{ecn}: {plus} SYNs and SYN/ACKs were sent again, {plain} with RFC 3168");
    }
}

#[test]
fn under_pi_with_every_packet_ecn_capable_next_to_nothing_is_lost() {
    let run = run(&json!({"pi": {"q_ref": 5}}), "accurate++");
    let marked: u64 = run.summary.links.iter().map(|link| link.marked).sum();
    let dropped: u64 = run.summary.links.iter().map(|link| link.dropped_early).sum();
    assert_eq!(dropped, 0, "besides {marked} marks");
    assert!(marked > 1000, "{marked}");
    assert_eq!(sum(&run.tables.exchanges.timeouts), 0);
}
