//! What a session description calls its streams, to be asked for by.

/// By which names a description says that it and its first streams of video and sound are asked for (RFC 2326, appendix C.1.1).
#[derive(Default)]
pub(super) struct Controls<'a> {
    pub(super) whole: Option<&'a str>,
    pub(super) video: Option<&'a str>,
    pub(super) has_sound: bool,
    pub(super) sound: Option<&'a str>,
}

impl<'a> Controls<'a> {
    /// `None` where there is no video.
    pub(super) fn of(description: &'a str) -> Option<Self> {
        #[derive(Clone, Copy)]
        enum Of {
            Whole,
            Video,
            Sound,
            Other,
        }
        let (mut controls, mut of, mut has_video) = (Self::default(), Of::Whole, false);
        for line in description.lines() {
            if let Some(name) = line.strip_prefix("m=") {
                of = match name.split(' ').next() {
                    Some("video") if !std::mem::replace(&mut has_video, true) => Of::Video,
                    Some("audio") if !std::mem::replace(&mut controls.has_sound, true) => Of::Sound,
                    _ => Of::Other,
                };
            }
            if let Some(control) = line.strip_prefix("a=control:").map(str::trim) {
                match of {
                    Of::Whole => controls.whole = Some(control),
                    Of::Video => controls.video = Some(control),
                    Of::Sound => controls.sound = Some(control),
                    Of::Other => {}
                }
            }
        }
        has_video.then_some(controls)
    }
}

/// The URL that a control is, by the base of the description.
pub(super) fn joined(base: &str, control: &str) -> String {
    if control.contains("://") {
        return control.to_owned();
    }
    format!("{}/{}", base.trim_end_matches('/'), control.trim_start_matches('/'))
}
