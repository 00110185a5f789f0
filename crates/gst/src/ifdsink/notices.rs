//! What the writer reports, passed on to the application and upstream.

use std::time::Duration;

use framewire_endpoint::writer::Notice;
use framewire_transport::live::KeyFrameRequests;
use framewire_units::Timestamp;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::prelude::*;

use super::imp::{CAT, IfdSink, Starting};
use crate::frames::Held;
use crate::lock::lock;
use crate::stats::{self, now};

impl IfdSink {
    /// Tells the application and upstream; without locks, as both may call back.
    pub(super) fn tell(&self, notice: Notice<Held>) {
        let object = self.obj();
        match notice {
            Notice::Dropped(discard, lost) => {
                let (frame, rule) = (&discard.frame, discard.rule);
                gst::debug!(CAT, imp = self, "frame {} ({}) given up: {rule}", frame.bytes.number, frame.kind);
                let settings = lock(&self.settings).dropping;
                if settings.post_drop_messages {
                    let segment = lock(&self.segment).clone();
                    let message = gst::message::Element::builder(stats::drop_message(frame, rule, segment.as_ref()));
                    let _ = object.post_message(message.src(&*object).build());
                }
                let Some(lost) = lost else { return };
                crate::groups::tell(&*object, lost.frame, rule);
                if lost.needs_key_frame {
                    self.request_key_frame(KeyFrameRequests::need);
                }
            }
            Notice::Reconnecting(text) => {
                gst::element_imp_warning!(self, gst::ResourceError::Write, ("{text}"));
            }
            Notice::Undelivered(text) => {
                gst::element_imp_warning!(self, gst::ResourceError::Write, ("{text}"));
            }
            Notice::WantsKeyFrame => self.request_key_frame(KeyFrameRequests::need),
            Notice::Failed(text) => {
                let mut starting = lock(&self.starting);
                if *starting != Starting::Over {
                    *starting = Starting::Failed(text);
                    return;
                }
                drop(starting);
                gst::element_imp_error!(self, gst::ResourceError::OpenWrite, ("{text}"));
            }
        }
    }

    /// Asks upstream for a key frame when it is time.
    pub(super) fn request_key_frame(&self, is_time: impl FnOnce(&mut KeyFrameRequests, Timestamp, Duration) -> bool) {
        let settings = lock(&self.settings).dropping;
        let interval = settings.request_interval();
        if settings.request_key_frames && is_time(&mut lock(&self.requests), now(), interval) {
            let event = gst_video::UpstreamForceKeyUnitEvent::builder().all_headers(true).build();
            self.obj().sink_pad().push_event(event);
        }
    }
}
