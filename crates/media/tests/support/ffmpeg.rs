//! FFmpeg as encoder, as an independent reader, and as the decoder that has the last word.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

/// Whether ffmpeg and ffprobe are there; says so when they are not.
pub fn is_there() -> bool {
    static FOUND: LazyLock<bool> = LazyLock::new(|| {
        ["ffmpeg", "ffprobe"].iter().all(|program| Command::new(program).arg("-version").output().is_ok())
    });
    if !*FOUND {
        eprintln!("skipped: no ffmpeg or ffprobe");
    }
    *FOUND
}

/// Whether ffmpeg has an encoder; says so when it has not.
pub fn has_encoder(encoder: &str) -> bool {
    static ENCODERS: LazyLock<String> = LazyLock::new(|| {
        let output = Command::new("ffmpeg").args(["-hide_banner", "-encoders"]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    });
    let found = is_there() && ENCODERS.contains(encoder);
    if !found {
        eprintln!("skipped: ffmpeg has no {encoder}");
    }
    found
}

/// Which FFmpeg it is: what a decoder makes of streams with gaps is a matter of the version.
pub fn version() -> String {
    let output = Command::new("ffmpeg").arg("-version").output().unwrap();
    String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned()
}

pub fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Encodes a moving test picture with the options given, and returns the elementary stream's file.
pub fn encode(name: &str, source: &str, options: &str) -> PathBuf {
    let path = scratch(name);
    let output = Command::new("ffmpeg")
        .args("-nostdin -v error -y -threads 1 -f lavfi -i".split(' '))
        .arg(source)
        .args(options.split(' '))
        .arg(&path)
        .output()
        .unwrap();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    path
}

/// Rows of a section of what ffprobe prints: what each field says; absent where it says nothing.
pub type Rows = Vec<BTreeMap<String, String>>;

/// Rows of `ffprobe -show_entries section=fields`.
pub fn probe_rows(path: &Path, format: &str, section: &str, fields: &[&str]) -> Rows {
    let [rows] = probe(path, format, [(section, fields)]);
    rows
}

/// The same of several sections at a time: to start a process costs more than to read a small file.
pub fn probe<const N: usize>(path: &Path, format: &str, sections: [(&str, &[&str]); N]) -> [Rows; N] {
    probe_with_messages(path, format, sections).0
}

/// The same, with what ffprobe says of the file.
pub fn probe_with_messages<const N: usize>(
    path: &Path,
    format: &str,
    sections: [(&str, &[&str]); N],
) -> ([Rows; N], String) {
    let entries = sections.map(|(section, fields)| format!("{section}={}", fields.join(","))).join(":");
    let output = Command::new("ffprobe")
        .args(["-v", "error", "-threads", "1", "-f", format, "-show_entries", &entries, "-of", "compact", "-i"])
        .arg(path)
        .output()
        .unwrap();
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{}: {messages}", path.display());
    let text = String::from_utf8(output.stdout).unwrap();
    let row = |line: &str| {
        let pairs = line.split('|').filter_map(|pair| pair.split_once('='));
        pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    };
    let rows = sections.map(|(section, _)| {
        let lines = text.lines().filter_map(|line| line.strip_prefix(section)?.strip_prefix('|'));
        lines.map(row).collect()
    });
    (rows, messages)
}

/// Access units by ffprobe: offset and size, in decode order.
pub fn packets(path: &Path, format: &str) -> Vec<(usize, usize)> {
    places(&probe_rows(path, format, "packet", PLACE))
}

/// What [`places`] reads of a section `packet`.
pub const PLACE: &[&str] = &["pos", "size"];

/// Offset and size of each.
pub fn places(packets: &Rows) -> Vec<(usize, usize)> {
    let number = |row: &BTreeMap<String, String>, field| row[field].parse().unwrap();
    packets.iter().map(|row| (number(row, "pos"), number(row, "size"))).collect()
}

/// Decodes a stream in one thread and gives a digest of every picture, in the order of output.
pub fn decode(stream: &[u8], format: &str, name: &str) -> Vec<String> {
    decode_with_messages(stream, format, name).0
}

/// The same, with what the decoder says of the stream.
pub fn decode_with_messages(stream: &[u8], format: &str, name: &str) -> (Vec<String>, String) {
    let (mut digests, messages) = decode_all(&[stream], format, name);
    (digests.remove(0), messages)
}

/// The same of several streams at a time: a process costs more than a small stream. What the decoder says is of all of
/// them. The digests of pictures that a stream of H.265 may have are compared with its pictures.
pub fn decode_all(streams: &[&[u8]], format: &str, name: &str) -> (Vec<Vec<String>>, String) {
    let (pictures, messages) = decode_all_with_times(streams, format, name);
    (pictures.into_iter().map(without_times).collect(), messages)
}

/// The same with the time of each picture: of a codec whose pictures are shown as they are decoded, the number of the access
/// unit that shows it.
pub fn decode_all_with_times(streams: &[&[u8]], format: &str, name: &str) -> (Vec<Vec<(usize, String)>>, String) {
    let write = |(number, stream): (usize, &&[u8])| {
        let path = scratch(&format!("{name}.{number}"));
        std::fs::write(&path, stream).unwrap();
        path
    };
    let paths: Vec<PathBuf> = streams.iter().enumerate().map(write).collect();
    digests(&["-err_detect", "crccheck", "-f", format], &paths)
}

/// Decodes a stream of H.265 with libde265, a decoder that shares nothing with FFmpeg. Its pictures have `size`, as
/// FFmpeg writes it; `None`, after saying so, when it is not there.
pub fn decode_with_libde265(stream: &[u8], size: &str, name: &str) -> Option<Vec<String>> {
    decode_all_with_libde265(&[stream], size, name).map(|mut digests| digests.remove(0))
}

/// The same of several streams.
pub fn decode_all_with_libde265(streams: &[&[u8]], size: &str, name: &str) -> Option<Vec<Vec<String>>> {
    let decode = |(number, stream): (usize, &&[u8])| {
        let (path, pictures) = (scratch(&format!("{name}.{number}")), scratch(&format!("{name}.{number}.yuv")));
        std::fs::write(&path, stream).unwrap();
        std::fs::write(&pictures, []).unwrap();
        // One thread: what it makes of leading pictures depends on how many there are.
        let mut decoder = Command::new("libde265-dec265");
        decoder.args(["--quiet", "--threads", "0", "--output"]).arg(&pictures).arg(&path);
        decoder.output().is_ok().then_some(pictures)
    };
    let Some(paths) = streams.iter().enumerate().map(decode).collect::<Option<Vec<_>>>() else {
        eprintln!("skipped: no libde265-dec265");
        return None;
    };
    let (pictures, _) = digests(&["-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", size], &paths);
    Some(pictures.into_iter().map(without_times).collect())
}

fn without_times(pictures: Vec<(usize, String)>) -> Vec<String> {
    pictures.into_iter().map(|(_, digest)| digest).collect()
}

/// Digests of the pictures of files that FFmpeg reads with the options given, and what it says of them.
fn digests(options: &[&str], paths: &[PathBuf]) -> (Vec<Vec<(usize, String)>>, String) {
    let into: Vec<PathBuf> = paths.iter().map(|path| PathBuf::from(format!("{}.digests", path.display()))).collect();
    let mut ffmpeg = Command::new("ffmpeg");
    // A thread for each file that is read and each graph of filters costs more than they have to do.
    ffmpeg.args(["-nostdin", "-v", "repeat+warning", "-y", "-filter_threads", "1"]).stdin(Stdio::null());
    if options.contains(&"ivf") {
        // Times are those of the file, and do not begin with the first picture that is shown.
        ffmpeg.arg("-copyts");
    }
    for path in paths {
        ffmpeg.args(["-threads", "1", "-thread_queue_size", "0"]).args(options).arg("-i").arg(path);
    }
    for (number, into) in into.iter().enumerate() {
        std::fs::write(into, []).unwrap();
        let map = format!("{number}:v");
        ffmpeg.args(["-map", &map]).args("-threads 1 -fps_mode passthrough -f framemd5".split(' ')).arg(into);
    }
    let output = ffmpeg.output().unwrap();
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() && paths.len() > 1 {
        // One of which nothing can be decoded ends it for all.
        let each = paths.iter().map(|path| digests(options, std::slice::from_ref(path)));
        let (digests, messages): (Vec<_>, Vec<_>) = each.unzip();
        return (digests.concat(), messages.concat());
    }
    (into.iter().map(|into| read_digests(into)).collect(), messages)
}

/// From a file that FFmpeg wrote: the third column is the time, the last the digest.
fn read_digests(path: &Path) -> Vec<(usize, String)> {
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    let picture = |row: &str| {
        let columns: Vec<&str> = row.split(',').map(str::trim).collect();
        (columns[2].parse().unwrap_or(0), columns[columns.len() - 1].to_owned())
    };
    rows.map(picture).collect()
}

/// Takes the H.264 stream out of another file as it is.
pub fn copy_video(from: &Path, to: &Path) {
    let output = Command::new("ffmpeg")
        .args(["-nostdin", "-v", "quiet", "-y", "-i"])
        .arg(from)
        .args("-c:v copy -an -f h264".split(' '))
        .arg(to)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", from.display());
}
