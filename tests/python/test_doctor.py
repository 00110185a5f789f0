"""What the doctor finds, on machines where things are there and where they are not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from framewire import doctor
from framewire.cli import app


@pytest.mark.usefixtures("fake_emulator")
def test_what_the_emulator_finds_is_handed_on() -> None:
    checks = {check.name: check for check in doctor.examine()}
    assert checks["network namespaces"] == doctor.Check("network namespaces", True, False, "work", "")
    assert checks["real-time priority"] == doctor.Check("real-time priority", False, False, "refused", "later releases")
    assert checks["ffmpeg"].ok
    assert checks["ffmpeg"].detail.startswith("ffmpeg version")
    assert checks["ffmpeg encoder mpeg2video"].ok
    assert doctor.is_fit(list(checks.values()))


@pytest.mark.usefixtures("fake_emulator")
def test_every_missing_thing_has_a_cost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    checks = doctor.examine()
    missing = {check.name for check in checks if not check.ok}
    assert missing == {"real-time priority", "ffmpeg", "GStreamer", "tshark"}
    assert all(bool(check.cost) != check.ok for check in checks)
    assert not doctor.is_fit(checks)


def test_the_emulators_own_verdict_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "refused"
    program.write_text('#!/bin/sh\necho \'{"can_emulate": false, "capabilities": []}\'\n')
    program.chmod(0o755)
    monkeypatch.setenv("FRAMEWIRE_EMU", str(program))
    assert not doctor.is_fit(doctor.examine())


@pytest.mark.parametrize(
    "answer", ["exit 1", "echo no JSON", "echo '{}'", 'echo \'{"can_emulate": true, "capabilities": [{}]}\'']
)
def test_an_emulator_without_an_answer_is_unfit(answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "broken"
    program.write_text(f"#!/bin/sh\n{answer}\n")
    program.chmod(0o755)
    monkeypatch.setenv("FRAMEWIRE_EMU", str(program))
    first = doctor.examine()[0]
    assert (first.name, first.ok, first.required) == ("emulator", False, True)
    assert str(program) in first.detail


@pytest.mark.usefixtures("fake_emulator")
def test_the_command_tells_by_table_and_by_exit_code(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    runner = CliRunner()
    fit = runner.invoke(app, ["doctor"])
    assert fit.exit_code == 0
    assert "`framewire run` works here." in fit.stdout
    assert "later releases" in fit.stdout
    assert max(map(len, fit.stdout.splitlines())) <= 100
    monkeypatch.setenv("FRAMEWIRE_EMU", str(tmp_path / "absent"))
    unfit = runner.invoke(app, ["doctor", "--json"])
    assert unfit.exit_code == 3
    assert json.loads(unfit.stdout)["fit"] is False
    assert "does not work here; with --world simulated it does." in runner.invoke(app, ["doctor"]).stdout
    monkeypatch.setenv("PATH", str(tmp_path / "absent"))
    assert "does not work here.\n" in runner.invoke(app, ["doctor"]).stdout
