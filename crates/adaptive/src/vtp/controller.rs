use framewire_units::{DataSize, Timestamp};

use super::machine::Machine;
use super::measurement::{Measurement, bitrate};
use super::settings::{SettingsError, VtpSettings};
use crate::controller::{Controller, ControllerState, Decision, Feedback, PlanRates};

/// VTP as a rate controller: measurement and state machine joined.
#[derive(Clone, Debug)]
pub struct VtpController {
    settings: VtpSettings,
    measurement: Measurement,
    /// From the first plan on.
    machine: Option<Machine>,
}

impl VtpController {
    /// A controller that has sent nothing.
    ///
    /// # Errors
    /// When a setting is out of range.
    pub fn new(settings: VtpSettings) -> Result<Self, SettingsError> {
        settings.check()?;
        Ok(Self { settings, measurement: Measurement::new(&settings), machine: None })
    }

    fn machine(&mut self, now: Timestamp, plan: &PlanRates<'_>) -> &mut Machine {
        self.machine.get_or_insert_with(|| Machine::new(&self.settings, now, plan))
    }

    fn is_silent(&self) -> bool {
        let open = self.measurement.open_requests();
        self.settings.silent_requests.is_some_and(|allowed| open > usize::try_from(allowed).unwrap_or(usize::MAX))
    }
}

impl Controller for VtpController {
    fn handle_sent(&mut self, now: Timestamp, sequence: u32, payload: DataSize, ack_requested: bool) {
        self.measurement.handle_sent(now, sequence, payload, ack_requested);
    }

    fn handle_feedback(&mut self, now: Timestamp, feedback: &Feedback, plan: &PlanRates<'_>) {
        let Feedback::Control(control) = feedback else { return };
        let Ok(sample) = self.measurement.handle_control(now, control) else { return };
        let (Some(_), Some(estimate), Some(round_trip)) =
            (sample.bandwidth, self.measurement.estimate(), self.measurement.least_round_trip())
        else {
            return;
        };
        self.machine(now, plan).handle_estimate(now, estimate, round_trip, plan);
    }

    fn handle_timeout(&mut self, _now: Timestamp, _plan: &PlanRates<'_>) {}

    fn handle_idle(&mut self) {
        self.measurement.handle_idle();
    }

    fn next_timeout(&self) -> Option<Timestamp> {
        None // everything happens on control packets and on departures
    }

    fn decision(&mut self, now: Timestamp, plan: &PlanRates<'_>) -> Decision {
        let silent = self.is_silent();
        let machine = self.machine(now, plan);
        machine.handle_plan(plan);
        if silent {
            machine.handle_silence(now, plan);
        }
        Decision { rate: machine.rate(), level: machine.level() }
    }

    fn state(&self) -> ControllerState {
        let (samples, discarded) = self.measurement.counts();
        let level = self.machine.as_ref().map_or(0, Machine::level);
        ControllerState {
            name: state_name(level),
            rate: self.machine.as_ref().map(Machine::rate).unwrap_or_default(),
            level,
            round_trip: self.measurement.smoothed_round_trip(),
            round_trip_sample: self.measurement.last_round_trip(),
            estimate: self.measurement.estimate().map(bitrate),
            sample: self.measurement.last_sample().map(bitrate),
            loss_event_rate: None,
            samples,
            discarded,
        }
    }
}

/// The machine rests in Q states only.
fn state_name(level: usize) -> &'static str {
    const NAMES: [&str; 8] = ["Q0", "Q1", "Q2", "Q3", "Q4", "Q5", "Q6", "Q7"];
    NAMES.get(level).copied().unwrap_or("Q8 or higher")
}
