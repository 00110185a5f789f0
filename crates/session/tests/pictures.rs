//! What the dependency queue lets out decodes to pictures that are bit for bit those of the whole movie (FFmpeg).
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests against FFmpeg start processes and write files"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use framewire_media::Movie;
use framewire_session::SendingPlan;
use framewire_transport::Limits;
use framewire_transport::dependency::DependencyQueue;
use framewire_units::{RandomStream, Seed, Timestamp};

const STREAMS: [&str; 4] = [
    "m2v_720x576p25_open_gop.m2v",
    "m2v_720x576p25_closed_gop.m2v",
    "m2v_720x576i25_tff_frame_pictures_open_gop.m2v",
    "m2v_720x576p25_open_gop_broken_link_gop3_gop5.m2v",
];

fn test_data() -> Option<PathBuf> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    let folder = std::env::var_os("FRAMEWIRE_TEST_DATA").map_or_else(|| PathBuf::from(default), PathBuf::from);
    let streams = folder.join("es/generated");
    let there = streams.is_dir() && Command::new("ffmpeg").arg("-version").output().is_ok();
    if !there {
        eprintln!("skipped: no {} or no ffmpeg", streams.display());
    }
    there.then_some(streams)
}

/// A digest of every picture that FFmpeg shows, in order.
fn pictures(stream: &Path) -> Vec<String> {
    let output = Command::new("ffmpeg")
        .args(["-nostdin", "-v", "error", "-threads", "1", "-f", "mpegvideo", "-i"])
        .arg(stream)
        .args(["-fps_mode", "passthrough", "-f", "framemd5", "-"])
        .output()
        .expect("ffmpeg was there");
    assert!(output.stderr.is_empty(), "{}: {}", stream.display(), String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("framemd5 is text");
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    rows.filter_map(|row| row.rsplit(',').next()).map(|digest| digest.trim().to_owned()).collect()
}

/// What a writer that takes frames at random moments gets of a movie.
fn sent(plan: &SendingPlan, limits: Limits, random: &mut RandomStream) -> Vec<u32> {
    let mut queue = DependencyQueue::new(limits);
    let mut sent = vec![];
    for frame in 0..plan.len() {
        queue.offer(plan.outgoing(frame));
        // Slow for a second, fast for a second.
        let takes = if frame / 25 % 2 == 0 { random.next_inclusive(3) == 0 } else { random.next_inclusive(7) != 0 };
        if takes {
            sent.extend(queue.take().map(|frame| frame.id));
        }
    }
    sent.extend(std::iter::from_fn(|| queue.take()).map(|frame| frame.id));
    sent
}

#[test]
fn every_subset_decodes_to_the_pictures_of_the_whole() {
    let Some(folder) = test_data() else { return };
    for (number, name) in (0..).zip(STREAMS) {
        let bytes = std::fs::read(folder.join(name)).expect("the stream is in the folder");
        let movie = Movie::parse(bytes.into()).expect("it is a stream");
        let plan = SendingPlan::new(movie, Timestamp::ZERO);
        let whole = pictures(&folder.join(name));
        for round in 0..4 {
            let limits = Limits { frames: Some([3, 5, 8, 12][round]), ..Limits::default() };
            let mut random = Seed(7).stream("pictures", &[number, round as u64]);
            let sent = sent(&plan, limits, &mut random);
            assert!((10..plan.len() as usize).contains(&sent.len()), "{name}: {} frames were sent", sent.len());
            let stream: Vec<u8> = sent.iter().flat_map(|&frame| plan.outgoing(frame).bytes).collect();
            let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("subset-{number}-{round}.m2v"));
            std::fs::write(&path, stream).expect("the target directory can be written to");
            check(&format!("{name}, {limits:?}"), &pictures(&path), &whole, sent.len());
        }
    }
}

/// Every frame sent is shown, as it is in the whole movie and in that order.
fn check(case: &str, shown: &[String], whole: &[String], sent: usize) {
    let mut rest = whole.iter();
    for (place, picture) in shown.iter().enumerate() {
        assert!(rest.any(|other| other == picture), "{case}: picture {place} is not one of the movie's, in order");
    }
    assert_eq!(shown.len(), sent, "{case}");
}
