//! Streaming files made with FFmpeg, a server and a client of them, and a network between the two.
#![allow(dead_code, unused_imports, reason = "every test program uses its part")]

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use framewire_adaptive::schedule::{Schedule, ScheduleSettings};
use framewire_media::audio::{AudioPacket, AudioTrack};
use framewire_media::ladder::{Ladder, Level};
use framewire_media::streaming_file::{StoredPlan, write_with_audio};
use gst::prelude::*;

use super::common::{self, wait_until};
pub use super::common::{stop, text_of, wait_for};

/// Two levels of a movie of `frames` pictures at 25 a second, and its streaming file; `None`, after saying so, without
/// FFmpeg. The encoder is given the qualities of the levels by `{}` in its arguments.
pub fn movie(name: &str, encoder: &str, qualities: [&str; 2], frames: u32) -> Option<(PathBuf, Ladder)> {
    let ladder = levels(name, "testsrc2=size=160x96:rate=25", encoder, qualities, frames)?;
    Some((streaming_file(name, &ladder, None), ladder))
}

/// What FFmpeg makes of a picture and a sound that it synthesises; `None`, after saying so, when it does not.
fn encode(name: &str, source: &str, arguments: &str) -> Option<Vec<u8>> {
    common::init();
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    Some(std::fs::read(common::movie::synthesised(name, source, &arguments)?).unwrap())
}

fn levels(name: &str, source: &str, encoder: &str, qualities: [&str; 2], frames: u32) -> Option<Ladder> {
    let level = |quality: &str| {
        let arguments = format!("-frames:v {frames} -pix_fmt yuv420p {}", encoder.replace("{}", quality));
        Some(Level::parse(encode(&format!("level-{quality}-{name}"), source, &arguments)?.into()).unwrap())
    };
    Some(Ladder::new(vec![level(qualities[0])?, level(qualities[1])?]).unwrap())
}

fn streaming_file(name: &str, ladder: &Ladder, audio: Option<&AudioTrack>) -> PathBuf {
    let path = common::movie::directory().join(format!("{name}.vtp"));
    let plan = StoredPlan::from(&Schedule::new(ladder, ScheduleSettings::PAPER).unwrap());
    write_with_audio(ladder, audio, Some(&plan), 1_024, std::fs::File::create(&path).unwrap()).unwrap();
    path
}

/// When the picture of [`with_audio`] becomes white, and its sound loud.
pub const CLAP: Duration = Duration::from_secs(1);

/// A movie with audio beside it: MPEG-4 part 2, noise in a dark picture that is white for a while from [`CLAP`] on, and a
/// sound at the same time. Its audio is in a file of this kind (`mp3`, `aac`, `mp2`).
pub fn with_audio(name: &str, kind: &str, frames: u32) -> Option<(PathBuf, Ladder, Vec<AudioPacket>)> {
    let seconds = CLAP.as_secs();
    let clap = format!("enable='between(t,{seconds},{seconds}.4)'");
    let picture =
        format!("color=black:size=160x96:rate=25,noise=alls=30:allf=t:all_seed=3,drawbox=color=white:t=fill:{clap}");
    let ladder = levels(
        &format!("{name}.avi"),
        &picture,
        "-c:v mpeg4 -g 10 -sc_threshold 1000000000 -q:v {}",
        ["9", "4"],
        frames,
    )?;
    let sound = format!("sine=frequency=700:sample_rate=48000,volume=0:enable='not(between(t,{seconds},{seconds}.4))'");
    let stream = encode(
        &format!("{name}.{kind}"),
        &sound,
        &format!("-t {} -ac 2 -b:a 96k -write_xing 0", frames as f64 / 25.0),
    )?;
    let track = AudioTrack::parse(&stream.into()).unwrap().until(ladder.duration()).unwrap();
    Some((streaming_file(name, &ladder, Some(&track)), ladder, track.packets().to_vec()))
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
    let buffers = Arc::default();
    collect(&pipeline.by_name("client").unwrap().static_pad("src").unwrap(), &buffers);
    (pipeline, buffers)
}

/// What passes a pad.
pub fn collect(pad: &gst::Pad, buffers: &Arc<Mutex<Vec<gst::Buffer>>>) {
    let collected = buffers.clone();
    pad.add_probe(gst::PadProbeType::BUFFER, move |_, info| {
        // A copy: parsers write times into buffers that others hold too.
        collected.lock().unwrap().extend(info.buffer().map(|buffer| buffer.copy()));
        gst::PadProbeReturn::Ok
    });
}

/// The messages of elements with a name that are on the bus; all of them are taken off it.
pub fn structures(pipeline: &gst::Pipeline, name: &str) -> Vec<gst::Structure> {
    let messages = pipeline.bus().unwrap().iter_filtered(&[gst::MessageType::Element]).collect::<Vec<_>>();
    let structures = messages.iter().filter_map(|message| message.structure().map(ToOwned::to_owned));
    structures.filter(|structure| structure.name() == name).collect()
}

/// Waits for the end without taking other messages off the bus.
pub fn wait_for_end(pipeline: &gst::Pipeline) {
    for sink in pipeline.iterate_sinks().into_iter().flatten() {
        let pad = sink.static_pad("sink").unwrap();
        wait_until("the end of the stream", || pad.pad_flags().contains(gst::PadFlags::EOS));
    }
}

pub fn stats(pipeline: &gst::Pipeline, element: &str) -> gst::Structure {
    pipeline.by_name(element).unwrap().property("stats")
}

/// A network between a client and a server, which can lose packets of video, or everything.
pub struct Network {
    pub ports: [u16; 2],
    /// Of so many packets of video one is lost; 0: none.
    pub loses_each: Arc<AtomicU64>,
    pub is_dead: Arc<AtomicBool>,
    /// The client's control packets, and when they passed.
    pub said: Said,
    is_over: Arc<AtomicBool>,
}

/// Datagrams and when they passed.
pub type Said = Arc<Mutex<Vec<(Instant, Vec<u8>)>>>;

impl Network {
    pub fn to(server: [u16; 2]) -> Self {
        let (loses_each, is_dead, is_over) = (Arc::<AtomicU64>::default(), Arc::default(), Arc::default());
        let said = Said::default();
        let carry = |to: u16, loses_each: Arc<AtomicU64>, said: Said| {
            let outside = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let port = outside.local_addr().unwrap().port();
            let (dead, over) = (Arc::clone(&is_dead), Arc::clone(&is_over));
            std::thread::spawn(move || carry(&outside, to, &loses_each, [&dead, &over], &said));
            port
        };
        let ports =
            [carry(server[0], loses_each.clone(), Arc::default()), carry(server[1], Arc::default(), said.clone())];
        Self { ports, loses_each, is_dead, said, is_over }
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// Carries the datagrams of one client.
fn carry(outside: &UdpSocket, to: u16, loses_each: &AtomicU64, [is_dead, is_over]: [&AtomicBool; 2], said: &Said) {
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
            said.lock().unwrap().push((Instant::now(), buffer[..length].to_vec()));
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
