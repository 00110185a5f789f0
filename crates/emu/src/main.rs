//! The emulator as a program of its own: it gets a plan, streams, and writes the run directory.
//!
//! It is started by `framewire run`; its standard output carries one JSON event per line. It is a program because a
//! user namespace needs a process without threads, and because everything it makes must vanish with it.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this program is a world: it reads the clock and owns threads"
)]

mod control;
mod external;
mod run;

use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: framewire-emu run --plan FILE [--parent PROCESS] | doctor --json | --version";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["run", "--plan", plan] => report(run::run(Path::new(plan), None)),
        ["run", "--plan", plan, "--parent", process] => match process.parse() {
            Ok(process) => report(run::run(Path::new(plan), Some(process))),
            Err(_) => report(Err(control::Failure::input("--parent", "allowed is the number of a process"))),
        },
        ["doctor", "--json"] => doctor(),
        ["--version"] => {
            println!("framewire-emu {}", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
        ["--help"] => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(control::Failure::INPUT)
        }
    }
}

fn report(outcome: Result<u8, control::Failure>) -> ExitCode {
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            control::emit(&framewire_world::Event::Error { message: &failure.to_string() });
            ExitCode::from(failure.exit_code())
        }
    }
}

/// What `doctor --json` says.
#[derive(serde::Serialize)]
struct Findings {
    version: &'static str,
    /// The version of the sources that this program was built from, to be compared with the native module's.
    sources: &'static str,
    #[serde(flatten)]
    found: framewire_emu::Preflight,
}

fn doctor() -> ExitCode {
    let (version, sources) = (env!("CARGO_PKG_VERSION"), env!("FRAMEWIRE_SOURCES"));
    let findings = Findings { version, sources, found: framewire_emu::preflight() };
    println!("{}", serde_json::to_string(&findings).expect("invariant: findings are texts and booleans"));
    ExitCode::SUCCESS
}
