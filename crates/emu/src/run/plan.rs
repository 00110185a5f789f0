//! What the program is asked to do: one scenario, the movie to send and where the results go.

use std::path::{Path, PathBuf};

use framewire_media::Movie;
use framewire_scenario::Scenario;
use serde::Deserialize;

use super::failure::Failure;

/// Version of the plan that this program reads.
const FORMAT: u32 = 1;

/// A plan as it is written in JSON.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    format: u32,
    /// The scenario, resolved.
    pub scenario: Scenario,
    /// The elementary stream to send.
    pub movie: PathBuf,
    /// The run directory; it exists.
    pub directory: PathBuf,
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

    /// Reads the movie.
    ///
    /// # Errors
    /// When the file cannot be read, is not an MPEG video elementary stream, or ends inside a picture.
    pub fn load_movie(&self) -> Result<Movie, Failure> {
        Ok(framewire_world::load_movie(&self.movie)?)
    }
}
