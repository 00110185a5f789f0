//! What the tests share: where the test data is, and a plain way to cut a stream into access units.
#![allow(dead_code, reason = "every test binary uses its own part of this")]

pub mod capture;
pub mod nal;
pub mod programs;
pub mod receiving;
pub mod rfc2250;
pub mod synthetic;
pub mod t_std;

use std::ops::Range;
use std::path::{Path, PathBuf};

/// The MPEG-2 streams of the test data; empty, with a message, when there is no test data.
pub fn streams() -> Vec<(PathBuf, Vec<u8>)> {
    streams_of("m2v")
}

/// The same of those with this suffix.
pub fn streams_of(suffix: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = std::env::var_os("FRAMEWIRE_TEST_DATA").map_or(repository.join("../shared/data"), PathBuf::from);
    let Ok(entries) = std::fs::read_dir(root.join("es/generated")) else {
        println!("skipped: no test data under {} (FRAMEWIRE_TEST_DATA)", root.display());
        return Vec::new();
    };
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == suffix));
    paths.sort();
    assert!(!paths.is_empty(), "there is test data, but no stream .{suffix} in it");
    paths.into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

/// Every start code, found the plain way: offset and code.
pub fn start_codes(data: &[u8]) -> impl Iterator<Item = (usize, u8)> + '_ {
    let prefixes = memchr::memmem::find_iter(data, &[0, 0, 1]);
    prefixes.filter_map(|offset| Some((offset, *data.get(offset + 3)?)))
}

/// Access units: a new one starts at the first header after a slice, except for the second picture of a field pair.
pub fn access_units(stream: &[u8]) -> Vec<Range<usize>> {
    let codes: Vec<_> = start_codes(stream).collect();
    let mut starts = Vec::new();
    let (mut after_slice, mut fields) = (true, 0);
    for (index, &(offset, code)) in codes.iter().enumerate() {
        let is_slice = (0x01..=0xAF).contains(&code);
        if after_slice && matches!(code, 0x00 | 0xB3 | 0xB8) {
            let second_field = code == 0x00 && fields == 1 && is_field(stream, &codes[index..]);
            if !second_field {
                starts.push(offset);
                fields = 0;
            }
        }
        if code == 0x00 {
            fields += usize::from(is_field(stream, &codes[index..]));
        }
        after_slice = is_slice || (after_slice && !matches!(code, 0x00 | 0xB3 | 0xB8));
    }
    let ends = starts.iter().copied().skip(1).chain([stream.len()]);
    starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
}

fn is_field(stream: &[u8], from_picture: &[(usize, u8)]) -> bool {
    let extension = from_picture.iter().find(|&&(offset, code)| code == 0xB5 && stream[offset + 4] >> 4 == 8);
    extension.is_some_and(|&(offset, _)| stream[offset + 6] & 3 != 3)
}
