//! The namespaces of a run. None has a name or a mount: they are gone when the process is, however it ends.

use std::fs::{self, File};

use nix::errno::Errno;
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getegid, geteuid, getppid};

use crate::error::{Context, Error};

/// The privilege by which networks can be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Power {
    /// Root, as it is.
    Root,
    /// Anybody, as root of a user namespace.
    UserNamespace,
}

/// Leave the machine's network for one that has nothing in it. To be called while the process has one thread.
pub(crate) fn enter() -> Result<Power, Error> {
    let parent = getppid();
    let power = match unshare(CloneFlags::CLONE_NEWNET) {
        Ok(()) => Power::Root,
        Err(Errno::EPERM) => {
            become_root_of_a_user_namespace()?;
            own_network()?;
            Power::UserNamespace
        }
        Err(error) => return Err(refused("network", "net", error)),
    };
    kill_with_parent(parent)?;
    Ok(power)
}

/// The network namespace of the calling thread, as something that interfaces can be put into.
pub(crate) fn current_network() -> Result<File, Error> {
    let path = "/proc/thread-self/ns/net";
    File::open(path).context(|| path.to_owned())
}

/// From now on the calling thread is in `network`.
pub(crate) fn go_to(network: &File) -> Result<(), Error> {
    setns(network, CloneFlags::CLONE_NEWNET).context(|| "a side's network namespace".to_owned())
}

/// The calling thread's own network namespace.
pub(crate) fn own_network() -> Result<(), Error> {
    unshare(CloneFlags::CLONE_NEWNET).map_err(|error| refused("network", "net", error))
}

/// Why there can be no namespace of a kind, whose limit is `user.max_KIND_namespaces`: the kernel says "No space left" of a
/// limit, and "not permitted" of a ban.
fn refused(kind: &str, limit: &str, error: Errno) -> Error {
    let path = format!("/proc/sys/user/max_{limit}_namespaces");
    match error {
        Errno::ENOSPC | Errno::EUSERS => {
            let most = fs::read_to_string(path).unwrap_or_default();
            let most = most.trim();
            Error::Odd(format!(
                "a {kind} namespace: no more are allowed (sysctl user.max_{limit}_namespaces is {most}): raise it, or run as root"
            ))
        }
        Errno::EPERM => Error::Odd(format!(
            "a {kind} namespace: not permitted, by a container, seccomp or a sysctl such as \
             kernel.unprivileged_userns_clone: aqmlab doctor says what to change"
        )),
        error => Error::System { what: format!("a {kind} namespace"), error: error.into() },
    }
}

fn become_root_of_a_user_namespace() -> Result<(), Error> {
    let (user, group) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER).map_err(|error| refused("user", "user", error))?;
    for (file, map) in [
        ("setgroups", "deny".to_owned()),
        ("uid_map", format!("0 {user} 1")),
        ("gid_map", format!("0 {group} 1")),
    ] {
        let path = format!("/proc/self/{file}");
        fs::write(&path, map).context(|| format!("{path}, for a user namespace"))?;
    }
    Ok(())
}

/// Be killed when the process `parent` that started this one ends. After the change of credentials, which takes it back.
fn kill_with_parent(parent: Pid) -> Result<(), Error> {
    prctl::set_pdeathsig(Signal::SIGKILL).context(|| "the end with the parent process".to_owned())?;
    if getppid() == parent {
        Ok(())
    } else {
        Err(Error::Odd("the process that started this one is gone".to_owned()))
    }
}
