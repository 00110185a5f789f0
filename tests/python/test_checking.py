"""What is checked before anything runs, files that are no files of a disk, and what a shell completes."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from typer.testing import CliRunner

import framewire
from conftest import REPOSITORY
from framewire import _native, cli, emulator, files, transports
from framewire import scenario as scenarios
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


SENTENCE = 'packets = "thesis": it is the sizes that the thesis\' encoder made of the slices of MPEG-2 (RFC 2250)'
RTP = (
    "{0} sends RTP, which here carries MPEG video (RFC 2250), MPEG-4 part 2 (RFC 6416), H.264 (RFC 6184), H.265 (RFC "
    "7798) and AV1 (AOMedia's RTP Payload Format For AV1); the movie is {1}"
)
THESIS = 'packets = "thesis"\n'
OVER_DATAGRAMS = ("udp", "udp-blocking", "udp-whole", "udp+ifd", "udp+dependency")
OVER_TCP = ("tcp", "tcp+ifd", "tcp+ifd-optimised", "tcp+dependency", "tcp+leaky", "tcp+keyframe", "tcp+obs")


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A second of H.264 in an MP4 file."""
    path = tmp_path_factory.mktemp("film") / "film.mp4"
    picture = ["-f", "lavfi", "-i", "testsrc2=size=64x64:rate=25:duration=1"]
    subprocess.run(["ffmpeg", "-v", "error", *picture, "-c:v", "libx264", "-pix_fmt", "yuv420p", path], check=True)
    return path


def test_a_codec_that_a_flow_does_not_carry_is_refused_with_the_ways_out(
    tmp_path: Path, film: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRAMEWIRE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    movie, tcp = f'[movie]\nsource = "{film}"\n', FLOW.format(transport="tcp")
    for transport in OVER_DATAGRAMS:
        code, said = checked(tmp_path, f'{movie}{tcp}{FLOW.format(transport=transport)}name = "mine"\n{THESIS}')
        told = f'movie.source = "{film}": flow mine: {SENTENCE}'
        assert (code, told in said) == (2, True), said
        assert 'movie.bitrate = "..." has it encoded anew in MPEG-2' in said and "docs/applications.md" in said
    udp = FLOW.format(transport="udp")
    application = '[[flow]]\nsender.command = ["send", "{source}"]\nreceiver.command = ["receive"]\n'
    encoded = f'{movie}bitrate = "500 kbit/s"\n{udp}{THESIS}'
    every = movie + "".join(FLOW.format(transport=name) for name in (*OVER_DATAGRAMS, *OVER_TCP))
    for text in (every, movie + application, encoded):
        code, said = checked(tmp_path, text)
        assert (code, "a valid scenario" in said) == (0, True), said
    assert not (tmp_path / "cache").exists(), "nothing was taken out of it"


@pytest.mark.parametrize("world", ["emulated", "simulated"])
def test_a_run_that_cannot_be_leaves_nothing(
    world: str, tmp_path: Path, film: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRAMEWIRE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(emulator, "find", lambda: Path("/nowhere"))
    scenario = tmp_path / "mine.toml"
    scenario.write_text(f'[movie]\nsource = "{film}"\n' + FLOW.format(transport="udp") + THESIS)
    result = CliRunner().invoke(cli.app, ["run", str(scenario), "--world", world])
    said = " ".join(result.output.split())
    assert (result.exit_code, f"{scenario}: movie.source = " in said) == (2, True), said
    assert f"flow udp: {SENTENCE}" in said and "preparing" not in said
    assert list(tmp_path.iterdir()) == [scenario]


def test_a_run_that_fails_leaves_no_empty_directories(
    tmp_path: Path, stream: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object, **_more: object) -> str:
        raise _native.ScenarioError("no luck")

    monkeypatch.chdir(tmp_path)
    text = f'movie.source = "{stream}"\n' + FLOW.format(transport="udp")
    with monkeypatch.context() as failing:
        failing.setattr(_native, "simulate", fail)
        (tmp_path / "kept").mkdir()
        for out in (None, "a/b/run", "kept/run"):
            with pytest.raises(InputError, match="no luck"):
                framewire.run(text, world="simulated", out=out)
    assert [path.name for path in tmp_path.rglob("*")] == ["kept"]
    assert framewire.run(text, world="simulated", out="a/run").directory.is_dir()


def test_flows_without_a_movie_need_none(tmp_path: Path) -> None:
    text = 'limit = "1 s"\n' + FLOW.format(transport="bulk")
    assert checked(tmp_path, text)[0] == 0
    run = framewire.run(text, out=tmp_path / "run", world="simulated")
    assert (run.status, run.summary["flow"].to_list()) == ("complete", ["bulk"])


def test_what_flows_carry_is_asked_of_those_that_send_it() -> None:
    def refusal(codec: str, names: Iterable[str], **settings: str) -> str | None:
        flows = [{"name": f"mine-{number}", "transport": name, **settings} for number, name in enumerate(names)]
        return scenarios.load({"flow": flows}).parsed.codec_refusal(codec)

    every = (*OVER_DATAGRAMS, *OVER_TCP)
    schema = json.dumps(scenarios.schema())
    assert all(f'"const": "{name}"' in schema for name in every)
    for codec in ("mpeg1video", "mpeg2video", "h264", "hevc"):
        assert refusal(codec, every) is None
    assert refusal("mjpeg", OVER_TCP) is None
    for name in (*OVER_DATAGRAMS, "rtp+tcp"):
        told = f"flow mine-{len(OVER_TCP)}: {RTP.format(name, 'Motion JPEG')}"
        assert told in str(refusal("mjpeg", [*OVER_TCP, name]))
    for codec in ("h264", "hevc"):
        for name in OVER_DATAGRAMS:
            assert f"flow mine-0: {SENTENCE}" in str(refusal(codec, [name], packets="thesis"))
            assert refusal(codec, [name], packets="slices") is None
    assert refusal("mpeg2video", ["udp"], packets="thesis") is None
    assert refusal("vp9", every) is None, "the reader of movies tells"


def test_the_top_level_of_a_ladder_is_held_against_the_flows_too(
    tmp_path: Path, film: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRAMEWIRE_CACHE", str(tmp_path / "cache"))
    level = tmp_path / "level.h264"
    subprocess.run(["ffmpeg", "-v", "error", "-i", film, "-c", "copy", "-f", "h264", level], check=True)
    made = tmp_path / "movie.vtp"
    _native.write_streaming_file([level], made, 1400, _native.PlanSettings(segments=1))
    text = f'[movie]\nladder = "{made}"\n' + FLOW.format(transport="vtp")
    code, said = checked(tmp_path, text + FLOW.format(transport="udp") + THESIS)
    told = f'movie.ladder = "{made}": flow udp: {SENTENCE}'
    assert (code, told in said, "state movie.source" in said) == (2, True, True), said
    code, said = checked(tmp_path, text + FLOW.format(transport="tcp"))
    assert (code, "a valid scenario" in said) == (0, True), said


def test_a_campaign_says_once_what_its_flows_do_not_carry(
    tmp_path: Path, film: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRAMEWIRE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "sweep.toml"
    flow = f'[scenario]\nmovie.source = "{film}"\nflow = [{{ name = "mine", transport = "udp", packets = "RULE" }}]\n'
    retries, rules = "axes.network.wifi.retry = [2, 4]\n", 'axes."flow.0.packets" = ["full", "thesis"]\n'
    sources = f'axes.movie.source = ["{film}"]\n'
    cases = [
        (retries + flow.replace("RULE", "thesis"), f'scenario: movie.source = "{film}": flow mine: '),
        (rules + flow.replace("RULE", "full"), "the cell with flow.0.packets = thesis: movie.source = "),
        (sources + flow.replace("RULE", "thesis"), f"axis movie.source, value {film}: movie.source = "),
    ]
    for text, place in cases:
        path.write_text(text)
        for command in (["check"], ["run"]):
            result = CliRunner().invoke(cli.app, ["campaign", *command, str(path)])
            said = " ".join(result.output.split())
            assert (result.exit_code, place in said, said.count(SENTENCE)) == (2, True, 1), said
            assert 'movie.bitrate = "..."' in said
    assert list(tmp_path.iterdir()) == [path]
    path.write_text(retries + flow.replace("RULE", "full"))
    assert CliRunner().invoke(cli.app, ["campaign", "check", str(path)]).exit_code == 0
    path.write_text(retries + flow.replace("RULE", "full").replace(str(film), "absent.mp4"))
    result = CliRunner().invoke(cli.app, ["campaign", "check", str(path)])
    assert (result.exit_code, "no such file" in " ".join(result.output.split())) == (2, True), result.output


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
        ("framewire send x.vtp --transport ", ["vtp", "vtp-hybrid", "tfrc", "fixed"]),
        ("framewire receive 127.0.0.1:5004 x --transport vtp-", ["vtp-hybrid"]),
        ("framewire movie ladder --preset ", ["mild", "strong"]),
        ("framewire movie ladder --codec ", ["mpeg4", "h264", "h265"]),
        ("framewire movie make --codec h264", ["h264", "h264-pyramid"]),
    ],
)
def test_a_shell_completes_values(words: str, values: list[str]) -> None:
    completed = completions(words)
    assert set(values) <= set(completed), completed
    prefix = words.rpartition(" ")[2]
    assert all(value.startswith(prefix) for value in completed)


def completions(words: str) -> list[str]:
    count = len(words.split(" ")) - 1
    asked = {"_FRAMEWIRE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(count)}
    return CliRunner().invoke(cli.app, [], prog_name="framewire", env=asked).stdout.split()


def accepted_codecs(movie: str) -> set[str]:
    """Those of the schema that the compiled half takes beside the other keys of a movie."""
    words = {word["const"] for word in scenarios.schema()["$defs"]["MovieCodec"]["oneOf"]}

    def is_accepted(codec: str) -> bool:
        try:
            scenarios.load(tomllib.loads(f'[movie]\ncodec = "{codec}"\n{movie}'))
        except InputError:
            return False
        return True

    return {word for word in words if is_accepted(word)}


def worlds_of_the_crates() -> set[str]:
    """What the crates that carry a run out write as its world; that of two machines has commands of its own."""
    sources = [path for path in (REPOSITORY / "crates").glob("*/src/**/*.rs") if "real" not in path.parts]
    return {word for source in sources for word in re.findall(r'^\s+world: "(\w+)",$', source.read_text(), re.M)}


@pytest.mark.parametrize(
    ("command", "option", "expected"),
    [
        (["run", "x.toml"], "--world", worlds_of_the_crates),
        (["movie", "make"], "--codec", lambda: accepted_codecs(FLOW.format(transport="tcp"))),
        (
            ["movie", "ladder"],
            "--codec",
            lambda: accepted_codecs('ladder = "lab-mild"\n' + FLOW.format(transport="vtp")),
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_helps_and_completions_name_what_the_compiled_half_has(
    command: list[str], option: str, expected: Callable[[], set[str]]
) -> None:
    words = expected()
    assert len(words) > 1
    assert {*completions(f"framewire {' '.join(command)} {option} ")} == words
    names = [word for word in command if word.isalpha() and word not in ("x", "TOML")]
    path = names[:2] if names[0] == "movie" else names[:1]
    told = " ".join(CliRunner().invoke(cli.app, [*path, "--help"], terminal_width=80).stdout.split())
    about = re.search(rf"{option} \S+ (.*?)(?: --[a-z]|$)", told)
    assert about is not None
    known = words | {word["const"] for word in scenarios.schema()["$defs"]["MovieCodec"]["oneOf"]}
    known |= {transport.name for transport in transports.TRANSPORTS}
    assert {word for word in re.findall(r"[a-z0-9+-]+", about[1]) if word in known} == words, about[1]


@pytest.mark.parametrize("command", [["send", "x.vtp"], ["receive", "127.0.0.1:5004", "x"]])
def test_both_ends_complete_what_can_carry_a_movie_and_name_every_rate_control(command: list[str]) -> None:
    of_a_movie = {*transports.called(transports.CARRIERS)}
    completed = {*completions(f"framewire {' '.join(command)} --transport ")}
    assert {*transports.ADAPTIVE} <= completed <= {*transports.ADAPTIVE} | of_a_movie
    assert {"udp", "ts", "tcp", "rtp+tcp", "udp+dependency"} <= completed
    told = CliRunner().invoke(cli.app, [command[0], "--help"], terminal_width=80).stdout
    assert {*transports.ADAPTIVE} <= {*re.findall(r"[a-z0-9+-]+", told)}


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
    with pytest.raises(ValueError, match="nested too deeply|not a JSON document"):
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
