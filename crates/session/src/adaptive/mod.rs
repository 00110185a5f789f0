//! Adaptive streams: both halves of a session of `framewire-adaptive`, with logs that a ledger is made of.
//!
//! Like the sessions of other transports, they are sans-IO: a world moves datagrams between the sockets of
//! [`AdaptiveSender`] and [`AdaptiveReceiver`], and both only record.

mod ladder;
mod receiver;
mod sender;

pub use ladder::{LadderContent, LadderContentError};
pub use receiver::AdaptiveReceiver;
pub use sender::AdaptiveSender;

use framewire_adaptive::datagram::Channel as SessionChannel;

use crate::half::{Channel, ChannelId, ChannelKind};

/// Bytes that IPv4 (RFC 791, 3.1) and UDP (RFC 768) put before a datagram.
pub(crate) const IP_AND_UDP_HEADERS: usize = 28;

/// The channels of an adaptive session: both carry datagrams (section 5.1 of the VTP paper).
fn channels() -> Vec<Channel> {
    channel_ids().map(|id| Channel { id, kind: ChannelKind::Datagram }).to_vec()
}

/// That for packets of video and audio, and that for control.
pub(crate) fn channel_ids() -> [ChannelId; 2] {
    [SessionChannel::Data, SessionChannel::Control].map(channel_id)
}

/// The number of a channel.
pub(crate) fn channel_id(channel: SessionChannel) -> ChannelId {
    ChannelId(channel.index() as u8)
}

/// The channel of a number; `None` where there is none.
fn channel_of(id: ChannelId) -> Option<SessionChannel> {
    SessionChannel::BOTH.into_iter().find(|&channel| channel_id(channel) == id)
}
