//! Streaming files made with FFmpeg, a server and a client of them, and a network between the two.
#![allow(dead_code, reason = "every test program uses its part")]

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use framewire_adaptive::schedule::{Schedule, ScheduleSettings};
use framewire_media::ladder::{Ladder, Level};
use framewire_media::streaming_file::{StoredPlan, write};
use gst::prelude::*;

use super::common::{self, PATIENCE};

/// Two levels of a movie of `frames` pictures at 25 a second, and its streaming file; `None`, after saying so, without
/// FFmpeg. The encoder is told the qualities of the levels by `{}` in its arguments.
pub fn movie(name: &str, encoder: &str, qualities: [&str; 2], frames: u32) -> Option<(PathBuf, Ladder)> {
    common::init();
    let level = |quality: &str| {
        let path = common::movie::directory().join(format!("level-{quality}-{name}"));
        let status = Command::new("ffmpeg")
            .args(["-v", "error", "-y", "-threads", "1", "-f", "lavfi", "-i", "testsrc2=size=160x96:rate=25"])
            .args(["-frames:v", &frames.to_string(), "-pix_fmt", "yuv420p"])
            .args(encoder.replace("{}", quality).split_whitespace())
            .arg("-bitexact")
            .arg(&path)
            .stdin(Stdio::null())
            .status();
        if !status.is_ok_and(|status| status.success()) {
            eprintln!("skipped: ffmpeg does not make {name}");
            return None;
        }
        Some(Level::parse(std::fs::read(path).unwrap().into()).unwrap())
    };
    let ladder = Ladder::new(vec![level(qualities[0])?, level(qualities[1])?]).unwrap();
    let path = common::movie::directory().join(format!("{name}.vtp"));
    let plan = StoredPlan::from(&Schedule::new(&ladder, ScheduleSettings::PAPER).unwrap());
    write(&ladder, Some(&plan), 1_024, std::fs::File::create(&path).unwrap()).unwrap();
    Some((path, ladder))
}

/// The movie of most tests: MPEG-4 part 2, a key frame each 10. Its levels are so close to each other (420 and
/// 429 kbit/s) that the upper one is reached within seconds.
pub fn mpeg4(name: &str, frames: u32) -> Option<(PathBuf, Ladder)> {
    let encoder = "-vf noise=alls={}:allf=t:all_seed=7 -c:v mpeg4 -g 10 -sc_threshold 1000000000 -q:v 5";
    movie(&format!("{name}.avi"), encoder, ["4", "5"], frames)
}

pub fn launch(line: &str) -> gst::Pipeline {
    common::init();
    gst::parse::launch(line).expect("the elements exist").downcast().expect("a pipeline")
}

/// A pipeline that serves, on ports of its own.
pub fn serve(path: &Path, properties: &str) -> (gst::Pipeline, [u16; 2]) {
    let location = path.display();
    // An element alone is no pipeline to the parser of launch lines.
    common::init();
    let element =
        gst::parse::launch(&format!("vtpsink title=movie location={location} data-port=0 control-port=0 {properties}"));
    let element = element.expect("the element exists");
    element.set_property("name", "server");
    let pipeline = gst::Pipeline::new();
    pipeline.add(&element).unwrap();
    pipeline.set_state(gst::State::Playing).unwrap();
    let stats = stats(&pipeline, "server");
    (pipeline, ["data-port", "control-port"].map(|port| stats.get::<u32>(port).unwrap() as u16))
}

/// Where a client finds the server.
pub fn at([data, control]: [u16; 2]) -> String {
    format!("data-port={data} control-port={control}")
}

/// A pipeline that receives, and what comes out of its source.
pub fn receive(ports: [u16; 2], properties: &str, rest: &str) -> (gst::Pipeline, Arc<Mutex<Vec<gst::Buffer>>>) {
    let pipeline = launch(&format!("vtpsrc name=client {} {properties} ! {rest}", at(ports)));
    let buffers = Arc::new(Mutex::new(vec![]));
    let collected = buffers.clone();
    let pad = pipeline.by_name("client").unwrap().static_pad("src").unwrap();
    pad.add_probe(gst::PadProbeType::BUFFER, move |_, info| {
        collected.lock().unwrap().extend(info.buffer().cloned());
        gst::PadProbeReturn::Ok
    });
    (pipeline, buffers)
}

pub fn stats(pipeline: &gst::Pipeline, element: &str) -> gst::Structure {
    pipeline.by_name(element).unwrap().property("stats")
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

/// A network between a client and a server, which can lose packets of video, or everything.
pub struct Network {
    pub ports: [u16; 2],
    /// Of so many packets of video one is lost; 0: none.
    pub loses_each: Arc<AtomicU64>,
    pub is_dead: Arc<AtomicBool>,
    is_over: Arc<AtomicBool>,
}

impl Network {
    pub fn to(server: [u16; 2]) -> Self {
        let (loses_each, is_dead, is_over) = (Arc::<AtomicU64>::default(), Arc::default(), Arc::default());
        let carry = |to: u16, loses_each: Arc<AtomicU64>| {
            let outside = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let port = outside.local_addr().unwrap().port();
            let (dead, over) = (Arc::clone(&is_dead), Arc::clone(&is_over));
            std::thread::spawn(move || carry(&outside, to, &loses_each, &dead, &over));
            port
        };
        let ports = [carry(server[0], loses_each.clone()), carry(server[1], Arc::default())];
        Self { ports, loses_each, is_dead, is_over }
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// Carries the datagrams of one client.
fn carry(outside: &UdpSocket, to: u16, loses_each: &AtomicU64, is_dead: &AtomicBool, is_over: &AtomicBool) {
    let inside = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    inside.connect((Ipv4Addr::LOCALHOST, to)).unwrap();
    for socket in [outside, &inside] {
        socket.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    }
    let mut client: Option<SocketAddr> = None;
    let (mut buffer, mut carried) = ([0; 2_000], 0);
    while !is_over.load(Ordering::Relaxed) {
        if let Ok((length, from)) = outside.recv_from(&mut buffer) {
            client = Some(from);
            if !is_dead.load(Ordering::Relaxed) {
                let _ = inside.send(&buffer[..length]);
            }
        }
        while let Ok(length) = inside.recv(&mut buffer) {
            // TYPE 0 and 1 are video (docs/vtp.md).
            carried += u64::from(buffer[1] < 2);
            let each = loses_each.load(Ordering::Relaxed);
            let is_lost = buffer[1] < 2 && each > 0 && carried % each == 0;
            if let (Some(client), false) = (client, is_lost || is_dead.load(Ordering::Relaxed)) {
                let _ = outside.send_to(&buffer[..length], client);
            }
        }
    }
}
