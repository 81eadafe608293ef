//! Tables by columns. A column is declared once, by its name, the type of its values and their meaning: all readers of a
//! table, Arrow and the reference pages among them, use this declaration. A unit is part of the name.

/// A column and its values, one for each row.
#[derive(Clone, Debug)]
pub struct Column {
    /// The name of the column.
    pub name: &'static str,
    /// The values.
    pub values: Values,
}

/// Values of one type.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the types say it")]
pub enum Values {
    Bool(Vec<bool>),
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    F64(Vec<f64>),
    /// Values of which some rows may have none.
    SomeF64(Vec<Option<f64>>),
    Text(Vec<&'static str>),
}

/// A table whose columns can be taken out.
pub trait Table: Default {
    /// Its columns in their order.
    fn into_columns(self) -> Vec<Column>;
}

/// A field of a table: a column, several columns with names of their own, or none.
pub(super) trait Field {
    fn add_to(self, columns: &mut Vec<Column>, name: &'static str);
}

impl<T> Field for Vec<T>
where
    Values: From<Vec<T>>,
{
    fn add_to(self, columns: &mut Vec<Column>, name: &'static str) {
        columns.push(Column { name, values: self.into() });
    }
}

/// A column that only some runs have.
impl<T> Field for Option<Vec<T>>
where
    Values: From<Vec<T>>,
{
    fn add_to(self, columns: &mut Vec<Column>, name: &'static str) {
        columns.extend(self.map(|values| Column { name, values: values.into() }));
    }
}

/// Columns under names of their own.
impl<T> Field for Vec<(&'static str, Vec<T>)>
where
    Values: From<Vec<T>>,
{
    fn add_to(self, columns: &mut Vec<Column>, _name: &'static str) {
        columns.extend(self.into_iter().map(|(name, values)| Column { name, values: values.into() }));
    }
}

macro_rules! values {
    ($($Variant:ident: $type:ty,)+) => {$(
        impl From<Vec<$type>> for Values {
            fn from(values: Vec<$type>) -> Values {
                Values::$Variant(values)
            }
        }
    )+};
}
values! {
    Bool: bool,
    U8: u8,
    U16: u16,
    U32: u32,
    U64: u64,
    F64: f64,
    SomeF64: Option<f64>,
    Text: &'static str,
}

/// Declares a table as the struct of its columns.
macro_rules! table {
    (
        $(#[$attribute:meta])*
        pub struct $Table:ident {$(
            $(#[$about:meta])+
            pub $column:ident: $Kind:ty,
        )+}
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, Default)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct $Table {$(
            $(#[$about])+
            pub $column: $Kind,
        )+}

        impl $crate::record::Table for $Table {
            fn into_columns(self) -> Vec<$crate::record::Column> {
                let mut columns = Vec::new();
                $($crate::record::columns::Field::add_to(self.$column, &mut columns, stringify!($column));)+
                columns
            }
        }
    };
}
pub(crate) use table;

/// Declares what is taken out of a run: each table under its name.
macro_rules! tables {
    (
        $(#[$attribute:meta])*
        pub struct $Tables:ident {$(
            $(#[$about:meta])+
            pub $table:ident: $Table:ty,
        )+}
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, Default)]
        pub struct $Tables {$(
            $(#[$about])+
            pub $table: $Table,
        )+}

        impl $Tables {
            /// The rows of the table of this name since they were last taken; `None` when there is no such table.
            pub fn take(&mut self, name: &str) -> Option<Vec<Column>> {
                match name {
                    $(stringify!($table) => Some(std::mem::take(&mut self.$table).into_columns()),)+
                    _ => None,
                }
            }

            /// The tables' names and columns.
            #[cfg(feature = "schema")]
            pub fn schemas() -> Vec<(&'static str, schemars::Schema)> {
                vec![$((stringify!($table), schemars::schema_for!($Table)),)+]
            }
        }
    };
}
pub(super) use tables;
