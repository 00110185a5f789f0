//! A server of movies.

use std::path::PathBuf;

use framewire_real::{Event, Scheme, ServeOptions, Served, ServedMovie, ServingPolicy};
use framewire_scenario::Pacing;
use framewire_sim::Cancel;
use framewire_units::Duration;
use framewire_wire::rtsp::Account;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::endpoint::{address, refusal, tell};
use crate::interruption::interruptible;
use crate::real::{conclude, time};
use crate::scenario::ParsedScenario;
use crate::simulation::LoadedMovie;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("MOST_CLIENTS", framewire_real::MOST_CLIENTS)?;
    module.add_function(wrap_pyfunction!(serve_movies, module)?)
}

/// A movie that is served: its name, its file, the file's media type (`None`: the file is not served as it is), what is said of it,
/// and the movie itself.
type Shown<'py> = (String, PathBuf, Option<String>, String, Bound<'py, LoadedMovie>);

/// Serves movies by the flows of a scenario to all clients that ask, and fills the directory, which exists, with what clients were sent.
/// `listener` is called with `"event"` and JSON. Returns what came of it, as JSON; Ctrl-C ends it with its result.
#[pyfunction]
#[pyo3(signature = (
    scenario, movies, directory, listener, *, scheme, at, is_paced, ahead_s, is_endless, clients, first_request_s, idle_s, patience_s,
    account = None
))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
fn serve_movies(
    py: Python<'_>,
    scenario: &Bound<'_, ParsedScenario>,
    movies: Vec<Shown<'_>>,
    directory: PathBuf,
    listener: Py<PyAny>,
    scheme: &str,
    at: &str,
    is_paced: bool,
    ahead_s: f64,
    is_endless: bool,
    clients: u16,
    first_request_s: f64,
    idle_s: f64,
    patience_s: f64,
    account: Option<(String, String)>,
) -> PyResult<String> {
    let movie = |(name, path, media_type, about, movie): Shown<'_>| {
        let content = movie.get().content.clone();
        ServedMovie { name, path, media_type, about, content }
    };
    let movies: Vec<ServedMovie> = movies.into_iter().map(movie).collect();
    let options = ServeOptions {
        scheme: Scheme::named(scheme)
            .ok_or_else(|| refusal(format!("scheme \"{scheme}\": http and rtsp are served")))?,
        address: address("listening", at)?,
        policy: ServingPolicy {
            pacing: if is_paced { Pacing::Sender } else { Pacing::Unpaced },
            ahead: Duration::try_from_secs_f64(ahead_s).map_err(|_| refusal(format!("{ahead_s} s ahead")))?,
            is_endless,
            first_request: time("time to the first request", first_request_s)?,
            next_request: time("time to the next request", idle_s)?,
        },
        account: account.map(|(user, password)| Account { user, password }),
        clients,
        patience: time("patience", patience_s)?,
        directory,
    };
    let scenario = &scenario.get().0;
    let (served, interruption) = interruptible(py, &Cancel::new(), |cancel| {
        let mut said = |event: &Event| tell(&listener, &event.to_json());
        framewire_real::serve(scenario, &movies, &options, &|| cancel.is_raised(), &mut said)
    });
    conclude(py, served.map(|served| of_served(&served)), interruption)
}

fn of_served(served: &Served) -> Value {
    let (frames, [p50, p99, most]) = served.lateness;
    json!({
        "status": "complete",
        "ended_by": "interrupted",
        "failure": null,
        "connections": served.connections,
        "refused": served.refused,
        "refused_requests": served.refusals,
        "answers": served.answers.0,
        "cut_short": served.answers.1,
        "ledgers": served.ledgers,
        "without_ledger": served.without_ledger,
        "bytes": served.bytes,
        "lateness_s": { "frames": frames, "p50": p50, "p99": p99, "max": most },
    })
}
