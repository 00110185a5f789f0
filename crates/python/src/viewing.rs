//! Viewing an adaptive stream over this kernel's sockets.

use std::cell::RefCell;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use framewire_adaptive::client::{Client, ClientEvent, ClientSettings, PlayerSettings, ReportKind};
use framewire_adaptive::rate_control::RateControl;
use framewire_endpoint::{Viewed, Viewing, random_session};
use framewire_media::access_unit::Codec;
use framewire_media::ladder::Level;
use framewire_units::{Duration, Timestamp};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::endpoint::{address, conclude, failure, of_drops, shared_key, tell, title_of};
use crate::host_events::PATIENCE;
use crate::interruption::interruptible;
use crate::received::Received;
use crate::sound::Sound;

/// Silence at the beginning that is worth a word: requests are repeated after 0.25, 0.5 and each further second.
const SILENCE: Duration = Duration::from_secs(3);

/// Receives a stream until it ends or is interrupted, into a file where `path` is given; audio goes into a file beside it,
/// whose name ends as the codec's does. Files that are there already go only with `replace`. `told` is called with
/// `"event"` and JSON. Returns what came of it, as JSON.
#[pyfunction]
#[pyo3(signature = (path, told, *, title, data, control, tfrc, repeats, key, replace))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn view_stream(
    py: Python<'_>,
    path: Option<PathBuf>,
    told: Py<PyAny>,
    title: &str,
    data: &str,
    control: &str,
    tfrc: bool,
    repeats: bool,
    key: Option<Vec<u8>>,
    replace: bool,
) -> PyResult<String> {
    let settings = ClientSettings {
        key: shared_key(key)?,
        reports: if tfrc { RateControl::Tfrc.reports() } else { ReportKind::Control },
        player: repeats.then(PlayerSettings::default),
        packet_events: true,
        ..ClientSettings::paper(title_of(title)?, random_session().map_err(failure)?)
    };
    let viewing = Viewing::open(Client::new(settings), address("data", data)?, address("control", control)?);
    let viewing = viewing.map_err(failure)?;
    let sink = sink(path.as_deref(), replace)?;
    // Nothing goes beside /dev/null.
    let beside = path.filter(|path| path.is_file());
    let mut sound = Sound::new(beside, replace);
    let ((viewed, watch), interruption) = interruptible(py, |cancel| {
        let watch = RefCell::new(Watch::new());
        let viewed = viewing.run(
            sink,
            || {
                watch.borrow_mut().poll().inspect(|event| tell(&told, event));
                cancel.is_raised()
            },
            |now, event| {
                sound.handle(event);
                watch.borrow_mut().handle(event);
                if let Some(text) = of_client(now, event) {
                    tell(&told, &text);
                }
            },
        );
        (viewed, watch.into_inner())
    });
    let audio = sound.finish()?;
    let of_viewed = |viewed: Viewed| {
        let mut document = of_viewed(&viewed);
        document["audio"] = audio;
        document["codec"] = watch.codec.map(|codec| codec.to_string()).into();
        document["frames_per_second"] = watch.frames_per_second.into();
        document
    };
    conclude(py, viewed.map(of_viewed), interruption)
}

fn sink(path: Option<&Path>, replace: bool) -> PyResult<Box<dyn Write + Send>> {
    let Some(path) = path else { return Ok(Box::new(io::sink())) };
    let file = Received::open(path, replace).map_err(|error| failure(format!("{}: {error}", path.display())))?;
    Ok(Box::new(file))
}

/// What is seen in passing: the codec, and what does not come although it should. Each of these is told once.
struct Watch {
    began: Instant,
    /// When the first packet of video came.
    video: Option<Instant>,
    is_answered: bool,
    /// The server has a round trip: it hears the reports.
    is_heard: bool,
    /// Something but the top level comes, so that reports matter: `fixed` sends the top level and listens to none.
    is_below_top: bool,
    levels: usize,
    is_told_silent: bool,
    is_told_unheard: bool,
    codec: Option<Codec>,
    frames_per_second: Option<f64>,
}

impl Watch {
    fn new() -> Self {
        Self {
            began: Instant::now(),
            video: None,
            is_answered: false,
            is_heard: false,
            is_below_top: false,
            levels: 0,
            is_told_silent: false,
            is_told_unheard: false,
            codec: None,
            frames_per_second: None,
        }
    }

    fn handle(&mut self, event: &ClientEvent) {
        match event {
            ClientEvent::Described(description) => {
                self.levels = description.rates.len();
                let duration = description.duration.as_secs_f64();
                self.frames_per_second = (duration > 0.0).then(|| f64::from(description.frames) / duration);
            }
            ClientEvent::Packet { header, .. } => {
                self.video.get_or_insert_with(Instant::now);
                self.is_heard |= !header.round_trip.is_zero();
                self.is_below_top |= !header.audio && usize::from(header.level) + 1 < self.levels;
            }
            ClientEvent::FrameComplete(frame) if frame.key && self.codec.is_none() => {
                self.codec = Level::codec_of(&frame.bytes);
            }
            _ => {}
        }
        self.is_answered = true;
    }

    fn poll(&mut self) -> Option<Value> {
        let now = Instant::now();
        let is_silent = !self.is_answered && now - self.began >= SILENCE;
        if is_silent && !self.is_told_silent {
            self.is_told_silent = true;
            return Some(json!({ "event": "no answer", "for_s": SILENCE.as_secs_f64() }));
        }
        let is_late = self.video.is_some_and(|video| now - video >= PATIENCE);
        if is_late && !self.is_heard && self.is_below_top && !self.is_told_unheard {
            self.is_told_unheard = true;
            return Some(json!({ "event": "unheard", "for_s": PATIENCE.as_secs_f64() }));
        }
        None
    }
}

fn of_client(now: Timestamp, event: &ClientEvent) -> Option<Value> {
    let at_s = now.as_secs_f64();
    Some(match event {
        ClientEvent::FrameComplete(frame) => json!({
            "at_s": at_s, "event": "frame", "frame": frame.frame, "level": frame.level, "key": frame.key,
            "bytes": frame.bytes.len(), "arrived_s": frame.arrived.as_secs_f64(),
            "media_time_s": frame.media_time.as_secs_f64(),
        }),
        ClientEvent::FramesLost { first, count } => {
            json!({ "at_s": at_s, "event": "lost", "frame": first, "count": count })
        }
        ClientEvent::LevelChanged { frame, from, to } => {
            json!({ "at_s": at_s, "event": "level", "frame": frame, "from": from, "to": to })
        }
        ClientEvent::Described(description) => json!({
            "at_s": at_s, "event": "described", "frames": description.frames,
            "duration_s": description.duration.as_secs_f64(), "client_buffer": description.buffer.as_bytes(),
            "rates_bps": description.rates.iter().map(|rate| rate.as_bps()).collect::<Vec<_>>(),
        }),
        ClientEvent::Ended(reason) => json!({ "at_s": at_s, "event": "ended", "reason": format!("{reason:?}") }),
        ClientEvent::AudioLost { first, count } => {
            json!({ "at_s": at_s, "event": "audio lost", "packet": first, "count": count })
        }
        ClientEvent::Packet { .. } | ClientEvent::Audio(_) => return None,
    })
}

fn of_viewed(viewed: &Viewed) -> Value {
    json!({
        "ended": format!("{:?}", viewed.ended),
        "frames": viewed.state.frames_complete,
        "frames_lost": viewed.state.frames_lost,
        "frames_by_level": viewed.frames_by_level,
        "packets": viewed.state.packets,
        "packets_missing": viewed.state.missing,
        "packets_repeated": viewed.state.repeated,
        "bytes": viewed.written,
        "drops": of_drops(&viewed.state.drops),
    })
}
