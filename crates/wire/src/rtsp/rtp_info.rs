//! Where the streams of a movie begin, as the answer to PLAY says.

use std::fmt;

use super::controls::joined;
use super::transport::Transport;
use crate::rtp_payload::FirstPacket;

/// A stream that a server plays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlayedStream {
    /// How it is carried: the server's channels or ports are those.
    pub transport: Transport,
    /// Its first packet, where the server says that.
    pub first: Option<FirstPacket>,
}

/// Where a stream begins: one of those in a field RTP-Info (RFC 2326, section 12.33).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RtpInfo {
    /// Of the stream; it may be relative to that of the whole.
    pub url: String,
    /// The sequence number of its first packet.
    pub sequence: Option<u16>,
    /// The time stamp of the place that is played.
    pub timestamp: Option<u32>,
}

impl RtpInfo {
    /// Those of a field, in order.
    pub fn parse_all(value: &str) -> Vec<Self> {
        let mut entries: Vec<String> = Vec::new();
        for part in value.split(',') {
            match entries.last_mut() {
                // A comma in a URL.
                Some(last) if of_url(part).is_none() => *last = format!("{last},{part}"),
                _ => entries.push(part.trim().to_owned()),
            }
        }
        entries.iter().filter_map(|entry| Self::parse(entry)).collect()
    }

    fn parse(entry: &str) -> Option<Self> {
        let mut url = of_url(entry)?;
        let (mut sequence, mut timestamp) = (None, None);
        // URLs may have semicolons, too: what is known is taken from the end on.
        while let Some((before, (key, value))) =
            url.rsplit_once(';').and_then(|(before, last)| Some((before, last.split_once('=')?)))
        {
            match key.trim().to_ascii_lowercase().as_str() {
                "seq" => sequence = value.trim().parse().ok(),
                "rtptime" => timestamp = value.trim().parse().ok(),
                // Some servers say that, too.
                "ssrc" => {}
                _ => break,
            }
            url = before;
        }
        let url = url.trim_matches(|one: char| one == '"' || one.is_whitespace()).to_owned();
        Some(Self { url, sequence, timestamp })
    }

    /// The first packet of a stream with this URL, of what is said of all; `base` is the URL of the whole. Where there is one
    /// stream, what is said of one is of that, whatever it is called: servers behind routers know themselves by other names.
    pub(super) fn first_packet(said: &[Self], base: &str, url: &str, is_alone: bool) -> Option<FirstPacket> {
        let is_it = |info: &&Self| joined(base, &info.url).trim_end_matches('/') == url.trim_end_matches('/');
        let only = said.first().filter(|_| is_alone && said.len() == 1);
        let info = said.iter().find(is_it).or(only)?;
        Some(FirstPacket { sequence_number: info.sequence?, timestamp: info.timestamp })
    }
}

/// What stands behind `url=`.
fn of_url(text: &str) -> Option<&str> {
    let (key, url) = text.split_once('=')?;
    key.trim().eq_ignore_ascii_case("url").then_some(url)
}

impl fmt::Display for RtpInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "url={}", self.url)?;
        self.sequence.map_or(Ok(()), |sequence| write!(f, ";seq={sequence}"))?;
        self.timestamp.map_or(Ok(()), |timestamp| write!(f, ";rtptime={timestamp}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(url: &str, sequence: Option<u16>, timestamp: Option<u32>) -> RtpInfo {
        RtpInfo { url: url.to_owned(), sequence, timestamp }
    }

    #[test]
    fn streams_are_read_as_the_document_and_servers_write_them() {
        for (text, expected) in [
            // The examples of section 12.33.
            (
                "url=rtsp://foo.com/bar.avi/streamid=0;seq=45102,url=rtsp://foo.com/bar.avi/streamid=1;seq=30211",
                vec![
                    info("rtsp://foo.com/bar.avi/streamid=0", Some(45_102), None),
                    info("rtsp://foo.com/bar.avi/streamid=1", Some(30_211), None),
                ],
            ),
            (
                "url=track0;rtptime=4294967295;seq=0 , URL = \"track1\" ; seq = 7",
                vec![info("track0", Some(0), Some(u32::MAX)), info("track1", Some(7), None)],
            ),
            (
                "url=rtsp://h/a,b;c=1/track0;seq=9;rtptime=8;ssrc=12AB",
                vec![info("rtsp://h/a,b;c=1/track0", Some(9), Some(8))],
            ),
            ("url=track0;seq=65536;rtptime=-1", vec![info("track0", None, None)]),
            ("url=", vec![info("", None, None)]),
            ("seq=5", vec![]),
            ("", vec![]),
        ] {
            let read = RtpInfo::parse_all(text);
            assert_eq!(read, expected, "{text}");
            let written = read.iter().map(RtpInfo::to_string).collect::<Vec<_>>().join(",");
            assert_eq!(RtpInfo::parse_all(&written), expected, "{text}");
        }
    }

    #[test]
    fn a_stream_is_found_by_its_url_and_the_only_one_by_any() {
        let first = |text: &str, url: &str, is_alone| {
            RtpInfo::first_packet(&RtpInfo::parse_all(text), "rtsp://h/movie/", url, is_alone)
                .map(|first| (first.sequence_number, first.timestamp))
        };
        let both = "url=rtsp://h/movie/track0/;seq=5;rtptime=50,url=track1;seq=6";
        assert_eq!(first(both, "rtsp://h/movie/track0", false), Some((5, Some(50))));
        assert_eq!(first(both, "rtsp://h/movie/track1", false), Some((6, None)));
        assert_eq!(first(both, "rtsp://h/movie/track2", true), None);
        assert_eq!(first("url=rtsp://10.0.0.1/x;seq=5", "rtsp://h/movie/track0", true), Some((5, None)));
        assert_eq!(first("url=rtsp://10.0.0.1/x;seq=5", "rtsp://h/movie/track0", false), None);
        assert_eq!(first("url=track0;rtptime=5", "rtsp://h/movie/track0", true), None, "a time says no number");
    }
}
