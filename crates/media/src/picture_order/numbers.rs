//! The numbers of a picture that stand in its slice headers (ITU-T H.264, 7.3.3).

/// The numbers that the slice headers of a picture hold, and where they stand: fields of fixed width, both of which a
/// decoder compares with those of the pictures before, so that the same may be added to those of all pictures from one
/// on that refer to none before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PictureNumbers {
    /// `frame_num`: of how many reference frames it was since the last IDR picture, modulo `MaxFrameNum` (7.4.3).
    pub frame_num: u16,
    /// Bits of `frame_num`, 4 to 16: `log2_max_frame_num_minus4` + 4.
    pub frame_num_bits: u8,
    /// Bits of `pic_order_cnt_lsb`, 4 to 16: `log2_max_pic_order_cnt_lsb_minus4` + 4. 0 where there is no such field, as
    /// picture order follows `frame_num` (`pic_order_cnt_type` 1 and 2).
    pub order_bits: u8,
    /// `frame_mbs_only_flag`: nothing stands between the two.
    pub frames_only: bool,
    /// `separate_colour_plane_flag`: each slice states its plane.
    pub separate_colour_planes: bool,
    /// The numbers of the pictures after it begin anew: it has memory management operation 5.
    pub restarts: bool,
    /// No picture that is shown after it refers to one before it: a recovery point that is exact (D.2.8).
    pub recovers: bool,
}

/// What is added to the numbers of pictures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Renumbering {
    /// To `frame_num`, modulo `MaxFrameNum`.
    pub frame_num: u16,
    /// To picture order counts, which is to `pic_order_cnt_lsb` modulo `MaxPicOrderCntLsb`. Nothing where there is no such
    /// field.
    pub order: i64,
}

impl Renumbering {
    /// Nothing changes.
    pub fn is_none(self) -> bool {
        self == Self::default()
    }

    /// What takes it back.
    pub fn inverse(self) -> Self {
        Self { frame_num: self.frame_num.wrapping_neg(), order: self.order.wrapping_neg() }
    }
}

/// The numbers that stand in one slice header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SliceNumbers {
    /// `frame_num`.
    pub frame_num: u16,
    /// `pic_order_cnt_lsb`; 0 where there is none.
    pub order: u16,
}
