//! A server and its clients over this kernel's loopback interface.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "both sides run in real time, on threads of their own"
)]

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use framewire_adaptive::client::{Client, ClientEvent, ClientSettings};
use framewire_adaptive::controller::Controller;
use framewire_adaptive::fixed::FixedRate;
use framewire_adaptive::host::Host;
use framewire_adaptive::server::{ServerEvent, ServerSettings};
use framewire_adaptive::source::{PacketSource, Plan, SourceAudio, SourceError, SourcePacket};
use framewire_endpoint::{
    Allowance, AudioFile, ClientDriver, ClientOutcome, ReceivedFile, Serving, random_secret, random_session,
};
use framewire_media::audio::{AudioCodec, AudioFormat, AudioPacket};
use framewire_units::{Bitrate, DataSize, Duration};
use framewire_wire::vtp::{Reason, Title};

mod movie;
use movie::Movie;

fn title() -> Title {
    Title::new("movie").expect("a title")
}

fn serving(frames: u32) -> Serving {
    // Two packets of 1,000 bytes, 50 times a second: 800 kbit/s.
    let movie = Arc::new(Movie::new(frames, Duration::from_millis(20), 2, 1_000));
    serving_of(movie.clone(), movie)
}

fn serving_of(movie: Arc<dyn PacketSource>, plan: Arc<dyn Plan>) -> Serving {
    let make = || Box::new(FixedRate::new()) as Box<dyn Controller>;
    let settings = ServerSettings::paper(title(), random_secret().expect("random bytes"));
    let host = Host::new(movie, plan, Box::new(make), settings, 100).expect("a host");
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    Serving::open(host, any, any).expect("two sockets")
}

fn view(server: [SocketAddr; 2], cancelled: impl Fn() -> bool) -> (ClientOutcome, Vec<u8>, Vec<u32>) {
    let client = Client::new(ClientSettings::paper(title(), random_session().expect("a name")));
    let (mut movie, mut frames) = (vec![], vec![]);
    let look = |_, event: &ClientEvent| {
        if let ClientEvent::FrameComplete(frame) = event {
            frames.push(frame.frame);
        }
    };
    let viewing = ClientDriver::open(client, server[0], server[1]).expect("two sockets");
    let viewed = viewing.run(&mut movie, cancelled, look).expect("a session");
    (viewed, movie, frames)
}

#[test]
fn every_client_gets_the_movie_to_the_byte() {
    let serving = serving(50);
    let server = serving.addresses().expect("addresses");
    let clients: Vec<_> = (0..5).map(|_| thread::spawn(move || view(server, || false))).collect();
    let served = serving.run(Some(5), || false, |_, _, _| {}).expect("served");
    for client in clients {
        let (viewed, movie, frames) = client.join().expect("no panic");
        assert_eq!((viewed.ended, viewed.frames_by_level, viewed.written), (Reason::EndOfMovie, vec![50], 100_000));
        assert_eq!(frames, (0..50).collect::<Vec<_>>());
        let expected = (0..100u8).flat_map(|packet| [vec![packet / 2; 999], vec![packet % 2]].concat());
        assert!(movie.into_iter().eq(expected));
    }
    assert_eq!((served.sessions, served.drops.total()), (5, 0));
    assert_eq!(served.lateness.count(), 5 * 100, "every packet of video");
}

#[test]
fn either_side_can_end_it() {
    let serving = serving(5_000);
    let server = serving.addresses().expect("addresses");
    let stop = Arc::new(AtomicBool::new(false));
    let of_host = stop.clone();
    let host = thread::spawn(move || serving.run(None, || of_host.load(Ordering::Relaxed), |_, _, _| {}));
    // The client ends one session after it began, the server the next one.
    let begun = std::time::Instant::now();
    let (viewed, ..) = view(server, || begun.elapsed() > Duration::from_millis(500));
    assert_eq!(viewed.ended, Reason::Stopped);
    let client = thread::spawn(move || view(server, || false));
    thread::sleep(Duration::from_secs(1));
    stop.store(true, Ordering::Relaxed);
    let (viewed, ..) = client.join().expect("no panic");
    assert_eq!(viewed.ended, Reason::Stopped);
    assert_eq!(host.join().expect("no panic").expect("served").sessions, 2);
}

#[test]
fn who_watches_is_told_the_time_ten_times_a_second_until_the_session_is_ended() {
    let nowhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 9));
    let viewing =
        ClientDriver::open(Client::new(ClientSettings::paper(title(), 1)), nowhere, nowhere).expect("two sockets");
    let (began, begun) = (viewing.now(), std::time::Instant::now());
    let mut times = vec![];
    let cancelled = || begun.elapsed() > Duration::from_millis(700);
    let viewed = viewing.run_and_watch(std::io::sink(), cancelled, |_, _| {}, |now| times.push(now));
    assert_eq!(viewed.expect("a session").ended, Reason::Stopped);
    assert!(times.is_sorted() && times.iter().all(|&now| now >= began));
    let steps = [began].into_iter().chain(times.iter().copied()).zip(&times);
    let longest = steps.map(|(one, next)| next.saturating_since(one)).max().expect("looks");
    assert!((80..1_000).contains(&longest.as_millis()), "{longest:?}");
    let last = times.last().expect("looks").saturating_since(began);
    assert!((650..3_000).contains(&last.as_millis()), "{last:?}");
}

/// The disk is full for the audio, as the kernel plays one, and not for the video.
#[test]
fn audio_that_cannot_be_written_does_not_stop_the_video() {
    let directory = std::env::temp_dir().join(format!("framewire-loopback-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let (video, sound) = (directory.join("movie.m4v"), directory.join("movie.mp3"));
    std::os::unix::fs::symlink("/dev/full", &sound).expect("a link");
    let movie = Arc::new(WithAudio(Movie::new(50, Duration::from_millis(20), 2, 1_000)));
    let plan = Movie::new(50, Duration::from_millis(20), 2, 1_000);
    let serving = serving_of(movie, Arc::new(plan));
    let server = serving.addresses().expect("addresses");
    let host = thread::spawn(move || serving.run(Some(1), || false, |_, _, _| {}));
    let file = ReceivedFile::open(&video, false).expect("a file");
    let mut audio = AudioFile::beside(Some(&video), false, Allowance::unlimited());
    let client = Client::new(ClientSettings::paper(title(), random_session().expect("a name")));
    let viewing = ClientDriver::open(client, server[0], server[1]).expect("two sockets");
    let mut packets = 0;
    let look = |_, event: &ClientEvent| {
        packets += u32::from(matches!(event, ClientEvent::Audio(_)));
        audio.handle(event);
    };
    let viewed = viewing.run(file, || false, look).expect("a session");
    assert_eq!((viewed.ended, viewed.frames_by_level, packets), (Reason::EndOfMovie, vec![50], 50));
    assert_eq!(std::fs::metadata(&video).expect("a file").len(), 100_000);
    let error = audio.finish().expect_err("a full disk").to_string();
    assert!(error.starts_with(&format!("{}: the audio cannot be written: ", sound.display())), "{error}");
    host.join().expect("no panic").expect("served");
    std::fs::remove_dir_all(directory).expect("a directory");
}

#[test]
fn a_stream_that_is_longer_than_what_may_be_written_is_stopped() {
    let serving = serving(500);
    let server = serving.addresses().expect("addresses");
    let host = thread::spawn(move || serving.run(Some(1), || false, |_, _, _| {}));
    let client = Client::new(ClientSettings::paper(title(), random_session().expect("a name")));
    let viewing = ClientDriver::open(client, server[0], server[1]).expect("two sockets");
    let (mut movie, mut looked) = (vec![], 0);
    let look = |_, event: &ClientEvent| looked += usize::from(matches!(event, ClientEvent::FrameComplete(_)));
    let allowance = Allowance::of(DataSize::from_bytes(20_999));
    let viewed = viewing.within(allowance).run(&mut movie, || false, look).expect("a session");
    assert_eq!((viewed.ended, viewed.allowance_used_up), (Reason::Stopped, true));
    assert_eq!((viewed.written, movie.len(), looked), (20_000, 20_000, 10), "whole frames of 2,000 bytes");
    host.join().expect("no panic").expect("served");
}

/// A movie with a packet of audio beside each frame.
struct WithAudio(Movie);

impl PacketSource for WithAudio {
    fn levels(&self) -> usize {
        PacketSource::levels(&self.0)
    }
    fn frames(&self) -> u32 {
        self.0.frames()
    }
    fn time_of(&self, frame: u32) -> Duration {
        self.0.time_of(frame)
    }
    fn duration(&self) -> Duration {
        self.0.duration()
    }
    fn is_switch_point(&self, frame: u32) -> bool {
        self.0.is_switch_point(frame)
    }
    fn packet(&self, frame: u32, level: usize, index: u32) -> Result<SourcePacket, SourceError> {
        self.0.packet(frame, level, index)
    }
    fn audio(&self) -> Option<SourceAudio> {
        let format = AudioFormat { codec: AudioCodec::Mp3, sample_rate: 44_100, channels: 2, pre_skip: 0 };
        Some(SourceAudio { format, packets: self.frames(), rate: Bitrate::from_bps(160_000) })
    }
    fn audio_before(&self, frame: u32) -> u32 {
        frame
    }
    fn audio_packet(&self, number: u32) -> Result<AudioPacket, SourceError> {
        let (time, duration) = (self.time_of(number), self.time_of(1));
        Ok(AudioPacket { time, duration, bytes: vec![number as u8; 400].into() })
    }
}

#[test]
fn a_server_that_is_not_there_is_given_up() {
    let nowhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 9));
    let settings = ClientSettings { peer_timeout: Duration::from_millis(700), ..ClientSettings::paper(title(), 1) };
    let viewing = ClientDriver::open(Client::new(settings), nowhere, nowhere).expect("two sockets");
    let viewed = viewing.run(std::io::sink(), || false, |_, _| {}).expect("a session");
    assert_eq!((viewed.ended, viewed.written), (Reason::Vanished, 0));
}

/// All that happened, when one event is fetched for each step: what is not fetched yet waits in the client.
fn step_through(viewing: &mut ClientDriver) -> Vec<ClientEvent> {
    let mut events = vec![];
    while !viewing.is_finished() {
        viewing.step().expect("sound sockets");
        events.extend(viewing.poll_event());
    }
    events.extend(std::iter::from_fn(|| viewing.poll_event()));
    events
}

#[test]
fn who_steps_fetches_frames_at_a_pace_of_its_own() {
    let mut serving = serving(50);
    let server = serving.addresses().expect("addresses");
    let client = thread::spawn(move || {
        let client = Client::new(ClientSettings::paper(title(), random_session().expect("a name")));
        let mut viewing = ClientDriver::open(client, server[0], server[1]).expect("two sockets");
        let events = step_through(&mut viewing);
        assert_eq!(viewing.state().frames_complete, 50);
        events
    });
    let (mut most, mut reasons) = (0, vec![]);
    while reasons.is_empty() {
        serving.step().expect("sound sockets");
        most = most.max(serving.host().sessions());
        reasons.extend(std::iter::from_fn(|| serving.poll_event()).filter_map(|event| match event.event {
            ServerEvent::Ended(reason) => Some(reason),
            _ => None,
        }));
    }
    let events = client.join().expect("no panic");
    let frames = events.iter().filter_map(|event| match event {
        ClientEvent::FrameComplete(frame) => Some(frame.frame),
        _ => None,
    });
    assert!(frames.eq(0..50));
    assert_eq!(events.last(), Some(&ClientEvent::Ended(Reason::EndOfMovie)));
    assert_eq!((most, reasons), (1, vec![Reason::EndOfMovie]));
}

#[test]
fn who_steps_can_end_it() {
    let mut serving = serving(5_000);
    let server = serving.addresses().expect("addresses");
    let client = thread::spawn(move || view(server, || false).0.ended);
    let mut stopped = false;
    while !stopped || serving.host().sessions() > 0 {
        serving.step().expect("sound sockets");
        while let Some(event) = serving.poll_event() {
            if matches!(event.event, ServerEvent::Started { .. }) {
                serving.stop();
                stopped = true;
            }
        }
    }
    assert_eq!(client.join().expect("no panic"), Reason::Stopped);
}
