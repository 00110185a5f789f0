//! The session description of another program's stream.

use framewire_session::Announcement;
use framewire_transport::registry::payload_format;
use framewire_wire::sdp::{self, Described};

/// Reads the description of a stream that is to be received.
///
/// # Errors
/// In words, when it describes no stream of video that is received here: in another payload format, or in a mode of one that
/// is not.
pub fn described(text: &str) -> Result<Described, String> {
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
    fn modes_that_are_not_received_are_refused_with_the_parameter() {
        let single = described(&video("H264", "packetization-mode=1; profile-level-id=42C01E")).unwrap();
        assert_eq!((single.payload_type, single.encoding_name.as_str()), (96, "H264"));
        let interleaved = described(&video("H264", "packetization-mode=2")).unwrap_err();
        assert!(interleaved.starts_with("packetization-mode=2: "), "{interleaved}");
        assert_eq!(described(&video("MP2T", "x=1")).map(|one| one.encoding_name), Ok("MP2T".to_owned()));
        assert_eq!(described(&video("VP8", "x=1")), Err("VP8 is not received".to_owned()));
    }
}
