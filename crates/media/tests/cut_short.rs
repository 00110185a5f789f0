//! A stream that ends inside a picture is distinguished from a whole one.

use std::path::PathBuf;

use bytes::Bytes;
use framewire_media::Movie;

fn data() -> Option<PathBuf> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    let folder = PathBuf::from(std::env::var("FRAMEWIRE_TEST_DATA").unwrap_or_else(|_| default.to_owned()));
    let found = folder.join("es/generated");
    if found.is_dir() {
        return Some(found);
    }
    println!("skipped: there is no {}", found.display());
    None
}

#[test]
fn whole_streams_are_whole_and_cut_ones_are_cut() {
    let Some(folder) = data() else { return };
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "m2v") {
            continue;
        }
        let bytes = Bytes::from(std::fs::read(&path).unwrap());
        let movie = Movie::parse(bytes.clone()).unwrap();
        assert_eq!(movie.cut_short(), None, "{}", path.display());
        for frame in [3, 20, 41] {
            let entry = &movie.index.frames[frame];
            let middle = entry.offset as usize + entry.size as usize / 2;
            let cut = Movie::parse(bytes.slice(..middle)).unwrap().cut_short().expect("it ends inside a picture");
            assert_eq!((cut.frame, cut.rows), (frame as u32, 36), "{}", path.display());
            assert!((1..36).contains(&cut.last_row), "{}: row {}", path.display(), cut.last_row);
            let end = entry.offset as usize + entry.size as usize;
            assert_eq!(Movie::parse(bytes.slice(..end)).unwrap().cut_short(), None, "{}", path.display());
        }
    }
}
