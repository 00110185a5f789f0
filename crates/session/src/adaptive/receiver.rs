//! The client of an adaptive stream, and what came to it.

use bytes::Bytes;
use framewire_adaptive::client::{Client, ClientEvent, ClientTransmit};
use framewire_adaptive::datagram::Channel;
use framewire_recording::record::DatagramReceived;
use framewire_units::{DataSize, Timestamp};
use framewire_wire::vtp::VIDEO_HEADER_LENGTH;

use crate::receiver::{ReceiverLog, Reception};

/// The receiver's side of an adaptive flow.
///
/// Contract: as that of [`Client`], which speaks first: at the start of the flow call
/// [`poll_transmit`](Self::poll_transmit). Hand in a datagram, or nothing when [`next_timeout`](Self::next_timeout) has
/// come; send what [`poll_transmit`](Self::poll_transmit) gives until it is `None`; take what
/// [`poll_frame`](Self::poll_frame) gives until it is `None`.
pub struct AdaptiveReceiver {
    client: Client,
    reception: Reception,
    received: DataSize,
}

impl AdaptiveReceiver {
    pub(crate) fn new(client: Client, log: ReceiverLog) -> Self {
        Self { client, reception: Reception::new(log), received: DataSize::ZERO }
    }

    /// A datagram came from the sender.
    pub fn handle_datagram(&mut self, now: Timestamp, channel: Channel, datagram: &[u8]) {
        self.client.handle_datagram(now, channel, datagram);
        self.take_events();
    }

    /// What is to be sent now.
    pub fn poll_transmit(&mut self, now: Timestamp) -> Option<ClientTransmit> {
        let transmit = self.client.poll_transmit(now);
        self.take_events();
        transmit
    }

    /// When it has something to do by itself.
    pub fn next_timeout(&self) -> Option<Timestamp> {
        self.client.next_timeout()
    }

    /// Ends the session from this side.
    pub fn stop(&mut self, now: Timestamp) {
        self.client.stop(now);
        self.take_events();
    }

    /// True when the session is over and everything was said.
    pub fn is_finished(&self) -> bool {
        self.client.is_finished()
    }

    /// The next frame, whole, for the received movie.
    pub fn poll_frame(&mut self) -> Option<Bytes> {
        self.reception.poll_frame()
    }

    /// Frames that arrived whole so far.
    pub fn complete_frames(&self) -> u32 {
        self.reception.log.complete_frames
    }

    /// Video and audio that came so far, without headers.
    pub fn received(&self) -> DataSize {
        self.received
    }

    /// Frames that the client gave up, so far; those that were left out among them.
    pub fn incomplete_frames(&self) -> u32 {
        self.reception.log.incomplete_frames
    }

    /// What was recorded.
    pub fn into_log(mut self) -> ReceiverLog {
        self.take_events();
        let drops = self.client.state().drops;
        let reasons = drops.iter().filter(|(_, count)| *count > 0);
        ReceiverLog {
            rejected: drops.iter().map(|(_, count)| count).sum(),
            rejections: reasons.map(|(reason, count)| format!("{reason:?}: {count}")).collect(),
            ..self.reception.log
        }
    }

    fn take_events(&mut self) {
        while let Some(event) = self.client.poll_event() {
            match event {
                ClientEvent::Packet { arrived, header, kept } => {
                    self.received += header.size;
                    self.reception.log.datagrams.push(DatagramReceived {
                        sequence: header.sequence.into(),
                        size: u32::try_from(VIDEO_HEADER_LENGTH as u64 + header.size.as_bytes()).unwrap_or(u32::MAX),
                        at: arrived,
                        kept,
                    });
                }
                ClientEvent::FrameComplete(frame) => self.reception.handle_frame(frame.bytes),
                ClientEvent::FramesLost { count, .. } => self.reception.handle_lost(count),
                ClientEvent::Described(_)
                | ClientEvent::LevelChanged { .. }
                | ClientEvent::Audio(_)
                | ClientEvent::AudioLost { .. }
                | ClientEvent::Ended(_) => {}
            }
        }
    }
}
