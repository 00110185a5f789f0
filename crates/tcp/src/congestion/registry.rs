//! What the table of algorithms is made into: names that parse and display, and new instances.

use std::fmt;
use std::str::FromStr;

use super::Algorithm;

/// Registers the algorithms: variant, the name that users write, and how one is made from a run's seed.
macro_rules! algorithms {
    ($($(#[doc = $doc:literal])+ $variant:ident, $name:literal, $build:expr;)+) => {
        /// A congestion-control algorithm by name. Parses from and displays as the name that Linux'
        /// `TCP_CONGESTION` takes, where Linux has it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Algorithm {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Algorithm {
            /// All of them, in the order of their registration.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// A new instance for one connection. Most draw nothing; BBR takes the phase of its probing from `seed`.
            pub fn build(&self, seed: framewire_units::Seed) -> Box<dyn $crate::congestion::CongestionControl> {
                match self {
                    $(Self::$variant => {
                        let build: fn(framewire_units::Seed) -> Box<dyn $crate::congestion::CongestionControl> = $build;
                        build(seed)
                    })+
                }
            }
        }
    };
}

pub(super) use algorithms;

impl Default for Algorithm {
    /// CUBIC, Linux' default.
    fn default() -> Self {
        Self::Cubic
    }
}

/// A name that no algorithm has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("congestion control `{name}` is not known; allowed are {}", allowed())]
pub struct UnknownAlgorithm {
    /// What was asked for.
    pub name: String,
}

fn allowed() -> String {
    Algorithm::ALL.iter().map(|algorithm| algorithm.name()).collect::<Vec<_>>().join(", ")
}

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    fn from_str(name: &str) -> Result<Self, UnknownAlgorithm> {
        let known = Self::ALL.iter().find(|algorithm| algorithm.name() == name);
        known.copied().ok_or_else(|| UnknownAlgorithm { name: name.to_owned() })
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use framewire_units::Seed;

    use super::*;

    #[test]
    fn every_name_parses_to_its_own_algorithm() {
        for &algorithm in Algorithm::ALL {
            assert_eq!(algorithm.to_string().parse(), Ok(algorithm));
            let name = algorithm.build(Seed(1)).name();
            assert!(algorithm.name().starts_with(name), "{algorithm} builds {name}");
        }
        let names: std::collections::BTreeSet<_> = Algorithm::ALL.iter().map(|algorithm| algorithm.name()).collect();
        assert_eq!(names.len(), Algorithm::ALL.len(), "a name is registered twice");
    }

    #[test]
    fn an_unknown_name_is_told_with_those_allowed() {
        let message = "cubik".parse::<Algorithm>().unwrap_err().to_string();
        assert!(message.contains("`cubik`") && message.contains("reno, cubic"), "{message}");
        assert!("Reno".parse::<Algorithm>().is_err(), "names are lower case, as in TCP_CONGESTION");
    }
}
