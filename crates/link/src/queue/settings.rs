//! The numbers that a discipline goes by: each has a name, a meaning, a default and a range.

use framewire_units::{DataSize, Duration, Probability};

/// A number of a discipline. Two of one kind compare.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub enum SettingValue {
    /// A duration.
    Time(Duration),
    /// Bytes.
    Size(DataSize),
    /// How many.
    Count(u32),
    /// A probability or a share.
    Share(Probability),
    /// A number without a unit, or in Hz.
    Number(f64),
    /// Yes or no.
    Flag(bool),
}

/// What can be said of a number of a discipline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// The name that users write.
    pub name: &'static str,
    /// What it means and where its default comes from.
    pub meaning: &'static str,
    /// Its value where nothing is said.
    pub default: SettingValue,
    /// The least that is allowed.
    pub least: SettingValue,
    /// The most that is allowed.
    pub most: SettingValue,
}

impl Setting {
    /// Whether `value` is of its kind and in its range.
    pub fn allows(&self, value: SettingValue) -> bool {
        // Values of different kinds are never in order both ways, so that each must be of this one.
        let same_kind = std::mem::discriminant(&value) == std::mem::discriminant(&self.default);
        same_kind && self.least <= value && value <= self.most
    }
}

/// What a type of settings is made of.
pub(super) trait Settings: Copy {
    const LIST: &'static [Setting];

    /// The value of a setting that there is.
    fn get(&self, name: &str) -> Option<SettingValue>;

    /// Gives a setting another value, if there is one of this name and kind.
    fn set(&mut self, name: &str, value: SettingValue) -> bool;
}

/// A type that a setting may have.
pub(super) trait Kind: Copy {
    fn from_value(value: SettingValue) -> Option<Self>;
    fn to_value(self) -> SettingValue;
}

macro_rules! kinds {
    ($($kind:ty => $variant:ident,)+) => {
        $(impl Kind for $kind {
            fn from_value(value: SettingValue) -> Option<Self> {
                match value {
                    SettingValue::$variant(value) => Some(value),
                    _ => None,
                }
            }

            fn to_value(self) -> SettingValue {
                SettingValue::$variant(self)
            }
        })+
    };
}

kinds! {
    Duration => Time,
    DataSize => Size,
    u32 => Count,
    Probability => Share,
    f64 => Number,
    bool => Flag,
}

/// Defines the settings of a discipline: a field each, with its kind, its default and the range that is allowed.
macro_rules! settings {
    ($(#[doc = $about:literal])+ $name:ident {
        $($(#[doc = $meaning:literal])+ $field:ident: $kind:ident($inner:ty) = $default:expr, $least:expr => $most:expr;)+
    }) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $name {
            $($(#[doc = $meaning])+ pub $field: $inner,)+
        }

        impl $name {
            pub(super) const DEFAULT: Self = Self { $($field: $default,)+ };
        }

        impl Default for $name {
            fn default() -> Self {
                Self::DEFAULT
            }
        }

        impl $crate::queue::settings::Settings for $name {
            const LIST: &'static [$crate::queue::settings::Setting] = &[$($crate::queue::settings::Setting {
                name: stringify!($field),
                meaning: concat!($($meaning),+).trim_ascii(),
                default: $crate::queue::settings::SettingValue::$kind($default),
                least: $crate::queue::settings::SettingValue::$kind($least),
                most: $crate::queue::settings::SettingValue::$kind($most),
            }),+];

            fn get(&self, name: &str) -> Option<$crate::queue::settings::SettingValue> {
                match name {
                    $(stringify!($field) => Some($crate::queue::settings::Kind::to_value(self.$field)),)+
                    _ => None,
                }
            }

            fn set(&mut self, name: &str, value: $crate::queue::settings::SettingValue) -> bool {
                match name {
                    $(stringify!($field) => {
                        $crate::queue::settings::Kind::from_value(value).map(|value| self.$field = value).is_some()
                    })+
                    _ => false,
                }
            }
        }
    };
}
pub(super) use settings;
