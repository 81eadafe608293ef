//! The laws' variables: columns that each law names itself.

use super::columns::{Column, Field, Values};

/// The variables of the laws of a table's rows.
#[derive(Clone, Debug, Default)]
pub struct Variables {
    /// Under their names, in their own order; not a number in the rows of a law that has none of that name.
    pub each: Vec<(&'static str, Vec<f64>)>,
    /// Rows are of several laws.
    of_several: bool,
}

impl Variables {
    /// Adds row `row`: the variables of `probe`. Rows may be of `several_laws`.
    pub(super) fn push(
        &mut self,
        row: usize,
        several_laws: bool,
        probe: impl FnOnce(&mut dyn FnMut(&'static str, f64)),
    ) {
        self.of_several = several_laws;
        probe(&mut |name, value| {
            let known = self.each.iter().position(|&(column, _)| column == name);
            let column = known.unwrap_or_else(|| {
                self.each.push((name, vec![f64::NAN; row]));
                self.each.len() - 1
            });
            self.each[column].1.push(value);
        });
        for (_, values) in &mut self.each {
            values.resize(row + 1, f64::NAN);
        }
    }
}

impl Field for Variables {
    fn add_to(self, columns: &mut Vec<Column>, _name: &'static str) {
        let there = |value: f64| (!value.is_nan()).then_some(value);
        columns.extend(self.each.into_iter().map(|(name, values)| {
            let values = if self.of_several {
                Values::SomeF64(values.into_iter().map(there).collect())
            } else {
                Values::F64(values)
            };
            Column { name, values }
        }));
    }
}
