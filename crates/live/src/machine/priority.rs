//! The threads of a run go before others, where that is allowed, and the router's before those of the hosts: their lateness is
//! what is wrong with a live run.

use nix::libc;

/// The priorities of a run's threads.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ThreadPriority {
    /// Users, servers and sources.
    Hosts = 1,
    Router = 2,
}

/// Have the calling thread run whenever it can (`SCHED_FIFO`, at the lowest of its priorities), if the machine lets it. It waits
/// whenever it has nothing to do, so that it never keeps others out for long. Programs that it starts are as all others are.
pub(crate) fn raise(rank: ThreadPriority) -> bool {
    let priority = libc::sched_param { sched_priority: rank as libc::c_int };
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: the kernel reads this struct, which lives until the call returns.
    #[expect(unsafe_code, reason = "there is no safe way to a thread's scheduling")]
    let answer = unsafe { libc::sched_setscheduler(0, policy, &raw const priority) };
    answer == 0
}
