//! Opus in Ogg: FFmpeg's files are read, and FFmpeg reads ours.
#![allow(missing_docs, reason = "a test binary")]
#![allow(clippy::disallowed_methods, reason = "a test against another program")]

use std::process::Command;

use bytes::Bytes;
use framewire_media::audio::{AudioCodec, AudioTrack, OpusFile};

use crate::support::ffmpeg::{encode, has_encoder, probe_rows, scratch};

/// What FFmpeg decodes of a file, as a digest.
fn decoded(file: &std::path::Path) -> String {
    let output =
        Command::new("ffmpeg").args(["-v", "error", "-i"]).arg(file).args(["-f", "md5", "-"]).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn opus_of_ffmpeg_is_read_and_written_again() {
    if !has_encoder("libopus") {
        return;
    }
    // Packets of 2.5 to 60 ms, one and two channels, SILK and CELT.
    for (frame, channels, rate, samples) in [("2.5", 1, "96k", 120), ("20", 2, "64k", 960), ("60", 1, "12k", 2_880)] {
        let options = format!("-c:a libopus -b:a {rate} -frame_duration {frame} -ac {channels} -f ogg");
        let path = encode(&format!("opus-{samples}.opus"), "sine=frequency=440:sample_rate=48000:duration=2", &options);
        let track = AudioTrack::parse(&Bytes::from(std::fs::read(&path).unwrap())).unwrap();
        let format = track.format();
        assert_eq!((format.codec, format.sample_rate, format.channels), (AudioCodec::Opus, 48_000, channels));
        let rows = probe_rows(&path, "ogg", "packet", &["size"]);
        let sizes: Vec<String> = track.packets().iter().map(|packet| packet.bytes.len().to_string()).collect();
        assert_eq!(sizes, rows.iter().map(|row| row["size"].clone()).collect::<Vec<_>>());
        assert!(track.packets().iter().all(|packet| packet.duration.as_nanos() == samples * 1_000_000_000 / 48_000));
        let (mut file, mut bytes) = OpusFile::new(format);
        track.packets().iter().for_each(|packet| bytes.extend(file.packet(&packet.bytes)));
        bytes.extend(file.end());
        let ours = scratch(&format!("opus-{samples}-ours.opus"));
        std::fs::write(&ours, &bytes).unwrap();
        assert_eq!(AudioTrack::parse(&Bytes::from(bytes)).unwrap(), track);
        // Theirs ends within its last packet: of ours so much is decoded, and the rest of that packet.
        let theirs = probe_rows(&ours, "ogg", "packet", &["size"]);
        assert_eq!(sizes, theirs.iter().map(|row| row["size"].clone()).collect::<Vec<_>>());
        assert!(decoded(&ours).starts_with("MD5="));
    }
}
