//! Whether a stream is one of H.264 or of H.265.

use crate::codec::Codec;
use crate::h264::boundary::is_sequence_parameter_set as is_h264;
use crate::h265::boundary::is_sequence_parameter_set as is_h265;
use crate::start_code;

/// Start codes that are looked at to recognise what a stream is.
const START_CODES_CHECKED: usize = 4_096;

/// NAL unit headers begin with a zero bit; the headers of MPEG video have start codes from here on.
const FIRST_THAT_IS_NO_NAL_UNIT: u8 = 0x80;

/// Which of the two a byte stream is: the first sequence parameter set that is well formed decides. `None` for MPEG
/// video and anything else.
pub(crate) fn codec_of(stream: &[u8]) -> Option<Codec> {
    let nals = start_code::parts(stream).filter(|nal| !nal.is_empty()).take(START_CODES_CHECKED);
    let mut nals = nals.take_while(|nal| nal[0] < FIRST_THAT_IS_NO_NAL_UNIT);
    nals.find_map(|nal| match () {
        () if is_h265(nal) => Some(Codec::H265),
        () if is_h264(nal) => Some(Codec::H264),
        () => None,
    })
}
