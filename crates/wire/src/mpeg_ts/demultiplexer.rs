//! From transport packets, whatever arrives, to access units.

use framewire_units::{DataSize, Timestamp};

use super::continuity::{Continuity, Step};
use super::elementary::{Came, ElementaryStream, Output};
use super::packet::{ASSOCIATION_PID, NULL_PID, PACKET_LENGTH, Packet};
use super::received::{Counters, Fault, ReceivedUnit};
use super::section::SectionAssembler;
use super::sync::Synchroniser;
use super::tables::{self, ASSOCIATION_TABLE, MAP_TABLE, Program};

/// Puts the access units of one program together, and passes over everything else.
///
/// # How to drive it
/// Hand in every datagram with [`handle_datagram`](Self::handle_datagram), or a stream of bytes, however it is cut, with
/// [`handle_bytes`](Self::handle_bytes). After each drain [`poll_unit`](Self::poll_unit) and
/// [`poll_fault`](Self::poll_fault). At the end call [`flush`](Self::flush) or [`finish`](Self::finish), and drain both
/// once more. It has no timeouts.
///
/// # What comes out
/// One unit for each PES packet of which a packet arrived, in the order of the stream. It is ready with its last packet
/// where its length is known, by PES_packet_length or from the multiplexer of this crate, and else when the next one of its
/// track begins. It is complete, and its bytes are what was sent, when its first packet is there and nothing is missing by
/// the continuity counter and by its length. Otherwise it comes without its bytes, but with those before the first packet that is
/// missing (`beginning`); without its time as well where that is its first one. Rests of several units that lost their beginnings
/// are one.
///
/// # What cannot be known
/// The continuity counter does not show a loss of 16 packets of a track, or of a multiple. A unit of another multiplexer
/// whose length is not known may so be taken for complete. The multiplexer of this crate says of each unit how long it is,
/// with a check of it, so that of its streams none is but for one in 4,294,967,296.
///
/// Frames of H.264 and H.265 come out as they were given to the multiplexer of this crate, without the delimiter that it
/// puts before those that lack one; units of other multiplexers come out as they are in the stream.
///
/// Memory is bounded by the largest unit for each of at most 16 tracks, whatever arrives, as long as both queues are
/// drained.
#[derive(Debug)]
pub struct Demultiplexer {
    largest: DataSize,
    /// Which program is meant; `None`: the first that the association table has.
    number: Option<u16>,
    /// The program was given: the tables are not read.
    fixed: bool,
    program: Option<Program>,
    map_pid: Option<u16>,
    association: Table,
    map: Table,
    streams: Vec<ElementaryStream>,
    synchroniser: Synchroniser,
    output: Output,
}

/// What reads the table of one packet identifier.
#[derive(Debug, Default)]
struct Table {
    continuity: Continuity,
    sections: SectionAssembler,
}

impl Demultiplexer {
    /// One of a stream whose tables say what it holds: `number` is that of the program, or the first one is taken.
    /// Units that grow beyond `largest_unit` are given up.
    pub fn new(number: Option<u16>, largest_unit: DataSize) -> Self {
        Self {
            largest: largest_unit,
            number,
            fixed: false,
            program: None,
            map_pid: None,
            association: Table::default(),
            map: Table::default(),
            streams: Vec::new(),
            synchroniser: Synchroniser::default(),
            output: Output::default(),
        }
    }

    /// One of a program that is known, as from a description of the session: units come out from the first packet on.
    pub fn of_program(program: Program, largest_unit: DataSize) -> Self {
        let mut this = Self { fixed: true, ..Self::new(Some(program.number), largest_unit) };
        this.map_pid = Some(program.map_pid);
        this.take_program(program);
        this
    }

    /// Takes a datagram of whole packets that arrived at `now`.
    pub fn handle_datagram(&mut self, now: Timestamp, datagram: &[u8]) {
        self.handle_numbered(now, 0, datagram);
    }

    /// The same of one that its carrier numbers.
    pub(crate) fn handle_numbered(&mut self, at: Timestamp, number: u64, datagram: &[u8]) {
        let (packets, rest) = datagram.as_chunks::<PACKET_LENGTH>();
        if !rest.is_empty() || packets.is_empty() {
            self.output.faults.push_back(Fault::Datagram(DataSize::from_bytes(datagram.len() as u64)));
            return;
        }
        packets.iter().for_each(|packet| self.handle_packet(Came { at, datagram: number }, packet));
    }

    /// Takes the next bytes of a stream, which arrived at `now`.
    pub fn handle_bytes(&mut self, now: Timestamp, bytes: &[u8]) {
        let mut synchroniser = std::mem::take(&mut self.synchroniser);
        synchroniser.feed(bytes, |skipped, packet| self.handle_found(now, skipped, packet));
        self.synchroniser = synchroniser;
    }

    /// Packets are missing before the next one, as the carrier of the stream says: a unit that is open is complete only where its
    /// description shows that none of them was its own.
    pub fn lose(&mut self) {
        self.streams.iter_mut().for_each(ElementaryStream::lose_some);
        self.association.sections.lose();
        self.map.sections.lose();
    }

    /// Nothing more will come, and something may be missing at the end: units that were not seen to end are not complete.
    pub fn flush(&mut self) {
        self.end(Timestamp::ZERO, false);
    }

    /// The stream has ended at `now`, and nothing is missing: so have the units that wait for their end.
    pub fn finish(&mut self, now: Timestamp) {
        self.end(now, true);
    }

    /// The next access unit.
    pub fn poll_unit(&mut self) -> Option<ReceivedUnit> {
        self.output.units.pop_front()
    }

    /// What was wrong, oldest first.
    pub fn poll_fault(&mut self) -> Option<Fault> {
        self.output.faults.pop_front()
    }

    /// What arrived so far.
    pub fn counters(&self) -> Counters {
        self.output.counters
    }

    /// The program, once its map has come.
    pub fn program(&self) -> Option<&Program> {
        self.program.as_ref()
    }

    fn end(&mut self, now: Timestamp, ended: bool) {
        let mut synchroniser = std::mem::take(&mut self.synchroniser);
        let rest = synchroniser.finish(|skipped, packet| self.handle_found(now, skipped, packet));
        if rest > 0 {
            self.output.faults.push_back(Fault::Unsynchronised(rest));
        }
        self.streams.iter_mut().for_each(|stream| stream.flush(ended, &mut self.output));
    }

    fn handle_found(&mut self, now: Timestamp, skipped: usize, packet: &[u8; PACKET_LENGTH]) {
        if skipped > 0 {
            self.output.faults.push_back(Fault::Unsynchronised(skipped));
        }
        self.handle_packet(Came { at: now, datagram: 0 }, packet);
    }

    fn handle_packet(&mut self, came: Came, raw: &[u8; PACKET_LENGTH]) {
        self.output.counters.packets += 1;
        let packet = match Packet::parse(raw) {
            Ok(packet) => packet,
            Err(error) => return self.output.faults.push_back(error.into()),
        };
        // What is wrong in it may be the packet identifier: it is as if it had not arrived (2.4.3.3).
        if packet.transport_error {
            self.output.counters.damaged += 1;
            return;
        }
        if let Some(stream) = self.streams.iter_mut().find(|stream| stream.track().pid == packet.pid) {
            return stream.take(came, raw, &packet, &mut self.output);
        }
        match packet.pid {
            NULL_PID => self.output.counters.null += 1,
            ASSOCIATION_PID if !self.fixed => self.read_association(raw, &packet),
            pid if Some(pid) == self.map_pid && !self.fixed => self.read_map(raw, &packet),
            pid if pid == ASSOCIATION_PID || Some(pid) == self.map_pid => {}
            _ => self.output.counters.unknown += 1,
        }
    }

    fn read_association(&mut self, raw: &[u8; PACKET_LENGTH], packet: &Packet<'_>) {
        let (output, wanted) = (&mut self.output, self.number);
        let mut map_pid = None;
        let pid = packet.pid;
        self.association.take(raw, packet, output, |section, output| {
            let is_ours = section.table_id == ASSOCIATION_TABLE && section.current;
            match tables::programs(section.body) {
                Ok(mut programs) if is_ours => {
                    let program = programs.find(|(number, _)| wanted.is_none_or(|wanted| wanted == *number));
                    map_pid = program.map(|(_, pid)| pid).or(map_pid);
                }
                Ok(_) => {}
                Err(error) => output.faults.push_back(Fault::Section { pid, error }),
            }
        });
        if map_pid.is_some() && map_pid != self.map_pid {
            self.map_pid = map_pid;
            self.map = Table::default();
        }
    }

    fn read_map(&mut self, raw: &[u8; PACKET_LENGTH], packet: &Packet<'_>) {
        let (output, wanted) = (&mut self.output, self.number);
        let pid = packet.pid;
        let mut program = None;
        self.map.take(raw, packet, output, |section, output| {
            let is_ours = section.table_id == MAP_TABLE && section.current;
            if !is_ours || wanted.is_some_and(|wanted| wanted != section.extension) {
                return;
            }
            match tables::program(pid, section) {
                Ok(read) => program = Some(read),
                Err(error) => output.faults.push_back(Fault::Section { pid, error }),
            }
        });
        if let Some(program) = program.filter(|program| Some(program) != self.program.as_ref()) {
            self.take_program(program);
        }
    }

    /// Goes over to this program; tracks that it goes on with go on.
    fn take_program(&mut self, program: Program) {
        let mut before = std::mem::take(&mut self.streams);
        for &track in &program.tracks {
            let goes_on = before.iter().position(|stream| stream.track() == track);
            let stream = goes_on.map(|place| before.swap_remove(place));
            self.streams.push(stream.unwrap_or_else(|| ElementaryStream::new(track, self.largest)));
        }
        before.iter_mut().for_each(|stream| stream.flush(false, &mut self.output));
        self.program = Some(program);
    }
}

impl Table {
    fn take(
        &mut self,
        raw: &[u8; PACKET_LENGTH],
        packet: &Packet<'_>,
        output: &mut Output,
        mut found: impl FnMut(&super::section::Section<'_>, &mut Output),
    ) {
        let (Some(payload), pid) = (packet.payload, packet.pid) else { return };
        match self.continuity.step(raw, packet) {
            Step::Duplicate => {
                output.counters.duplicates += 1;
                return;
            }
            Step::Missing(count) => {
                output.counters.missing += count;
                self.sections.lose();
            }
            Step::Next => {}
        }
        if packet.scrambling != 0 {
            output.counters.scrambled += 1;
            return output.faults.push_back(Fault::Scrambled { pid });
        }
        self.sections.take(packet.unit_start, payload, |section| match section {
            Ok(section) => found(&section, output),
            Err(error) => output.faults.push_back(Fault::Section { pid, error }),
        });
    }
}
