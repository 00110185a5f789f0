//! All clients, behind two sockets.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::thread;
use std::time::{Duration, Instant};

use framewire_adaptive::client::{Client, ClientEvent, ClientSettings};
use framewire_adaptive::datagram::Channel;
use framewire_sockets::{UdpOptions, UdpRead, UdpSocket};
use framewire_units::{DataSize, Lateness, Seed, Timestamp};
use framewire_wire::vtp::{Header, Packet, Title};

/// The clients are set up within this time, at random moments, as viewers come. At equal distances most would want
/// their packets at the same few moments of a packet time: two seconds for a thousand clients are a quarter of it.
const SET_UP: Duration = Duration::from_secs(2);

/// Packets among which the earliest is sought: a second of them.
const WINDOW: u32 = 125;

/// What the clients saw.
#[derive(Default)]
pub struct Seen {
    /// Whole frames.
    pub frames: u64,
    /// Frames lost.
    pub lost: u64,
    /// By how much packets arrived later than they would have at their pace.
    pub lateness: Lateness,
    ended: u64,
}

pub struct Audience {
    viewers: BTreeMap<u64, Viewer>,
    sockets: [UdpSocket; 2],
    server: [SocketAddr; 2],
    packet_time: Duration,
    seen: Seen,
}

struct Viewer {
    client: Client,
    pace: Pace,
}

impl Audience {
    /// So many clients of a server that sends each of them a packet each `packet_time`.
    pub fn new(count: u64, title: &Title, server: [SocketAddr; 2], packet_time: Duration) -> Self {
        let viewer = |session| {
            let client = Client::new(ClientSettings::paper(title.clone(), session));
            (session, Viewer { client, pace: Pace::default() })
        };
        let sockets = [(); 2].map(|()| {
            // A thousand viewers have a thousand sockets' room.
            let room = [Some(DataSize::from_bytes(64 << 20)), None].into_iter();
            let open = |receive_buffer| {
                let options = UdpOptions { receive_buffer, ..UdpOptions::default() };
                UdpSocket::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), &options).ok()
            };
            room.into_iter().find_map(open).expect("a socket")
        });
        let viewers = (1..=count).map(viewer).collect();
        Self { viewers, sockets, server, packet_time, seen: Seen::default() }
    }

    /// Views until every client has come to the end, or until `end`.
    pub fn view(mut self, end: Instant) -> Seen {
        let origin = Instant::now();
        let now = || Timestamp::from_secs(1) + origin.elapsed();
        let mut buffer = vec![0; 65_536];
        let sessions: Vec<u64> = self.viewers.keys().copied().collect();
        let mut arrivals: Vec<Duration> =
            sessions.iter().map(|&session| SET_UP.mul_f64(Seed(1).stream("arrival", &[session]).next_f64())).collect();
        arrivals.sort_unstable();
        let mut begun = 0;
        let mut next_look = Timestamp::ZERO;
        while (self.seen.ended as usize) < sessions.len() && Instant::now() < end {
            while begun < sessions.len() && arrivals[begun] <= origin.elapsed() {
                self.act(now(), sessions[begun]);
                begun += 1;
            }
            if !self.receive(&now, &mut buffer) && begun == sessions.len() {
                thread::sleep(Duration::from_micros(200));
            }
            if now() >= next_look {
                next_look = now() + Duration::from_millis(50);
                for &session in &sessions[..begun] {
                    let is_due = self.viewers[&session].client.next_timeout().is_some_and(|at| at <= now());
                    if is_due {
                        self.act(now(), session);
                    }
                }
            }
        }
        self.seen
    }

    fn receive(&mut self, now: &impl Fn() -> Timestamp, buffer: &mut [u8]) -> bool {
        let mut any = false;
        for (place, channel) in Channel::BOTH.into_iter().enumerate() {
            for _ in 0..256 {
                let Ok(UdpRead::Datagram { length, realtime_nanos, .. }) = self.sockets[place].receive(buffer) else {
                    break;
                };
                any = true;
                self.take(now(), channel, realtime_nanos, &buffer[..length]);
            }
        }
        any
    }

    fn take(&mut self, now: Timestamp, channel: Channel, stamp: Option<u64>, datagram: &[u8]) {
        let Ok((header, _)) = Header::parse(datagram) else { return };
        let Some(viewer) = self.viewers.get_mut(&header.session) else { return };
        if let (Ok(Packet::Video(video, _)), Some(stamp)) = (Packet::parse(datagram), stamp)
            && let Some(late) = viewer.pace.late(video.sequence, stamp, self.packet_time)
        {
            self.seen.lateness.add(late);
        }
        viewer.client.handle_datagram(now, channel, datagram);
        self.act(now, header.session);
    }

    fn act(&mut self, now: Timestamp, session: u64) {
        let client = &mut self.viewers.get_mut(&session).expect("a client").client;
        while let Some(sent) = client.poll_transmit(now) {
            let place = usize::from(sent.channel == Channel::Control);
            let _ = self.sockets[place].send_to(&sent.bytes, self.server[place]);
        }
        while let Some(event) = client.poll_event() {
            match event {
                ClientEvent::FrameComplete(_) => self.seen.frames += 1,
                ClientEvent::FramesLost { count, .. } => self.seen.lost += u64::from(count),
                ClientEvent::Ended(_) => self.seen.ended += 1,
                _ => {}
            }
        }
    }
}

/// When the packets of a session would arrive that never is late.
#[derive(Default)]
struct Pace {
    /// The earliest arrival of this window and of the one before, each moved to the place of packet 0.
    earliest: [Option<u64>; 2],
}

impl Pace {
    /// How late a packet is; `None` for the first one, which gives no value.
    fn late(&mut self, sequence: u32, stamp: u64, packet_time: Duration) -> Option<Duration> {
        if sequence.is_multiple_of(WINDOW) {
            self.earliest = [None, self.earliest[0]];
        }
        let at_zero = stamp.checked_sub(packet_time.as_nanos() as u64 * u64::from(sequence))?;
        let before = self.earliest.iter().flatten().min().copied();
        self.earliest[0] = Some(self.earliest[0].map_or(at_zero, |earliest| earliest.min(at_zero)));
        Some(Duration::from_nanos(at_zero.saturating_sub(before?)))
    }
}
