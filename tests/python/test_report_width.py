"""The page of a report as a browser lays it out: nothing is wider than the window, and wide tables scroll in place."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest
from report_run import Delivery, make_movie, prompt, read_pictures, write_run

from conftest import REPOSITORY
from framewire import report
from framewire.report.data import load

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

MEASURE = """<script>addEventListener("load", () => {
  const tables = [...document.querySelectorAll(".compare")].map(table => table.parentElement);
  const inside = tables.some(place => place.scrollWidth > place.clientWidth);
  const picture = document.querySelector(".strip img")?.getBoundingClientRect().width ?? 0;
  const page = document.documentElement;
  const parts = [...document.querySelectorAll(".part")];
  const broken = parts.filter(part => {
    const [own, cell] = [part.getBoundingClientRect(), part.closest("th, .name").getBoundingClientRect()];
    return part.getClientRects().length > 1 || own.right > cell.right + 0.5;
  });
  const said = parts.length ? broken.map(part => part.textContent).join("") || "none" : "no parts";
  document.title = `${page.scrollWidth} of ${page.clientWidth}, ${inside}, ${picture}, ${said}`;
});</script></body>"""


def laid_out(run: Path, window: int, scratch: Path) -> tuple[int, int, bool, float, str]:
    """Width of the page and of its room, whether the table scrolls, the width of a picture of the filmstrip, and the
    parts of names that are broken or reach out of their cells."""
    page = scratch / "page.html"
    page.write_text(report.build(run).read_text().replace("</body>", MEASURE))
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
    command += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    command += [f"--user-data-dir={scratch}", "--virtual-time-budget=20000", f"--window-size={window},900"]
    seen = subprocess.run([*command, "--dump-dom", page.as_uri()], check=True, capture_output=True, text=True).stdout
    measured = re.search(r"<title>(\d+) of (\d+), (true|false), ([0-9.]+), (.*)</title>", seen)
    assert measured is not None
    width, room, inside, picture, broken = measured.groups()
    return int(width), int(room), inside == "true", float(picture), broken


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
@pytest.mark.parametrize(("window", "scrolls"), [(1280, False), (600, True), (390, False)])
def test_nothing_is_wider_than_the_window(window: int, scrolls: bool, tmp_path: Path) -> None:
    run = Path(shutil.copytree(REPOSITORY / "tests/golden/format-2", tmp_path / "run"))
    info = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(info | {"a_key_without_a_place_to_break_it" * 3: "and its value" * 9}))
    width, room, inside, _, _ = laid_out(run, window, tmp_path)
    assert width <= room <= max(window, 500), "the browser's least width is 500"
    assert inside == scrolls


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_with_sound_and_connections_the_comparison_fits_into_a_window(tmp_path: Path) -> None:
    """What every run has stands in one table and the rest in a second one, and of no run is a column lost."""
    run = Path(shutil.copytree(REPOSITORY / "tests/golden/format-2", tmp_path / "run"))
    summary = pl.read_parquet(run / "summary.parquet")
    heard = {name: pl.lit(7) for name in ("sound_shown", "sound_late", "sound_lost")}
    summary.with_columns(**heard, sound_wait_max_ms=pl.lit(1.5)).write_parquet(run / "summary.parquet")
    width, room, inside, _, _ = laid_out(run, 1280, tmp_path)
    assert width <= room and not inside
    tables = (tmp_path / "page.html").read_text().split('<table class="sortable compare">')[1:]
    assert ["sound late" in one for one in tables] == [False, True] == ["SRTT" in one for one in tables]
    assert all("throughput" in tables[0] and name in one for one in tables for name in load(run).named(()))


def test_every_figure_of_the_comparison_carries_its_heading_for_narrow_windows(tmp_path: Path) -> None:
    run = Path(shutil.copytree(REPOSITORY / "tests/golden/format-2", tmp_path / "run"))
    page = report.build(run).read_text()
    table = page[page.index('<table class="sortable compare">') :]
    table = table[: table.index("</table>")]
    buttons = re.findall(r"<button[^>]*>(.*?)</button>", table)[1:]
    headings = [re.sub(r"<br><span class=\"unit\">(.*)</span>", r", \1", heading) for heading in buttons]
    for row in table.split("<tbody>")[1].split("</tr>")[:-1]:
        assert re.findall(r'<td data-title="([^"]*)"', row) == headings
    assert "latency p95, ms" in headings


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
@pytest.mark.parametrize(("window", "least"), [(1280, 90), (390, 120)])
def test_pictures_of_the_filmstrip_can_be_seen_in_any_window(window: int, least: int, tmp_path: Path) -> None:
    movie = make_movie(tmp_path / "small.m2v")
    pictures = read_pictures(movie)
    names = ("udp", "udp-with-a-name-that-is-long-and-is-of-no-transport", "udp+dependency", "ts+rtp+dependency",
             "tcp+ifd-optimised", "udp-blocking")  # fmt: skip
    flows = {name: Delivery(name, prompt(pictures)) for name in names}
    width, room, _, picture, broken = laid_out(write_run(tmp_path / "run", movie, flows), window, tmp_path)
    assert broken == "none"
    assert width <= room <= max(window, 500), "the browser's least width is 500"
    assert least <= picture <= 150
