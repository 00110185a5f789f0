//! What is served, made ready before the first client comes.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use framewire_endpoint::random_session;
use framewire_scenario::{Flow, Scenario};
use framewire_session::served::Title;
use framewire_session::{FlowSetup, RtpSeed, SendingPlan, StreamSetup};
use framewire_units::{Seed, Timestamp};
use framewire_world::Content;

use crate::error::RealError;
use crate::events::Event;

/// A movie that is served.
#[derive(Clone, Debug)]
pub struct ServedMovie {
    /// Its name: that of its file, without folders.
    pub name: String,
    /// The file as it is.
    pub path: PathBuf,
    /// The media type of the file; `None`: the file itself is not served.
    pub media_type: Option<String>,
    /// What is said of it to a person.
    pub about: String,
    /// The movie.
    pub content: Content,
}

/// The movies in the forms of a scenario's flows; what cannot be had is told.
///
/// # Errors
/// When a file cannot be opened, or there is nothing to be served.
pub(super) fn titles(
    scenario: &Scenario,
    movies: &[ServedMovie],
    tell: &mut dyn FnMut(Event),
) -> Result<Vec<Title>, RealError> {
    if movies.is_empty() {
        return Err(RealError::Input("there is no movie to serve".to_owned()));
    }
    movies.iter().map(|movie| title(scenario, movie, tell)).collect()
}

fn title(scenario: &Scenario, movie: &ServedMovie, tell: &mut dyn FnMut(Event)) -> Result<Title, RealError> {
    let opened = movie.media_type.as_ref().map(|media_type| {
        let refused = |error: std::io::Error| RealError::Input(format!("{}: {error}", movie.path.display()));
        let file = File::open(&movie.path).map_err(refused)?;
        let length = file.metadata().map_err(refused)?.len();
        Ok::<_, RealError>((Arc::new(file) as Arc<_>, length, media_type.clone()))
    });
    let (name, about) = (movie.name.clone(), movie.about.clone());
    let mut title = Title { name, about, file: opened.transpose()?, mp4: None, fragments: None, ts: None, rtsp: None };
    for flow in &scenario.flows {
        // A person who reads that there is sound is told in which form there is none.
        let mut tell = |event: Event| {
            if let Event::SoundLeftOut { transport, .. } = &event {
                title.about = format!("{}, {transport} without its sound", title.about);
            }
            tell(event);
        };
        match setup(flow, movie, &mut tell) {
            Ok(setup) if setup.is_file() => title.mp4 = Some(setup),
            Ok(setup) if setup.is_fragmented() => title.fragments = Some(setup),
            Ok(setup) if setup.is_rtsp() => title.rtsp = Some(setup),
            Ok(setup) => title.ts = Some(setup),
            Err(reason) => {
                let (name, transport) = (movie.name.clone(), flow.transport().to_string());
                tell(Event::LeftOut { name, transport, reason });
            }
        }
    }
    Ok(title)
}

/// A movie in the form of a flow. Where that does not carry its sound, the video is without it, and that is told: others may.
fn setup(flow: &Flow, movie: &ServedMovie, tell: &mut dyn FnMut(Event)) -> Result<StreamSetup, String> {
    let plan = movie.content.sending_plan().ok_or("there is no movie in it")?;
    // Sources are told apart by random numbers (RFC 3550, section 8.1).
    let rtp = RtpSeed { seed: Seed(random_session().map_err(|error| error.to_string())?), flow: 0 };
    let silent = SendingPlan::new(plan.movie().clone(), Timestamp::ZERO);
    let built = match FlowSetup::of_movie(flow, plan.clone(), rtp) {
        Err(error) if plan.sound().is_some() => {
            let without = FlowSetup::of_movie(flow, silent, rtp);
            if without.is_ok() {
                let (name, transport) = (movie.name.clone(), flow.transport().to_string());
                // Which transport it is stands before it.
                let said = error.to_string();
                let reason = said.strip_prefix(&format!("flow {}: ", flow.name)).unwrap_or(&said).to_owned();
                tell(Event::SoundLeftOut { name, transport, reason });
            }
            without
        }
        built => built,
    };
    match built.map_err(|error| error.to_string())? {
        FlowSetup::Stream(setup) => Ok(setup),
        other => Err(format!("{} is not served to clients", other.transport())),
    }
}
