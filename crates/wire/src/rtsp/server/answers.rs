//! DESCRIBE, PLAY and PAUSE (RFC 2326, sections 10.2, 10.5 and 10.6).

use super::{CONTROL, Pending, PendingAnswer, Playing, Presentation, Server, ServerEvent, State};
use crate::message::Status;
use crate::rtsp::message::{Request, Response};
use crate::rtsp::range::NptRange;
use crate::rtsp::rtp_info::RtpInfo;
use crate::sdp;

impl Server {
    pub(super) fn describe(&self, request: &Request) -> Response {
        let kinds: Vec<&str> = request.headers.all("Accept").flat_map(|value| value.split(',')).collect();
        let kind = |text: &str| text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let is_accepted = |text: &&str| matches!(kind(text).as_str(), "application/sdp" | "application/*" | "*/*");
        if !kinds.is_empty() && !kinds.iter().any(is_accepted) {
            return Response::new(Status::NOT_ACCEPTABLE);
        }
        let Some((number, _)) = self.found(&request.uri) else { return Response::new(Status::NOT_FOUND) };
        let base = format!("{}/", request.uri.trim_end_matches('/'));
        let text = with_control(&self.settings.presentations[number]);
        let body = self.described_as.iter().fold(text, |text, number| sdp::with_session(&text, *number)).into_bytes();
        let response = Response::new(Status::OK).with("Content-Base", base).with("Content-Type", "application/sdp");
        Response { body, ..response }
    }

    /// Asks who has the movie. One that is played already goes on, unless another place in it is asked for: that is gone to at once.
    /// Section 10.5 has such a request wait until what was asked for before is played, which is never where that has no end; players that do not
    /// pause before mean now.
    pub(super) fn play(&mut self, request: &Request) -> Option<Response> {
        let range = match request.headers.get("Range").map(NptRange::parse) {
            None => None,
            Some(Some(range)) => Some(range),
            // Section 12.29: another format of time, or one that makes no sense.
            Some(None) => return Some(Response::new(Status::NOT_IMPLEMENTED)),
        };
        let movie = match self.state {
            State::Init => return Some(Response::new(Status::METHOD_NOT_VALID)),
            State::Playing(_) if range.is_none() => {
                return Some(Response::new(Status::OK).with("Session", self.session.clone()));
            }
            State::Ready(movie) | State::Playing(movie) => movie,
        };
        let base = request.uri.trim_end_matches('/');
        let url = match self.found(base) {
            Some((_, Some(_))) => base.rsplit_once('/').map_or(base, |(whole, _)| whole),
            _ => base,
        };
        let sequence = request.headers.get("CSeq").unwrap_or_default().to_owned();
        self.pending = Some(Pending { sequence, of: PendingAnswer::Play { movie, url: url.to_owned() } });
        self.events.push_back(ServerEvent::Play { movie, deliveries: self.deliveries.clone(), range });
        None
    }

    /// Says what is played: it may begin at another place than was asked for.
    pub(super) fn played(&mut self, movie: usize, url: &str, playing: &Playing) -> Response {
        (self.state, self.has_played) = (State::Playing(movie), true);
        let streams = playing.streams.iter().zip(0..);
        let wanted = streams.zip(&self.deliveries).filter(|(_, delivery)| delivery.is_some());
        let begins = wanted.map(|((start, stream), _)| {
            let url = format!("{url}/{CONTROL}{stream}");
            RtpInfo { url, sequence: Some(start.sequence), timestamp: Some(start.timestamp) }.to_string()
        });
        Response::new(Status::OK)
            .with("Session", self.session.clone())
            .with("Range", playing.range.to_string())
            .with("RTP-Info", begins.collect::<Vec<_>>().join(","))
    }

    pub(super) fn pause(&mut self) -> Response {
        let State::Playing(movie) = self.state else { return Response::new(Status::METHOD_NOT_VALID) };
        self.state = State::Ready(movie);
        self.events.push_back(ServerEvent::Pause);
        Response::new(Status::OK).with("Session", self.session.clone())
    }
}

/// The description with the names by which its streams and the whole are asked for (appendix C.1.1), and without ports of its
/// own, which SETUP agrees upon.
fn with_control(presentation: &Presentation) -> String {
    let end = presentation.length.map(|length| format!("{:.3}", length.as_secs_f64())).unwrap_or_default();
    let (mut text, mut media) = (String::new(), 0);
    let name = |media: usize| if media == 0 { String::new() } else { format!("a=control:{CONTROL}{}\r\n", media - 1) };
    for line in presentation.description.lines() {
        match line.strip_prefix("m=").map(|media| media.splitn(3, ' ').collect::<Vec<_>>()) {
            Some(parts) if parts.len() == 3 => {
                let before = if media == 0 { format!("a=control:*\r\na=range:npt=0-{end}\r\n") } else { name(media) };
                media += 1;
                text += &format!("{before}m={} 0 {}\r\n", parts[0], parts[2]);
            }
            _ => text += &format!("{line}\r\n"),
        }
    }
    text + &name(media)
}
