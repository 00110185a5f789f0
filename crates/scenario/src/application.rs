//! Programs of the user's own at the two ends of a flow: GStreamer pipelines or commands.

use schemars::JsonSchema;
use serde::Serialize;
use toml::Value;

use crate::error::ScenarioError;
use crate::flow::{ExternalFlow, Flow, FlowKind};
use crate::movie::Movie;
use crate::names::keywords;
use crate::placeholder::{Placeholder, Template};
use crate::scenario::Scenario;
use crate::section::{Section, Shown};
use crate::shell::split;

/// Most arguments of a command, and most words of a pipeline.
const MOST_ARGUMENTS: usize = 1_000;
/// Most bytes of a command or a pipeline.
const LONGEST: usize = 32 * 1024;

/// What runs at one end of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub enum Program {
    /// In the syntax of `gst-launch-1.0`, as behind that command in a shell: quotes group, `\` escapes.
    #[serde(rename = "pipeline")]
    Pipeline(String),
    /// A program and its arguments; no shell reads them.
    #[serde(rename = "command")]
    Command(Vec<String>),
}

keywords! {
    /// What the sender's application gets on its standard input.
    Input {
        /// Each frame when it is due, as from a live source.
        Frames = "frames",
        /// Nothing: it reads `{movie}` or `{source}` and paces itself.
        Nothing = "none",
    }
}

keywords! {
    /// What an application that is run as root may do beyond what any user may (capabilities(7)).
    Capabilities {
        /// Nothing: it has what root owns, and no more.
        None = "none",
        /// All that framewire has.
        All = "all",
    }
}

impl Capabilities {
    fn read(section: &mut Section) -> Result<Self, ScenarioError> {
        Ok(section.text("capabilities")?.unwrap_or(Self::None))
    }
}

/// The application at the sending end.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Sender {
    /// What runs there.
    #[serde(flatten)]
    pub program: Program,
    /// What it gets on its standard input. By default frames where it plainly reads it: `fdsrc`, `-`, `pipe:0`.
    pub input: Input,
    /// True when it waits for the receiver to connect; it is then started first.
    pub listens: bool,
    /// What it may do where framewire is run as root. By default only what the owner of its files may, which is root.
    pub capabilities: Capabilities,
}

/// The application at the receiving end. Its standard output is the elementary stream as received.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Receiver {
    /// What runs there.
    #[serde(flatten)]
    pub program: Program,
    /// What it may do where framewire is run as root. By default only what the owner of its files may, which is root.
    pub capabilities: Capabilities,
}

impl Program {
    /// Runs a pipeline: quiet, because its standard output may be the stream, and ending a pipeline that is
    /// interrupted as a stream that ends.
    const LAUNCH: [&str; 3] = ["gst-launch-1.0", "--quiet", "--eos-on-shutdown"];

    /// The program and its arguments, with `value` in the place of each placeholder.
    pub fn arguments(&self, value: impl Fn(Placeholder) -> String) -> Vec<String> {
        let filled = self.templates().map(|template| template.fill(&value));
        match self {
            Self::Pipeline(_) => Self::LAUNCH.iter().map(|&word| word.to_owned()).chain(filled).collect(),
            Self::Command(_) => filled.collect(),
        }
    }

    /// True when it is given what `placeholder` stands for.
    pub(crate) fn mentions(&self, placeholder: Placeholder) -> bool {
        self.templates().any(|template| template.mentions(placeholder))
    }

    /// What a message calls it: the program's name, or `gst-launch-1.0`.
    pub fn name(&self) -> &str {
        match self {
            Self::Pipeline(_) => Self::LAUNCH[0],
            Self::Command(words) => words.first().map_or("", String::as_str),
        }
    }

    /// Names of the GStreamer elements that a pipeline is made of; none of a command.
    pub fn elements(&self) -> Vec<String> {
        let Self::Pipeline(_) = self else { return vec![] };
        let words = self.words().unwrap_or_default();
        // An element's name begins a link; so do caps (video/mpeg), properties and references to pads (mux.sink_0).
        let is_name = |word: &&String| word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        words.split(|word| word == "!").filter_map(|link| link.first()).filter(is_name).cloned().collect()
    }

    fn templates(&self) -> impl Iterator<Item = Template> {
        let words = self.words().expect("invariant: quotes were checked when it was read");
        words.into_iter().map(|word| Template::parse(&word).expect("invariant: placeholders were checked as well"))
    }

    fn words(&self) -> Result<Vec<String>, &'static str> {
        match self {
            Self::Pipeline(text) => split(text),
            Self::Command(words) => Ok(words.clone()),
        }
    }

    /// True when it plainly reads its standard input: an `fdsrc` on descriptor 0, or an argument that names it.
    fn reads_standard_input(&self) -> bool {
        let words = self.words().unwrap_or_default();
        match self {
            Self::Pipeline(_) => words.split(|word| word == "!").any(|element| {
                element.iter().any(|word| word == "fdsrc")
                    && element.iter().all(|word| !word.starts_with("fd=") || word == "fd=0")
            }),
            Self::Command(_) => {
                let names = ["-", "pipe:", "pipe:0", "fd:", "/dev/stdin"];
                words.iter().skip(1).any(|word| names.contains(&word.as_str()))
            }
        }
    }

    /// Reads `pipeline` or `command`, of which exactly one is there, and refuses placeholders that are not `allowed`.
    fn read(section: &mut Section, allowed: &[Placeholder]) -> Result<Self, ScenarioError> {
        const ONE: &str = "pipeline = \"...\" (GStreamer) or command = [\"program\", \"argument\", ...]";
        let (pipeline_key, command_key) = (section.key("pipeline"), section.key("command"));
        let (key, program) = match (section.string("pipeline")?, section.take("command")) {
            (Some(pipeline), None) => (pipeline_key, Self::Pipeline(pipeline)),
            (None, Some(command)) => (command_key.clone(), Self::Command(arguments(&command_key, command)?)),
            (None, None) => return Err(ScenarioError::missing(&pipeline_key, format!("either {ONE}"))),
            (Some(_), Some(_)) => {
                return Err(ScenarioError::new(command_key, format!("cannot stand beside pipeline; allowed is {ONE}")));
            }
        };
        program.check(&key, allowed)?;
        Ok(program)
    }

    fn check(&self, key: &str, allowed: &[Placeholder]) -> Result<(), ScenarioError> {
        let words = self.words().map_err(|problem| ScenarioError::new(key, problem))?;
        let bytes: usize = words.iter().map(String::len).sum();
        if words.is_empty() || words[0].is_empty() {
            return Err(ScenarioError::value(key, "nothing", "a program to run"));
        }
        if words.len() > MOST_ARGUMENTS || bytes > LONGEST {
            let shown = format!("{} words of {bytes} bytes", words.len());
            return Err(ScenarioError::value(key, shown, format!("{MOST_ARGUMENTS} words of {LONGEST} bytes in all")));
        }
        if words.iter().any(|word| word.contains('\0')) {
            return Err(ScenarioError::value(key, "a character of value 0", "text"));
        }
        let known = || allowed.iter().map(|name| format!("{{{name}}}")).collect::<Vec<_>>().join(", ");
        for word in &words {
            let template = Template::parse(word).map_err(|unknown| {
                ScenarioError::value(key, unknown, format!("one of {} ({{{{...}}}} stands for itself)", known()))
            })?;
            if let Some(foreign) = template.placeholders().find(|placeholder| !allowed.contains(placeholder)) {
                return Err(ScenarioError::value(key, format!("{{{foreign}}}"), format!("one of {}", known())));
            }
        }
        Ok(())
    }
}

impl Sender {
    const KEYS: &'static [&'static str] = &["pipeline", "command", "input", "listens", "capabilities"];

    pub(crate) fn read(flow: &mut Section) -> Result<Option<Self>, ScenarioError> {
        let Some(mut section) = flow.section("sender", Self::KEYS)? else { return Ok(None) };
        let program = Program::read(&mut section, Placeholder::ALL)?;
        let by_itself = if program.reads_standard_input() { Input::Frames } else { Input::Nothing };
        let (input_key, listens_key) = (section.key("input"), section.key("listens"));
        let input = section.text("input")?.unwrap_or(by_itself);
        let reads_file = [Placeholder::Movie, Placeholder::Source].iter().any(|&file| program.mentions(file));
        if input == Input::Nothing && !reads_file {
            let problem = "\"none\" is not allowed for a sender without {movie} or {source}: it would send nothing of the movie; \
                           allowed is \"frames\": each frame on its standard input when it is due";
            return Err(ScenarioError::new(input_key, problem));
        }
        let listens = match section.take("listens") {
            None => false,
            Some(Value::Boolean(listens)) => listens,
            Some(other) => return Err(ScenarioError::value(&listens_key, Shown(&other), "true or false")),
        };
        Ok(Some(Self { program, input, listens, capabilities: Capabilities::read(&mut section)? }))
    }
}

impl Receiver {
    const KEYS: &'static [&'static str] = &["pipeline", "command", "capabilities"];

    pub(crate) fn read(flow: &mut Section) -> Result<Option<Self>, ScenarioError> {
        let Some(mut section) = flow.section("receiver", Self::KEYS)? else { return Ok(None) };
        // The movie is what it is to receive.
        let sent = [Placeholder::Movie, Placeholder::Source];
        let allowed: Vec<Placeholder> = Placeholder::ALL.iter().copied().filter(|name| !sent.contains(name)).collect();
        let program = Program::read(&mut section, &allowed)?;
        Ok(Some(Self { program, capabilities: Capabilities::read(&mut section)? }))
    }
}

impl Scenario {
    /// A sender that reads the original sends what the movie was made of, which has to be the movie.
    pub(crate) fn check_source(&self, index: usize, flow: &Flow) -> Result<(), ScenarioError> {
        let FlowKind::External(ExternalFlow { sender, .. }) = &flow.kind else { return Ok(()) };
        if !sender.program.mentions(Placeholder::Source) {
            return Ok(());
        }
        let problem = match &self.movie.source {
            Some(_) if self.movie.bitrate.is_none() => return Ok(()),
            Some(source) if source != Movie::LAB => "movie.bitrate encodes the file anew",
            _ => "the lab makes the movie",
        };
        let key = match sender.program {
            Program::Pipeline(_) => "pipeline",
            Program::Command(_) => "command",
        };
        let allowed = format!("{{movie}} here: {problem}, so that the original is not what is received");
        Err(ScenarioError::value(&format!("flow.{index}.sender.{key}"), "{source}", allowed))
    }

    /// What of this scenario only the emulated world has, with its key; `None` when every world can run it.
    pub fn needs_emulation(&self) -> Option<String> {
        let index = self.flows.iter().position(|flow| matches!(flow.kind, FlowKind::External(_)))?;
        let key = self.flow_key(index, "sender");
        Some(format!("{key}: applications of your own run only in the emulated world (--world emulated), in real time"))
    }
}

fn arguments(key: &str, value: Value) -> Result<Vec<String>, ScenarioError> {
    const ALLOWED: &str = "a list of texts, the program first";
    let Value::Array(items) = value else { return Err(ScenarioError::value(key, Shown(&value), ALLOWED)) };
    let text = |item: Value| match item {
        Value::String(text) => Ok(text),
        other => Err(ScenarioError::value(key, Shown(&other), ALLOWED)),
    };
    items.into_iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_input_is_seen_where_it_is_plainly_read() {
        let pipeline = |text: &str| Program::Pipeline(text.to_owned()).reads_standard_input();
        assert!(pipeline("fdsrc ! mpegvideoparse ! fakesink"));
        assert!(pipeline("fdsrc blocksize=1000 fd=0 ! fakesink"));
        assert!(!pipeline("fdsrc fd=3 ! fakesink"));
        assert!(!pipeline("filesrc location=fdsrc ! fakesink"));
        let command = |words: &[&str]| {
            Program::Command(words.iter().map(|&word| word.to_owned()).collect()).reads_standard_input()
        };
        assert!(command(&["ffmpeg", "-i", "pipe:0", "-f", "mpegts", "tcp://x"]));
        assert!(command(&["ffmpeg", "-i", "-", "out"]));
        assert!(!command(&["-", "movie"]));
    }

    #[test]
    fn the_elements_of_a_pipeline_are_named() {
        let text = "fdsrc ! tsdemux name=d d. ! video/mpeg ! queue ! mux.sink_0 mpegtsmux name=mux ! fakesink";
        let elements = Program::Pipeline(text.to_owned()).elements();
        assert_eq!(elements, ["fdsrc", "tsdemux", "queue", "fakesink"], "as far as they begin a link");
        assert!(Program::Command(vec!["fdsrc".to_owned()]).elements().is_empty());
    }

    #[test]
    fn a_pipeline_is_run_by_gst_launch_and_a_value_with_spaces_stays_one_argument() {
        let program = Program::Pipeline("filesrc location={movie} ! tcpclientsink port={port}".to_owned());
        let value = |placeholder| match placeholder {
            Placeholder::Movie => "/a b/c.m2v".to_owned(),
            _ => "5004".to_owned(),
        };
        let expected =
            ["gst-launch-1.0", "--quiet", "--eos-on-shutdown", "filesrc", "location=/a b/c.m2v", "!", "tcpclientsink"];
        let arguments = program.arguments(value);
        assert_eq!(arguments[..7], expected);
        assert_eq!(arguments[7..], ["port=5004"]);
    }
}
