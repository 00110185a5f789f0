//! Where packets are cut, as a named preset. The RFCs leave this open within their rules, and it decides the throughput over
//! Wi-Fi. Of NAL units see [`h264`](super::h264); the rest of this page is of MPEG-1 and MPEG-2 video.
//!
//! Under every rule the packets keep RFC 2250, section 3.1: a sequence header starts a payload, a GOP header starts
//! a payload or follows a sequence header, a picture header starts a payload or follows a GOP header, no header is
//! split, and a slice starts a payload (after headers) or follows whole slices. From the last follows that nothing
//! comes after the tail of a fragmented slice: it is alone in its packet.
//!
//! - [`PacketRule::Full`]: the fewest packets that the RFC allows. As many whole slices as fit; a slice that is larger than
//!   a packet starts in the room that is left and so fills its packet to the MTU. (To start a smaller slice there would
//!   spare no packet, and its tail would shut the next one.)
//! - [`PacketRule::Slices`]: whole slices up to the MTU. Only a slice that is larger than a packet is fragmented, from the
//!   start of one.
//! - [`PacketRule::Thesis`]: packets with the sizes of the thesis, whatever the movie: UDP payloads of 50 to 1,100 bytes
//!   that vary with the slices, with a mean of 740 bytes. Whole slices up to the largest size, as the encoder of the thesis
//!   cut (`rfc2250enc` of GStreamer 0.6); a slice that would still fit starts a new packet while the mean over the packets
//!   of the stream so far is above 740 bytes. A fragment goes along with headers that would otherwise be alone, and the
//!   piece before a tail is shortened so that the tail has 50 bytes. (Smaller is only a last slice of a few bytes for which
//!   its frame's last packet has no room.)

use framewire_units::keywords;

/// The largest packets of the thesis: "packet sizes for MPEG streams transmitted by GStreamer varied more or less
/// randomly between 50 bytes and 1100 bytes" (R. Ouwens, section 3.6, conclusion 1).
const THESIS_LARGEST_DATAGRAM: usize = 1_100;

/// Its smallest packets; see there.
pub(super) const THESIS_SMALLEST_DATAGRAM: usize = 50;

/// The mean that its throughput implies. Some 4.2 Mbit/s by blocking UDP over an 11 Mbit/s link without loss is one
/// packet of this UDP payload every 1.4 ms: DIFS, mean back-off, frame, SIFS and acknowledgement of IEEE 802.11b
/// with long preambles, in which time is affine in size, so that of the sizes only the mean matters.
pub(super) const THESIS_MEAN_DATAGRAM: usize = 740;

keywords! {
    /// How frames are cut into RTP packets.
    PacketRule {
        /// The fewest that the payload format allows: filled to the MTU across slices, several NAL units in one.
        Full = "full",
        /// Whole slices up to the MTU, the tail of a fragmented slice alone; each NAL unit in packets of its own.
        Slices = "slices",
        /// Of MPEG-1 and MPEG-2 only: a mean payload of about 740 bytes, as the thesis' throughput implies.
        Thesis = "thesis",
    }
}

impl PacketRule {
    /// The largest UDP payload that the rule makes, whatever the MTU admits.
    pub(super) const fn largest_datagram(self) -> usize {
        match self {
            Self::Full | Self::Slices => usize::MAX,
            Self::Thesis => THESIS_LARGEST_DATAGRAM,
        }
    }
}
