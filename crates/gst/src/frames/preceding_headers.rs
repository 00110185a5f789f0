//! Headers that come in buffers of their own: they travel with the picture that they belong to, the next one.

use bytes::Bytes;

use super::Held;

/// Headers without a picture are kept for the picture that they belong to; more than this is no stream of video.
const MOST_BYTES: usize = 1 << 20;

/// Headers that came since the last picture.
#[derive(Debug, Default)]
pub(crate) struct PrecedingHeaders(Vec<u8>);

/// Why a buffer cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BufferError {
    /// Its memory cannot be mapped.
    Memory,
    /// More headers came than any stream has.
    NoPictures,
}

impl BufferError {
    /// What of the buffer is wrong.
    pub(crate) const fn reason(self) -> &'static str {
        match self {
            Self::Memory => "the memory of a buffer cannot be read",
            Self::NoPictures => "headers without end, and no picture",
        }
    }
}

impl PrecedingHeaders {
    /// Keeps a buffer of headers.
    ///
    /// # Errors
    /// When it cannot be read, or would be more than 1 MiB of headers without a picture.
    pub(crate) fn keep(&mut self, buffer: &gst::Buffer) -> Result<(), BufferError> {
        let map = buffer.map_readable().map_err(|_| BufferError::Memory)?;
        if self.0.len() + map.len() > MOST_BYTES {
            return Err(BufferError::NoPictures);
        }
        self.0.extend_from_slice(&map);
        Ok(())
    }

    /// The bytes of a frame, with the headers before it. A frame in one buffer is not copied: they are its memory.
    ///
    /// # Errors
    /// When a buffer cannot be read.
    pub(crate) fn before(&mut self, frame: &Held) -> Result<Bytes, BufferError> {
        if self.0.is_empty() && frame.second_field.is_none() {
            let map = frame.buffer.clone().into_mapped_buffer_readable().map_err(|_| BufferError::Memory)?;
            return Ok(Bytes::from_owner(map));
        }
        let mut whole = self.take();
        for buffer in frame.buffers() {
            whole.extend_from_slice(&buffer.map_readable().map_err(|_| BufferError::Memory)?);
        }
        Ok(whole.into())
    }

    /// Those for which no picture came, as at the end of the stream.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(bytes: Vec<u8>, second_field: Option<Vec<u8>>) -> Held {
        let buffer = |bytes: Vec<u8>| gst::Buffer::from_mut_slice(bytes);
        let lasts = framewire_units::Duration::ZERO;
        let second_field = second_field.map(buffer);
        Held { buffer: buffer(bytes), second_field, number: 0, group: 0, lasts, format: None }
    }

    #[test]
    fn headers_go_with_the_next_picture_and_with_no_other() {
        gst::init().unwrap();
        let mut headers = PrecedingHeaders::default();
        headers.keep(&gst::Buffer::from_slice(b"sps")).unwrap();
        headers.keep(&gst::Buffer::from_slice(b"pps")).unwrap();
        assert_eq!(headers.before(&held(b"one".to_vec(), Some(b"field".to_vec()))).unwrap(), &b"spsppsonefield"[..]);
        assert_eq!(headers.before(&held(b"two".to_vec(), None)).unwrap(), &b"two"[..]);
        assert_eq!(headers.take(), b"");
    }

    #[test]
    fn a_picture_without_headers_is_not_copied() {
        gst::init().unwrap();
        let frame = held(vec![7; 100], None);
        let at = frame.buffer.map_readable().unwrap().as_ptr();
        assert_eq!(PrecedingHeaders::default().before(&frame).unwrap().as_ptr(), at);
    }

    #[test]
    fn a_mebibyte_of_headers_is_kept_and_no_more() {
        gst::init().unwrap();
        let mut headers = PrecedingHeaders::default();
        headers.keep(&gst::Buffer::from_mut_slice(vec![0; MOST_BYTES])).unwrap();
        assert_eq!(headers.keep(&gst::Buffer::from_mut_slice(vec![0])), Err(BufferError::NoPictures));
        assert_eq!(headers.take().len(), MOST_BYTES);
    }
}
