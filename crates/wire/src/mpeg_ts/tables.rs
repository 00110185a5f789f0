//! The two tables that say what a transport stream holds: programs, and the streams of one (2.4.4.3, 2.4.4.8).

use super::packet::PROGRAM_PIDS;
use super::section::{Section, SectionError};
use super::stream_type::StreamType;

/// table_id of program association sections (table 2-31).
pub(super) const ASSOCIATION_TABLE: u8 = 0;

/// table_id of program map sections.
pub(super) const MAP_TABLE: u8 = 2;

/// Elementary streams of a program that are carried at most.
pub const MOST_TRACKS: usize = 16;

/// An elementary stream of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Track {
    /// Packet identifier.
    pub pid: u16,
    /// What it is.
    pub stream_type: StreamType,
}

/// A program: where its map is, and its elementary streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// program_number.
    pub number: u16,
    /// Packet identifier of its map.
    pub map_pid: u16,
    /// Packet identifier of the packets with its clock.
    pub clock_pid: u16,
    /// Its streams, in the order of the map; those of types that are not carried are left out.
    pub tracks: Vec<Track>,
}

impl Program {
    /// A program of one video track, with the packet identifiers that FFmpeg gives too: 0x1000 and 0x100.
    pub fn of_video(stream_type: StreamType) -> Self {
        let pid = 0x100;
        Self { number: 1, map_pid: 0x1000, clock_pid: pid, tracks: vec![Track { pid, stream_type }] }
    }

    /// The same with another track behind the ones that it has.
    #[must_use]
    pub fn with_track(mut self, stream_type: StreamType) -> Self {
        let pid = self.tracks.iter().map(|track| track.pid + 1).max().unwrap_or(0x100);
        self.tracks.push(Track { pid, stream_type });
        self
    }

    /// The number of a track of the stream that is received: 0 is the first of video, 1 the first of sound. `None` of others.
    pub fn track_number(&self, pid: u16) -> Option<u8> {
        let track = self.tracks.iter().find(|track| track.pid == pid)?;
        let is_video = track.stream_type.is_video();
        let first = self.tracks.iter().find(|other| other.stream_type.is_video() == is_video);
        (first == Some(track)).then_some(u8::from(!is_video))
    }

    /// The program association section of a stream that has only this program.
    pub(super) fn association(&self) -> Vec<u8> {
        let [number_high, number_low] = self.number.to_be_bytes();
        let [pid_high, pid_low] = (0xE000 | self.map_pid).to_be_bytes();
        let body = [number_high, number_low, pid_high, pid_low];
        Section { table_id: ASSOCIATION_TABLE, extension: 1, current: true, version: 0, body: &body }.emit()
    }

    /// The program map section.
    pub(super) fn map(&self) -> Vec<u8> {
        let [clock_high, clock_low] = (0xE000 | self.clock_pid).to_be_bytes();
        // No descriptors of the program.
        let mut body = vec![clock_high, clock_low, 0xF0, 0];
        for track in &self.tracks {
            let [pid_high, pid_low] = (0xE000 | track.pid).to_be_bytes();
            // Nor of the stream.
            body.extend([track.stream_type.code(), pid_high, pid_low, 0xF0, 0]);
        }
        Section { table_id: MAP_TABLE, extension: self.number, current: true, version: 0, body: &body }.emit()
    }
}

/// The programs of an association section: number and packet identifier of the map. Number 0, which is that of the network,
/// is left out.
pub(super) fn programs(body: &[u8]) -> Result<impl Iterator<Item = (u16, u16)> + '_, SectionError> {
    let (entries, []) = body.as_chunks::<4>() else {
        return Err(SectionError::Table("the programs of an association table do not end with its section"));
    };
    let entries = entries.iter().map(|&[number_high, number_low, pid_high, pid_low]| {
        (u16::from_be_bytes([number_high, number_low]), u16::from_be_bytes([pid_high & 0x1F, pid_low]))
    });
    Ok(entries.filter(|&(number, _)| number != 0))
}

/// A map section as a program. Streams of other types, and those beyond [`MOST_TRACKS`], are left out.
pub(super) fn program(map_pid: u16, section: &Section<'_>) -> Result<Program, SectionError> {
    const CUT: SectionError = SectionError::Table("the descriptors or streams of a program map go beyond its section");
    let (&[clock_high, clock_low, length_high, length_low], rest) = section.body.split_first_chunk().ok_or(CUT)?;
    let descriptors = usize::from(u16::from_be_bytes([length_high & 0x0F, length_low]));
    let mut rest = rest.get(descriptors..).ok_or(CUT)?;
    let mut tracks: Vec<Track> = Vec::new();
    while !rest.is_empty() {
        let (&[code, pid_high, pid_low, length_high, length_low], behind) = rest.split_first_chunk().ok_or(CUT)?;
        let descriptors = usize::from(u16::from_be_bytes([length_high & 0x0F, length_low]));
        rest = behind.get(descriptors..).ok_or(CUT)?;
        let pid = u16::from_be_bytes([pid_high & 0x1F, pid_low]);
        let is_free = PROGRAM_PIDS.contains(&pid) && pid != map_pid && tracks.iter().all(|track| track.pid != pid);
        if let (Some(stream_type), true, true) = (StreamType::of_code(code), is_free, tracks.len() < MOST_TRACKS) {
            tracks.push(Track { pid, stream_type });
        }
    }
    let clock_pid = u16::from_be_bytes([clock_high & 0x1F, clock_low]);
    Ok(Program { number: section.extension, map_pid, clock_pid, tracks })
}

#[cfg(test)]
mod tests {
    use super::super::section::SectionAssembler;
    use super::*;

    fn read<T>(section: &[u8], read: impl Fn(&Section<'_>) -> T) -> T {
        let mut found = None;
        let payload = [&[0][..], section].concat();
        SectionAssembler::default().take(true, &payload, |section| found = Some(read(&section.unwrap())));
        found.unwrap()
    }

    #[test]
    fn tables_come_back_as_they_went_in() {
        let program_of = Program::of_video(StreamType::H264).with_track(StreamType::AacAdts);
        let found = read(&program_of.association(), |section| programs(section.body).unwrap().collect::<Vec<_>>());
        assert_eq!(found, [(1, 0x1000)]);
        assert_eq!(read(&program_of.map(), |section| program(0x1000, section).unwrap()), program_of);
    }

    #[test]
    fn the_first_track_of_each_kind_has_a_number() {
        use StreamType::{AacAdts, H264, Mpeg1Audio, Mpeg2Video};
        let numbers = |types: &[StreamType]| {
            let empty = Program { tracks: Vec::new(), ..Program::of_video(H264) };
            let program = types.iter().fold(empty, |program, &one| program.with_track(one));
            program.tracks.iter().map(|track| program.track_number(track.pid)).collect::<Vec<_>>()
        };
        assert_eq!(numbers(&[H264, AacAdts]), [Some(0), Some(1)]);
        assert_eq!(numbers(&[Mpeg1Audio, H264, AacAdts]), [Some(1), Some(0), None]);
        assert_eq!(numbers(&[H264, Mpeg2Video, AacAdts, AacAdts]), [Some(0), None, Some(1), None]);
        assert_eq!(Program::of_video(H264).track_number(0x200), None);
    }

    #[test]
    fn a_map_has_the_fields_of_the_standard() {
        let map = Program::of_video(StreamType::Mpeg2Video).map();
        assert_eq!(map[..17], [2, 0xB0, 18, 0, 1, 0xC1, 0, 0, 0xE1, 0, 0xF0, 0, 2, 0xE1, 0, 0xF0, 0]);
    }

    #[test]
    fn streams_that_are_not_carried_are_left_out_and_lengths_are_checked() {
        let section = |body| Section { table_id: 2, extension: 1, current: true, version: 0, body };
        // Private data of 5 (a descriptor of 2 bytes), then H.265, then the same again.
        let body = [0xE1, 0, 0xF0, 1, 9, 5, 0xE1, 1, 0xF0, 2, 8, 8, 0x24, 0xE1, 2, 0xF0, 0, 0x24, 0xE1, 2, 0xF0, 0];
        let found = program(0x1000, &section(&body)).unwrap();
        assert_eq!(found.tracks, [Track { pid: 0x102, stream_type: StreamType::H265 }]);
        for cut in [3, 4, 6, 10] {
            assert!(program(0x1000, &section(&body[..cut])).is_err(), "{cut} bytes");
        }
        assert!(programs(&[0, 1, 2]).is_err());
        assert_eq!(programs(&[0, 0, 0xE0, 16, 0, 3, 0xE0, 32]).unwrap().collect::<Vec<_>>(), [(3, 32)]);
    }
}
