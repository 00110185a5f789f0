"""Campaigns over the recording of a link: its content counts, and it is looked for before anything runs."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import framewire
from framewire.errors import InputError


def campaign(trace: Path) -> dict[str, object]:
    return {
        "name": "recorded",
        "repeats": 1,
        "metrics": ["duration_s"],
        "axes": {"flow": {"0": {"transport": ["tcp"]}}},
        "scenario": {
            "movie": {"bitrate": "4 Mbit/s", "duration": "2 s"},
            "network": {"kind": "wired", "wire": {"trace": str(trace)}},
            "flow": [{"transport": "tcp"}],
        },
    }


def test_a_recording_that_changed_is_computed_anew(tmp_path: Path) -> None:
    trace = tmp_path / "link.down"

    def duration(step: int) -> float:
        trace.write_text("".join(f"{at}\n" for at in range(step, 1_000 + step, step)))
        done = framewire.campaign(campaign(trace), out=tmp_path / "campaign")
        return float(done.summary["duration_s"].item())

    fast, slow = duration(2), duration(40)
    assert fast < 2.5 < 5 < slow
    assert duration(2) == fast


def test_a_recording_that_is_missing_is_named_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"network\.wire\.trace = .*nowhere.*No such file"):
        framewire.campaign(campaign(tmp_path / "nowhere"), out=tmp_path / "campaign")
    (tmp_path / "link.down.gz").write_bytes(gzip.compress(b"1\n2\n"))
    with pytest.raises(InputError, match=r"network\.wire\.trace = .*compressed by gzip; unpack it"):
        framewire.campaign(campaign(tmp_path / "link.down.gz"), out=tmp_path / "campaign")
    assert not (tmp_path / "campaign").exists()
