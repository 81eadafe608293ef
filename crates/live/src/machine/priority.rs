//! Real-time priority of a run's threads, because lateness makes a live run invalid. The router's thread has the highest.

use nix::libc;

/// The priorities of a run's threads.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ThreadPriority {
    /// Of users, servers and sources.
    Hosts = 1,
    Router = 2,
}

/// Gives the calling thread real-time priority (`SCHED_FIFO`, the lowest levels), and returns true if the machine allows it.
///
/// The thread waits when it has nothing to do, so that it never blocks other programs for long. Programs that it starts have
/// the usual priority.
pub(crate) fn raise(rank: ThreadPriority) -> bool {
    let priority = libc::sched_param { sched_priority: rank as libc::c_int };
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: the kernel reads this struct, which lives until the call returns.
    #[expect(unsafe_code, reason = "there is no safe way to a thread's scheduling")]
    let answer = unsafe { libc::sched_setscheduler(0, policy, &raw const priority) };
    answer == 0
}
