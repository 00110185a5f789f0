//! What the program reports to the process that started it: JSON lines on standard output.

use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};

use framewire_world::Event;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// Writes one event as a line. A reader that is gone does not stop the run, its death is signalled separately; nor does
/// one that reads nothing for a while, which misses some progress.
pub fn emit(event: &Event<'_>) {
    if matches!(event, Event::Progress(_)) && !has_room(std::io::stdout().as_fd()) {
        return;
    }
    let mut line = serde_json::to_string(event).expect("invariant: events hold only strings and numbers");
    line.push('\n');
    let mut output = std::io::stdout().lock();
    let _ = output.write_all(line.as_bytes()).and_then(|()| output.flush());
}

/// True when a line can be written without waiting (pipe(7): a pipe is ready when it has room for `PIPE_BUF` bytes,
/// more than a line of progress is long).
fn has_room(output: BorrowedFd<'_>) -> bool {
    let mut asked = [PollFd::new(output, PollFlags::POLLOUT)];
    poll(&mut asked, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
}

#[cfg(test)]
mod tests {
    use std::io::pipe;

    use super::*;

    #[test]
    fn a_pipe_that_nobody_reads_has_room_until_it_is_full() {
        let (reader, mut writer) = pipe().unwrap();
        let lines = (0..1_000).take_while(|_| has_room(writer.as_fd()) && writer.write_all(&[b'x'; 256]).is_ok());
        // 64 KiB, unless this user has too many pipes (pipe(7)); never the thousand lines.
        assert!((1..=256).contains(&lines.count()));
        drop(reader);
    }
}
