//! Enumerations that the file writes as words.

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
                let words: Vec<&str> = Self::ALL.iter().map(|value| value.as_str()).collect();
                Self::ALL.iter().copied().find(|value| value.as_str() == text).ok_or_else(|| {
                    let one_of = if words.len() > 1 { "one of " } else { "only " };
                    let guess = $crate::error::nearest(text, &words).filter(|_| words.len() > 1);
                    let hint = guess.map_or(String::new(), |guess| format!(" (did you mean \"{guess}\"?)"));
                    format!("{one_of}{}{hint}", words.join(", "))
                })
            }

            fn show(&self) -> String {
                self.as_str().to_owned()
            }
        }
    };
}
pub(crate) use words;
