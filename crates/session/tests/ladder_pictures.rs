//! The ledger of an adaptive stream goes by the rules of the other transports: what of a ladder's frames it calls shown
//! is what FFmpeg shows, with open groups, behind gaps, and where the level changes.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests against FFmpeg start processes and write files"
)]

use crate::support;
use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use framewire_media::access_unit::Codec;
use framewire_media::ladder::{Ladder, Level};
use framewire_media::streaming_file::{self, PlanStep, StoredPlan};
use framewire_recording::ledger::{Fate, FrameRow, Ledger};
use framewire_recording::record::{FlowLog, FoundStream, FrameFacts, FrameFound};
use framewire_scenario::Scenario;
use framewire_session::{FlowSetup, LadderContent, SendingPlan};
use framewire_units::{Bitrate, Duration, Playout, Timestamp};
use support::ffmpeg;

const MOVING: &str = "testsrc2=s=96x64:r=25:d=8,noise=alls=8:allf=t";

/// Open groups of 16 frames, and a switch point at this frame.
const SWITCH: u32 = 96;
const X264: &str = "-c:v libx264 -forced-idr 1 -x264-params \
                    keyint=16:min-keyint=16:bframes=3:b-adapt=0:open-gop=1:scenecut=0:threads=1:log-level=none";
const X265: &str = "-c:v libx265 -forced-idr 1 -x265-params keyint=16:min-keyint=16:bframes=3:b-pyramid=1:b-adapt=0:\
                    open-gop=1:scenecut=0:log-level=none:pools=none:frame-threads=1";

/// One level: its movie, the digests of its pictures by frame, and what an adaptive flow's ledger knows of its frames.
struct Encoded {
    plan: SendingPlan,
    digests: BTreeMap<u32, String>,
    facts: Vec<FrameFacts>,
}

impl Encoded {
    fn new(name: &str, options: &str, quality: u32, format: &str) -> Self {
        let keys = format!("-force_key_frames expr:eq(n,{SWITCH})");
        let options = format!("{options} -crf {quality} {keys} -pix_fmt yuv420p -f {format}");
        let path = ffmpeg::encode(&format!("ladder-{name}-{quality}"), MOVING, &options);
        let stream = Bytes::from(std::fs::read(path).expect("it was just made"));
        let plan = SendingPlan::new(framewire_media::Movie::parse(stream.clone()).expect("it is one"), Timestamp::ZERO);
        let shown = ffmpeg::decode(&stream, format, &format!("ladder-{name}-{quality}.whole"));
        let frames = &plan.movie().index.frames;
        assert_eq!(shown.len(), frames.len(), "{name}");
        let of = |frame: &framewire_media::Frame| (frame.decode_index, shown[frame.display_index as usize].clone());
        Self { digests: frames.iter().map(of).collect(), facts: facts(&stream), plan }
    }
}

/// What the ledger of an adaptive flow with this one level knows.
fn facts(stream: &Bytes) -> Vec<FrameFacts> {
    let ladder = Ladder::new(vec![Level::parse(stream.clone()).expect("it is a level")]).expect("it is a ladder");
    let mut file = Vec::new();
    let step = PlanStep { start: Duration::ZERO, rate: Bitrate::from_kbps(1_000) };
    let plan = StoredPlan { levels: vec![vec![step]], ..StoredPlan::default() };
    streaming_file::write(&ladder, Some(&plan), 1_000, &mut file).expect("it is written to memory");
    let content = LadderContent::open(Bytes::from(file)).expect("it was just written");
    let scenario =
        Scenario::parse("movie.ladder = \"l.vtp\"\n[[flow]]\ntransport = \"vtp\"\n", &[]).expect("it is one");
    let setup = FlowSetup::of_ladder(&scenario.flows[0], content, Duration::ZERO).expect("the packets fit");
    setup.facts().to_vec()
}

/// Frames `lost` of two levels, the second of which is sent from [`SWITCH`] on.
fn check(name: &str, format: &str, levels: &[Encoded; 2], lost: &BTreeSet<u32>) -> Ledger {
    let level = |frame: u32| &levels[usize::from(frame >= SWITCH)];
    let count = levels[0].plan.len();
    let arrived: Vec<u32> = (0..count).filter(|frame| !lost.contains(frame)).collect();
    let whole = |&frame: &u32| FrameFound { frame, whole_at: Some(level(frame).plan.due(frame)), bytes: 0 };
    let found = FoundStream { frames: arrived.iter().map(whole).collect(), first_byte: Some(Timestamp::ZERO) };
    let frames = (0..count).map(|frame| level(frame).facts[frame as usize].clone()).collect();
    let log = FlowLog { frames, found: Some(found), ..FlowLog::default() };
    let playout = Playout::waiting(Duration::ZERO);
    let ledger = Ledger::build(&log, playout);

    let bytes: Vec<u8> = arrived.iter().flat_map(|&frame| level(frame).plan.outgoing(frame).bytes).collect();
    let decoded = ffmpeg::decode(&bytes, format, &format!("ladder-{name}.received"));
    let frame_of: BTreeMap<&str, u32> = (0..count).map(|frame| (&*level(frame).digests[&frame], frame)).collect();
    let by_decoder: Vec<u32> = decoded.iter().filter_map(|digest| frame_of.get(&**digest).copied()).collect();
    let by_decoder = in_order(&by_decoder, &ledger.rows.to_vec());
    let mut shown: Vec<_> = ledger.rows.iter().filter(|row| row.fate == Fate::Shown).collect();
    shown.sort_by_key(|row| row.display);
    let by_ledger: Vec<u32> = shown.iter().map(|row| row.frame).collect();
    let case = format!("{name}, {lost:?} lost");
    assert_eq!(by_decoder, by_ledger, "{case}");
    ledger
}

/// Those that do not come behind one that is to be shown later.
fn in_order(frames: &[u32], rows: &[FrameRow]) -> Vec<u32> {
    let mut last = None;
    let mut is_in_order = |frame: u32| {
        let display = Some(rows[frame as usize].display);
        let is_behind = display > last;
        last = last.max(display);
        is_behind
    };
    frames.iter().copied().filter(|&frame| is_in_order(frame)).collect()
}

fn check_codec(name: &str, codec: Codec, encoder: &str, options: &str) {
    if !ffmpeg::has_encoder(encoder) {
        return;
    }
    println!("decoder: {}; the ledger goes by 5.1", ffmpeg::version());
    let format = codec.ffmpeg_format();
    let levels = [40, 24].map(|quality| Encoded::new(name, options, quality, format));
    for level in &levels {
        for (frame, (of_ladder, of_movie)) in level.facts.iter().zip(level.plan.facts()).enumerate() {
            assert_eq!(of_ladder.references, of_movie.references, "{name}, frame {frame}");
            assert_eq!(of_ladder.missing_reference, of_movie.missing_reference, "{name}, frame {frame}");
            assert_eq!(of_ladder.picture_order, of_movie.picture_order, "{name}, frame {frame}");
            assert!(of_ladder.picture_order.is_some(), "{name}, frame {frame}");
        }
    }
    let misplaced = [(0, 0), (40, 5), (40, 20), (20, 60), (90, 20), (100, 12), (60, 70)].map(|(from, count)| {
        let ledger = check(name, format, &levels, &(from..from + count).collect());
        // What arrived, and refers to nothing that is missing, and is placed elsewhere.
        let rows = ledger.rows.iter().filter(|row| row.fate == Fate::Undecodable);
        rows.filter(|row| row.frame > from + count + 16 && row.frame < SWITCH || row.frame > SWITCH + 32).count()
    });
    assert_eq!(misplaced[0], 0, "{name}: nothing is lost");
    if codec == Codec::H264 {
        assert!(misplaced.iter().any(|&count| count > 8), "{name}: {misplaced:?}, some gap is longer than half a turn");
    }
}

#[test]
fn ladders_of_h264() {
    check_codec("h264", Codec::H264, "libx264", X264);
}

#[test]
fn ladders_of_h265() {
    check_codec("h265", Codec::H265, "libx265", X265);
}
