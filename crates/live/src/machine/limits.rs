//! The limit of open files. Each connection takes two.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::error::{Context, Error};

/// Raises the limit to the hard limit, as root to a million, and returns it.
pub(crate) fn raise_open_files() -> Result<u64, Error> {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).context(|| "limit of open files".to_owned())?;
    let enough = most.max(1_000_000);
    let granted = if setrlimit(Resource::RLIMIT_NOFILE, enough, enough).is_ok() { enough } else { most };
    setrlimit(Resource::RLIMIT_NOFILE, granted, granted).context(|| "limit of open files".to_owned())?;
    Ok(granted)
}
