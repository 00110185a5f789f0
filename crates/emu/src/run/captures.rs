//! The captures of a run: how large they may become, and what is read from them and kept of them at its end.

use std::path::{Path, PathBuf};

use framewire_emu::{CAPTURE_SIZE, CaptureOutcome, LaneRecord, keep_headers};
use framewire_scenario::{self as scenario, Captures, FlowKind, Scenario};
use framewire_session::FlowSetup;
use framewire_session::lifecycle::FlowOutcome;
use framewire_world::{group_name, port};
use nix::sys::statvfs::statvfs;

use super::tables::FlowTables;
use crate::control::StopDeadline;
use crate::external;

/// Of what is free on their disk, captures take a quarter: what is shortened stands there twice for a while, and one
/// half stays for the tables and for others.
const SHARE_OF_THE_FREE: u64 = 4;

/// True where applications send: what their packets carried is asked for at the end, so that they are captured whole.
pub fn has_applications<'a>(flows: impl IntoIterator<Item = &'a scenario::Flow>) -> bool {
    flows.into_iter().any(|flow| matches!(flow.kind, FlowKind::External(_)))
}

/// Where the packets of the network called `name` are captured.
pub fn file(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{name}.pcapng"))
}

/// Bytes that the capture of each of so many networks may take in `directory`.
pub fn size(directory: &Path, networks: usize) -> u64 {
    // Where the file system reports no limit, its own error will end a capture.
    let free = statvfs(directory).map_or(u64::MAX, |disk| disk.blocks_available().saturating_mul(disk.fragment_size()));
    share(free, networks)
}

fn share(free: u64, networks: usize) -> u64 {
    CAPTURE_SIZE.min(free / SHARE_OF_THE_FREE / networks.max(1) as u64)
}

/// The captures of a run whose streams have ended.
pub struct Captured<'a> {
    /// What was run.
    pub scenario: &'a Scenario,
    /// Which flows share a network.
    pub groups: &'a [Vec<usize>],
    /// Where they are.
    pub directory: &'a Path,
    /// What time there is for them.
    pub stop_deadline: StopDeadline,
}

impl Captured<'_> {
    fn file(&self, group: &[usize]) -> PathBuf {
        file(self.directory, &group_name(self.scenario, group))
    }

    /// Derives from the packets what the applications do not report: when frames were due that the lab did not offer,
    /// and why some did not come. The lab's own flows stay as they are.
    pub fn settle_flows(
        &self,
        setups: &[FlowSetup],
        flows: &mut [FlowOutcome],
        lanes: &mut [LaneRecord],
        tables: &[FlowTables],
    ) -> Vec<FlowSetup> {
        let mut settled = setups.to_vec();
        for (group, lane) in self.groups.iter().zip(lanes) {
            let capture = self.file(group);
            for &flow in group {
                let FlowSetup::External(setup) = &mut settled[flow] else { continue };
                *setup = external::timed(setup, tables[flow].first_payload);
                external::explain(setup, &mut flows[flow], lane, &capture, port(flow), &self.stop_deadline);
                if self.stop_deadline.was_over() {
                    cut_short(&mut lane.capture, "why frames did not come was not looked for in it");
                }
            }
        }
        settled
    }

    /// Shortens the captures that are whole for the sake of what the packets carried, as the scenario has them. One
    /// that cannot be shortened stays as it is, which its record says: no result depends on it.
    pub fn settle_files(&self, lanes: &mut [LaneRecord]) {
        let has_applications = |group: &[usize]| has_applications(group.iter().map(|&flow| &self.scenario.flows[flow]));
        for (group, lane) in self.groups.iter().zip(lanes).filter(|(group, _)| has_applications(group)) {
            let file = self.file(group);
            let settled = match self.scenario.captures {
                Captures::Full => Ok(true),
                Captures::Headers => keep_headers(&file, || self.stop_deadline.is_over()),
                Captures::None => std::fs::remove_file(&file).map(|()| true),
            };
            match (settled, &mut lane.capture) {
                (Ok(true), _) => {}
                (Ok(false), _) => cut_short(&mut lane.capture, "it holds whole packets and not their headers alone"),
                (Err(error), Some(capture)) => {
                    capture.error.get_or_insert_with(|| format!("it stays whole: {error}"));
                }
                (Err(_), None) => {}
            }
        }
        if self.scenario.captures == Captures::None {
            // It stays where one of its files did.
            let _ = std::fs::remove_dir(self.directory);
        }
    }
}

/// Notes what was not done with the capture of a lane, if it has one, each thing once.
fn cut_short(capture: &mut Option<CaptureOutcome>, what: &str) {
    let Some(capture) = capture else { return };
    match &mut capture.cut_short {
        Some(said) if said.contains(what) => {}
        Some(said) => *said = format!("{said}; {what}"),
        None => capture.cut_short = Some(what.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_take_a_quarter_of_what_is_free_and_eight_gibibytes_each_at_most() {
        assert_eq!(share(u64::MAX, 1), 8 << 30);
        assert_eq!(share(64 << 30, 2), 8 << 30);
        assert_eq!(share(64 << 30, 4), 4 << 30);
        assert_eq!(share(1 << 30, 1), 256 << 20);
        assert_eq!(share(0, 3), 0);
        assert!(size(&std::env::temp_dir(), 1) > 0);
    }

    #[test]
    fn what_was_not_done_with_a_capture_is_noted_once_each() {
        let mut none = None;
        cut_short(&mut none, "it was not read");
        assert_eq!(none, None, "there is nothing to say of a capture that is not there");
        let mut capture = Some(CaptureOutcome::default());
        for what in ["it was not read", "it is whole", "it was not read"] {
            cut_short(&mut capture, what);
        }
        let said = "it was not read; it is whole".to_owned();
        assert_eq!(capture, Some(CaptureOutcome { cut_short: Some(said), ..CaptureOutcome::default() }));
    }
}
