//! What the program is asked to do: one scenario, the movie to send and where the results go.

use std::path::{Path, PathBuf};

use framewire_scenario::Scenario;
use framewire_world::{Content, load_sound};
use serde::Deserialize;

use crate::control::Failure;

/// Version of the plan that this program reads.
const FORMAT: u32 = 1;

/// A plan as it is written in JSON.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    format: u32,
    /// The scenario, resolved.
    pub scenario: Scenario,
    /// The elementary stream to send, where a flow sends it.
    #[serde(default)]
    pub movie: Option<PathBuf>,
    /// The streaming file that adaptive flows send levels of, where there are such flows.
    #[serde(default)]
    pub ladder: Option<PathBuf>,
    /// The sound beside the movie, where it is sent.
    #[serde(default)]
    pub sound: Option<SoundPlan>,
    /// The run directory; it exists.
    pub directory: PathBuf,
}

/// The sound beside a movie.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SoundPlan {
    /// An elementary stream of it.
    file: PathBuf,
    /// When its first packet begins to play, from the first frame shown, in nanoseconds.
    start_ns: i64,
}

impl Plan {
    /// Reads a plan.
    ///
    /// # Errors
    /// When the file cannot be read, is not a plan, or is of another version.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(path).map_err(|error| Failure::input(path.display(), error))?;
        let plan: Self = serde_json::from_str(&text).map_err(|error| Failure::input(path.display(), error))?;
        match plan.format {
            FORMAT => Ok(plan),
            other => {
                Err(Failure::input(path.display(), format!("a plan of format {other}; this program reads {FORMAT}")))
            }
        }
    }

    /// Reads what the flows send.
    ///
    /// # Errors
    /// When a file cannot be read, is not what it should be, or ends inside a picture.
    pub fn load_content(&self) -> Result<Content, Failure> {
        let content = Content::load(self.movie.as_deref(), self.ladder.as_deref())?;
        Ok(match &self.sound {
            Some(sound) => content.with_sound(&sound.file, load_sound(&sound.file, sound.start_ns)?),
            None => content,
        })
    }
}
