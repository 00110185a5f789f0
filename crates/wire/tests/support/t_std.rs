//! The decoder of ISO/IEC 13818-1 by which a transport stream is judged, the T-STD (2.4.2, 2.14.3.1): every byte arrives when the
//! clock says, goes through its buffers at their rates, and is gone when its unit is decoded. It shares nothing with the
//! multiplexer but the reading of packets.

use std::collections::{BTreeMap, VecDeque};

use framewire_wire::mpeg_ts::{NULL_PID, PACKET_LENGTH, Packet};

/// What a stream is found to do wrong, and how often: `B of 0x101 overflows`.
pub type Faults = BTreeMap<String, u64>;

/// Sizes in bytes and rates in bit/s of the buffers of one track (2.4.2.3); all transport buffers have 512 bytes.
#[derive(Clone, Copy, Debug)]
pub struct Buffers {
    /// Rx_n.
    pub leak: f64,
    /// MB_n, B_n of audio, B_sys.
    pub main: usize,
    /// Rbx_n and EB_n of video; of sections Rbx_sys and nothing.
    pub next: Option<(f64, Option<usize>)>,
    /// How long data stay at most (2.4.2.6, 2.14.3.1), in seconds.
    pub stay: f64,
}

const TRANSPORT_BUFFER: usize = 512;

impl Buffers {
    /// Audio of one or two channels.
    pub fn of_audio() -> Self {
        Self { leak: 2e6, main: 3_584, next: None, stay: 1.0 }
    }

    /// AAC of three to eight channels.
    pub fn of_surround() -> Self {
        Self { leak: 5_529_600.0, main: 8_976, next: None, stay: 1.0 }
    }

    /// MPEG-2 of the main profile at the low or the main level, with the VBV buffer of its sequence header, by the leak method
    /// of 2.4.2.3.
    pub fn of_mpeg2(stream: &[u8]) -> Self {
        let at = |code: u8| stream.windows(4).position(|four| four == [0, 0, 1, code]).expect("a header");
        let (header, extension) = (&stream[at(0xB3) + 4..], &stream[at(0xB5) + 4..]);
        let (rate, largest) = match (extension[0] & 7, extension[1] >> 4) {
            (4, 8) => (15e6, 1_835_008),
            (4, 10) => (4e6, 475_136),
            other => panic!("profile and level {other:?}"),
        };
        let vbv = 16_384 * (usize::from(header[6] & 0x1F) << 5 | usize::from(header[7] >> 3));
        let multiplex = (rate * (0.004 + 1.0 / 750.0)) as usize;
        let main = (multiplex + largest - vbv) / 8;
        Self { leak: 1.2 * rate, main, next: Some((rate, Some(vbv / 8))), stay: 1.0 }
    }

    /// H.264 by the level of its sequence parameter set, with the largest buffer of that: a stream without HRD parameters.
    pub fn of_h264(stream: &[u8]) -> Self {
        let at = stream.windows(4).position(|four| four[..3] == [0, 0, 1] && four[3] & 0x1F == 7).expect("parameters");
        // MaxBR and MaxCPB (ISO/IEC 14496-10, table A-1).
        let (rate, largest) = match stream[at + 6] {
            12 => (384.0, 1_000),
            13 => (768.0, 2_000),
            20 => (2_000.0, 2_000),
            21 | 22 => (4_000.0, 4_000),
            30 => (10_000.0, 10_000),
            31 => (14_000.0, 14_000),
            40 => (20_000.0, 25_000),
            other => panic!("level {other}"),
        };
        let rate = 1_200.0 * rate;
        let main = (f64::max(rate, 2e6) * (0.004 + 1.0 / 750.0)) as usize / 8;
        Self { leak: rate, main, next: Some((rate, Some(1_200 * largest / 8))), stay: 10.0 }
    }

    fn of_sections(rate: f64) -> Self {
        Self { leak: 1e6, main: 1_536, next: Some((f64::max(80e3, rate * 8.0 / 500.0), None)), stay: 1.0 }
    }
}

/// What a byte is: `None` of a packet's header, which goes no further than the transport buffer; of the header of a PES
/// packet or not, and of which unit.
type Byte = Option<(bool, usize)>;

/// When a unit is decoded, and its bytes with and without the header.
type Decoded = (f64, usize, usize);

struct Track {
    name: String,
    buffers: Buffers,
    units: Vec<Decoded>,
    transport: VecDeque<Byte>,
    main: VecDeque<(bool, usize)>,
    elementary: usize,
    /// Bytes of each unit that came into the last buffer.
    came: Vec<usize>,
    arrived: Vec<Option<f64>>,
    decoded: usize,
    transport_at: f64,
    main_at: f64,
    empty_at: f64,
    faults: Faults,
}

impl Track {
    fn new(name: String, buffers: Buffers, units: Vec<Decoded>) -> Self {
        let count = units.len();
        Self {
            name,
            buffers,
            units,
            transport: VecDeque::new(),
            main: VecDeque::new(),
            elementary: 0,
            came: vec![0; count],
            arrived: vec![None; count],
            decoded: 0,
            transport_at: 0.0,
            main_at: 0.0,
            empty_at: f64::NEG_INFINITY,
            faults: Faults::new(),
        }
    }

    fn fault(&mut self, buffer: &str, what: &str) {
        *self.faults.entry(format!("{buffer} of {} {what}", self.name)).or_default() += 1;
    }

    fn arrive(&mut self, now: f64, byte: Byte) {
        self.pass(now);
        if self.transport.is_empty() {
            (self.transport_at, self.empty_at) = (now, now);
        } else if now - self.empty_at > 1.0 {
            self.empty_at = now;
            self.fault("TB", "is not empty once in a second");
        }
        if let Some((_, unit)) = byte {
            let arrived = *self.arrived[unit].get_or_insert(now);
            if self.units[unit].0 - arrived > self.buffers.stay {
                self.arrived[unit] = Some(f64::INFINITY);
                let what = format!("stays more than {} s", self.buffers.stay);
                self.fault("data", &what);
            }
        }
        self.transport.push_back(byte);
        if self.transport.len() > TRANSPORT_BUFFER {
            self.fault("TB", "overflows");
        }
    }

    /// All that happens until `now`, in its order.
    fn pass(&mut self, now: f64) {
        loop {
            let transport =
                if self.transport.is_empty() { f64::INFINITY } else { self.transport_at + 8.0 / self.buffers.leak };
            let main = match self.buffers.next {
                Some((rate, size)) if !self.main.is_empty() && size.is_none_or(|size| self.elementary < size) => {
                    self.main_at + 8.0 / rate
                }
                _ => f64::INFINITY,
            };
            let decode = self.units.get(self.decoded).map_or(f64::INFINITY, |unit| unit.0);
            let next = transport.min(main).min(decode);
            if next > now {
                return;
            }
            if next == decode {
                self.decode(next);
            } else if next == main {
                self.leave_main(next);
            } else {
                self.leave_transport(next);
            }
        }
    }

    fn leave_transport(&mut self, now: f64) {
        self.transport_at = now;
        let Some(byte) = self.transport.pop_front().expect("it has one") else { return };
        if self.main.is_empty() {
            self.main_at = now;
        }
        self.main.push_back(byte);
        if self.main.len() > self.buffers.main {
            self.fault(if self.units.is_empty() { "B" } else { self.main_name() }, "overflows");
        }
        if self.buffers.next.is_none() {
            self.came[byte.1] += 1;
        }
    }

    fn main_name(&self) -> &'static str {
        if self.buffers.next.is_some() { "MB" } else { "B" }
    }

    fn leave_main(&mut self, now: f64) {
        self.main_at = now;
        // Headers of PES packets are not in what leaves at this rate.
        while let Some((is_header, unit)) = self.main.pop_front() {
            if !is_header && !self.units.is_empty() {
                self.elementary += 1;
                self.came[unit] += 1;
            }
            if !is_header {
                return;
            }
        }
    }

    fn decode(&mut self, now: f64) {
        let number = self.decoded;
        self.decoded += 1;
        let (_, whole, media) = self.units[number];
        if self.buffers.next.is_none() {
            if self.came[number] < whole {
                self.fault("B", "underflows");
            }
            self.main.retain(|&(_, unit)| unit != number);
            return;
        }
        if self.came[number] < media {
            self.fault("EB", "underflows");
        }
        if self.elementary >= self.buffers.next.and_then(|next| next.1).unwrap_or(usize::MAX) {
            self.main_at = now;
        }
        self.elementary -= self.came[number];
        // What comes of it later is lost.
        self.came[number] = 0;
    }
}

/// The time of every byte by the clock references around it (2.4.2.2), in seconds.
struct Clock(Vec<(f64, f64)>);

impl Clock {
    fn of(packets: &[Packet<'_>]) -> Self {
        let reference = |packet: &Packet<'_>| packet.adaptation.and_then(|field| field.reference);
        let at = |(place, packet)| Some(((place * PACKET_LENGTH + 10) as f64, reference(packet)? as f64 / 27e6));
        Self(packets.iter().enumerate().filter_map(at).collect())
    }

    /// Of bytes in their order; `next` is the reference that comes next, at first 1.
    fn at(&self, byte: f64, next: &mut usize) -> f64 {
        while *next + 1 < self.0.len() && self.0[*next].0 < byte {
            *next += 1;
        }
        let ((from, begin), (to, end)) = (self.0[*next - 1], self.0[*next]);
        begin + (byte - from) * (end - begin) / (to - from)
    }

    fn rate(&self) -> f64 {
        let (first, last) = (self.0[0], self.0[self.0.len() - 1]);
        (last.0 - first.0) * 8.0 / (last.1 - first.1)
    }
}

/// What is wrong with a stream whose tracks have these buffers; each unit is one PES packet. Time stamps may not wrap.
pub fn judge(stream: &[u8], tracks: &[(u16, Buffers)]) -> Faults {
    let (packets, _) = stream.as_chunks::<PACKET_LENGTH>();
    let packets: Vec<Packet<'_>> = packets.iter().map(|packet| Packet::parse(packet).unwrap()).collect();
    let clock = Clock::of(&packets);
    let mut faults = Faults::new();
    for &(pid, buffers) in tracks {
        let (units, bytes) = units(&packets, pid);
        let mut track = Track::new(format!("{pid:#x}"), buffers, units);
        let mut bytes = bytes.into_iter();
        run(&mut track, &packets, &clock, |packet| packet.pid == pid, || bytes.next());
        faults.extend(track.faults);
    }
    let is_of_track = |pid| tracks.iter().any(|track| track.0 == pid) || pid == NULL_PID;
    let mut sections = Track::new("sys".into(), Buffers::of_sections(clock.rate()), Vec::new());
    run(&mut sections, &packets, &clock, |packet| !is_of_track(packet.pid), || None);
    faults.extend(sections.faults);
    faults
}

fn run(
    track: &mut Track,
    packets: &[Packet<'_>],
    clock: &Clock,
    is_meant: impl Fn(&Packet<'_>) -> bool,
    mut next: impl FnMut() -> Option<(bool, usize)>,
) {
    let is_sections = track.units.is_empty();
    if is_sections {
        (track.arrived, track.came, track.units) = (vec![], vec![], vec![]);
    }
    let mut reference = 1;
    for (place, packet) in packets.iter().enumerate().filter(|(_, packet)| is_meant(packet)) {
        let header = PACKET_LENGTH - packet.payload.map_or(0, <[u8]>::len);
        for at in 0..PACKET_LENGTH {
            let now = clock.at((place * PACKET_LENGTH + at) as f64, &mut reference);
            let byte = if at < header { None } else { next() };
            match (is_sections, at < header) {
                (true, false) => track.arrive_section(now),
                _ => track.arrive(now, byte),
            }
        }
    }
    track.pass(track.units.last().map_or(0.0, |unit| unit.0));
}

impl Track {
    /// A byte of a section, which is decoded at no time.
    fn arrive_section(&mut self, now: f64) {
        self.arrive(now, None);
        *self.transport.back_mut().expect("it was put there") = Some((false, 0));
    }
}

/// The units of a track, and what each byte of its payload is.
fn units(packets: &[Packet<'_>], pid: u16) -> (Vec<Decoded>, Vec<(bool, usize)>) {
    let (mut units, mut bytes) = (Vec::<Decoded>::new(), Vec::new());
    let mut header = 0;
    for packet in packets.iter().filter(|packet| packet.pid == pid) {
        let Some(payload) = packet.payload else { continue };
        if packet.unit_start {
            header = 9 + usize::from(payload[8]);
            let field = if payload[7] >> 6 == 3 { &payload[14..19] } else { &payload[9..14] };
            units.push((timestamp(field) as f64 / 90e3, 0, 0));
        }
        let number = units.len() - 1;
        for _ in payload {
            bytes.push((header > 0, number));
            units[number].1 += 1;
            units[number].2 += usize::from(header == 0);
            header = header.saturating_sub(1);
        }
    }
    (units, bytes)
}

/// A time stamp of a PES packet (2.4.3.6).
fn timestamp(field: &[u8]) -> u64 {
    let field: Vec<u64> = field.iter().map(|&byte| u64::from(byte)).collect();
    (field[0] >> 1 & 7) << 30 | field[1] << 22 | (field[2] >> 1) << 15 | field[3] << 7 | field[4] >> 1
}
