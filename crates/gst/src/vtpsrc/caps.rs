//! Which codec a key frame is of: the protocol does not state it. Of audio, it does.

use std::str::FromStr;

use framewire_media::access_unit::Codec;
use framewire_media::audio::AudioCodec;
use framewire_media::ladder::Level;
use framewire_wire::vtp::AudioDescription;

/// Caps of the stream that this key frame begins; `None` when its bytes do not show it.
pub(super) fn of_key_frame(frame: &[u8]) -> Option<gst::Caps> {
    let codec = Level::codec_of(frame)?;
    let mut caps = gst::Caps::from_str(codec.gstreamer_caps(has_sequence_extension(frame))).ok()?;
    // Each buffer is a whole frame, which parsers say so.
    match codec {
        Codec::H264 | Codec::H265 => caps.make_mut().set("alignment", "au"),
        _ => caps.make_mut().set("parsed", true),
    }
    Some(caps)
}

/// Without an extension after the sequence header it is MPEG-1 (ISO/IEC 13818-2, 6.1.1.6).
fn has_sequence_extension(frame: &[u8]) -> bool {
    memchr::memmem::find(frame, &[0, 0, 1, 0xB5]).is_some()
}

/// Caps of the audio that a description has; `None` where nothing is known of such audio.
pub(super) fn of_audio(audio: &AudioDescription) -> Option<gst::Caps> {
    let codec = AudioCodec::from_code(audio.codec)?;
    let rate = i32::try_from(audio.sample_rate).ok()?;
    let caps = audio_caps(codec).field("rate", rate).field("channels", i32::from(audio.channels));
    Some(caps.build())
}

/// All that [`of_audio`] can give.
pub(super) fn any_audio() -> gst::Caps {
    let mut caps = gst::Caps::new_empty();
    AudioCodec::ALL.into_iter().filter(|codec| codec.code().is_some()).for_each(|codec| {
        caps.merge(audio_caps(codec).build());
    });
    caps
}

/// A packet is a whole frame with its header.
fn audio_caps(codec: AudioCodec) -> gst::caps::Builder<gst::caps::NoFeature> {
    let caps = gst::Caps::builder("audio/mpeg");
    match codec {
        AudioCodec::Mp2 => caps.field("mpegversion", 1).field("layer", 2).field("parsed", true),
        AudioCodec::Mp3 => caps.field("mpegversion", 1).field("layer", 3).field("parsed", true),
        AudioCodec::Aac => caps.field("mpegversion", 4).field("stream-format", "adts").field("framed", true),
        // Ladders do not have it.
        AudioCodec::Opus => gst::Caps::builder("audio/x-opus").field("channel-mapping-family", 0),
    }
}
