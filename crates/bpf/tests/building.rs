//! The objects are those of the programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The compiler that the objects were built with, and the headers. Others give other bytes.
const COMPILER: &str = "version 16.0.6";
const HEADERS: &str = "/usr/include/bpf/bpf_core_read.h";

/// A directory that is gone with the test.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_compiler_makes_the_objects_of_the_programs_again() {
    let compiler = Command::new("clang-16").arg("--version").output();
    let version = compiler.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let has_tools = version.contains(COMPILER) && Command::new("llvm-strip-16").arg("--version").output().is_ok();
    if !has_tools || !Path::new(HEADERS).exists() {
        println!("left out: to build the programs takes clang-16 {COMPILER}, llvm-16 and libbpf-dev");
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let scratch = Scratch(std::env::temp_dir().join(format!("framewire-bpf-{}", std::process::id())));
    fs::create_dir_all(&scratch.0).unwrap();
    let built = Command::new(root.join("programs/build")).arg(&scratch.0).status().unwrap();
    assert!(built.success());
    let names = |directory: &Path| {
        let mut names: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let objects = root.join("objects");
    assert_eq!(names(&scratch.0), names(&objects));
    for name in names(&objects) {
        let is_same = fs::read(objects.join(&name)).unwrap() == fs::read(scratch.0.join(&name)).unwrap();
        assert!(is_same, "{} is not what its program makes: crates/bpf/programs/build", name.display());
    }
}
