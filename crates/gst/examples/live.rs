//! A live test picture over TCP that stays live: with `ifdsink`, a connection that is too slow loses frames and not time.
//! Tells of every frame that is dropped, and why.
//!
//! `cargo run -p framewire-gst --example live -- HOST PORT SECONDS`
//!
//! A receiver to try it with, which takes about 100 kB/s of the 500 kB/s; start it first, then: `... 127.0.0.1 5000 10`
//!
//! `gst-launch-1.0 -q tcpserversrc host=127.0.0.1 port=5000 ! identity sleep-time=40000 ! fakesink`

use std::process::ExitCode;

use gst::prelude::*;

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    gst::init()?;
    // Linked into this program: no plugin has to be found.
    gstframewire::plugin_register_static()?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [host, port, seconds] = arguments.as_slice() else {
        eprintln!("usage: live HOST PORT SECONDS");
        return Ok(ExitCode::from(2));
    };
    let pipeline = gst::parse::launch(&format!(
        "videotestsrc is-live=true pattern=snow num-buffers={} ! video/x-raw,width=640,height=360,framerate=25/1 \
         ! x264enc tune=zerolatency speed-preset=ultrafast bitrate=4000 key-int-max=25 \
         ! ifdsink name=sink host={host} port={port} sync=false max-size-time=200000000 post-drop-messages=true",
        25 * seconds.parse::<u32>()?
    ))?;
    let pipeline = pipeline.downcast::<gst::Pipeline>().expect("invariant: several elements make a pipeline");
    let sink = pipeline.by_name("sink").expect("invariant: the line names it");
    // Called by the streaming thread; the element has asked the encoder for a key frame already.
    sink.connect("group-lost", false, |values| {
        if let (Ok(frame), Ok(rule)) = (values[1].get::<u64>(), values[2].get::<String>()) {
            println!("group lost with frame {frame}: {rule}");
        }
        None
    });
    // Why it fails, where it does, is reported on the bus.
    let _ = pipeline.set_state(gst::State::Playing);

    let mut status = ExitCode::SUCCESS;
    let bus = pipeline.bus().expect("invariant: a pipeline has a bus");
    for message in bus.iter_timed(gst::ClockTime::NONE) {
        match message.view() {
            gst::MessageView::Element(message) => tell(message.structure()),
            gst::MessageView::Error(error) => {
                eprintln!("{}\n{}", error.error(), error.debug().unwrap_or_default());
                status = ExitCode::FAILURE;
                break;
            }
            gst::MessageView::Eos(_) => break,
            _ => {}
        }
    }
    let stats = sink.property::<gst::Structure>("stats");
    println!("{} frames sent, {} dropped", stats.get::<u64>("sent")?, stats.get::<u64>("dropped")?);
    pipeline.set_state(gst::State::Null)?;
    Ok(status)
}

/// On the bus, because `post-drop-messages=true`.
fn tell(structure: Option<&gst::StructureRef>) {
    let Some(told) = structure.filter(|told| told.name() == "framewire-frame-dropped") else { return };
    if let (Ok(frame), Ok(kind), Ok(rule)) =
        (told.get::<u64>("frame"), told.get::<String>("type"), told.get::<String>("rule"))
    {
        println!("frame {frame} ({kind}) dropped: {rule}");
    }
}
