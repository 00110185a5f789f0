//! What is streamed.

use std::path::Path;

use framewire_units::{Bitrate, Duration};
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::ScenarioError;
use crate::flow::Flow;
use crate::names::{find, keywords, one_of};
use crate::picture::{FrameRate, PictureSize};
use crate::section::Section;
use crate::text::{self, Text, from_directory};

/// The `[movie]` table.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Movie {
    /// `"lab"`, the lab's own test movie, or the path of a file. Absent where no flow sends it: where all are adaptive
    /// or `bulk`, and where the others send the top level of the ladder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What adaptive streams send: a ladder of the lab's, `"lab-mild"` or `"lab-strong"`, or the path of a streaming file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ladder: Option<String>,
    /// Encode in this; only beside a rate, or of a ladder of the lab's. Default: MPEG-2, and MPEG-4 part 2 of ladders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub codec: Option<MovieCodec>,
    /// Encode to this rate; absent: use the video of a file as it is.
    #[serde(serialize_with = "text::serialize_optional", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text::schema::<Bitrate>")]
    pub bitrate: Option<Bitrate>,
    /// Scale a file's picture to fit within this; only beside a rate. Absent: its own size.
    #[serde(serialize_with = "text::serialize_optional", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text::schema::<PictureSize>")]
    pub size: Option<PictureSize>,
    /// Beside a rate, encode at this many frames in a second; else that of a stream that does not state its own.
    #[serde(serialize_with = "text::serialize_optional", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text::schema::<FrameRate>")]
    pub frame_rate: Option<FrameRate>,
    /// Length of the lab movie, or cut the file to this; absent: all of it.
    #[serde(serialize_with = "text::serialize_optional", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text::schema::<Duration>")]
    pub duration: Option<Duration>,
    /// Send the sound of the file beside its video, by every flow that sends the movie; all of them have to carry it. Default:
    /// false, the video alone.
    // A movie without is written as before there was the key.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sound: bool,
    /// Which track of sound of the file is sent, counted from 1; only beside `sound = true`. Absent: the one that the file calls its
    /// default, or else the first, of those that flows carry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sound_track: Option<u8>,
}

keywords! {
    /// What a movie is encoded in.
    MovieCodec {
        /// MPEG-2: IBBP, a group every 15 frames.
        Mpeg2 = "mpeg2",
        /// H.264: three B frames to which nothing refers, a closed group every 50 frames. Of ladders: no B frames, a
        /// closed group every 12 frames.
        H264 = "h264",
        /// H.264: as before, and the middle one of three B frames is referred to.
        H264Pyramid = "h264-pyramid",
        /// H.265: a pyramid of B frames, a closed group every 50 frames. Of ladders: as H.264.
        H265 = "h265",
        /// MPEG-4 part 2: IBBP, a closed group every 50 frames. Of ladders: no B frames, a closed group every 12 frames.
        Mpeg4 = "mpeg4",
    }
}

impl Movie {
    pub(crate) const KEYS: &'static [&'static str] =
        &["source", "ladder", "codec", "bitrate", "size", "frame_rate", "duration", "sound", "sound_track"];

    /// The source that means the lab's own test movie.
    pub(crate) const LAB: &'static str = "lab";

    /// The ladders of the lab.
    pub(crate) const LAB_LADDERS: [&'static str; 2] = ["lab-mild", "lab-strong"];

    /// The user's own file; `None` where the lab makes the movie.
    pub fn original(&self) -> Option<&Path> {
        self.source.as_deref().filter(|&source| source != Self::LAB).map(Path::new)
    }

    /// True for a ladder of the lab's, false for a file and for none.
    pub(crate) fn has_lab_ladder(&self) -> bool {
        self.ladder.as_deref().is_some_and(|ladder| Self::LAB_LADDERS.contains(&ladder))
    }

    /// What a ladder of the lab's is encoded in; `None` for a file, which is as it is. `codec` is the movie's where both
    /// are there.
    pub fn ladder_codec(&self) -> Option<MovieCodec> {
        let codec = if self.source.is_none() { self.codec } else { None };
        self.has_lab_ladder().then(|| codec.unwrap_or(MovieCodec::Mpeg4))
    }

    /// How long the streams last, as far as that is known; `found` is what was found in the files.
    pub(crate) fn length(&self, found: Option<Duration>) -> Option<Duration> {
        if self.ladder.is_some() { found } else { self.duration.or(found) }
    }

    pub(crate) fn read(mut section: Section, directory: Option<&Path>, flows: &[Flow]) -> Result<Self, ScenarioError> {
        let ladder = read_ladder(&mut section, directory, flows)?;
        let streamed = flows.iter().any(|flow| flow.transport().has_movie());
        if !streamed || (ladder.is_some() && !section.has("source")) {
            return Self::without_source(section, ladder, streamed);
        }
        let source = section.string("source")?.unwrap_or_else(|| Self::LAB.to_owned());
        let lab = source == Self::LAB;
        check_path(&section.key("source"), &source, "\"lab\" or the path of a file")?;
        let duration_key = section.key("duration");
        let duration: Option<Duration> = section.text("duration")?;
        if let Some(duration) = duration.filter(|duration| duration.as_millis() < 200) {
            let shown = format!("\"{}\"", duration.show());
            return Err(ScenarioError::value(&duration_key, shown, "\"0.2 s\" or more: a few frames"));
        }
        let bitrate: Option<Bitrate> = section.text("bitrate")?;
        let codec = match bitrate.is_none() && !lab {
            true => section.word("codec", |_| Err(OF_A_FILE_AS_IT_IS.to_owned()))?,
            false => section.word("codec", MovieCodec::of_a_movie)?,
        };
        let (size_key, size) = (section.key("size"), section.text::<PictureSize>("size")?);
        let (frame_rate_key, frame_rate) = (section.key("frame_rate"), section.text::<FrameRate>("frame_rate")?);
        let sound = read_sound(&mut section, lab, flows)?;
        let sound_track = read_sound_track(&mut section, sound)?;
        let refused =
            |key: &str, shown: String, allowed| Err(ScenarioError::value(key, format!("\"{shown}\""), allowed));
        const OF_A_FILE: &str = "only for a file: the lab's own movie is 720x576 at 25 Hz";
        match (size, frame_rate) {
            (Some(size), _) if lab => return refused(&size_key, size.show(), OF_A_FILE),
            (_, Some(rate)) if lab => return refused(&frame_rate_key, rate.show(), OF_A_FILE),
            (Some(size), _) if bitrate.is_none() => {
                return refused(&size_key, size.show(), OF_A_FILE_AS_IT_IS);
            }
            _ => {}
        }
        Ok(Self {
            size,
            frame_rate,
            codec,
            sound,
            sound_track,
            ladder,
            source: Some(if lab { source } else { from_directory(directory, source) }),
            bitrate: bitrate.or(lab.then_some(Bitrate::from_mbps(6))),
            duration: duration.or(lab.then_some(Duration::from_secs(60))),
        })
    }

    /// A ladder alone, or nothing at all: keys of a movie would be ignored.
    fn without_source(mut section: Section, ladder: Option<String>, streamed: bool) -> Result<Self, ScenarioError> {
        let problem = match (streamed, &ladder) {
            (true, _) => "means nothing beside movie.ladder without movie.source",
            (false, Some(_)) => "means nothing: no flow sends a movie, only levels of the ladder",
            (false, None) => "means nothing: no flow sends a movie",
        };
        if let Some(key) =
            Self::KEYS.iter().filter(|key| !["ladder", "codec"].contains(key)).find(|key| section.has(key))
        {
            let hint = match (*key, &ladder) {
                ("duration", Some(_)) => "; a shorter ladder is made by `framewire movie ladder --duration`",
                _ => "",
            };
            return Err(ScenarioError::new(section.key(key), format!("{problem}{hint}")));
        }
        if section.has("codec") && ladder.is_none() {
            return Err(ScenarioError::new(section.key("codec"), problem));
        }
        let movie = Self {
            source: None,
            ladder,
            codec: None,
            bitrate: None,
            size: None,
            frame_rate: None,
            duration: None,
            sound: false,
            sound_track: None,
        };
        let codec = match movie.has_lab_ladder() {
            true => section.word("codec", MovieCodec::of_a_ladder)?.or(movie.ladder_codec()),
            false => section.word("codec", |_| Err(OF_A_LADDER_AS_IT_IS.to_owned()))?,
        };
        Ok(Self { codec, ..movie })
    }
}

/// Whether sound is sent: there has to be some, and every flow that sends the movie has to carry it, as flows that carry less
/// are not to be compared with those.
fn read_sound(section: &mut Section, lab: bool, flows: &[Flow]) -> Result<bool, ScenarioError> {
    let key = section.key("sound");
    if !section.boolean("sound")?.unwrap_or(false) {
        return Ok(false);
    }
    let refused = |allowed: String| Err(ScenarioError::value(&key, "true", allowed));
    if lab {
        return refused("only for a file: the lab's own movie has no sound".to_owned());
    }
    let silent = flows.iter().find(|flow| flow.transport().has_movie() && !flow.transport().carries_sound());
    match silent {
        None => Ok(true),
        Some(flow) => {
            let transport = flow.transport().as_str();
            let of = if flow.name == transport { String::new() } else { format!("flow {} by ", flow.name) };
            refused(format!(
                "only where every flow that sends the movie carries sound, and {of}{transport} does not: those in RTP, of a \
                 transport stream and of a file do (udp, rtp+tcp, rtsp, rtsp+udp, ts and every queue before them, http)"
            ))
        }
    }
}

/// Which track of sound is sent, where some is.
fn read_sound_track(section: &mut Section, sound: bool) -> Result<Option<u8>, ScenarioError> {
    let track = section.integer("sound_track", 1..=99)?;
    match track {
        Some(track) if !sound => {
            let allowed = "only beside movie.sound = true: without it no sound is sent".to_owned();
            Err(ScenarioError::value(&section.key("sound_track"), track.to_string(), allowed))
        }
        track => Ok(track.map(|track| track as u8)),
    }
}

const OF_A_FILE_AS_IT_IS: &str = "only beside movie.bitrate: without it the file is used as it is";
const AV1: &str = "a file in AV1 is sent as it is, without movie.bitrate";
const OF_A_LADDER_AS_IT_IS: &str = "only of a ladder of the lab's: a file is used as it is";

impl MovieCodec {
    const OF_A_MOVIE: [Self; 5] = [Self::Mpeg2, Self::H264, Self::H264Pyramid, Self::H265, Self::Mpeg4];
    const OF_A_LADDER: [Self; 3] = [Self::Mpeg4, Self::H264, Self::H265];

    fn of_a_movie(text: &str) -> Result<Self, String> {
        match text {
            "av1" => Err(format!("{}; {AV1}", one_of(&Self::OF_A_MOVIE, Self::as_str))),
            _ => find(text, &Self::OF_A_MOVIE, Self::as_str),
        }
    }

    fn of_a_ladder(text: &str) -> Result<Self, String> {
        match text {
            // No slip: what is nearest to it is another codec.
            "mpeg2" => Err(format!("{}; mpeg2 is no codec of ladders", one_of(&Self::OF_A_LADDER, Self::as_str))),
            _ => find(text, &Self::OF_A_LADDER, Self::as_str),
        }
    }
}

/// The ladder, which is there exactly where a flow sends its levels.
fn read_ladder(
    section: &mut Section,
    directory: Option<&Path>,
    flows: &[Flow],
) -> Result<Option<String>, ScenarioError> {
    let key = section.key("ladder");
    let allowed = || format!("{}, or the path of a streaming file (framewire movie ladder)", lab_ladders());
    let adaptive = flows.iter().enumerate().find(|(_, flow)| flow.transport().is_adaptive());
    match (section.string("ladder")?, adaptive) {
        (None, None) => Ok(None),
        (None, Some((index, flow))) => {
            let transport = flow.transport();
            Err(ScenarioError::missing(&key, format!("flow.{index} ({transport}) needs {}", allowed())))
        }
        (Some(_), None) => Err(ScenarioError::new(key, "means nothing: no flow sends levels of a ladder")),
        (Some(ladder), Some(_)) => {
            check_path(&key, &ladder, &allowed())?;
            if Movie::LAB_LADDERS.contains(&ladder.as_str()) {
                return Ok(Some(ladder));
            }
            if ladder.starts_with("lab-") && !ladder.contains(['/', '.']) {
                return Err(ScenarioError::value(&key, format!("{ladder:?}"), allowed()));
            }
            Ok(Some(from_directory(directory, ladder)))
        }
    }
}

fn lab_ladders() -> String {
    Movie::LAB_LADDERS.map(|ladder| format!("\"{ladder}\"")).join(" or ")
}

fn check_path(key: &str, path: &str, allowed: &str) -> Result<(), ScenarioError> {
    if path.is_empty() || path.contains('\0') {
        return Err(ScenarioError::value(key, format!("{path:?}"), allowed));
    }
    Ok(())
}
