//! The lines of the documentation run as they stand there, and the examples do what they say.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "this test is a receiver for the examples")]

use crate::common;
use crate::streaming;
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

/// Blocks of this language, as they stand in a page.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let begin = format!("\n```{language}\n");
    let blocks = page.split(&begin).skip(1).filter_map(|rest| rest.split("\n```").next());
    blocks.map(str::to_owned).collect()
}

/// Blocks of shell lines with gst-launch-1.0.
fn launch_blocks(page: &str) -> Vec<String> {
    blocks(page, "sh").into_iter().filter(|block| block.contains("gst-launch-1.0")).collect()
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
    let page = std::fs::read_to_string(root().join("docs/elements/mpegstat.md")).unwrap();
    let programs = blocks(&page, "python");
    assert!(!programs.is_empty(), "the page has a program");
    if !has("ffmpeg") || !has_python() {
        return;
    }
    for source in programs {
        let run = |directory: &Path| {
            let mut python = program("timeout");
            python.args(["60", "/usr/bin/python3", "-c", &source]).env("TMPDIR", directory);
            python.output().expect("python3 runs")
        };
        let output = run(&common::movie::directory());
        let (said, erred) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{said}{erred}");
        // The movie of the lines before it has 50 frames.
        assert_eq!(said.lines().filter(|line| line.ends_with(" ms")).count(), 50, "{said}{erred}");
        // A directory without the movie.
        let output = run(&common::plugin_directory());
        let erred = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && erred.contains("mpegstat-doc.m2v"), "{erred}");
    }
}

/// Whether Debian's Python knows GStreamer; says so when it does not.
fn has_python() -> bool {
    let bindings =
        Command::new("/usr/bin/python3").args(["-c", "import gi; gi.require_version('Gst', '1.0')"]).status();
    let has = bindings.is_ok_and(|status| status.success());
    if !has {
        eprintln!("skipped: /usr/bin/python3 has no GStreamer (python3-gi, gir1.2-gstreamer-1.0)");
    }
    has
}

/// Without a screen, and where no other program listens. The line searches what the sender says for frames that were
/// dropped, and fails where it finds none.
#[test]
fn the_lines_about_a_live_stream_run() {
    run_blocks(&root().join("docs/usage.md"), |block| {
        assert!(block.contains("autovideosink") && block.contains("port=5000"), "{block}");
        assert!(block.ends_with("post-drop-messages=true | grep framewire-frame-dropped"), "{block}");
        block.replace("autovideosink", "fakesink").replace("port=5000", "port=46458")
    });
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

/// Puts streaming files where the pages make theirs; false, after saying so, without FFmpeg.
fn has_streaming_file() -> bool {
    static MADE: OnceLock<bool> = OnceLock::new();
    *MADE.get_or_init(|| {
        let Some((movie, _)) = streaming::mpeg4("page", 50) else { return false };
        let Some((holiday, ..)) = streaming::with_audio("holiday", "mp3", 50) else { return false };
        for (name, movie) in [("mild", movie), ("holiday", holiday)] {
            let place = common::movie::directory().join(name);
            std::fs::create_dir_all(&place).unwrap();
            std::fs::copy(movie, place.join("movie.vtp")).unwrap();
        }
        true
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

/// Runs the lines of a page about an element.
fn run_lines(page: &str) {
    run_blocks(&root().join("docs/elements").join(page), str::to_owned);
}

/// Runs the lines of a page after a change to each block.
fn run_blocks(path: &Path, change: impl Fn(&str) -> String) {
    let blocks = launch_blocks(&std::fs::read_to_string(path).expect("the page is part of the project"));
    assert!(!blocks.is_empty(), "{} has lines to run", path.display());
    let start = time_to_start();
    for block in blocks.iter().map(|block| change(block)) {
        if block.contains("ffmpeg ") && !has("ffmpeg") {
            eprintln!("skipped, as there is no ffmpeg: {block}");
            continue;
        }
        let mut bash = program("timeout");
        // As they stand there, but that a receiver is given longer to listen where programs start slowly.
        let lines = block.replace("sleep 2\n", &format!("sleep {}\n", 2 + 4 * start.as_secs()));
        // Where a line fails, one in the background would wait for it, and hold what this test reads.
        let lines = format!("trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n{lines}");
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

/// Runs an example against a port without a listener.
fn says_who_refuses(mut example: Command) {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let output = example.args(["127.0.0.1", &port, "5"]).output().expect("the example runs");
    let erred = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{erred}");
    assert!(erred.contains(&format!("127.0.0.1:{port}")), "{erred}");
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
    says_who_refuses(program(built.to_str().unwrap()));
}

#[test]
fn the_python_example_runs() {
    if !has_python() {
        return;
    }
    let example = || {
        let mut python = program("/usr/bin/python3");
        python.arg(root().join("crates/gst/examples/live.py"));
        python
    };
    drops_before_a_slow_receiver(example());
    says_who_refuses(example());
}

#[test]
fn the_rust_example_runs() {
    let tests = std::env::current_exe().unwrap();
    let example = tests.parent().unwrap().with_file_name("examples").join("live");
    assert!(example.exists(), "cargo test builds {}, unless it is told which tests", example.display());
    drops_before_a_slow_receiver(program(example.to_str().unwrap()));
    says_who_refuses(program(example.to_str().unwrap()));
}
