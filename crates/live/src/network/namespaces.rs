//! The namespaces of a run. None has a name or a mount: they disappear with the process, however it ends.

use std::fs::{self, File};

use nix::errno::Errno;
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getegid, geteuid, getppid};

use crate::error::{Context, Error};

/// The privilege with which the process creates networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Privilege {
    /// Root of the machine or the container.
    Root,
    /// An ordinary user, as root of a user namespace.
    UserNamespace,
}

/// Moves the process from the machine's network to an empty one. The process must have only one thread.
pub(crate) fn enter() -> Result<Privilege, Error> {
    let parent = getppid();
    let privilege = match unshare(CloneFlags::CLONE_NEWNET) {
        Ok(()) => Privilege::Root,
        Err(Errno::EPERM) => {
            become_root_of_a_user_namespace()?;
            create_network()?;
            Privilege::UserNamespace
        }
        Err(error) => return Err(refused("network", "net", error)),
    };
    kill_with_parent(parent)?;
    Ok(privilege)
}

/// Opens the network namespace of the calling thread. Interfaces can be moved into the open file.
pub(crate) fn current_network() -> Result<File, Error> {
    let path = "/proc/thread-self/ns/net";
    File::open(path).context(|| path.to_owned())
}

/// Moves the calling thread to the namespace `network`.
pub(crate) fn enter_network(network: &File) -> Result<(), Error> {
    setns(network, CloneFlags::CLONE_NEWNET).context(|| "a side's network namespace".to_owned())
}

/// Moves the calling thread to a new network namespace.
pub(crate) fn create_network() -> Result<(), Error> {
    unshare(CloneFlags::CLONE_NEWNET).map_err(|error| refused("network", "net", error))
}

/// Explains why the kernel refused a namespace, whose limit is `user.max_LIMIT_namespaces`.
fn refused(kind: &str, limit: &str, error: Errno) -> Error {
    let path = format!("/proc/sys/user/max_{limit}_namespaces");
    match error {
        // The kernel's text, "No space left", does not name the limit.
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

/// Asks the kernel to kill this process when its parent ends. A change of credentials undoes this, so it comes last.
fn kill_with_parent(parent: Pid) -> Result<(), Error> {
    prctl::set_pdeathsig(Signal::SIGKILL).context(|| "the end with the parent process".to_owned())?;
    // The parent may have ended before the kernel knew.
    if getppid() == parent {
        Ok(())
    } else {
        Err(Error::Odd("the process that started this one is gone".to_owned()))
    }
}
