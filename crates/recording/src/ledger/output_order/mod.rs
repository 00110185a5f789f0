//! Which pictures of H.264 and H.265 a decoder shows, and in which order, where frames are missing.
//!
//! A decoder holds pictures back until there are more than may have to be reordered, and then shows the first of them by
//! picture order count: what is placed before pictures that were held back is shown before them. What else it does depends
//! on the [codec](OutputRule).

mod h264;
mod h265;

use framewire_media::picture_order::OutputRule;

/// A picture on its way to be shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Picture {
    /// Number in decode order.
    pub frame: u32,
    /// The picture order count that the decoder derives for it.
    pub place: i64,
    /// It begins a coded video sequence: all before it are shown first.
    pub begins_sequence: bool,
    /// The decoder makes up frames before it, as numbers are missing in a stream that may have no gaps: it forgets the places
    /// of the pictures before.
    pub follows_made_up: bool,
    /// The decoder makes up one in its lists, when it has taken the place of the picture: it forgets that, too.
    pub lists_made_up: bool,
    /// By which rule it is shown.
    pub rule: OutputRule,
    /// It may refer to pictures on both its sides.
    pub is_b: bool,
    /// What is shown from it on is right, whatever came before: a key frame, or the end of a refresh.
    pub recovers: bool,
    /// Number in display order.
    pub display: u32,
    /// It is as it was sent: nothing that it refers to is missing.
    pub is_right: bool,
}

/// What a decoder holds back, and what it has shown.
#[derive(Debug, Default)]
pub(super) struct OutputOrder {
    held: Vec<Picture>,
    h264: h264::State,
    h265: h265::State,
    /// The last number in display order of the right pictures shown.
    last_display: Option<u32>,
}

impl OutputOrder {
    /// Whether a decoder leaves out the next picture, which comes to this place: it is not to be [taken](Self::take) then.
    pub(crate) fn leaves_out(&mut self, rule: OutputRule, begins_sequence: bool, place: i64) -> bool {
        match rule {
            OutputRule::H264 { .. } => false,
            OutputRule::H265 { entry, .. } => self.leaves_out_h265(entry, begins_sequence, place),
        }
    }

    /// Takes the next picture that reaches the decoder, in decode order. Gives the pictures, of now or before, that turn
    /// out not to be shown, or to be shown behind one that belongs behind it.
    pub(crate) fn take(&mut self, picture: Picture) -> Vec<Picture> {
        match picture.rule {
            OutputRule::H264 { reordered, .. } => self.take_h264(picture, reordered),
            OutputRule::H265 { reordered, keeps, .. } => self.take_h265(picture, reordered, keeps),
        }
    }

    /// The same of all that is still held back: nothing more comes.
    pub(crate) fn finish(&mut self) -> Vec<Picture> {
        let mut misplaced = self.end_probe();
        while !self.held.is_empty() {
            let picture = self.held.remove(self.first());
            if self.ends_with(&picture) {
                misplaced.push(picture);
                misplaced.append(&mut self.held);
            } else {
                misplaced.extend(self.show(picture));
            }
        }
        misplaced
    }

    /// The picture to be shown first of those before the next beginning.
    fn first(&self) -> usize {
        let next = self.held.iter().skip(1).position(|picture| picture.begins_sequence);
        let end = next.map_or(self.held.len(), |behind| behind + 1);
        (0..end).min_by_key(|&number| self.held[number].place).expect("one is held")
    }

    fn show(&mut self, picture: Picture) -> Option<Picture> {
        if self.last_display.is_some_and(|last| picture.display < last) {
            return Some(picture);
        }
        if picture.is_right {
            self.last_display = Some(picture.display);
        }
        None
    }
}

#[cfg(test)]
mod tests;
