//! RTSP 1.0 (RFC 2326), with the packets of RTP and RTCP between its messages (section 10.12).
//!
//! OPTIONS, DESCRIBE, SETUP and PLAY, one at a time; the movie begins with PLAY. Where there is RTCP, the sender ends its stream
//! by BYE, and the receiver then the session by TEARDOWN. Where there is none (b=RS:0, b=RR:0, RFC 3556), nothing in RTSP says
//! that a stream has ended but the end of the connection, and signs of life are requests of GET_PARAMETER.
//!
//! Over UDP (section 12.39) the packets of RTP and RTCP go in datagrams beside the connection, and may be lost: a sender waits for
//! TEARDOWN only for a time, and a receiver for packets.

mod client;
mod server;

use std::collections::VecDeque;
use std::net::Ipv4Addr;

use framewire_units::{Duration, Timestamp};
use framewire_wire::rtcp::RtcpBandwidth;
use framewire_wire::rtp_payload::{PayloadFormat, StreamDescription};
use framewire_wire::rtsp::{Presentation, StreamStart, Want, put_interleaved};
use framewire_wire::sdp;

use self::client::Packets;
pub(crate) use self::client::{AskedServer, RtspClientExchange, reports_of_any};
use self::server::RtspServerExchange;
use super::{ClientExchange, ServerExchange};
use crate::channels::SOUND_PORTS;
use crate::flow::RtpSeed;
use crate::rtcp::{RtcpEnd, RtcpSetup};

/// The channel of RTP of the first stream, which the client asks for (RFC 2326, section 10.12); that of RTCP is the next one, and behind
/// that are those of the second.
pub(crate) const RTP_CHANNEL: u8 = 0;

/// That of sound.
pub(crate) const SOUND_RTP_CHANNEL: u8 = 2;

/// The stream's path and URL. Neither depends on addresses, which a simulated network has none of.
const PATH: &str = "/movie";
const URL: &str = "rtsp://sender/movie";

/// How long a sender over UDP waits for TEARDOWN when it has said BYE, which may be lost: some round trips of the slowest paths, and
/// the timeout of a connection that loses the request too (RFC 6298: 1 s).
const TEARDOWN_WAIT: Duration = Duration::from_secs(3);

/// Such a session, as both ends know it.
#[derive(Clone, Debug)]
pub(crate) struct RtspSetup {
    description: String,
    /// Video, and sound where there is some.
    streams: Vec<StreamSetup>,
    rtp: RtpSeed,
}

/// A stream of it.
#[derive(Clone, Debug)]
struct StreamSetup {
    start: StreamStart,
    /// Reports about it.
    rtcp: Option<RtcpSetup>,
}

impl RtspSetup {
    /// Of a stream in this format, which begins so, with the access unit `first`. What both ends draw is of this seed.
    pub(crate) fn new(
        format: &PayloadFormat,
        first: &[u8],
        start: StreamStart,
        rtp: RtpSeed,
        rtcp: Option<RtcpSetup>,
    ) -> Self {
        let description = sdp::describe(format, Ipv4Addr::UNSPECIFIED.into(), 0, first);
        let description = sdp::with_rtcp_bandwidth(&description, [bandwidth(rtcp.as_ref())]);
        Self { description, streams: vec![StreamSetup { start, rtcp }], rtp }
    }

    /// The same with sound as a second stream, of which its description says so much.
    pub(crate) fn with_sound(
        mut self,
        (format, description): (&PayloadFormat, &StreamDescription),
        start: StreamStart,
        rtcp: Option<RtcpSetup>,
    ) -> Self {
        let stream = sdp::with_stream("", &sdp::Stream { format, port: 0, description });
        self.description += &sdp::with_rtcp_bandwidth(&stream, [bandwidth(rtcp.as_ref())]);
        self.streams.push(StreamSetup { start, rtcp });
        self
    }

    /// The sender's end of the reports about each stream, which joins now and keeps nothing; `None` where there are none. Streams begin
    /// with these numbers and time stamps, and below reports are so many bytes of headers, where not those of the connection.
    pub(crate) fn report_ends(
        &self,
        now: Timestamp,
        first: [(u16, u32); 2],
        lower_headers: Option<usize>,
    ) -> Vec<Option<RtcpEnd>> {
        let own = |setup: &RtcpSetup, (sequence, timestamp)| RtcpSetup {
            start: StreamStart { sequence, timestamp, ..setup.start },
            lower_headers: lower_headers.unwrap_or(setup.lower_headers),
            ..setup.clone()
        };
        let setups = self.streams.iter().map(|stream| &stream.rtcp).zip(first);
        setups.map(|(setup, first)| setup.as_ref().map(|setup| own(setup, first).sender(now).unrecorded())).collect()
    }

    /// The stream, at this path.
    pub(crate) fn presentation(&self, path: &str) -> Presentation {
        let streams = self.streams.iter().map(|stream| stream.start).collect();
        Presentation { path: path.to_owned(), description: self.description.clone(), streams, length: None }
    }

    /// The sender's end, from the origin of the run on.
    pub(crate) fn server_exchange(&self) -> Box<dyn ServerExchange> {
        Box::new(RtspServerExchange::new(self, None))
    }

    /// The same whose packets go in datagrams from this port, and reports from the next one; of sound from those above.
    pub(crate) fn server_exchange_over_udp(&self, port: u16) -> Box<dyn ServerExchange> {
        Box::new(RtspServerExchange::new(self, Some(port)))
    }

    /// The receiver's end, which has its first request ready.
    pub(crate) fn client_exchange(&self) -> Box<dyn ClientExchange> {
        let want = if self.has_reports() { Want::Interleaved } else { Want::InterleavedWithoutReports };
        let reports = Packets::Between(self.reports().collect());
        Box::new(RtspClientExchange::of(self, want, want, reports))
    }

    /// The same to which packets come in datagrams, at this port, and reports at the next one; of sound at those above.
    pub(crate) fn client_exchange_over_udp(&self, port: u16) -> Box<dyn ClientExchange> {
        let want = |port| Want::Udp(port, port + 1);
        Box::new(RtspClientExchange::of(self, want(port), want(port + SOUND_PORTS), Packets::Beside))
    }

    fn reports(&self) -> impl Iterator<Item = RtcpSetup> {
        self.streams.iter().filter_map(|stream| stream.rtcp.clone())
    }

    fn has_reports(&self) -> bool {
        self.streams.iter().any(|stream| stream.rtcp.is_some())
    }
}

fn bandwidth(rtcp: Option<&RtcpSetup>) -> RtcpBandwidth {
    rtcp.map_or(RtcpBandwidth::NONE, |rtcp| rtcp.bandwidth)
}

/// Hands over the reports that are due about each stream, as they go between messages.
fn report(rtcp: &mut [RtcpEnd], now: Timestamp, transmit: &mut VecDeque<Vec<u8>>) {
    for (end, channel) in rtcp.iter_mut().zip((RTP_CHANNEL + 1..).step_by(2)) {
        let sent = end.drive(now, |datagram| {
            let mut frame = Vec::new();
            put_interleaved(channel, datagram, &mut frame);
            transmit.push_back(frame);
            Ok(true)
        });
        sent.expect("invariant: a queue takes all");
    }
}
