//! Expansion of the list of controls in [`congestion`](super): an enum of names for profiles, and an enum of
//! controls.

/// Declare the congestion controls, one line each. A control that is much larger than the others is in a [`Box`].
macro_rules! controls {
    ($($(#[doc = $doc:literal])+ $name:literal => $Control:ident($Held:ty),)+) => {
        /// A congestion control by its name.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        #[cfg_attr(feature = "serde", derive(serde::Deserialize))]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum Algorithm {
            #[default]
            $(
                $(#[doc = $doc])+
                #[cfg_attr(feature = "serde", serde(rename = $name))]
                $Control,
            )+
            /// One from outside this crate. Its name has a colon.
            #[cfg_attr(feature = "serde", serde(skip))]
            #[cfg_attr(feature = "schema", schemars(skip))]
            Custom(Custom),
        }

        impl Algorithm {
            /// All algorithms of this crate with their names.
            pub const NAMES: [(&'static str, Algorithm); [$($name),+].len()] =
                [$(($name, Algorithm::$Control)),+];
        }

        impl Algorithm {
            /// Its name in specs.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Algorithm::$Control => $name,)+
                    Algorithm::Custom(custom) => custom.name(),
                }
            }
        }

        #[cfg(feature = "serde")]
        impl serde::Serialize for Algorithm {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl std::fmt::Display for Algorithm {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        /// A congestion control of any kind, as a profile chooses it.
        #[derive(Debug)]
        pub enum Any {
            /// Reno of a classic endpoint.
            Classic(ClassicReno),
            /// One from outside this crate.
            Custom(Box<dyn CongestionControl>),
            $($(#[doc = $doc])+ $Control($Held),)+
        }

        /// Call `$method` of the control in `$any`.
        macro_rules! of_any {
            ($any:expr, $method:ident $arguments:tt) => {
                match $any {
                    Any::Classic(control) => control.$method $arguments,
                    Any::Custom(control) => control.$method $arguments,
                    $(Any::$Control(control) => control.$method $arguments,)+
                }
            };
        }

        impl CongestionControl for Any {
            fn new(profile: &Profile) -> Any {
                if profile.is_classic() {
                    return Any::Classic(ClassicReno::new(profile));
                }
                match &profile.congestion {
                    $(Algorithm::$Control => Any::$Control(<$Held>::from($Control::new(profile))),)+
                    Algorithm::Custom(custom) => Any::Custom(custom.make(profile)),
                }
            }

            fn cwnd(&self) -> u32 {
                of_any!(self, cwnd())
            }

            fn ssthresh(&self) -> u32 {
                of_any!(self, ssthresh())
            }

            fn marks(&self) -> Marks {
                of_any!(self, marks())
            }

            fn has_abe(&self) -> bool {
                of_any!(self, has_abe())
            }

            fn needs_rate_samples(&self) -> bool {
                of_any!(self, needs_rate_samples())
            }

            fn pacing_rate(&self) -> Option<BitRate> {
                of_any!(self, pacing_rate())
            }

            fn variables(&self) -> ControlVariables {
                of_any!(self, variables())
            }

            fn on_delivery(&mut self, ack: &Ack) {
                of_any!(self, on_delivery(ack));
            }

            fn on_ack(&mut self, ack: &Ack) {
                of_any!(self, on_ack(ack));
            }

            fn on_fast_retransmit(&mut self, window: u32, mss: u32) {
                of_any!(self, on_fast_retransmit(window, mss));
            }

            fn on_duplicate_ack(&mut self, mss: u32) {
                of_any!(self, on_duplicate_ack(mss));
            }

            fn on_partial_ack(&mut self, ack: &Ack) {
                of_any!(self, on_partial_ack(ack));
            }

            fn on_recovered(&mut self, flight: u32, mss: u32) {
                of_any!(self, on_recovered(flight, mss));
            }

            fn on_timeout(&mut self, window: u32, mss: u32) {
                of_any!(self, on_timeout(window, mss));
            }

            fn on_spurious(&mut self) {
                of_any!(self, on_spurious());
            }

            fn on_ecn_echo(&mut self, window: u32, mss: u32) {
                of_any!(self, on_ecn_echo(window, mss));
            }

            fn on_idle(&mut self, initial_window: u32) {
                of_any!(self, on_idle(initial_window));
            }
        }
    };
}

pub(super) use controls;
