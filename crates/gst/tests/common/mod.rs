//! What the tests of the elements share: small streams, and a downstream that a test lets go step by step.
#![allow(dead_code, reason = "every test program uses its part")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests of a world wait for its threads")]

pub mod movie;
/// The same streams, and the same FFmpeg, as in the tests of the movies.
#[path = "../../../media/tests/support/mod.rs"]
pub mod support;

use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use gst::prelude::*;
pub use support::ffmpeg;

/// GStreamer and the plugin, in this process.
pub fn init() {
    gst::init().expect("GStreamer starts");
    gstframewire::plugin_register_static().expect("the plugin registers");
}

/// Says how many cases could not run for want of a program. Where the environment promises everything
/// (`FRAMEWIRE_REQUIRE_ALL=1`) none may be skipped, and nowhere all of them.
pub fn note_skipped(skipped: usize, cases: usize) {
    let everything_is_there = std::env::var("FRAMEWIRE_REQUIRE_ALL").is_ok_and(|value| value == "1");
    println!("{skipped} of {cases} cases skipped");
    assert!(
        skipped == 0 || !everything_is_there,
        "FRAMEWIRE_REQUIRE_ALL is set, but {skipped} of {cases} cases lack a program"
    );
    assert!(skipped < cases, "not one of {cases} cases ran: is FFmpeg installed?");
}

/// A directory with the plugin as GStreamer loads it, for programs that a test starts.
pub fn plugin_directory() -> std::path::PathBuf {
    let program = std::env::current_exe().expect("a test program knows where it stands");
    let built = program.with_file_name("libgstframewire.so");
    assert!(built.exists(), "cargo builds {} with the test", built.display());
    let directory = movie::directory().join("plugins");
    std::fs::create_dir_all(&directory).expect("the target directory can be written");
    // Another test of this program may have done it.
    let _ = std::os::unix::fs::symlink(built, directory.join("libgstframewire.so"));
    directory
}

/// A program that finds the plugin, with a registry of its own.
pub fn program(name: &str) -> std::process::Command {
    let mut command = std::process::Command::new(name);
    command.env("GST_PLUGIN_PATH", plugin_directory());
    command.env("GST_REGISTRY", movie::directory().join("registry.bin"));
    command
}

/// Runs a launch line by `gst-launch-1.0`, and asks what of GStreamer's it leaves behind: nothing. Whether it succeeded.
pub fn leaves_nothing(line: &str) -> bool {
    let output = program("timeout")
        .args(["60", "gst-launch-1.0", "-q"])
        .args(line.split_whitespace())
        .env("GST_TRACERS", "leaks")
        .env("GST_DEBUG", "GST_TRACER:7")
        .env("GST_DEBUG_NO_COLOR", "1")
        .output()
        .expect("gst-launch-1.0 runs");
    assert_ne!(output.status.code(), Some(124), "{line}: it did not come to an end");
    let log = String::from_utf8_lossy(&output.stderr);
    // The tracer looked: it says how it will write. The rest of what it writes is what is left.
    assert!(log.contains("new format string: object-alive"), "{line}:\n{log}");
    let left: Vec<_> = log.lines().filter(|line| line.contains(" object-alive, type-name=(string)Gst")).collect();
    assert!(left.is_empty(), "{line}:\n{}", left.join("\n"));
    assert!(!log.contains("no element"), "{line}:\n{log}");
    output.status.success()
}

/// The next message of one of these types; an error that is not wanted is a panic.
pub fn wait_for(pipeline: &gst::Pipeline, kind: gst::MessageType) -> gst::Message {
    let patience = gst::ClockTime::try_from(PATIENCE).unwrap();
    let message = pipeline.bus().unwrap().timed_pop_filtered(patience, &[kind, gst::MessageType::Error]);
    let message = message.unwrap_or_else(|| panic!("no {kind:?} came"));
    assert_eq!(message.type_(), kind, "{message:?}");
    message
}

/// What an error or a warning says.
pub fn text_of(message: &gst::Message) -> String {
    match message.view() {
        gst::MessageView::Error(error) => format!("{} {}", error.error(), error.debug().unwrap_or_default()),
        gst::MessageView::Warning(warning) => warning.error().to_string(),
        _ => panic!("{message:?}"),
    }
}

/// How long what does not wait for a network may take on a busy machine; what it might wait for takes longer.
pub const SOON: Duration = Duration::from_secs(3);

/// Tears down soon, whatever happens.
pub fn stop(pipeline: &gst::Pipeline) {
    let begun = Instant::now();
    pipeline.set_state(gst::State::Null).unwrap();
    assert!(begun.elapsed() < SOON, "teardown took {:?}", begun.elapsed());
}

/// A bus of an element that no pipeline has. What was not taken off it goes with it: such messages hold their element,
/// which holds the bus.
pub struct OwnBus(gst::Bus);

impl OwnBus {
    /// For this element, which gets it.
    pub fn of(element: &gst::Element) -> Self {
        let bus = gst::Bus::new();
        element.set_bus(Some(&bus));
        Self(bus)
    }
}

impl std::ops::Deref for OwnBus {
    type Target = gst::Bus;

    fn deref(&self) -> &gst::Bus {
        &self.0
    }
}

impl Drop for OwnBus {
    fn drop(&mut self) {
        self.0.set_flushing(true);
    }
}

/// How long a test waits for another thread before it fails.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A downstream that holds each buffer until the test lets it go, as a blocked socket does.
#[derive(Clone, Default)]
pub struct Gate(Arc<(Mutex<Held>, Condvar)>);

#[derive(Default)]
struct Held {
    /// Presentation times of the buffers that came, in order.
    came: Vec<Option<gst::ClockTime>>,
    /// Buffers that may go.
    permits: usize,
    went: usize,
    open: bool,
    flushing: bool,
}

impl Gate {
    /// Holds what passes this pad.
    pub fn on(pad: &gst::Pad) -> Self {
        let gate = Self::default();
        let held = gate.clone();
        pad.add_probe(gst::PadProbeType::BUFFER, move |_, info| {
            if let Some(buffer) = info.buffer() {
                held.hold(buffer.pts());
            }
            gst::PadProbeReturn::Ok
        });
        let held = gate.clone();
        pad.add_probe(gst::PadProbeType::EVENT_FLUSH, move |_, info| {
            held.flush(info.event().is_some_and(|event| event.type_() == gst::EventType::FlushStart));
            gst::PadProbeReturn::Ok
        });
        gate
    }

    /// A flush lets what is held go, as it does with any element that waits.
    fn flush(&self, starts: bool) {
        let (held, changed) = &*self.0;
        held.lock().unwrap().flushing = starts;
        changed.notify_all();
    }

    fn hold(&self, pts: Option<gst::ClockTime>) {
        let (held, changed) = &*self.0;
        let mut held = held.lock().unwrap();
        held.came.push(pts);
        changed.notify_all();
        while !held.open && !held.flushing && held.permits == held.went {
            held = changed.wait(held).unwrap();
        }
        held.went += 1;
        held.permits = held.permits.max(held.went);
        changed.notify_all();
    }

    /// Waits until so many buffers came, and returns the presentation time of the last one.
    pub fn wait_for(&self, count: usize) -> Option<gst::ClockTime> {
        let (held, changed) = &*self.0;
        let (held, timeout) =
            changed.wait_timeout_while(held.lock().unwrap(), PATIENCE, |held| held.came.len() < count).unwrap();
        assert!(!timeout.timed_out(), "{} of {count} buffers came", held.came.len());
        assert_eq!(held.came.len(), count, "more buffers came than were let through");
        held.came[count - 1]
    }

    /// Lets the buffer that it holds go, and waits until it is gone.
    pub fn step(&self) {
        let (held, changed) = &*self.0;
        let mut held = held.lock().unwrap();
        held.permits += 1;
        let wanted = held.permits;
        changed.notify_all();
        let (held, timeout) = changed.wait_timeout_while(held, PATIENCE, |held| held.went < wanted).unwrap();
        assert!(!timeout.timed_out(), "{} of {wanted} buffers went through the gate", held.went);
    }

    /// Holds nothing any longer.
    pub fn open(&self) {
        let (held, changed) = &*self.0;
        held.lock().unwrap().open = true;
        changed.notify_all();
    }

    /// Buffers that it let go.
    pub fn went(&self) -> u64 {
        self.0.0.lock().unwrap().went as u64
    }

    /// Presentation times of all buffers that came.
    pub fn came(&self) -> Vec<Option<gst::ClockTime>> {
        self.0.0.lock().unwrap().came.clone()
    }
}

/// A harness around `ifdqueue` with a bus, and a gate behind it.
pub struct Stepper {
    pub harness: gst_check::Harness,
    pub queue: gst::Element,
    pub bus: gst::Bus,
    pub gate: Gate,
}

impl Stepper {
    /// `ifdqueue` with properties as in a launch line, between a source with these caps and a gate.
    pub fn new(properties: &str, caps: &str) -> Self {
        init();
        let mut harness = gst_check::Harness::new_parse(&format!("ifdqueue {properties}"));
        // A launch line of one element is a bin around it.
        let bin = harness.element().expect("the harness has an element").downcast::<gst::Bin>().expect("a bin");
        let queue = bin.children().pop().expect("the bin has the element");
        let bus = gst::Bus::new();
        bin.set_bus(Some(&bus));
        let gate = Gate::on(&queue.static_pad("src").expect("it has a source pad"));
        harness.set_src_caps_str(caps);
        Self { harness, queue, bus, gate }
    }

    /// Frames given up so far that were not asked for yet: number, rule.
    pub fn drops(&self) -> Vec<(u64, String)> {
        let messages = std::iter::from_fn(|| self.bus.pop_filtered(&[gst::MessageType::Element]));
        let drops = messages.filter_map(|message| {
            let structure = message.structure().filter(|structure| structure.name() == "framewire-frame-dropped")?;
            Some((structure.get("frame").unwrap(), structure.get("rule").unwrap()))
        });
        drops.collect()
    }

    /// A number of the `stats` property.
    pub fn stat(&self, field: &str) -> u64 {
        stat(&self.queue, field)
    }
}

impl Drop for Stepper {
    /// A task that is held at the gate could not be stopped, and messages that are not taken would keep the element.
    fn drop(&mut self) {
        self.gate.open();
        self.bus.set_flushing(true);
    }
}

/// What left the element, in order, written down: `0` for frame 0, `caps`, `segment`, `gap`, `tag`, `eos`.
#[derive(Clone, Default)]
pub struct Record(Arc<Mutex<Vec<String>>>);

impl Record {
    /// Of what passes this pad.
    pub fn on(pad: &gst::Pad) -> Self {
        let record = Self::default();
        let written = record.clone();
        let mask = gst::PadProbeType::BUFFER | gst::PadProbeType::EVENT_DOWNSTREAM | gst::PadProbeType::EVENT_FLUSH;
        pad.add_probe(mask, move |_, info| {
            let word = match (info.buffer(), info.event()) {
                (Some(buffer), _) => number_of(buffer.pts()).to_string(),
                (_, Some(event)) => event.type_().name().to_string(),
                _ => return gst::PadProbeReturn::Ok,
            };
            written.0.lock().unwrap().push(word);
            gst::PadProbeReturn::Ok
        });
        record
    }

    /// What was written since the last call.
    pub fn take(&self) -> String {
        std::mem::take(&mut *self.0.lock().unwrap()).join(" ")
    }

    /// Waits until this was written.
    pub fn wait_for(&self, word: &str) {
        wait_until(word, || self.0.lock().unwrap().iter().any(|written| written == word));
    }
}

/// A number of the `stats` property.
pub fn stat(queue: &gst::Element, field: &str) -> u64 {
    queue.property::<gst::Structure>("stats").get(field).expect("stats has the field")
}

/// Waits for a condition that another thread brings about.
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = std::time::Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "{what} did not come");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A buffer with these bytes, at frame `number` of a stream of 25 frames per second.
pub fn buffer(number: usize, bytes: Vec<u8>) -> gst::Buffer {
    let mut buffer = gst::Buffer::from_mut_slice(bytes);
    let frame = gst::ClockTime::from_mseconds(40);
    let time = frame * number as u64;
    let fields = buffer.get_mut().expect("nobody else has the buffer");
    fields.set_pts(time);
    fields.set_dts(time);
    fields.set_duration(frame);
    buffer
}

/// The number of the frame that [`buffer`] put there.
pub fn number_of(pts: Option<gst::ClockTime>) -> usize {
    (pts.expect("the test's buffers have time stamps").mseconds() / 40) as usize
}
