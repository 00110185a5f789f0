"""The page of a report as a browser lays it out: nothing is wider than the window, and wide tables scroll in place."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import REPOSITORY
from framewire import report

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

MEASURE = """<script>addEventListener("load", () => {
  const table = document.querySelector(".compare");
  const inside = table.parentElement.scrollWidth > table.parentElement.clientWidth;
  document.title = `${document.documentElement.scrollWidth} of ${document.documentElement.clientWidth}, ${inside}`;
});</script></body>"""


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
@pytest.mark.parametrize(("window", "scrolls"), [(1280, False), (600, True)])
def test_nothing_is_wider_than_the_window(window: int, scrolls: bool, tmp_path: Path) -> None:
    run = Path(shutil.copytree(REPOSITORY / "tests/golden/format-2", tmp_path / "run"))
    info = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(info | {"a_key_without_a_place_to_break_it" * 3: "and its value" * 9}))
    page = tmp_path / "page.html"
    page.write_text(report.build(run).read_text().replace("</body>", MEASURE))
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
    command += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    command += [f"--user-data-dir={tmp_path}", "--virtual-time-budget=20000", f"--window-size={window},900"]
    seen = subprocess.run([*command, "--dump-dom", page.as_uri()], check=True, capture_output=True, text=True).stdout
    measured = re.search(r"<title>(\d+) of (\d+), (true|false)</title>", seen)
    assert measured is not None
    width, room, inside = measured.groups()
    assert int(width) <= int(room) <= window
    assert (inside == "true") == scrolls
