//! The queue discipline of a spec: one of the catalogue, or a custom law, which the caller brings.
//!
//! `{"red": {"min_th": 5}}` is of the catalogue. A name with a colon, as in `{"my_module:MyLaw": {"q_ref": 24}}`, is not:
//! the engine reads the limit of its queue, keeps the rest of its table as it is, so that it is part of the resolved
//! spec, and takes the law itself from the code that builds the run ([`crate::build`]).
//!
//! Every table may have `noecn`, as in `tc`: the queue then drops where it would mark.

use aqmlab_aqm::{CakeConfig, Discipline, EcnUse, Limit, LinkContext, QueueConfig};
use aqmlab_units::Bytes;
use serde::ser::Error;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::{LinkSpec, SpecError, fault, read};

/// The queue discipline at each end of the link, with the use that it makes of ECN.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueSpec {
    /// The discipline.
    pub discipline: DisciplineSpec,
    /// Does it drop packets where it would mark them?
    pub noecn: bool,
}

/// The discipline of a queue.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum DisciplineSpec {
    /// A discipline of the catalogue.
    Known(QueueConfig),
    /// A custom law.
    Custom(CustomLaw),
    /// A discipline of a Linux kernel.
    Kernel {
        /// Its description.
        kernel: KernelDiscipline,
    },
}

/// A discipline of a Linux kernel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelDiscipline {
    /// Its name and its options as `tc` takes them, such as `codel target 5ms`.
    pub tc: String,
}

/// A law that the caller brings, and its table in the spec.
#[derive(Clone, Debug, PartialEq)]
pub struct CustomLaw {
    /// The caller's name for it, with a colon in it.
    pub name: String,
    /// The most that may wait. Unless given, 10,000 packets: enough never to drop for want of room.
    pub limit: Limit,
    /// The other keys of its table; the engine ignores them.
    pub parameters: Map<String, Value>,
}

impl QueueSpec {
    /// Read `{"name": {"parameter": value}}`, with its automatic values filled in for `link`, checked.
    pub fn read(written: Value, link: &LinkContext) -> Result<QueueSpec, SpecError> {
        QueueSpec::read_at("queue", written, link)
    }

    /// The same for one that stands at `path`.
    fn read_at(path: &str, written: Value, link: &LinkContext) -> Result<QueueSpec, SpecError> {
        let (name, mut parameters) = only_entry(written).map_err(|written| {
            let message = "must be one law with its parameters, such as {\"red\": {}}";
            fault(path, format!("{message}, got {written}"))
        })?;
        let place = format!("{path}.{name}.{NOECN}");
        let noecn = parameters.as_object_mut().and_then(|table| table.remove(NOECN));
        let noecn = noecn.map_or(Ok(false), |noecn| read(&place, noecn))?;
        let discipline = DisciplineSpec::read(path, name, parameters, link)?;
        match discipline.ecn() {
            EcnUse::Ignores if noecn => Err(fault(
                &place,
                "has no effect: this discipline never marks in place of a drop, got true".into(),
            )),
            EcnUse::Requires if noecn => Err(fault(
                &place,
                "must be false: this discipline sorts packets by their ECN field, got true".into(),
            )),
            _ if noecn => {
                discipline.check_without_marks(path)?;
                Ok(QueueSpec { discipline, noecn })
            }
            _ => Ok(QueueSpec { discipline, noecn }),
        }
    }

    /// That of the catalogue, for those who cannot bring a law.
    pub(crate) fn known(&self) -> Result<&QueueConfig, SpecError> {
        match &self.discipline {
            DisciplineSpec::Known(config) => Ok(config),
            DisciplineSpec::Custom(custom) => {
                let message = "is a custom law, which the caller has to bring".to_owned();
                Err(SpecError { path: format!("queue.{}", custom.name), message })
            }
            DisciplineSpec::Kernel { .. } => unreachable!("the plan knows the kernel's disciplines"),
        }
    }

    /// Returns its name in a spec.
    pub fn name(&self) -> &str {
        match &self.discipline {
            DisciplineSpec::Known(config) => config.name(),
            DisciplineSpec::Custom(custom) => &custom.name,
            DisciplineSpec::Kernel { .. } => KERNEL,
        }
    }
}

/// The queues of both directions of a link as they are written, each with its path.
#[derive(Clone)]
pub(super) struct QueuePair {
    forth: (String, Value),
    back: (String, Value),
}

impl QueuePair {
    /// That of both directions stands at `path`, unless direction 1 has another, beside it.
    pub(super) fn new(path: &str, written: Value, back: Option<Value>) -> QueuePair {
        let forth = (path.to_owned(), written);
        let back = back.map_or_else(|| forth.clone(), |back| (format!("{path}_back"), back));
        QueuePair { forth, back }
    }

    /// The same with the queue of direction 1 that is written at `path`, if one is.
    pub(super) fn with_back(self, path: &str, written: Option<Value>) -> QueuePair {
        let back = written.map_or(self.back, |written| (path.to_owned(), written));
        QueuePair { back, ..self }
    }

    /// Read the queues at both ends of `link`; that of direction 1 apart if it differs, be it in automatic values alone.
    pub(super) fn read(self, link: &LinkSpec) -> Result<(QueueSpec, Option<QueueSpec>), SpecError> {
        let [forth_link, back_link] = link.contexts();
        let forth = QueueSpec::read_at(&self.forth.0, self.forth.1, &forth_link)?;
        let back = QueueSpec::read_at(&self.back.0, self.back.1, &back_link)?;
        let differs = back != forth;
        Ok((forth, differs.then_some(back)))
    }
}

/// The key of every discipline's table that takes ECN from it, as `tc` calls it.
pub(super) const NOECN: &str = "noecn";

/// The key of a discipline of the kernel, in place of a name.
pub(super) const KERNEL: &str = "kernel";

/// The parameters that concern marks alone, of any discipline.
pub(super) const OF_MARKS: [&str; 6] =
    ["ce_threshold", "ecn_policy", "next_mark_from", "mark_ecnth", "above_half", "coupled"];

fn refuse_absent_option(path: &str, name: &str, parameters: &Value) -> Result<(), SpecError> {
    let refused = CakeConfig::TC.map_or(&[][..], |tc| tc.refused);
    let written = parameters.as_object().filter(|_| name == "cake").into_iter().flat_map(Map::keys);
    for key in written {
        let option = key.replace('_', "-");
        if let Some((_, why)) =
            refused.iter().find(|(word, _)| word.strip_prefix("no-").unwrap_or(word) == option)
        {
            return Err(fault(&format!("{path}.cake.{key}"), format!("is not modelled: {why}")));
        }
    }
    Ok(())
}

/// The name and the table of the only entry; else the value, which has not one.
fn only_entry(written: Value) -> Result<(String, Value), Value> {
    match written {
        Value::Object(table) if table.len() == 1 => Ok(table.into_iter().next().expect("it has one")),
        _ => Err(written),
    }
}

impl DisciplineSpec {
    fn read(
        path: &str,
        name: String,
        parameters: Value,
        link: &LinkContext,
    ) -> Result<DisciplineSpec, SpecError> {
        if name == KERNEL {
            let kernel = KernelDiscipline::read(&format!("{path}.{name}"), parameters)?;
            return Ok(DisciplineSpec::Kernel { kernel });
        }
        if name.contains(':') {
            return CustomLaw::read(path, name, parameters).map(DisciplineSpec::Custom);
        }
        refuse_absent_option(path, &name, &parameters)?;
        let config: QueueConfig = read(path, Value::Object(Map::from_iter([(name, parameters)])))?;
        let resolved = config.resolve(link);
        resolved
            .map(DisciplineSpec::Known)
            .map_err(|error| fault(&format!("{path}.{}.{}", config.name(), error.field), error.message))
    }

    /// A queue that never marks leaves the parameters of marks at their defaults. Specs in full have all values, so that what
    /// is written cannot be told from a default.
    fn check_without_marks(&self, path: &str) -> Result<(), SpecError> {
        let DisciplineSpec::Known(config) = self else { return Ok(()) };
        let name = config.name();
        let default: QueueConfig = read(path, json!({ name: {} }))?;
        let [written, default] =
            [config, &default].map(|of| serde_json::to_value(of).expect("a discipline has a JSON form"));
        for parameter in OF_MARKS {
            let value = &written[name][parameter];
            if *value != default[name][parameter] {
                let message = format!("has no effect with noecn: it concerns marks, got {value}");
                return Err(fault(&format!("{path}.{name}.{parameter}"), message));
            }
        }
        Ok(())
    }

    /// Returns its use of ECN.
    fn ecn(&self) -> EcnUse {
        match self {
            DisciplineSpec::Known(config) => config.ecn(),
            DisciplineSpec::Custom(_) | DisciplineSpec::Kernel { .. } => EcnUse::Marks,
        }
    }
}

impl KernelDiscipline {
    fn read(place: &str, written: Value) -> Result<KernelDiscipline, SpecError> {
        let text: String = match written {
            Value::Object(mut table) if table.len() == 1 && table.contains_key("tc") => {
                read(place, table["tc"].take())?
            }
            written => read(place, written)?,
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        let is_word = |word: &str| {
            word.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-.:%/".contains(letter))
        };
        // The place of the queue is that of the spec.
        let is_place = |(at, word): &(usize, &&str)| match **word {
            "dev" | "root" | "parent" | "handle" => true,
            // CAKE has an option of this name.
            "clsact" | "ingress" => *at == 0,
            _ => false,
        };
        if let Some((_, word)) = words.iter().enumerate().find(is_place) {
            return Err(fault(
                place,
                format!("must be one discipline with its options, without {word}, got {text:?}"),
            ));
        }
        if words.is_empty() || !words.iter().copied().all(is_word) {
            let message = "must be a discipline with its options as in tc, such as \"codel target 5ms\"";
            return Err(fault(place, format!("{message}, got {text:?}")));
        }
        Ok(KernelDiscipline { tc: words.join(" ") })
    }
}

impl Serialize for QueueSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.noecn {
            return self.discipline.serialize(serializer);
        }
        let mut written = serde_json::to_value(&self.discipline).map_err(S::Error::custom)?;
        let tables = written.as_object_mut().into_iter().flat_map(Map::values_mut);
        for table in tables.filter_map(Value::as_object_mut) {
            table.insert(NOECN.to_owned(), true.into());
        }
        written.serialize(serializer)
    }
}

impl CustomLaw {
    fn read(place: &str, name: String, table: Value) -> Result<CustomLaw, SpecError> {
        let mut parameters: Map<String, Value> = read(&format!("{place}.{name}"), table)?;
        let path = format!("{place}.{name}.limit");
        let limit = match parameters.remove("limit") {
            Some(limit) => read(&path, limit)?,
            None => Limit::Packets(10_000),
        };
        if matches!(limit, Limit::Packets(0) | Limit::Bytes(Bytes::ZERO)) {
            return Err(fault(&path, format!("must be at least 1 packet or 1 B, got {limit}")));
        }
        Ok(CustomLaw { name, limit, parameters })
    }
}

impl Serialize for CustomLaw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut table = self.parameters.clone();
        table.insert("limit".to_owned(), self.limit.to_string().into());
        serializer.collect_map([(&self.name, table)])
    }
}
