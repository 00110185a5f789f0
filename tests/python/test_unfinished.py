"""Directories that are being filled: who owns them, and what is left of the killed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from framewire import unfinished
from framewire.lock import LockedError

HOLD = "import sys, time; from pathlib import Path; from framewire import unfinished\n" \
    "with unfinished.made(Path(sys.argv[1])): print('made', flush=True); time.sleep(60)"  # fmt: skip


def test_a_directory_is_removed_with_its_owner_unless_it_was_renamed(tmp_path: Path) -> None:
    for kept in (True, False):
        with unfinished.made(tmp_path / "a.partial"):
            (tmp_path / "a.partial" / "file").write_text("x")
            assert (tmp_path / ".a.partial.owner").is_file()
            if kept:
                (tmp_path / "a.partial").rename(tmp_path / "a")
        assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_what_a_living_process_owns_stays_and_what_a_killed_one_left_goes(tmp_path: Path) -> None:
    directory = tmp_path / "b.partial"
    with subprocess.Popen([sys.executable, "-c", HOLD, str(directory)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "made\n"
        (directory / "file").write_text("x")
        unfinished.clear(tmp_path)
        with pytest.raises(LockedError), unfinished.made(directory):
            pass
        assert (directory / "file").is_file()
        process.kill()
    unfinished.clear(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_ours_is_never_touched(tmp_path: Path) -> None:
    mark = unfinished.MARK
    for name, said in (
        *(("mine.partial", "somebody\n"), ("plain.partial", ""), ("binary.partial", None)),
        # As an archive would bring them: the inode is another, or none.
        *(("copied.partial", f"{mark}: 1\n"), ("early.partial", f"{mark}\n"), ("src", f"{mark}\n")),
    ):
        (tmp_path / name).mkdir()
        owner = tmp_path / f".{name}.owner"
        owner.write_bytes(b"\xff\xfe") if said is None else owner.write_text(said)
    for name in ("....owner", "..owner", "..partial.owner"):
        (tmp_path / name).write_text(f"{mark}: {tmp_path.parent.stat().st_ino}\n")
    os.mkfifo(tmp_path / ".pipe.partial.owner")
    (tmp_path / "alone.partial").mkdir()
    before = sorted(tmp_path.iterdir())
    unfinished.clear(tmp_path)
    # They say that framewire made them, of nothing that is there.
    left = {".copied.partial.owner", ".early.partial.owner"}
    assert {path.name for path in before} - left <= {path.name for path in tmp_path.iterdir()}
    with pytest.raises(FileExistsError), unfinished.made(tmp_path / "mine.partial"):
        pass
    assert (tmp_path / ".mine.partial.owner").read_text() == "somebody\n"
    with pytest.raises(FileExistsError), unfinished.made(tmp_path / "alone.partial"):
        pass
    assert (tmp_path / "alone.partial").is_dir()
