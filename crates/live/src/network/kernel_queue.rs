//! The queues of a guest whose disciplines are the kernel's: each is a device of the engine, below which the engine's line is.

use std::ffi::CString;
use std::fs;
use std::process::{Command, Output};

use aqmlab_sim::{KernelDiscipline, Spec};
use serde_json::{Value, json};

use super::netlink::Netlink;
use crate::engine::SIDES;
use crate::error::{Context, Error};

/// The length of the device's queue, which is the default limit of some disciplines: Linux's own for Ethernet.
const QUEUE: u32 = 1000;

/// The directories of `tc`. The first process of a guest has no such variable.
const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// Sets up the queues of `spec`.
pub(crate) fn set_up(spec: &Spec) -> Result<(), Error> {
    let mtu = u32::try_from(spec.links.mtu().get()).expect("the spec bounds it");
    for (device, KernelDiscipline { tc: line }) in devices(spec) {
        let name = CString::new(device.clone()).expect("a name without zeros");
        // With IPv6 the kernel would send packets of its own through the queue.
        let switch = format!("/proc/sys/net/ipv6/conf/{device}/disable_ipv6");
        fs::write(&switch, "1").context(|| switch.clone())?;
        Netlink::open()?.set_up(&name, mtu, QUEUE)?;
        let arguments = ["qdisc", "replace", "dev", &device, "root"];
        let output = run_tc(arguments.into_iter().chain(line.split(' ')))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let first = said.lines().find(|line| !line.is_empty()).unwrap_or("it gives no reason");
            return Err(Error::Refused(format!("queue.kernel: tc refuses {line:?}: {first}")));
        }
    }
    Ok(())
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
    (SIDES..)
        .map(|port| format!("aqmlab{port}"))
        .zip(spec.kernel_disciplines().into_iter().map(|(_, discipline)| discipline))
}

fn run_tc<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<Output, Error> {
    let output = Command::new("tc").args(arguments).env("PATH", PATH).output();
    output.context(|| "queue.kernel: tc, which the package iproute2 has".to_owned())
}
