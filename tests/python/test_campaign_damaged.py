"""Campaigns whose files are not what was written: a flipped bit is noticed, named and mended."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import fake_simulator
import polars as pl
import pytest
from fake_simulator import begun

import framewire
from framewire import InputError, checksums, files
from framewire.campaign.display import damage_of
from framewire.campaign.results import Campaign

FLIPS = 12


@pytest.fixture(autouse=True)
def simulator(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path | None:
    """The fake simulator, and the log of the cells that it began."""
    return fake_simulator.install(monkeypatch, tmp_path / "begun.log")


@pytest.fixture
def document(stream: Path) -> dict[str, Any]:
    """Four cells."""
    flow = [{"transport": "udp"}]
    return {
        "name": "small",
        "scenario": {"movie": {"source": str(stream)}, "flow": flow},
        "axes": {"network.wifi.retry": [0, 3]},
        "repeats": 2,
    }


def flip(path: Path, draw: random.Random) -> None:
    """One bit."""
    data = bytearray(path.read_bytes())
    place = draw.randrange(len(data) * 8)
    data[place // 8] ^= 1 << place % 8
    path.write_bytes(data)


def test_a_flipped_bit_in_a_finished_cell_is_named_and_the_cell_computed_again(
    document: dict[str, Any], tmp_path: Path, simulator: Path
) -> None:
    draw, out = random.Random(11), tmp_path / "out"
    first = framewire.campaign(document, out=out)
    frames = first.frames.collect()
    cells = sorted((out / "cells").iterdir())
    for number in range(FLIPS):
        cell = draw.choice(cells)
        file = draw.choice(sorted(cell.iterdir()))
        flip(file, draw)
        # Also where all that was made of the cells is there, and where it is not.
        if number % 2:
            (out / "campaign.json").unlink()
        begun(simulator)
        told: list[dict[str, Any]] = []
        again = framewire.campaign(document, out=out, progress=told.append)
        damaged = [event for event in told if event["event"] == "damaged"]
        assert [event["cell"].split()[0] for event in damaged] == [cell.name], f"{file.name}: {damaged}"
        assert (file.name if file.name != "cell.json" else "its description") in damaged[0]["reason"]
        assert begun(simulator) == [cell.name]
        assert again.hashes == first.hashes and again.frames.collect().equals(frames)


def test_a_flipped_bit_in_the_dataset_is_named_and_it_is_put_together_again(
    document: dict[str, Any], tmp_path: Path, simulator: Path
) -> None:
    draw, out = random.Random(12), tmp_path / "out"
    first = framewire.campaign(document, out=out)
    summary, frames = first.summary, first.frames.collect()
    for name in ("summary.parquet", "frames/part-00000.parquet", "campaign.json", "index.json"):
        flip(out / name, draw)
        begun(simulator)
        with pytest.raises(InputError, match=f"{Path(name).name}.*(damaged|cannot be read|format)"):
            opened = Campaign(out)
            assert opened.summary.equals(summary) and opened.frames.collect().equals(frames)
        told: list[dict[str, Any]] = []
        again = framewire.campaign(document, out=out, progress=told.append)
        assert begun(simulator) == [] and again.summary.equals(summary) and again.frames.collect().equals(frames)
        named = [event["reason"] for event in told if event["event"] == "damaged" and event["cell"] is None]
        # The index is written anew each time.
        assert [name in reason for reason in named] == ([] if name == "index.json" else [True]), named
    told = []
    framewire.campaign(document, out=out, progress=told.append)
    assert [event for event in told if event["event"] == "damaged"] == []


def test_what_is_damaged_is_said_with_what_happens() -> None:
    part = {"event": "damaged", "cell": None, "reason": "frames/part-00000.parquet is damaged"}
    assert damage_of(part) == "warning: frames/part-00000.parquet is damaged; it is written again from the cells"
    assert damage_of(part | {"cell": "a", "reason": "torn"}) == "warning: cell a: torn; it is computed again"


def test_a_description_that_is_no_document_any_more_is_named_in_words(document: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "out"
    framewire.campaign(document, out=out)
    file = out / "campaign.json"
    whole = file.read_bytes()
    places = {"not a JSON document (line 1, column 1)": (0, 0x04), "not a text in UTF-8 (byte 2)": (1, 0x80)}
    for why, (byte, bit) in places.items():
        file.write_bytes(whole[:byte] + bytes([whole[byte] ^ bit]) + whole[byte + 1 :])
        with pytest.raises(InputError) as caught:
            Campaign(out)
        assert str(caught.value) == (
            f"{file}: is damaged: {why}; the same `framewire campaign` command writes it anew"
        )  # fmt: skip


def test_a_damaged_cell_of_an_unfinished_campaign_is_named(document: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "out"
    cell = framewire.campaign(document, out=out).summary["cell"][2]
    (out / "campaign.json").unlink()
    flip(out / "cells" / cell / "summary.parquet", random.Random(1))
    with pytest.raises(InputError, match=rf"cell {cell} \(.*summary\.parquet is damaged.*computes it again"):
        _ = Campaign(out).summary
    text = out / "cells" / cell / "scenario.toml"
    for change, why in ((("1500", "1400"), r"scenario\.toml is damaged"), (("1500", "15000"), "it is damaged")):
        whole = text.read_text()
        text.write_text(whole.replace(*change))
        with pytest.raises(InputError, match=rf"cell {cell}: {why}.*computes it again"):
            Campaign(out).run_cell(cell)
        text.write_text(whole)


def test_cells_of_an_earlier_version_have_no_checksums_and_are_read(document: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = framewire.campaign(document, out=out)
    for file in [*out.glob("cells/*/cell.json"), out / "index.json", out / "campaign.json"]:
        described = json.loads(file.read_text())
        del described["checksums"]
        file.write_text(json.dumps(described | ({"format": 1} if file.name == "cell.json" else {})))
    assert Campaign(out).summary.equals(first.summary)
    (out / "campaign.json").unlink()
    assert Campaign(out).summary.equals(first.summary)


def test_a_part_is_read_once_for_each_state_that_it_is_in(
    document: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    framewire.campaign(document, out=out)
    read: list[str] = []

    def counted(path: Path) -> str:
        read.append(Path(path).name)
        return files.sha256(path)

    monkeypatch.setattr(checksums, "sha256", counted)
    campaign = Campaign(out)
    [part] = sorted((out / "frames").iterdir())
    for _ in range(3):
        assert campaign.frames.collect().height > 0
    assert read.count(part.name) == 1
    # Damage is found at the next access, also where size and time stay the same; and so it is when it is mended.
    before, whole = part.stat(), part.read_bytes()
    flip(part, random.Random(1))
    os.utime(part, ns=(before.st_atime_ns, before.st_mtime_ns))
    for _ in range(2):
        with pytest.raises(InputError, match="is damaged"):
            _ = campaign.frames
    part.write_bytes(whole)
    assert campaign.frames.collect().height > 0
    assert read.count(part.name) == 4
    # What is damaged when it is read for the first time is found, too.
    flip(part, random.Random(2))
    with pytest.raises(InputError, match="is damaged"):
        _ = Campaign(out).frames


def test_cells_of_a_campaign_without_parts_are_read_by_themselves_and_damage_is_named(
    document: dict[str, Any], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    whole = framewire.campaign(document, out=out)
    together = whole.frames.collect()
    apart = framewire.campaign(document | {"parts": False}, out=out)
    assert apart.hashes == whole.hashes, "the cells are the same"
    assert not (out / "frames").exists()
    assert apart.summary.height == whole.summary.height
    with pytest.raises(InputError, match="parts = false"):
        apart.frames.collect()
    tables = list(apart.tables("frames"))
    assert [place.id for place, _ in tables] == together["cell"].unique(maintain_order=True).to_list()
    rows = pl.concat(pl.read_parquet(path) for _, [path] in tables)
    assert rows.equals(together.select(rows.columns))
    flip(tables[2][1][0], random.Random(3))
    read = Campaign(out).tables("frames")
    assert [next(read)[0], next(read)[0]] == [tables[0][0], tables[1][0]]
    with pytest.raises(InputError, match=r"frames\.parquet is damaged"):
        next(read)
    # And put together again where that is asked for.
    assert framewire.campaign(document, out=out).frames.collect().equals(together)
