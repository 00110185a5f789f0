//! The pad of audio: there when the movie has some, with a streaming thread of its own, so that neither the picture nor
//! the sound waits for the other one's downstream.

use framewire_adaptive::client::AudioPacket;
use framewire_endpoint::reception::{AudioItem, AudioQueue};
use framewire_media::audio::AudioTrack;
use framewire_wire::vtp::AudioDescription;
use gst::prelude::*;
use gst::subclass::prelude::*;

use super::imp::{CAT, VtpSrc};
use super::{caps, messages};
use crate::lock::lock;

/// The pad's name, and its template's.
const NAME: &str = "audio";

/// What the thread that pushes audio knows.
#[derive(Default)]
pub(super) struct Sound {
    pad: Option<gst::Pad>,
    /// Packets that were taken, and their bytes.
    pub packets: u64,
    pub bytes: u64,
    /// Where the audio has come to.
    position: gst::ClockTime,
    /// Packets were lost since the last one.
    lost: bool,
    /// The next buffer does not follow the one before it.
    discontinuous: bool,
}

/// The pad's template.
pub(super) fn template() -> gst::PadTemplate {
    let caps = caps::any_audio();
    let template = gst::PadTemplate::new(NAME, gst::PadDirection::Src, gst::PadPresence::Sometimes, &caps);
    template.expect("invariant: the template is valid")
}

impl VtpSrc {
    /// The movie has audio: here is its pad.
    pub(super) fn add_audio(&self, audio: &AudioDescription) {
        let Some(caps) = caps::of_audio(audio) else {
            gst::warning!(CAT, imp = self, "audio of codec {} at {} Hz is not known", audio.codec, audio.sample_rate);
            return;
        };
        let object = self.obj();
        let template = object.pad_template(NAME).expect("invariant: the class has the template");
        let pad = gst::Pad::builder_from_template(&template)
            .name(NAME)
            .activatemode_function(|pad, parent, _mode, active| {
                // At first it has no parent.
                if active {
                    return Ok(());
                }
                let failed = || Err(gst::loggable_error!(CAT, "panic at the pad of audio"));
                VtpSrc::catch_panic_pad_function(parent, failed, |imp| imp.deactivate_audio(pad))
            })
            .query_function(|pad, parent, query| {
                VtpSrc::catch_panic_pad_function(parent, || false, |imp| imp.query_audio(pad, query))
            })
            .event_function(|pad, parent, event| {
                VtpSrc::catch_panic_pad_function(parent, || false, |imp| imp.audio_event(pad, event))
            })
            .build();
        *lock(&self.sound) = Sound { pad: Some(pad.clone()), discontinuous: true, ..Sound::default() };
        let _ = pad.set_active(true);
        for event in [self.audio_stream_start(), gst::event::Caps::new(&caps), segment()] {
            let _ = pad.store_sticky_event(&event);
        }
        let _ = object.add_pad(&pad);
        self.start_audio(&pad);
    }

    /// Of the same group as the video.
    fn audio_stream_start(&self) -> gst::Event {
        let video = self.obj().static_pad("src").and_then(|pad| pad.sticky_event::<gst::event::StreamStart>(0));
        let id = video.as_ref().map_or_else(|| "vtpsrc".into(), |video| video.stream_id().to_string());
        let id = format!("{id}/{NAME}");
        let mut event = gst::event::StreamStart::builder(&id);
        if let Some(group) = video.as_ref().and_then(|video| video.group_id()) {
            event = event.group_id(group);
        }
        event.build()
    }

    fn start_audio(&self, pad: &gst::Pad) {
        let (element, of_task) = (self.obj().downgrade(), pad.downgrade());
        let started = pad.start_task(move || {
            if let (Some(element), Some(pad)) = (element.upgrade(), of_task.upgrade()) {
                element.imp().push_next(&pad);
            }
        });
        if started.is_err() {
            gst::error!(CAT, imp = self, "the thread of the audio does not start");
        }
    }

    fn deactivate_audio(&self, pad: &gst::Pad) -> Result<(), gst::LoggableError> {
        self.with_audio_queue(|line| line.set_flushing(true));
        pad.stop_task().map_err(|_| gst::loggable_error!(CAT, "the thread of the audio did not stop"))
    }

    fn with_audio_queue(&self, change: impl FnOnce(&mut AudioQueue)) {
        // Without the lock: the streaming thread takes it too.
        let reception = lock(&self.reception).clone();
        if let Some(reception) = reception {
            reception.with_audio(change);
        }
    }

    /// The pad goes with the session.
    pub(super) fn remove_audio(&self) {
        let pad = lock(&self.sound).pad.take();
        if let Some(pad) = pad {
            let _ = pad.set_active(false);
            let _ = self.obj().remove_pad(&pad);
        }
    }

    /// Whether there is a listener.
    pub(super) fn has_listener(&self) -> bool {
        lock(&self.sound).pad.as_ref().is_some_and(gst::Pad::is_linked)
    }

    /// What is asked of one pad is answered as of the other: they have one duration, and one latency.
    fn query_audio(&self, pad: &gst::Pad, query: &mut gst::QueryRef) -> bool {
        use gst::QueryType::{Duration, Latency, Scheduling, Seeking};
        let object = self.obj();
        match (query.type_(), object.static_pad("src")) {
            (Duration | Latency | Scheduling | Seeking, Some(video)) => video.query(query),
            _ => gst::Pad::query_default(pad, Some(&*object), query),
        }
    }

    fn audio_event(&self, pad: &gst::Pad, event: gst::Event) -> bool {
        match event.type_() {
            gst::EventType::Latency | gst::EventType::Qos | gst::EventType::Reconfigure => true,
            gst::EventType::Seek => false,
            _ => gst::Pad::event_default(pad, Some(&*self.obj()), event),
        }
    }

    /// An event that an application sent to the element concerns the audio too.
    pub(super) fn send_to_audio(&self, event: &gst::Event) {
        let Some(pad) = lock(&self.sound).pad.clone() else { return };
        match event.type_() {
            gst::EventType::Eos => self.with_audio_queue(AudioQueue::drop_all),
            gst::EventType::FlushStart => {
                pad.push_event(event.clone());
                self.with_audio_queue(|line| line.set_flushing(true));
                let _ = pad.stop_task();
            }
            gst::EventType::FlushStop => {
                // Nothing is pushed meanwhile.
                let held = pad.stream_lock();
                self.with_audio_queue(|line| line.set_flushing(false));
                pad.push_event(event.clone());
                pad.push_event(segment());
                lock(&self.sound).discontinuous = true;
                drop(held);
                self.start_audio(&pad);
            }
            _ => {}
        }
    }

    /// One turn of the thread of the audio.
    fn push_next(&self, pad: &gst::Pad) {
        let reception = lock(&self.reception).clone();
        let flow = match reception.map_or(AudioItem::Flushing, |reception| reception.next_audio()) {
            AudioItem::Packet(packet) => self.push_audio(pad, packet),
            AudioItem::Lost { first, count } => {
                lock(&self.sound).lost = true;
                let object = self.obj();
                let message = gst::message::Element::builder(messages::audio_lost(first, count)).src(&*object);
                let _ = object.post_message(message.build());
                Ok(())
            }
            AudioItem::Ended => Err(gst::FlowError::Eos),
            AudioItem::Flushing => Err(gst::FlowError::Flushing),
        };
        match flow {
            Ok(()) => return,
            Err(gst::FlowError::Flushing) => {}
            Err(flow) => {
                // The video goes on, or ends with what was reported.
                self.with_audio_queue(AudioQueue::drop_all);
                if flow != gst::FlowError::Eos {
                    let reason = format!("streaming of audio stopped: {flow}");
                    gst::element_imp_error!(self, gst::StreamError::Failed, ["{reason}"]);
                }
                pad.push_event(gst::event::Eos::new());
            }
        }
        let _ = pad.pause_task();
    }

    /// Where there is no listener, the session goes on, and a later one is notified of the gap.
    fn push_audio(&self, pad: &gst::Pad, packet: AudioPacket) -> Result<(), gst::FlowError> {
        self.correct_position();
        let begins = gst::ClockTime::try_from(packet.media_time).unwrap_or(gst::ClockTime::ZERO);
        // Packets are whole frames of their codec, which say how long they play.
        let track = AudioTrack::parse(&packet.bytes).ok();
        let lasts = track.and_then(|track| {
            gst::ClockTime::try_from(track.packets().iter().map(|part| part.duration).sum::<std::time::Duration>()).ok()
        });
        let mut sound = lock(&self.sound);
        let gap = begins.checked_sub(sound.position).filter(|_| std::mem::take(&mut sound.lost));
        let (from, discontinuous) = (sound.position, std::mem::take(&mut sound.discontinuous) || gap.is_some());
        sound.position = begins + lasts.unwrap_or(gst::ClockTime::ZERO);
        drop(sound);
        if let Some(gap) = gap.filter(|gap| !gap.is_zero()) {
            pad.push_event(gst::event::Gap::builder(from).duration(gap).build());
        }
        let bytes = packet.bytes.len() as u64;
        match pad.push(buffer_of(packet, begins, lasts, discontinuous)) {
            Ok(_) => {
                let mut sound = lock(&self.sound);
                sound.packets += 1;
                sound.bytes += bytes;
                Ok(())
            }
            Err(gst::FlowError::NotLinked) => {
                lock(&self.sound).discontinuous = true;
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

/// That of the video, which BaseSrc makes: media time from 0 on.
fn segment() -> gst::Event {
    gst::event::Segment::new(&gst::FormattedSegment::<gst::ClockTime>::new())
}

fn buffer_of(
    packet: AudioPacket,
    begins: gst::ClockTime,
    lasts: Option<gst::ClockTime>,
    discontinuous: bool,
) -> gst::Buffer {
    let mut buffer = gst::Buffer::from_slice(packet.bytes);
    let writable = buffer.get_mut().expect("invariant: nobody else has the buffer yet");
    writable.set_pts(begins);
    writable.set_duration(lasts);
    writable.set_offset(u64::from(packet.number));
    if discontinuous {
        writable.set_flags(gst::BufferFlags::DISCONT);
    }
    buffer
}
