//! Which pictures of H.264 FFmpeg 5.1 shows, and in which order, where frames are missing: it holds pictures back until as
//! many have come as the stream says may have to be reordered, and then shows the first of them. What comes too late for
//! its place is passed over.

use framewire_media::picture_order::PictureOrder;

/// A picture that is held back.
#[derive(Clone, Copy)]
struct Held {
    frame: u32,
    place: i64,
    begins: bool,
}

/// The frames that FFmpeg shows, in its order, of those that reach it in decode order. `depth` is how many pictures the
/// stream says may have to be reordered.
pub fn shown(received: &[(u32, PictureOrder)], depth: usize) -> Vec<u32> {
    let mut held: Vec<Held> = vec![];
    let (mut shown, mut last_place) = (vec![], None);
    for (place, &(frame, picture)) in places(received).into_iter().zip(received) {
        held.push(Held { frame, place, begins: picture.begins_sequence });
        if depth == 0 && held[0].begins {
            last_place = None;
        }
        let next = first(&held);
        let is_too_late = last_place.is_some_and(|last| held[next].place < last);
        if !is_too_late && held.len() <= depth {
            continue;
        }
        let picture = held.remove(next);
        if !is_too_late {
            shown.push(picture.frame);
            let is_last_of_sequence = next == 0 && held.first().is_some_and(|picture| picture.begins);
            last_place = (!is_last_of_sequence).then_some(picture.place);
        }
    }
    while !held.is_empty() {
        let next = first(&held);
        shown.push(held.remove(next).frame);
    }
    shown
}

/// The picture to be shown first of those before the next beginning.
fn first(held: &[Held]) -> usize {
    let end = held.iter().skip(1).position(|picture| picture.begins).map_or(held.len(), |behind| behind + 1);
    (0..end).min_by_key(|&number| held[number].place).expect("one is held")
}

/// The picture order counts that a decoder derives from low bits (8.2.1.1).
fn places(received: &[(u32, PictureOrder)]) -> Vec<i64> {
    // The count of the last reference picture, and what was derived for it.
    let mut base = (0, 0);
    let place = |(_, picture): &(u32, PictureOrder)| {
        let turn = picture.turn.map_or(i64::MAX, |turn| turn.get().into());
        let low = (picture.count - base.0).rem_euclid(turn);
        let place = match picture.begins_sequence {
            true => picture.count,
            false => base.1 + if low > turn / 2 { low - turn } else { low },
        };
        if picture.is_base {
            base = (picture.count, place);
        }
        place
    };
    received.iter().map(place).collect()
}
