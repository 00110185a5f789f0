//! The client of an adaptive stream, and what came to it.

use bytes::Bytes;
use framewire_adaptive::client::{Client, ClientEvent, ClientTransmit};
use framewire_recording::record::DatagramReceived;
use framewire_transport::socket::{DatagramSend, SocketError};
use framewire_units::{DataSize, Timestamp};
use framewire_wire::vtp::VIDEO_HEADER_LENGTH;

use super::{channel_id, channel_of, channels};
use crate::half::{Arrival, Channel, ChannelId, Channels, Half, Wait};
use crate::receiver::{ReceiverLog, Reception};

/// The receiver's side of an adaptive flow.
///
/// Contract: that of a [`Half`] over two channels of datagrams to one server. It sends first: drive it at the start of
/// the flow, and take what `poll_frame` gives until it is `None`.
pub struct AdaptiveReceiver {
    client: Client,
    /// What its channel had no room for.
    waiting: Option<ClientTransmit>,
    reception: Reception,
    received: DataSize,
}

impl AdaptiveReceiver {
    pub(crate) fn new(client: Client, log: ReceiverLog) -> Self {
        Self { client, waiting: None, reception: Reception::new(log), received: DataSize::ZERO }
    }

    /// What is to be sent now.
    fn poll_transmit(&mut self, now: Timestamp) -> Option<ClientTransmit> {
        let transmit = self.client.poll_transmit(now);
        self.take_events();
        transmit
    }

    /// When it has something to do by itself.
    pub(crate) fn next_timeout(&self) -> Option<Timestamp> {
        self.client.next_timeout()
    }

    /// True when the session is over and everything was said.
    pub(crate) fn is_finished(&self) -> bool {
        self.client.is_finished()
    }

    /// The next frame, whole, for the received movie.
    pub(crate) fn poll_frame(&mut self) -> Option<Bytes> {
        self.reception.poll_frame()
    }

    /// Frames that arrived whole so far.
    pub(crate) fn complete_frames(&self) -> u32 {
        self.reception.log.complete_frames
    }

    /// Video and audio that came so far, without headers.
    pub(crate) fn received(&self) -> DataSize {
        self.received
    }

    /// Frames that the client gave up, so far; those that were left out among them.
    pub(crate) fn incomplete_frames(&self) -> u32 {
        self.reception.log.incomplete_frames
    }

    /// What was recorded.
    pub(crate) fn into_log(mut self) -> ReceiverLog {
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

impl Half for AdaptiveReceiver {
    fn channels(&self) -> Vec<Channel> {
        channels()
    }

    fn handle_arrival(&mut self, now: Timestamp, channel: ChannelId, arrival: Arrival<'_>) {
        if let (Some(channel), Arrival::Datagram(bytes)) = (channel_of(channel), arrival) {
            self.client.handle_datagram(now, channel, bytes);
            self.take_events();
        }
    }

    fn drive(&mut self, now: Timestamp, channels: &mut dyn Channels) -> Result<Wait, SocketError> {
        let mut room = None;
        while let Some(transmit) = self.waiting.take().or_else(|| self.poll_transmit(now)) {
            let channel = channel_id(transmit.channel);
            if channels.send(channel, &transmit.bytes, None)? == DatagramSend::WouldBlock {
                room = Some(channel);
                self.waiting = Some(transmit);
                break;
            }
        }
        let finished = self.is_finished() && self.waiting.is_none();
        Ok(Wait { room: room.into(), timeout: self.next_timeout(), finished })
    }

    /// Ends the session from this side.
    fn stop(&mut self, now: Timestamp) {
        self.client.stop(now);
        self.take_events();
    }
}
