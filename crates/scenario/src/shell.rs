//! Words of a line as a shell cuts it (POSIX.1-2024, Shell Command Language, 2.2): blanks separate, quotes group.

/// The words of `line`; nothing is expanded.
pub(crate) fn split(line: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            blank if blank.is_whitespace() => words.extend(word.take()),
            '\'' => single_quoted(&mut characters, word.get_or_insert_default())?,
            '"' => double_quoted(&mut characters, word.get_or_insert_default())?,
            '\\' => word.get_or_insert_default().push(characters.next().ok_or("ends with a backslash")?),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Ok(words)
}

fn single_quoted(characters: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), &'static str> {
    loop {
        match characters.next().ok_or("has a quote ' without an end")? {
            '\'' => return Ok(()),
            other => word.push(other),
        }
    }
}

/// Between double quotes a backslash escapes only what is special there.
fn double_quoted(characters: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), &'static str> {
    const OPEN: &str = "has a quote \" without an end";
    loop {
        match characters.next().ok_or(OPEN)? {
            '"' => return Ok(()),
            '\\' => match characters.next().ok_or(OPEN)? {
                special @ ('"' | '\\') => word.push(special),
                other => word.extend(['\\', other]),
            },
            other => word.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_a_shell() {
        let cases: &[(&str, &[&str])] = &[
            ("", &[]),
            ("  a \n b\t", &["a", "b"]),
            (r#"caps="video/x-raw, width=1" ! x"#, &["caps=video/x-raw, width=1", "!", "x"]),
            (r#"'a "b" c' ''"#, &[r#"a "b" c"#, ""]),
            (r#"a\ b "c\"d\e" \\"#, &["a b", r#"c"d\e"#, "\\"]),
        ];
        for (line, words) in cases {
            assert_eq!(split(line).unwrap(), *words, "{line}");
        }
    }

    #[test]
    fn what_is_left_open_is_named() {
        for (line, problem) in [("a 'b", "'"), ("\"a", "\""), ("\"a\\", "\""), ("a\\", "backslash")] {
            assert!(split(line).unwrap_err().contains(problem), "{line}");
        }
    }
}
