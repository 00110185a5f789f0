//! The RTP stream of a flow, which both ends know.

use framewire_units::DataSize;
use framewire_wire::mpeg_video::{Depacketizer, Limits, PAYLOAD_TYPE, PacketRule, Packetizer, StreamOrigin};

use super::movie::MovieSetup;
use super::{BuildError, CommonSetup};

/// First RTP sequence number. RFC 3550, 5.1 wants it random against known-plaintext attacks; nothing is encrypted
/// here, and runs are to be repeatable.
const INITIAL_SEQUENCE: u16 = 0;

/// Packets of RFC 2250.
#[derive(Clone, Debug)]
pub(super) struct RtpStream {
    /// Where they are cut.
    pub(super) rule: PacketRule,
    /// Synchronisation source (RFC 3550, section 5.1).
    pub(super) ssrc: u32,
}

impl RtpStream {
    /// Cuts frames into packets.
    ///
    /// # Errors
    /// When the MTU leaves no room for packets, or the movie is of a codec that they do not carry.
    pub(super) fn packetizer(&self, movie: &MovieSetup, common: &CommonSetup) -> Result<Packetizer, BuildError> {
        movie.check_codec().map_err(|reason| common.refuse(reason))?;
        let mtu = DataSize::from_bytes(u64::from(common.settings.mtu));
        Packetizer::new(self.rule, mtu, self.ssrc, INITIAL_SEQUENCE, PAYLOAD_TYPE).map_err(|error| common.refuse(error))
    }

    /// Puts frames together. The receiver knows the stream from its description (RFC 3550, 5.1: SSRC and first sequence
    /// number are agreed out of band here), so that the loss of the very first packets is seen.
    pub(super) fn depacketizer(&self) -> Depacketizer {
        let origin = StreamOrigin { ssrc: self.ssrc, initial_sequence: INITIAL_SEQUENCE };
        Depacketizer::new(PAYLOAD_TYPE, Some(origin), Limits::default())
    }
}
