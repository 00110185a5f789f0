//! The properties that dropping elements share.

use framewire_transport::frame::Payload;
use framewire_transport::queue::FrameQueue;
use framewire_transport::registry::Queue;
use framewire_transport::{Limits, QueueKind};
use framewire_units::{DataSize, Duration};
use gst::glib;
use gst::prelude::*;

/// By which rules frames are dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstFramewireDropMode")]
pub enum Mode {
    /// I-Frame Delay, figure 1.1 of the thesis: one frame waits, a more important one overwrites it.
    #[enum_value(name = "I-Frame Delay: one frame waits, types are compared", nick = "ifd")]
    Ifd,
    /// Figures 1.2 and 1.3: also gives up what refers to a frame that was given up.
    #[enum_value(name = "I-Frame Delay, and no frame without its references", nick = "ifd-optimised")]
    IfdOptimised,
    /// The general rule.
    #[default]
    #[enum_value(name = "Least depended-on frames first, never one without its references", nick = "dependency")]
    Dependency,
}

impl Mode {
    /// The queue of the library.
    const fn queue(self) -> Queue {
        match self {
            Self::Ifd => Queue::Ifd,
            Self::IfdOptimised => Queue::IfdOptimised,
            Self::Dependency => Queue::Dependency,
        }
    }
}

/// Values of the properties.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// `mode`.
    pub mode: Mode,
    /// `max-size-buffers`; 0: no limit.
    pub buffers: u32,
    /// `max-size-bytes`; 0: no limit.
    pub bytes: u32,
    /// `max-size-time` in nanoseconds; 0: no limit.
    pub time: u64,
    /// `post-drop-messages`.
    pub post_drop_messages: bool,
    /// `request-key-frames`.
    pub request_key_frames: bool,
    /// `min-force-key-unit-interval` in nanoseconds.
    pub request_interval: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            buffers: 0,
            // More than any stream needs for the time below: a bound on memory when durations are not known.
            bytes: 100_000_000,
            // As the transport `tcp+dependency`, and as `queue`.
            time: 1_000_000_000,
            post_drop_messages: false,
            request_key_frames: true,
            request_interval: 1_000_000_000,
        }
    }
}

/// What is reported to an application when the limit has no effect.
pub(crate) const INEFFECTIVE: &str = "max-size-time has no effect: the buffers have neither time stamps nor durations, and \
                               their caps no frame rate; set max-size-buffers, or put a parser before this element";

impl Settings {
    /// Whether nothing but time limits how many frames may wait.
    pub(crate) fn is_limited_by_time_alone(&self) -> bool {
        self.mode == Mode::Dependency && self.time > 0 && self.buffers == 0
    }

    /// What the properties look like to GObject: new ones at each call, since each belongs to one class.
    pub(crate) fn properties() -> Vec<glib::ParamSpec> {
        let default = Settings::default();
        vec![
            glib::ParamSpecEnum::builder_with_default("mode", default.mode)
                .nick("Mode")
                .blurb("By which rules frames are dropped")
                .mutable_ready()
                .build(),
            glib::ParamSpecUInt::builder("max-size-buffers")
                .nick("Max. size (buffers)")
                .blurb("Frames that may wait in mode dependency (0 = no limit)")
                .default_value(default.buffers)
                .mutable_playing()
                .build(),
            glib::ParamSpecUInt::builder("max-size-bytes")
                .nick("Max. size (bytes)")
                .blurb("Bytes that may wait in mode dependency (0 = no limit)")
                .default_value(default.bytes)
                .mutable_playing()
                .build(),
            glib::ParamSpecUInt64::builder("max-size-time")
                .nick("Max. size (ns)")
                .blurb("Time of the stream that may wait in mode dependency, in ns (0 = no limit)")
                .default_value(default.time)
                .mutable_playing()
                .build(),
            glib::ParamSpecBoolean::builder("post-drop-messages")
                .nick("Post drop messages")
                .blurb("Post an element message framewire-frame-dropped for every frame that is dropped")
                .default_value(default.post_drop_messages)
                .mutable_playing()
                .build(),
            glib::ParamSpecBoolean::builder("request-key-frames")
                .nick("Request key frames")
                .blurb("Ask the encoder for a key frame when a group of pictures was lost")
                .default_value(default.request_key_frames)
                .mutable_playing()
                .build(),
            glib::ParamSpecUInt64::builder("min-force-key-unit-interval")
                .nick("Minimum Force Keyunit Interval")
                .blurb("Minimum interval between requests for key frames, in ns (0 = no minimum)")
                .default_value(default.request_interval)
                .mutable_playing()
                .build(),
        ]
    }

    /// Sets the property of this name. False when it is none of these.
    pub(crate) fn set(&mut self, name: &str, value: &glib::Value) -> bool {
        const CHECKED: &str = "invariant: GObject checks types";
        match name {
            "mode" => self.mode = value.get().expect(CHECKED),
            "max-size-buffers" => self.buffers = value.get().expect(CHECKED),
            "max-size-bytes" => self.bytes = value.get().expect(CHECKED),
            "max-size-time" => self.time = value.get().expect(CHECKED),
            "post-drop-messages" => self.post_drop_messages = value.get().expect(CHECKED),
            "request-key-frames" => self.request_key_frames = value.get().expect(CHECKED),
            "min-force-key-unit-interval" => self.request_interval = value.get().expect(CHECKED),
            _ => return false,
        }
        true
    }

    /// The value of the property of this name, when it is one of these.
    pub(crate) fn get(&self, name: &str) -> Option<glib::Value> {
        Some(match name {
            "mode" => self.mode.to_value(),
            "max-size-buffers" => self.buffers.to_value(),
            "max-size-bytes" => self.bytes.to_value(),
            "max-size-time" => self.time.to_value(),
            "post-drop-messages" => self.post_drop_messages.to_value(),
            "request-key-frames" => self.request_key_frames.to_value(),
            "min-force-key-unit-interval" => self.request_interval.to_value(),
            _ => return None,
        })
    }

    /// The queue that drops by these rules.
    pub(crate) fn queue_kind(&self) -> QueueKind {
        self.mode.queue().kind().with_limits(self.limits())
    }

    /// One of these, empty.
    pub(crate) fn queue<P: Payload>(&self) -> FrameQueue<P> {
        FrameQueue::new(self.queue_kind())
    }

    /// The least time between requests for key frames.
    pub(crate) fn request_interval(&self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.request_interval)
    }

    /// How much time of the stream is held back at most; `None` without a limit. With I-Frame Delay the frame that waits
    /// is overwritten by the next one, so that it holds back nothing beside the frame that is being written.
    pub(crate) fn longest_wait(&self) -> Option<gst::ClockTime> {
        match self.mode {
            Mode::Ifd | Mode::IfdOptimised => Some(gst::ClockTime::ZERO),
            Mode::Dependency => (self.time > 0).then(|| gst::ClockTime::from_nseconds(self.time)),
        }
    }

    /// How much may wait.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            frames: (self.buffers > 0).then_some(self.buffers),
            bytes: (self.bytes > 0).then(|| DataSize::from_bytes(self.bytes.into())),
            time: (self.time > 0).then(|| Duration::from_nanos(self.time)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_modes_are_the_queues_of_the_library_by_their_names() {
        let class = glib::EnumClass::new::<Mode>();
        let nicks: Vec<_> = class.values().iter().map(|value| value.nick()).collect();
        let own = Queue::ALL.iter().filter(|queue| **queue != Queue::Direct && !queue.is_rival());
        assert_eq!(nicks, own.map(|queue| queue.as_str()).collect::<Vec<_>>());
        for value in class.values() {
            let mode: Mode = value.to_value(&class).get().unwrap();
            assert_eq!(mode.queue().as_str(), value.nick());
        }
    }
}
