//! Enumerations that the file writes as words.

use crate::error::nearest;

/// Defines an enumeration with one word per variant: the word is what the file, JSON and the schema say.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, schemars::JsonSchema)]
        pub enum $name {
            $($(#[$variant_meta])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// Every value, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The word that the file uses.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl $crate::text::Text for $name {
            const PATTERN: &str = ""; // the schema lists the words

            fn parse(text: &str) -> Result<Self, String> {
                $crate::names::find(text, Self::ALL, Self::as_str)
            }

            fn show(&self) -> String {
                self.as_str().to_owned()
            }
        }
    };
}
pub(crate) use words;

/// The value whose word this is.
///
/// # Errors
/// Where it is none's; with what is allowed, and what may have been meant.
pub(crate) fn find<T: Copy>(text: &str, all: &[T], word: impl Fn(T) -> &'static str) -> Result<T, String> {
    all.iter().copied().find(|&value| word(value) == text).ok_or_else(|| {
        let words: Vec<&str> = all.iter().map(|&value| word(value)).collect();
        let one_of = if words.len() > 1 { "one of " } else { "only " };
        let guess = nearest(text, &words).filter(|_| words.len() > 1);
        let hint = guess.map_or(String::new(), |guess| format!(" (did you mean \"{guess}\"?)"));
        format!("{one_of}{}{hint}", words.join(", "))
    })
}
