//! What a world leaves behind: nothing, also when it is killed; and that it needs no root.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests of a world start programs and wait")]

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The example that holds a world, which `cargo test` builds.
fn example() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.ancestors().nth(2).unwrap().join("examples/lane")
}

/// Where a link of /proc points, for instance `net:[4026531840]`.
fn target(link: &Path) -> Option<String> {
    Some(fs::read_link(link).ok()?.to_str()?.to_owned())
}

fn entries(directory: impl AsRef<Path>) -> Vec<PathBuf> {
    fs::read_dir(directory).map(|entries| entries.flatten().map(|entry| entry.path()).collect()).unwrap_or_default()
}

/// Network namespaces that a process holds by descriptors or is in.
fn namespaces_of(process: &Path) -> BTreeSet<String> {
    let mut links: Vec<PathBuf> = entries(process.join("fd"));
    links.extend(entries(process.join("task")).iter().map(|task| task.join("ns/net")));
    links.iter().filter_map(|link| target(link)).filter(|target| target.starts_with("net:[")).collect()
}

fn all_namespaces() -> BTreeSet<String> {
    entries("/proc").iter().flat_map(|process| namespaces_of(process)).collect()
}

fn devices() -> BTreeSet<PathBuf> {
    entries("/sys/class/net").into_iter().collect()
}

/// Starts the example and waits until it holds its world; `None` when this machine does not allow one.
fn hold(bottleneck: &str) -> Option<Child> {
    let mut child = Command::new(example()).args([bottleneck, "hold"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    if line.trim() == "holding" {
        return Some(child);
    }
    eprintln!("skipped: the example did not start a world");
    child.wait().unwrap();
    None
}

#[test]
fn a_killed_world_leaves_nothing() {
    let (devices_before, named_before) = (devices(), entries("/run/netns"));
    let Some(mut child) = hold("local") else { return };
    let own = namespaces_of(Path::new("/proc/self"));
    let held: BTreeSet<_> =
        namespaces_of(&PathBuf::from(format!("/proc/{}", child.id()))).difference(&own).cloned().collect();
    assert_eq!(held.len(), 3, "sender, receiver and hub: {held:?}");
    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();
    assert_eq!(all_namespaces().intersection(&held).count(), 0, "a process still holds a namespace");
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!held.iter().any(|namespace| mounts.contains(namespace.as_str())), "a namespace is mounted");
    assert_eq!(devices(), devices_before);
    assert_eq!(entries("/run/netns"), named_before);
}

#[test]
fn no_root_is_needed() {
    // A copy where any user may execute it; the build's own folder may be private.
    let copy = std::env::temp_dir().join(format!("framewire-lane-{}", std::process::id()));
    fs::copy(example(), &copy).unwrap();
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
    for bottleneck in ["local", "remote"] {
        let mut command = Command::new(&copy);
        command.arg(bottleneck).current_dir("/");
        // SAFETY: no pointers are passed.
        if unsafe { libc::geteuid() } == 0 {
            command.uid(65_534).gid(65_534);
        }
        let output = command.output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr);
        if words.contains("CLONE_NEW") || words.contains("NFQUEUE") {
            eprintln!("skipped {bottleneck}: {words}");
            continue;
        }
        assert!(output.status.success(), "{bottleneck}: {words}");
        let accuracy: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(accuracy["release_error"]["count"], 100, "{accuracy}");
        assert_eq!(accuracy["lost_outside_model"], 0, "{accuracy}");
    }
    fs::remove_file(copy).unwrap();
}
