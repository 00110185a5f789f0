//! The thread that serves.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use framewire_adaptive::host::HostEvent;
use framewire_adaptive::server::ServerEvent;
use framewire_endpoint::{EndpointError, Serving};

use super::messages::Report;

/// How long clients are given to hear that the server ends: a change of state waits for it.
const GOODBYE: Duration = Duration::from_millis(200);

/// How often what is known of the sessions is noted.
const REPORT_EVERY: Duration = Duration::from_millis(100);

/// What the thread tells.
pub(super) enum News<'a> {
    /// Something happened in a session.
    Event(&'a HostEvent),
    /// As many sessions have ended as were to be served.
    Enough,
    /// A socket is broken.
    Broken(EndpointError),
}

/// A server at work; it ends when this is dropped.
pub(super) struct Service {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    cancelled: AtomicBool,
    report: Mutex<Report>,
}

impl Service {
    /// Serves until it is stopped, or until so many sessions have ended.
    ///
    /// # Errors
    /// When there can be no thread, or a socket is broken.
    pub fn start(
        serving: Serving,
        sessions: Option<u64>,
        tell: impl Fn(News<'_>) + Send + 'static,
    ) -> Result<Self, String> {
        let addresses = serving.addresses().map_err(|error| error.to_string())?;
        let shared = Arc::new(Shared::default());
        shared.lock().addresses = Some(addresses);
        let of_thread = shared.clone();
        let thread = std::thread::Builder::new().name("vtpsink".to_owned()).spawn(move || {
            match serve(serving, &of_thread, sessions, &tell) {
                Ok(()) if of_thread.cancelled.load(Ordering::Relaxed) => {}
                Ok(()) => tell(News::Enough),
                Err(error) => tell(News::Broken(error)),
            }
        });
        let thread = thread.map_err(|error| format!("no thread can be started: {error}"))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// What is known.
    pub fn report(&self) -> Report {
        self.shared.lock().clone()
    }

    /// Says goodbye to everybody, closes the sockets, and tells what came of it.
    pub fn stop(mut self) -> Report {
        self.shared.cancelled.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It ended with a panic, which was reported where it happened.
            let _ = thread.join();
        }
        self.report()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.shared.cancelled.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Report> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, serving: &Serving) {
        let (host, mut report) = (serving.host(), self.lock());
        for (&session, state) in &mut report.sessions {
            if let Some(now) = host.state(session) {
                *state = now;
            }
        }
        report.drops = host.drops().clone();
        report.lateness = host.lateness().clone();
    }

    fn note_event(&self, serving: &Serving, event: &HostEvent) {
        let mut report = self.lock();
        match event.event {
            ServerEvent::Started { .. } => {
                if let Some(state) = serving.host().state(event.session) {
                    report.sessions.insert(event.session, state);
                }
            }
            ServerEvent::Ended(_) => {
                report.sessions.remove(&event.session);
                report.ended += 1;
            }
            ServerEvent::LevelChanged { .. } | ServerEvent::SourceFailed(_) => {}
        }
    }
}

fn serve(
    mut serving: Serving,
    shared: &Shared,
    sessions: Option<u64>,
    tell: &impl Fn(News<'_>),
) -> Result<(), EndpointError> {
    let mut noted = Instant::now();
    let mut deadline = None;
    loop {
        serving.step()?;
        while let Some(event) = serving.poll_event() {
            shared.note_event(&serving, &event);
            tell(News::Event(&event));
        }
        if noted.elapsed() >= REPORT_EVERY {
            noted = Instant::now();
            shared.note(&serving);
        }
        let is_enough = sessions.is_some_and(|sessions| shared.lock().ended >= sessions);
        if is_enough || shared.cancelled.load(Ordering::Relaxed) {
            let deadline = *deadline.get_or_insert_with(|| {
                serving.stop();
                Instant::now() + GOODBYE
            });
            if serving.host().sessions() == 0 || Instant::now() >= deadline {
                shared.note(&serving);
                return Ok(());
            }
        }
    }
}
