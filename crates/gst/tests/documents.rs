//! The lines of the documentation run as they stand there, and the examples do what they say.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "this test is a receiver for the examples")]

mod common;

#[path = "common/streaming.rs"]
mod streaming;

use std::io::Read;
use std::net::{Shutdown, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use common::program;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the crate stands in the project")
}

/// Blocks of shell lines with gst-launch-1.0, as they stand in a page.
fn launch_blocks(page: &str) -> Vec<String> {
    let blocks = page.split("\n```sh\n").skip(1).filter_map(|rest| rest.split("\n```").next());
    blocks.filter(|block| block.contains("gst-launch-1.0")).map(str::to_owned).collect()
}

fn has(program: &str) -> bool {
    Command::new(program).arg("-version").output().is_ok_and(|output| output.status.success())
}

#[test]
fn the_lines_of_ifdqueue_run() {
    run_lines("ifdqueue.md");
}

#[test]
fn the_lines_of_ifdsink_run() {
    run_lines("ifdsink.md");
}

#[test]
fn the_lines_of_mpegstat_run() {
    run_lines("mpegstat.md");
}

#[test]
fn the_lines_of_vtpsink_run() {
    if has_streaming_file() {
        run_lines("vtpsink.md");
    }
}

#[test]
fn the_lines_of_vtpsrc_run() {
    if has_streaming_file() {
        run_lines("vtpsrc.md");
    }
}

/// Puts a streaming file where the pages make theirs; false, after saying so, without FFmpeg.
fn has_streaming_file() -> bool {
    static MADE: OnceLock<bool> = OnceLock::new();
    *MADE.get_or_init(|| {
        let Some((movie, _)) = streaming::mpeg4("page", 50) else { return false };
        let place = common::movie::directory().join("mild");
        std::fs::create_dir_all(&place).unwrap();
        std::fs::copy(movie, place.join("movie.vtp")).is_ok()
    })
}

/// What a pipeline takes to start and to end, once its list of elements is made, which the first one does.
fn time_to_start() -> Duration {
    let mut took = Duration::ZERO;
    for _ in 0..2 {
        let begun = std::time::Instant::now();
        let output = program("gst-launch-1.0").args(["-q", "fakesrc", "num-buffers=1", "!", "fakesink"]).output();
        assert!(output.is_ok_and(|output| output.status.success()), "gst-launch-1.0 runs");
        took = begun.elapsed();
    }
    took
}

fn run_lines(page: &str) {
    let path = root().join("docs/elements").join(page);
    let blocks = launch_blocks(&std::fs::read_to_string(&path).expect("the page is part of the project"));
    assert!(!blocks.is_empty(), "{} has lines to run", path.display());
    let start = time_to_start();
    for block in blocks {
        if block.contains("ffmpeg ") && !has("ffmpeg") {
            eprintln!("skipped, as there is no ffmpeg: {block}");
            continue;
        }
        let mut bash = program("timeout");
        // As they stand there, but that a receiver is given longer to listen where programs start slowly.
        let lines = block.replace("sleep 2\n", &format!("sleep {}\n", 2 + 4 * start.as_secs()));
        bash.args(["180", "bash", "-e", "-c"]).arg(&lines).env("TMPDIR", common::movie::directory());
        let output = bash.output().expect("bash runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{block}\n{said}");
        // A busy machine makes sinks say that buffers come too late; that is no fault of the lines.
        let said: Vec<&str> = said.lines().filter(|line| !line.contains("buffers are being dropped")).collect();
        let faults = ["ERROR", "WARNING"].map(|word| said.iter().any(|line| line.contains(word)));
        assert_eq!(faults, [false; 2], "{block}\n{}", said.join("\n"));
    }
}

/// Runs an example against a receiver that takes 100 kB/s of the 500 kB/s that it sends.
fn drops_before_a_slow_receiver(mut example: Command) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    // The kernels' buffers would take many seconds to fill: a small one here, and segments as on a real network, by
    // which the sender's grows.
    nix::sys::socket::setsockopt(&listener, nix::sys::socket::sockopt::RcvBuf, &16_384).unwrap();
    nix::sys::socket::setsockopt(&listener, nix::sys::socket::sockopt::TcpMaxSeg, &1_400).unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let receiver = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut taken = 0;
        let mut buffer = [0; 10_000];
        while let Ok(length @ 1..) = stream.read(&mut buffer) {
            taken += length;
            std::thread::sleep(Duration::from_millis(100));
        }
        let _ = stream.shutdown(Shutdown::Both);
        taken
    });
    let output = example.args(["127.0.0.1", &port, "5"]).output().expect("the example runs");
    let (said, erred) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}{erred}");
    assert!(said.lines().any(|line| line.starts_with("frame ") && line.contains(" dropped: ")), "{said}{erred}");
    assert!(said.contains(" frames sent, "), "{said}{erred}");
    assert!(receiver.join().unwrap() > 100_000);
}

#[test]
fn the_c_example_runs() {
    let flags = Command::new("pkg-config").args(["--cflags", "--libs", "gstreamer-1.0"]).output().unwrap();
    assert!(flags.status.success(), "GStreamer's development files are there, or this test would not be built");
    let built = common::movie::directory().join("live-c");
    let compiled = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&built)
        .arg(root().join("crates/gst/examples/live.c"))
        .args(String::from_utf8(flags.stdout).unwrap().split_whitespace())
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    drops_before_a_slow_receiver(program(built.to_str().unwrap()));
}

#[test]
fn the_python_example_runs() {
    let bindings =
        Command::new("/usr/bin/python3").args(["-c", "import gi; gi.require_version('Gst', '1.0')"]).status();
    if !bindings.is_ok_and(|status| status.success()) {
        eprintln!("skipped: /usr/bin/python3 has no GStreamer (python3-gi, gir1.2-gstreamer-1.0)");
        return;
    }
    let mut example = program("/usr/bin/python3");
    example.arg(root().join("crates/gst/examples/live.py"));
    drops_before_a_slow_receiver(example);
}

#[test]
fn the_rust_example_runs() {
    let tests = std::env::current_exe().unwrap();
    let example = tests.parent().unwrap().with_file_name("examples").join("live");
    assert!(example.exists(), "cargo test builds {}, unless it is told which tests", example.display());
    drops_before_a_slow_receiver(program(example.to_str().unwrap()));
}
