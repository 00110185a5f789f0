//! The page of a server: what it has, and a player of each movie.

use std::fmt::Write;

use super::catalogue::Title;

pub(super) const MEDIA_TYPE: &str = "text/html; charset=utf-8";

/// A title, and the paths at which it is had.
pub(super) struct Row<'a> {
    pub(super) title: &'a Title,
    pub(super) file: Option<String>,
    pub(super) mp4: Option<String>,
    pub(super) fragments: Option<String>,
    pub(super) ts: Option<String>,
}

/// A whole page, which needs nothing from elsewhere.
pub(super) fn page(rows: &[Row<'_>]) -> String {
    let mut page = String::from(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>framewire</title>\n<style>\n\
         body { font-family: sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }\n\
         video { width: 100%; max-height: 70vh; background: #000; }\n\
         section { margin-bottom: 2.5rem; } h2 { margin-bottom: 0.25rem; overflow-wrap: anywhere; }\n\
         </style>\n</head>\n<body>\n<h1>framewire</h1>\n",
    );
    for row in rows {
        put_row(row, &mut page);
    }
    page + "</body>\n</html>\n"
}

fn put_row(row: &Row<'_>, page: &mut String) {
    let heading = format!("<section>\n<h2>{}</h2>\n<p>{}", escaped(&row.title.name), escaped(&row.title.about));
    page.push_str(&heading);
    let kinds = [
        ("MP4", &row.mp4),
        ("MP4 in fragments", &row.fragments),
        ("transport stream", &row.ts),
        ("the file as it is", &row.file),
    ];
    for (kind, path) in kinds {
        if let Some(path) = path {
            write!(page, " · <a href=\"{}\">{kind}</a>", link(path)).expect("invariant: a string takes all");
        }
    }
    page.push_str("</p>\n");
    if let Some(path) = &row.mp4 {
        let player = format!("<video controls preload=\"none\" src=\"{}\"></video>\n", link(path));
        page.push_str(&player);
    }
    page.push_str("</section>\n");
}

/// Text in HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A path as a reference (RFC 3986, section 2.1): what is not unreserved is escaped, but slashes.
pub(super) fn link(path: &str) -> String {
    let mut link = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => link.push(byte.into()),
            _ => write!(link, "%{byte:02X}").expect("invariant: a string takes all"),
        }
    }
    link
}
