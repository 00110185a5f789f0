//! What the emulated and the simulated world share: from the scenario to the link model, and from what was recorded to
//! the run directory.
