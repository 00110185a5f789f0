//! RTCP as Wireshark reads it, and between a participant of ours and GStreamer's.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test against other programs needs sockets and time"
)]

use std::net::{Ipv4Addr, UdpSocket};
use std::process::{Command, Stdio};
use std::sync::PoisonError;
use std::time::Instant;

use framewire_units::{Bitrate, Duration, Seed, Timestamp};
use framewire_wire::rtcp::{
    Compound, Event, NtpTime, Participant, Report, ReportBlock, RtcpBandwidth, SenderInfo, Settings,
};
use framewire_wire::rtp::RtpHeader;

use crate::dissector::number;
use crate::interop::ONE_AT_A_TIME;
use crate::support::capture::{PORT, write_capture};
use crate::support::programs::{Running, Scratch, are_there, free_port_pair, wait_until_bound};

const FIELDS: [&str; 17] = [
    "rtcp.pt",
    "rtcp.senderssrc",
    "rtcp.timestamp.ntp.msw",
    "rtcp.timestamp.ntp.lsw",
    "rtcp.timestamp.rtp",
    "rtcp.sender.packetcount",
    "rtcp.sender.octetcount",
    "rtcp.ssrc.fraction",
    "rtcp.ssrc.cum_nr",
    "rtcp.ssrc.ext_high",
    "rtcp.ssrc.jitter",
    "rtcp.ssrc.lsr",
    "rtcp.ssrc.dlsr",
    "rtcp.sdes.text",
    "rtcp.ssrc.identifier",
    "rtcp.length_check",
    "_ws.malformed",
];

/// A round trip over loopback takes less, also where the machine is busy.
const SOON: Duration = Duration::from_secs(1);

/// Numbers that stand for themselves: each field of each packet has another one.
fn compound(seed: u32) -> Compound {
    let value = |place: u32| seed.wrapping_mul(0x9E37_79B9) ^ place.wrapping_mul(0x85EB_CA6B);
    let block = |place: u32| ReportBlock {
        ssrc: value(place),
        fraction_lost: value(place + 1) as u8,
        lost: (value(place + 2) << 8) as i32 >> 8,
        highest_sequence: value(place + 3),
        jitter: value(place + 4),
        last_report: value(place + 5),
        delay: value(place + 6),
    };
    let sender = SenderInfo {
        ntp: NtpTime(u64::from(value(1)) << 32 | u64::from(value(2))),
        rtp_timestamp: value(3),
        packets: value(4),
        octets: value(5),
    };
    let blocks = (0..seed % 4).map(|number| block(10 + number * 10)).collect();
    let report = Report { ssrc: value(0), sender: seed.is_multiple_of(2).then_some(sender), blocks };
    let leaving = if seed.is_multiple_of(3) { vec![value(0)] } else { vec![] };
    Compound { names: vec![(value(0), format!("{seed}@example.org"))], reports: vec![report], leaving, skipped: 0 }
}

/// The fields as Wireshark should print them.
fn expected(compound: &Compound) -> Vec<Vec<String>> {
    let report = &compound.reports[0];
    let of_sender = |field: fn(SenderInfo) -> u64| report.sender.map(field).into_iter().collect::<Vec<_>>();
    let of_blocks = |field: fn(&ReportBlock) -> u64| report.blocks.iter().map(field).collect::<Vec<_>>();
    let mut types = vec![if report.sender.is_some() { 200 } else { 201 }, 202];
    types.extend(compound.leaving.iter().map(|_| 203));
    let mut sources = of_blocks(|block| block.ssrc.into());
    sources.push(report.ssrc.into());
    sources.extend(compound.leaving.iter().map(|&ssrc| u64::from(ssrc)));
    let numbers = [
        types,
        vec![report.ssrc.into()],
        of_sender(|sender| sender.ntp.0 >> 32),
        of_sender(|sender| sender.ntp.0 & 0xFFFF_FFFF),
        of_sender(|sender| sender.rtp_timestamp.into()),
        of_sender(|sender| sender.packets.into()),
        of_sender(|sender| sender.octets.into()),
        of_blocks(|block| block.fraction_lost.into()),
        of_blocks(|block| block.lost as u64 & 0xFF_FFFF),
        of_blocks(|block| block.highest_sequence.into()),
        of_blocks(|block| block.jitter.into()),
        of_blocks(|block| block.last_report.into()),
        of_blocks(|block| block.delay.into()),
    ];
    let words = |numbers: &Vec<u64>| numbers.iter().map(u64::to_string).collect();
    let mut fields: Vec<Vec<String>> = numbers.iter().map(words).collect();
    fields.push(vec![compound.names[0].1.clone()]);
    fields.push(words(&sources));
    fields.extend([vec!["1".to_owned()], vec![]]);
    fields
}

#[test]
fn wireshark_reads_reports_as_they_were_meant() {
    if !are_there(&["tshark"]) {
        return;
    }
    let compounds: Vec<Compound> = (1..60).map(compound).collect();
    let scratch = Scratch::new("rtcp-dissector");
    let capture = scratch.file("reports.pcap");
    write_capture(&capture, compounds.iter().map(|compound| compound.emit().unwrap()));
    let mut command = Command::new("tshark");
    command.args(["-d", &format!("udp.port=={PORT},rtcp"), "-T", "fields", "-E", "separator=;", "-r"]).arg(&capture);
    command.args(FIELDS.iter().flat_map(|field| ["-e", field]));
    let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert_eq!(text.lines().count(), compounds.len());
    for (line, compound) in text.lines().zip(&compounds) {
        let mut read: Vec<Vec<String>> = line
            .split(';')
            .map(|field| field.split(',').filter(|text| !text.is_empty()).map(str::to_owned).collect())
            .collect();
        let texts = FIELDS.iter().position(|&field| field == "rtcp.sdes.text").unwrap();
        for (_, field) in read.iter_mut().enumerate().filter(|(index, _)| *index != texts) {
            field.iter_mut().for_each(|text| *text = signed(text).to_string());
        }
        assert_eq!(read, expected(compound), "{compound:?}");
    }
}

/// A number, a negative one as its lower 24 bits.
fn signed(text: &str) -> u64 {
    text.parse::<i64>()
        .map_or_else(|_| number(text), |number| if number < 0 { number as u64 & 0xFF_FFFF } else { number as u64 })
}

/// A participant of ours with sockets, of which the ports are RTP's and RTCP's.
struct Here {
    participant: Participant,
    start: Instant,
    rtp: UdpSocket,
    rtcp: UdpSocket,
}

impl Here {
    fn new(ssrc: u32) -> Self {
        let bandwidth = RtcpBandwidth::of_session(Bitrate::from_mbps(1));
        let name = "here".to_owned();
        let settings = Settings { ssrc, name, clock_rate: 8_000, bandwidth, ..Settings::default() };
        let participant = Participant::new(settings, Timestamp::ZERO, Seed(1).stream("rtcp", &[ssrc.into()])).unwrap();
        let port = free_port_pair();
        let bind = |port| {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
            socket.set_nonblocking(true).unwrap();
            socket
        };
        Self { participant, start: Instant::now(), rtp: bind(port), rtcp: bind(port + 1) }
    }

    fn now(&self) -> Timestamp {
        Timestamp::ZERO + self.start.elapsed()
    }

    fn port(&self) -> u16 {
        self.rtp.local_addr().unwrap().port()
    }

    /// Takes what came, and sends reports to the port.
    fn exchange(&mut self, to: u16) -> Vec<Event> {
        let (now, mut buffer) = (self.now(), [0; 2_000]);
        while let Ok(length) = self.rtp.recv(&mut buffer) {
            let (header, _) = RtpHeader::parse(&buffer[..length]).unwrap();
            self.participant.handle_rtp(now, &header);
        }
        while let Ok(length) = self.rtcp.recv(&mut buffer) {
            self.participant.handle_rtcp(now, &buffer[..length]).unwrap();
        }
        while let Some(report) = self.participant.poll_transmit(now) {
            self.rtcp.send_to(&report, (Ipv4Addr::LOCALHOST, to)).unwrap();
        }
        std::iter::from_fn(|| self.participant.poll_event()).collect()
    }
}

/// A packet of silence: 160 bytes of PCMU (RFC 3551, section 4.5.14), 20 ms.
fn silence(number: u32) -> Vec<u8> {
    let mut packet = vec![0x80, 0];
    packet.extend((number as u16).to_be_bytes());
    packet.extend((number * 160).to_be_bytes());
    packet.extend(7u32.to_be_bytes());
    packet.resize(172, 0xFF);
    packet
}

#[test]
fn gstreamer_reports_what_we_lost_and_how_long_the_way_is() {
    if !are_there(&["gst-launch-1.0"]) {
        return;
    }
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut here = Here::new(7);
    let there = free_port_pair();
    let caps = "caps=application/x-rtp,media=audio,clock-rate=8000,encoding-name=PCMU,payload=0";
    let mut command = Command::new("gst-launch-1.0");
    command.args(["-q", "rtpbin", "name=bin", "udpsrc", "address=127.0.0.1", &format!("port={there}"), caps, "!"]);
    command.args(["bin.recv_rtp_sink_0", "bin.", "!", "rtppcmudepay", "!", "fakesink"]);
    command.args(["udpsrc", "address=127.0.0.1", &format!("port={}", there + 1), "!", "bin.recv_rtcp_sink_0"]);
    command.args(["bin.send_rtcp_src_0", "!", "udpsink", "host=127.0.0.1", "sync=false", "async=false"]);
    command.arg(format!("port={}", here.port() + 1));
    let _gstreamer = Running::start(&mut command);
    wait_until_bound(there);
    wait_until_bound(there + 1);
    here.start = Instant::now();
    let (mut reports, mut sent, mut next) = (Vec::new(), Vec::new(), 0);
    while here.now() < Timestamp::from_secs(16) {
        let now = here.now();
        if now >= Timestamp::from_millis(20 * u64::from(next)) {
            // Of ten packets one is lost on its way.
            if next % 10 != 5 {
                here.rtp.send_to(&silence(next), (Ipv4Addr::LOCALHOST, there)).unwrap();
            }
            here.participant.handle_rtp_sent(now, next * 160, 160);
            sent.push(next);
            next += 1;
        }
        reports.extend(here.exchange(there + 1));
        std::thread::sleep(Duration::from_millis(1));
    }
    let blocks: Vec<_> = reports
        .iter()
        .filter_map(|event| match event {
            Event::Report { block, round_trip, .. } => Some((*block, *round_trip)),
            _ => None,
        })
        .collect();
    assert!((2..=9).contains(&blocks.len()), "{reports:?}");
    for (block, _) in &blocks {
        // What it expected is from the first or second packet to the highest; one in ten of that did not come.
        let highest = i64::from(block.highest_sequence);
        let lost = (highest + 5) / 10;
        assert!((lost - 1..=lost + 1).contains(&i64::from(block.lost)), "{block:?}");
        assert!((15..=36).contains(&block.fraction_lost), "a tenth is 25: {block:?}");
    }
    let round_trips: Vec<_> = blocks.iter().filter_map(|(_, round_trip)| *round_trip).collect();
    assert!(!round_trips.is_empty() && round_trips.iter().all(|time| *time < SOON), "{round_trips:?}");
}

#[test]
fn what_gstreamer_sends_is_told_and_it_takes_our_reports() {
    if !are_there(&["gst-launch-1.0"]) {
        return;
    }
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let scratch = Scratch::new("rtcp-gstreamer");
    let log = scratch.file("log");
    let mut here = Here::new(9);
    let there = free_port_pair();
    let mut command = Command::new("gst-launch-1.0");
    command.args(["-q", "rtpbin", "name=bin", "audiotestsrc", "is-live=true", "!", "mulawenc", "!", "rtppcmupay", "!"]);
    command.args(["bin.send_rtp_sink_0", "bin.send_rtp_src_0", "!", "udpsink", "host=127.0.0.1"]);
    command.args([&format!("port={}", here.port()), "bin.send_rtcp_src_0", "!", "udpsink", "host=127.0.0.1"]);
    command.args([&format!("port={}", here.port() + 1), "sync=false", "async=false"]);
    command.args(["udpsrc", "address=127.0.0.1", &format!("port={}", there + 1), "!", "bin.recv_rtcp_sink_0"]);
    command.env("GST_DEBUG", "rtpsource:7,rtpsession:5").env("GST_DEBUG_NO_COLOR", "1").env("GST_DEBUG_FILE", &log);
    command.stderr(Stdio::null());
    let _gstreamer = Running::start(&mut command);
    let (mut packets, mut events) = (0u32, Vec::new());
    while here.now() < Timestamp::from_secs(14) {
        let mut buffer = [0; 2_000];
        while let Ok(length) = here.rtp.recv(&mut buffer) {
            let (header, _) = RtpHeader::parse(&buffer[..length]).unwrap();
            here.participant.handle_rtp(here.now(), &header);
            packets += 1;
        }
        for event in here.exchange(there + 1) {
            events.push((packets, event));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let senders: Vec<_> = events
        .iter()
        .filter_map(|(packets, event)| match event {
            Event::Sender { info, .. } => Some((*packets, info.packets)),
            _ => None,
        })
        .collect();
    assert!(!senders.is_empty(), "{events:?}");
    assert!(senders.iter().all(|(received, sent)| received.abs_diff(*sent) <= 1), "{senders:?}");
    let log = std::fs::read_to_string(&log).unwrap();
    let of =
        |words: &str| log.lines().filter_map(|line| Some(line.split_once(words)?.1.to_owned())).collect::<Vec<_>>();
    let blocks = of("got RB packet: SSRC 00000009, ");
    assert!((2..=9).contains(&blocks.len()), "{blocks:?}");
    assert!(blocks.iter().all(|block| block.starts_with("FL  0, PL 0, HS ")), "{blocks:?}");
    let round_trips = of("round trip ");
    let units = |text: &String| u32::from_str_radix(&text.trim().replace(':', ""), 16).unwrap();
    assert!(!round_trips.is_empty(), "it knows the report of its own that ours answers");
    assert!(
        round_trips.iter().map(units).all(|units| Duration::from_secs(units.into()) / 65_536 < SOON),
        "{round_trips:?}"
    );
}
