//! RTCP (RFC 3550, section 6): its packets, what receivers count, and when a participant of a session sends.
//!
//! [`Compound`] is what one datagram says. [`Participant`] is one end of a session: it is told of the packets that it sends and
//! receives, and says when it has to send a report, and which. Time is an argument, and its randomness has a seed.
//!
//! ```
//! use framewire_units::{Bitrate, Duration, Seed, Timestamp};
//! use framewire_wire::rtcp::{Event, Participant, RtcpBandwidth, Settings};
//! use framewire_wire::rtp::RtpHeader;
//!
//! let end = |ssrc, name: &str| {
//!     let bandwidth = RtcpBandwidth::of_session(Bitrate::from_mbps(4));
//!     let settings = Settings { ssrc, name: name.to_owned(), clock_rate: 90_000, bandwidth, ..Settings::default() };
//!     Participant::new(settings, Timestamp::ZERO, Seed(1).stream("rtcp", &[ssrc.into()]))
//! };
//! let (mut camera, mut viewer) = (end(1, "camera")?, end(2, "viewer")?);
//! let mut reports = 0;
//! for frame in 0..1_000u32 {
//!     let now = Timestamp::from_millis(40 * u64::from(frame));
//!     let header = RtpHeader {
//!         marker: true, payload_type: 96, sequence_number: frame as u16, timestamp: frame * 3_600, ssrc: 1,
//!     };
//!     camera.handle_rtp_sent(now, header.timestamp, 1_000);
//!     viewer.handle_rtp(now, &header);
//!     if let Some(report) = camera.poll_transmit(now) {
//!         viewer.handle_rtcp(now + Duration::from_millis(10), &report)?;
//!     }
//!     if let Some(report) = viewer.poll_transmit(now) {
//!         camera.handle_rtcp(now, &report)?;
//!     }
//!     while let Some(event) = camera.poll_event() {
//!         if let Event::Report { block, .. } = event {
//!             assert_eq!(block.lost, 0);
//!             reports += 1;
//!         }
//!     }
//! }
//! assert!((5..=15).contains(&reports), "about every 5 s: {reports}");
//! # Ok::<(), framewire_wire::rtcp::RtcpError>(())
//! ```

mod bandwidth;
mod compound;
mod members;
mod ntp;
mod participant;
mod reception;
#[cfg(test)]
mod tests;
mod timer;

pub use bandwidth::{Census, RtcpBandwidth};
pub use compound::{Compound, Report, ReportBlock, RtcpError, SenderInfo};
pub use members::MOST_MEMBERS;
pub use ntp::NtpTime;
pub use participant::{Event, Participant, Settings};
pub use reception::Reception;

/// Whether a datagram is of RTCP and not of RTP, where it is of either: packet types 192 to 223 are RTCP's (RFC 5761, section 4).
///
/// ```
/// use framewire_wire::rtcp::is_rtcp;
///
/// assert!(is_rtcp(&[0x80, 200, 0, 6]) && is_rtcp(&[0x81, 203]));
/// assert!(!is_rtcp(&[0x80, 96]) && !is_rtcp(&[0x80, 0xE0]) && !is_rtcp(&[0x80]));
/// ```
pub fn is_rtcp(datagram: &[u8]) -> bool {
    matches!(datagram, [first, 192..=223, ..] if first >> 6 == 2)
}
