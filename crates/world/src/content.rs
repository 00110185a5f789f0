//! What the flows of a scenario send: a movie, the levels of a ladder, both or neither.

use std::fs::File;
use std::path::{Path, PathBuf};

use framewire_media::Movie;
use framewire_media::access_unit::Codec;
use framewire_recording::record::FlowStatus;
use framewire_scenario::{FlowKind, Scenario};
use framewire_session::lifecycle::FlowOutcome;
use framewire_session::{BuildError, FlowSetup, LadderContent, RtpSeed, SendingPlan, Sound};
use framewire_units::{Duration, Timestamp};

use crate::groups::{port, session_seed, start_of};
use crate::movie::{MovieError, load_movie};

/// What the flows of a scenario send.
#[derive(Clone, Debug, Default)]
pub struct Content {
    movie: Option<(PathBuf, Movie)>,
    ladder: Option<(PathBuf, LadderContent)>,
    sound: Option<(PathBuf, Sound)>,
}

impl Content {
    /// Reads the files that a scenario's flows send.
    ///
    /// # Errors
    /// When a file cannot be read or is not what it should be; the error names it.
    pub fn load(movie: Option<&Path>, ladder: Option<&Path>) -> Result<Self, MovieError> {
        let movie = movie.map(|file| Ok((file.to_owned(), load_movie(file)?))).transpose()?;
        let ladder = ladder.map(|file| Ok((file.to_owned(), load_ladder(file)?))).transpose()?;
        Ok(Self { movie, ladder, sound: None })
    }

    /// A movie that came from `file`, and no ladder.
    pub fn of_movie(file: impl Into<PathBuf>, movie: Movie) -> Self {
        Self { movie: Some((file.into(), movie)), ladder: None, sound: None }
    }

    /// The same with sound beside the movie, which came from `file`.
    pub fn with_sound(self, file: impl Into<PathBuf>, sound: Sound) -> Self {
        Self { sound: Some((file.into(), sound)), ..self }
    }

    /// The same without sound.
    #[must_use]
    pub fn without_sound(self) -> Self {
        Self { sound: None, ..self }
    }

    /// The sound beside the movie, and its file.
    pub fn sound(&self) -> Option<(&Path, &Sound)> {
        self.sound.as_ref().map(|(file, sound)| (file.as_path(), sound))
    }

    /// The same with a ladder that came from `file`.
    pub fn with_ladder(self, file: impl Into<PathBuf>, ladder: LadderContent) -> Self {
        Self { ladder: Some((file.into(), ladder)), ..self }
    }

    /// The movie, and its file.
    pub fn movie(&self) -> Option<(&Path, &Movie)> {
        self.movie.as_ref().map(|(file, movie)| (file.as_path(), movie))
    }

    /// The ladder, and its streaming file.
    pub fn ladder(&self) -> Option<(&Path, &LadderContent)> {
        self.ladder.as_ref().map(|(file, ladder)| (file.as_path(), ladder))
    }

    /// Length of what takes longer, movie or ladder; zero where there is neither.
    pub fn duration(&self) -> Duration {
        let movie = self
            .movie
            .as_ref()
            .map(|(_, movie)| movie.index.sequence.frame_rate.time_of(movie.index.frames.len() as u64));
        let ladder = self.ladder.as_ref().map(|(_, ladder)| ladder.duration());
        movie.max(ladder).unwrap_or_default()
    }

    /// Frames of the movie, or of the ladder where there is no movie.
    pub fn frames(&self) -> usize {
        let movie = self.movie.as_ref().map(|(_, movie)| movie.index.frames.len());
        movie.or(self.ladder.as_ref().map(|(_, ladder)| ladder.frames() as usize)).unwrap_or(0)
    }

    /// Whether all that flows took of the movie could be read; to be asked when they have ended. What cannot be read of
    /// a ladder breaks the flow that sends it.
    ///
    /// # Errors
    /// When the movie's file changed meanwhile.
    pub fn check(&self) -> Result<(), MovieError> {
        let Some((file, movie)) = &self.movie else { return Ok(()) };
        movie.check().map_err(|changed| MovieError { file: file.clone(), reason: changed.to_string() })
    }

    /// Takes the flows that send the movie for broken where it [changed](Self::check) meanwhile: what they recorded is kept,
    /// with why it is not to be relied on. For a world whose runs cannot be had again.
    pub fn settle(&self, setups: &[FlowSetup], flows: &mut [FlowOutcome]) {
        let Err(changed) = self.check() else { return };
        for (setup, flow) in setups.iter().zip(flows) {
            if setup.sends_movie() && !matches!(flow.status, FlowStatus::Failed(_)) {
                flow.status = FlowStatus::Failed(changed.to_string());
            }
        }
    }

    /// The movie, with its sound where it has any, from the origin of a run on; `None` where there is no movie.
    pub fn sending_plan(&self) -> Option<SendingPlan> {
        let plan = self.movie.as_ref().map(|(_, movie)| SendingPlan::new(movie.clone(), Timestamp::ZERO))?;
        Some(match &self.sound {
            Some((_, sound)) => plan.with_sound(sound),
            None => plan,
        })
    }

    /// The flows of a scenario, each to send what it does from the origin of the run, or from its own start, on.
    ///
    /// # Errors
    /// When a flow cannot be built, or there is nothing here of what it sends.
    pub fn flow_setups(&self, scenario: &Scenario) -> Result<Vec<FlowSetup>, BuildError> {
        let plan = self.sending_plan();
        let numbered = scenario.flows.iter().zip(1..);
        let setup = |(flow, number): (&framewire_scenario::Flow, u32)| {
            let nothing = |what: &str| BuildError::new(&flow.name, format!("there is no {what} that it could send"));
            match flow.kind {
                FlowKind::Bulk(_) => FlowSetup::bulk(flow),
                FlowKind::Adaptive(_) => {
                    let (_, ladder) = self.ladder.as_ref().ok_or_else(|| nothing("ladder"))?;
                    let start = Timestamp::ZERO + start_of(scenario, number as usize - 1, 0);
                    let mut setup = FlowSetup::of_ladder(flow, ladder.clone(), scenario.playout.startup)?;
                    if let FlowSetup::Adaptive(stream) = &mut setup {
                        stream.start = start;
                    }
                    Ok(setup)
                }
                FlowKind::Datagram(_) | FlowKind::Stream(_) | FlowKind::External(_) => {
                    let plan = plan.clone().ok_or_else(|| nothing("movie"))?;
                    let place = number as usize - 1;
                    let rtp = RtpSeed { seed: session_seed(scenario, place), flow: number };
                    Ok(FlowSetup::of_movie(flow, plan, rtp)?.at_port(port(place)))
                }
            }
        };
        numbered.map(setup).collect()
    }
}

/// Whether every flow of a scenario that sends the movie carries this codec, cut into packets as the flow says. What an
/// application carries is not known.
///
/// # Errors
/// In words, with the first flow that does not.
pub fn check_codec(scenario: &Scenario, codec: Codec) -> Result<(), String> {
    for flow in &scenario.flows {
        let checked = match &flow.kind {
            FlowKind::Datagram(own) => {
                own.transport.check_codec(codec).and_then(|()| own.transport.check_packets(codec, own.packets))
            }
            FlowKind::Stream(own) => own.transport.check_codec(codec),
            FlowKind::Adaptive(_) | FlowKind::Bulk(_) | FlowKind::External(_) => Ok(()),
        };
        checked.map_err(|reason| format!("flow {}: {reason}", flow.name))?;
    }
    Ok(())
}

/// Reads a streaming file.
///
/// # Errors
/// When it cannot be read, or cannot be sent.
pub fn load_ladder(file: &Path) -> Result<LadderContent, MovieError> {
    let error = |reason| MovieError { file: file.to_owned(), reason };
    let opened = File::open(file).map_err(|cause| error(cause.to_string()))?;
    LadderContent::open(opened).map_err(|cause| error(cause.to_string()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;

    #[test]
    fn a_codec_that_a_flow_does_not_carry_is_refused_with_its_name() {
        let scenario =
            |flow: &str| Scenario::parse(&format!("[[flow]]\ntransport = \"udp\"\n[[flow]]\n{flow}"), &[]).unwrap();
        let both = scenario("name = \"second\"\ntransport = \"tcp\"");
        assert_eq!(check_codec(&both, Codec::MpegVideo), Ok(()));
        assert_eq!(check_codec(&both, Codec::H264), Ok(()));
        let thesis = scenario("name = \"second\"\ntransport = \"udp\"\npackets = \"thesis\"");
        assert_eq!(check_codec(&thesis, Codec::MpegVideo), Ok(()));
        let refused = check_codec(&thesis, Codec::H264).unwrap_err();
        assert!(refused.starts_with("flow second: "), "{refused}");
    }

    /// A file of over 64 MiB, so that it is not kept in memory: a picture and its stuffing (ISO/IEC 13818-2, 6.2), twice.
    fn movie_file(path: &Path) {
        let mut file = File::create(path).unwrap();
        for _ in 0..2 {
            let mut group = movie_bytes();
            group.resize(40 << 20, 0);
            file.write_all(&group).unwrap();
        }
    }

    #[test]
    fn what_sent_a_movie_that_was_rewritten_is_broken_and_keeps_its_records() {
        let path = std::env::temp_dir().join(format!("framewire-rewritten-{}.m1v", std::process::id()));
        movie_file(&path);
        let content = Content::of_movie(&path, Movie::open(File::open(&path).unwrap()).unwrap());
        let scenario = Scenario::parse("[[flow]]\ntransport = \"udp\"\n[[flow]]\ntransport = \"bulk\"\n", &[]).unwrap();
        let setups = content.flow_setups(&scenario).unwrap();
        let mut flows = [FlowStatus::Complete, FlowStatus::Complete].map(FlowOutcome::of_status);
        content.settle(&setups, &mut flows);
        assert!(flows.iter().all(|flow| flow.status == FlowStatus::Complete), "nothing changed");
        let writer = fs::OpenOptions::new().write(true).open(&path).unwrap();
        writer.set_modified(std::time::UNIX_EPOCH).unwrap();
        flows[0].received.complete_frames = 2;
        content.settle(&setups, &mut flows);
        fs::remove_file(&path).unwrap();
        let reason = format!("{}: the file changed while it was in use: it was written to", path.display());
        assert_eq!(flows[0].status, FlowStatus::Failed(reason));
        assert_eq!((&flows[1].status, flows[0].received.complete_frames), (&FlowStatus::Complete, 2));
    }

    /// A group of one picture.
    fn movie_bytes() -> Vec<u8> {
        let mut bytes = vec![0, 0, 1, 0xB3, 0x2D, 0x02, 0x40, 0x23, 0xFF, 0xFF, 0xE0, 0x00];
        bytes.extend([0, 0, 1, 0xB8, 0x00, 0x08, 0x00, 0x40, 0, 0, 1, 0x00, 0x00, 0x0F, 0xFF, 0xF8, 0, 0, 1, 1]);
        bytes
    }
}
