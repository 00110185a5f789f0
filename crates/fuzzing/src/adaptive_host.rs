//! Operations on a host of several sessions: hostile and honest datagrams from many addresses, under any session's
//! name, on a clock that jumps. There are never more sessions than allowed, a poll comes to its end, who has proved
//! nothing gets no more than was sent in its name, and no client is asked to come back for nothing.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use framewire_adaptive::controller::Controller;
use framewire_adaptive::datagram::Channel;
use framewire_adaptive::host::Host;
use framewire_adaptive::server::ServerSettings;
use framewire_adaptive::vtp::{VtpController, VtpSettings};
use framewire_units::{DataSize, Duration, Timestamp};
use framewire_wire::vtp::{ControlPacket, Cookie, Packet, Reason, Request, Secret, Start, Teardown, Title};

use crate::movie::MOVIE;

/// Sessions at a time.
const MOST: usize = 3;

/// What the clients have learnt.
#[derive(Default)]
struct Learnt {
    cookies: BTreeMap<SocketAddr, Cookie>,
    /// Of each session, the departure of the last request for a control packet.
    asked: BTreeMap<u64, (u32, Timestamp)>,
    report: u32,
}

fn bytes(packet: &Packet<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    packet.emit(&mut bytes);
    bytes
}

fn title() -> Title {
    Title::new("m").expect("invariant: a short title")
}

fn host() -> Host {
    let (source, plan) = &*MOVIE;
    let make = || {
        let controller =
            VtpController::new(VtpSettings::paper()).expect("invariant: the paper's settings are in range");
        Box::new(controller) as Box<dyn Controller>
    };
    let settings = ServerSettings::paper(title(), Secret::new([1; 32]));
    Host::new(source.clone(), plan.clone(), Box::new(make), settings, MOST).expect("invariant: movie and plan fit")
}

/// The datagram of an operation; `None` where it is none.
fn datagram(
    operation: u8,
    session: u64,
    from: SocketAddr,
    number: u32,
    now: Timestamp,
    learnt: &mut Learnt,
) -> Option<Vec<u8>> {
    Some(match operation % 8 {
        0 => bytes(&Packet::Request(Request { session, title: title() })),
        1 => {
            let cookie = learnt.cookies.get(&from).copied().unwrap_or(Cookie([0; 16]));
            bytes(&Packet::Start(Start { session, title: title(), cookie }))
        }
        2 | 3 => {
            let (sequence, sender_time) = learnt.asked.get(&session).copied().unwrap_or((number, now));
            learnt.report += number % 3;
            bytes(&Packet::Control(ControlPacket {
                session,
                sequence,
                sender_time,
                receiver_time: Timestamp::from_millis(u64::from(number)),
                size: DataSize::from_bytes(u64::from(number % 256) * 100),
                report: learnt.report,
                first_arrival: Timestamp::from_millis(u64::from(number) - u64::from(number % 97)),
                packets: number % 7,
                buffer_free: None,
            }))
        }
        4 => {
            let reason = if number.is_multiple_of(2) { Reason::Acknowledged } else { Reason::Stopped };
            bytes(&Packet::Teardown(Teardown { session, reason }))
        }
        _ => return None,
    })
}

pub(crate) fn run(data: &[u8]) {
    let mut host = host();
    let mut learnt = Learnt::default();
    let mut now = Timestamp::from_secs(100);
    let mut rest = data;
    while let [operation, who, a, b, tail @ ..] = rest {
        rest = tail;
        let channel = Channel::BOTH[usize::from(operation >> 7)];
        let from = SocketAddr::from(([192, 0, 2, who & 7], 5_000 + channel as u16));
        let session = u64::from(who >> 3 & 7);
        let number = u32::from_be_bytes([0, 0, *a, *b]) + 100;
        let mut sent = datagram(*operation, session, from, number, now, &mut learnt).unwrap_or_default();
        match operation % 8 {
            5 => {
                let (raw, next) = tail.split_at(tail.len().min(usize::from(*a)));
                rest = next;
                sent = raw.to_vec();
            }
            6 => now += Duration::from_micros(u64::from(number) * 10),
            7 => now = Timestamp::from_millis(u64::from(number) * 10),
            _ => {}
        }
        if operation & 0x30 == 0x30 && !sent.is_empty() {
            let place = usize::from(*b) % sent.len();
            sent[place] ^= a;
        }
        let before = host.sessions();
        if !sent.is_empty() {
            host.handle_datagram(now, channel, from, &sent);
        }
        let (mut answers, mut answered) = (0, 0);
        while let Some(transmit) = host.poll_transmit(now) {
            answers += 1;
            answered += transmit.bytes.len();
            assert!(transmit.due.is_none_or(|due| due <= now));
            match Packet::parse(&transmit.bytes) {
                Ok(Packet::Description(description)) => {
                    learnt.cookies.insert(transmit.to, description.cookie);
                }
                Ok(Packet::Video(header, _)) if header.ack_request => {
                    learnt.asked.insert(header.session, (header.sequence, header.sender_time));
                }
                Ok(_) => {}
                Err(error) => panic!("{error}"),
            }
        }
        assert!(answers <= 64 * (MOST + 1), "{answers} datagrams at one moment");
        assert!(host.sessions() <= MOST);
        if before == 0 && host.sessions() == 0 {
            assert!(answered <= sent.len(), "{answered} bytes for {}", sent.len());
        }
        assert!(host.next_timeout().is_none_or(|next| next > now), "{:?} at {now}", host.next_timeout());
        assert!(host.sessions() > 0 || host.next_timeout().is_none());
        while host.poll_event().is_some() {}
    }
}
