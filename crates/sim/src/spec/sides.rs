//! Names of the two sides of the network, and of the two directions between them.

use serde::Serialize;
use serde_json::{Map, Value};

use super::{SpecError, fault};
use crate::side::Direction;

/// The longest name of a side, in characters.
const LONGEST: usize = 40;

/// The arrow between the sides in the name of a direction, and how it is typed.
const ARROWS: [&str; 2] = ["→", "->"];

/// The names of side 0 and side 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SidesSpec([String; 2]);

impl SidesSpec {
    /// Check names as they are written.
    pub(super) fn read(written: [String; 2]) -> Result<SidesSpec, SpecError> {
        for (number, name) in written.iter().enumerate() {
            let wrong = if name.trim() != name || name.is_empty() {
                Some("must not be empty, nor begin or end with a space")
            } else if name.chars().any(char::is_control) {
                Some("must have no control characters")
            } else if name.chars().count() > LONGEST {
                Some("must have at most 40 characters")
            } else if ARROWS.iter().any(|arrow| name.contains(arrow)) {
                Some("must have no arrow: a direction is written with one, `home->internet`")
            } else {
                None
            };
            if let Some(wrong) = wrong {
                return Err(fault(&format!("sides[{number}]"), format!("{wrong}, got {name:?}")));
            }
        }
        if written[0] == written[1] {
            return Err(fault("sides", format!("must be two different names, got {:?} twice", written[0])));
        }
        Ok(SidesSpec(written))
    }

    /// The name of `direction`: `home→internet`, or without names of sides `forward` or `reverse`.
    pub(crate) fn direction(sides: Option<&SidesSpec>, direction: Direction) -> String {
        match sides {
            None => ["forward", "reverse"][direction.index()].to_owned(),
            Some(SidesSpec([first, second])) if direction == Direction::FORWARD => {
                format!("{first}→{second}")
            }
            Some(SidesSpec([first, second])) => format!("{second}→{first}"),
        }
    }
}

/// Replace the names of sides by their numbers where people write them: in sources, and in `tcp.mix`.
pub(super) fn number_sides(
    sides: Option<&SidesSpec>,
    sources: &mut [Value],
    tcp: &mut Map<String, Value>,
) -> Result<(), SpecError> {
    for (number, source) in sources.iter_mut().enumerate() {
        let Some((kind, table)) = source.as_object_mut().and_then(|source| source.iter_mut().next()) else {
            continue;
        };
        number_side(sides, &format!("sources[{number}].{kind}"), table)?;
    }
    let mix = tcp.get_mut("mix").and_then(Value::as_array_mut);
    for (number, entry) in mix.into_iter().flatten().enumerate() {
        number_side(sides, &format!("tcp.mix[{number}]"), entry)?;
    }
    Ok(())
}

/// Replace the name of a side in the table at `path`.
fn number_side(sides: Option<&SidesSpec>, path: &str, table: &mut Value) -> Result<(), SpecError> {
    let Some(side) = table.get_mut("side") else { return Ok(()) };
    let Some(name) = side.as_str() else { return Ok(()) };
    let known = sides.map_or(&[][..], |sides| &sides.0[..]);
    let Some(number) = known.iter().position(|side| side == name) else {
        let message = match known {
            [first, second] => format!("must be 0 ({first}) or 1 ({second}), got {name:?}"),
            _ => format!("must be 0 or 1 where `sides` gives them no names, got {name:?}"),
        };
        return Err(fault(&format!("{path}.side"), message));
    };
    *side = number.into();
    Ok(())
}
