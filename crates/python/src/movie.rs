//! The frame index of a movie.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use framewire_media::{Frame, FrameRate, OpenError, Probed};
use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::frame_columns::Columns;

create_exception!(_native, MovieError, PyValueError, "A file is not a video elementary stream that can be streamed.");

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("MovieError", module.py().get_type::<MovieError>())?;
    module.add_function(wrap_pyfunction!(stated_frame_rate, module)?)?;
    module.add_function(wrap_pyfunction!(stream_codec, module)?)?;
    module.add_function(wrap_pyfunction!(probe_movie, module)?)
}

/// Reads an elementary stream and returns its sequence header (`sequence`, a dict) and its frames in decode order
/// (`frames`, a dict of columns: where they stand in `file`, a binary file that they are written to). `frame_rate` is that
/// of a stream that does not state its own; without one, `frame_rate` of the header is `None`, and times are zero.
#[pyfunction]
#[pyo3(signature = (path, file, frame_rate = None))]
fn probe_movie(
    py: Python<'_>,
    path: PathBuf,
    file: Py<PyAny>,
    frame_rate: Option<(u32, u32)>,
) -> PyResult<Bound<'_, PyDict>> {
    let frame_rate = match frame_rate {
        Some((numerator, denominator)) if numerator > 0 && denominator > 0 => {
            Some(FrameRate { numerator, denominator })
        }
        Some(_) => return Err(PyValueError::new_err("a frame rate is above zero")),
        None => None,
    };
    let mut columns = Columns::new(file);
    let found = py.detach(|| {
        let take = &mut |frame: Frame| columns.take(&frame);
        let found = framewire_media::probe(&open(&path)?, frame_rate, take).map_err(|error| refused(error, &path))?;
        columns.finish(&found.order, found.frame_rate).map_err(|error| failed(error, &path))?;
        Ok::<_, PyErr>(found)
    })?;
    let probed = PyDict::new(py);
    probed.set_item("sequence", sequence(py, &found)?)?;
    probed.set_item("frames", columns.into_python(py)?)?;
    Ok(probed)
}

/// The frame rate, a fraction, that a video elementary stream states before its first picture; `None` where it does not.
#[pyfunction]
fn stated_frame_rate(py: Python<'_>, path: PathBuf) -> PyResult<Option<(u32, u32)>> {
    let stated =
        py.detach(|| framewire_media::stated_frame_rate(&open(&path)?).map_err(|error| failed(error, &path)))?;
    Ok(stated.map(|rate| (rate.numerator, rate.denominator)))
}

/// The codec of a video elementary stream, by its beginning; `None` where nothing shows one.
#[pyfunction]
fn stream_codec(py: Python<'_>, path: PathBuf) -> PyResult<Option<String>> {
    let codec = py.detach(|| framewire_media::codec_of(&open(&path)?).map_err(|error| failed(error, &path)))?;
    Ok(codec.map(|codec| codec.to_string()))
}

fn open(path: &Path) -> PyResult<File> {
    File::open(path).map_err(|error| failed(error, path))
}

fn failed(error: io::Error, path: &Path) -> PyErr {
    // An error of Python's own, of the file that is written to, stays what it is.
    if error.get_ref().is_some_and(|inner| inner.is::<PyErr>()) {
        return error.into();
    }
    PyOSError::new_err((error.raw_os_error(), error.to_string(), path.to_owned()))
}

fn refused(error: OpenError, path: &Path) -> PyErr {
    match error {
        OpenError::Io(error) => failed(error, path),
        OpenError::Scan(error) => MovieError::new_err(error.to_string()),
    }
}

fn sequence<'py>(py: Python<'py>, found: &Probed) -> PyResult<Bound<'py, PyDict>> {
    let header = &found.sequence;
    let sequence = PyDict::new(py);
    sequence.set_item("codec", header.codec.to_string())?;
    sequence.set_item("width", header.width)?;
    sequence.set_item("height", header.height)?;
    sequence.set_item("frame_rate", found.frame_rate.map(|rate| (rate.numerator, rate.denominator)))?;
    sequence.set_item("bit_rate", header.bit_rate)?;
    sequence.set_item("mpeg2", header.mpeg2)?;
    sequence.set_item("progressive", header.progressive)?;
    Ok(sequence)
}
