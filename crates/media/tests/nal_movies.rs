//! Movies of H.264 and H.265: access units, display order and references beside ffprobe, and in any chunks.

use crate::support;
use std::path::Path;

use framewire_media::access_unit::{AccessUnitReader, Codec, Framing, KeyKind};
use framewire_media::picture_order::OutputRule;
use framewire_media::{CodedFrame, FrameIndex, FrameRate, Movie, PictureStructure, ScanError, Scanner};
use proptest::prelude::*;
use support::ffmpeg;

/// Asserts that ffprobe sees the same access units, types, keys and display order, and that frames tile the file.
fn agree(path: &Path, codec: Codec) -> Movie {
    let format = if codec == Codec::H264 { "h264" } else { "hevc" };
    let stream = std::fs::read(path).unwrap();
    let movie = Movie::parse(stream.clone().into()).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let frames = &movie.index.frames;
    let name = path.display();
    assert_eq!(movie.index.sequence.codec, codec, "{name}");
    let ours: Vec<_> = frames.iter().map(|frame| (frame.offset as usize, frame.size as usize)).collect();
    let [of_frame, of_stream]: [&[&str]; 2] = [&["pkt_pos", "pict_type"], &["has_b_frames"]];
    let asked = [("packet", ffmpeg::PLACE), ("frame", of_frame), ("stream", of_stream)];
    let [packets, theirs, streams] = ffmpeg::probe(path, format, asked);
    let starts: Vec<_> = ffmpeg::places(&packets).iter().map(|(start, _)| zero_byte(&stream, *start)).collect();
    assert_eq!(ours.iter().map(|(start, _)| *start).collect::<Vec<_>>(), starts, "{name}: access units");
    assert_eq!(ours.iter().map(|(_, size)| size).sum::<usize>(), stream.len(), "{name}: frames tile the file");
    let position = |text: &str| zero_byte(&stream, text.parse().unwrap());
    let theirs: Vec<_> = theirs.iter().map(|row| (position(&row["pkt_pos"]), row["pict_type"].clone())).collect();
    let mut shown: Vec<_> = frames.iter().collect();
    shown.sort_by_key(|frame| frame.display_index);
    let ours: Vec<_> = shown.iter().map(|frame| (frame.offset as usize, frame.kind.to_string())).collect();
    assert_eq!(ours, theirs, "{name}: display order and types");
    assert!(shown.is_sorted_by_key(|frame| frame.display_time) && frames.is_sorted_by_key(|frame| frame.decode_time));
    assert_references(&movie, codec);
    let held_back = frames.iter().filter_map(|frame| match frame.picture_order?.output {
        OutputRule::H264 { reordered, .. } => reordered,
        OutputRule::H265 { reordered, .. } => Some(reordered),
    });
    assert_eq!(held_back.max(), streams[0]["has_b_frames"].parse().ok(), "{name}: pictures that are held back");
    movie
}

/// FFmpeg's parser of H.265 leaves the `zero_byte` of a start code to the unit before.
fn zero_byte(stream: &[u8], start: usize) -> usize {
    let is_long = stream[start..].starts_with(&[0, 0, 1]) && start > 0 && stream[start - 1] == 0;
    start - usize::from(is_long)
}

/// What the index says is what the reader of access units says.
fn assert_references(movie: &Movie, codec: Codec) {
    let mut reader = AccessUnitReader::new(codec, Framing::ByteStream).unwrap();
    let mut gop = 0;
    for (number, frame) in movie.index.frames.iter().enumerate() {
        let unit = reader.read(&movie.frame_bytes(number)).unwrap();
        let references: Vec<_> = unit.references.iter().map(|&other| other as u32).collect();
        assert_eq!((&frame.references.to_vec(), frame.key, frame.leading), (&references, unit.key, unit.leading));
        assert_eq!((frame.referenced, frame.temporal_layer), (unit.referenced, unit.temporal_layer));
        gop += u32::from(unit.key.is_some() && number > 0);
        assert_eq!(frame.gop, gop);
    }
}

#[test]
fn recorded_streams() {
    let Some(folder) = support::generated_streams().filter(|_| ffmpeg::is_there()) else { return };
    let cases = [
        ("h264_640x360p24_intra_refresh_4slices.h264", Codec::H264, 1),
        ("h264_640x360p24_open_gop_recovery_point.h264", Codec::H264, 3),
        ("hevc_640x360p24_closed_gop_idr.h265", Codec::H265, 3),
        ("hevc_640x360p24_open_gop_cra_rasl.h265", Codec::H265, 3),
    ];
    for (name, codec, groups) in cases {
        let movie = agree(&folder.join(name), codec);
        assert_eq!(movie.index.frames.len(), 72, "{name}");
        assert_eq!(movie.index.frames.last().unwrap().gop + 1, groups, "{name}");
        let sequence = movie.index.sequence;
        assert_eq!((sequence.width, sequence.height, sequence.progressive), (640, 360, true));
        assert_eq!(sequence.frame_rate, FrameRate { numerator: 24, denominator: 1 });
        assert_eq!(movie.index.frames[0].key, Some(KeyKind::Closed));
    }
}

#[test]
fn movies_encoded_now() {
    let x264 = "-c:v libx264 -pix_fmt yuv420p -f h264 -x264-params threads=1";
    let x265 = "-c:v libx265 -pix_fmt yuv420p -f hevc -x265-params log-level=none:pools=none:frame-threads=1";
    let cases = [
        ("movie_plain.h264", "libx264", format!("-r 30000/1001 -bf 2 {x264}"), Codec::H264),
        ("movie_slices.h264", "libx264", format!("-g 10 {x264}:slices=4:aud=1:open-gop=1"), Codec::H264),
        ("movie_interlaced.h264", "libx264", format!("{x264}:tff=1"), Codec::H264),
        ("movie.hevc", "libx265", format!("{x265}:aud=1:repeat-headers=1:keyint=12:bframes=4"), Codec::H265),
        ("movie_layers.hevc", "libx265", format!("{x265}:temporal-layers=1:slices=3"), Codec::H265),
    ];
    for (name, encoder, options, codec) in cases {
        if ffmpeg::has_encoder(encoder) {
            let movie = agree(&ffmpeg::encode(name, "testsrc2=s=170x100:r=25:d=2", &options), codec);
            let sequence = movie.index.sequence;
            assert_eq!((sequence.width, sequence.height), (170, 100), "{name}: cropped");
            assert_eq!(sequence.progressive, !name.contains("interlaced"), "{name}");
            let ntsc = name.contains("plain");
            let rate = if ntsc { (30_000, 1_001) } else { (25, 1) };
            assert_eq!((sequence.frame_rate.numerator, sequence.frame_rate.denominator), rate, "{name}");
        }
    }
}

/// Where a frame is missing before the movie is sent, decoders repeat the one before, and so it is meant. A reader in whose
/// stream a frame is missing cannot know that.
#[test]
fn what_is_missing_in_a_movie_is_no_loss() {
    if !ffmpeg::has_encoder("libx264") {
        return;
    }
    let options = "-c:v libx264 -pix_fmt yuv420p -f h264 -x264-params threads=1:bframes=0:ref=1:scenecut=0";
    let path = ffmpeg::encode("movie_without_one.h264", "testsrc2=s=96x64:r=25:d=1", options);
    let whole = Movie::parse(std::fs::read(path).unwrap().into()).unwrap();
    let rest: Vec<u8> = (0..25).filter(|&frame| frame != 10).flat_map(|frame| whole.frame_bytes(frame)).collect();
    let movie = Movie::parse(rest.into()).unwrap();
    let references: Vec<_> = movie.index.frames.iter().map(|frame| frame.references.to_vec()).collect();
    assert_eq!(references, (0..24_u32).map(|frame| Vec::from_iter(frame.checked_sub(1))).collect::<Vec<_>>());
    let mut reader = AccessUnitReader::new(Codec::H264, Framing::ByteStream).unwrap();
    for (number, frame) in movie.index.frames.iter().enumerate() {
        assert!(!frame.missing_reference);
        assert_eq!(reader.read(&movie.frame_bytes(number)).unwrap().missing_reference, number == 10);
    }
}

/// The pictures of this one are fields; ffprobe takes each for a packet, and two of ours are one frame.
#[test]
fn field_pictures_make_frames() {
    let Some(folder) = support::generated_streams().filter(|_| ffmpeg::is_there()) else { return };
    let transport_stream = folder.join("../../pcap/tsduck/test-135.seqwrap.ref.ts");
    let path = ffmpeg::scratch("fields.h264");
    ffmpeg::copy_video(&transport_stream, &path);
    let fields = ffmpeg::packets(&path, "h264");
    let movie = Movie::parse(std::fs::read(&path).unwrap().into()).unwrap();
    let frames = &movie.index.frames;
    assert_eq!(fields.len(), 2 * frames.len());
    for (frame, fields) in frames.iter().zip(fields.chunks(2)) {
        assert_eq!(frame.structure, PictureStructure::TopFieldFirst);
        assert_eq!((frame.offset as usize, frame.size as usize), (fields[0].0, fields[0].1 + fields[1].1));
    }
    assert_references(&movie, Codec::H264);
    // Groups of "P B B B B" in fields: each frame refers to the P frames around it.
    assert_eq!(frames[2].references[..], [0, 1]);
    assert_eq!(frames[6].references[..], [1]);
    assert_eq!(movie.index.sequence.frame_rate, FrameRate { numerator: 25, denominator: 1 });
    assert!(!movie.index.sequence.progressive);
}

#[test]
fn a_stream_without_a_frame_rate_is_refused() {
    let Some(folder) = support::generated_streams() else { return };
    let stream = std::fs::read(folder.join("../openh264/BA1_FT_C.264")).unwrap();
    let error = FrameIndex::scan(&stream).unwrap_err();
    assert_eq!(error, ScanError::NoFrameRate { codec: Codec::H264 });
    assert!(error.to_string().contains("movie.frame_rate of a scenario, or --frame-rate"), "{error}");
    let mut count = 0;
    let mut take = |frame: framewire_media::Frame| {
        assert_eq!(frame.decode_index, count);
        count += 1;
        Ok(())
    };
    let probed = framewire_media::probe(&&stream[..], None, &mut take).unwrap();
    assert_eq!((probed.frame_rate, count), (None, 299));
    let rate = FrameRate { numerator: 30_000, denominator: 1_001 };
    let (index, _) = FrameIndex::read(&&stream[..], Some(rate)).unwrap();
    assert_eq!((index.sequence.frame_rate, index.frames[30].decode_time), (rate, rate.time_of(30)));
}

fn scan(stream: &[u8], codec: Codec, sizes: &[usize]) -> (Vec<CodedFrame>, bool) {
    let (mut scanner, mut frames, mut rest) = (Scanner::of(codec).unwrap(), Vec::new(), stream);
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (chunk, after) = rest.split_at((*size).min(rest.len()));
        scanner.feed(chunk, &mut |frame| frames.push(frame));
        rest = after;
    }
    let is_ok = scanner.finish(&mut |frame| frames.push(frame)).is_ok();
    (frames, is_ok)
}

fn heads() -> Vec<(Codec, Vec<u8>)> {
    let Some(folder) = support::generated_streams() else { return vec![] };
    let names = ["h264_640x360p24_intra_refresh_4slices.h264", "hevc_640x360p24_open_gop_cra_rasl.h265"];
    let head = |name: &&str| std::fs::read(folder.join(name)).unwrap()[..60_000].to_vec();
    [Codec::H264, Codec::H265].into_iter().zip(names.iter().map(head)).collect()
}

#[test]
fn chunks_make_no_difference() {
    for (codec, head) in heads() {
        let expected = scan(&head, codec, &[head.len()]);
        assert!(expected.1 && expected.0.len() > 1);
        for size in [1, 2, 3, 4, 5, 7, 16, 1000] {
            assert_eq!(scan(&head, codec, &[size, 1, size + 3]), expected, "in chunks of {size}");
        }
    }
}

#[test]
fn damaged_streams_are_taken() {
    for (codec, head) in heads() {
        let damage = prop::collection::vec((0..head.len(), any::<u8>()), 1..80);
        let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(100));
        runner
            .run(&damage, |damage| {
                let mut stream = head.clone();
                damage.into_iter().for_each(|(at, value)| stream[at] = value);
                let (frames, _) = scan(&stream, codec, &[stream.len()]);
                let end = frames.iter().fold(frames.first().map_or(0, |first| first.offset), |next, frame| {
                    assert_eq!(frame.offset, next);
                    frame.offset + frame.size
                });
                assert!(frames.is_empty() || end == stream.len() as u64);
                if let Ok(index) = FrameIndex::scan(&stream) {
                    let refers_back = |frame: &framewire_media::Frame| {
                        frame.references.iter().all(|&other| other < frame.decode_index)
                    };
                    assert!(index.frames.iter().all(refers_back));
                }
                Ok(())
            })
            .unwrap();
    }
}
