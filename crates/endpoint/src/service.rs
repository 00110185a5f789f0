//! A server on a thread of its own, for callers that must not block: it is given what comes and asked what is known.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use framewire_adaptive::datagram::Drops;
use framewire_adaptive::host::HostEvent;
use framewire_adaptive::server::{ServerEvent, ServerState};
use framewire_units::Lateness;

use crate::error::EndpointError;
use crate::serve::Serving;

/// How long the teardown to the clients may take when the server ends: a change of state waits for it.
const TEARDOWN_TIME: Duration = Duration::from_millis(200);

/// How often what is known of the sessions is noted.
const REPORT_EVERY: Duration = Duration::from_millis(100);

/// What the thread reports.
pub enum ServiceEvent<'a> {
    /// Something happened in a session.
    Event(&'a HostEvent),
    /// What is known now, at the interval asked for.
    Report(&'a Report),
    /// As many sessions have ended as were to be served, or the stream is over and every client has it.
    Enough,
    /// A socket is broken.
    Broken(EndpointError),
}

/// What is known of a service.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// For video, and for control packets.
    pub addresses: Option<[SocketAddr; 2]>,
    /// What each session that is open knows.
    pub sessions: BTreeMap<u64, Session>,
    /// Sessions that ended.
    pub ended: u64,
    /// Datagrams of no session that were thrown away.
    pub drops: Drops,
    /// By how much packets left late.
    pub lateness: Lateness,
}

/// What is known of a session that is open.
#[derive(Clone, Debug)]
pub struct Session {
    /// When it began.
    pub began: Instant,
    /// What its server reports.
    pub state: ServerState,
    /// Changes of level so far.
    pub level_changes: u64,
}

/// A server at work; it ends when this is dropped.
pub struct Service {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    cancelled: AtomicBool,
    /// A live source has come further since the thread last looked.
    more: AtomicBool,
    /// It will not come any further.
    over: AtomicBool,
    /// Its other end interrupts the thread where it waits for the network.
    waker: UnixStream,
    report: Mutex<Report>,
}

/// How a service goes on.
#[derive(Clone, Copy, Debug)]
pub struct ServiceOptions {
    /// It ends after so many sessions; `None`: never.
    pub sessions: Option<u64>,
    /// How often it reports its state; `None`: never.
    pub report_every: Option<Duration>,
}

impl Service {
    /// Serves until it is stopped, or until so many sessions have ended.
    ///
    /// # Errors
    /// When there can be no thread, or a socket is broken.
    pub fn start(
        serving: Serving,
        terms: ServiceOptions,
        tell: impl Fn(ServiceEvent<'_>) + Send + 'static,
    ) -> Result<Self, String> {
        let addresses = serving.addresses().map_err(|error| error.to_string())?;
        let (waker, wakeups) = waker().map_err(|error| format!("no pair of sockets can be had: {error}"))?;
        let report = Mutex::new(Report { addresses: Some(addresses), ..Report::default() });
        let (cancelled, more, over) = (AtomicBool::new(false), AtomicBool::new(false), AtomicBool::new(false));
        let shared = Arc::new(Shared { cancelled, more, over, waker, report });
        let of_thread = shared.clone();
        let thread = std::thread::Builder::new().name("vtp-server".to_owned()).spawn(move || {
            match serve(serving, &of_thread, &wakeups, terms, &tell) {
                Ok(()) if of_thread.cancelled.load(Ordering::Relaxed) => {}
                Ok(()) => tell(ServiceEvent::Enough),
                Err(error) => tell(ServiceEvent::Broken(error)),
            }
        });
        let thread = thread.map_err(|error| format!("no thread can be started: {error}"))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// What is known.
    pub fn report(&self) -> Report {
        self.shared.lock().clone()
    }

    /// The live source has come further.
    pub fn more(&self) {
        self.shared.more.store(true, Ordering::Release);
        self.shared.wake();
    }

    /// The live source has come to its end: the service ends with its last session.
    pub fn end(&self) {
        self.shared.over.store(true, Ordering::Release);
        self.more();
    }

    /// Sends a teardown to every client, closes the sockets, and returns what came of it.
    pub fn stop(mut self) -> Report {
        self.shared.cancelled.store(true, Ordering::Relaxed);
        self.shared.wake();
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

/// Both ends of what wakes the thread up; neither ever waits.
fn waker() -> std::io::Result<(UnixStream, UnixStream)> {
    let (waker, wakeups) = UnixStream::pair()?;
    waker.set_nonblocking(true)?;
    wakeups.set_nonblocking(true)?;
    Ok((waker, wakeups))
}

impl Shared {
    /// Where the pipe is full, the thread has not read it yet, and will.
    fn wake(&self) {
        let _ = (&self.waker).write(&[1]);
    }

    fn lock(&self) -> MutexGuard<'_, Report> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, serving: &Serving) {
        let (host, mut report) = (serving.host(), self.lock());
        for (&session, known) in &mut report.sessions {
            if let Some(now) = host.state(session) {
                known.state = now;
            }
        }
        report.drops = host.drops();
        report.lateness = host.lateness().clone();
    }

    fn note_event(&self, serving: &Serving, event: &HostEvent) {
        let mut report = self.lock();
        match event.event {
            ServerEvent::Started { .. } => {
                if let Some(state) = serving.host().state(event.session) {
                    let known = Session { began: Instant::now(), state, level_changes: 0 };
                    report.sessions.insert(event.session, known);
                }
            }
            ServerEvent::Ended(_) => {
                report.sessions.remove(&event.session);
                report.ended += 1;
            }
            ServerEvent::LevelChanged { .. } => {
                if let Some(known) = report.sessions.get_mut(&event.session) {
                    known.level_changes += 1;
                }
            }
            ServerEvent::SourceFailed(_) => {}
        }
    }
}

fn serve(
    mut serving: Serving,
    shared: &Shared,
    wakeups: &UnixStream,
    terms: ServiceOptions,
    tell: &impl Fn(ServiceEvent<'_>),
) -> Result<(), EndpointError> {
    let (mut noted, mut reported) = (Instant::now(), Instant::now());
    let mut deadline = None;
    loop {
        serving.step_or(&[wakeups.as_fd()])?;
        // In this order: a wake-up that comes later belongs to a flag that was set before it.
        take_wakeups(wakeups);
        let is_over = shared.over.load(Ordering::Acquire);
        if shared.more.swap(false, Ordering::AcqRel) {
            serving.handle_more();
        }
        while let Some(event) = serving.poll_event() {
            shared.note_event(&serving, &event);
            tell(ServiceEvent::Event(&event));
        }
        if noted.elapsed() >= REPORT_EVERY {
            noted = Instant::now();
            shared.note(&serving);
        }
        if terms.report_every.is_some_and(|interval| reported.elapsed() >= interval) {
            reported = Instant::now();
            shared.note(&serving);
            let report = shared.lock().clone();
            tell(ServiceEvent::Report(&report));
        }
        let is_enough = terms.sessions.is_some_and(|sessions| shared.lock().ended >= sessions)
            || (is_over && serving.host().sessions() == 0);
        if is_enough || shared.cancelled.load(Ordering::Relaxed) {
            let deadline = *deadline.get_or_insert_with(|| {
                serving.stop();
                Instant::now() + TEARDOWN_TIME
            });
            if serving.host().sessions() == 0 || Instant::now() >= deadline {
                shared.note(&serving);
                return Ok(());
            }
        }
    }
}

/// Takes all wake-ups that are waiting.
fn take_wakeups(mut wakeups: &UnixStream) {
    let mut bytes = [0; 64];
    while matches!(wakeups.read(&mut bytes), Ok(64)) {}
}
