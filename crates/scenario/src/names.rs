//! Enumerations that the file writes as words.

use std::borrow::Cow;
use std::marker::PhantomData;

use framewire_units::Keyword;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::suggestions::nearest;

/// Defines an enumeration with one word per variant: the word is what the file, JSON and the schema say.
macro_rules! keywords {
    ($(#$doc:tt)* $name:ident { $($values:tt)+ }) => {
        framewire_units::keywords! { $(#$doc)* $name { $($values)+ } }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $crate::names::schema::<Self>()
            }
        }

        $crate::names::text_keywords! { $name }
    };
}
pub(crate) use keywords;

/// Makes the file write enumerations as their words that are of other crates.
macro_rules! text_keywords {
    ($($name:ty)+) => {
        $(impl $crate::text::Text for $name {
            const PATTERN: &str = ""; // the schema lists the words

            fn parse(text: &str) -> Result<Self, String> {
                $crate::names::find(text, Self::ALL, Self::as_str)
            }

            fn show(&self) -> String {
                self.as_str().to_owned()
            }

            fn schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                generator.subschema_for::<$crate::names::Named<Self>>()
            }
        })+
    };
}
pub(crate) use text_keywords;

/// The words, and what each of them means.
pub(crate) fn schema<T: Keyword>() -> Schema {
    let word = |value: &T| json_schema!({ "description": value.meaning(), "type": "string", "const": value.as_str() });
    let words: Vec<Schema> = T::ALL.iter().map(word).collect();
    json_schema!({ "description": T::MEANING, "oneOf": words })
}

/// The schema of an enumeration, defined once under its name.
pub(crate) struct Named<T>(PhantomData<T>);

impl<T: Keyword> JsonSchema for Named<T> {
    fn schema_name() -> Cow<'static, str> {
        T::NAME.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schema::<T>()
    }
}

/// The value whose word this is.
///
/// # Errors
/// Where it is none's; with what is allowed, and what may have been meant.
pub(crate) fn find<T: Copy>(text: &str, all: &[T], word: impl Fn(T) -> &'static str) -> Result<T, String> {
    all.iter().copied().find(|&value| word(value) == text).ok_or_else(|| {
        let guess = meant(text, all, &word);
        let hint = guess.map_or(String::new(), |guess| format!(" (did you mean \"{guess}\"?)"));
        format!("{}{hint}", one_of(all, word))
    })
}

/// What may have been meant by a word that is none's, where there are several.
pub(crate) fn meant<T: Copy>(text: &str, all: &[T], word: impl Fn(T) -> &'static str) -> Option<&'static str> {
    let words: Vec<&'static str> = all.iter().map(|&value| word(value)).collect();
    nearest(text, &words).filter(|_| words.len() > 1)
}

/// What is allowed, as a message says it.
pub(crate) fn one_of<T: Copy>(all: &[T], word: impl Fn(T) -> &'static str) -> String {
    let words: Vec<&str> = all.iter().map(|&value| word(value)).collect();
    format!("{}{}", if words.len() > 1 { "one of " } else { "only " }, words.join(", "))
}
