//! References of frames that do not state them.

use crate::frame::Dependencies;

/// Temporal layers are at most 0 to 7 (AV1, 5.3.3: three bits; H.265, 7.4.2.2: 0 to 6).
const LAYERS: usize = 8;

/// The latest referenced frame of every temporal layer since the last key frame.
///
/// A frame whose references are not known may refer to everything since the last key frame but higher layers, and a
/// leading frame to the group before as well. It is enough to say that it refers to the latest frame of each layer up to
/// its own, as those do the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Implied {
    latest: [Option<u32>; LAYERS],
    /// The same of the group before the last key frame.
    before: [Option<u32>; LAYERS],
}

impl Implied {
    /// Fills in the references where they are not known. Every frame has to pass, in decode order.
    pub(super) fn complete(&mut self, id: u32, dependencies: &mut Dependencies) {
        let layer = usize::from(dependencies.temporal_layer).min(LAYERS - 1);
        if dependencies.key.is_some() {
            self.before = std::mem::replace(&mut self.latest, [None; LAYERS]);
        }
        if dependencies.references.is_none() {
            let before = if dependencies.leading { &self.before[..=layer] } else { &[] };
            let known = before.iter().chain(&self.latest[..=layer]);
            let mut references: Vec<u32> = known.flatten().copied().collect();
            references.sort_unstable();
            dependencies.references = Some(references);
        }
        if dependencies.referenced {
            self.latest[layer] = Some(id);
        }
    }
}
