//! Any text as the recording of a link: refused in words, or of a length and a rate.

use framewire_link::DeliveryTrace;
use framewire_units::Duration;

pub(crate) fn run(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    match DeliveryTrace::parse(text) {
        Ok(trace) => {
            assert!(trace.length() > Duration::ZERO);
            let _ = trace.mean_rate();
        }
        Err(error) => assert!(error.to_string().len() < 300, "{error}"),
    }
}
