//! Operations on the server's half of a session: hostile and honest datagrams from any address at any time. The rate
//! stays within the plan, nothing grows, and a client that has proved nothing gets no more than was sent in its name.

use std::net::SocketAddr;

use framewire_adaptive::datagram::Channel;
use framewire_adaptive::server::{Server, ServerSettings};
use framewire_adaptive::vtp::{VtpController, VtpSettings};
use framewire_units::{DataSize, Timestamp};
use framewire_wire::vtp::{
    ControlPacket, Features, Missing, MissingRange, Offer, Packet, Reason, Request, Secret, Start, Teardown, Title,
};

use crate::movie::MOVIE;

const SESSION: u64 = 7;

fn bytes(packet: &Packet<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    packet.emit(&mut bytes);
    bytes
}

pub(crate) fn run(data: &[u8]) {
    let title = Title::new("m").expect("invariant: a short title");
    let (source, plan) = &*MOVIE;
    let controller = VtpController::new(VtpSettings::paper()).expect("invariant: the paper's settings are in range");
    let repeats = data.first().is_some_and(|first| first & 16 == 16);
    let settings = ServerSettings { repeats, ..ServerSettings::paper(title.clone(), Secret::new([1; 32])) };
    let mut server = Server::new(source.clone(), plan.clone(), Box::new(controller), settings)
        .expect("invariant: movie and plan fit");
    let mut now = Timestamp::from_secs(100);
    let mut cookies = [None; 2];
    // Departures of the requests for control packets.
    let mut asked: Vec<(u32, Timestamp)> = Vec::new();
    let (mut report, mut list, mut next) = (0, 0, 0u32);
    // What was sent again.
    let mut repeated = std::collections::BTreeSet::new();
    let mut rest = data;
    while let [operation, a, b, c, tail @ ..] = rest {
        rest = tail;
        let channel = Channel::BOTH[usize::from(operation >> 7)];
        let from = SocketAddr::from(([192, 0, 2, 1 + (operation >> 6 & 1)], 5_000 + channel as u16));
        let number = u32::from_be_bytes([0, *a, *b, *c]);
        let mut datagram = match operation % 8 {
            0 => bytes(&Packet::Request(Request { session: SESSION, title: title.clone() })),
            1 => match cookies[channel as usize] {
                Some(cookie) => bytes(&Packet::Start(Start { session: SESSION, title: title.clone(), cookie })),
                None => continue,
            },
            2 | 3 => {
                let (sequence, sender_time) = match asked.len() {
                    0 => (number, now),
                    open => asked[usize::from(*a) % open],
                };
                report += u32::from(b % 3);
                bytes(&Packet::Control(ControlPacket {
                    session: SESSION,
                    sequence,
                    sender_time,
                    receiver_time: Timestamp::from_millis(u64::from(number)),
                    size: DataSize::from_bytes(u64::from(*c) * 100),
                    report,
                    first_arrival: Timestamp::from_millis(u64::from(number) - u64::from(number % 97)),
                    packets: u32::from(c % 7),
                    buffer_free: None,
                }))
            }
            4 if operation & 8 == 0 => {
                bytes(&Packet::Teardown(Teardown { session: SESSION, reason: Reason::Acknowledged }))
            }
            4 if *a > 128 => bytes(&Packet::Offer(Offer { session: SESSION, features: Features(u32::from(*b)) })),
            4 => {
                list += u32::from(a % 3);
                let back = u16::from(*b).max(1);
                let ranges = vec![MissingRange { back, count: u16::from(*c).clamp(1, back) }];
                let next = next.wrapping_sub(u32::from(a % 8));
                bytes(&Packet::Missing(Missing {
                    session: SESSION,
                    report: list,
                    next,
                    shown: i64::from(*c) << 24,
                    ranges,
                }))
            }
            5 => {
                let (raw, next) = tail.split_at(tail.len().min(usize::from(*a)));
                rest = next;
                raw.to_vec()
            }
            6 => {
                now += framewire_units::Duration::from_micros(u64::from(number));
                Vec::new()
            }
            _ => {
                now = Timestamp::from_millis(u64::from(number) * 100);
                Vec::new()
            }
        };
        if operation & 0x30 == 0x30 && !datagram.is_empty() {
            let place = usize::from(*b) % datagram.len();
            datagram[place] ^= c;
        }
        let started = server.state().decision.is_some();
        if !datagram.is_empty() {
            server.handle_datagram(now, channel, from, &datagram);
        }
        let (mut answers, mut answered) = (0, 0);
        while let Some(transmit) = server.poll_transmit(now) {
            answers += 1;
            answered += transmit.bytes.len();
            match Packet::parse(&transmit.bytes) {
                Ok(Packet::Description(description)) => cookies[transmit.channel as usize] = Some(description.cookie),
                Ok(Packet::Video(header, _)) => {
                    next = header.sequence.wrapping_add(1);
                    if let Some(again) = header.repeats {
                        assert!(repeats && again < header.sequence && repeated.insert(again), "{again} again");
                    }
                    if !header.ack_request {
                        continue;
                    }
                    asked.push((header.sequence, header.sender_time));
                    if asked.len() > 8 {
                        asked.remove(0);
                    }
                }
                Ok(_) => {}
                Err(error) => panic!("{error}"),
            }
        }
        assert!(answers <= 64, "{answers} datagrams at one moment");
        let state = server.state();
        if !started && state.decision.is_none() {
            assert!(answered <= datagram.len());
        }
        if let Some(decision) = state.decision {
            let cap = state.plan.iter().max().copied().unwrap_or_default();
            assert!(decision.rate >= state.plan[0] && decision.rate <= cap);
            assert!(decision.level < 3);
        }
        while server.poll_event().is_some() {}
    }
}
