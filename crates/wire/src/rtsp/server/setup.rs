//! SETUP (RFC 2326, section 10.4).

use std::collections::VecDeque;

use super::{Delivery, Pending, PendingAnswer, Server, ServerEvent, State};
use crate::message::Status;
use crate::rtsp::message::{Request, Response};
use crate::rtsp::transport::{Carriage, Transport};

impl Server {
    /// Agrees upon how a stream is sent; `None` where that is asked for first.
    pub(super) fn set_up(&mut self, request: &Request) -> Option<Response> {
        // Section 10.4 lets a server refuse to change what is being played.
        if self.has_played {
            return Some(Response::new(Status::METHOD_NOT_VALID));
        }
        let Some((movie, stream)) = self.found(&request.uri) else { return Some(Response::new(Status::NOT_FOUND)) };
        let streams = self.settings.presentations[movie].streams.len();
        let stream = match (stream, streams) {
            (Some(stream), _) => stream,
            (None, 1) => 0,
            // Section 10.4: each stream is set up by itself.
            (None, _) => return Some(Response::new(Status::AGGREGATE_NOT_ALLOWED)),
        };
        if matches!(self.state, State::Ready(other) if other != movie) {
            return Some(Response::new(Status::METHOD_NOT_VALID));
        }
        let offered = request.headers.all("Transport").flat_map(Transport::parse_all).collect();
        let sequence = request.headers.get("CSeq").unwrap_or_default().to_owned();
        self.agree(movie, stream, offered, &sequence)
    }

    /// Takes the first of the transports that can be; `None` where ports are asked for, and the others wait for that.
    pub(super) fn agree(
        &mut self,
        movie: usize,
        stream: usize,
        mut offered: VecDeque<Transport>,
        sequence: &str,
    ) -> Option<Response> {
        while let Some(transport) = offered.pop_front() {
            let delivery = self.delivery(&transport);
            match delivery.filter(|delivery| !self.is_taken(*delivery, stream)) {
                None => {}
                Some(Delivery::Udp(rtp, rtcp)) => {
                    let client = (rtp, rtcp);
                    let of = PendingAnswer::Ports { movie, stream, client, others: offered };
                    self.pending = Some(Pending { sequence: sequence.to_owned(), of });
                    self.events.push_back(ServerEvent::Open { movie, stream, client });
                    return None;
                }
                Some(delivery @ Delivery::Interleaved(..)) => {
                    let Carriage::Interleaved { channels } = transport.carriage else { continue };
                    let carriage = Carriage::Interleaved { channels: channels.or(Some((0, Some(1)))) };
                    return Some(self.agreed(movie, stream, delivery, carriage));
                }
            }
        }
        Some(Response::new(Status::UNSUPPORTED_TRANSPORT))
    }

    /// A stream is sent in datagrams, from these ports to those.
    pub(super) fn opened(&mut self, movie: usize, stream: usize, client: (u16, u16), server: (u16, u16)) -> Response {
        let [client_ports, server] = [client, server].map(|(rtp, rtcp)| Some((rtp, Some(rtcp))));
        let carriage = Carriage::Udp { client: client_ports, server };
        self.agreed(movie, stream, Delivery::Udp(client.0, client.1), carriage)
    }

    fn agreed(&mut self, movie: usize, stream: usize, delivery: Delivery, carriage: Carriage) -> Response {
        self.state = State::Ready(movie);
        let streams = &self.settings.presentations[movie].streams;
        self.deliveries.resize(streams.len(), None);
        self.deliveries[stream] = Some(delivery);
        let transport = Transport { carriage, ssrc: Some(streams[stream].ssrc) };
        let session = format!("{};timeout={}", self.session, self.settings.timeout.as_secs());
        Response::new(Status::OK).with("Transport", transport.to_string()).with("Session", session)
    }

    /// Whether another stream has one of these channels already, or one of these ports.
    fn is_taken(&self, delivery: Delivery, stream: usize) -> bool {
        let others = self.deliveries.iter().enumerate().filter(|(other, _)| *other != stream);
        others.filter_map(|(_, taken)| *taken).any(|taken| match (taken, delivery) {
            (Delivery::Interleaved(a, b), Delivery::Interleaved(c, d)) => a == c || a == d || b == c || b == d,
            (Delivery::Udp(a, b), Delivery::Udp(c, d)) => a == c || a == d || b == c || b == d,
            // A session has one carriage for all of its streams.
            _ => true,
        })
    }

    /// How the client asks for the packets, where that can be.
    fn delivery(&self, offered: &Transport) -> Option<Delivery> {
        match offered.carriage {
            Carriage::Interleaved { channels } => {
                let (rtp, rtcp) = channels.unwrap_or((0, Some(1)));
                // With one channel there is no RTCP; a number for it is taken all the same.
                let of_rtcp = rtcp.unwrap_or(rtp.wrapping_add(1));
                (of_rtcp != rtp).then_some(Delivery::Interleaved(rtp, of_rtcp))
            }
            Carriage::Udp { client, .. } => {
                let (rtp, rtcp) = client.filter(|_| self.settings.over_udp)?;
                let of_rtcp = rtcp.or(rtp.checked_add(1))?;
                (rtp > 0 && of_rtcp > 0 && rtp != of_rtcp).then_some(Delivery::Udp(rtp, of_rtcp))
            }
        }
    }
}
