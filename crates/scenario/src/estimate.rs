//! How VTP reads equation 1 of its paper.

use framewire_adaptive::rate_control::RateControl;

use crate::error::ScenarioError;
use crate::names::words;
use crate::section::Section;
use crate::transport::Transport;

words! {
    /// How VTP reads equation 1 of its paper: what a bandwidth sample divides by what.
    Estimate {
        /// The bytes since the last control packet over the time since then, as section 4.1 tells it.
        BytesOverGaps = "bytes over gaps",
        /// The bytes of k packets over the k - 1 gaps between them, by the indices of the equation.
        KOverKMinus1 = "k over k - 1",
    }
}

/// Whose key it is.
pub(crate) const OWNER: Transport = Transport::Adaptive(RateControl::Vtp);

/// The reading, present exactly for `vtp`, and the bytes of header that it counts where that was told.
pub(crate) fn read(
    section: &mut Section,
    transport: Transport,
) -> Result<(Option<Estimate>, Option<u16>), ScenarioError> {
    let default = (transport == OWNER).then_some(Estimate::BytesOverGaps);
    let estimate = section.text("estimate")?.or(default);
    let path = section.key("estimate_header");
    let header = section.integer("estimate_header", 0..=1_500)?;
    if header.is_some() && estimate == Some(Estimate::KOverKMinus1) {
        let problem =
            "means nothing with estimate \"k over k - 1\", which counts no headers; it is of \"bytes over gaps\"";
        return Err(ScenarioError::new(path, problem));
    }
    let bytes = |header| u16::try_from(header).expect("invariant: the range was checked when it was read");
    Ok((estimate, header.map(bytes)))
}

#[cfg(test)]
mod tests {
    use framewire_units::equation_1::NAMES;

    use super::*;

    /// What is derived of the words wants them as literals.
    #[test]
    fn the_words_are_the_names_that_all_crates_share() {
        assert_eq!(Estimate::ALL.iter().map(|estimate| estimate.as_str()).collect::<Vec<_>>(), NAMES);
    }
}
