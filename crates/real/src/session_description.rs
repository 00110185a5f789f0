//! The session description of another program's stream.

use framewire_session::{Announcement, DescribedSound};
use framewire_transport::registry::payload_format;
use framewire_wire::sdp::{self, Described, DescribedBandwidth};

/// What a session description says of streams that are to be received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedStreams {
    /// The video.
    pub video: Described,
    /// The sound beside it, and the port to which it is sent; why it is not received; `None` where there is none.
    pub sound: Option<Result<(DescribedSound, u16), String>>,
    /// What that may take.
    pub sound_bandwidth: DescribedBandwidth,
}

/// Reads the description of streams that are to be received: the first one of video, and of sound.
///
/// # Errors
/// As [`described`].
pub fn described_streams(text: &str) -> Result<DescribedStreams, String> {
    let sound_bandwidth = sdp::read_sound(text).map(|sound| sound.bandwidth).unwrap_or_default();
    Ok(DescribedStreams { video: described(text)?, sound: described_sound(text), sound_bandwidth })
}

/// Reads the description of sound and the port to which it is sent; why it is not received; `None` where there is none.
pub(crate) fn described_sound(text: &str) -> Option<Result<(DescribedSound, u16), String>> {
    let has_sound = text.lines().any(|line| line.starts_with("m=audio "));
    has_sound.then(|| {
        let sound = sdp::read_sound(text)?;
        Ok((DescribedSound::of(&sound)?, sound.port))
    })
}

/// Reads the description of a stream that is to be received.
///
/// # Errors
/// In words, when it describes no stream of video that is received here: in another payload format, or in a mode of one that
/// is not.
pub(crate) fn described(text: &str) -> Result<Described, String> {
    let described = sdp::read(text)?;
    if described.encoding_name == "MP2T" {
        return Ok(described);
    }
    let codec = Announcement::codec_in_rtp(&described.encoding_name);
    let format = codec.and_then(payload_format);
    let format = format.ok_or_else(|| format!("{} is not received", described.encoding_name))?;
    sdp::check_parameters(format, &described.parameters)?;
    Ok(described)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn video(map: &str, parameters: &str) -> String {
        format!("v=0\r\nm=video 5004 RTP/AVP 96\r\na=rtpmap:96 {map}/90000\r\na=fmtp:96 {parameters}\r\n")
    }

    #[test]
    fn sound_is_received_or_left_out_with_the_reason() {
        let of = |sound: &str| {
            described_streams(&format!("{}{sound}", video("H264", "packetization-mode=1"))).unwrap().sound
        };
        let aac =
            "m=audio 5006 RTP/AVP 97\r\na=rtpmap:97 mpeg4-generic/48000/2\r\na=fmtp:97 mode=AAC-hbr;config=1190\r\n";
        let (sound, port) = of(aac).unwrap().unwrap();
        assert_eq!((sound.codec.name(), port), ("aac", 5_006));
        let opus = of("m=audio 5008 RTP/AVP 98\r\na=rtpmap:98 opus/48000/2\r\n").unwrap().unwrap();
        assert_eq!((opus.0.codec.name(), opus.0.file_format().map(|format| format.pre_skip)), ("opus", Some(0)));
        assert_eq!(of("m=audio 5006 RTP/AVP 14\r\n").unwrap().unwrap().0.codec.name(), "mp2");
        assert_eq!(of(""), None);
        for (sound, reason) in [
            ("m=audio 5006 RTP/AVP 0\r\n".to_owned(), "it does not say what payload type 0 is"),
            ("m=audio 5006 RTP/AVP 98\r\na=rtpmap:98 vorbis/44100/2\r\n".to_owned(), "vorbis is not received"),
            (aac.replace("hbr", "lbr"), "mode=AAC-lbr: AAC-hbr is received"),
            (aac.replace(";config=1190", ""), "a description of AAC without its parameter config"),
            (aac.replace("config=1190", "config=119"), "config=119: no AudioSpecificConfig"),
            (aac.replace("config=1190", "config=1194"), "access units of 960 samples"),
            (aac.replace("config=1190", "config=1180"), "with an index for its sample rate and 1 to 8 channels"),
        ] {
            let refused = of(&sound).unwrap().unwrap_err();
            assert!(refused.contains(reason), "{sound}: {refused}");
        }
    }

    #[test]
    fn modes_that_are_not_received_are_refused_with_the_parameter() {
        let single = described(&video("H264", "packetization-mode=1; profile-level-id=42C01E")).unwrap();
        assert_eq!((single.payload_type, single.encoding_name.as_str()), (96, "H264"));
        let interleaved = described(&video("H264", "packetization-mode=2")).unwrap_err();
        assert!(interleaved.starts_with("packetization-mode=2: "), "{interleaved}");
        assert_eq!(described(&video("MP2T", "x=1")).map(|one| one.encoding_name), Ok("MP2T".to_owned()));
        assert_eq!(described(&video("VP8", "x=1")), Err("VP8 is not received".to_owned()));
    }
}
