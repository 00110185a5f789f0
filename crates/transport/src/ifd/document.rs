//! Holds the table of `docs/ifd.md` to the one in the code.

use super::table::{Action, GroupKind, Incoming, LeadingB, Row, TABLE, Waiting};

fn incoming(incoming: Incoming) -> &'static str {
    match incoming {
        Incoming::I(GroupKind::Open) => "I, open group",
        Incoming::I(GroupKind::Closed) => "I, closed group",
        Incoming::I(GroupKind::BrokenLink) => "I, broken link",
        Incoming::P => "P",
        Incoming::B => "B",
    }
}

fn waiting(waiting: &[Waiting]) -> &'static str {
    match waiting {
        [Waiting::Empty] => "empty",
        [Waiting::I] => "I",
        [Waiting::P] => "P",
        [Waiting::B] => "B",
        [Waiting::I, Waiting::P, Waiting::B] => "any frame",
        _ => "anything",
    }
}

fn flag(flag: Option<bool>, none: &'static str) -> &'static str {
    match flag {
        None => none,
        Some(true) => "yes",
        Some(false) => "no",
    }
}

fn leading(leading: Option<LeadingB>, none: &'static str) -> &'static str {
    match leading {
        None => none,
        Some(LeadingB::Decodable) => "decodable",
        Some(LeadingB::ReferenceDropped) => "reference dropped",
        Some(LeadingB::BrokenLink) => "broken link",
    }
}

fn line(number: usize, row: &Row) -> String {
    let action = match row.action {
        Action::Store => "store C in W",
        Action::Replace => "overwrite W with C",
        Action::Drop => "give up C",
    };
    let rule = if row.rule.is_empty() { "".to_owned() } else { format!("`{}`", row.rule) };
    let cells = [
        &number.to_string(),
        incoming(row.incoming),
        waiting(row.waiting),
        flag(row.disturbed, "any"),
        leading(row.leading, "any"),
        action,
        &rule,
        flag(row.disturbed_after, "as before"),
        leading(row.leading_after, "as before"),
    ];
    format!("| {} |", cells.join(" | "))
}

#[test]
fn the_document_shows_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ifd.md");
    let document = std::fs::read_to_string(path).expect("docs/ifd.md is part of the project");
    let expected: Vec<_> = TABLE.iter().enumerate().map(|(index, row)| line(index + 1, row)).collect();
    let rows = document.lines().filter(|line| line.starts_with("| ") && line.as_bytes()[2].is_ascii_digit());
    assert!(rows.eq(&expected), "docs/ifd.md should show:\n{}", expected.join("\n"));
}
