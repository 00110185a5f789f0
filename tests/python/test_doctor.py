"""What the doctor finds, on machines where things are there and where they are not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from framewire import _native, doctor, gstreamer
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
    assert missing == {"real-time priority", "ffmpeg", "GStreamer", "GStreamer elements", "tshark"}
    assert all(bool(check.cost) != check.ok for check in checks)
    assert not doctor.is_fit(checks)


@pytest.mark.usefixtures("fake_emulator")
def test_a_stale_emulator_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def check() -> doctor.Check:
        return next(check for check in doctor.examine() if check.name == "matching builds")

    assert check().ok
    assert _native.__sources__ in check().detail
    monkeypatch.setenv("FAKE_SOURCES", "0123456789abcdef")
    stale = check()
    assert (stale.ok, stale.required) == (False, False)
    assert "0123456789abcdef" in stale.detail
    assert _native.__sources__ in stale.detail
    assert "`make setup` builds both" in stale.cost


def test_an_emulator_of_before_is_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "before"
    program.write_text('#!/bin/sh\necho \'{"can_emulate": true, "capabilities": []}\'\n')
    program.chmod(0o755)
    monkeypatch.setenv("FRAMEWIRE_EMU", str(program))
    emulator, sources = doctor.examine()[:2]
    assert (emulator.ok, sources.ok) == (True, False)
    assert "emulator: an earlier version; native module: " in sources.detail


def test_the_elements_are_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found by GStreamer, there but not found, not to be loaded, not there, and no GStreamer."""

    def inspect(answers: str) -> doctor.Check:
        program = tmp_path / "gst-inspect-1.0"
        program.write_text(f'#!/bin/sh\ncase "$1" in {answers} *) exit 1 ;; esac\n')
        program.chmod(0o755)
        return next(check for check in doctor.examine() if check.name == "GStreamer elements")

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(gstreamer, "_PLUGIN", tmp_path / "libgstframewire.so")
    found = inspect('framewire) echo "  Filename                 /some/where.so" ;;')
    assert found == doctor.Check("GStreamer elements", True, False, "/some/where.so", "")
    assert inspect("").detail == "not built; `make plugin` builds them"
    (tmp_path / "libgstframewire.so").touch()
    there = inspect("/*) ;;")
    assert not there.ok
    assert "-m framewire.gstreamer" in there.detail
    assert "cannot load them" in inspect("").detail
    (tmp_path / "gst-inspect-1.0").unlink()
    absent = next(check for check in doctor.examine() if check.name == "GStreamer elements")
    assert "not in PATH" in absent.detail
    assert all(not check.ok and check.cost for check in (there, absent))


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
