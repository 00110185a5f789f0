//! What the pictures of an H.265 stream refer to, followed from picture to picture (ITU-T H.265, 8.3.1 to 8.3.4).

use std::collections::BTreeSet;

use crate::h265::slice_header::{ListHeader, NalHeader, PictureReferences};
use crate::picture::PictureType;
use crate::picture_order::kept_at;

/// A picture that later ones may refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct StoredPicture {
    order: i64,
    unit: u64,
}

/// A picture of the reference picture set that the current one uses; the unit is `None` when it never came.
type UsedPicture = Option<u64>;

/// The pictures of `RefPicSetStCurrBefore`, `RefPicSetStCurrAfter` and `RefPicSetLtCurr`.
#[derive(Clone, Debug, Default)]
struct UsedPictures {
    before: Vec<UsedPicture>,
    after: Vec<UsedPicture>,
    long_term: Vec<UsedPicture>,
}

impl UsedPictures {
    /// `RefPicListTemp0` or `RefPicListTemp1`, once round (8-8, 8-10).
    fn in_turn(&self, list: usize) -> Vec<UsedPicture> {
        let [first, second] = if list == 0 { [&self.before, &self.after] } else { [&self.after, &self.before] };
        first.iter().chain(second).chain(&self.long_term).copied().collect()
    }
}

/// A picture whose slices are coming.
#[derive(Clone, Debug)]
pub(crate) struct OpenPicture {
    pub(crate) header: NalHeader,
    pub(crate) order: i64,
    pub(crate) references: BTreeSet<u64>,
    pub(crate) missing: bool,
    /// An IRAP picture with `NoRaslOutputFlag`: a coded video sequence begins.
    pub(crate) starts_sequence: bool,
    /// `MaxPicOrderCntLsb`.
    pub(crate) order_turn: i64,
    /// The unit that it came in; of the second field of a frame, that of the first.
    pub(crate) unit: u64,
    used: UsedPictures,
    /// The short-term reference pictures that are kept with it, as [`kept_at`] has them.
    pub(crate) keeps: u64,
}

impl OpenPicture {
    /// Whether the counts of the pictures after it are derived from its own (`prevTid0Pic`, 8.3.1).
    pub(crate) fn is_order_base(&self) -> bool {
        let header = self.header;
        header.temporal_layer == 0 && !header.is_rasl() && !header.is_radl() && !header.is_sub_layer_non_reference()
    }
}

/// Follows the decoding process, picture by picture: [`begin`](Self::begin), its slices with
/// [`refer`](Self::refer), [`end`](Self::end). Memory is bounded by the largest reference picture set.
#[derive(Clone, Debug)]
pub(crate) struct PictureTracker {
    pictures: Vec<StoredPicture>,
    /// The order count of the last picture of `TemporalId` 0 that is neither RASL, RADL nor a sub-layer non-reference
    /// picture (`prevTid0Pic`).
    base_order: i64,
    /// The next IRAP picture begins a coded video sequence, even a CRA picture.
    at_start: bool,
}

impl Default for PictureTracker {
    fn default() -> Self {
        Self { pictures: Vec::new(), base_order: 0, at_start: true }
    }
}

impl PictureTracker {
    /// The sequence ends here: what follows does not refer to what came before.
    pub(crate) fn end_sequence(&mut self) {
        self.at_start = true;
    }

    /// The first slice segment header of a picture has come. `modulus` is `MaxPicOrderCntLsb`.
    pub(crate) fn begin(
        &mut self,
        unit: u64,
        header: NalHeader,
        references: &PictureReferences,
        modulus: i64,
    ) -> OpenPicture {
        let starts_sequence = header.is_intra_random_access() && (self.at_start || header.is_idr() || header.is_bla());
        if starts_sequence {
            self.pictures.clear();
        }
        self.at_start &= !starts_sequence;
        let low = i64::from(references.order_low_bits);
        let order = if starts_sequence { low } else { nearest(self.base_order, low, modulus) };
        let used = self.apply(references, order, modulus);
        OpenPicture {
            header,
            order,
            references: BTreeSet::new(),
            missing: false,
            starts_sequence,
            order_turn: modulus,
            unit,
            used,
            keeps: kept_at(references.short_term.deltas()),
        }
    }

    /// Derives the reference picture set (8.3.2), and forgets every picture that is not in it.
    fn apply(&mut self, references: &PictureReferences, order: i64, modulus: i64) -> UsedPictures {
        let mut used = UsedPictures::default();
        let mut kept = Vec::new();
        let mut find = |is_meant: &dyn Fn(&StoredPicture) -> bool| {
            let found = self.pictures.iter().find(|picture| is_meant(picture)).copied();
            kept.extend(found);
            found.map(|picture| picture.unit)
        };
        for picture in &references.long_term {
            let low = i64::from(picture.order_low_bits);
            let full = picture.wraps.map(|wraps| order - wraps * modulus - order.rem_euclid(modulus) + low);
            let found = find(&|stored| match full {
                Some(full) => stored.order == full,
                None => stored.order.rem_euclid(modulus) == low,
            });
            if picture.used {
                used.long_term.push(found);
            }
        }
        let short_term = &references.short_term;
        for (set, used) in [(&short_term.before, &mut used.before), (&short_term.after, &mut used.after)] {
            for picture in set {
                let found = find(&|stored| stored.order == order + picture.delta);
                if picture.used {
                    used.push(found);
                }
            }
        }
        self.pictures.retain(|picture| kept.contains(picture));
        used
    }

    /// A slice of the picture refers to what its lists hold (8.3.4).
    pub(crate) fn refer(&self, picture: &mut OpenPicture, header: &ListHeader) {
        if matches!(header.kind, PictureType::I | PictureType::D) {
            return;
        }
        for (list, &active) in header.active.iter().enumerate() {
            let candidates = picture.used.in_turn(list);
            if active > 0 && candidates.is_empty() {
                picture.missing = true;
                continue;
            }
            for entry in 0..active {
                let place = match &header.modified[list] {
                    Some(entries) => entries.get(entry).copied().unwrap_or(0),
                    None => entry,
                };
                match candidates[place % candidates.len()] {
                    Some(unit) => _ = picture.references.insert(unit),
                    None => picture.missing = true,
                }
            }
        }
    }

    /// All slices of a picture have come.
    pub(crate) fn end(&mut self, picture: &OpenPicture) {
        self.pictures.push(StoredPicture { order: picture.order, unit: picture.unit });
        if picture.is_order_base() {
            self.base_order = picture.order;
        }
    }
}

/// The number closest to `base` that is `low` modulo `modulus` (8-1).
fn nearest(base: i64, low: i64, modulus: i64) -> i64 {
    let base_low = base.rem_euclid(modulus);
    let high = base - base_low;
    match low - base_low {
        difference if difference <= -modulus / 2 => high + modulus + low,
        difference if difference > modulus / 2 => high - modulus + low,
        _ => high + low,
    }
}
