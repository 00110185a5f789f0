//! The truth of the ledger is a decoder. What arrives of every codec, after every way of dropping and every pattern of
//! gaps, is decoded by FFmpeg, and of H.265 by libde265 as well: what the ledger calls shown is what they show, frame by
//! frame and in order. What a queue sends goes in RTP packets. What differs is a list in `docs/decoders.md`, which this test holds to what it sees.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests against FFmpeg start processes and write files"
)]

use crate::{packets, support};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use framewire_media::access_unit::{Codec, KeyKind};
use framewire_media::picture_order::Renumbering;
use framewire_media::{Frame, FrameRate, Movie, PictureType};
use framewire_recording::ledger::{Fate, FrameRow, Ledger};
use framewire_recording::record::{FlowLog, FoundStream, FrameEvent, FrameEventKind, FrameFound};
use framewire_session::{ContentMatcher, SendingPlan, as_sent};
use framewire_transport::Limits;
use framewire_transport::ifd::IfdPolicy;
use framewire_transport::queue::{FrameQueue, QueueKind};
use framewire_transport::rivals::{KeyframeRecovery, LeakyDownstream, Thresholds};
use framewire_units::{Duration, Playout, RandomStream, Seed, Timestamp};
use support::{ffmpeg, long_term, unstated};

const MOVING: &str = "testsrc2=s=96x64:r=25:d=8,noise=alls=8:allf=t";
const SIZE: &str = "96x64";

/// Streams: name, encoder and options.
const ENCODED: &[(&str, Codec, &str, &str)] = &[
    ("mpeg2-closed", Codec::MpegVideo, "mpeg2video", "-g 12 -bf 2 -flags +cgop -sc_threshold 1000000000 -q:v 4"),
    ("mpeg2-open", Codec::MpegVideo, "mpeg2video", "-g 12 -bf 2 -q:v 4"),
    ("mpeg4-closed", Codec::Mpeg4Part2, "mpeg4", "-g 12 -bf 2 -flags +cgop -sc_threshold 1000000000 -q:v 4"),
    ("mpeg4-open", Codec::Mpeg4Part2, "mpeg4", "-g 12 -bf 2 -q:v 4"),
    ("mpeg4-simple", Codec::Mpeg4Part2, "mpeg4", "-g 12 -bf 0 -q:v 4"),
    // In video packets and partitions of data, with vectors of quarters of a sample.
    ("mpeg4-partitioned", Codec::Mpeg4Part2, "mpeg4", "-g 12 -bf 2 -flags +qpel -data_partitioning 1 -ps 300 -q:v 4"),
    ("mpeg4-fields", Codec::Mpeg4Part2, "mpeg4", "-g 12 -bf 2 -flags +ildct+ilme -q:v 4"),
    ("mpeg4-xvid", Codec::Mpeg4Part2, "libxvid", "-g 12 -bf 2 -q:v 4 -bsf:v mpeg4_unpack_bframes"),
    ("h264-closed", Codec::H264, "libx264", "-x264-params keyint=16:bframes=3:b-pyramid=normal:scenecut=0:threads=1"),
    ("h264-slices", Codec::H264, "libx264", "-x264-params keyint=16:bframes=2:ref=3:slices=4:scenecut=0:threads=1"),
    ("h264-fields", Codec::H264, "libx264", "-x264-params keyint=16:bframes=2:ref=3:tff=1:scenecut=0:threads=1"),
    ("h264-refresh", Codec::H264, "libx264", "-x264-params keyint=16:intra-refresh=1:bframes=0:ref=1:threads=1"),
    // Without one frame of each group: a movie has gaps before any is lost on its way.
    (WITHOUT_SOME, Codec::H264, "libx264", "-x264-params keyint=16:scenecut=0:bframes=0:ref=2:threads=1"),
    (
        "h264-refresh-bidirectional",
        Codec::H264,
        "libx264",
        "-x264-params keyint=20:intra-refresh=1:bframes=2:b-adapt=0:ref=3:threads=1",
    ),
    (
        "h264-open",
        Codec::H264,
        "libx264",
        "-x264-params keyint=16:min-keyint=16:bframes=3:b-adapt=0:open-gop=1:scenecut=0:threads=1",
    ),
    // Each group is a whole turn of the picture order counts.
    (
        "h264-open-turn",
        Codec::H264,
        "libx264",
        "-x264-params keyint=16:min-keyint=16:bframes=2:b-pyramid=none:open-gop=1:ref=2:scenecut=0:threads=1",
    ),
    (
        "h264-open-fields",
        Codec::H264,
        "libx264",
        "-x264-params keyint=16:min-keyint=16:bframes=3:b-pyramid=normal:open-gop=1:ref=3:tff=1:slices=3:scenecut=0:threads=1",
    ),
    // It does not state how many pictures are reordered.
    (
        "h264-open-unstated",
        Codec::H264,
        "libx264",
        "-profile:v main -x264-params \
         keyint=16:min-keyint=16:bframes=3:b-adapt=0:open-gop=1:scenecut=0:threads=1",
    ),
    // Groups shorter and longer than a turn of the picture order counts, so that what is held of before a gap may be placed
    // among what comes behind it.
    ("h264-open-among", Codec::H264, "libx264", "-x264-params keyint=30:open-gop=1:bframes=2:ref=4:threads=1"),
    (
        "h264-open-among-fields",
        Codec::H264,
        "libx264",
        "-flags +ildct+ilme -x264-params keyint=30:open-gop=1:bframes=2:ref=4:tff=1:threads=1",
    ),
    // Types and groups stand in a fixed order, whatever is in the pictures: behind a fixed gap the order begins anew.
    (
        PLACED_BY_NUMBER,
        Codec::H264,
        "libx264",
        "-x264-params keyint=30:min-keyint=30:open-gop=1:bframes=2:b-adapt=0:ref=4:scenecut=0:threads=1",
    ),
    ("h264-open-long", Codec::H264, "libx264", "-x264-params keyint=50:open-gop=1:threads=1"),
    ("h265-closed", Codec::H265, "libx265", "-x265-params keyint=16:bframes=3:b-pyramid=1:open-gop=0:scenecut=0"),
    (
        "h265-open",
        Codec::H265,
        "libx265",
        "-x265-params keyint=12:min-keyint=12:bframes=4:b-pyramid=1:ref=3:b-adapt=0:open-gop=1:scenecut=0",
    ),
    (
        "h265-layers",
        Codec::H265,
        "libx265",
        "-x265-params keyint=24:min-keyint=24:bframes=3:temporal-layers=1:b-adapt=0:open-gop=1:scenecut=0",
    ),
    // Half a turn of the picture order counts is 16 frames.
    (
        "h265-turn",
        Codec::H265,
        "libx265",
        "-x265-params keyint=24:min-keyint=24:bframes=4:b-pyramid=1:ref=3:b-adapt=0:open-gop=1:scenecut=0:log2-max-poc-lsb=5",
    ),
    (
        // x265 makes several slices with wavefronts only: without, no decoder makes the picture of it. Where loop filters
        // cross slices, FFmpeg 5.1 and libde265 1.0.11 miss the digests that x265 sends along.
        "h265-slices",
        Codec::H265,
        "libx265",
        "-x265-params keyint=16:min-keyint=16:bframes=3:b-pyramid=1:ref=3:b-adapt=0:open-gop=1:scenecut=0:ctu=16:slices=4:\
         wpp=1:pools=1:no-deblock=1:no-sao=1",
    ),
    (
        "h265-refresh",
        Codec::H265,
        "libx265",
        "-x265-params keyint=16:min-keyint=16:intra-refresh=1:bframes=0:ref=1:scenecut=0:ctu=16",
    ),
    ("av1-look-ahead", Codec::Av1, "libaom-av1", "-g 25 -cpu-used 8 -b:v 300k -lag-in-frames 19"),
    ("av1-real-time", Codec::Av1, "libaom-av1", "-g 25 -usage realtime -cpu-used 8 -b:v 300k -lag-in-frames 0"),
    (
        "av1-resilient",
        Codec::Av1,
        "libaom-av1",
        "-g 25 -cpu-used 8 -b:v 300k -error-resilience default -lag-in-frames 19",
    ),
    ("av1-no-hints", Codec::Av1, "libaom-av1", "-g 25 -cpu-used 8 -b:v 300k -aom-params enable-order-hint=0"),
    ("av1-pyramid", Codec::Av1, "libsvtav1", "-g 32 -preset 10 -svtav1-params hierarchical-levels=3:lp=1"),
    ("av1-intra-only", Codec::Av1, "libsvtav1", "-g 24 -preset 10 -svtav1-params irefresh-type=1:lp=1"),
    ("av1-switch", Codec::Av1, "libsvtav1", "-g 48 -preset 10 -svtav1-params pred-struct=1:sframe-dist=8:lp=1"),
    ("av1-rav1e", Codec::Av1, "librav1e", "-g 25 -speed 10 -qp 100"),
    ("h264-long-term", Codec::H264, "libx264", long_term::X264),
    ("h264-long-term-short-numbers", Codec::H264, "libx264", long_term::X264),
    ("h264-long-term-refresh", Codec::H264, "libx264", long_term::X264_REFRESH),
    ("h265-long-term", Codec::H265, "libx265", long_term::X265),
];

/// Streams of the test data, with what the encoders here do not make: broken links, fields as pictures of their own.
const RECORDED: &[(&str, Codec)] = &[
    ("es/generated/m2v_720x576i25_tff_frame_pictures_open_gop.m2v", Codec::MpegVideo),
    ("es/generated/m2v_720x576p25_open_gop_broken_link_gop3_gop5.m2v", Codec::MpegVideo),
    ("field_pairs.264", Codec::H264),
    // The frame after the first is missing.
    ("es/openh264/BA_MW_D_P_LOST.264", Codec::H264),
];

/// What is known to differ, by its name in `docs/decoders.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Exception {
    Unmarking,
    Keeping,
    StandIn,
    ListedOnly,
    SilentRefresh,
    BrokenLink,
    FieldPeriod,
    Libde265,
}

impl Exception {
    const ALL: [Self; 8] = [
        Self::Unmarking,
        Self::Keeping,
        Self::StandIn,
        Self::ListedOnly,
        Self::SilentRefresh,
        Self::BrokenLink,
        Self::FieldPeriod,
        Self::Libde265,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Unmarking => "unmarking",
            Self::Keeping => "keeping",
            Self::StandIn => "stand-in",
            Self::ListedOnly => "listed only",
            Self::SilentRefresh => "silent refresh",
            Self::BrokenLink => "broken link",
            Self::FieldPeriod => "field period",
            Self::Libde265 => "libde265",
        }
    }
}

/// Those that state no frame rate are of 25 Hz.
fn parse(stream: Vec<u8>) -> Movie {
    Movie::parse_at(stream.into(), Some(FrameRate { numerator: 25, denominator: 1 })).expect("it is a stream")
}

/// A movie, and the digest of each of its pictures by frame.
struct Subject {
    name: String,
    codec: Codec,
    plan: SendingPlan,
    digests: BTreeMap<u32, String>,
    frame_of: BTreeMap<String, u32>,
    /// The same by libde265; `None` of other codecs and where it is not there.
    by_libde265: Option<BTreeMap<String, u32>>,
    /// Frames that libde265 decodes to other pictures than FFmpeg, of the whole movie; of several slices, all leading ones.
    differs_by_libde265: BTreeSet<u32>,
    /// It begins where the movie begins.
    is_whole: bool,
}

impl Subject {
    /// `skipped` frames of the original are left out at its start: its pictures are still those of the whole.
    fn new(name: &str, codec: Codec, stream: &[u8], skipped: usize) -> Self {
        let movie = parse(stream.to_vec());
        let frames = &movie.index.frames;
        let whole = ffmpeg::decode(stream, codec.ffmpeg_format(), &format!("{name}.whole"));
        assert_eq!(whole.len(), frames.len(), "{name}: FFmpeg shows every frame of the whole movie");
        let in_display_order: BTreeMap<u32, u32> =
            frames.iter().map(|frame| (frame.display_index, frame.decode_index)).collect();
        let by_frame = |digests: Vec<String>| -> BTreeMap<u32, String> {
            let pairs = in_display_order.values().zip(digests);
            pairs.filter_map(|(frame, digest)| Some((frame.checked_sub(skipped as u32)?, digest))).collect()
        };
        let reversed = |digests: &BTreeMap<u32, String>| -> BTreeMap<String, u32> {
            digests.iter().map(|(frame, digest)| (digest.clone(), *frame)).collect()
        };
        let digests = by_frame(whole);
        let by_libde265 = (codec == Codec::H265)
            .then(|| ffmpeg::decode_with_libde265(stream, SIZE, &format!("{name}.whole")).map(&by_frame))
            .flatten();
        let differs = |other: &BTreeMap<u32, String>| {
            digests.iter().filter(|(frame, digest)| other.get(frame) != Some(digest)).map(|(frame, _)| *frame).collect()
        };
        let mut differs_by_libde265: BTreeSet<u32> = by_libde265.as_ref().map(differs).unwrap_or_default();
        if by_libde265.is_some() && (name.contains("slices") || name.contains("turn")) {
            // It differs there behind gaps, and where a stream begins elsewhere, with messages that references do not exist.
            let leading = frames.iter().skip(skipped).filter(|frame| frame.leading);
            differs_by_libde265.extend(leading.map(|frame| frame.decode_index - skipped as u32));
        }
        let cut = stream[frames[skipped].offset as usize..].to_vec();
        Self {
            name: if skipped > 0 { format!("{name} from an open group") } else { name.to_owned() },
            codec,
            plan: SendingPlan::new(parse(cut), Timestamp::ZERO),
            frame_of: reversed(&digests),
            differs_by_libde265,
            by_libde265: by_libde265.as_ref().map(reversed),
            is_whole: skipped == 0,
            digests,
        }
    }

    /// It does not state how many pictures have to be held back: where the first that come need fewer than later ones, a
    /// decoder passes over one when it finds out.
    fn states_no_order(&self) -> bool {
        self.name.contains("unstated")
    }

    fn first_open_key(stream: &[u8]) -> Option<usize> {
        let movie = parse(stream.to_vec());
        let frames = &movie.index.frames;
        (1..frames.len()).find(|&frame| frames[frame].key == Some(KeyKind::Open))
    }
}

/// Those that tests share.
static H264_SUBJECTS: LazyLock<Vec<Subject>> = LazyLock::new(|| subjects(Codec::H264));
static H265_SUBJECTS: LazyLock<Vec<Subject>> = LazyLock::new(|| subjects(Codec::H265));

/// The streams of a codec, whole and from their first open group on; none where FFmpeg has no encoder.
fn subjects(codec: Codec) -> Vec<Subject> {
    let encoded: Vec<_> =
        ENCODED.iter().filter(|(_, of, encoder, _)| *of == codec && ffmpeg::has_encoder(encoder)).collect();
    let of = |(name, _, encoder, options): &(&str, Codec, &str, &str)| {
        let stream = encode(name, codec, encoder, options);
        let skipped = Subject::first_open_key(&stream);
        [Some(0), skipped].into_iter().flatten().map(|skipped| Subject::new(name, codec, &stream, skipped)).collect()
    };
    side_by_side(&encoded, |encoded| of(encoded)).into_iter().flat_map(|subjects: Vec<_>| subjects).collect()
}

fn encode(name: &str, codec: Codec, encoder: &str, options: &str) -> Vec<u8> {
    let extra = match codec {
        Codec::H265 if options.contains("pools=") => ":log-level=none:frame-threads=1",
        Codec::H265 => ":log-level=none:pools=none:frame-threads=1",
        _ => "",
    };
    let muxer = if codec == Codec::MpegVideo { "mpeg2video" } else { codec.ffmpeg_format() };
    let options = format!("-c:v {encoder} -pix_fmt yuv420p {options}{extra} -f {muxer}");
    let path = ffmpeg::encode(&format!("pictures-{name}"), MOVING, &options);
    let stream = std::fs::read(path).expect("it was just made");
    match codec {
        _ if name == WITHOUT_SOME => without_some(stream),
        _ if name.contains("unstated") => unstated::h264(&stream),
        Codec::H265 if name.contains("long-term") => long_term::h265(&stream),
        _ if name.contains("short-numbers") => long_term::h264(&stream, 4),
        _ if name.contains("long-term") => long_term::h264(&stream, 8),
        _ => stream,
    }
}

fn without_some(stream: Vec<u8>) -> Vec<u8> {
    let movie = parse(stream);
    let frames = movie.index.frames.iter().filter(|frame| frame.decode_index % 16 != 5);
    frames.flat_map(|frame| movie.frame_bytes(frame.decode_index as usize)).collect()
}

/// What `work` makes of each, in order; as many at a time as there are processors.
fn side_by_side<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let numbers =
            std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&number| number < items.len()));
        numbers.map(|number| (number, work(&items[number]))).collect::<Vec<_>>()
    };
    let mut done: Vec<(usize, R)> = std::thread::scope(|scope| {
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..count).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

fn recorded(codec: Codec) -> Vec<Subject> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    let folder = std::env::var_os("FRAMEWIRE_TEST_DATA").map_or_else(|| PathBuf::from(default), PathBuf::from);
    let mut subjects = vec![];
    for (name, _) in RECORDED.iter().filter(|(_, of)| *of == codec) {
        match std::fs::read(folder.join(name)) {
            Ok(stream) => subjects.push(Subject::new(&name.replace('/', "-"), codec, &stream, 0)),
            Err(_) => eprintln!("skipped: no {name} in {}", folder.display()),
        }
    }
    subjects
}

/// What arrives of a movie: frame numbers in decode order, their bytes, and those that a queue changed.
struct Received {
    frames: Vec<u32>,
    units: Vec<Bytes>,
    begins_sequence: Vec<u32>,
    renumbered: BTreeMap<u32, Renumbering>,
}

/// What a writer that takes frames at random moments gets of a movie.
fn through(queue: QueueKind, plan: &SendingPlan, random: &mut RandomStream) -> Received {
    let mut queue = FrameQueue::new(queue);
    let mut received = Received { frames: vec![], units: vec![], begins_sequence: vec![], renumbered: BTreeMap::new() };
    let mut sent = vec![];
    let mut take = |queue: &mut FrameQueue| {
        let Some(frame) = queue.take() else { return false };
        if frame.dependencies.begins_sequence {
            received.begins_sequence.push(frame.id);
        }
        if !frame.dependencies.renumbered.is_none() {
            received.renumbered.insert(frame.id, frame.dependencies.renumbered);
        }
        sent.push(frame);
        true
    };
    for frame in 0..plan.len() {
        queue.offer(plan.outgoing(frame));
        // Slow for two seconds, fast for one.
        let takes = if frame / 25 % 3 != 2 { random.next_inclusive(2) == 0 } else { random.next_inclusive(15) != 0 };
        if takes {
            take(&mut queue);
        }
    }
    while take(&mut queue) {}
    let carried = packets::carry(plan.movie().index.sequence.codec, &sent, || false);
    assert!(carried.discarded().is_empty() && carried.whole.len() == sent.len(), "nothing was lost on the way");
    received.frames = carried.whole.keys().copied().collect();
    received.units = carried.whole.into_values().collect();
    received
}

/// An IVF file of temporal units, which are numbered in it (libaom, `ivfenc.c`): a header of 32 bytes, and of 12 before each.
fn ivf(units: &[Bytes]) -> Vec<u8> {
    let mut file = Vec::new();
    file.extend(b"DKIF\0\0\x20\0AV01");
    file.extend([96, 0, 64, 0]);
    [25, 1, units.len() as u32, 0].iter().for_each(|number| file.extend(number.to_le_bytes()));
    for (number, unit) in (0u64..).zip(units) {
        file.extend((unit.len() as u32).to_le_bytes());
        file.extend(number.to_le_bytes());
        file.extend(unit);
    }
    file
}

/// What is left after the losses that no rule chose.
fn without(plan: &SendingPlan, lost: impl Fn(u32) -> bool) -> Received {
    let frames: Vec<u32> = (0..plan.len()).filter(|&frame| !lost(frame)).collect();
    let units = frames.iter().map(|&frame| plan.outgoing(frame).bytes).collect();
    Received { frames, units, begins_sequence: vec![], renumbered: BTreeMap::new() }
}

fn ledger(plan: &SendingPlan, received: &Received) -> Ledger {
    let whole = |&frame: &u32| FrameFound { frame, whole_at: Some(plan.due(frame)), bytes: 0 };
    let began = |&frame: &u32| FrameEvent { frame, at: plan.due(frame), what: FrameEventKind::BeginsSequence };
    let renumbered = received.renumbered.iter().map(|(&frame, &by)| (frame, by, None));
    let log = FlowLog {
        frames: as_sent(plan.facts(), renumbered).collect(),
        frame_events: received.begins_sequence.iter().map(began).collect(),
        found: Some(FoundStream {
            frames: received.frames.iter().map(whole).collect(),
            first_byte: Some(Timestamp::ZERO),
        }),
        ..FlowLog::default()
    };
    let startup = Duration::ZERO;
    Ledger::build(&log, Playout::waiting(startup))
}

/// How frames are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Queue(&'static str, QueueKind),
    /// One frame in thirty, at random.
    Random,
    /// One burst of so many frames from this one on.
    Burst(u32, u32),
    /// One to three bursts at random, every other one of them long.
    RandomGaps,
    /// Several.
    Gaps(&'static [(u32, u32)]),
    /// A third of the frames that nothing refers to.
    Unreferenced,
}

/// What is drawn by chance is drawn with each of these seeds, and with those of the environment variable
/// `FRAMEWIRE_PICTURE_SEEDS` (`8,99,1234`).
fn seeds() -> BTreeSet<u64> {
    const ALWAYS: [u64; 3] = [7, 8, 99];
    let more = std::env::var("FRAMEWIRE_PICTURE_SEEDS").unwrap_or_default();
    let more = more.split(',').filter(|seed| !seed.is_empty());
    ALWAYS.into_iter().chain(more.map(|seed| seed.trim().parse().expect("a list of numbers"))).collect()
}

fn ways() -> Vec<Way> {
    let dependency = |frames| Way::Queue("dependency", QueueKind::Dependency(limits(frames)));
    let timed = QueueKind::Dependency(Limits::of_time(Duration::from_secs(1)));
    let leaky = QueueKind::Leaky(LeakyDownstream::<Bytes>::DEFAULT_LIMITS);
    let keyframe = QueueKind::Keyframe(KeyframeRecovery::<Bytes>::DEFAULT_SOFT_LIMITS);
    let mut ways = few_ways();
    ways.extend([
        Way::Random,
        Way::RandomGaps,
        Way::Unreferenced,
        dependency(5),
        dependency(40),
        Way::Queue("dependency", timed),
    ]);
    ways.push(Way::Queue("ifd", QueueKind::Ifd(IfdPolicy::Basic)));
    ways.push(Way::Queue("ifd-optimised", QueueKind::Ifd(IfdPolicy::Optimised)));
    ways.push(Way::Queue("leaky", leaky));
    ways.push(Way::Queue("keyframe", keyframe));
    ways.push(Way::Queue("obs", QueueKind::Obs(Thresholds::DEFAULT)));
    ways.extend([Way::Burst(0, 1), Way::Burst(40, 5), Way::Burst(40, 50)]);
    ways
}

fn few_ways() -> Vec<Way> {
    let dependency = QueueKind::Dependency(limits(12));
    vec![Way::Queue("direct", QueueKind::Direct), Way::Queue("dependency", dependency), Way::Burst(40, 20)]
}

const WITHOUT_SOME: &str = "h264-without-some";

const PLACED_BY_NUMBER: &str = "h264-open-anew";

/// Bursts of frames that are lost of a stream, in each of which a decoder does what it does behind few others.
const GAPS: &[(&str, &[(u32, u32)])] = &[
    // `frame_num` does not show it, and it is half a turn of the picture order counts longer than whole turns: what comes
    // behind it is placed before the latest sixteen of all that came before it, and the order begins anew.
    (PLACED_BY_NUMBER, &[(31, 144)]),
    // The picture whose lists lack a frame is placed before the places of the others are forgotten.
    ("h264-open-among", &[(28, 120), (153, 24)]),
    // A frame that is inferred from a gap has a place, and displaces a reference.
    ("h264-open-among", &[(26, 34)]),
    // More than half a turn of the 256 counts of x265.
    ("h265-open", &[(30, 144)]),
    ("h265-layers", &[(30, 144)]),
    // The picture behind it has the place of one that is held back, or kept for reference.
    ("h265-turn", &[(60, 20)]),
    ("h265-turn", &[(63, 54)]),
    // More pictures have to be held back than the stream needs where none is missing, and it does not state how many.
    ("h264-open-unstated", &[(30, 144)]),
    // Nothing is shown before the key frame has been: a picture behind the gap comes before it, and is not shown.
    ("h264-open-among from an open group", &[(4, 55)]),
    // Nor when nothing more comes.
    ("h264-open from an open group", &[(2, 185)]),
    // A list names another picture at a place that no block uses.
    ("h264-open-fields", &[(3, 125), (141, 59)]),
    // What comes behind it is placed before the first picture.
    ("field_pairs.264", &[(1, 147)]),
    // Such a frame is given up by its number.
    ("h264-open", &[(161, 27)]),
];

fn limits(frames: u32) -> Limits {
    Limits { frames: Some(frames), ..Limits::default() }
}

impl Way {
    fn is_drawn(self) -> bool {
        matches!(self, Self::Random | Self::RandomGaps | Self::Queue(..)) && !matches!(self, Self::Queue("direct", _))
    }

    fn received(self, plan: &SendingPlan, seed: u64) -> Received {
        let mut random = Seed(seed).stream("pictures", &[u64::from(plan.len())]);
        let index = &plan.movie().index;
        match self {
            Self::Queue("direct", _) => without(plan, |_| false),
            Self::Queue(_, kind) => through(kind, plan, &mut random),
            Self::Burst(from, count) => without(plan, |frame| (from..from + count).contains(&frame)),
            Self::Gaps(gaps) => {
                without(plan, |frame| gaps.iter().any(|&(from, count)| (from..from + count).contains(&frame)))
            }
            Self::Random => {
                let lost: BTreeSet<u32> = (0..plan.len()).filter(|_| random.next_inclusive(29) == 0).collect();
                without(plan, |frame| lost.contains(&frame))
            }
            Self::RandomGaps => {
                let frames = plan.len();
                let count = 1 + random.next_inclusive(2);
                let gap = |_| {
                    let longest = if random.next_inclusive(1) == 0 { 11 } else { frames * 3 / 4 };
                    let from = random.next_inclusive(frames - 1);
                    from..from + 1 + random.next_inclusive(longest)
                };
                let gaps: Vec<_> = (0..count).map(gap).collect();
                without(plan, |frame| gaps.iter().any(|gap| gap.contains(&frame)))
            }
            Self::Unreferenced => without(plan, |frame| frame % 3 == 0 && !index.frames[frame as usize].referenced),
        }
    }
}

/// What a decoder shows, against what the ledger calls shown.
#[derive(Debug, Default)]
struct Verdict {
    /// Shown by the ledger and not by the decoder.
    absent: Vec<u32>,
    /// Shown by the decoder, exactly and not behind one that is to be shown later, and not by the ledger.
    more: Vec<u32>,
    /// Pictures that are none of the movie's.
    broken: usize,
    /// Pictures that the ledger calls shown, and that come behind one that is to be shown later.
    out_of_order: usize,
}

impl Verdict {
    fn of(frame_of: &BTreeMap<String, u32>, rows: &[FrameRow], decoded: &[String]) -> Self {
        let shown: BTreeSet<u32> = rows.iter().filter(|row| row.fate == Fate::Shown).map(|row| row.frame).collect();
        let frames: Vec<u32> = decoded.iter().filter_map(|digest| frame_of.get(digest).copied()).collect();
        let by_decoder: BTreeSet<u32> = frames.iter().copied().collect();
        let absent = shown.difference(&by_decoder).copied().collect();
        let mut verdict = Self { absent, broken: decoded.len() - frames.len(), ..Self::default() };
        let mut last = None;
        for frame in frames {
            let display = Some(rows[frame as usize].display);
            match shown.contains(&frame) {
                true if display <= last => verdict.out_of_order += 1,
                true => last = display,
                false if display > last => verdict.more.push(frame),
                false => {}
            }
        }
        verdict
    }

    /// The exceptions without which this would be wrong.
    fn exceptions(&self, case: &Case) -> Vec<Exception> {
        let Case { subject, way, received, .. } = case;
        let is_dependency = matches!(way, Way::Queue("dependency", _));
        let differs = !self.absent.is_empty() || !self.more.is_empty() || self.out_of_order > 0;
        let mut exceptions = vec![];
        let is_right_but_for_more = self.absent.is_empty() && self.out_of_order == 0 && !self.more.is_empty();
        let leads = |&frame: &u32| subject.plan.movie().index.frames[frame as usize].leading;
        if subject.name.contains("mpeg4-fields") && !self.absent.is_empty() {
            assert!(self.more.is_empty() && self.out_of_order == 0, "{case}: {self:?}");
            assert!(self.absent.iter().all(|&frame| case.lacks_field_period(frame)), "{case}: {self:?}");
            exceptions.push(Exception::FieldPeriod);
        } else if subject.name.contains("h264-long-term") && is_right_but_for_more && !is_dependency {
            let is_behind_new_long_term =
                |&frame: &u32| long_term::becomes_long_term(frame - 1) && !received.frames.contains(&(frame - 1));
            assert!(self.more.iter().all(is_behind_new_long_term), "{case}: {self:?}");
            exceptions.push(Exception::StandIn);
        } else if subject.codec == Codec::H265 && self.more.iter().all(leads) && is_right_but_for_more && !is_dependency
        {
            // Of each gap, one leading picture, or two of which one refers to the other.
            assert!(self.more.len() <= 2 * case.gaps(), "{case}: {self:?}");
            exceptions.push(Exception::ListedOnly);
        } else if subject.codec == Codec::Av1 && is_right_but_for_more && !is_dependency {
            // A frame names seven references, of which its blocks use what they like. Behind a frame of intra blocks only they
            // use none from before.
            let (all, most) = (received.frames.len(), subject.plan.len() as usize / 10);
            let most = if subject.name.contains("intra-only") { all } else { most };
            let fate = |frame: u32| case.ledger[frame as usize].fate;
            let is_listed_only = self.more.iter().all(|&frame| fate(frame) == Fate::Undecodable);
            assert!(is_listed_only && self.more.len() <= most, "{case}: {self:?}");
            exceptions.push(Exception::ListedOnly);
        } else if subject.name.contains("h264-open-fields") && is_right_but_for_more && !is_dependency {
            assert!(self.more.len() <= case.gaps(), "{case}: {self:?}");
            exceptions.push(Exception::ListedOnly);
        } else if is_right_but_for_more && !is_dependency {
            exceptions.extend(subject.name.contains("h265-refresh").then_some(Exception::SilentRefresh));
            exceptions.extend(subject.name.contains("broken_link").then_some(Exception::BrokenLink));
        }
        assert_eq!(differs, !exceptions.is_empty(), "{case}: {self:?}");
        exceptions
    }
}

/// One way of losing frames of a movie, and what the ledger says of it.
struct Case<'a> {
    subject: &'a Subject,
    way: Way,
    seed: u64,
    received: Received,
    ledger: Vec<FrameRow>,
    /// Frames that arrived, and that are damaged: they carry a refresh on, after the queue went on with it.
    carriers: BTreeSet<u32>,
    /// These and the others that came while a refresh was under way.
    refreshing: BTreeSet<u32>,
    /// All others that arrived are shown.
    is_whole: bool,
}

impl fmt::Display for Case<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sent, all) = (self.received.frames.len(), self.subject.plan.len());
        write!(f, "{}, {:?}, seed {}, {sent} of {all} sent", self.subject.name, self.way, self.seed)
    }
}

impl<'a> Case<'a> {
    fn new(subject: &'a Subject, way: Way, seed: u64) -> Self {
        let received = way.received(&subject.plan, seed);
        let ledger = ledger(&subject.plan, &received).rows.to_vec();
        let frames = &subject.plan.movie().index.frames;
        let begun = |frame: u32| {
            let before = received.frames.iter().copied().take_while(|&other| other <= frame);
            before.filter(|&other| frames[other as usize].recovery.begins()).last()
        };
        let is_refreshing = |frame: u32| {
            let since = frames[frame as usize].recovery.since(frame.into());
            begun(frame).is_some_and(|begun| since.is_none_or(|since| since < begun.into()))
        };
        let is_carrier = |frame: u32| frames[frame as usize].referenced && is_refreshing(frame);
        let undecodable = ledger.iter().filter(|row| row.fate == Fate::Undecodable);
        let refreshing: BTreeSet<u32> =
            undecodable.map(|row| row.frame).filter(|&frame| is_refreshing(frame)).collect();
        let carriers = refreshing.iter().copied().filter(|&frame| is_carrier(frame)).collect();
        let is_right = |row: &FrameRow| row.fate == Fate::Shown || row.arrival.is_none();
        let is_whole = ledger.iter().all(|row| is_right(row) || is_carrier(row.frame));
        let case = Self { subject, way, seed, received, carriers, refreshing, is_whole, ledger };
        if let Way::Queue("dependency", _) = way {
            assert!(case.is_whole || subject.states_no_order(), "{case}: all that it sends is shown");
            if subject.codec == Codec::H264 {
                check_content(subject, &case.received);
            }
            case.check_sent();
        }
        case
    }

    /// The queue gives frames up and goes on behind them. A stream in which each frame refers to the one before, and says
    /// nowhere that it is whole again, ends with the first frame that is given up.
    fn check_sent(&self) {
        let (sent, index) = (&self.received.frames, &self.subject.plan.movie().index.frames);
        assert!(sent.len() < index.len(), "{self}: some are given up");
        let follows = |(before, frame): (u32, &Frame)| frame.references.contains(&before) && !frame.recovery.begins();
        if (0..).zip(&index[1..]).all(follows) {
            assert!(!sent.is_empty() && sent.iter().copied().eq(0..sent.len() as u32), "{self}: {sent:?}");
        } else {
            assert!(sent.len() > 10, "{self}");
        }
    }

    /// How often frames are missing between two that were sent.
    fn gaps(&self) -> usize {
        self.received.frames.windows(2).filter(|pair| pair[1] != pair[0] + 1).count()
    }

    /// What a decoder is given. FFmpeg's reader of bare temporal units of AV1 follows references itself and ends where one is
    /// missing: in an IVF file it leaves that to the decoder.
    fn for_decoder(&self) -> Vec<u8> {
        match self.subject.codec {
            Codec::Av1 => ivf(&self.received.units),
            _ => self.received.units.concat(),
        }
    }

    /// The pictures that a decoder shows. Of AV1, which says what is shown when, those of another temporal unit than the one
    /// that shows them count for none of the movie's.
    fn of_their_units(&self, decoded: Vec<(usize, String)>) -> Vec<String> {
        let is_own = |(number, digest): &(usize, String)| {
            let frame = self.received.frames.get(*number);
            frame.is_some_and(|frame| self.subject.digests.get(frame) == Some(digest))
        };
        let is_timed = self.subject.codec == Codec::Av1;
        let of_its_unit = |picture| match picture {
            picture if is_timed && !is_own(&picture) => "of another unit".to_owned(),
            (_, digest) => digest,
        };
        decoded.into_iter().map(of_its_unit).collect()
    }

    /// Compares it with what FFmpeg shows, and gives the exceptions that it needed.
    fn judge(&self, decoded: &[String]) -> Vec<Exception> {
        let mut verdict = Verdict::of(&self.subject.frame_of, &self.ledger, decoded);
        // A refresh may be over sooner than its message says.
        verdict.more.retain(|frame| !self.refreshing.contains(frame));
        println!("{self}: {verdict:?}");
        let exceptions = verdict.exceptions(self);
        if self.is_whole {
            assert!(verdict.broken <= self.carriers.len() + verdict.absent.len(), "{self}: {verdict:?}");
        }
        exceptions
    }

    /// A B picture of MPEG-4 part 2 of which the first that came behind the same headers is not shown, or not directly behind
    /// the picture before it that it refers to.
    fn lacks_field_period(&self, frame: u32) -> bool {
        let frames = &self.subject.plan.movie().index.frames;
        let kind = |frame: u32| frames[frame as usize].kind;
        let came = || self.received.frames.iter().copied().filter(|&other| other <= frame);
        let key = came().rfind(|&other| frames[other as usize].key.is_some());
        let first = came().find(|&other| Some(other) > key && kind(other) == PictureType::B);
        let is_behind = |first: u32| {
            let before = frames[first as usize].references.first();
            let before = before.filter(|_| self.ledger[first as usize].fate == Fate::Shown);
            before.is_some_and(|&before| {
                frames[before as usize].display_index + 1 == frames[first as usize].display_index
            })
        };
        kind(frame) == PictureType::B && !first.is_some_and(is_behind)
    }

    /// Leading pictures came without the key frame that they lead.
    fn has_leading_without_key(&self) -> bool {
        let frames = &self.subject.plan.movie().index.frames;
        let key = |&frame: &u32| (0..frame).rev().find(|&before| frames[before as usize].key.is_some());
        let leading = self.received.frames.iter().filter(|&&frame| frames[frame as usize].leading);
        leading.filter_map(key).any(|key| !self.received.frames.contains(&key))
    }

    /// The same with what libde265 shows.
    fn judge_by_libde265(&self, frame_of: &BTreeMap<String, u32>, decoded: &[String]) -> Option<Exception> {
        let mut verdict = Verdict::of(frame_of, &self.ledger, decoded);
        println!("{self}, by libde265: {verdict:?}");
        if !self.subject.is_whole && self.has_leading_without_key() {
            // It skips them as if they belonged to the picture with which decoding began.
            verdict.out_of_order = 0;
        }
        assert_eq!(verdict.out_of_order, 0, "{self}, by libde265: {verdict:?}");
        if self.subject.name.contains("h265-refresh") && verdict.absent.is_empty() {
            return (!verdict.more.is_empty()).then_some(Exception::SilentRefresh);
        }
        if self.subject.name.contains("h265-turn") {
            // It decodes a picture that has the count of one that it holds, and what refers to it.
            verdict.more.clear();
        }
        let own = |frame: &u32| self.subject.differs_by_libde265.contains(frame);
        assert!(verdict.absent.iter().all(own) && verdict.more.iter().all(own), "{self}, by libde265: {verdict:?}");
        (!self.subject.differs_by_libde265.is_empty()).then_some(Exception::Libde265)
    }
}

/// A search for the frames of the movie finds those that were sent, with what was added to their numbers.
fn check_content(subject: &Subject, received: &Received) {
    let mut matcher = ContentMatcher::new(subject.plan.movie()).expect("the stream has start codes");
    matcher.handle_bytes(Timestamp::ZERO, &received.units.concat());
    let found = matcher.finish();
    let whole: Vec<u32> =
        found.frames.iter().filter(|found| found.whole_at.is_some()).map(|found| found.frame).collect();
    assert_eq!((&whole, found.foreign_units), (&received.frames, 0), "{}", subject.name);
    let low_bits = |(&frame, by): (&u32, &Renumbering)| {
        let order = subject.plan.movie().index.frames[frame as usize].picture_order.expect("it has numbers");
        let turn = order.turn.map_or(1, |turn| turn.get().into());
        (frame, by.frame_num, by.order.rem_euclid(turn))
    };
    let [found, sent] =
        [&found.renumbered, &received.renumbered].map(|all| all.iter().map(low_bits).collect::<Vec<_>>());
    let moves = |all: Vec<(u32, u16, i64)>| -> Vec<_> {
        all.into_iter().filter(|(_, by, order)| (*by, *order) != (0, 0)).collect()
    };
    assert_eq!(moves(found), moves(sent), "{}", subject.name);
}

/// What FFmpeg says of streams of which all that arrived is to be shown.
fn known(messages: &str, subject: &Subject) -> BTreeSet<Exception> {
    let said = [
        ("mmco: unref short failure", Exception::Unmarking),
        ("exceeds max", Exception::Unmarking),
        // Of pictures that are only kept for later ones; of those that it needs it is a picture that differs.
        ("Could not find ref with POC", Exception::Keeping),
    ];
    let known = |message: &str| {
        let known = said.into_iter().find(|(text, _)| message.contains(text));
        let (_, exception) = known.unwrap_or_else(|| panic!("{}: {message}", subject.name));
        assert!(exception != Exception::Keeping || subject.name.contains("long-term"), "{}: {message}", subject.name);
        exception
    };
    // That is found out, and all of them are shown.
    let finds_out = |message: &&str| message.contains("Increasing reorder buffer") && subject.states_no_order();
    messages.lines().filter(|message| !finds_out(message)).map(known).collect()
}

/// Checks ways of losing frames, and gives the exceptions that they needed.
fn check(subject: &Subject, ways: &[Way]) -> BTreeSet<Exception> {
    let drawn = |&way: &Way| way.is_drawn();
    let of_seed = |(number, seed): (usize, u64)| {
        let ways = ways.iter().copied().filter(move |way| number == 0 || drawn(way));
        ways.map(move |way| Case::new(subject, way, seed))
    };
    let cases: Vec<Case> = seeds().into_iter().enumerate().flat_map(of_seed).collect();
    let (whole, damaged): (Vec<&Case>, Vec<&Case>) =
        cases.iter().partition(|case| case.is_whole && case.carriers.is_empty());
    let mut needed = BTreeSet::new();
    for (cases, name) in [(whole, "whole"), (damaged, "damaged")].into_iter().filter(|(cases, _)| !cases.is_empty()) {
        let name = format!("pictures-{}-{name}", subject.name.replace(' ', "-"));
        let streams: Vec<Vec<u8>> = cases.iter().map(|case| case.for_decoder()).collect();
        let streams: Vec<&[u8]> = streams.iter().map(Vec::as_slice).collect();
        let format = if subject.codec == Codec::Av1 { "ivf" } else { subject.codec.ffmpeg_format() };
        let (decoded, messages) = ffmpeg::decode_all_with_times(&streams, format, &name);
        needed.extend(cases.iter().zip(decoded).flat_map(|(case, decoded)| case.judge(&case.of_their_units(decoded))));
        if name.ends_with("whole") {
            needed.extend(known(&messages, subject));
        }
        if let Some(frame_of) = &subject.by_libde265 {
            let decoded = ffmpeg::decode_all_with_libde265(&streams, SIZE, &name).expect("it was there");
            let judged = cases.iter().zip(decoded).map(|(case, decoded)| case.judge_by_libde265(frame_of, &decoded));
            needed.extend(judged.flatten());
        }
    }
    needed
}

fn check_all(subjects: &[Subject]) -> BTreeSet<Exception> {
    println!("decoder: {}; the ledger goes by 5.1", ffmpeg::version());
    let check = |subject: &Subject| {
        assert_eq!(subject.digests.len(), subject.frame_of.len(), "{}: no two pictures are alike", subject.name);
        let is_small = subject.plan.movie().index.sequence.width < 100;
        let mut ways = if subject.is_whole && is_small { ways() } else { few_ways() };
        ways.extend(GAPS.iter().filter(|(name, _)| *name == subject.name).map(|(_, gaps)| Way::Gaps(gaps)));
        check(subject, &ways)
    };
    side_by_side(subjects, check).into_iter().flatten().collect()
}

#[test]
fn mpeg_2_is_shown_as_the_ledger_says() {
    if ffmpeg::is_there() {
        assert_eq!(check_all(&subjects(Codec::MpegVideo)), BTreeSet::new());
        let recorded = recorded(Codec::MpegVideo);
        let expected = BTreeSet::from_iter((!recorded.is_empty()).then_some(Exception::BrokenLink));
        assert_eq!(check_all(&recorded), expected);
    }
}

#[test]
fn mpeg_4_part_2_is_shown_as_the_ledger_says() {
    if ffmpeg::is_there() {
        assert_eq!(check_all(&subjects(Codec::Mpeg4Part2)), BTreeSet::from([Exception::FieldPeriod]));
    }
}

#[test]
fn av1_is_shown_as_the_ledger_says() {
    if ffmpeg::is_there() {
        assert_eq!(check_all(&subjects(Codec::Av1)), BTreeSet::from([Exception::ListedOnly]));
    }
}

#[test]
fn h264_is_shown_as_the_ledger_says() {
    if ffmpeg::has_encoder("libx264") {
        let expected = [Exception::Unmarking, Exception::StandIn, Exception::ListedOnly];
        assert_eq!(check_all(&H264_SUBJECTS), BTreeSet::from(expected));
    }
}

#[test]
fn fields_of_h264_are_shown_as_the_ledger_says() {
    if ffmpeg::is_there() {
        assert_eq!(check_all(&recorded(Codec::H264)), BTreeSet::new());
    }
}

#[test]
fn h265_is_shown_as_the_ledger_says() {
    if ffmpeg::has_encoder("libx265") {
        let has_libde265 = H265_SUBJECTS.iter().any(|subject| subject.by_libde265.is_some());
        let libde265 = has_libde265.then_some(Exception::Libde265);
        let expected = BTreeSet::from_iter(
            [Exception::Keeping, Exception::ListedOnly, Exception::SilentRefresh].into_iter().chain(libde265),
        );
        assert_eq!(check_all(&H265_SUBJECTS), expected);
    }
}

/// Where libde265 differs, x265 itself says who is right.
#[test]
fn the_pictures_of_h265_are_those_of_the_encoder() {
    if ffmpeg::has_encoder("libx265") {
        for (name, codec, encoder, options) in ENCODED.iter().filter(|(name, ..)| name.starts_with("h265-")) {
            if !name.contains("long-term") && !name.contains("refresh") {
                let stream = encode(&format!("{name}-digests"), *codec, encoder, &format!("{options}:hash=1"));
                let (_, messages) = ffmpeg::decode_with_messages(&stream, "hevc", &format!("{name}-digests.whole"));
                assert_eq!(messages, "", "{name}");
            }
        }
    }
}

/// One packet in fifty is lost. What is whole is what was sent, and what arrived whole is hardly ever discarded. An encoder
/// that begins a refresh sends messages before some frames and not before others, so that packets do not show behind a loss
/// whether they are missing: of such a stream some frames are discarded, and the first one that has any may be taken for
/// whole without them.
#[test]
fn the_frames_of_lost_packets_are_lost_and_hardly_any_others() {
    for (codec, subjects) in [(Codec::H264, &H264_SUBJECTS), (Codec::H265, &H265_SUBJECTS)] {
        for subject in subjects.iter() {
            let plan = &subject.plan;
            let sent: Vec<_> = (0..plan.len()).map(|frame| plan.outgoing(frame)).collect();
            let whole = packets::carry(codec, &sent, || false).whole;
            let (mut arrived, mut discarded, mut without_messages) = (0, 0, 0);
            for seed in 0..20 {
                let mut random = Seed(seed).stream("packets", &[u64::from(plan.len())]);
                let carried = packets::carry(codec, &sent, || random.next_inclusive(49) == 0);
                assert!(carried.untouched.len() < sent.len(), "some are lost");
                for (frame, bytes) in carried.whole.iter().filter(|(frame, bytes)| whole[frame] != **bytes) {
                    assert!(whole[frame].ends_with(&bytes[1..]), "{}, frame {frame}", subject.name);
                    without_messages += 1;
                }
                arrived += carried.untouched.len();
                discarded += carried.discarded().len();
            }
            println!("{}: of {arrived} frames {discarded} discarded, {without_messages} cut", subject.name);
            let (most, cut) = if subject.name.contains("refresh") { (arrived / 50, 1) } else { (arrived / 1_000, 0) };
            assert!(discarded <= most && without_messages <= cut, "{}", subject.name);
        }
    }
}

#[test]
fn the_manual_lists_the_exceptions() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/decoders.md");
    let manual = std::fs::read_to_string(path).expect("docs/decoders.md is part of the project");
    let list = manual.split_once("## Exceptions").expect("it has that section").1;
    let rows = list.lines().filter_map(|line| line.strip_prefix("| *")?.split_once('*'));
    let names: Vec<&str> = rows.map(|(name, _)| name).collect();
    assert_eq!(names, Exception::ALL.map(Exception::name));
}
