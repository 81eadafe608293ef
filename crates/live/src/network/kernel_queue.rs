//! The queues of a guest whose disciplines are the kernel's: each is a device of the engine, below which the engine's line is.

use std::ffi::CString;
use std::fs;
use std::process::{Command, Output};

use aqmlab_sim::{KernelDiscipline, Spec};
use serde_json::{Value, json};

use super::netlink::Netlink;
use crate::error::{Context, Error};
use crate::kernel_network::SIDES;

/// The length of the device's queue, which is the default limit of some disciplines: Linux's own for Ethernet.
const QUEUE: u32 = 1000;

/// The directories of `tc`. The first process of a guest has no such variable.
const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// Sets up the queues of `spec`.
pub(crate) fn set_up(spec: &Spec) -> Result<(), Error> {
    let mtu = u32::try_from(spec.links.mtu().get()).expect("the spec bounds it");
    for (device, KernelDiscipline { tc: line }) in devices(spec) {
        bring_up(&device, mtu)?;
        add(&device, line)?;
    }
    Ok(())
}

/// Returns the name of the device of a queue's port.
pub(crate) fn device(port: usize) -> String {
    format!("aqmlab{port}")
}

/// Brings up the device of a queue.
pub(crate) fn bring_up(device: &str, mtu: u32) -> Result<(), Error> {
    // With IPv6 the kernel would send packets of its own through the queue.
    let switch = format!("/proc/sys/net/ipv6/conf/{device}/disable_ipv6");
    fs::write(&switch, "1").context(|| switch.clone())?;
    let name = CString::new(device).expect("a name without zeros");
    Netlink::open()?.set_up(&name, mtu, QUEUE)
}

/// Adds the queue discipline to a device.
pub(crate) fn add(device: &str, line: &str) -> Result<(), Error> {
    let arguments = ["qdisc", "replace", "dev", device, "root"];
    let output = run_tc(arguments.into_iter().chain(line.split(' ')))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let first = said.lines().find(|line| !line.is_empty()).unwrap_or("it gives no reason");
    Err(Error::Refused(format!("queue.kernel: tc refuses {line:?}: {first}")))
}

/// Removes the queue discipline of a device.
pub(crate) fn remove(device: &str) -> Result<(), Error> {
    let output = run_tc(["qdisc", "del", "dev", device, "root"])?;
    let error = || Error::Odd(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    output.status.success().then_some(()).ok_or_else(error)
}

/// Returns the statistics of the queues of `spec`: the discipline as the kernel describes it, and its counters.
pub(crate) fn statistics(spec: &Spec) -> Result<Vec<Value>, Error> {
    devices(spec)
        .map(|(device, discipline)| {
            let output = run_tc(["-s", "qdisc", "show", "dev", &device])?;
            Ok(json!({ "tc": discipline.tc, "statistics": String::from_utf8_lossy(&output.stdout) }))
        })
        .collect()
}

fn devices(spec: &Spec) -> impl Iterator<Item = (String, &KernelDiscipline)> {
    (SIDES..).map(device).zip(spec.kernel_disciplines().into_iter().map(|(_, discipline)| discipline))
}

fn missing() -> String {
    "queue.kernel: tc, which the package iproute2 has".to_owned()
}

fn run_tc<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<Output, Error> {
    let output = Command::new("tc").args(arguments).env("PATH", PATH).output();
    output.context(missing)
}
