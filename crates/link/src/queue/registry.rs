//! Which disciplines there are: one line of registration each.

use framewire_units::Seed;

use super::codel::{Codel, CodelSettings};
use super::discipline::{QueueDiscipline, QueueSetup};
use super::drop_tail::DropTail;
use super::dualpi2::{DualPi2, DualPi2Settings};
use super::fq_codel::{FqCodel, FqCodelSettings};
use super::head_drop::HeadDrop;
use super::pie::{Pie, PieSettings};
use super::red::{Red, RedSettings};
use super::settings::{Setting, SettingValue, Settings};
use crate::config::ConfigError;

/// Registers the disciplines: variant, its settings if it has any, the name that users write, and how a queue is made.
macro_rules! disciplines {
    ($($(#[doc = $doc:literal])+ $variant:ident $(($own:ident: $settings:ty))?, $name:literal, $build:expr;)+) => {
        /// What becomes of what waits in a queue, and the numbers that this goes by.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Discipline {
            $($(#[doc = $doc])+ $variant $(($settings))?,)+
        }

        impl Discipline {
            /// Every discipline with its defaults, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant $((<$settings>::DEFAULT))?),+];

            /// The word that users write.
            pub const fn as_str(&self) -> &'static str {
                match self { $(Self::$variant { .. } => $name),+ }
            }

            /// What it does.
            pub const fn meaning(&self) -> &'static str {
                match self { $(Self::$variant { .. } => concat!($($doc),+).trim_ascii()),+ }
            }

            /// The numbers that it goes by; of most there are none.
            pub fn settings(&self) -> &'static [Setting] {
                match self { $(Self::$variant { .. } => list_of(&[$(<$settings as Settings>::LIST)?])),+ }
            }

            /// The value of one of them; `None` where it has no such number.
            pub fn get(&self, name: &str) -> Option<SettingValue> {
                let values: [Option<SettingValue>; 1] = match self {
                    $(Self::$variant $(($own))? => one_of([$($own.get(name))?]),)+
                };
                values[0]
            }

            /// The same with another value of one of its numbers.
            ///
            /// # Errors
            /// Where it has no such number, or the value is not in its range.
            pub fn with(mut self, name: &str, value: SettingValue) -> Result<Self, ConfigError> {
                let error = |allowed: &str| ConfigError::new(name, format!("{value:?}"), allowed);
                let setting = self.settings().iter().find(|setting| setting.name == name);
                let setting = setting.ok_or_else(|| error("not a number of this discipline"))?;
                if !setting.allows(value) {
                    return Err(error(&format!("{:?} to {:?} is allowed", setting.least, setting.most)));
                }
                match &mut self { $(Self::$variant $(($own))? => { $($own.set(name, value);)? })+ }
                Ok(self)
            }

            /// An empty queue. Most disciplines draw nothing; what others do comes from `seed`, which is this queue's own.
            pub(crate) fn build(self, setup: &QueueSetup, seed: Seed) -> Box<dyn QueueDiscipline> {
                match self { $(Self::$variant $(($own))? => made($build, setup, seed)),+ }
            }
        }
    };
}

disciplines! {
    /// First in, first out; refuses what arrives at a full queue.
    DropTail, "drop-tail", |setup, _| Box::new(DropTail::new(setup));
    /// First in, first out; a full queue gives up what has waited longest for what arrives.
    HeadDrop, "head-drop", |setup, _| Box::new(HeadDrop::new(setup));
    /// Random early detection (Floyd and Jacobson 1993): drops what arrives, more often the longer the queue is in the mean.
    Red(settings: RedSettings), "red", |setup, seed| Box::new(Red::new(settings, setup, seed));
    /// Controlled delay (RFC 8289): drops the oldest packets while all have waited too long.
    Codel(settings: CodelSettings), "codel", |setup, _| Box::new(Codel::new(settings, setup));
    /// A queue for each connection, served in turns, each with CoDel (RFC 8290).
    FqCodel(settings: FqCodelSettings), "fq-codel", |setup, seed| Box::new(FqCodel::new(settings, setup, seed));
    /// Proportional integral controller enhanced (RFC 8033): drops what arrives, so that the wait comes to a target.
    Pie(settings: PieSettings), "pie", |setup, seed| Box::new(Pie::new(settings, setup, seed));
    /// Two coupled queues, of which one has low delay for transports that answer to marks in proportion (RFC 9332).
    DualPi2(settings: DualPi2Settings), "dualpi2", |setup, _| Box::new(DualPi2::new(settings, setup));
}

fn list_of(lists: &[&'static [Setting]]) -> &'static [Setting] {
    lists.first().copied().unwrap_or(&[])
}

fn one_of<const N: usize>(values: [Option<SettingValue>; N]) -> [Option<SettingValue>; 1] {
    [values.first().copied().flatten()]
}

fn made(
    build: impl FnOnce(&QueueSetup, Seed) -> Box<dyn QueueDiscipline>,
    setup: &QueueSetup,
    seed: Seed,
) -> Box<dyn QueueDiscipline> {
    build(setup, seed)
}

impl Default for Discipline {
    /// Drop-tail, as in every plain router.
    fn default() -> Self {
        Self::DropTail
    }
}

impl Discipline {
    /// Checks what its numbers have to do with each other; each alone is checked by [`with`](Self::with).
    ///
    /// # Errors
    /// Where they contradict each other.
    pub fn validate(&self) -> Result<(), ConfigError> {
        match self {
            Self::Red(red) if red.min_threshold >= red.max_threshold => Err(ConfigError::new(
                "max_threshold",
                red.max_threshold,
                &format!("more than min_threshold = {} is allowed", red.min_threshold),
            )),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use framewire_units::DataSize;

    use super::super::QueueLimit;
    use super::*;

    #[test]
    fn no_name_is_registered_twice_and_each_makes_an_empty_queue() {
        let names: BTreeSet<_> = Discipline::ALL.iter().map(|discipline| discipline.as_str()).collect();
        assert_eq!(names.len(), Discipline::ALL.len());
        let setup = QueueSetup { limit: QueueLimit::Packets(1), mtu: DataSize::from_bytes(1500), rate: None };
        assert!(Discipline::ALL.iter().all(|discipline| discipline.build(&setup, Seed(1)).backlog().packets == 0));
    }

    #[test]
    fn every_number_has_a_default_in_its_range_and_can_be_set() {
        for discipline in Discipline::ALL {
            for setting in discipline.settings() {
                assert!(setting.allows(setting.default), "{setting:?}");
                assert_eq!(discipline.get(setting.name), Some(setting.default));
                for value in [setting.least, setting.most] {
                    let other = discipline.with(setting.name, value).unwrap();
                    assert_eq!(other.get(setting.name), Some(value));
                }
            }
        }
        assert_eq!(Discipline::DropTail.get("target"), None);
        let unknown = Discipline::DropTail.with("target", SettingValue::Flag(true)).unwrap_err();
        assert!(unknown.to_string().contains("target"), "{unknown}");
    }

    #[test]
    fn a_value_of_another_kind_or_out_of_range_is_refused() {
        let codel = Discipline::Codel(CodelSettings::default());
        let refused = |value| codel.with("target", value).unwrap_err().to_string();
        assert!(refused(SettingValue::Count(5)).contains("is allowed"));
        assert!(refused(SettingValue::Time(framewire_units::Duration::ZERO)).contains("is allowed"));
        let red = Discipline::Red(RedSettings { min_threshold: 15, ..RedSettings::default() });
        assert!(red.validate().unwrap_err().to_string().contains("min_threshold = 15"));
    }
}
