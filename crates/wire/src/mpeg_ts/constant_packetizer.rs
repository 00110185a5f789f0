//! Frames as a transport stream of constant rate, which is asked for as time goes by: datagrams, or pieces of a stream of bytes.

use bytes::{Bytes, BytesMut};
use framewire_units::{Bitrate, DataSize, Duration};

use super::clock::{SYSTEM_CLOCK, TIMESTAMP_WRAP, Unwrapper};
use super::constant::Part;
use super::least_rate::{PlannedUnit, least_rate};
use super::multiplexer::{Multiplexer, UnitError};
use super::packet::PACKET_LENGTH;
use super::packetizer::{Frame, FrameTimes, RtpHeaders, packets_of_datagram, reference};
use super::settings::{Layout, PACKETS_PER_DATAGRAM, Rate, Settings, SettingsError};
use super::tables::Program;
use crate::rtp;
use crate::rtp_payload::StreamOrigin;

/// Makes a transport stream of constant rate, null packets and all, as it is sent.
///
/// Contract: give it frames and packets of audio when they may be sent, by [`handle_frame`](Self::handle_frame); from the first one on
/// a [`group`](Self::next_group) of packets leaves whenever one is [due](Self::next_due), until nothing waits and no more comes.
/// Who is late with a group sends the next ones at once: the clock in them is that of their place. A frame's packets are in groups of
/// its own; those of audio go between them, as the buffers of the standard's decoder have room
/// ([`Multiplexer`]). Where nothing of either can be sent, null packets are (2.4.3.3, PID 0x1FFF).
///
/// Each group of datagrams has a clock reference, by which it is known as those of a [`Packetizer`](super::Packetizer) are.
#[derive(Clone, Debug)]
pub struct ConstantPacketizer {
    multiplexer: Multiplexer,
    rate: Bitrate,
    /// Packets of a group at most.
    most: u8,
    /// Groups are datagrams, and have to be known.
    is_numbered: bool,
    rtp: Option<RtpHeaders>,
    times: FrameTimes,
    references: Unwrapper,
    packets: Vec<u8>,
}

/// Packets that leave together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Of a datagram its number, as [`Datagram::sequence`](crate::rtp_payload::Datagram); 0 of a piece of a stream.
    pub sequence: u64,
    /// What leaves: packets, in RTP behind its header.
    pub bytes: Bytes,
    /// What of a frame is in it.
    pub part: Option<FramePart>,
    /// How many bytes are packets of the transport stream: all but a header of RTP.
    pub packets: DataSize,
    /// How many bytes of these are null packets.
    pub stuffing: DataSize,
}

/// What a group has of a frame or of a packet of audio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FramePart {
    /// As it was given.
    pub number: u32,
    /// Bytes of the frame itself.
    pub bytes: usize,
    /// How many bytes of the group there are up to the end of the frame's last packet, where that is in it.
    pub end: Option<usize>,
}

impl ConstantPacketizer {
    /// Of datagrams of up to seven packets, of an MTU and in RTP as [`Packetizer::new`](super::Packetizer::new) has them, at this rate of
    /// the transport stream: headers of RTP, UDP and IP come on top of it.
    ///
    /// # Errors
    /// When the MTU has no room for three packets, or the rate is too low for any stream.
    pub fn new(
        program: Program,
        rate: Bitrate,
        mtu: DataSize,
        origin: Option<StreamOrigin>,
    ) -> Result<Self, SettingsError> {
        let most = packets_of_datagram(mtu, origin.is_some());
        if most < 3 {
            return Err(SettingsError::Datagram(most));
        }
        let stream = Self::continuous(program, rate)?;
        Ok(Self { most, is_numbered: true, rtp: origin.map(RtpHeaders::new), ..stream })
    }

    /// The same for a stream of bytes.
    ///
    /// # Errors
    /// When there cannot be such a program, or the rate is too low for any stream.
    pub fn continuous(program: Program, rate: Bitrate) -> Result<Self, SettingsError> {
        let settings = Settings { rate: Rate::Constant(rate), ..Settings::new(program, Layout::Continuous) };
        Ok(Self {
            multiplexer: Multiplexer::new(settings)?,
            rate,
            most: PACKETS_PER_DATAGRAM,
            is_numbered: false,
            rtp: None,
            times: FrameTimes::new(),
            references: Unwrapper::of_references(),
            packets: Vec::new(),
        })
    }

    /// As [`Packetizer::with_reordering`](super::Packetizer::with_reordering).
    #[must_use]
    pub fn with_reordering(self, longest: Duration) -> Self {
        Self { times: self.times.reordered(longest), ..self }
    }

    /// As [`Packetizer::with_initial_timestamp`](super::Packetizer::with_initial_timestamp).
    #[must_use]
    pub fn with_initial_timestamp(self, initial_timestamp: u32) -> Self {
        Self { rtp: self.rtp.map(|rtp| rtp.beginning_with(initial_timestamp)), ..self }
    }

    /// The lowest rate at which all of these come before they are decoded, in its groups.
    pub fn least_rate(&self, units: &[PlannedUnit]) -> Bitrate {
        least_rate(units, self.multiplexer.settings().delay, self.most.into())
    }

    /// The rate of the stream.
    pub fn rate(&self) -> Bitrate {
        self.rate
    }

    /// Takes a frame or a packet of audio, which its groups name by this number.
    ///
    /// # Errors
    /// When the bytes are not an access unit of the track.
    pub fn handle_frame(&mut self, frame: &Frame<'_>, number: u32) -> Result<(), UnitError> {
        let mut unit = self.times.unit(frame);
        // A turn of the clock later, so that audio from before the video has a time too: in the stream it is the same one.
        unit.decode = unit.decode.wrapping_add(TIMESTAMP_WRAP);
        unit.presentation = unit.presentation.wrapping_add(TIMESTAMP_WRAP);
        self.multiplexer.take(&unit, number)
    }

    /// How many bytes of what was given are not sent yet.
    pub fn waiting(&self) -> DataSize {
        DataSize::from_bytes(self.multiplexer.constant().bytes_waiting())
    }

    /// What waits at most where no group is late: what the rate brings until a frame is decoded.
    pub fn most_waiting(&self) -> DataSize {
        let bits = u128::from(self.rate.as_bps()) * self.multiplexer.settings().delay.as_nanos() / 1_000_000_000;
        DataSize::from_bytes(u64::try_from(bits / 8).unwrap_or(u64::MAX))
    }

    /// When the next group is due, counted from when the first frame was given; `None` before that.
    pub fn next_due(&self) -> Option<Duration> {
        let ticks = self.multiplexer.constant().next_due()?;
        let nanos = u128::from(ticks) * 1_000_000_000 / u128::from(SYSTEM_CLOCK);
        Some(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
    }

    /// The next group.
    pub fn next_group(&mut self) -> Group {
        self.packets.clear();
        let (constant, writer) = self.multiplexer.constant_mut();
        let clock = constant.clock();
        let group = constant.group(self.most.into(), self.is_numbered, writer, &mut self.packets);
        let mut memory = BytesMut::with_capacity(rtp::HEADER_LENGTH + self.packets.len());
        let sequence = if self.is_numbered { self.number(clock, &mut memory) } else { 0 };
        memory.extend_from_slice(&self.packets);
        Group {
            sequence,
            bytes: memory.freeze(),
            part: group.part.map(|Part { number, bytes, end, .. }| FramePart {
                number,
                bytes,
                end: end.map(|packets| packets * PACKET_LENGTH),
            }),
            packets: DataSize::from_bytes(self.packets.len() as u64),
            stuffing: DataSize::from_bytes((group.null * PACKET_LENGTH) as u64),
        }
    }

    /// The number of the datagram whose packets are made; its header of RTP is written, where it has one, with the time at which its first
    /// byte is to be sent (RFC 2250, section 2), which the clock shows then.
    fn number(&mut self, clock: u64, memory: &mut BytesMut) -> u64 {
        let reference = reference(&self.packets).expect("invariant: each numbered group has a clock reference");
        let reference = self.references.unwrap(reference);
        match &mut self.rtp {
            None => reference,
            Some(headers) => headers.put(clock, memory),
        }
    }
}

#[cfg(test)]
#[path = "constant_packetizer_tests.rs"]
mod tests;
