//! Losses on the wire of a link: of each packet by itself, or in bursts.

use std::fmt;

use aqmlab_units::range::{above, from};
#[cfg(feature = "schema")]
use aqmlab_units::schema::with_ranges;
use aqmlab_units::{Duration, Prob, Range, ranges};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::impairments::MOST_TIME;
use super::per_direction::OneDirection;
use super::{SpecError, fault, within};

/// The losses of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum LossSpec {
    /// Each packet is lost with this probability.
    Independent(f64),
    /// Losses come in bursts.
    Bursts(BurstsSpec),
}

/// A process of losses in bursts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BurstsSpec {
    /// The process of Gilbert and Elliott.
    GilbertElliott(GilbertElliottSpec),
    /// The process of Gilbert and Elliott over time.
    GilbertElliottTime(TwoStatesSpec),
    /// The process of four states.
    FourState(FourStateSpec),
}

/// A process of two states, good and bad, which may change before each packet: `loss gemodel` of `netem`. The state is bad for
/// p / (p + r) of the packets, and lasts for 1 / r packets in the mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "GilbertElliott", transform = with_ranges::<GilbertElliottSpec>))]
#[serde(deny_unknown_fields)]
pub struct GilbertElliottSpec {
    /// The probability that a good state becomes bad.
    pub p: f64,
    /// The probability that a bad state becomes good.
    pub r: f64,
    /// The probability that a packet passes in a bad state.
    #[serde(default)]
    pub h: f64,
    /// The probability that a packet passes in a good state; above h.
    #[serde(default = "always")]
    pub k: f64,
    /// The time at which the state may change. `netem` has `after`.
    #[serde(default, skip_serializing_if = "StateChange::is_before")]
    pub change: StateChange,
}

/// A process of two states, good and bad, whose times are exponential: the state changes also while no packet is sent. It is bad
/// for bad / (good + bad) of the time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "GilbertElliottTime", transform = with_ranges::<TwoStatesSpec>))]
#[serde(deny_unknown_fields)]
pub struct TwoStatesSpec {
    /// The mean time of a good state.
    pub good: Duration,
    /// The mean time of a bad state.
    pub bad: Duration,
    /// The probability that a packet passes in a bad state.
    #[serde(default)]
    pub h: f64,
    /// The probability that a packet passes in a good state; above h.
    #[serde(default = "always")]
    pub k: f64,
}

ranges! {
    TwoStatesSpec {
        good: STATE_TIMES,
        bad: STATE_TIMES,
        h: from(0.0).up_to(1.0),
        k: from(0.0).up_to(1.0),
    }
}

/// From states shorter than a packet to the longest run. A state has a microsecond at least: a bound on their number.
const STATE_TIMES: Range<Duration> = from(Duration::from_micros(1)).up_to(MOST_TIME);

/// The time at which the state of a process may change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum StateChange {
    /// Before a packet, whose fate has the probability of the new state.
    #[default]
    Before,
    /// After a packet.
    After,
}

impl StateChange {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_before(&self) -> bool {
        *self == StateChange::Before
    }
}

/// A process of four states, which may change before each packet: `loss state` of `netem`. In states 1 and 2 packets pass, and in
/// states 3 and 4 they are lost. State 1 is a gap between bursts, and state 4 an isolated loss in it, after which state 1 follows.
/// States 2 and 3 are a burst.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "FourState", transform = with_ranges::<FourStateSpec>))]
#[serde(deny_unknown_fields)]
pub struct FourStateSpec {
    /// The probability that a burst begins, with a loss.
    pub p13: f64,
    /// The probability that a burst ends after a loss.
    pub p31: f64,
    /// The probability that packets pass within a burst after a loss.
    #[serde(default)]
    pub p32: f64,
    /// The probability that packets are lost again within a burst.
    #[serde(default = "always")]
    pub p23: f64,
    /// The probability of an isolated loss.
    #[serde(default)]
    pub p14: f64,
}

ranges! {
    FourStateSpec {
        p13: from(0.0).up_to(1.0),
        p31: above(0.0).up_to(1.0),
        p32: from(0.0).up_to(1.0),
        p23: above(0.0).up_to(1.0),
        p14: from(0.0).up_to(1.0),
    }
}

ranges! {
    GilbertElliottSpec { p: above(0.0).up_to(1.0), r: above(0.0).up_to(1.0), h: from(0.0).up_to(1.0), k: from(0.0).up_to(1.0) }
}

fn always() -> f64 {
    1.0
}

impl LossSpec {
    /// Checks the losses at `path`.
    pub(super) fn check(&self, path: &str) -> Result<(), SpecError> {
        match *self {
            LossSpec::Independent(probability) => match Prob::new(probability) {
                Some(_) => Ok(()),
                None => Err(fault(path, format!("must be between 0 and 1, got {probability}"))),
            },
            LossSpec::Bursts(BurstsSpec::GilbertElliott(process)) => {
                let path = format!("{path}.{GILBERT_ELLIOTT}");
                within(&path, &process)?;
                check_pass(&path, process.h, process.k)
            }
            LossSpec::Bursts(BurstsSpec::GilbertElliottTime(process)) => {
                let path = format!("{path}.{GILBERT_ELLIOTT_TIME}");
                within(&path, &process)?;
                check_pass(&path, process.h, process.k)
            }
            LossSpec::Bursts(BurstsSpec::FourState(process)) => {
                let path = format!("{path}.{FOUR_STATE}");
                within(&path, &process)?;
                let FourStateSpec { p13, p14, p31, p32, .. } = process;
                for (name, value, other, taken) in [("p14", p14, "p13", p13), ("p32", p32, "p31", p31)] {
                    if value + taken > 1.0 {
                        let message = format!("must be at most 1 - {other}, got {value}");
                        return Err(fault(&format!("{path}.{name}"), message));
                    }
                }
                Ok(())
            }
        }
    }

    /// Returns true if it loses no packet.
    pub(crate) fn is_none(&self) -> bool {
        *self == LossSpec::Independent(0.0)
    }
}

/// Checks the probabilities that packets pass in a bad and in a good state.
fn check_pass(path: &str, h: f64, k: f64) -> Result<(), SpecError> {
    if k <= h {
        return Err(fault(&format!("{path}.k"), format!("must be above h = {h}, got {k}")));
    }
    Ok(())
}

const GILBERT_ELLIOTT: &str = "gilbert_elliott";
const GILBERT_ELLIOTT_TIME: &str = "gilbert_elliott_time";
const FOUR_STATE: &str = "four_state";

impl OneDirection for LossSpec {
    const KEYS: &'static [&'static str] = &["up", "down", GILBERT_ELLIOTT, GILBERT_ELLIOTT_TIME, FOUR_STATE];
    const EXPECTED: &'static str = "a probability, or a table of up and down, of gilbert_elliott, of gilbert_elliott_time or of four_state";

    fn from_table<'de, A: MapAccess<'de>>(table: A) -> Result<LossSpec, A::Error> {
        BurstsSpec::deserialize(MapAccessDeserializer::new(table)).map(LossSpec::Bursts)
    }
}

impl<'de> Deserialize<'de> for LossSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LossSpec, D::Error> {
        deserializer.deserialize_any(Form)
    }
}

struct Form;

impl<'de> Visitor<'de> for Form {
    type Value = LossSpec;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(LossSpec::EXPECTED)
    }

    #[expect(clippy::cast_precision_loss, reason = "0 and 1 are the only probabilities among them")]
    fn visit_u64<E: Error>(self, number: u64) -> Result<LossSpec, E> {
        Ok(LossSpec::Independent(number as f64))
    }

    #[expect(clippy::cast_precision_loss, reason = "it is out of range")]
    fn visit_i64<E: Error>(self, number: i64) -> Result<LossSpec, E> {
        Ok(LossSpec::Independent(number as f64))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<LossSpec, E> {
        Ok(LossSpec::Independent(number))
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<LossSpec, A::Error> {
        LossSpec::from_table(table)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for LossSpec {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Loss".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": ["number", "object"],
            "minimum": 0,
            "maximum": 1,
            "properties": {
                GILBERT_ELLIOTT: generator.subschema_for::<GilbertElliottSpec>(),
                GILBERT_ELLIOTT_TIME: generator.subschema_for::<TwoStatesSpec>(),
                FOUR_STATE: generator.subschema_for::<FourStateSpec>(),
            },
            "additionalProperties": false,
            "minProperties": 1,
        })
    }
}
