//! Which algorithms there are: one line of registration each.

use std::fmt;
use std::str::FromStr;

use framewire_units::Seed;

use super::CongestionControl;
use super::bbr1::Bbr1;
use super::bbr3::Bbr3;
use super::cubic::Cubic;
use super::highspeed::HighSpeed;
use super::htcp::Htcp;
use super::hybla::Hybla;
use super::illinois::Illinois;
use super::reno::Reno;
use super::scalable::Scalable;
use super::vegas::Vegas;
use super::veno::Veno;
use super::westwood::Westwood;

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
            pub fn build(&self, seed: Seed) -> Box<dyn CongestionControl> {
                match self {
                    $(Self::$variant => {
                        let build: fn(Seed) -> Box<dyn CongestionControl> = $build;
                        build(seed)
                    })+
                }
            }
        }
    };
}

algorithms! {
    /// New Reno (RFC 5681, RFC 6582).
    Reno, "reno", |_| Box::new(Reno);
    /// CUBIC (RFC 9438) with HyStart, as Linux has it: the default there.
    Cubic, "cubic", |_| Box::new(Cubic::with_hystart());
    /// CUBIC with HyStart++ (RFC 9406) in place of HyStart.
    CubicHyStartPlusPlus, "cubic-hystart++", |_| Box::new(Cubic::with_hystart_plus_plus());
    /// TCP Illinois (Liu, Basar and Srikant, 2008).
    Illinois, "illinois", |_| Box::new(Illinois::default());
    /// TCP Vegas (Brakmo and Peterson, 1995).
    Vegas, "vegas", |_| Box::new(Vegas::default());
    /// TCP Westwood+ (Grieco and Mascolo, 2004).
    Westwood, "westwood", |_| Box::new(Westwood::default());
    /// TCP Veno (Fu and Liew, 2003).
    Veno, "veno", |_| Box::new(Veno::default());
    /// Scalable TCP (Kelly, 2003).
    Scalable, "scalable", |_| Box::new(Scalable);
    /// HighSpeed TCP (RFC 3649).
    HighSpeed, "highspeed", |_| Box::new(HighSpeed::default());
    /// H-TCP (Shorten and Leith, 2004).
    Htcp, "htcp", |_| Box::new(Htcp::default());
    /// BBR, version 1, as Linux has it.
    Bbr1, "bbr", |seed| Box::new(Bbr1::new(seed));
    /// BBR, version 3 (draft-ietf-ccwg-bbr).
    Bbr3, "bbr3", |seed| Box::new(Bbr3::new(seed));
    /// TCP Hybla (Caini and Firrincieli, 2004).
    Hybla, "hybla", |_| Box::new(Hybla::default());
}

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
