//! Enumerations that files, command lines and elements write as words.

use std::fmt;

/// A value of a small set, each with the word that users write for it. Made by [`keywords!`](crate::keywords).
pub trait Keyword: Copy + Eq + fmt::Debug + 'static {
    /// The name of the set.
    const NAME: &'static str;

    /// Every value, in the order of the documentation.
    const ALL: &'static [Self];

    /// What the set says of the thing that has a value of it.
    const MEANING: &'static str;

    /// The word.
    fn as_str(self) -> &'static str;

    /// What the value means.
    fn meaning(self) -> &'static str;
}

/// A text that is no word of its set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownKeyword {
    text: String,
    allowed: String,
}

impl UnknownKeyword {
    /// `text` is not a word of `T`.
    pub fn of<T: Keyword>(text: &str) -> Self {
        let words: Vec<&str> = T::ALL.iter().map(|&value| value.as_str()).collect();
        Self { text: text.to_owned(), allowed: words.join(", ") }
    }
}

impl fmt::Display for UnknownKeyword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" is not allowed; allowed is one of {}", self.text, self.allowed)
    }
}

impl std::error::Error for UnknownKeyword {}

/// Defines an enumeration with one word per value. What stands above a value as its documentation is what schemas and the
/// help of command lines say of it.
///
/// ```
/// use framewire_units::{Keyword, keywords};
///
/// keywords! {
///     /// The frequency of the mains.
///     Mains {
///         /// Europe.
///         Hz50 = "50 Hz",
///         /// America.
///         Hz60 = "60 Hz",
///     }
/// }
///
/// assert_eq!("60 Hz".parse(), Ok(Mains::Hz60));
/// assert_eq!(Mains::Hz50.to_string(), "50 Hz");
/// assert_eq!(Mains::Hz50.meaning(), "Europe.");
/// assert!("70 Hz".parse::<Mains>().unwrap_err().to_string().contains("one of 50 Hz, 60 Hz"));
/// ```
#[macro_export]
macro_rules! keywords {
    ($(#[doc = $doc:literal])+ $name:ident { $($(#[doc = $meaning:literal])+ $value:ident = $word:literal,)+ }) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[doc = $meaning])+ $value,)+
        }

        impl $name {
            /// Every value, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$value),+];

            /// The word that users write.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$value => $word),+ }
            }
        }

        impl $crate::Keyword for $name {
            const NAME: &'static str = stringify!($name);
            const ALL: &'static [Self] = Self::ALL;
            const MEANING: &'static str = concat!($($doc),+).trim_ascii();

            fn as_str(self) -> &'static str {
                self.as_str()
            }

            fn meaning(self) -> &'static str {
                match self { $(Self::$value => concat!($($meaning),+).trim_ascii()),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::UnknownKeyword;

            fn from_str(text: &str) -> Result<Self, $crate::UnknownKeyword> {
                let mut values = Self::ALL.iter().copied();
                values.find(|value| value.as_str() == text).ok_or_else(|| $crate::UnknownKeyword::of::<Self>(text))
            }
        }
    };
}
