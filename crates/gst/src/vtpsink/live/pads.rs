//! The element's side of the levels: request pads, buffers and events.

use gst::prelude::*;
use gst::subclass::prelude::*;

use super::{Live, Refusal};
use crate::lock::lock;
use crate::vtpsink::imp::{CAT, VtpSink};

/// What can be a level: whole access units of byte streams.
const TEMPLATE_CAPS: &str = "video/mpeg, mpegversion=(int)4, systemstream=(boolean)false, parsed=(boolean)true; \
     video/x-divx, divxversion=(int){4, 5}; video/x-xvid; \
     video/x-h264, stream-format=(string)byte-stream, alignment=(string)au; \
     video/x-h265, stream-format=(string)byte-stream, alignment=(string)au";

/// The number in the name of a pad, which orders the levels.
pub(in crate::vtpsink) fn number_of(pad: &gst::Pad) -> Option<u32> {
    parse(&pad.name())
}

fn parse(name: &str) -> Option<u32> {
    name.strip_prefix("sink_")?.parse().ok()
}

impl VtpSink {
    /// A pad for another level: of the number in its name, or the lowest that is free.
    pub(in crate::vtpsink) fn request(&self, template: &gst::PadTemplate, name: Option<&str>) -> Option<gst::Pad> {
        let taken: Vec<u32> = self.obj().sink_pads().iter().filter_map(number_of).collect();
        let number = match name {
            Some(name) => parse(name)?,
            None => (0..).find(|number| !taken.contains(number))?,
        };
        if taken.contains(&number) || !self.admits(number) {
            gst::warning!(CAT, imp = self, "pad sink_{number} cannot be had: taken, or the stream has begun");
            return None;
        }
        let failed = || Err(gst::FlowError::Error);
        let pad = gst::Pad::builder_from_template(template)
            .name(format!("sink_{number}"))
            .chain_function(move |_, parent, buffer| {
                Self::catch_panic_pad_function(parent, failed, |sink| sink.chain(number, buffer))
            })
            .event_full_function(move |pad, parent, event| {
                Self::catch_panic_pad_function(parent, failed, |sink| sink.level_event(number, pad, event))
            })
            .query_function(|pad, parent, query| {
                Self::catch_panic_pad_function(parent, || false, |sink| sink.level_query(pad, query))
            })
            .build();
        // As basesink: a pad that is added to an element at work has to be active.
        if self.obj().current_state() > gst::State::Ready {
            pad.set_active(true).ok()?;
        }
        self.obj().add_pad(&pad).ok()?;
        Some(pad)
    }

    /// Whether there can be another level now.
    fn admits(&self, number: u32) -> bool {
        match &mut *lock(&self.live) {
            Some(live) => live.add(number),
            // A file is served, or the element has not started.
            None => self.obj().current_state() <= gst::State::Ready,
        }
    }

    /// A pad goes.
    pub(in crate::vtpsink) fn release(&self, pad: &gst::Pad) {
        let _ = pad.set_active(false);
        if let Some(number) = number_of(pad) {
            // What is wrong with that is reported on the bus.
            let _ = self.change_levels(|live| live.remove(number));
        }
        let _ = self.obj().remove_pad(pad);
    }

    fn chain(&self, number: u32, buffer: gst::Buffer) -> Result<gst::FlowSuccess, gst::FlowError> {
        if self.is_over() {
            return Err(gst::FlowError::Eos);
        }
        let progress = self.change_levels(|live| live.buffer(number, buffer))?;
        if let Some(frames) = progress.given_up {
            self.tell_of_long_group(frames);
        }
        if progress.more {
            self.more();
        }
        Ok(gst::FlowSuccess::Ok)
    }

    /// Takes something in. What cannot be is reported once; from then on pads stop silently, as an error of theirs
    /// would let what is upstream complain, perhaps before it was said what is wrong.
    fn change_levels<T>(&self, change: impl FnOnce(&mut Live) -> Result<T, Refusal>) -> Result<T, gst::FlowError> {
        let refusal = {
            let mut live = lock(&self.live);
            let live = live.as_mut().filter(|live| !live.is_refused()).ok_or(gst::FlowError::Flushing)?;
            match change(live) {
                Ok(done) => return Ok(done),
                Err(refusal) => {
                    live.refuse();
                    refusal
                }
            }
        };
        Err(self.tell_of_refusal(&refusal))
    }

    fn tell_of_refusal(&self, refusal: &Refusal) -> gst::FlowError {
        if matches!(refusal, Refusal::Caps { .. }) {
            gst::element_imp_error!(self, gst::CoreError::Negotiation, ("{refusal}"));
            gst::FlowError::NotNegotiated
        } else {
            gst::element_imp_error!(self, gst::StreamError::Format, ("{refusal}"));
            gst::FlowError::Error
        }
    }

    fn tell_of_long_group(&self, frames: usize) {
        gst::element_imp_warning!(
            self,
            gst::StreamError::Format,
            ("{frames} frames were given up: no key frame of a closed group came within max-size-time and \
                 max-size-bytes, and one is asked for; encode with shorter, closed groups")
        );
        for pad in self.obj().sink_pads() {
            pad.push_event(gst_video::UpstreamForceKeyUnitEvent::builder().all_headers(true).build());
        }
    }

    fn level_event(&self, number: u32, pad: &gst::Pad, event: gst::Event) -> Result<gst::FlowSuccess, gst::FlowError> {
        match event.view() {
            gst::EventView::Caps(caps) => self.level_caps(number, caps.caps())?,
            gst::EventView::Segment(segment) => {
                if let Some(live) = &mut *lock(&self.live) {
                    live.segment(number, segment.segment());
                }
            }
            gst::EventView::FlushStop(_) => {
                let more = lock(&self.live).as_mut().is_some_and(|live| live.flush(number));
                if more {
                    self.more();
                }
            }
            gst::EventView::Eos(_) => return self.level_end(number),
            _ => {}
        }
        let object = self.obj();
        if gst::Pad::event_default(pad, Some(&*object), event) {
            Ok(gst::FlowSuccess::Ok)
        } else {
            Err(gst::FlowError::Error)
        }
    }

    /// Caps that are refused stay with the pad, which offers them again with every buffer and event.
    fn level_caps(&self, number: u32, caps: &gst::CapsRef) -> Result<(), gst::FlowError> {
        if let Some(problem) = self.change_levels(|live| live.caps(number, caps))? {
            gst::warning!(CAT, imp = self, "pad sink_{number}: {problem}");
        }
        Ok(())
    }

    fn level_end(&self, number: u32) -> Result<gst::FlowSuccess, gst::FlowError> {
        if self.change_levels(|live| live.end(number))? {
            self.more();
        }
        Ok(gst::FlowSuccess::Ok)
    }

    fn level_query(&self, pad: &gst::Pad, query: &mut gst::QueryRef) -> bool {
        if let gst::QueryViewMut::AcceptCaps(accept) = query.view_mut() {
            // The event says what is wrong with caps, and which parser is missing; a refusal here could not.
            accept.set_result(true);
            return true;
        }
        gst::Pad::query_default(pad, Some(&*self.obj()), query)
    }
}

/// The template of the pads.
pub(in crate::vtpsink) fn template() -> gst::PadTemplate {
    let caps: gst::Caps = TEMPLATE_CAPS.parse().expect("invariant: these are caps");
    gst::PadTemplate::new("sink_%u", gst::PadDirection::Sink, gst::PadPresence::Request, &caps)
        .expect("invariant: the template is valid")
}
