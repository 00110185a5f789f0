//! Which codecs a transport of a movie carries.

use framewire_media::access_unit::Codec;
use framewire_scenario::Transport;

use crate::flow::BuildError;

/// Whether the lab's own sender of a flow can send a movie of this codec. Over datagrams it is MPEG-1 and MPEG-2 alone
/// (RFC 2250), over TCP every stream of bytes; flows that send no movie, and applications of the user's own, are not
/// asked.
///
/// # Errors
/// When it cannot; with what would carry it.
pub fn check_codec(flow: &str, transport: Transport, codec: Codec) -> Result<(), BuildError> {
    if codec == Codec::MpegVideo || !transport.is_datagram() {
        return Ok(());
    }
    let transport = transport.as_str();
    let reason = format!(
        "{transport} sends RTP as RFC 2250 has it, which carries MPEG-1 and MPEG-2 video; the movie is {codec}: \
         a transport over TCP carries it"
    );
    Err(BuildError::new(flow, reason))
}
