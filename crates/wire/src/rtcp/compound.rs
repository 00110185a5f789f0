use framewire_units::Duration;
use rtcp_types::prelude::*;
use rtcp_types::{
    Bye, ReceiverReport, ReportBlock as BlockView, ReportBlockBuilder, RtcpParseError, RtcpWriteError, Sdes, SdesChunk,
    SdesItem, SenderReport,
};

use super::ntp::{NtpTime, from_short_units};

/// Lengths are given in words of so many bytes, less one (RFC 3550, section 6.4.1).
const WORD: usize = 4;

/// The bits of the cumulative number of packets lost, which has a sign (section 6.4.1).
const LOST_BITS: u32 = 24;

/// What one datagram of RTCP says, as far as it is about streams: reports, names and BYE (RFC 3550, section 6.1).
///
/// Packets of applications (APP) and of types that are not known are passed over, as section 6.1 requires, and so are
/// reasons of BYE and descriptions other than the name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compound {
    /// SR and RR, in their order. There is at least one.
    pub reports: Vec<Report>,
    /// SDES: the canonical name (CNAME) of each source that one is given for.
    pub names: Vec<(u32, String)>,
    /// BYE: sources that leave.
    pub leaving: Vec<u32>,
    /// Packets that were passed over.
    pub skipped: usize,
}

/// What one participant reports (sections 6.4.1 and 6.4.2).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Who reports.
    pub ssrc: u32,
    /// Of a sender: what it has sent.
    pub sender: Option<SenderInfo>,
    /// Of each source that it receives, at most 31: how.
    pub blocks: Vec<ReportBlock>,
}

/// What a sender says of itself (section 6.4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderInfo {
    /// When the report was sent.
    pub ntp: NtpTime,
    /// The same moment in the clock of its stream.
    pub rtp_timestamp: u32,
    /// Packets that it has sent, modulo 2^32.
    pub packets: u32,
    /// Bytes of payload in them, modulo 2^32.
    pub octets: u32,
}

/// What a receiver says of a source (section 6.4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportBlock {
    /// The source.
    pub ssrc: u32,
    /// Of the packets since the last report those that were lost, in 1/256.
    pub fraction_lost: u8,
    /// Packets lost so far, less those that came twice: from -2^23 to 2^23 - 1.
    pub lost: i32,
    /// The highest sequence number received, with its wraps in the upper 16 bits.
    pub highest_sequence: u32,
    /// The estimate of the interarrival jitter, in units of the time stamp.
    pub jitter: u32,
    /// LSR: the middle 32 bits of the NTP time of the last sender report; 0 where there was none.
    pub last_report: u32,
    /// DLSR: time since that report came, in units of 2^-16 s.
    pub delay: u32,
}

/// Why bytes are no RTCP, or what was to be written is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RtcpError {
    /// Appendix A.2 of RFC 3550 has what every datagram must begin with, and that the lengths fill it exactly.
    #[error("not a compound packet of RTCP: {0}")]
    NotCompound(&'static str),
    /// One of its packets is not well formed.
    #[error("packet of RTCP at byte {offset}: {reason}")]
    Packet {
        /// Where it begins in the datagram.
        offset: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// It does not fit into packets.
    #[error("cannot be written as RTCP: {0}")]
    Unwritable(String),
}

impl ReportBlock {
    /// The round-trip time, from the source to the receiver and back, where its report arrived at `now` (section 6.4.1); `None`
    /// before the receiver had a report of the source. Where the units of 2^-16 s round it below zero, it is zero.
    ///
    /// ```
    /// use framewire_units::Duration;
    /// use framewire_wire::rtcp::{NtpTime, ReportBlock};
    ///
    /// // The example of RFC 3550, figure 2.
    /// let block = ReportBlock { last_report: 0xb705_2000, delay: 0x0005_4000, ..ReportBlock::default() };
    /// let arrived = NtpTime(0xb44d_b710_8000_0000);
    /// assert_eq!(block.round_trip(arrived), Some(Duration::from_millis(6_125)));
    /// ```
    pub fn round_trip(&self, now: NtpTime) -> Option<Duration> {
        let units = now.middle().wrapping_sub(self.last_report).wrapping_sub(self.delay);
        let units = if units > u32::MAX / 2 { 0 } else { units };
        (self.last_report != 0).then(|| from_short_units(units))
    }

    fn of(view: &BlockView<'_>) -> Self {
        let unused = u32::BITS - LOST_BITS;
        Self {
            ssrc: view.ssrc(),
            fraction_lost: view.fraction_lost(),
            lost: (view.cumulative_lost() << unused) as i32 >> unused,
            highest_sequence: view.extended_sequence_number(),
            jitter: view.interarrival_jitter(),
            last_report: view.last_sender_report_timestamp(),
            delay: view.delay_since_last_sender_report_timestamp(),
        }
    }

    fn builder(&self) -> ReportBlockBuilder {
        BlockView::builder(self.ssrc)
            .fraction_lost(self.fraction_lost)
            .cumulative_lost(self.lost as u32 & ((1 << LOST_BITS) - 1))
            .extended_sequence_number(self.highest_sequence)
            .interarrival_jitter(self.jitter)
            .last_sender_report_timestamp(self.last_report)
            .delay_since_last_sender_report_timestamp(self.delay)
    }
}

impl Compound {
    /// Reads a datagram.
    ///
    /// # Errors
    /// Where it is no compound packet (appendix A.2: version 2, first a report without padding, lengths that fill it), or one of
    /// its packets is shorter than what it says that it has.
    pub fn parse(datagram: &[u8]) -> Result<Self, RtcpError> {
        let mut compound = Self::default();
        let mut offset = 0;
        while offset < datagram.len() {
            let rest = &datagram[offset..];
            let packet =
                rest.get(..packet_length(rest)?).ok_or(RtcpError::NotCompound("the last packet is cut off"))?;
            let first = offset == 0;
            if first
                && (packet[0] & 0x20 != 0
                    || ![SenderReport::PACKET_TYPE, ReceiverReport::PACKET_TYPE].contains(&packet[1]))
            {
                return Err(RtcpError::NotCompound("it does not begin with a report"));
            }
            compound.take(packet).map_err(|error| RtcpError::Packet { offset, reason: error.to_string() })?;
            offset += packet.len();
        }
        if offset == 0 {
            return Err(RtcpError::NotCompound("there is nothing in it"));
        }
        Ok(compound)
    }

    /// Writes a datagram. `skipped` is not written.
    ///
    /// # Errors
    /// Without a report; with more than 31 blocks in a report, names or sources that leave; with a name longer than 255 bytes.
    pub fn emit(&self) -> Result<Vec<u8>, RtcpError> {
        let mut out = Vec::new();
        if self.reports.is_empty() {
            return Err(RtcpError::Unwritable("a compound packet begins with a report".to_owned()));
        }
        for report in &self.reports {
            match report.sender {
                Some(sender) => append(&mut out, &sender_report(report, sender)),
                None => append(&mut out, &receiver_report(report)),
            }?;
        }
        if !self.names.is_empty() {
            let chunk = |name: &(u32, String)| {
                SdesChunk::builder(name.0).add_item_owned(SdesItem::builder(SdesItem::CNAME, &name.1))
            };
            append(&mut out, &self.names.iter().map(chunk).fold(Sdes::builder(), |sdes, chunk| sdes.add_chunk(chunk)))?;
        }
        if !self.leaving.is_empty() {
            append(&mut out, &self.leaving.iter().fold(Bye::builder(), |bye, &ssrc| bye.add_source(ssrc)))?;
        }
        Ok(out)
    }

    fn take(&mut self, packet: &[u8]) -> Result<(), RtcpParseError> {
        match packet[1] {
            SenderReport::PACKET_TYPE => {
                let report = SenderReport::parse(packet)?;
                let sender = SenderInfo {
                    ntp: NtpTime(report.ntp_timestamp()),
                    rtp_timestamp: report.rtp_timestamp(),
                    packets: report.packet_count(),
                    octets: report.octet_count(),
                };
                let blocks = report.report_blocks().map(|block| ReportBlock::of(&block)).collect();
                self.reports.push(Report { ssrc: report.ssrc(), sender: Some(sender), blocks });
            }
            ReceiverReport::PACKET_TYPE => {
                let report = ReceiverReport::parse(packet)?;
                let blocks = report.report_blocks().map(|block| ReportBlock::of(&block)).collect();
                self.reports.push(Report { ssrc: report.ssrc(), sender: None, blocks });
            }
            Sdes::PACKET_TYPE => self.names.extend(names(packet)?),
            Bye::PACKET_TYPE => self.leaving.extend(Bye::parse(packet)?.ssrcs()),
            _ => self.skipped += 1,
        }
        Ok(())
    }
}

/// How long the packet is that begins here, by its own length field.
fn packet_length(bytes: &[u8]) -> Result<usize, RtcpError> {
    let &[first, _, high, low, ..] = bytes else {
        return Err(RtcpError::NotCompound("the last packet is cut off"));
    };
    if first >> 6 != 2 {
        return Err(RtcpError::NotCompound("another version than 2"));
    }
    Ok(WORD * (1 + usize::from(u16::from_be_bytes([high, low]))))
}

/// The names in a packet of SDES (section 6.5): a name that is no UTF-8 is none.
///
/// By hand, because `rtcp-types` 0.3 takes the zeros that a source's number begins with for padding of the chunk before it.
fn names(packet: &[u8]) -> Result<Vec<(u32, String)>, RtcpParseError> {
    let padding = if packet[0] & 0x20 != 0 { usize::from(packet[packet.len() - 1]) } else { 0 };
    let cut_off = |expected| RtcpParseError::Truncated { expected, actual: packet.len() };
    let end = packet.len().checked_sub(padding).filter(|&end| end >= WORD).ok_or(RtcpParseError::InvalidPadding)?;
    let (mut names, mut at) = (Vec::new(), WORD);
    for _ in 0..packet[0] & 0x1F {
        let ssrc = packet[at..end].first_chunk().copied().map(u32::from_be_bytes).ok_or(cut_off(at + WORD))?;
        at += WORD;
        loop {
            match packet[at..end] {
                [] => return Err(cut_off(at + 1)),
                // The end of the items; the next chunk begins with a word.
                [0, ..] => break,
                [kind, length, ref rest @ ..] => {
                    let value = rest.get(..length.into()).ok_or(cut_off(at + 2 + usize::from(length)))?;
                    if kind == SdesItem::CNAME {
                        names.extend(std::str::from_utf8(value).ok().map(|name| (ssrc, name.to_owned())));
                    }
                    at += 2 + value.len();
                }
                [_] => return Err(cut_off(at + 2)),
            }
        }
        at = (at + 1).next_multiple_of(WORD);
        if at > end {
            return Err(cut_off(at));
        }
    }
    Ok(names)
}

fn sender_report(report: &Report, sender: SenderInfo) -> rtcp_types::SenderReportBuilder {
    let builder = SenderReport::builder(report.ssrc)
        .ntp_timestamp(sender.ntp.0)
        .rtp_timestamp(sender.rtp_timestamp)
        .packet_count(sender.packets)
        .octet_count(sender.octets);
    report.blocks.iter().fold(builder, |builder, block| builder.add_report_block(block.builder()))
}

fn receiver_report(report: &Report) -> rtcp_types::ReceiverReportBuilder {
    let builder = ReceiverReport::builder(report.ssrc);
    report.blocks.iter().fold(builder, |builder, block| builder.add_report_block(block.builder()))
}

fn append(out: &mut Vec<u8>, packet: &dyn RtcpPacketWriter) -> Result<(), RtcpError> {
    let unwritable = |error: RtcpWriteError| RtcpError::Unwritable(error.to_string());
    let start = out.len();
    out.resize(start + packet.calculate_size().map_err(unwritable)?, 0);
    packet.write_into_unchecked(&mut out[start..]);
    Ok(())
}

#[cfg(test)]
#[path = "compound_tests.rs"]
mod tests;
