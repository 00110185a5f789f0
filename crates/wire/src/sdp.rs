//! What a receiver of an RTP stream has to be told beforehand, as a session description (RFC 8866).

use std::fmt::Write;
use std::net::IpAddr;

use framewire_units::Bitrate;

use crate::mpeg_ts;
use crate::rtcp::RtcpBandwidth;
use crate::rtp_payload::{CLOCK_RATE, PayloadFormat, StreamDescription};

/// One stream of a session.
#[derive(Clone, Copy, Debug)]
pub struct Stream<'a> {
    /// Its payload format.
    pub format: &'a PayloadFormat,
    /// The port to which it is sent.
    pub port: u16,
    /// What is said of it: [`PayloadFormat::description`].
    pub description: &'a StreamDescription,
}

/// A description of one stream of video to an address and port, without RTCP: its payload format and payload type, and what
/// `first`, an access unit that decoding begins with, holds for the decoder (RFC 6184, section 8.2.1; RFC 7798, section
/// 7.2.1). FFmpeg and GStreamer's `sdpdemux` receive by it. Of sound, and where bytes are no access unit, see
/// [`describe_session`].
///
/// ```
/// use framewire_wire::{rtp_payload::h264, sdp};
///
/// let first = [0, 0, 0, 1, 0x67, 0x42, 0xC0, 0x1E, 0, 0, 0, 1, 0x68, 0xCE, 0, 0, 1, 0x65, 0x88];
/// let text = sdp::describe(&h264::FORMAT, [127, 0, 0, 1].into(), 5004, &first);
/// assert!(text.contains("m=video 5004 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\n"));
/// assert!(text.contains("packetization-mode=1;profile-level-id=42C01E;sprop-parameter-sets=Z0LAHg==,aM4="));
/// ```
pub fn describe(format: &PayloadFormat, address: IpAddr, port: u16, first: &[u8]) -> String {
    let description = format.description(first).unwrap_or_else(|_| StreamDescription::of_video(None));
    describe_session(address, &[Stream { format, port, description: &description }])
}

/// A description of streams beside each other, each a session of RTP of its own (RFC 3550, section 5.2), without RTCP.
///
/// ```
/// use framewire_wire::rtp_payload::{aac, mpeg_video};
/// use framewire_wire::sdp::{Stream, describe_session};
///
/// // AAC LC of 48 kHz in stereo, an access unit of one byte (ISO/IEC 14496-3, 1.A.2).
/// let sound = aac::FORMAT.description(&[0xFF, 0xF1, 0x4C, 0x80, 0x01, 0x1F, 0xFC, 0x21])?;
/// let picture = mpeg_video::FORMAT.description(&[])?;
/// let text = describe_session([127, 0, 0, 1].into(), &[
///     Stream { format: &mpeg_video::FORMAT, port: 5004, description: &picture },
///     Stream { format: &aac::FORMAT, port: 5006, description: &sound },
/// ]);
/// assert!(text.contains("m=video 5004 RTP/AVP 32\r\na=rtpmap:32 MPV/90000\r\nm=audio 5006 RTP/AVP 97\r\n"));
/// assert!(text.contains("a=rtpmap:97 mpeg4-generic/48000/2\r\n") && text.contains(";mode=AAC-hbr;config=1190;"));
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
pub fn describe_session(address: IpAddr, streams: &[Stream<'_>]) -> String {
    let kind = if address.is_ipv4() { "IP4" } else { "IP6" };
    // Section 5: version, origin, session name, connection and times are there always, in this order.
    let mut text = format!("v=0\r\no=- 0 0 IN {kind} {address}\r\ns=framewire\r\nc=IN {kind} {address}\r\nt=0 0\r\n");
    streams.iter().for_each(|stream| put_media(stream, &mut text));
    text
}

/// The same description with one more stream behind the others.
///
/// ```
/// use framewire_wire::rtp_payload::{mpeg_audio, mpeg_video};
/// use framewire_wire::sdp::{Stream, describe, with_stream};
///
/// // MPEG-1 audio of layer II, 48 kHz, 128 kbit/s (ISO/IEC 11172-3, 2.4.1.3).
/// let sound = mpeg_audio::FORMAT.description(&[&[0xFF, 0xFD, 0x84, 0x00][..], &[0; 380]].concat())?;
/// let sound = Stream { format: &mpeg_audio::FORMAT, port: 5006, description: &sound };
/// let text = with_stream(&describe(&mpeg_video::FORMAT, [127, 0, 0, 1].into(), 5004, &[]), &sound);
/// assert!(text.ends_with("m=audio 5006 RTP/AVP 14\r\na=rtpmap:14 MPA/90000\r\n"));
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
pub fn with_stream(description: &str, stream: &Stream<'_>) -> String {
    let mut text = description.to_owned();
    put_media(stream, &mut text);
    text
}

/// What is said of one stream: `m=` (section 5.14), `a=rtpmap` (6.6) and `a=fmtp` (6.15).
fn put_media(stream: &Stream<'_>, text: &mut String) {
    let Stream { format, port, description } = stream;
    let (payload_type, name, rate) = (format.payload_type, format.encoding_name, description.clock_rate);
    let channels = description.channels.map_or(String::new(), |channels| format!("/{channels}"));
    let media = format.media.name();
    let lines =
        format!("m={media} {port} RTP/AVP {payload_type}\r\na=rtpmap:{payload_type} {name}/{rate}{channels}\r\n");
    text.push_str(&lines);
    if let Some(parameters) = &description.parameters {
        write!(text, "a=fmtp:{payload_type} {parameters}\r\n").expect("invariant: a string takes all");
    }
}

/// The same description of this session among all of its origin (section 5.2): no other one has its number.
///
/// ```
/// use framewire_wire::{rtp_payload::mpeg_video, sdp};
///
/// let text = sdp::describe(&mpeg_video::FORMAT, [127, 0, 0, 1].into(), 5004, &[]);
/// assert!(sdp::with_session(&text, 2_890_844_526).starts_with("v=0\r\no=- 2890844526 0 IN IP4 127.0.0.1\r\ns=framewire\r\n"));
/// ```
pub fn with_session(description: &str, number: u64) -> String {
    // o=<username> <sess-id> <sess-version> <nettype> <addrtype> <unicast-address>
    description.replacen("\no=- 0 ", &format!("\no=- {number} "), 1)
}

/// The same of a transport stream in RTP (RFC 2250, section 2; RFC 3551, table 5), which describes itself.
pub fn describe_transport_stream(address: IpAddr, port: u16) -> String {
    let kind = if address.is_ipv4() { "IP4" } else { "IP6" };
    let payload_type = mpeg_ts::PAYLOAD_TYPE;
    format!(
        "v=0\r\no=- 0 0 IN {kind} {address}\r\ns=framewire\r\nc=IN {kind} {address}\r\nt=0 0\r\n\
         m=video {port} RTP/AVP {payload_type}\r\na=rtpmap:{payload_type} MP2T/{CLOCK_RATE}\r\n"
    )
}

/// The same description with what RTCP may take of each of its streams, in their order (RFC 3556, section 2).
///
/// ```
/// use framewire_wire::{rtcp::RtcpBandwidth, rtp_payload::mpeg_video, sdp};
///
/// let text = sdp::describe(&mpeg_video::FORMAT, [127, 0, 0, 1].into(), 5004, &[]);
/// let text = sdp::with_rtcp_bandwidth(&text, [RtcpBandwidth::NONE]);
/// assert!(text.ends_with("m=video 5004 RTP/AVP 32\r\nb=RS:0\r\nb=RR:0\r\na=rtpmap:32 MPV/90000\r\n"));
/// ```
pub fn with_rtcp_bandwidth(description: &str, bandwidths: impl IntoIterator<Item = RtcpBandwidth>) -> String {
    let mut bandwidths = bandwidths.into_iter();
    let mut text = String::with_capacity(description.len() + 32);
    for line in description.split_inclusive('\n') {
        text.push_str(line);
        // RFC 8866, section 9: bandwidth stands before attributes, and here no stream has a line of its own between.
        if line.starts_with("m=") {
            text.extend(bandwidths.next().map(RtcpBandwidth::describe));
        }
    }
    text
}

/// Whether a stream can be received whose description has these parameters of its format (the value of `a=fmtp` behind the
/// payload type).
///
/// # Errors
/// When it is sent in a mode that is not received; with the parameter.
pub fn check_parameters(format: &PayloadFormat, parameters: &str) -> Result<(), String> {
    for parameter in parameters.split(';') {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
        let is_one_of = |allowed: &&[&str]| allowed.iter().any(|one| one.eq_ignore_ascii_case(value));
        if let Some(allowed) = format.allowed(&name).filter(|allowed| !is_one_of(allowed)) {
            return Err(format!("{name}={value}: {} is received", allowed.join(" or ")));
        }
    }
    Ok(())
}

/// What a description says that a session of RTP may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DescribedBandwidth {
    /// All of it (`b=AS`, RFC 8866, section 5.8).
    pub session: Option<Bitrate>,
    /// Reports of senders, in bit/s (`b=RS`, RFC 3556, section 2).
    pub senders: Option<u64>,
    /// The same of receivers (`b=RR`).
    pub receivers: Option<u64>,
}

/// More than any session takes, in bit/s: so no sum overflows.
const MOST_BANDWIDTH: u64 = 1_000_000_000_000;

impl DescribedBandwidth {
    /// What RTCP may take, of a session of `otherwise` where none is said.
    pub fn rtcp(self, otherwise: Bitrate) -> RtcpBandwidth {
        RtcpBandwidth::described(self.session.unwrap_or(otherwise), self.senders, self.receivers)
    }

    /// Takes a line, if it is one of bandwidth.
    fn read(&mut self, line: &str) {
        let Some((kind, value)) = line.strip_prefix("b=").and_then(|line| line.split_once(':')) else { return };
        let Ok(value) = value.trim().parse::<u64>() else { return };
        match kind {
            "AS" => self.session = Some(Bitrate::from_bps(value.saturating_mul(1_000).min(MOST_BANDWIDTH))),
            "RS" => self.senders = Some(value.min(MOST_BANDWIDTH)),
            "RR" => self.receivers = Some(value.min(MOST_BANDWIDTH)),
            _ => {}
        }
    }
}

/// What a description says of its first stream of video, or of sound, in RTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// The port to which it is sent; 0 where none is said.
    pub port: u16,
    /// The payload type of its packets.
    pub payload_type: u8,
    /// The name of its payload format.
    pub encoding_name: String,
    /// The parameters of that; empty where there are none.
    pub parameters: String,
    /// Ticks of the clock of its time stamps in a second, and its channels, where they are said (section 6.6).
    pub clock: Option<(u32, Option<u8>)>,
    /// What it may take: what is said of the whole description is of each of its streams.
    pub bandwidth: DescribedBandwidth,
}

/// Reads a description, as far as it is needed to receive its first stream of video.
///
/// # Errors
/// When there is none in RTP, or its payload format is not named.
pub fn read(text: &str) -> Result<Described, String> {
    read_first(text, "video")
}

/// The same of its first stream of sound.
///
/// # Errors
/// As [`read`].
pub fn read_sound(text: &str) -> Result<Described, String> {
    read_first(text, "audio")
}

fn read_first(text: &str, kind: &str) -> Result<Described, String> {
    let begins = |line: &str| line.strip_prefix("m=").is_some_and(|media| media.split(' ').next() == Some(kind));
    let mut lines = text.lines().map(str::trim_end).skip_while(|line| !begins(line));
    // m=<media> <port> <proto> <fmt> ... (section 5.14)
    let media = lines.next().ok_or_else(|| format!("it describes no {kind}"))?;
    let media: Vec<&str> = media.split(' ').collect();
    let [_, port, profile, number, ..] = media[..] else { return Err(format!("its line of {kind} is cut off")) };
    // A number of ports may stand behind it (section 5.14).
    let port = port.split('/').next().and_then(|port| port.parse().ok());
    let port: u16 = port.ok_or_else(|| format!("the port of its {kind} is none"))?;
    if !profile.starts_with("RTP/") {
        return Err(format!("{profile}: {kind} in RTP is received"));
    }
    let payload_type: u8 = number.parse().map_err(|_| format!("payload type \"{number}\""))?;
    let of_type = |line: &str, name: &str| {
        let rest = line.strip_prefix("a=")?.strip_prefix(name)?.strip_prefix(':')?.trim_start();
        let (of, value) = rest.split_once(' ')?;
        (of == number).then(|| value.trim().to_owned())
    };
    let (mut encoding_name, mut parameters) = (assigned_name(payload_type).map(str::to_owned), String::new());
    let (mut clock, mut bandwidth) = (None, DescribedBandwidth::default());
    text.lines().take_while(|line| !line.starts_with("m=")).for_each(|line| bandwidth.read(line));
    for line in lines.take_while(|line| !line.starts_with("m=")) {
        bandwidth.read(line);
        if let Some(map) = of_type(line, "rtpmap") {
            let mut parts = map.split('/');
            encoding_name = parts.next().map(str::to_owned);
            let rate = parts.next().and_then(|rate| rate.trim().parse().ok());
            clock = rate.map(|rate: u32| (rate, parts.next().and_then(|channels| channels.trim().parse().ok())));
        }
        parameters = of_type(line, "fmtp").unwrap_or(parameters);
    }
    let encoding_name = encoding_name.ok_or_else(|| format!("it does not say what payload type {payload_type} is"))?;
    Ok(Described { port, payload_type, encoding_name, parameters, clock, bandwidth })
}

/// The payload formats of video and sound that have types of their own (RFC 3551, table 5), as far as they are received.
fn assigned_name(payload_type: u8) -> Option<&'static str> {
    match payload_type {
        14 => Some("MPA"),
        32 => Some("MPV"),
        mpeg_ts::PAYLOAD_TYPE => Some("MP2T"),
        _ => None,
    }
}

impl Described {
    /// The parameter sets in it (RFC 6184, section 8.2.1; RFC 7798, section 7.2.1), in their order. What is no base 64 is left
    /// out.
    pub fn parameter_sets(&self) -> Vec<Vec<u8>> {
        const NAMES: [&str; 4] = ["sprop-vps", "sprop-sps", "sprop-pps", "sprop-parameter-sets"];
        let parameters: Vec<(&str, &str)> =
            self.parameters.split(';').filter_map(|one| one.trim().split_once('=')).collect();
        let named = |name| parameters.iter().filter(move |(key, _)| key.eq_ignore_ascii_case(name));
        let values = NAMES.iter().flat_map(|name| named(*name)).flat_map(|(_, value)| value.split(','));
        values.filter_map(|value| from_base64(value.trim())).filter(|set| !set.is_empty()).collect()
    }
}

/// What a text in base 64 stands for; `None` where it is none.
fn from_base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    let (mut bits, mut count) = (0u32, 0);
    for digit in digits.bytes() {
        let place = ALPHABET.iter().position(|one| *one == digit)?;
        (bits, count) = (bits << 6 | place as u32, count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    Some(bytes)
}

/// The digits of base 64 (RFC 4648, table 1).
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Base 64 (RFC 4648, section 4).
pub(crate) fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0u32, |bits, &byte| bits << 8 | u32::from(byte)) << (8 * (3 - group.len()));
        for place in 0..4 {
            let digit = ALPHABET[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= group.len() { digit.into() } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtp_payload::{h264, h265, mpeg_video};

    #[test]
    fn what_reports_may_take_is_read_of_the_stream_or_else_of_the_session() {
        let of = |session: &str, stream: &str| {
            let text = format!("v=0\r\n{session}m=audio 2 RTP/AVP 14\r\nb=RR:9\r\nm=video 4 RTP/AVP 32\r\n{stream}");
            let RtcpBandwidth { senders, receivers } = read(&text).unwrap().bandwidth.rtcp(Bitrate::from_kbps(1_000));
            (senders.as_bps(), receivers.as_bps())
        };
        assert_eq!(of("", ""), (12_500, 37_500), "5 %, of which senders have a quarter");
        assert_eq!(of("", "b=AS:2000\r\n"), (25_000, 75_000));
        assert_eq!(of("b=AS:2000\r\nb=RR:0\r\n", ""), (25_000, 0));
        assert_eq!(of("b=RR:0\r\nb=RS:7\r\n", "b=RR:800\r\n"), (7, 800));
        assert_eq!(of("", "b=RR:-1\r\nb=RS:\r\nb=X:1\r\nb=\r\n"), (12_500, 37_500), "what says nothing");
        let most = of("", &format!("b=AS:{0}\r\nb=RR:{0}\r\n", u64::MAX));
        assert_eq!(most, (12_500_000_000, 1_000_000_000_000), "what a stranger says has a bound");
    }

    #[test]
    fn what_others_describe_is_read_with_its_parameter_sets() {
        // As FFmpeg 5.1 writes it.
        let text = "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=No Name\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 5002 RTP/AVP 14\r\n\
                    m=video 5004 RTP/AVP 97\r\nb=AS:200\r\na=rtpmap:97 H264/90000\r\na=fmtp:97 packetization-mode=1; \
                    sprop-parameter-sets=Z2QAHg==,aOs=; profile-level-id=64001E\r\nm=video 5006 RTP/AVP 32\r\n";
        let described = read(text).unwrap();
        assert_eq!((described.payload_type, described.encoding_name.as_str()), (97, "H264"));
        assert_eq!(described.parameter_sets(), [vec![0x67, 0x64, 0, 0x1E], vec![0x68, 0xEB]]);
        let own = [0, 0, 0, 1, 0x40, 1, 7, 0, 0, 0, 1, 0x42, 1, 8, 0, 0, 0, 1, 0x44, 1, 9, 0, 0, 1, 0x26, 1, 0x80];
        let own = read(&describe(&h265::FORMAT, [10, 0, 0, 1].into(), 6000, &own)).unwrap();
        assert_eq!((own.encoding_name.as_str(), own.parameter_sets().len()), ("H265", 3));
        assert_eq!(own.parameter_sets()[0], [0x40, 1, 7], "VPS, SPS and PPS in this order");
        let sound = "m=video 1 RTP/AVP 32\r\nm=audio 2 RTP/AVP 98\r\na=rtpmap:98 mpeg4-generic/44100/2\r\n\
                     a=fmtp:98 mode=AAC-hbr;config=1210\r\n";
        let sound = read_sound(sound).unwrap();
        assert_eq!((sound.port, sound.payload_type, sound.clock), (2, 98, Some((44_100, Some(2)))));
        assert_eq!(
            (sound.encoding_name.as_str(), sound.parameters.as_str()),
            ("mpeg4-generic", "mode=AAC-hbr;config=1210")
        );
        assert_eq!(read_sound("m=audio 2 RTP/AVP 14").unwrap().encoding_name, "MPA");
        assert_eq!(read_sound("m=video 1 RTP/AVP 33"), Err("it describes no audio".to_owned()));
        assert_eq!(read("m=video 1 RTP/AVP 33").unwrap().encoding_name, "MP2T", "a type that needs no map");
    }

    #[test]
    fn what_is_no_description_of_video_in_rtp_is_refused() {
        for (text, reason) in [
            ("", "it describes no video"),
            ("m=audio 5004 RTP/AVP 14", "it describes no video"),
            ("m=video 5004", "cut off"),
            ("m=video 5004 udp 33", "video in RTP is received"),
            ("m=video 65536 RTP/AVP 32", "the port of its video is none"),
            ("m=video 5004 RTP/AVP 300", "payload type \"300\""),
            ("m=video 5004 RTP/AVP 96\r\na=rtpmap:97 H264/90000", "what payload type 96 is"),
        ] {
            let refused = read(text).unwrap_err();
            assert!(refused.contains(reason), "{text}: {refused}");
        }
    }

    #[test]
    fn base_64_is_that_of_the_test_vectors() {
        // RFC 4648, section 10.
        let vectors = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")];
        for (plain, coded) in vectors.into_iter().chain([("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy")]) {
            assert_eq!(base64(plain.as_bytes()), coded);
            assert_eq!(from_base64(coded).as_deref(), Some(plain.as_bytes()));
        }
        assert_eq!(base64(&[0xFB, 0xFF]), "+/8=");
    }

    #[test]
    fn parameter_sets_are_told_as_far_as_they_are_there() {
        let sets = [0, 0, 0, 1, 0x40, 1, 7, 0, 0, 0, 1, 0x42, 1, 8, 0, 0, 0, 1, 0x44, 1, 9, 0, 0, 1, 0x26, 1, 0x80];
        let text = describe(&h265::FORMAT, [10, 0, 0, 1].into(), 6000, &sets);
        assert!(text.contains("c=IN IP4 10.0.0.1\r\n") && text.contains("a=rtpmap:96 H265/90000\r\n"), "{text}");
        assert!(text.ends_with("a=fmtp:96 sprop-vps=QAEH;sprop-sps=QgEI;sprop-pps=RAEJ\r\n"), "{text}");
        let without = describe(&h265::FORMAT, [10, 0, 0, 1].into(), 6000, &[0, 0, 1, 0x26, 1, 0x80]);
        assert!(!without.contains("fmtp"), "{without}");
        let without = describe(&h264::FORMAT, std::net::Ipv6Addr::LOCALHOST.into(), 6000, &[0, 0, 1, 0x65, 0x88]);
        assert!(without.contains("c=IN IP6 ::1\r\n") && without.ends_with("a=fmtp:96 packetization-mode=1\r\n"));
        let mpeg = describe(&mpeg_video::FORMAT, [10, 0, 0, 1].into(), 6000, &[]);
        assert!(mpeg.ends_with("m=video 6000 RTP/AVP 32\r\na=rtpmap:32 MPV/90000\r\n"), "{mpeg}");
    }

    #[test]
    fn what_is_sent_in_modes_that_are_not_received_is_refused() {
        let refused = |format, parameters| check_parameters(format, parameters).unwrap_err();
        assert_eq!(check_parameters(&h264::FORMAT, "profile-level-id=42C01E; Packetization-Mode=0;x"), Ok(()));
        assert_eq!(refused(&h264::FORMAT, "packetization-mode=2"), "packetization-mode=2: 0 or 1 is received");
        assert_eq!(check_parameters(&h265::FORMAT, "sprop-max-don-diff=0; tx-mode=SRST"), Ok(()));
        assert!(refused(&h265::FORMAT, "sprop-vps=QAEH; sprop-max-don-diff=1").contains("sprop-max-don-diff=1: 0 is"));
        assert!(refused(&h265::FORMAT, "tx-mode=MRMT").contains("SRST"));
        assert_eq!(check_parameters(&mpeg_video::FORMAT, ""), Ok(()));
    }
}
