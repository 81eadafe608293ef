//! Choices: parameters whose values have names.

/// One value of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Its name in configurations.
    pub name: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
}

/// Declare a choice: each variant with its meaning and its name in configurations.
macro_rules! choices {
    (
        $(#[$attribute:meta])*
        pub enum $Option:ident {$(
            $(#[doc = $meaning:literal])+
            $Variant:ident = $name:literal,
        )+}
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[cfg_attr(feature = "serde", derive(serde::Deserialize))]
        pub enum $Option {$(
            $(#[doc = $meaning])+
            #[cfg_attr(feature = "serde", serde(rename = $name))]
            $Variant,
        )+}

        impl $Option {
            /// All values.
            pub const ALL: &[$Option] = &[$($Option::$Variant),+];
        }

        impl std::fmt::Display for $Option {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self { $($Option::$Variant => $name),+ })
            }
        }

        impl $crate::parameter::Settable for $Option {
            type Range = ();
            const UNIT: &'static str = "name";

            fn value(&self) -> $crate::parameter::Value {
                $crate::parameter::Value::Text(self.to_string())
            }

            fn allowed((): ()) -> $crate::parameter::Allowed {
                const CHOICES: &[$crate::parameter::Choice] = &[$(
                    $crate::parameter::Choice { name: $name, meaning: concat!($($meaning),+).trim_ascii() },
                )+];
                $crate::parameter::Allowed::Choice(CHOICES)
            }

            fn check(&self, (): (), _: &'static str, _: &str) -> Result<(), $crate::ParameterError> {
                Ok(())
            }
        }
    };
}
pub(crate) use choices;
