//! Settings of a scenario, as the crates take them that carry them out.

use framewire_media::access_unit::Codec;
use framewire_session::FlowSetup;

/// The name of the file of the movie as a flow received it, in the directory `received`: an elementary stream of the
/// codec that the flow sends, called as FFmpeg's readers of such streams know it.
pub fn received_file(setup: &FlowSetup) -> String {
    let suffix = setup.codec().unwrap_or(Codec::MpegVideo).file_suffix();
    format!("{}.{suffix}", setup.name())
}

/// Name of the file of its sound as received, beside that; `None` where it sends none.
pub fn received_sound(setup: &FlowSetup) -> Option<String> {
    setup.sound().map(|format| format!("{}.{}", setup.name(), format.codec.name()))
}
