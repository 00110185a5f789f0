//! Build script of the emulator and of the native module: `FRAMEWIRE_SOURCES` is the version of the sources that they
//! are made of.
//!
//! The two are built one by one and hand plans and scenarios to each other, so `framewire doctor` compares them. Builds
//! without optimisation have none: they are not installed, and need not be linked again for a change elsewhere.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Crates that neither of the two is made of.
const OTHERS: [&str; 1] = ["gst"];

fn main() {
    println!("cargo::rerun-if-changed=../../scripts/source_version.rs");
    let version = match std::env::var("PROFILE").as_deref() {
        Ok("release") => format!("{:016x}", digest().expect("the sources can be read")),
        _ => "debug".to_owned(),
    };
    println!("cargo::rustc-env=FRAMEWIRE_SOURCES={version}");
}

/// One number for the names and contents of all files.
fn digest() -> io::Result<u64> {
    // FNV-1a, 64 bits (RFC 9923): to tell two builds apart, not two adversaries.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |bytes: &[u8]| {
        for &byte in bytes {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    };
    for file in files()? {
        add(file.to_string_lossy().as_bytes());
        add(&fs::read(file)?);
    }
    Ok(hash)
}

/// The sources of every crate that the two may be made of, and the versions of everything else, in order.
fn files() -> io::Result<Vec<PathBuf>> {
    let mut files = vec![PathBuf::from("../../Cargo.lock")];
    for entry in fs::read_dir("../../crates")? {
        let directory = entry?.path();
        if directory.join("Cargo.toml").is_file() && !OTHERS.iter().any(|other| directory.ends_with(other)) {
            files.push(directory.join("Cargo.toml"));
            add_sources(&directory.join("src"), &mut files)?;
        }
    }
    for file in &files {
        println!("cargo::rerun-if-changed={}", file.display());
    }
    files.sort();
    Ok(files)
}

fn add_sources(directory: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    // A file that comes or goes counts, too.
    println!("cargo::rerun-if-changed={}", directory.display());
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            add_sources(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}
