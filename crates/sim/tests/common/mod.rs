//! Movies and scenarios for the tests of simulated runs.
#![allow(dead_code, reason = "each test program uses a part")]

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use framewire_adaptive::schedule::{Schedule, ScheduleSettings};
use framewire_media::audio::AudioTrack;
use framewire_media::ladder::{Ladder, Level};
use framewire_media::streaming_file::StoredPlan;
use framewire_media::{FrameRate, Movie, streaming_file};
use framewire_recording::ledger::Ledger;
use framewire_recording::summary::Summary;
use framewire_scenario::Scenario;
use framewire_session::Sound;
use framewire_sim::{Content, LadderContent, Options, Received, Simulated, Simulation};
use framewire_units::{Duration, Playout};

/// The player of scenarios that state none.
pub const LIVE: Playout = Playout::live(Duration::from_secs(1));

/// Slices of a picture of 576 lines: one per row of macroblocks.
const ROWS: usize = 36;

/// A group of pictures as the lab's encoder makes them, in decode order, with relative sizes: I:P:B as 3.7:2.2:1.
const GROUP: [(char, f64); 13] = {
    const P: (char, f64) = ('P', 2.2);
    const B: (char, f64) = ('B', 1.0);
    [('I', 3.7), P, B, B, P, B, B, P, B, B, P, B, B]
};

/// A stream of 25 frames a second, 720x576, of `mbps` Mbit/s on average and `seconds` seconds.
pub fn movie(mbps: f64, seconds: usize) -> Movie {
    let mut bytes = Vec::new();
    write_movie(mbps, seconds, &mut bytes);
    Movie::parse(Bytes::from(bytes)).expect("the stream is well formed")
}

/// The same as a file, of which only one over 64 MiB is not kept in memory; the directory is removed with what is in it.
pub fn movie_file(directory: &Path, mbps: f64, seconds: usize) -> Movie {
    let path = directory.join(format!("{seconds}.m2v"));
    let mut sink = BufWriter::new(File::create(&path).expect("the directory is there"));
    write_movie(mbps, seconds, &mut sink);
    sink.flush().expect("the disk has room");
    Movie::open(File::open(&path).expect("it was just written")).expect("the stream is well formed")
}

fn write_movie(mbps: f64, seconds: usize, mut sink: impl Write) {
    let per_frame = mbps * 1e6 / 8.0 / 25.0;
    let weight: f64 = GROUP.iter().map(|frame| frame.1).sum::<f64>() / GROUP.len() as f64;
    for number in 0..25 * seconds {
        let (kind, size) = GROUP[number % GROUP.len()];
        let mut bytes = Vec::new();
        picture(&mut bytes, number % GROUP.len(), kind, (per_frame * size / weight) as usize);
        sink.write_all(&bytes).expect("there is room");
    }
}

/// Appends one coded picture of about `size` bytes (ISO/IEC 13818-2, 6.2).
fn picture(bytes: &mut Vec<u8>, in_group: usize, kind: char, size: usize) {
    let start = bytes.len();
    if kind == 'I' {
        // Sequence header 720x576, 25 Hz, its extension (progressive), and a closed group of pictures.
        bytes.extend([0, 0, 1, 0xB3, 0x2D, 0x02, 0x40, 0x23, 0xFF, 0xFF, 0xE0, 0x00]);
        bytes.extend([0, 0, 1, 0xB5, 0x14, 0x8A, 0x00, 0x01, 0x00, 0x00]);
        bytes.extend([0, 0, 1, 0xB8, 0x00, 0x08, 0x00, 0x40]);
    }
    let (code, vectors): (u16, &[u8]) = match kind {
        'I' => (1, &[0xFF, 0xF8]),
        'P' => (2, &[0xFF, 0xFB, 0x80]),
        _ => (3, &[0xFF, 0xFB, 0xB8]),
    };
    bytes.extend([0, 0, 1, 0x00]);
    bytes.extend((((display_in_group(in_group) as u16) << 6) | (code << 3) | 0x7).to_be_bytes());
    bytes.extend(vectors);
    bytes.extend([0, 0, 1, 0xB5, 0x8F, 0xFF, 0xF3, 0xC1, 0x80]);
    let slice = (size.saturating_sub(bytes.len() - start) / ROWS).max(8);
    for row in 1..=ROWS as u8 {
        bytes.extend([0, 0, 1, row]);
        bytes.resize(bytes.len() + slice - 4, 0x55);
    }
}

/// Temporal reference of a frame of [`GROUP`]: a P frame is shown after the two B frames that follow it.
fn display_in_group(decoded: usize) -> usize {
    match GROUP[decoded].0 {
        'I' => 0,
        'P' => decoded + 2,
        _ => decoded - 1,
    }
}

/// A scenario from its text.
pub fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, &[]).expect("the scenario is well formed")
}

/// A movie as what is sent.
pub fn content(movie: &Movie) -> Content {
    Content::of_movie("movie.m2v", movie.clone())
}

/// Runs in memory, with received movies; `packets`: with the packet table.
pub fn run(scenario: &Scenario, movie: &Movie, packets: bool) -> Simulated {
    let options = Options { packets, received: Received::Memory, ..Options::default() };
    Simulation::run(scenario, &content(movie), &options).expect("the scenario can be simulated")
}

/// What each flow came to.
pub fn summaries(simulated: &Simulated) -> Vec<Summary> {
    let sum_up = |log| Summary::build(&Ledger::build(log, LIVE), log, &LIVE);
    simulated.logs.iter().map(sum_up).collect()
}

/// A ladder of three levels of nothing but sizes, about 150, 300 and 600 kbit/s at 25 frames per second, as a streaming
/// file holds it.
pub fn ladder(seconds: usize) -> LadderContent {
    ladder_with_audio(seconds, None)
}

/// The same with a track of audio beside the video.
pub fn ladder_with_audio(seconds: usize, audio: Option<&AudioTrack>) -> LadderContent {
    let size = |frame: usize| if frame.is_multiple_of(12) { 1_900 } else { 560 + 37 * (frame as u32 % 7) };
    ladder_of(&(0..25 * seconds).map(size).collect::<Vec<_>>(), audio, None)
}

/// A ladder of three levels: frames of these sizes, of twice, and of four times as much; by this plan, or by the paper's.
pub fn ladder_of(sizes: &[u32], audio: Option<&AudioTrack>, plan: Option<StoredPlan>) -> LadderContent {
    let rate = FrameRate { numerator: 25, denominator: 1 };
    let level = |scale: u32| {
        let sizes: Vec<u32> = sizes.iter().map(|size| scale * size).collect();
        Level::of_sizes(rate, 12, &sizes).unwrap()
    };
    let ladder = Ladder::new([1, 2, 4].map(level).into()).unwrap();
    let papers = || StoredPlan::from(&Schedule::new(&ladder, ScheduleSettings::PAPER).unwrap());
    let plan = plan.unwrap_or_else(papers);
    let mut bytes = Vec::new();
    streaming_file::write_with_audio(&ladder, audio, Some(&plan), 1_000, &mut bytes).unwrap();
    LadderContent::open(Bytes::from(bytes)).unwrap()
}

/// Sound of MPEG-1 layer II beside a movie, 192 kbit/s at 48 kHz (ISO/IEC 11172-3, 2.4.2.3): packets of 576 bytes in 24 ms,
/// each of its own, the first one 21 ms before the first picture.
pub fn sound(seconds: usize) -> Sound {
    let count = (seconds as f64 / 0.024).ceil() as u32;
    let packet = |number: u32| [&[0xFF, 0xFD, 0xA4, 0xC0], &number.to_be_bytes()[..], &[number as u8; 568]].concat();
    let stream: Vec<u8> = (0..count).flat_map(packet).collect();
    let track = AudioTrack::parse(&Bytes::from(stream)).expect("it is well formed");
    Sound::new(track, -21_333_333).expect("it plays during the movie")
}

/// A ladder as what is sent.
pub fn ladder_content(seconds: usize) -> Content {
    Content::default().with_ladder("ladder.vtp", ladder(seconds))
}

/// Movies of the test data of H.264 and H.265, as far as they are there, and one of MPEG-2.
pub fn movies() -> Vec<Movie> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    let folder = std::env::var_os("FRAMEWIRE_TEST_DATA").map_or_else(|| PathBuf::from(default), PathBuf::from);
    let named = ["h264_640x360p24_open_gop_recovery_point.h264", "hevc_640x360p24_open_gop_cra_rasl.h265"];
    let mut movies = vec![movie(3.0, 4)];
    for path in named.map(|name| folder.join("es/generated").join(name)) {
        match std::fs::read(&path) {
            Ok(bytes) => movies.push(Movie::parse(bytes.into()).expect("it is a movie")),
            Err(_) => eprintln!("skipped: no {}", path.display()),
        }
    }
    movies
}
