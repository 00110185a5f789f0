//! What a fuzzer once reached is reached in every test run.
#![allow(clippy::disallowed_methods, reason = "tests read files")]

use std::collections::BTreeSet;
use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use framewire_fuzzing::TARGETS;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn inputs(target: &str) -> Vec<PathBuf> {
    let folder = folder().join("corpus").join(target);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    files.sort();
    files
}

#[test]
fn every_target_holds_over_its_corpus() {
    for target in TARGETS {
        let files = inputs(target.name);
        assert!(files.len() >= 5, "{} has {} inputs", target.name, files.len());
        for file in files {
            let bytes = fs::read(&file).expect("a readable file");
            assert!(catch_unwind(|| (target.run)(&bytes)).is_ok(), "{} fails: {}", target.name, file.display());
        }
    }
}

#[test]
fn every_target_is_a_program_of_the_fuzzer_and_has_the_only_corpora() {
    let names: BTreeSet<String> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    assert_eq!(names.len(), TARGETS.len());
    let manifest = fs::read_to_string(folder().join("Cargo.toml")).expect("the fuzzer's manifest");
    let named = |line: &str| line.strip_prefix("name = \"").and_then(|rest| rest.strip_suffix('"')).map(str::to_owned);
    let programs: BTreeSet<String> = manifest.lines().filter_map(named).filter(|name| name.contains('_')).collect();
    assert_eq!(programs, names);
    let corpora = fs::read_dir(folder().join("corpus")).expect("the corpora");
    let corpora: BTreeSet<String> =
        corpora.map(|entry| entry.expect("a folder").file_name().to_string_lossy().into_owned()).collect();
    assert_eq!(corpora, names);
    for name in &names {
        let program = fs::read_to_string(folder().join(format!("fuzz_targets/{name}.rs"))).expect("a program");
        assert!(program.contains(&format!("framewire_fuzzing::run(\"{name}\", data)")), "{program}");
    }
}
