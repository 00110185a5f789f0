//! What an application says: kept in a file of the run directory, and its last words for messages.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Bytes of the beginning that a log keeps.
const BEGINNING: usize = 1 << 20;
/// Bytes of the end that it keeps beside.
const END: usize = 64 << 10;

/// A log of bounded size: its beginning and its end. Of an application that writes too much, what is between is lost.
pub struct Log {
    file: File,
    written: usize,
    tail: VecDeque<u8>,
    left_out: u64,
}

impl Log {
    /// An empty log in `file`.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn create(file: &Path) -> io::Result<Self> {
        Ok(Self { file: File::create(file)?, written: 0, tail: VecDeque::new(), left_out: 0 })
    }

    /// Adds what the application wrote. A full disk loses messages, not the run.
    pub fn add(&mut self, bytes: &[u8]) {
        let (now, later) = bytes.split_at(bytes.len().min(BEGINNING - self.written));
        let _ = self.file.write_all(now);
        self.written += now.len();
        self.left_out += later.len() as u64;
        self.tail.extend(bytes);
        self.tail.drain(..self.tail.len().saturating_sub(END));
    }

    /// Writes the end of what was left out, and `how` the application ended.
    pub fn close(&mut self, how: &str) {
        if self.left_out > 0 {
            let end: Vec<u8> = self.tail.iter().copied().collect();
            let shown = &end[end.len().saturating_sub(usize::try_from(self.left_out).unwrap_or(usize::MAX))..];
            let missing = self.left_out - shown.len() as u64;
            let _ = writeln!(self.file, "\n[framewire: {missing} bytes left out]");
            let _ = self.file.write_all(shown);
        }
        let _ = writeln!(self.file, "[framewire: {how}]");
    }

    /// What went wrong, joined by ` / `: the first error of a pipeline with what it adds, because what follows it only
    /// states how the pipeline was ended; else the last lines with text. Empty when there are none.
    pub fn last_words(&self) -> String {
        const LINES: usize = 4;
        const LONGEST: usize = 300;
        // As gst-launch-1.0 begins them; "Additional debug info:", where and what follow on lines of their own.
        const ERROR: &str = "ERROR: from element";
        let bytes: Vec<u8> = self.tail.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        // Programs that show progress end their lines with a carriage return.
        let lines: Vec<&str> = text.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty()).collect();
        let error = lines.iter().position(|line| line.starts_with(ERROR));
        let from = error.unwrap_or(lines.len().saturating_sub(LINES));
        lines[from..]
            .iter()
            .take(LINES)
            .map(|line| line.chars().take(LONGEST).collect::<String>())
            .collect::<Vec<_>>()
            .join(" / ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> std::path::PathBuf {
        std::env::temp_dir().join(format!("framewire-log-{}-{name}", std::process::id()))
    }

    #[test]
    fn the_last_words_are_the_last_lines_that_say_something() {
        let path = scratch("words");
        let mut log = Log::create(&path).unwrap();
        assert_eq!(log.last_words(), "");
        log.add(b"one\ntwo\r\n\nthree\rfour\n");
        log.add(b"  five\n\n");
        log.close("exit code 1");
        assert_eq!(log.last_words(), "two / three / four / five");
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("one\n") && text.ends_with("[framewire: exit code 1]\n"), "{text}");
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_pipeline_is_quoted_with_its_first_error() {
        let path = scratch("error");
        let mut log = Log::create(&path).unwrap();
        log.add(b"Setting pipeline to PLAYING ...\nERROR: from element /GstPipeline:p/GstTCPClientSink:s: Could not ");
        log.add(b"open resource.\nAdditional debug info:\n../gsttcpclientsink.c(327): start ():\nConnection refused\n");
        log.add(b"ERROR: pipeline doesn't want to preroll.\nSetting pipeline to NULL ...\nFreeing pipeline ...\n");
        let expected = "ERROR: from element /GstPipeline:p/GstTCPClientSink:s: Could not open resource. / \
                        Additional debug info: / ../gsttcpclientsink.c(327): start (): / Connection refused";
        assert_eq!(log.last_words(), expected);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_log_without_end_keeps_its_beginning_and_its_end() {
        let path = scratch("long");
        let mut log = Log::create(&path).unwrap();
        for number in 0..200_000 {
            log.add(format!("line {number:06}\n").as_bytes());
        }
        log.close("exit code 0");
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.len() < BEGINNING + END + 200, "{}", text.len());
        assert!(text.starts_with("line 000000\n") && text.contains("line 199999\n") && text.contains("bytes left out"));
        assert!(!text.contains("line 150000"));
        std::fs::remove_file(path).unwrap();
    }
}
