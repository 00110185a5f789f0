//! Against a model over random streams, writers and limits.

use std::collections::BTreeSet;

use bytes::Bytes;
use framewire_media::access_unit::KeyKind;
use proptest::prelude::*;

use super::*;
use crate::frame::Dependencies;

/// What a stream is made of, in decode order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    /// I and P frames with B frames between, groups open or closed.
    Mpeg { closed: bool, b_frames: u32 },
    /// Every other frame between two P frames is referred to by its neighbours, down to the leaves.
    Pyramid { depth: u32, layers: bool },
    /// Every frame refers to some of those before it.
    Random,
}

/// Two bytes of randomness for every frame.
type Dice = (u8, u8);

/// A stream with a key frame every `group` frames, more or less.
fn stream(coding: Coding, group: u32, dice: &[Dice]) -> Vec<OutgoingFrame> {
    let mut frames: Vec<OutgoingFrame> = vec![];
    match coding {
        Coding::Random => random(group, dice, &mut frames),
        Coding::Mpeg { closed, b_frames } => mini_groups(group, dice, &mut frames, closed, |p| {
            (1..=b_frames).map(|_| Between { on_both: p, layer: 0, referenced: false }).collect()
        }),
        Coding::Pyramid { depth, layers } => mini_groups(group, dice, &mut frames, false, |p| {
            let mut all = vec![];
            pyramid(p, 1, depth, layers, &mut all);
            all
        }),
    }
    frames
}

/// A frame between two others: the numbers that it refers to count from the P frame in front as 1, the one before it
/// as 0, and the frames between them, in decode order, from 2.
struct Between {
    on_both: [u32; 2],
    layer: u8,
    referenced: bool,
}

fn pyramid([low, high]: [u32; 2], level: u32, depth: u32, layers: bool, all: &mut Vec<Between>) {
    if level > depth {
        return;
    }
    let own = all.len() as u32 + 2;
    let layer = if layers { level as u8 } else { 0 };
    all.push(Between { on_both: [low, high], layer, referenced: level < depth });
    pyramid([low, own], level + 1, depth, layers, all);
    pyramid([own, high], level + 1, depth, layers, all);
}

fn frame(id: u32, kind: PictureType, dependencies: Dependencies, dice: Dice) -> OutgoingFrame {
    let weight = match kind {
        PictureType::I => 16,
        PictureType::P => 4,
        _ => 1,
    };
    let bytes = Bytes::from(vec![0; weight * (1 + usize::from(dice.0))]);
    OutgoingFrame {
        id,
        kind,
        dependencies,
        duration: Duration::from_millis(40),
        rtp_timestamp: 0,
        decode_timestamp: 0,
        bytes,
    }
}

fn mini_groups(
    group: u32,
    dice: &[Dice],
    frames: &mut Vec<OutgoingFrame>,
    closed: bool,
    between: impl Fn([u32; 2]) -> Vec<Between>,
) {
    let (mut last_anchor, mut last_key) = (None, 0);
    while frames.len() < dice.len() {
        let id = frames.len() as u32;
        let is_key = last_anchor.is_none() || id >= last_key + group;
        let key = is_key.then_some(if closed { KeyKind::Closed } else { KeyKind::Open });
        let references = Some(if is_key { vec![] } else { last_anchor.into_iter().collect() });
        let kind = if is_key { PictureType::I } else { PictureType::P };
        let own = Dependencies { key, referenced: true, references, ..Dependencies::default() };
        frames.push(frame(id, kind, own, dice[id as usize]));
        if let Some(last_anchor) = last_anchor {
            for part in between([0, 1]) {
                let number = |part: u32| if part == 0 { last_anchor } else { id + part - 1 };
                let mut references = part.on_both.map(number).to_vec();
                references.retain(|&reference| !(closed && is_key && reference == last_anchor));
                references.sort_unstable();
                let dependencies = Dependencies {
                    key: None,
                    leading: is_key,
                    referenced: part.referenced,
                    temporal_layer: part.layer,
                    references: Some(references),
                    ..Dependencies::default()
                };
                let id = frames.len() as u32;
                frames.push(frame(id, PictureType::B, dependencies, dice[id as usize % dice.len()]));
            }
        }
        last_key = if is_key { id } else { last_key };
        last_anchor = Some(id);
    }
}

fn random(group: u32, dice: &[Dice], frames: &mut Vec<OutgoingFrame>) {
    let (mut key, mut previous_key, mut trailing) = (0, 0, false);
    for (id, &(first, second)) in (0..).zip(dice) {
        let is_key = id == 0 || u32::from(first) % group == 0;
        if is_key {
            (previous_key, key, trailing) = (key, id, false);
        }
        let leading = !is_key && !trailing && first & 1 == 0 && key > 0;
        trailing |= !is_key && !leading;
        let layer = if is_key { 0 } else { second % 3 };
        let from = if leading { previous_key } else { key };
        let mut references = vec![];
        if !is_key {
            let candidates = frames[from as usize..].iter().filter(|candidate| {
                let theirs = &candidate.dependencies;
                theirs.referenced && theirs.temporal_layer <= layer && (leading || !theirs.leading)
            });
            references = candidates.map(|candidate| candidate.id).collect();
            let keep = 1 + usize::from(second) % 3;
            let skip = references.len().saturating_sub(keep + usize::from(second >> 6));
            references = references.into_iter().skip(skip).take(keep).collect();
        }
        let dependencies = Dependencies {
            key: is_key.then_some(KeyKind::Open),
            leading,
            referenced: is_key || second & 4 == 0,
            temporal_layer: layer,
            references: Some(references),
            ..Dependencies::default()
        };
        let kind = if is_key {
            PictureType::I
        } else if layer == 0 {
            PictureType::P
        } else {
            PictureType::B
        };
        frames.push(frame(id, kind, dependencies, (first, second)));
    }
}

fn codings() -> impl Strategy<Value = Coding> {
    prop_oneof![
        (any::<bool>(), 0..3_u32).prop_map(|(closed, b_frames)| Coding::Mpeg { closed, b_frames }),
        (1..4_u32, any::<bool>()).prop_map(|(depth, layers)| Coding::Pyramid { depth, layers }),
        Just(Coding::Random),
    ]
}

fn streams() -> impl Strategy<Value = Vec<OutgoingFrame>> {
    let dice = prop::collection::vec(any::<Dice>(), 1..150);
    (codings(), 2..60_u32, dice).prop_map(|(coding, group, dice)| stream(coding, group, &dice))
}

fn limits() -> impl Strategy<Value = Limits> {
    let frames = prop::option::of(1..30_u32);
    let bytes = prop::option::of((500..30_000_u64).prop_map(DataSize::from_bytes));
    let time = prop::option::of((40..1_500_u64).prop_map(Duration::from_millis));
    (frames, bytes, time).prop_map(|(frames, bytes, time)| Limits { frames, bytes, time })
}

/// How many frames the writer takes after each one offered: mostly none or one, in bursts more.
fn writers() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop_oneof![4 => Just(0_u8), 5 => Just(1), 1 => 2..12_u8], 1..40)
}

/// What the queue holds, by what it said.
#[derive(Debug, Default)]
struct Model {
    waiting: Vec<OutgoingFrame>,
    taken: Vec<u32>,
    given_up: BTreeSet<u32>,
}

impl Model {
    fn level(frames: &[OutgoingFrame], offered: usize) -> Level {
        let bytes: usize = frames.iter().map(|frame| frame.bytes.len()).sum();
        let time = frames.first().map_or(0, |oldest| 40 * (offered as u64 - u64::from(oldest.id)));
        Level {
            frames: frames.len() as u32,
            bytes: DataSize::from_bytes(bytes as u64),
            time: Duration::from_millis(time),
        }
    }

    fn is_key(frame: &OutgoingFrame) -> bool {
        frame.dependencies.key.is_some()
    }
}

fn check_discards(
    model: &mut Model,
    limits: Limits,
    offered: usize,
    discards: Vec<Discard>,
) -> Result<(), TestCaseError> {
    let before = Model::level(&model.waiting, offered);
    let pressed = [threshold::END_OF_GROUP, threshold::DROPPABLE].iter().any(|one| one.exceeded_by(limits, before));
    for Discard { frame, rule } in discards {
        let place = model.waiting.iter().position(|waiting| waiting.id == frame.id);
        prop_assert!(place.is_some(), "frame {} was not there to be given up", frame.id);
        let misses = references(&frame).iter().any(|reference| model.given_up.contains(reference));
        prop_assert!(pressed || misses, "frame {} was given up with room: {rule}", frame.id);
        if rule == REFERENCE_GIVEN_UP {
            prop_assert!(misses, "frame {} misses nothing", frame.id);
        }
        let newer_key = model.waiting.iter().any(|other| Model::is_key(other) && other.id > frame.id);
        prop_assert!(!Model::is_key(&frame) || newer_key, "key frame {} was given up: {rule}", frame.id);
        model.given_up.insert(frame.id);
        model.waiting.remove(place.expect("checked"));
    }
    Ok(())
}

fn check_limits(model: &Model, limits: Limits, offered: usize) -> Result<(), TestCaseError> {
    let behind_key = usize::from(model.waiting.first().is_some_and(Model::is_key));
    let level = Model::level(&model.waiting[behind_key..], offered);
    prop_assert!(level.frames <= 1 || !limits.exceeded_by(level), "{level:?} is over {limits:?}");
    Ok(())
}

/// Plays a stream and checks every step.
fn play(frames: &[OutgoingFrame], limits: Limits, writer: &[u8], known: bool) -> Result<Model, TestCaseError> {
    let mut queue = DependencyQueue::new(limits);
    let mut model = Model::default();
    for (offered, frame) in (1..).zip(frames) {
        let mut given = frame.clone();
        if !known {
            given.dependencies.references = None;
        }
        model.waiting.push(frame.clone());
        let discards = queue.offer(given);
        let cut = discards.iter().any(|discard| discard.rule == LIMIT_REACHED);
        prop_assert!(!cut || queue.needs_key_frame());
        prop_assert!(!Model::is_key(frame) || cut || !queue.needs_key_frame());
        if known {
            check_discards(&mut model, limits, offered, discards)?;
        } else {
            for Discard { frame, .. } in discards {
                model.waiting.retain(|waiting| waiting.id != frame.id);
                model.given_up.insert(frame.id);
            }
        }
        check_limits(&model, limits, offered)?;
        prop_assert_eq!(queue.level(), Model::level(&model.waiting, offered));
        for _ in 0..writer[offered % writer.len()] {
            model.take(&mut queue)?;
        }
    }
    while queue.level().frames > 0 {
        model.take(&mut queue)?;
    }
    prop_assert_eq!(model.taken.len() + model.given_up.len(), frames.len(), "every frame has one fate");
    Ok(model)
}

impl Model {
    /// The oldest frame leaves, so that order is kept.
    fn take(&mut self, queue: &mut DependencyQueue) -> Result<(), TestCaseError> {
        let taken = queue.take().map(|frame| frame.id);
        prop_assert_eq!(taken, self.waiting.first().map(|frame| frame.id));
        if let Some(id) = taken {
            self.taken.push(id);
            self.waiting.remove(0);
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn what_goes_out_is_decodable(frames in streams(), limits in limits(), writer in writers(), known: bool) {
        let model = play(&frames, limits, &writer, known)?;
        for &id in &model.taken {
            let frame = &frames[id as usize];
            for reference in references(frame) {
                prop_assert!(model.taken.binary_search(reference).is_ok(), "frame {id} went out without {reference}");
            }
        }
    }

    #[test]
    fn without_limits_nothing_is_given_up(frames in streams(), writer in writers(), known: bool) {
        let model = play(&frames, Limits::default(), &writer, known)?;
        prop_assert_eq!(model.taken.len(), frames.len());
    }

    #[test]
    fn a_group_is_lost_only_when_no_unreferenced_frame_is_left(
        frames in streams(),
        limit in 2..20_u32,
        writer in writers(),
    ) {
        let limits = Limits { frames: Some(limit), ..Limits::default() };
        let mut queue = DependencyQueue::new(limits);
        for (frame, takes) in frames.into_iter().zip(writer.into_iter().cycle()) {
            let discards = queue.offer(frame);
            if discards.iter().any(|discard| discard.rule == LIMIT_REACHED) {
                let left = queue.backlog.iter().filter(|waiting| !waiting.frame.dependencies.referenced).count();
                prop_assert_eq!(left, 0);
            }
            for _ in 0..takes {
                queue.take();
            }
        }
    }
}

#[test]
fn memory_is_bounded_and_the_stream_goes_on_without_a_key_frame_for_a_day() {
    // Every second frame is in a layer that others refer to and the base does not: it goes when the writer is slow.
    let mut queue = DependencyQueue::new(Limits { frames: Some(6), ..Limits::default() });
    let mut taken = 0_u32;
    for id in 0..2_000_000_u32 {
        let upper = id % 2 == 1;
        let references = if upper { vec![id - 1] } else { id.checked_sub(2).into_iter().collect() };
        let dependencies = Dependencies {
            key: (id == 0).then_some(KeyKind::Closed),
            referenced: true,
            temporal_layer: u8::from(upper),
            references: Some(references),
            ..Dependencies::default()
        };
        queue.offer(frame(id, PictureType::P, dependencies, (0, 0)));
        if !upper {
            taken += u32::from(queue.take().is_some());
        }
    }
    assert!(!queue.needs_key_frame());
    assert_eq!(taken, 1_000_000);
    assert!(queue.level().frames <= 6);
}

#[test]
fn in_a_long_queue_b_frames_go_although_more_frames_are_needed_before_them_than_are_looked_at() {
    // A hundred P frames, then a B frame after each: the room for 2,000 is used up to its seven eighths.
    let mut queue = DependencyQueue::new(Limits { frames: Some(2_000), ..Limits::default() });
    let (mut anchor, mut given_up) = (0, vec![]);
    for id in 0..1_900_u32 {
        let is_b = id > 100 && id % 2 == 0;
        let dependencies = Dependencies {
            key: (id == 0).then_some(KeyKind::Closed),
            referenced: !is_b,
            references: Some(if id == 0 { vec![] } else { vec![anchor] }),
            ..Dependencies::default()
        };
        let kind = if is_b { PictureType::B } else { PictureType::P };
        given_up.extend(queue.offer(frame(id, kind, dependencies, (0, 0))).iter().map(|discard| discard.frame.id));
        anchor = if is_b { anchor } else { id };
    }
    // Of the frames with more than 1,750 from them on, those that nothing refers to.
    assert!(!given_up.is_empty() && given_up.iter().all(|id| id % 2 == 0 && *id > 100), "{given_up:?}");
    assert!(given_up.is_sorted(), "oldest first");
    assert!(!queue.needs_key_frame());
}

#[test]
fn a_group_that_is_cut_asks_for_a_key_frame_and_is_counted_once() {
    let mut queue = DependencyQueue::new(Limits { frames: Some(3), ..Limits::default() });
    let offer = |queue: &mut DependencyQueue, id: u32, key: bool| {
        let dependencies = Dependencies {
            key: key.then_some(KeyKind::Closed),
            referenced: true,
            references: Some(if key { vec![] } else { vec![id - 1] }),
            ..Dependencies::default()
        };
        let kind = if key { PictureType::I } else { PictureType::P };
        queue.offer(frame(id, kind, dependencies, (0, 0))).len()
    };
    let given_up: Vec<_> = (0..8).map(|id| offer(&mut queue, id, id == 0)).collect();
    assert_eq!(given_up, [0, 0, 0, 0, 1, 1, 1, 1], "an I and three P frames have room");
    assert!(queue.needs_key_frame());
    assert_eq!(queue.groups_lost(), 1);
    offer(&mut queue, 8, true);
    assert!(!queue.needs_key_frame());
}
