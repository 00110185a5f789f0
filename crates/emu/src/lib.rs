//! The emulated world: namespaces, wires, pumps and captures, in real time.
