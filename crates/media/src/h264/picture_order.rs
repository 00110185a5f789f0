//! Picture order counts (ITU-T H.264, 8.2.1).

use crate::h264::parameter_sets::{PictureOrder, SequenceParameterSet};
use crate::h264::slice_header::{Fields, PictureHeader};

/// Picture order counts of the top and the bottom field. For a field picture only its own is meaningful.
pub(crate) type Orders = [i64; 2];

/// `PicOrderCnt()` of the fields that are there (8-1).
pub(crate) fn order_of(fields: Fields, orders: Orders) -> i64 {
    match fields {
        Fields::TOP => orders[0],
        Fields::BOTTOM => orders[1],
        _ => orders[0].min(orders[1]),
    }
}

/// Derives picture order counts from picture to picture.
#[derive(Clone, Debug, Default)]
pub(crate) struct OrderCounter {
    /// `prevPicOrderCntMsb` and `prevPicOrderCntLsb` (8.2.1.1).
    high: i64,
    low: i64,
    /// `prevFrameNum` and `prevFrameNumOffset` (8.2.1.2).
    frame_num: u32,
    frame_num_offset: i64,
}

impl OrderCounter {
    /// The counts of the next picture in decoding order.
    pub(crate) fn next(&mut self, header: &PictureHeader, sequence: &SequenceParameterSet) -> Orders {
        if header.idr.is_some() {
            *self = Self::default();
        }
        match &sequence.picture_order {
            PictureOrder::LowBits { bits } => self.by_low_bits(header, 1 << bits),
            PictureOrder::Expected {
                offset_for_non_ref_pic,
                offset_for_top_to_bottom_field,
                offset_for_ref_frame,
                ..
            } => {
                let frames = self.absolute_frame_num(header, sequence);
                let by_cycle = |count: i64| expected_delta(count, offset_for_ref_frame);
                // Frames that are not referred to come after the reference frame with the number before (8-8).
                let count = if offset_for_ref_frame.is_empty() { 0 } else { frames };
                let count = if header.is_reference { count } else { (count - 1).max(0) };
                let base = by_cycle(count) + if header.is_reference { 0 } else { i64::from(*offset_for_non_ref_pic) };
                let delta = header.delta_order.map(i64::from);
                let top = base + delta[0];
                let to_bottom = i64::from(*offset_for_top_to_bottom_field);
                let bottom = match header.fields {
                    Fields::BOTTOM => base + to_bottom + delta[0],
                    _ => top + to_bottom + delta[1],
                };
                [top, bottom]
            }
            PictureOrder::Decoding => {
                let frames = self.absolute_frame_num(header, sequence);
                [2 * frames - i64::from(!header.is_reference && frames > 0); 2]
            }
        }
    }

    /// Type 0 (8.2.1.1).
    fn by_low_bits(&mut self, header: &PictureHeader, modulus: i64) -> Orders {
        let low = i64::from(header.order_low_bits);
        let high = match low - self.low {
            difference if difference <= -modulus / 2 => self.high + modulus,
            difference if difference > modulus / 2 => self.high - modulus,
            _ => self.high,
        };
        if header.is_reference {
            (self.high, self.low) = (high, low);
        }
        [high + low, high + low + i64::from(header.delta_order_bottom)]
    }

    /// `FrameNumOffset` + `frame_num` (8.2.1.2, 8.2.1.3).
    fn absolute_frame_num(&mut self, header: &PictureHeader, sequence: &SequenceParameterSet) -> i64 {
        if self.frame_num > header.frame_num {
            self.frame_num_offset += i64::from(sequence.max_frame_num());
        }
        self.frame_num = header.frame_num;
        self.frame_num_offset + i64::from(header.frame_num)
    }

    /// After a picture with `memory_management_control_operation` 5: its counts become relative to itself (8.2.1),
    /// and those of later ones follow from them.
    pub(crate) fn restart(&mut self, fields: Fields, orders: Orders) -> Orders {
        let origin = order_of(fields, orders);
        let orders = orders.map(|order| order - origin);
        let low = if fields == Fields::BOTTOM { 0 } else { orders[0] };
        *self = Self { low, ..Self::default() };
        orders
    }
}

/// `expectedPicOrderCnt` of reference frame `count` (8-9, 8-10).
fn expected_delta(count: i64, cycle: &[i32]) -> i64 {
    let Ok(length @ 1..) = i64::try_from(cycle.len()) else { return 0 };
    if count <= 0 {
        return 0;
    }
    let (cycles, position) = ((count - 1) / length, (count - 1) % length);
    let sum = |offsets: &[i32]| offsets.iter().map(|&offset| i64::from(offset)).sum::<i64>();
    cycles * sum(cycle) + sum(&cycle[..=position as usize])
}
