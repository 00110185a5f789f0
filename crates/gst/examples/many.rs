//! Many live streams through `ifdqueue` in one process: how late do frames come out?
//!
//! `cargo run --release -p framewire-gst --example many -- FILE.m2v STREAMS`
//!
//! Every stream plays the file at its own pace, and a frame is late when it leaves the queue more than one frame period
//! after it is due. Ends with 1 when a frame was late or dropped.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gst::prelude::*;

/// One frame at 25 frames per second.
const LATE: gst::ClockTime = gst::ClockTime::from_mseconds(40);

#[derive(Default)]
struct Seen {
    frames: AtomicU64,
    late: AtomicU64,
    worst: AtomicU64,
}

impl Seen {
    fn note(&self, lateness: gst::ClockTime) {
        self.frames.fetch_add(1, Ordering::Relaxed);
        self.late.fetch_add(u64::from(lateness > LATE), Ordering::Relaxed);
        self.worst.fetch_max(lateness.nseconds(), Ordering::Relaxed);
    }
}

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    gst::init()?;
    gstframewire::plugin_register_static()?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, streams] = arguments.as_slice() else {
        eprintln!("usage: many FILE.m2v STREAMS");
        return Ok(ExitCode::from(2));
    };
    let pipeline = gst::Pipeline::new();
    let seen = Arc::new(Seen::default());
    let queues = (0..streams.parse::<u32>()?)
        .map(|_| add_stream(&pipeline, file, &seen))
        .collect::<Result<Vec<_>, Box<dyn std::error::Error>>>()?;
    pipeline.set_state(gst::State::Playing)?;
    let bus = pipeline.bus().expect("invariant: a pipeline has a bus");
    let end = bus.timed_pop_filtered(gst::ClockTime::NONE, &[gst::MessageType::Eos, gst::MessageType::Error]);
    let failed = end.is_none_or(|end| end.type_() == gst::MessageType::Error);

    let dropped: u64 =
        queues.iter().filter_map(|queue| queue.property::<gst::Structure>("stats").get::<u64>("dropped").ok()).sum();
    pipeline.set_state(gst::State::Null)?;
    let (frames, late) = (seen.frames.load(Ordering::Relaxed), seen.late.load(Ordering::Relaxed));
    let worst = gst::ClockTime::from_nseconds(seen.worst.load(Ordering::Relaxed));
    println!(
        "{} streams, {frames} frames, {late} late, {dropped} dropped, the latest {worst} after its time",
        queues.len()
    );
    Ok(if failed || late > 0 || dropped > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Adds a stream; gives its queue.
fn add_stream(
    pipeline: &gst::Pipeline,
    file: &str,
    seen: &Arc<Seen>,
) -> Result<gst::Element, Box<dyn std::error::Error>> {
    // What is due in the first second has its time to start.
    let line = format!(
        "filesrc location=\"{file}\" blocksize=65536 ! mpegvideoparse ! clocksync ts-offset=1000000000 \
         ! ifdqueue name=queue ! fakesink name=sink sync=false async=false"
    );
    let stream = gst::parse::bin_from_description(&line, false)?;
    let queue = stream.by_name("queue").expect("invariant: the line names it");
    let sink = stream.by_name("sink").and_then(|sink| sink.static_pad("sink")).expect("invariant: a sink has a pad");
    let (seen, clock) = (seen.clone(), pipeline.downgrade());
    sink.add_probe(gst::PadProbeType::BUFFER, move |_, info| {
        if let (Some(time), Some(pipeline)) = (info.buffer().and_then(|buffer| buffer.dts_or_pts()), clock.upgrade())
            && let Some(now) = pipeline.current_running_time()
        {
            seen.note(now.saturating_sub(time + gst::ClockTime::SECOND));
        }
        gst::PadProbeReturn::Ok
    });
    pipeline.add(&stream)?;
    Ok(queue)
}
