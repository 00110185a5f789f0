//! Coarse clocks: of a link, and of the hosts of an adaptive stream.

use framewire_units::Duration;

use crate::error::ScenarioError;
use crate::section::Section;
use crate::text::Text;

/// The longest tick.
const LONGEST: Duration = Duration::from_secs(1);

/// A tick of a clock: times fall on its multiples. Absent where it is zero, that is where the clock is exact.
pub(crate) fn tick(section: &mut Section, key: &str) -> Result<Option<Duration>, ScenarioError> {
    let path = section.key(key);
    match section.text::<Duration>(key)? {
        Some(tick) if tick > LONGEST => {
            Err(ScenarioError::value(&path, format!("\"{}\"", tick.show()), "\"0 s\" (exact) to \"1 s\""))
        }
        tick => Ok(tick.filter(|tick| !tick.is_zero())),
    }
}
