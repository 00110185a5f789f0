//! A server: one thread that waits for all of its clients together.

mod connection;
mod connections;
mod descriptors;
mod journal;
mod ledgers;
mod movies;

use std::net::SocketAddr;
use std::path::PathBuf;

use framewire_endpoint::RunClock;
use framewire_scenario::Scenario;
use framewire_session::served::{Catalogue, ServingPolicy};
use framewire_sockets::{TcpListener, TcpOptions};
use framewire_units::{Duration, Timestamp};
use framewire_wire::rtsp::Account;
use framewire_world::{utc, write_description};
use serde_json::json;

use self::connections::Connections;
use self::journal::Journal;
use self::ledgers::{Ledgers, Writer};
pub use self::movies::ServedMovie;
use crate::error::RealError;
use crate::events::{Event, Listener};
use crate::{BETWEEN_REPORTS, TICK, directory};

/// The most connections that a server can be told to have at a time.
pub const MOST_CLIENTS: u16 = 20_000;

/// Connections that wait in the kernel to be accepted (`net.core.somaxconn` may allow fewer).
const BACKLOG: u16 = 1_024;

/// What a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// HTTP/1.1.
    Http,
    /// RTSP 1.0.
    Rtsp,
}

/// What a server is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServeOptions {
    /// What it speaks.
    pub scheme: Scheme,
    /// Where it listens.
    pub address: SocketAddr,
    /// How it treats its clients.
    pub policy: ServingPolicy,
    /// Who may play, by RTSP; `None`: all.
    pub account: Option<Account>,
    /// Connections at a time.
    pub clients: u16,
    /// How long a client may take nothing of what it asked for before it is given up.
    pub patience: Duration,
    /// The directory of the server's record, which exists.
    pub directory: PathBuf,
}

/// What came of serving.
#[derive(Clone, Debug, PartialEq)]
pub struct Served {
    /// Connections that were accepted.
    pub connections: u64,
    /// Those that were refused, or closed for others before they had asked for anything.
    pub refused: u64,
    /// Answers with a body: all, and those that did not come to their end.
    pub answers: (u64, u64),
    /// Requests that were refused.
    pub refusals: u64,
    /// Those of which a ledger was written, as there was room for it.
    pub ledgers: usize,
    /// Those of which none was, as there was none.
    pub without_ledger: u64,
    /// Bytes that were written.
    pub bytes: u64,
    /// By how much frames were offered late: how many were looked at, and p50, p99 and the most in seconds.
    pub lateness: (u64, [Option<f64>; 3]),
}

impl Scheme {
    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Http, Self::Rtsp].into_iter().find(|scheme| scheme.name() == name)
    }

    /// Its name in a URL.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Rtsp => "rtsp",
        }
    }
}

/// Serves movies by the flows of a scenario until it is stopped, and fills the directory with what clients were sent.
///
/// # Errors
/// When the port is taken, there is nothing to serve, or a file cannot be written.
pub fn serve(
    scenario: &Scenario,
    movies: &[ServedMovie],
    options: &ServeOptions,
    is_stopped: &dyn Fn() -> bool,
    listener: &mut Listener<'_>,
) -> Result<Served, RealError> {
    let titles = movies::titles(scenario, movies, &mut |event| listener(&event))?;
    let catalogue = Catalogue::new(&titles);
    let clients = descriptors::allow(options.clients)?;
    let socket = TcpListener::bind_for(options.address, &tcp_options(&titles), BACKLOG)?;
    let address = socket.local_address()?;
    let clock = RunClock::start();
    let mut journal = Journal::create(&options.directory)?;
    if paths(options.scheme, &catalogue).is_empty() {
        return Err(RealError::Input(format!("there is nothing to serve by {}", options.scheme.name())));
    }
    listener(&Event::Serving(address, paths(options.scheme, &catalogue)));
    let writer = Writer {
        directory: options.directory.clone(),
        scenario: scenario.clone(),
        movies: movies.to_vec(),
        catalogue: catalogue.clone(),
        clock,
    };
    let ledgers = Ledgers::new(writer);
    let mut connections = Connections::new(socket, clock, catalogue.clone(), options, clients, ledgers)?;
    let mut reported = Timestamp::ZERO;
    while !is_stopped() {
        connections.turn(TICK)?;
        while let Some((number, peer, record)) = connections.poll_record() {
            listener(&Event::Client(journal.write(number, peer, &record)?));
        }
        let now = clock.now();
        if now.saturating_since(reported) >= BETWEEN_REPORTS {
            reported = now;
            journal.flush()?;
            let (open, bytes) = (connections.open(), connections.written());
            listener(&Event::Clients { at: now, open, bytes });
        }
    }
    connections.stop(clock.now());
    while let Some((number, peer, record)) = connections.poll_record() {
        journal.write(number, peer, &record)?;
    }
    journal.flush()?;
    let mut served = connections.served(&journal);
    served.ledgers = connections.finish()?;
    let document = describe(scenario, movies, options, &catalogue, address, clock, &served);
    write_description(&options.directory, &document)?;
    framewire_world::write_scenario(&options.directory, scenario)?;
    Ok(served)
}

fn paths(scheme: Scheme, catalogue: &Catalogue) -> Vec<String> {
    match scheme {
        Scheme::Http => catalogue.paths().map(str::to_owned).collect(),
        Scheme::Rtsp => catalogue.presentations().map(str::to_owned).collect(),
    }
}

/// Connections inherit what the listener has.
fn tcp_options(titles: &[framewire_session::served::Title]) -> TcpOptions {
    let setup = titles.iter().find_map(|title| title.mp4.as_ref().or(title.ts.as_ref()).or(title.rtsp.as_ref()));
    let options = setup.map(|setup| framewire_kernel::tcp_options(setup.connection.clone())).unwrap_or_default();
    // Of many clients, what is under way to each is bounded by TCP alone; the network says what segments it takes.
    TcpOptions { no_delay: true, maximum_segment: None, ..options }
}

fn describe(
    scenario: &Scenario,
    movies: &[ServedMovie],
    options: &ServeOptions,
    catalogue: &Catalogue,
    address: SocketAddr,
    clock: RunClock,
    served: &Served,
) -> serde_json::Value {
    let policy = options.policy;
    let (frames, [p50, p99, most]) = served.lateness;
    json!({
        "format": framewire_recording::tables::FORMAT_VERSION,
        "program": "framewire",
        "version": env!("CARGO_PKG_VERSION"),
        "world": "real",
        "side": "server",
        "name": scenario.name,
        "status": "complete",
        "origin_utc": utc(clock.to_unix(Timestamp::ZERO)),
        "kernel": directory::kernel(),
        "scheme": options.scheme.name(),
        "address": address.to_string(),
        "duration_s": clock.now().as_secs_f64(),
        "files": movies.iter().map(|movie| movie.path.display().to_string()).collect::<Vec<_>>(),
        "paths": paths(options.scheme, catalogue),
        "pacing": policy.pacing.to_string(),
        "ahead_s": policy.ahead.as_secs_f64(),
        "endless": policy.is_endless,
        "user": options.account.as_ref().map(|account| account.user.clone()),
        "limits": {
            "clients": options.clients,
            "first_request_s": policy.first_request.as_secs_f64(),
            "next_request_s": policy.next_request.as_secs_f64(),
            "ledgers_at_a_time": ledgers::MOST_AT_A_TIME,
            "ledgers": ledgers::MOST,
            "patience_s": options.patience.as_secs_f64(),
            "header_bytes": framewire_wire::http::MOST_HEADER_BYTES,
            "header_fields": framewire_wire::http::MOST_FIELDS,
        },
        "connections": served.connections,
        "refused": served.refused,
        "answers": served.answers.0,
        "cut_short": served.answers.1,
        "refused_requests": served.refusals,
        "ledgers": served.ledgers,
        "without_ledger": served.without_ledger,
        "bytes": served.bytes,
        "lateness_s": { "frames": frames, "p50": p50, "p99": p99, "max": most },
    })
}
