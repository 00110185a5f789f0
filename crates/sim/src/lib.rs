//! The simulated world: a virtual clock and an event queue that drive sessions, TCP endpoints and the link model.
