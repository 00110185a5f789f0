//! What an external flow is to run, and whether this machine can.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use framewire_emu::{Clock, RECEIVER_ADDRESS, SENDER_ADDRESS};
use framewire_scenario::{FlowKind, Placeholder, Program, Scenario};
use framewire_session::ExternalSetup;

use super::user::{Rights, User};
use crate::control::{Failure, FlowProgress, StopFlag};

/// One external flow, with all that its two threads need.
pub struct ExternalFlow<'a> {
    /// The flow.
    pub setup: &'a ExternalSetup,
    /// Name of the file of the movie as received.
    pub received: String,
    /// Its port.
    pub port: u16,
    /// The movie's file.
    pub movie: &'a Path,
    /// The file that the movie was made of, where it is as it was; else the movie's.
    pub source: &'a Path,
    /// The run directory.
    pub directory: &'a Path,
    /// The user that the applications run as.
    pub user: User,
    /// The run's clock.
    pub clock: Clock,
    /// Counters to be shown.
    pub progress: &'a FlowProgress,
    /// Ends the flow early.
    pub stop: &'a StopFlag,
}

impl ExternalFlow<'_> {
    /// The user that the sending application runs as, and what it may do.
    pub fn sender_rights(&self) -> Rights {
        Rights { user: self.user, capabilities: self.setup.sender.capabilities }
    }

    /// The user that the receiving application runs as, and what it may do.
    pub fn receiver_rights(&self) -> Rights {
        Rights { user: self.user, capabilities: self.setup.receiver.capabilities }
    }

    /// What is started at the sender.
    pub fn sender_arguments(&self) -> Vec<String> {
        self.setup.sender.program.arguments(|placeholder| self.value(placeholder, SENDER_ADDRESS))
    }

    /// What is started at the receiver.
    pub fn receiver_arguments(&self) -> Vec<String> {
        self.setup.receiver.program.arguments(|placeholder| self.value(placeholder, RECEIVER_ADDRESS))
    }

    /// Name of the log of the application at `end`, in the run directory.
    pub fn log_name(&self, end: &str) -> String {
        format!("{LOGS}/{}.{end}.log", self.setup.common.name())
    }

    /// The log of the application at `end`.
    pub fn log(&self, end: &str) -> PathBuf {
        self.directory.join(self.log_name(end))
    }

    fn value(&self, placeholder: Placeholder, own_address: std::net::Ipv4Addr) -> String {
        let plan = &self.setup.plan;
        let rate = plan.frame_rate();
        match placeholder {
            Placeholder::Movie => self.movie.to_string_lossy().into_owned(),
            Placeholder::Source => self.source.to_string_lossy().into_owned(),
            Placeholder::Receiver => RECEIVER_ADDRESS.to_string(),
            Placeholder::Sender => SENDER_ADDRESS.to_string(),
            Placeholder::Address => own_address.to_string(),
            Placeholder::Port => self.port.to_string(),
            Placeholder::Duration => rate.time_of(u64::from(plan.len())).as_secs_f64().to_string(),
            Placeholder::FrameRate => format!("{}/{}", rate.numerator, rate.denominator),
            Placeholder::Parser => plan.movie().index.sequence.codec.gstreamer_parser().to_owned(),
            Placeholder::Caps => {
                let sequence = &plan.movie().index.sequence;
                sequence.codec.gstreamer_caps(sequence.mpeg2).to_owned()
            }
        }
    }
}

/// Directory of the logs in the run directory.
const LOGS: &str = "logs";

/// Refuses a scenario whose programs this machine does not have, before anything is made, and makes the directory of
/// the logs.
///
/// # Errors
/// When a program or a GStreamer element is not there, or the directory cannot be made.
pub fn check(scenario: &Scenario, directory: &Path) -> Result<(), Failure> {
    let mut elements = BTreeMap::new();
    for (number, flow) in scenario.flows.iter().enumerate() {
        let FlowKind::External(applications) = &flow.kind else { continue };
        for (end, program) in [("sender", &applications.sender.program), ("receiver", &applications.receiver.program)] {
            check_program(&scenario.flow_key(number, end), program)?;
            for element in program.elements() {
                elements.entry(element).or_insert_with(|| scenario.flow_key(number, &format!("{end}.pipeline")));
            }
        }
        let logs = directory.join(LOGS);
        std::fs::create_dir_all(&logs).map_err(|error| Failure::input(logs.display(), error))?;
    }
    elements.iter().try_for_each(|(element, key)| check_element(key, element))
}

fn check_program(key: &str, program: &Program) -> Result<(), Failure> {
    let name = program.arguments(|_| String::new()).swap_remove(0);
    if find(&name).is_some() {
        return Ok(());
    }
    let hint = match program {
        Program::Pipeline(_) => "it belongs to GStreamer's tools (Debian: gstreamer1.0-tools)",
        Program::Command(_) => "allowed is a program in PATH, or the path of one",
    };
    Err(Failure::machine(format!("{key}: the program \"{name}\" is not installed; {hint}")))
}

/// The file that execvp(3) would run.
fn find(name: &str) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(is_program);
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(is_program)
}

/// Asks GStreamer for an element. The first question also lets it look at its plugins if it must: that takes seconds,
/// and the first run after an installation would find its pipelines late.
fn check_element(key: &str, element: &str) -> Result<(), Failure> {
    const ASK: &str = "gst-inspect-1.0";
    if find(ASK).is_none() {
        // The pipeline itself will report it.
        return Ok(());
    }
    let mut command = Command::new(ASK);
    // A plugin of another version than GStreamer's own exists as well.
    command
        .args(["--exists", "--atleast-version=0.0", element])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let status = command.status().map_err(|error| Failure::machine(format!("{ASK}: {error}")))?;
    if status.success() {
        return Ok(());
    }
    let hint = "GStreamer looks for plugins in its own directories and in GST_PLUGIN_PATH";
    Err(Failure::machine(format!("{key}: there is no GStreamer element \"{element}\"; {hint}")))
}
