//! What a sender has for many receivers.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use framewire_media::streaming_file::ReadAt;
use framewire_wire::http::Resource;
use framewire_wire::rtsp::Presentation;

use super::page;
use crate::flow::StreamSetup;

/// A movie, in all forms in which it can be had.
#[derive(Clone)]
pub struct Title {
    /// Its name: that of its file, without folders.
    pub name: String,
    /// How long it is, in words for a person.
    pub about: String,
    /// The file as it is, with its length and its media type; `None` where it is not served so.
    pub file: Option<(Arc<dyn ReadAt>, u64, String)>,
    /// As an MP4 file.
    pub mp4: Option<StreamSetup>,
    /// As an MP4 file in fragments.
    pub fragments: Option<StreamSetup>,
    /// As a transport stream.
    pub ts: Option<StreamSetup>,
    /// In RTP, by RTSP.
    pub rtsp: Option<StreamSetup>,
}

impl fmt::Debug for Title {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Title").field("name", &self.name).finish_non_exhaustive()
    }
}

/// In what form a title is served.
#[derive(Clone)]
pub(super) enum Form {
    /// The page that names all others.
    Page(Bytes),
    /// A file as it is.
    File(Arc<dyn ReadAt>),
    /// A movie.
    Movie(Arc<StreamSetup>),
}

/// All titles, by the paths at which they are had.
#[derive(Clone)]
pub struct Catalogue {
    pub(super) resources: Arc<[Resource]>,
    pub(super) forms: Arc<[Form]>,
    /// Movies by their paths: the title of each, and how it is sent.
    movies: Arc<[(String, usize, Arc<StreamSetup>)]>,
    /// Movies that are had by RTSP, and how.
    pub(super) presentations: Arc<[Presentation]>,
    /// The same where they have no end, as they are described then.
    pub(super) endless: Arc<[Presentation]>,
    pub(super) streams: Arc<[StreamSetup]>,
}

impl fmt::Debug for Catalogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalogue").field("resources", &self.resources).finish_non_exhaustive()
    }
}

/// Where MP4 files are, those in fragments, and where transport streams are.
pub(super) const MP4: &str = "mp4";
pub(super) const FRAGMENTS: &str = "fmp4";
pub(super) const TS: &str = "ts";

impl Catalogue {
    /// Of these titles: each file under its name, as MP4 file `/mp4/NAME.mp4`, in fragments `/fmp4/NAME.mp4` and as transport stream `/ts/NAME.ts`, without the
    /// ending of its file, unless another title would have the same name then; and `/`, a page that plays them. By RTSP each is had
    /// under the name of its file.
    pub fn new(titles: &[Title]) -> Self {
        let mut served = Vec::new();
        let mut rows = Vec::new();
        let mut of = Vec::new();
        for (number, title) in titles.iter().enumerate() {
            let stem = stem(&title.name, titles);
            let mut row = page::Row { title, file: None, mp4: None, fragments: None, ts: None };
            if let Some((file, length, media_type)) = &title.file {
                let path = format!("/{}", title.name);
                row.file = Some(path.clone());
                let resource = Resource { path, media_type: media_type.clone(), length: Some(*length) };
                served.push((resource, Form::File(file.clone())));
            }
            let mut put = |path: String, media_type: &str, length: Option<u64>, setup: &StreamSetup| {
                let setup = Arc::new(setup.clone());
                of.push((path.clone(), number, Arc::clone(&setup)));
                let media_type = media_type.to_owned();
                served.push((Resource { path, media_type, length }, Form::Movie(setup)));
            };
            if let Some(setup) = &title.mp4 {
                let path = format!("/{MP4}/{stem}.{MP4}");
                row.mp4 = Some(path.clone());
                let length = setup.file_length();
                put(path, "video/mp4", length, setup);
            }
            if let Some(setup) = &title.fragments {
                let path = format!("/{FRAGMENTS}/{stem}.{MP4}");
                row.fragments = Some(path.clone());
                put(path, "video/mp4", None, setup);
            }
            if let Some(setup) = &title.ts {
                let path = format!("/{TS}/{stem}.{TS}");
                row.ts = Some(path.clone());
                put(path, "video/mp2t", None, setup);
            }
            of.extend(title.rtsp.clone().map(|setup| (format!("/{}", title.name), number, setup.into())));
            rows.push(row);
        }
        let page: Bytes = page::page(&rows).into();
        let (path, media_type, length) = ("/".to_owned(), page::MEDIA_TYPE.to_owned(), Some(page.len() as u64));
        served.push((Resource { path, media_type, length }, Form::Page(page)));
        let (resources, forms): (Vec<_>, Vec<_>) = served.into_iter().unzip();
        let by_rtsp = titles.iter().filter_map(|title| {
            let setup = title.rtsp.clone()?;
            Some((setup.presentation(&format!("/{}", title.name))?, setup))
        });
        let (presentations, streams): (Vec<_>, Vec<_>) = by_rtsp.unzip();
        let endless = presentations.iter().map(|own| Presentation { length: None, ..Presentation::clone(own) });
        Self {
            endless: endless.collect(),
            resources: resources.into(),
            forms: forms.into(),
            movies: of.into(),
            presentations: presentations.into(),
            streams: streams.into(),
        }
    }

    /// Which of the titles the movie at a path is of, and how it is sent; `None` of a page, and of a file as it is.
    pub fn movie_at(&self, path: &str) -> Option<(usize, &StreamSetup)> {
        self.movies.iter().find(|(known, ..)| known == path).map(|(_, number, setup)| (*number, &**setup))
    }

    /// The paths of HTTP.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.resources.iter().map(|resource| resource.path.as_str())
    }

    /// The paths of RTSP.
    pub fn presentations(&self) -> impl Iterator<Item = &str> {
        self.presentations.iter().map(|presentation| presentation.path.as_str())
    }
}

/// The name without its ending, where no other title has the same.
pub(super) fn stem<'a>(name: &'a str, titles: &[Title]) -> &'a str {
    let without = |name: &'a str| name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned();
    let own = without(name);
    let alike = titles.iter().filter(|other| other.name.rsplit_once('.').map_or(&*other.name, |(stem, _)| stem) == own);
    if alike.count() > 1 || own.is_empty() { name } else { &name[..own.len()] }
}
