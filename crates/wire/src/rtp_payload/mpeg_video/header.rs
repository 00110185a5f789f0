//! The MPEG video-specific header (RFC 2250, section 3.4).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |    MBZ  |T|         TR        | |N|S|B|E|  P  | | BFC | | FFC |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//!                                 AN              FBV     FFV
//! ```

/// Length of the header without the MPEG-2 extension.
pub(crate) const LENGTH: usize = 4;

/// Length of the MPEG-2 video-specific header extension (RFC 2250, section 3.4.1) without what it announces.
const EXTENSION_LENGTH: usize = 4;
/// Length of the composite display extension.
const COMPOSITE_DISPLAY_LENGTH: usize = 4;

/// A checked view of a payload: long enough for the header and for the extensions that it announces.
///
/// The fields may hold any value; [`HeaderRepr::parse`] admits only valid ones. (GStreamer's `rtpmpvpay` sends
/// all zeros, which is not valid, and its stream can be received all the same.)
#[derive(Clone, Copy, Debug)]
pub struct HeaderView<'a> {
    payload: &'a [u8],
    video: usize,
}

impl<'a> HeaderView<'a> {
    /// A view of an RTP payload.
    ///
    /// # Errors
    /// [`HeaderError::Truncated`] when the payload ends before the header and its extensions do.
    pub fn new(payload: &'a [u8]) -> Result<Self, HeaderError> {
        Ok(Self { payload, video: video_offset(payload).ok_or(HeaderError::Truncated { length: payload.len() })? })
    }

    fn word(&self) -> u32 {
        u32::from_be_bytes([self.payload[0], self.payload[1], self.payload[2], self.payload[3]])
    }

    fn bit(&self, position: u32) -> bool {
        self.word() >> (31 - position) & 1 == 1
    }

    /// `count` bits from `position`, which counts as in the RFC's figure: 0 is the first bit sent.
    fn bits(&self, position: u32, count: u32) -> u16 {
        (self.word() >> (32 - position - count) & ((1 << count) - 1)) as u16
    }

    /// MBZ: reserved, sent as zero.
    pub(crate) fn must_be_zero(&self) -> u8 {
        self.bits(0, 5) as u8
    }

    /// T: the MPEG-2 video-specific header extension follows.
    pub fn has_extension(&self) -> bool {
        self.bit(5)
    }

    /// TR: temporal reference of the picture.
    pub fn temporal_reference(&self) -> u16 {
        self.bits(6, 10)
    }

    /// AN: the N bit is in use.
    pub(crate) fn active_n(&self) -> bool {
        self.bit(16)
    }

    /// N: the picture header cannot be made from earlier ones.
    pub(crate) fn new_picture_header(&self) -> bool {
        self.bit(17)
    }

    /// S: a sequence header is in this packet.
    pub(crate) fn sequence_header_present(&self) -> bool {
        self.bit(18)
    }

    /// B: the payload begins with a slice, or with headers and then a slice.
    pub(crate) fn beginning_of_slice(&self) -> bool {
        self.bit(19)
    }

    /// E: the payload ends with the end of a slice.
    pub(crate) fn end_of_slice(&self) -> bool {
        self.bit(20)
    }

    /// P: picture coding type, 1 to 4 when valid.
    pub(crate) fn picture_type(&self) -> u8 {
        self.bits(21, 3) as u8
    }

    /// FBV, BFC, FFV, FFC as sent: the codes of the picture header.
    pub(crate) fn motion_vector_codes(&self) -> MotionVectorCodes {
        MotionVectorCodes {
            full_pel_backward_vector: self.bit(24),
            backward_f_code: self.bits(25, 3) as u8,
            full_pel_forward_vector: self.bit(28),
            forward_f_code: self.bits(29, 3) as u8,
        }
    }

    /// The elementary-stream data behind the header and its extensions.
    pub fn video(&self) -> &'a [u8] {
        &self.payload[self.video..]
    }
}

/// Where the video starts, or `None` when the payload is too short for what it announces.
fn video_offset(payload: &[u8]) -> Option<usize> {
    const T: u8 = 0x04;
    const E: u8 = 0x40;
    const D: u8 = 0x01;
    let first = payload.first_chunk::<LENGTH>()?[0];
    let mut offset = LENGTH;
    if first & T != 0 {
        let extension = payload.get(offset..)?.first_chunk::<EXTENSION_LENGTH>()?;
        offset += EXTENSION_LENGTH;
        if extension[3] & D != 0 {
            offset += COMPOSITE_DISPLAY_LENGTH;
        }
        if extension[0] & E != 0 {
            // "The first byte of these extensions data gives the length of the extensions in 32-bit words
            // including the length field itself" (section 3.4.1): a length of zero is a contradiction.
            let words = usize::from(*payload.get(offset)?);
            offset += if words == 0 { return None } else { 4 * words };
        }
    }
    (offset <= payload.len()).then_some(offset)
}

/// Picture coding type as the P field names it (ISO/IEC 13818-2, table 6-12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum CodingType {
    /// Intra coded.
    I = 1,
    /// Predicted.
    P = 2,
    /// Bidirectionally predicted.
    B = 3,
    /// DC-intra coded (ISO/IEC 11172-2 only).
    D = 4,
}

impl CodingType {
    /// The type with this code; `None` for 0, which is forbidden, and 5 to 7, which are reserved.
    pub fn from_code(code: u8) -> Option<Self> {
        [Self::I, Self::P, Self::B, Self::D].into_iter().find(|kind| *kind as u8 == code)
    }
}

/// The motion-vector codes of a picture header; those that its type does not carry are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MotionVectorCodes {
    /// FBV, only of B pictures.
    pub full_pel_backward_vector: bool,
    /// BFC, only of B pictures, 0 to 7.
    pub backward_f_code: u8,
    /// FFV, of P and B pictures.
    pub full_pel_forward_vector: bool,
    /// FFC, of P and B pictures, 0 to 7.
    pub forward_f_code: u8,
}

impl MotionVectorCodes {
    /// True when every code that `kind` does not carry is zero, and every code fits its field.
    fn fits(&self, kind: CodingType) -> bool {
        let no_forward = !self.full_pel_forward_vector && self.forward_f_code == 0;
        let no_backward = !self.full_pel_backward_vector && self.backward_f_code == 0;
        self.forward_f_code < 8
            && self.backward_f_code < 8
            && match kind {
                CodingType::I | CodingType::D => no_forward && no_backward,
                CodingType::P => no_backward,
                CodingType::B => true,
            }
    }
}

/// A valid header without the MPEG-2 extension (T = 0).
///
/// The extension repeats the picture coding extension, so that a decoder can make up for a lost picture header.
/// It is optional, and a receiver that discards every frame with a packet missing has no use for it: it is never
/// sent, and read over when received. AN and N cost nothing and are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderRepr {
    /// TR, 0 to 1023.
    pub temporal_reference: u16,
    /// AN and N: `None` when N is not in use (AN = 0), as always for MPEG-1.
    pub new_picture_header: Option<bool>,
    /// S.
    pub sequence_header_present: bool,
    /// B.
    pub beginning_of_slice: bool,
    /// E.
    pub end_of_slice: bool,
    /// P.
    pub picture_type: CodingType,
    /// FBV, BFC, FFV, FFC.
    pub motion_vector_codes: MotionVectorCodes,
}

impl HeaderRepr {
    /// Reads a header, admitting only valid fields. An MPEG-2 extension is read over.
    ///
    /// # Errors
    /// When a reserved bit is set, N is set while it is not in use, the picture type is forbidden or reserved, or a
    /// motion-vector code is set that the picture type does not carry.
    pub fn parse(view: &HeaderView<'_>) -> Result<Self, HeaderError> {
        let code = view.picture_type();
        let picture_type = CodingType::from_code(code).ok_or(HeaderError::PictureType(code))?;
        let motion_vector_codes = view.motion_vector_codes();
        if view.must_be_zero() != 0 {
            return Err(HeaderError::MustBeZero(view.must_be_zero()));
        }
        if view.new_picture_header() && !view.active_n() {
            return Err(HeaderError::InactiveN);
        }
        if !motion_vector_codes.fits(picture_type) {
            return Err(HeaderError::MotionVectorCodes { picture_type, codes: motion_vector_codes });
        }
        Ok(Self {
            temporal_reference: view.temporal_reference(),
            new_picture_header: view.active_n().then(|| view.new_picture_header()),
            sequence_header_present: view.sequence_header_present(),
            beginning_of_slice: view.beginning_of_slice(),
            end_of_slice: view.end_of_slice(),
            picture_type,
            motion_vector_codes,
        })
    }

    /// The header as sent, with MBZ and T zero.
    pub fn emit(&self) -> [u8; LENGTH] {
        let codes = &self.motion_vector_codes;
        debug_assert!(self.temporal_reference < 1024 && codes.fits(self.picture_type), "{self:?}");
        let active_n = self.new_picture_header.is_some();
        let new_header = self.new_picture_header == Some(true);
        let word = u32::from(self.temporal_reference & 0x3FF) << 16
            | u32::from(active_n) << 15
            | u32::from(new_header) << 14
            | u32::from(self.sequence_header_present) << 13
            | u32::from(self.beginning_of_slice) << 12
            | u32::from(self.end_of_slice) << 11
            | (self.picture_type as u32) << 8
            | u32::from(codes.full_pel_backward_vector) << 7
            | u32::from(codes.backward_f_code & 7) << 4
            | u32::from(codes.full_pel_forward_vector) << 3
            | u32::from(codes.forward_f_code & 7);
        word.to_be_bytes()
    }
}

/// A payload that does not start with a valid MPEG video-specific header.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// The payload is shorter than the header and the extensions that it announces.
    #[error("a payload of {length} bytes is too short for its MPEG video-specific header")]
    Truncated {
        /// Length of the payload in bytes.
        length: usize,
    },
    /// MBZ is not zero.
    #[error("the reserved bits are {0:#07b}: zero is allowed")]
    MustBeZero(u8),
    /// N is set while AN is not.
    #[error("the bit N is set while AN is not")]
    InactiveN,
    /// P is forbidden or reserved.
    #[error("picture type {0}: 1 (I), 2 (P), 3 (B) or 4 (D) is allowed")]
    PictureType(u8),
    /// A motion-vector code is set that the type of the picture does not carry.
    #[error("a picture of type {picture_type:?} carries no such motion-vector codes: {codes:?}")]
    MotionVectorCodes {
        /// The picture's type.
        picture_type: CodingType,
        /// The codes received.
        codes: MotionVectorCodes,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn repr() -> impl Strategy<Value = HeaderRepr> {
        let codes = (any::<bool>(), 0u8..8, any::<bool>(), 0u8..8);
        (0u16..1024, any::<Option<bool>>(), any::<[bool; 3]>(), 1u8..5, codes).prop_map(
            |(tr, n, [s, b, e], p, codes)| {
                let picture_type = CodingType::from_code(p).unwrap();
                let mut motion_vector_codes = MotionVectorCodes {
                    full_pel_backward_vector: codes.0,
                    backward_f_code: codes.1,
                    full_pel_forward_vector: codes.2,
                    forward_f_code: codes.3,
                };
                match picture_type {
                    CodingType::I | CodingType::D => motion_vector_codes = MotionVectorCodes::default(),
                    CodingType::P => {
                        motion_vector_codes.full_pel_backward_vector = false;
                        motion_vector_codes.backward_f_code = 0;
                    }
                    CodingType::B => {}
                }
                HeaderRepr {
                    temporal_reference: tr,
                    new_picture_header: n,
                    sequence_header_present: s,
                    beginning_of_slice: b,
                    end_of_slice: e,
                    picture_type,
                    motion_vector_codes,
                }
            },
        )
    }

    #[test]
    fn fields_lie_where_the_figure_says() {
        let header = HeaderRepr {
            temporal_reference: 0b10_0000_0001,
            new_picture_header: Some(false),
            sequence_header_present: true,
            beginning_of_slice: false,
            end_of_slice: true,
            picture_type: CodingType::B,
            motion_vector_codes: MotionVectorCodes {
                full_pel_backward_vector: true,
                backward_f_code: 0b001,
                full_pel_forward_vector: false,
                forward_f_code: 0b111,
            },
        };
        assert_eq!(header.emit(), [0b0000_0010, 0b0000_0001, 0b1010_1011, 0b1001_0111]);
    }

    #[test]
    fn extensions_are_read_over_and_must_be_whole() {
        // T, then E and D, a composite display extension, and two words of other extensions.
        let payload = [0x04, 0, 1, 0, 0x40, 0, 0, 1, 9, 9, 9, 9, 2, 8, 8, 8, 8, 8, 8, 8, 0xAB];
        assert_eq!(HeaderView::new(&payload).unwrap().video(), [0xAB]);
        for length in 0..payload.len() - 1 {
            let truncated = HeaderView::new(&payload[..length]).unwrap_err();
            assert_eq!(truncated, HeaderError::Truncated { length });
        }
        let mut no_length = payload;
        no_length[12] = 0;
        assert!(HeaderView::new(&no_length).is_err());
    }

    #[test]
    fn what_the_rfc_forbids_is_named() {
        let parse = |bytes: [u8; 4]| HeaderRepr::parse(&HeaderView::new(&bytes).unwrap()).unwrap_err();
        assert_eq!(parse([0, 0, 0, 0]), HeaderError::PictureType(0));
        assert_eq!(parse([0, 0, 5, 0]), HeaderError::PictureType(5));
        assert_eq!(parse([0x08, 0, 1, 0]), HeaderError::MustBeZero(1));
        assert_eq!(parse([0, 0, 0x41, 0]), HeaderError::InactiveN);
        assert!(matches!(parse([0, 0, 2, 0x10]), HeaderError::MotionVectorCodes { .. }));
    }

    proptest! {
        #[test]
        fn valid_headers_round_trip(header in repr()) {
            let bytes = header.emit();
            prop_assert_eq!(HeaderRepr::parse(&HeaderView::new(&bytes).unwrap()), Ok(header));
        }

        #[test]
        fn what_parses_is_emitted_as_it_was(mut bytes: [u8; 4]) {
            bytes[0] &= !0x04;
            if let Ok(header) = HeaderRepr::parse(&HeaderView::new(&bytes).unwrap()) {
                prop_assert_eq!(header.emit(), bytes);
            }
        }

        #[test]
        fn any_bytes_are_taken(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(view) = HeaderView::new(&bytes) {
                prop_assert!(view.video().len() <= bytes.len() - LENGTH);
                let _ = HeaderRepr::parse(&view);
            }
        }
    }
}
