//! What the program tells the one who started it: JSON lines on standard output.

use std::io::Write;

use serde::Serialize;

/// One line of output.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event<'a> {
    /// The networks stand and the streams begin.
    Started {
        /// Names of the flows, in the scenario's order.
        flows: Vec<&'a str>,
        /// Frames of the movie.
        frames: u32,
        /// Length of the movie in seconds.
        movie_s: f64,
    },
    /// Where one flow is; a few per second.
    Progress(FlowReport<'a>),
    /// Everything was written.
    Finished {
        /// The run directory.
        directory: &'a str,
        /// `complete` or `partial`.
        status: &'a str,
        /// Flows that broke, each with its reason; the others' results are valid.
        failures: &'a [String],
    },
    /// The run failed; nothing follows.
    Error {
        /// What went wrong, naming the thing and what is allowed.
        message: &'a str,
    },
}

/// Where one flow is.
#[derive(Debug, Serialize)]
pub struct FlowReport<'a> {
    /// Name of the flow.
    pub flow: &'a str,
    /// Seconds since the first frame was due.
    pub elapsed_s: f64,
    /// Frames given to the transport; null for an application that reads the movie itself.
    pub offered: Option<u32>,
    /// Frames of the movie.
    pub frames: u32,
    /// Frames that arrived whole.
    pub arrived: u32,
    /// Frames that the sender gave up or that came with something missing; null for applications.
    pub dropped: Option<u32>,
    /// Payload received over the last interval, in bit/s.
    pub throughput_bps: u64,
    /// `streaming`, `draining` or `done`.
    pub state: &'a str,
}

/// Writes one event as a line. A reader that is gone does not stop the run: its death is signalled separately.
pub fn emit(event: &Event<'_>) {
    let mut line = serde_json::to_string(event).expect("invariant: events hold only strings and numbers");
    line.push('\n');
    let mut output = std::io::stdout().lock();
    let _ = output.write_all(line.as_bytes()).and_then(|()| output.flush());
}
