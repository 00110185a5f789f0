//! What caps state: which codec, how its access units are framed, and which parser to add where they promise too
//! little.

use framewire_media::access_unit::{Codec, Framing};
use framewire_media::picture_order::allow_gaps_in_configuration;

/// What a stream is to frame-aware dropping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// One access unit of a known codec in every buffer.
    AccessUnits {
        /// The codec.
        codec: Codec,
        /// How the parts of a unit are delimited.
        framing: Framing,
        /// `codec_data`: avcC, hvcC or av1C (ISO/IEC 14496-15; AV1 in ISOBMFF).
        configuration: Option<gst::Buffer>,
    },
    /// Known by the flags of its buffers only: DELTA_UNIT (not decodable without what came before) and DROPPABLE
    /// (nothing refers to it). Video of any other codec.
    Flags,
    /// Never dropped: audio, subtitles, metadata.
    Whole,
}

/// Caps that say too little, or of which no frame can be dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unusable {
    /// What is wrong, for a person, with what to add to the pipeline.
    pub reason: String,
}

impl Unusable {
    /// A buffer came before any caps did.
    pub(crate) fn without_caps() -> Self {
        let reason = "a stream without caps: put a parser for its codec (mpegvideoparse, mpeg4videoparse, h264parse, \
                      h265parse, av1parse) before this element";
        Self { reason: reason.to_owned() }
    }
}

impl Stream {
    /// What caps state.
    ///
    /// # Errors
    /// When buffers are not whole access units: the reason names the parser to put before the element, or says that it
    /// belongs before the muxer or the payloader.
    pub(crate) fn of(caps: &gst::CapsRef) -> Result<Self, Unusable> {
        let Some(structure) = caps.structure(0) else {
            return Err(Unusable { reason: "empty caps: put a parser before this element".to_owned() });
        };
        if is_container(structure) {
            let name = structure.name();
            return Err(Unusable { reason: format!("{name} is a container: put this element before the muxer") });
        }
        let configuration = structure.get::<gst::Buffer>("codec_data").ok();
        match structure.name().as_str() {
            "video/mpeg" => mpeg(structure),
            // DivX 3 is another codec. The others are MPEG-4 part 2, one frame to a buffer, as AVI has it.
            "video/x-divx" if structure.get("divxversion") == Ok(3) => Ok(Self::Flags),
            "video/x-divx" | "video/x-xvid" => {
                Ok(Self::AccessUnits { codec: Codec::Mpeg4Part2, framing: Framing::ByteStream, configuration })
            }
            "video/x-h264" => nal(structure, Codec::H264, "h264parse", configuration),
            "video/x-h265" => nal(structure, Codec::H265, "h265parse", configuration),
            "video/x-av1" => av1(structure, configuration),
            name if name.starts_with("application/x-rtp") || name.starts_with("application/x-srtp") => {
                Err(Unusable { reason: format!("{name} holds parts of frames: put this element before the payloader") })
            }
            name if name.starts_with("video/") || name.starts_with("image/") => Ok(Self::Flags),
            _ => Ok(Self::Whole),
        }
    }
}

/// What a muxer makes. Its buffers are packets, with flags for some of them only: one that is dropped takes a part of a
/// picture, or of the sound, with it. And a receiver that comes late needs the headers that only the muxer knows.
fn is_container(structure: &gst::StructureRef) -> bool {
    const CONTAINERS: [&str; 9] = [
        "video/mpegts",
        "video/x-flv",
        "video/x-matroska",
        "video/x-matroska-3d",
        "video/webm",
        "video/quicktime",
        "video/x-msvideo",
        "video/x-ms-asf",
        "video/ogg",
    ];
    CONTAINERS.contains(&structure.name().as_str()) || structure.get("systemstream").unwrap_or(false)
}

fn missing(structure: &gst::StructureRef, what: &str, parser: &str) -> Unusable {
    let name = structure.name();
    Unusable { reason: format!("{name} without {what}: put {parser} before this element") }
}

fn is_parsed(structure: &gst::StructureRef) -> bool {
    structure.get("parsed").unwrap_or(false)
}

/// Parsers promise `parsed=true`: a frame in each buffer.
fn mpeg(structure: &gst::StructureRef) -> Result<Stream, Unusable> {
    let (codec, parser) = match structure.get::<i32>("mpegversion") {
        Ok(1 | 2) => (Codec::MpegVideo, "mpegvideoparse"),
        Ok(4) => (Codec::Mpeg4Part2, "mpeg4videoparse"),
        _ => return Err(missing(structure, "mpegversion 1, 2 or 4", "mpegvideoparse")),
    };
    if !is_parsed(structure) {
        return Err(missing(structure, "parsed=true", parser));
    }
    // The codec_data of MPEG-4 part 2 is the same headers that the elementary stream begins with.
    let configuration = structure.get::<gst::Buffer>("codec_data").ok();
    Ok(Stream::AccessUnits { codec, framing: Framing::ByteStream, configuration })
}

fn nal(
    structure: &gst::StructureRef,
    codec: Codec,
    parser: &str,
    configuration: Option<gst::Buffer>,
) -> Result<Stream, Unusable> {
    if structure.get::<&str>("alignment") != Ok("au") {
        return Err(missing(structure, "alignment=au", parser));
    }
    let framing = match structure.get::<&str>("stream-format") {
        Ok("byte-stream") => Framing::ByteStream,
        Ok("avc" | "avc3" | "hvc1" | "hev1") => {
            let length = configuration.as_ref().and_then(|configuration| length_size(codec, configuration));
            Framing::LengthPrefixed(length.ok_or_else(|| missing(structure, "complete codec_data", parser))?)
        }
        _ => return Err(missing(structure, "stream-format", parser)),
    };
    Ok(Stream::AccessUnits { codec, framing, configuration })
}

/// `lengthSizeMinusOne` plus one (ISO/IEC 14496-15, 5.3.3.1 for avcC, 8.3.3.1 for hvcC).
fn length_size(codec: Codec, configuration: &gst::Buffer) -> Option<u8> {
    let at = if codec == Codec::H264 { 4 } else { 21 };
    let map = configuration.map_readable().ok()?;
    map.get(at).map(|byte| (byte & 3) + 1)
}

fn av1(structure: &gst::StructureRef, configuration: Option<gst::Buffer>) -> Result<Stream, Unusable> {
    if structure.get::<&str>("stream-format") != Ok("obu-stream") {
        return Err(missing(structure, "stream-format=obu-stream", "av1parse"));
    }
    if !matches!(structure.get::<&str>("alignment"), Ok("tu" | "frame")) {
        return Err(missing(structure, "alignment=tu", "av1parse"));
    }
    Ok(Stream::AccessUnits { codec: Codec::Av1, framing: Framing::ByteStream, configuration })
}

/// Of what downstream takes, what frames can be dropped of: a parser that has the choice then makes whole access units.
/// Structures that leave no choice stay as they are, so that the error can name what is missing.
pub(crate) fn narrow(mut caps: gst::Caps) -> gst::Caps {
    if caps.is_any() {
        return caps;
    }
    for structure in caps.make_mut().iter_mut() {
        match structure.name().as_str() {
            "video/x-h264" | "video/x-h265" => prefer(structure, "alignment", "au"),
            "video/x-av1" => {
                prefer(structure, "alignment", "tu");
                prefer(structure, "stream-format", "obu-stream");
            }
            _ => {}
        }
    }
    caps
}

/// Caps of H.264 whose parameter sets allow gaps in `frame_num`, as those within the stream do behind a queue that leaves
/// some; `None` where they say nothing of it, or the same already.
pub(crate) fn allowing_gaps(caps: &gst::CapsRef) -> Option<gst::Caps> {
    let structure = caps.structure(0).filter(|structure| structure.name() == "video/x-h264")?;
    let configuration = structure.get::<gst::Buffer>("codec_data").ok()?;
    let changed = allow_gaps_in_configuration(&configuration.map_readable().ok()?)?;
    let mut caps = caps.to_owned();
    caps.make_mut().set("codec_data", gst::Buffer::from_slice(changed));
    Some(caps)
}

/// Fixes a field that is absent or a list with the value in it.
fn prefer(structure: &mut gst::StructureRef, field: &str, value: &str) {
    let is_open = match structure.value(field) {
        Err(_) => true,
        Ok(present) => present.get::<gst::List>().is_ok_and(|list| list.iter().any(|item| item.get() == Ok(value))),
    };
    if is_open {
        structure.set(field, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(caps: &str) -> Result<Stream, String> {
        gst::init().expect("GStreamer starts");
        let caps: gst::Caps = caps.parse().expect("the test's caps are caps");
        Stream::of(&caps).map_err(|unusable| unusable.reason)
    }

    fn framed(caps: &str) -> (Codec, Framing) {
        match of(caps) {
            Ok(Stream::AccessUnits { codec, framing, .. }) => (codec, framing),
            other => panic!("{caps}: {other:?}"),
        }
    }

    #[test]
    fn parsed_video_is_known_by_codec_and_framing() {
        let cases = [
            ("video/mpeg,mpegversion=1,systemstream=false,parsed=true", Codec::MpegVideo, Framing::ByteStream),
            ("video/mpeg,mpegversion=2,systemstream=false,parsed=true", Codec::MpegVideo, Framing::ByteStream),
            ("video/mpeg,mpegversion=4,systemstream=false,parsed=true", Codec::Mpeg4Part2, Framing::ByteStream),
            ("video/x-divx,divxversion=5", Codec::Mpeg4Part2, Framing::ByteStream),
            ("video/x-xvid", Codec::Mpeg4Part2, Framing::ByteStream),
            ("video/x-h264,stream-format=byte-stream,alignment=au", Codec::H264, Framing::ByteStream),
            (
                "video/x-h264,stream-format=avc,alignment=au,codec_data=(buffer)0164001fff",
                Codec::H264,
                Framing::LengthPrefixed(4),
            ),
            (
                "video/x-h264,stream-format=avc3,alignment=au,codec_data=(buffer)0164001ffd",
                Codec::H264,
                Framing::LengthPrefixed(2),
            ),
            (
                "video/x-h265,stream-format=hvc1,alignment=au,\
                 codec_data=(buffer)01016000000000000000000000000000000000000003",
                Codec::H265,
                Framing::LengthPrefixed(4),
            ),
            ("video/x-h265,stream-format=byte-stream,alignment=au", Codec::H265, Framing::ByteStream),
            ("video/x-av1,stream-format=obu-stream,alignment=tu", Codec::Av1, Framing::ByteStream),
        ];
        for (caps, codec, framing) in cases {
            assert_eq!(framed(caps), (codec, framing), "{caps}");
        }
    }

    #[test]
    fn caps_that_promise_too_little_name_the_parser() {
        let cases = [
            ("video/mpeg,mpegversion=2,systemstream=false", "parsed=true", "mpegvideoparse"),
            ("video/mpeg,mpegversion=2,systemstream=false,parsed=false", "parsed=true", "mpegvideoparse"),
            ("video/mpeg,mpegversion=4,systemstream=false", "parsed=true", "mpeg4videoparse"),
            ("video/x-h264,stream-format=byte-stream,alignment=nal", "alignment=au", "h264parse"),
            ("video/x-h264", "alignment=au", "h264parse"),
            ("video/x-h264,stream-format=avc,alignment=au", "codec_data", "h264parse"),
            ("video/x-h264,stream-format=avc,alignment=au,codec_data=(buffer)01", "codec_data", "h264parse"),
            ("video/x-h265,alignment=au", "stream-format", "h265parse"),
            ("video/x-av1,stream-format=annexb,alignment=tu", "obu-stream", "av1parse"),
            ("video/x-av1,stream-format=obu-stream,alignment=obu", "alignment=tu", "av1parse"),
            ("application/x-rtp,media=video", "parts of frames", "payloader"),
            ("video/mpeg,mpegversion=2,systemstream=true", "container", "before the muxer"),
            ("video/mpegts,systemstream=true,packetsize=188", "container", "before the muxer"),
            ("video/x-flv", "container", "before the muxer"),
            ("video/x-matroska", "container", "before the muxer"),
            ("video/webm", "container", "before the muxer"),
            ("video/quicktime,variant=iso-fragmented", "container", "before the muxer"),
        ];
        for (caps, what, parser) in cases {
            let reason = of(caps).expect_err(caps);
            assert!(reason.contains(what) && reason.contains(parser), "{caps}: {reason}");
        }
    }

    #[test]
    fn other_video_goes_by_flags_and_what_is_not_video_is_never_dropped() {
        let flags = ["video/x-vp9", "image/jpeg", "video/x-raw", "video/x-divx,divxversion=3"];
        for caps in flags {
            assert_eq!(of(caps), Ok(Stream::Flags), "{caps}");
        }
        for caps in ["audio/mpeg,mpegversion=4", "text/x-raw", "application/x-id3"] {
            assert_eq!(of(caps), Ok(Stream::Whole), "{caps}");
        }
    }
}
