//! Access units with other numbers, and streams that may have gaps in them.

use super::numbers::{PictureNumbers, Renumbering};
use crate::access_unit::Framing;
use crate::{h264, h265};

/// Makes an access unit whose picture [can](super::PictureOrder::can_begin_sequence) begin a coded video sequence do so: the
/// CRA picture becomes a BLA picture (H.265, 3.13 and 7.4.2.2, NOTE 3), of the same size. No decoder shows the pictures
/// that it skips then (RASL); all that were shown before stay shown. `None` when there is no such picture in it.
pub fn begin_sequence(unit: &[u8], framing: Framing) -> Option<Vec<u8>> {
    h265::break_link(unit, framing)
}

/// Changes the numbers in the slice headers of an access unit of H.264, or of one of its fields, by so much
/// ([`PictureNumbers`]); `None` where it has no slice that can be read, or an IDR picture, whose numbers are zero. All
/// other bits stay as they are. Its size may change by some bytes, as emulation prevention bytes come or go
/// (7.4.1.1).
pub fn renumber(unit: &[u8], framing: Framing, numbers: PictureNumbers, by: Renumbering) -> Option<Vec<u8>> {
    h264::numbers::renumber(unit, framing, numbers, by)
}

/// Lets the sequence parameter sets of an access unit of H.264 allow gaps in `frame_num`
/// (`gaps_in_frame_num_value_allowed_flag`, 7.4.2.1.1), of the same size: a decoder then knows reference frames that do not
/// come to be left out, and gives each its place among those that it keeps (8.2.5.2). `None` when there is none to change,
/// and in streams whose numbers are [left as they are](super::PictureOrder::numbers), as far as parameter sets and framing
/// show it. One with emulation prevention bytes (7.4.1) next to the flag, which no encoder writes, stays as it is.
pub fn allow_gaps(unit: &[u8], framing: Framing) -> Option<Vec<u8>> {
    h264::gaps::allow_gaps(unit, framing)
}

/// The [same](allow_gaps) for parameter sets out of band: in an `AVCDecoderConfigurationRecord` (ISO/IEC 14496-15, 5.3.3.1),
/// or behind start codes.
pub fn allow_gaps_in_configuration(codec_data: &[u8]) -> Option<Vec<u8>> {
    h264::gaps::allow_gaps_in_configuration(codec_data)
}
