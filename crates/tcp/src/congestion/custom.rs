//! Congestion controls from outside this crate: a name in a profile, and a maker of one control per connection.

use std::fmt;
use std::sync::Arc;

use super::{CongestionControl, Marks};
use crate::Profile;

/// The prefix of the name of a congestion control of the Linux kernel.
const KERNEL: &str = "kernel:";

/// Makes the control of one connection.
pub type ControlMaker = Arc<dyn Fn(&Profile) -> Box<dyn CongestionControl> + Send + Sync>;

/// A congestion control that the caller supplies.
#[derive(Clone)]
pub struct Custom {
    /// Tables have names that live as long as the program.
    name: &'static str,
    marks: Marks,
    maker: Option<ControlMaker>,
}

impl Custom {
    /// Return the control called `name`, without its maker. Its response to marks is known before it is made, so
    /// that a profile can be checked.
    pub fn new(name: &'static str, marks: Marks) -> Custom {
        Custom { name, marks, maker: None }
    }

    /// Return the same control with its maker.
    #[must_use]
    pub fn with_maker(&self, maker: ControlMaker) -> Custom {
        Custom { maker: Some(maker), ..self.clone() }
    }

    /// Its name in specs.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Its name in the Linux kernel, if it is one of the kernel's: of `kernel:vegas` it is `vegas`.
    pub fn kernel_name(&self) -> Option<&'static str> {
        self.name.strip_prefix(KERNEL)
    }

    /// Its response to congestion marks.
    pub fn marks(&self) -> Marks {
        self.marks
    }

    /// True if connections can use it.
    pub fn has_maker(&self) -> bool {
        self.maker.is_some()
    }

    pub(super) fn make(&self, profile: &Profile) -> Box<dyn CongestionControl> {
        self.maker.as_ref().expect("a run checks that each custom control has a maker")(profile)
    }
}

impl fmt::Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Custom").field(&self.name).finish()
    }
}

impl PartialEq for Custom {
    fn eq(&self, other: &Custom) -> bool {
        (self.name, self.marks) == (other.name, other.marks)
    }
}

impl Eq for Custom {}
