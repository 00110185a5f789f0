//! A made-up movie: IBBPBBPBBPBBPBB at 25 frames per second, with sizes in the proportion of real content.

use framewire_recording::record::FrameFacts;
use framewire_units::{Duration, Seed, Timestamp};

const INTERVAL: Duration = Duration::from_millis(40);
/// Anchors (I and P frames) per group of pictures, and frames from one anchor to the next in display order.
const ANCHORS_PER_GROUP: u32 = 5;
const ANCHOR_DISTANCE: u32 = 3;

/// Frames in decode order, of the given mean bitrate.
pub fn make(frames: u32, bitrate: u32) -> Vec<FrameFacts> {
    let mut sizes = Seed(1).stream("synthetic movie", &[]);
    let mut movie: Vec<FrameFacts> = Vec::new();
    let (mut last_anchor, mut before) = (None, None);
    let mut anchors = 0;
    while (movie.len() as u32) < frames {
        let position = movie.len() as u32;
        // In decode order an anchor is followed by the B frames that are shown before it.
        let place = if position == 0 { 0 } else { (position - 1) % ANCHOR_DISTANCE };
        let anchor = position == 0 || place == 0 || frames - position < ANCHOR_DISTANCE - place;
        let (kind, references, display_index) = if anchor {
            before = last_anchor;
            last_anchor = Some(position);
            let intra = anchors % ANCHORS_PER_GROUP == 0;
            anchors += 1;
            let display = (anchors - 1) * ANCHOR_DISTANCE;
            (if intra { 'I' } else { 'P' }, if intra { vec![] } else { before.into_iter().collect() }, display)
        } else {
            ('B', before.into_iter().chain(last_anchor).collect(), (anchors - 1) * ANCHOR_DISTANCE - 3 + place)
        };
        // 3.4 : 2.2 : 1, one I, four P and ten B frames in a group of fifteen.
        let share = match kind {
            'I' => 3.4,
            'P' => 2.2,
            _ => 1.0,
        } * 15.0
            / (3.4 + 4.0 * 2.2 + 10.0);
        let mean = f64::from(bitrate) / 8.0 / 25.0;
        movie.push(FrameFacts {
            track: 0,
            level: None,
            kind,
            size: (mean * share * (0.85 + 0.3 * sizes.next_f64())) as u32,
            gop: (anchors - 1) / ANCHORS_PER_GROUP,
            display_index: display_index.min(frames - 1),
            due: Timestamp::ZERO + INTERVAL * position,
            display_time: INTERVAL * display_index.min(frames - 1),
            references,
            missing_reference: false,
            picture_order: None,
            recovers_from: None,
            group_time: (kind == 'I').then_some(INTERVAL * position),
        });
    }
    movie
}
