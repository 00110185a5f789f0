use std::io::Read;

use super::*;
use crate::testing::{Directory, pipe, read};

#[test]
fn a_file_that_is_there_is_refused_and_kept() {
    let directory = Directory::new("refused");
    let path = directory.path("movie.m4v");
    fs::write(&path, "before").unwrap();
    let refused = ReceivedFile::open(&path, false).expect_err("it is there");
    assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(read(&path), b"before");
}

#[test]
fn what_a_file_held_goes_with_the_first_byte_and_not_before() {
    let directory = Directory::new("replaced");
    let path = directory.path("movie.m4v");
    fs::write(&path, "longer than what comes").unwrap();
    let mut file = ReceivedFile::open(&path, true).expect("it may go");
    assert_eq!(file.write(b"").unwrap(), 0);
    file.flush().unwrap();
    assert!(file.is_empty());
    assert_eq!(read(&path), b"longer than what comes");
    for part in ["what ", "comes"] {
        file.write_all(part.as_bytes()).unwrap();
        assert!(!file.is_empty());
    }
    file.flush().unwrap();
    assert_eq!(read(&path), b"what comes");
    drop(file);
    assert_eq!(read(&path), b"what comes");
}

#[test]
fn a_file_that_was_there_stays_when_nothing_came() {
    let directory = Directory::new("stays");
    let path = directory.path("movie.m4v");
    fs::write(&path, "before").unwrap();
    drop(ReceivedFile::open(&path, true).expect("it may go"));
    assert_eq!(read(&path), b"before");
}

#[test]
fn a_new_file_is_there_from_the_beginning_and_goes_when_nothing_came() {
    let directory = Directory::new("new");
    for replace in [false, true] {
        let path = directory.path("movie.m4v");
        let mut file = ReceivedFile::open(&path, replace).expect("a new file");
        assert!(path.is_file());
        assert_eq!(file.write(b"").unwrap(), 0);
        file.flush().unwrap();
        drop(file);
        assert!(!path.exists());
    }
}

#[test]
fn a_new_file_stays_when_something_came() {
    let directory = Directory::new("kept");
    let path = directory.path("movie.m4v");
    let mut file = ReceivedFile::open(&path, false).expect("a new file");
    assert_eq!(file.path(), path);
    file.write_all(b"what came").unwrap();
    drop(file);
    assert_eq!(read(&path), b"what came");
}

#[test]
fn a_file_that_cannot_be_made_is_an_error_at_once() {
    let directory = Directory::new("nowhere");
    let error = ReceivedFile::open(&directory.path("no/movie.m4v"), true).expect_err("no directory");
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}

/// Without being asked to replace anything, and without an end of what a pipe held.
#[test]
fn what_is_no_file_of_a_disk_is_written_to_as_it_is() {
    let (mut reader, path, mut writer) = pipe();
    writer.write_all(b"before, ").unwrap();
    let mut file = ReceivedFile::open(&path, false).expect("a pipe");
    file.write_all(b"what came").unwrap();
    drop(file);
    assert!(path.exists());
    drop(writer);
    let mut got = String::new();
    reader.read_to_string(&mut got).unwrap();
    assert_eq!(got, "before, what came");

    let directory = Directory::new("device");
    let null = directory.link("movie.m4v", "/dev/null");
    let mut file = ReceivedFile::open(&null, false).expect("a device");
    file.write_all(b"what came").unwrap();
    file.flush().unwrap();
    drop(file);
    drop(ReceivedFile::open(&null, false).expect("a device"));
    assert!(null.is_symlink() && null.exists());
}
