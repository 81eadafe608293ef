//! Counters of the kernel, for the calling thread's network namespace and for the machine.

use std::collections::BTreeMap;
use std::fs;

use crate::error::{Context, Error};
use crate::network::device;

/// The TCP counters that a run reports: file, group of lines, and name.
const TCP_COUNTERS: [(&str, &str, &str); 5] = [
    ("snmp", "Tcp:", "OutSegs"),
    ("snmp", "Tcp:", RETRANSMISSIONS),
    ("netstat", "TcpExt:", "TCPTimeouts"),
    ("netstat", "TcpExt:", "TCPDeliveredCE"),
    // Connections that arrived at a full queue of a listening socket.
    ("netstat", "TcpExt:", "ListenDrops"),
];

/// Retransmitted segments, with SYNs and SYN/ACKs.
pub(crate) const RETRANSMISSIONS: &str = "RetransSegs";

/// Returns the TCP counters by the kernel's names.
pub(crate) fn tcp_counters() -> Result<BTreeMap<&'static str, u64>, Error> {
    TCP_COUNTERS.into_iter().map(|(file, group, name)| Ok((name, counter(file, group, name)?))).collect()
}

/// Returns the number of datagrams that the kernel dropped at full receive buffers.
pub(crate) fn datagram_drops() -> Result<u64, Error> {
    counter("snmp", "Udp:", "RcvbufErrors")
}

/// Returns the machine's load: the mean number of threads that ran or waited to run in the last minute.
pub(crate) fn load() -> Option<f64> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split(' ').next()?.parse().ok()
}

fn counter(file: &str, group: &str, name: &str) -> Result<u64, Error> {
    let (path, text) = read(file)?;
    // Each group is a line of names and a line of numbers.
    let mut lines = text.lines().filter(|line| line.starts_with(group));
    let [names, numbers] = [(); 2].map(|()| lines.next().unwrap_or_default().split_whitespace());
    let value = names
        .zip(numbers)
        .find_map(|(candidate, number)| (candidate == name).then(|| number.parse().ok())?);
    value.ok_or_else(|| Error::Odd(format!("{path}: has no {name}")))
}

/// Returns the packets that the side's interface dropped because the router did not read them in time.
pub(crate) fn interface_drops() -> Result<u64, Error> {
    let (path, text) = read("dev")?;
    let name = format!("{}:", device::NAME.to_string_lossy());
    let numbers = text.lines().find_map(|line| line.trim_start().strip_prefix(&name));
    // Dropped packets of the transmitter: the twelfth number of the interface's line.
    let dropped = numbers.and_then(|numbers| numbers.split_whitespace().nth(11)?.parse().ok());
    dropped.ok_or_else(|| Error::Odd(format!("{path}: has no counters of the interface")))
}

fn read(file: &str) -> Result<(String, String), Error> {
    let path = format!("/proc/thread-self/net/{file}");
    let text = fs::read_to_string(&path).context(|| path.clone())?;
    Ok((path, text))
}
