//! The congestion controls of a run: the kernel's own, or BPF programs for the time of the run, and ECN in its hosts.

use std::net::{Ipv4Addr, SocketAddr};

use framewire_bpf::{LoadError, Loaded};
use framewire_emu::World;
use framewire_scenario::{Flow, FlowKind, Scenario, needs_ecn};
use framewire_sockets::{OpenError, TcpListener, TcpOptions, available_congestion_controls};
use serde_json::{Map, Value, json};

use crate::control::Failure;

/// Where the congestion controls of a run come from. What was loaded for it is gone when this is dropped, or the process
/// ends.
#[derive(Debug, Default)]
pub struct CongestionControls {
    natives: Vec<String>,
    loaded: Vec<Loaded>,
}

impl CongestionControls {
    /// Finds those of a scenario in the kernel, and loads those that it lacks. Call it before a user namespace is entered,
    /// where nothing may be loaded.
    ///
    /// # Errors
    /// Where the kernel lacks one that cannot be loaded.
    pub fn provide(scenario: &Scenario) -> Result<Self, Failure> {
        let mut found = Self::default();
        for flow in &scenario.flows {
            if let Some(name) = flow.congestion().filter(|name| !found.has(name)) {
                found.add(name).map_err(|reason| Failure::machine(format!("flow {}: {reason}", flow.name)))?;
            }
        }
        Ok(found)
    }

    fn has(&self, name: &str) -> bool {
        self.natives.iter().any(|native| native == name) || self.loaded.iter().any(|loaded| loaded.algorithm() == name)
    }

    fn add(&mut self, name: &str) -> Result<(), String> {
        if is_native(name)? {
            self.natives.push(name.to_owned());
            return Ok(());
        }
        let has = available_congestion_controls().join(", ");
        match framewire_bpf::load(name) {
            Ok(loaded) => {
                self.loaded.push(loaded);
                Ok(())
            }
            Err(LoadError::Unknown { known, .. }) => Err(format!(
                "congestion control \"{name}\" is not available: this kernel has {has}, and there are BPF programs of {known}; \
                 others are simulated only (--world simulated)"
            )),
            Err(error @ LoadError::NotPermitted) => Err(format!(
                "congestion control \"{name}\" is not in this kernel, which has {has}. {error}: type sudo before the command, \
                 or sudo setcap cap_bpf,cap_perfmon,cap_sys_admin,cap_net_admin,cap_net_raw+ep {}",
                std::env::current_exe().map_or_else(|_| "framewire-emu".to_owned(), |path| path.display().to_string())
            )),
            Err(error) => Err(format!(
                "congestion control \"{name}\" is not in this kernel, which has {has}, and its BPF program cannot be \
                 loaded: {error}"
            )),
        }
    }

    /// The scenario with the names that this kernel has them by.
    pub fn named(&self, scenario: &Scenario) -> Scenario {
        let rename = |flow: &Flow| {
            let name = flow.congestion().unwrap_or_default();
            match self.loaded.iter().find(|loaded| loaded.algorithm() == name) {
                Some(loaded) => flow.clone().with_congestion(loaded.name()),
                None => flow.clone(),
            }
        };
        Scenario { flows: scenario.flows.iter().map(rename).collect(), ..scenario.clone() }
    }

    /// The scenario's name of what this kernel has by `name`.
    pub fn algorithm<'a>(&'a self, name: &'a str) -> &'a str {
        self.loaded.iter().find(|loaded| loaded.name() == name).map_or(name, |loaded| loaded.algorithm())
    }

    /// By the scenario's names, who has each of them and by which name.
    pub fn to_json(&self) -> Value {
        let natives = self.natives.iter().map(|name| (name.clone(), json!({ "by": "kernel", "name": name })));
        let loaded = self.loaded.iter();
        let loaded = loaded.map(|l| (l.algorithm().to_owned(), json!({ "by": "bpf", "name": l.name() })));
        Value::Object(natives.chain(loaded).collect::<Map<_, _>>())
    }
}

/// Whether the kernel has it, or loads a module of it when a socket asks.
fn is_native(name: &str) -> Result<bool, String> {
    if available_congestion_controls().iter().any(|available| available == name) {
        return Ok(true);
    }
    let anywhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let options = TcpOptions { congestion: Some(name.to_owned()), ..TcpOptions::default() };
    match TcpListener::bind(anywhere, &options) {
        Ok(_) => Ok(true),
        Err(OpenError::Congestion { .. }) => Ok(false),
        Err(error) => Err(error.to_string()),
    }
}

/// Refuses a congestion control that the sender's host does not have, before anything is sent. It is tried on a socket
/// inside: who owns a host may choose there what is not allowed outside.
pub fn check(scenario: &Scenario) -> Result<(), Failure> {
    let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    for flow in &scenario.flows {
        let Some(congestion) = flow.congestion() else { continue };
        let options = TcpOptions { congestion: Some(congestion.to_owned()), ..TcpOptions::default() };
        TcpListener::bind(loopback, &options)
            .map_err(|error| Failure::machine(format!("flow {}: {error}", flow.name)))?;
    }
    Ok(())
}

/// Applications choose no congestion control as a rule, and the lab's own transports have CUBIC unless set otherwise:
/// so that like is compared with like, hosts of applications have theirs from the scenario and not from this machine.
pub fn set_defaults(scenario: &Scenario, groups: &[Vec<usize>], world: &World) -> Result<(), Failure> {
    for (lane, group) in groups.iter().enumerate() {
        let flows = group.iter().map(|&flow| &scenario.flows[flow]);
        let mut applications = flows.filter(|flow| matches!(flow.kind, FlowKind::External(_)));
        let Some(first) = applications.next() else { continue };
        if let Some(other) = applications.find(|flow| flow.congestion() != first.congestion()) {
            let reason = format!("applications that share hosts share it: flow {} has another one", first.name);
            return Err(Failure::input(format!("flow {}, congestion", other.name), reason));
        }
        if let Some(name) = first.congestion() {
            world.lane(lane).set_default_congestion_control(name)?;
        }
    }
    Ok(())
}

/// Has the hosts of flows that ask for ECN ask for it. Congestion controls that need it ask by themselves.
pub fn set_ecn(scenario: &Scenario, groups: &[Vec<usize>], world: &World) -> Result<(), Failure> {
    for (lane, group) in groups.iter().enumerate() {
        let flows = group.iter().map(|&flow| &scenario.flows[flow]);
        let asks: Vec<&Flow> = flows.filter(|flow| flow.congestion().is_some_and(|name| !needs_ecn(name))).collect();
        let Some(first) = asks.first() else { continue };
        if let Some(other) = asks.iter().find(|flow| flow.ecn() != first.ecn()) {
            let reason = format!("hosts ask for it in all connections or in none: flow {} has another one", first.name);
            return Err(Failure::input(format!("flow {}, ecn", other.name), reason));
        }
        if first.ecn() {
            world.lane(lane).ask_for_ecn()?;
        }
    }
    Ok(())
}
