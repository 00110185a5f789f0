"""What is checked before anything runs, files that are no files of a disk, and what a shell completes."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from framewire import cli, files
from framewire.errors import InputError

FLOW = '[[flow]]\ntransport = "{transport}"\n'


def checked(directory: Path, text: str, *more: str) -> tuple[int, str]:
    """The exit code of ``framewire scenario check``, and what it says."""
    scenario = directory / "mine.toml"
    scenario.write_text(text)
    result = CliRunner().invoke(cli.app, ["scenario", "check", str(scenario), *more])
    return result.exit_code, " ".join(result.output.split())


def test_a_scenario_whose_movie_cannot_be_sent_is_not_valid(tmp_path: Path, stream: Path) -> None:
    udp, vtp = FLOW.format(transport="udp"), FLOW.format(transport="vtp")
    (tmp_path / "notes.txt").write_text("no movie")
    os.mkfifo(tmp_path / "pipe")
    cases = [
        ('[movie]\nsource = "absent.m2v"\n' + udp, "movie.source", "absent.m2v", "no such file"),
        ('[movie]\nsource = "absent.mp4"\nbitrate = "6 Mbit/s"\n' + udp, "movie.source", "absent.mp4", "no such file"),
        ('[movie]\nsource = "notes.txt"\n' + udp, "movie.source", "notes.txt", ""),
        ('[movie]\nsource = "notes.txt"\nbitrate = "6 Mbit/s"\n' + udp, "movie.source", "notes.txt", ""),
        ('[movie]\nsource = "pipe"\n' + udp, "movie.source", "pipe", "not a file"),
        ('[movie]\nladder = "absent.vtp"\n' + vtp, "movie.ladder", "absent.vtp", "no such file"),
        ('[movie]\nladder = "notes.txt"\n' + vtp, "movie.ladder", "notes.txt", "not a streaming file"),
        ('[movie]\nladder = "pipe"\n' + vtp, "movie.ladder", "pipe", "a named pipe; a regular file is needed"),
        ('[network.wire]\ntrace = "absent.trace"\n' + udp, "network.wire.trace", "absent.trace", "No such file"),
        ('[network.wire]\ntrace = "pipe"\n' + udp, "network.wire.trace", "pipe", "a regular file is needed"),
        ('[network.wire]\ntrace = "/dev/zero"\n' + udp, "network.wire.trace", "/dev/zero", "a regular file is needed"),
    ]
    for text, key, value, why in cases:
        code, said = checked(tmp_path, text)
        path = tmp_path / value  # an absolute one stays
        assert (code, f'{key} = "{path}": ' in said, why in said) == (2, True, True), f"{text}: {said}"
    for text in (udp, vtp + '[movie]\nladder = "lab-mild"\n', f'[movie]\nsource = "{stream}"\n' + udp):
        code, said = checked(tmp_path, text)
        assert (code, "a valid scenario" in said) == (0, True), said


def test_a_container_is_only_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAMEWIRE_CACHE", str(tmp_path / "cache"))
    film = tmp_path / "film.mkv"
    picture = ["-f", "lavfi", "-i", "testsrc2=size=64x64:rate=25:duration=1"]
    subprocess.run(["ffmpeg", "-v", "error", *picture, "-c:v", "mpeg2video", film], check=True)
    for more in ("", 'duration = "0.2 s"\n'):
        code, said = checked(tmp_path, f'[movie]\nsource = "{film}"\n{more}' + FLOW.format(transport="udp"))
        assert (code, "a valid scenario" in said) == (0, True), said
    wrong = f'[movie]\nsource = "{film}"\nframe_rate = "31 Hz"\n' + FLOW.format(transport="udp")
    code, said = checked(tmp_path, wrong)
    assert (code, "would play it at another speed" in said) == (2, True), said
    assert not (tmp_path / "cache").exists(), "nothing was taken out of it"


def test_units_as_they_are_written_elsewhere_are_recognised(tmp_path: Path) -> None:
    for written, meant in (("6 Mbps", "6 Mbit/s"), ("800 kbps", "800 kbit/s"), ("800 Kb", "800 kbit/s")):
        code, said = checked(tmp_path, FLOW.format(transport="udp"), "--set", f"network.wire.rate={written}")
        assert (code, f'did you mean "{meant}"?' in said) == (2, True), said
        result = CliRunner().invoke(cli.app, ["movie", "make", "--bitrate", written])
        assert (result.exit_code, f'did you mean "{meant}"?' in " ".join(result.output.split())) == (2, True)
    result = CliRunner().invoke(cli.app, ["movie", "make", "--duration", "3 sec"])
    assert (result.exit_code, 'did you mean "3 s"?' in " ".join(result.output.split())) == (2, True)


@pytest.mark.parametrize(
    ("words", "values"),
    [
        ("framewire run x.toml --world ", ["emulated", "simulated"]),
        ("framewire run x.toml --world s", ["simulated"]),
        ("framewire send x.vtp --transport ", ["vtp", "better", "tfrc", "fixed"]),
        ("framewire receive 127.0.0.1:5004 x --transport be", ["better"]),
        ("framewire movie ladder --preset ", ["mild", "strong"]),
        ("framewire movie ladder --codec ", ["mpeg4", "h264", "h265"]),
        ("framewire movie make --codec h264", ["h264", "h264-pyramid"]),
    ],
)
def test_a_shell_completes_values(words: str, values: list[str]) -> None:
    count = len(words.split(" ")) - 1
    asked = {"_FRAMEWIRE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(count)}
    result = CliRunner().invoke(cli.app, [], prog_name="framewire", env=asked)
    assert set(values) <= set(result.stdout.split()), result.output
    prefix = words.rpartition(" ")[2]
    assert all(value.startswith(prefix) for value in result.stdout.split())


@pytest.mark.parametrize("command", [["scenario", "check"], ["campaign", "check"], ["run"]])
@pytest.mark.parametrize(
    "kind", ["brackets", "braces", "dotted key", "dotted table", "pipe", "zeros", "large", "directory"]
)
def test_a_file_that_is_no_scenario_is_refused_with_little_memory(
    command: list[str], kind: str, tmp_path: Path
) -> None:
    many = 50_000
    dotted = ".".join(["a"] * many)
    texts = {
        "brackets": f"x = {'[' * many}{']' * many}\n",
        "braces": f"x = {'{ a = ' * many}1{' }' * many}\n",
        "dotted key": f"{dotted} = 1\n",
        "dotted table": f"[{dotted}]\nb = 1\n",
        "large": "# much\n" * (1 << 18),
    }
    path = tmp_path / "bad.toml"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "zeros":
        path.symlink_to("/dev/zero")
    elif kind == "directory":
        path.mkdir()
    else:
        path.write_text(texts[kind])
    program = [sys.executable, "-m", "framewire", *command, str(path)]
    limit = 1_500_000_000

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    ended = subprocess.run(program, capture_output=True, text=True, timeout=60, preexec_fn=limited)
    assert (ended.returncode, ended.stdout) == (2, ""), ended.stderr[-500:]
    assert ended.stderr.startswith(f"error: {path}: ") and ended.stderr.count("\n") == 1, ended.stderr[-500:]
    assert len(ended.stderr) < 400


def test_documents_of_programs_are_bounded_too(tmp_path: Path) -> None:
    nested = tmp_path / "run.json"
    nested.write_text("[" * 100_000)
    with pytest.raises(ValueError, match="nested too deeply|Expecting"):
        files.read_json(nested)
    with pytest.raises(OSError, match="more than 1 KiB"):
        files.read_bytes(nested, 1024)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    run = tmp_path / "run"
    run.mkdir()
    (run / "run.json").symlink_to(pipe)
    result = CliRunner().invoke(cli.app, ["report", str(run)])
    assert result.exit_code == 2 and isinstance(result.exception, SystemExit | InputError), result.output
