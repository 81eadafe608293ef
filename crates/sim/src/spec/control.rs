//! A custom congestion control in a spec: a name with a colon, and a table `control` with its parameters.
//!
//! The engine reads `marks` of the table and keeps the rest, so that it is part of the resolved spec. It takes the
//! control itself from the code that builds the run ([`Spec::with_controls`]).

use aqmlab_tcp::congestion::{Algorithm, ControlMaker, Custom};
use aqmlab_tcp::{Marks, Profile};
use serde_json::{Map, Value};

use super::{Spec, SpecError, fault, messages};
use crate::names::interned;

/// The parameters of a custom congestion control.
pub type ControlTable = Map<String, Value>;

/// The key of the table.
pub(super) const CONTROL: &str = "control";

/// The key of the table that the engine reads: the control's response to congestion marks.
const MARKS: &str = "marks";

const MARKS_NAMES: [(&str, Marks); 3] =
    [("echoed", Marks::Echoed), ("counted", Marks::Counted), ("l4s", Marks::L4s)];

/// True for the name of a custom control: names of this engine have no colon.
pub(super) fn is_custom(name: &str) -> bool {
    name.contains(':')
}

/// Return the custom control called `name` with the parameters of `table`, which is at `path`.
pub(super) fn custom(path: &str, name: &str, table: Option<&ControlTable>) -> Result<Custom, SpecError> {
    let marks = match table.and_then(|table| table.get(MARKS)) {
        None => Marks::Echoed,
        Some(written) => {
            let name = written.as_str().unwrap_or_default();
            let known = MARKS_NAMES.iter().find(|(known, _)| *known == name);
            let Some(&(_, marks)) = known else {
                let names = MARKS_NAMES.map(|(name, _)| name);
                let message = messages::unknown_choice(&written.to_string(), &names);
                return Err(fault(&format!("{path}.{CONTROL}.{MARKS}"), message));
            };
            marks
        }
    };
    Ok(Custom::new(interned(name), marks))
}

/// Refuse the parameters of a control that is not custom.
pub(super) fn check_use(path: &str, values: &Profile, table: Option<&ControlTable>) -> Result<(), SpecError> {
    let Some(_) = table else { return Ok(()) };
    let reason = match &values.congestion {
        Algorithm::Custom(custom) if custom.kernel_name().is_none() => return Ok(()),
        Algorithm::Custom(_) => "is the Linux kernel's, which takes no parameters",
        _ => "is built in, and has keys of `tcp` instead",
    };
    Err(fault(&format!("{path}.{CONTROL}"), format!("has no effect: `{}` {reason}", values.congestion)))
}

impl Spec {
    /// Return the spec with makers of its custom congestion controls: one for each stack, the common one first.
    #[must_use]
    pub fn with_controls(&self, makers: Vec<Option<ControlMaker>>) -> Spec {
        let mut spec = self.clone();
        for (values, maker) in spec.tcp.profiles_mut().zip(makers) {
            if let (Algorithm::Custom(custom), Some(maker)) = (&values.congestion, maker) {
                values.congestion = Algorithm::Custom(custom.with_maker(maker));
            }
        }
        spec
    }

    /// Refuse a custom congestion control without a maker.
    pub(crate) fn check_controls(&self) -> Result<(), SpecError> {
        for (number, values) in self.tcp.profiles().enumerate() {
            if let Algorithm::Custom(custom) = &values.congestion
                && !custom.has_maker()
            {
                let path =
                    number.checked_sub(1).map_or("tcp".to_owned(), |entry| format!("tcp.mix[{entry}]"));
                let reason = if custom.kernel_name().is_some() {
                    "is a congestion control of the Linux kernel, which needs world = \"kernel\" or a live run"
                } else {
                    "is a custom control, which the caller has to bring"
                };
                let message = format!("`{}` {reason}", custom.name());
                return Err(fault(&format!("{path}.congestion"), message));
            }
        }
        Ok(())
    }
}
