//! The scenario file: keys, defaults, units, validation and the resolved form.
