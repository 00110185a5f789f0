"""``framewire reproduce ouwens`` as far as it runs the simulator: small campaigns, failures, arguments."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from framewire.cli import app
from framewire.errors import InputError
from framewire.studies.measured import Measurement
from framewire.studies.ouwens.measure import carry_out
from framewire.studies.ouwens.plan import measurements


def _small(one: Measurement, **settings: Any) -> Measurement:
    """Two seconds of the movie, one repeat, and one value on each axis: of retry values the last, where all is well."""
    scenario = {**one.document["scenario"], "movie": {"source": "lab", "bitrate": "3 Mbit/s", "duration": "2 s"}}
    axes = [
        {**axis, "values": axis["values"][-1:] if axis["name"] == "retry" else axis["values"][:1]}
        for axis in one.document["axis"]
        if axis["name"] != "bitrate"
    ]
    bitrate = {"name": "bitrate", "values": [{"label": 3, "set": {}}]}
    return replace(
        one, document={**one.document, "scenario": scenario | settings, "axis": [bitrate, *axes], "repeats": 1}
    )


@pytest.fixture(scope="module")
def of_thesis() -> list[Measurement]:
    return [_small(one) for one in measurements() if not one.is_optional]


def test_samples_ledgers_packets_and_costs_come_out(of_thesis: list[Measurement], tmp_path: Path) -> None:
    events: list[dict[str, Any]] = []
    measured = carry_out(of_thesis, tmp_path, jobs=1, progress=events.append)
    assert not measured.failures
    place = {"bitrate": 3, "retry": 16, "oven": "no"}
    for flow in ("udp-blocking", "tcp", "udp", "tcp+ifd"):
        (duration,) = measured.samples("movies", "duration_s", **place, flow=flow)
        assert 1.5 < duration < 2.5, flow
    assert measured.samples("movies", "duration_s", **place, flow="udp-whole") == []
    assert measured.samples("nothing", "duration_s") == []
    (took,) = measured.samples("link-layer", "duration_s", rate="auto", retry=5, oven="no", flow="tcp")
    assert took < 1.8, "without pacing it is faster than the movie"
    (seen,) = measured.samples("link-layer", "sniffed_unique", rate="auto", retry=5, oven="no", flow="udp")
    (sent,) = measured.samples("link-layer", "packets_sent", rate="auto", retry=5, oven="no", flow="udp")
    assert 0.6 < seen / sent < 0.7
    assert sum(kind == "I" for kind, _ in measured.movie_sizes[3]) in (4, 5)
    assert measured.packets["tcp-segments"]().collect().height > 500
    assert [cost.computed for cost in measured.costs] == [1, 1, 1]
    assert sum(cost.simulated_s for cost in measured.costs) > 8
    assert any("movies (1 of 3): " in event.get("text", "") for event in events)
    again = carry_out(of_thesis, tmp_path, jobs=1)
    assert [cost.computed for cost in again.costs] == [0, 0, 0]
    assert again.summaries["movies"].equals(measured.summaries["movies"])


def test_what_cannot_be_measured_stops_the_thesis_but_not_an_open_question(
    of_thesis: list[Measurement], tmp_path: Path
) -> None:
    broken = _small(of_thesis[0], network={"kind": "wifi", "wifi": {"standard": "802.11zz"}})
    with pytest.raises(InputError, match="802.11zz"):
        carry_out([broken], tmp_path / "thesis")
    measured = carry_out([replace(broken, is_optional=True, name="else")], tmp_path / "open")
    assert len(measured.failures) == 1
    assert "802.11zz" in measured.failures[0]
    assert not measured.has("else")


def test_arguments_are_checked() -> None:
    result = CliRunner().invoke(app, ["reproduce", "ouwens", "--repeats", "4"])
    assert (result.exit_code, "allowed is 1 to 3" in result.stderr) == (2, True)
    result = CliRunner().invoke(app, ["reproduce", "ouwens", "--jobs", "0"])
    assert (result.exit_code, "jobs: 0 is not allowed" in result.stderr) == (2, True)
    assert "ouwens" in CliRunner().invoke(app, ["reproduce", "--help"]).stdout
