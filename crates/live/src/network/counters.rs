//! Counters of the kernel: of the network namespace of the calling thread, and of the machine.

use std::collections::BTreeMap;
use std::fs;

use crate::error::{Context, Error};
use crate::network::device;

/// Counters of TCP that a run tells: the file, the group of lines in it, and the name.
const OF_TCP: [(&str, &str, &str); 5] = [
    ("snmp", "Tcp:", "OutSegs"),
    ("snmp", "Tcp:", REPEATS),
    ("netstat", "TcpExt:", "TCPTimeouts"),
    ("netstat", "TcpExt:", "TCPDeliveredCE"),
    // Connections that servers had no room for.
    ("netstat", "TcpExt:", "ListenDrops"),
];

/// Segments sent again, SYNs and their answers among them.
pub(crate) const REPEATS: &str = "RetransSegs";

/// Counters of TCP, by the kernel's names.
pub(crate) fn of_tcp() -> Result<BTreeMap<&'static str, u64>, Error> {
    OF_TCP.into_iter().map(|(file, group, name)| Ok((name, counter(file, group, name)?))).collect()
}

/// Returns the number of datagrams that arrived at full sockets.
pub(crate) fn datagram_drops() -> Result<u64, Error> {
    counter("snmp", "Udp:", "RcvbufErrors")
}

/// The machine's load: threads that ran or waited to run, mean of the last minute.
pub(crate) fn load() -> Option<f64> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split(' ').next()?.parse().ok()
}

fn counter(file: &str, group: &str, name: &str) -> Result<u64, Error> {
    let (path, text) = read(file)?;
    // A line of names is followed by one of numbers.
    let mut lines = text.lines().filter(|line| line.starts_with(group));
    let [names, numbers] = [(); 2].map(|()| lines.next().unwrap_or_default().split_whitespace());
    let value = names.zip(numbers).find_map(|(each, number)| (each == name).then(|| number.parse().ok())?);
    value.ok_or_else(|| Error::Odd(format!("{path}: has no {name}")))
}

/// Packets that the side's interface dropped because the router did not take them in time: the twelfth number of its line.
pub(crate) fn interface_drops() -> Result<u64, Error> {
    let (path, text) = read("dev")?;
    let name = format!("{}:", device::NAME.to_string_lossy());
    let numbers = text.lines().find_map(|line| line.trim_start().strip_prefix(&name));
    let dropped = numbers.and_then(|numbers| numbers.split_whitespace().nth(11)?.parse().ok());
    dropped.ok_or_else(|| Error::Odd(format!("{path}: has no counters of the interface")))
}

fn read(file: &str) -> Result<(String, String), Error> {
    let path = format!("/proc/thread-self/net/{file}");
    let text = fs::read_to_string(&path).context(|| path.clone())?;
    Ok((path, text))
}
