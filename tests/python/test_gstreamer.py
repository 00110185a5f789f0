"""Where the GStreamer elements of this installation are, and that GStreamer takes them from there."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from framewire import gstreamer

pytestmark = pytest.mark.real_time


def test_the_line_is_one_that_a_shell_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = tmp_path / "a folder"
    directory.mkdir()
    monkeypatch.setattr(gstreamer, "_PLUGIN", directory / "libgstframewire.so")
    assert gstreamer.main() == 1
    said = capsys.readouterr()
    assert (said.out, "make plugin" in said.err) == ("", True)
    (directory / "libgstframewire.so").touch()
    assert gstreamer.main() == 0
    assert shlex.split(capsys.readouterr().out) == ["export", f"GST_PLUGIN_PATH={directory}"]


def test_gstreamer_finds_the_elements_and_nothing_to_complain_about(tmp_path: Path) -> None:
    """GStreamer's scanner loads every library of the directory, and says so where one is no plugin."""
    if shutil.which("gst-inspect-1.0") is None:
        pytest.skip("gst-inspect-1.0 is not installed")
    line = subprocess.run([sys.executable, "-m", "framewire.gstreamer"], capture_output=True, text=True)
    if line.returncode != 0:
        pytest.skip(line.stderr.strip())
    assert os.listdir(gstreamer.plugin_directory()) == ["libgstframewire.so"]
    registry = f"export GST_REGISTRY={shlex.quote(str(tmp_path / 'registry.bin'))} GST_PLUGIN_SYSTEM_PATH="
    shown = subprocess.run(
        ["sh", "-c", f"{registry}\n{line.stdout}\nexec gst-inspect-1.0 framewire"], capture_output=True, text=True
    )
    assert (shown.returncode, shown.stderr) == (0, "")
    assert {"ifdqueue", "ifdsink", "mpegstat"} <= {row.strip().partition(":")[0] for row in shown.stdout.splitlines()}
