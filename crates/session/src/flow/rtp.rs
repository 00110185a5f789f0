//! The RTP stream of a flow, which both ends know.

use framewire_transport::registry::payload_format;
use framewire_units::DataSize;
use framewire_wire::rtp_payload::{Depacketizer, Limits, PacketRule, Packetizer, PayloadFormat, StreamOrigin};

use super::movie::MovieSetup;
use super::{BuildError, CommonSetup};

/// First RTP sequence number. RFC 3550, 5.1 wants it random against known-plaintext attacks; nothing is encrypted
/// here, and runs are to be repeatable.
const INITIAL_SEQUENCE: u16 = 0;

/// Packets of the payload format that carries the movie.
#[derive(Clone, Debug)]
pub(super) struct RtpStream {
    packetizer: Packetizer,
    format: &'static PayloadFormat,
    origin: StreamOrigin,
}

impl RtpStream {
    /// Of this movie, cut by this rule; `ssrc` is its synchronisation source (RFC 3550, section 5.1).
    ///
    /// # Errors
    /// When the MTU leaves no room for packets, the rule makes no sense of the movie's codec, or RTP does not carry it.
    pub(super) fn new(
        movie: &MovieSetup,
        common: &CommonSetup,
        rule: PacketRule,
        ssrc: u32,
    ) -> Result<Self, BuildError> {
        movie.check_codec().map_err(|reason| common.refuse(reason))?;
        let format = payload_format(movie.plan.codec()).expect("invariant: the transport carries the codec in RTP");
        let mtu = DataSize::from_bytes(u64::from(common.settings.mtu));
        let origin = StreamOrigin { ssrc, initial_sequence: INITIAL_SEQUENCE };
        let packetizer = Packetizer::new(format, rule, mtu, origin).map_err(|error| common.refuse(error))?;
        Ok(Self { packetizer, format, origin })
    }

    /// Cuts frames into packets.
    pub(super) fn packetizer(&self) -> Packetizer {
        self.packetizer.clone()
    }

    /// Puts frames together. The receiver knows the stream from its description (RFC 3550, 5.1: SSRC and first sequence
    /// number are agreed out of band here), so that the loss of the very first packets is seen.
    pub(super) fn depacketizer(&self) -> Depacketizer {
        Depacketizer::new(self.format, Some(self.origin), Limits::default())
    }
}
