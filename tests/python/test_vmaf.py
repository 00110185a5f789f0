"""VMAF: where it is measured, by what, and that its figures are those of FFmpeg's own comparison of two files."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import framewire
from framewire import MachineError, as_decoded
from framewire.as_decoded import vmaf
from framewire.as_decoded.pairs import Pairs, ssim
from framewire.cli import app
from framewire.doctor import examine
from framewire.report import comparison, psnr
from framewire.report.cut_stream import StreamError
from framewire.report.data import load
from framewire.report.outcome import outcome
from framewire.results import RunDirectory

LISTS = "#!/bin/sh\ncat <<'END'\nFilters:\n ... anull  A->A  Pass.\n .. {}  VV->V  Compare.\nEND\n"


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Nothing is named, and the ffmpeg in PATH has no such filter."""
    monkeypatch.delenv(vmaf.VARIABLE, raising=False)
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    return program(tmp_path / "bin" / "ffmpeg", LISTS.format("libvmaf_motion"))


def program(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_an_ffmpeg_is_found_that_has_the_filter(without: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert vmaf.find() is None
    one = program(tmp_path / "other", LISTS.format("libvmaf"))
    monkeypatch.setenv(vmaf.VARIABLE, str(one))
    assert vmaf.find() == str(one)
    (check,) = [check for check in examine() if check.name == "ffmpeg filter libvmaf"]
    assert check.ok and check.detail == str(one)
    monkeypatch.setenv(vmaf.VARIABLE, str(without))
    with pytest.raises(MachineError, match="which has no filter libvmaf"):
        vmaf.find()
    (check,) = [check for check in examine() if check.name == "ffmpeg filter libvmaf"]
    assert not check.ok and not check.required and "no VMAF" in check.cost
    monkeypatch.setenv(vmaf.VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(MachineError, match="which is not a program"):
        vmaf.find()
    monkeypatch.delenv(vmaf.VARIABLE)
    (tmp_path / "first").mkdir()
    program(tmp_path / "first" / "ffmpeg", LISTS.format("libvmaf"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'first'}:/usr/bin:/bin")
    assert vmaf.find() == str(tmp_path / "first" / "ffmpeg")


def test_the_command_names_both_sequences_and_the_log() -> None:
    command = vmaf.vmaf("/opt/ffmpeg").command(320, 192, (5, 7))
    assert command[0] == "/opt/ffmpeg"
    assert [command[at + 1] for at, word in enumerate(command) if word == "-i"] == ["pipe:5", "pipe:7"]
    assert command.count("yuv420p") == command.count("320x192") == 2
    filters = command[command.index("-lavfi") + 1]
    assert filters.startswith("[0:v][1:v]libvmaf=log_fmt=json:log_path=/dev/stdout:n_threads=")
    assert ssim().command(320, 192, (5, 7)).count("gray") == 2


def test_scores_are_read_in_the_order_of_the_pictures(tmp_path: Path) -> None:
    frames = [{"frameNum": at, "metrics": {"integer_motion": 9.0, "vmaf": score}} for at, score in ((1, 20.5), (0, 97))]
    log = json.dumps({"version": "3.0.0", "frames": frames, "pooled_metrics": {"vmaf": {"mean": 58.75}}})
    said = program(tmp_path / "ffmpeg", f"#!/bin/sh\ncat <<'END'\n{log}\nEND\n")
    pair = bytes(64 * 64), bytes(64 * 64)
    with Pairs(vmaf.vmaf(str(said)), 64, 64) as pairs:
        pairs.take(*pair)
        pairs.take(*pair)
        assert pairs.values() == [97.0, 20.5]
    with Pairs(vmaf.vmaf(str(said)), 64, 64) as pairs:
        pairs.take(*pair)
        with pytest.raises(StreamError, match="compared 2 pictures of 1"):
            pairs.values()
    with Pairs(vmaf.vmaf(str(program(tmp_path / "none", "#!/bin/sh\nexit 1\n"))), 64, 64) as pairs:
        pairs.take(*pair)
        with pytest.raises(StreamError, match="wrote no scores"):
            pairs.values()


@pytest.fixture(scope="module")
def run_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("vmaf")
    film = directory / "film.h264"
    picture = ["-f", "lavfi", "-i", "testsrc2=s=320x192:r=25:d=2", "-pix_fmt", "yuv420p"]
    subprocess.run(["ffmpeg", "-v", "error", *picture, "-c:v", "libx264", "-b:v", "1M", film], check=True)
    wire = '[network]\nkind = "wired"\n[network.wire]\nrate = "20 Mbit/s"\nloss = "3 %"\n'
    flows = '[[flow]]\ntransport = "udp"\n[[flow]]\ntransport = "tcp"\n'
    (directory / "lossy.toml").write_text(f'movie = {{ source = "{film}" }}\n{wire}{flows}')
    return framewire.run(directory / "lossy.toml", world="simulated", out=directory / "run").directory


def test_without_it_the_others_are_measured_and_the_command_says_so(
    run_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vmaf, "find", lambda: None)
    asked = CliRunner().invoke(app, ["score", str(run_directory)])
    assert asked.exit_code == 0, asked.output
    assert "VMAF is not measured: ffmpeg has no filter libvmaf" in " ".join(asked.stdout.split())
    table = RunDirectory(run_directory).table("as_decoded")
    assert table["vmaf"].null_count() == table.height and table["ssim"].null_count() == 0
    told = json.loads(CliRunner().invoke(app, ["score", str(run_directory), "udp", "--json"]).stdout)
    assert (told[0]["discarded_vmaf"], told[0]["as_decoded_vmaf"]) == (None, None) and told[0]["discarded_ssim"] > 0
    titles = [one.title for one in comparison.columns(outcome(load(run_directory), psnr.unmeasured()).flows)]
    assert "decoded SSIM" in titles and "decoded VMAF" not in titles
    # Scores of a version before VMAF stay beside new ones.
    before = load(run_directory)
    before.as_decoded = before.as_decoded.filter(pl.col("flow") == "tcp").drop("vmaf")
    before.as_decoded.write_parquet(run_directory / "as_decoded.parquet")
    as_decoded.write(before, table.filter(pl.col("flow") == "udp"))
    assert {*pl.read_parquet(run_directory / "as_decoded.parquet")["flow"]} == {"tcp", "udp"}


def test_it_is_what_ffmpeg_says_of_two_files(run_directory: Path, tmp_path: Path) -> None:
    if (found := vmaf.find()) is None:
        pytest.skip(f"no ffmpeg here has the filter libvmaf ({vmaf.VARIABLE} may name one)")
    run = load(run_directory)
    (udp, tcp), table, missing = as_decoded.measure(run, vmaf_by=found)
    assert not missing and table["vmaf"].null_count() == 0
    assert tcp.as_decoded_vmaf is not None and udp.discarded_vmaf is not None and udp.as_decoded_vmaf is not None
    assert 90 < tcp.as_decoded_vmaf <= 100 and tcp.as_decoded_vmaf == tcp.discarded_vmaf
    assert 0 <= udp.discarded_vmaf < udp.as_decoded_vmaf < tcp.as_decoded_vmaf
    as_decoded.write(run, table)
    titles = [one.title for one in comparison.columns(outcome(load(run_directory), psnr.unmeasured()).flows)]
    assert "VMAF" in titles and "decoded VMAF" in titles
    # What came over TCP, and what it was coded from, as files.
    received, picture = str(run_directory / "received" / "tcp.h264"), "testsrc2=s=320x192:r=25:d=2"
    films = [tmp_path / "received.y4m", tmp_path / "coarse.y4m"]
    blurred = ["-f", "lavfi", "-i", picture, "-vf", "avgblur=4"]
    for film, options in zip(films, (["-i", received], blurred), strict=True):
        subprocess.run(["ffmpeg", "-v", "error", *options, "-pix_fmt", "yuv420p", str(film)], check=True)
    log = tmp_path / "log.json"
    inputs = [word for film in (films[1], films[0]) for word in ("-i", str(film))]
    command = [found, "-v", "error", *inputs, "-lavfi", "libvmaf=log_fmt=json:log_path=log.json", "-f", "null", "-"]
    subprocess.run(command, check=True, cwd=tmp_path)
    expected = [one["metrics"]["vmaf"] for one in json.loads(log.read_text())["frames"]]
    with Pairs(vmaf.vmaf(found), 320, 192) as pairs:
        for one, other in zip(lumas(films[1]), lumas(films[0]), strict=True):
            pairs.take(one, other)
        assert pairs.values() == pytest.approx(expected, abs=1e-4)
    assert 1 < max(expected) < 99


def lumas(film: Path) -> list[bytes]:
    command = ["ffmpeg", "-v", "error", "-i", str(film), "-vf", "extractplanes=y", "-f", "rawvideo", "-"]
    code = subprocess.run(command, check=True, capture_output=True).stdout
    return [code[at : at + 320 * 192] for at in range(0, len(code), 320 * 192)]
