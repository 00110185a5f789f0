"""The command line: what it prints where, and its exit codes."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main as typer_main
from rich.console import Console
from typer.testing import CliRunner

import framewire
from conftest import REPOSITORY
from framewire import terminal
from framewire.cli import app
from framewire.progress import Bars, Lines

runner = CliRunner()


def framewire_command(*arguments: object) -> list[str]:
    return [sys.executable, "-c", "from framewire.cli import main; main()", *map(str, arguments)]


@pytest.mark.usefixtures("fake_emulator")
def test_run_prints_one_readable_table(scenario_file: Path, tmp_path: Path) -> None:
    ended = runner.invoke(app, ["run", str(scenario_file), "--no-report", "--out", str(tmp_path / "result")])
    assert ended.exit_code == 0, ended.output
    lines = ended.stdout.splitlines()
    assert max(map(len, lines)) <= 100
    row = next(line for line in lines if line.startswith("udp"))
    assert row.split()[:6] == ["udp", "96.0", "0/0/6", "88", "4.12", "0.0"]
    assert str(tmp_path / "result") in ended.stdout
    assert "streaming: udp, tcp" in ended.stderr
    assert "streaming: 10% of the frames, 0 s, 2 of 2 flows under way" in ended.stderr
    assert "udp:    1.0 s   4.10 Mbit/s     0 lost  done, 25 of 25 frames" in ended.stderr


def test_transports_are_listed_with_their_parts() -> None:
    listed = runner.invoke(app, ["transports"]).stdout.splitlines()
    assert max(map(len, listed)) <= terminal.WIDTH
    assert listed[-1] == "rtp is another name of udp-blocking"
    rows = {row.split()[0]: row.split()[1:] for row in listed[2:-1]}
    assert rows["ts+rtp"] == ["direct", "ts+rtp", "none", "datagram", "wait"]
    assert rows["tfrc"] == ["tfrc", "vtp", "tfrc", "datagram", "wait"]
    assert rows["external"] == ["-", "-", "-", "-", "-"]
    assert "udp+leaky" not in rows
    documents = json.loads(runner.invoke(app, ["transports", "--all", "--json"]).stdout)
    leaky = next(document for document in documents if document["name"] == "udp+leaky")
    assert leaky["parts"]["queue"] == "leaky"
    assert (leaky["settings"]["device_queue"], leaky["is_entry"]) == (1000, False)
    assert {document["name"] for document in documents if document["is_entry"]} == {*rows}


@pytest.mark.usefixtures("fake_emulator")
def test_run_as_json_prints_nothing_else(scenario_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "result"
    ended = runner.invoke(
        app, ["run", str(scenario_file), "--no-report", "--json", "--out", str(out), "--set", "seed=9"]
    )
    assert ended.exit_code == 0, ended.output
    document = json.loads(ended.stdout)
    assert (document["directory"], document["status"], document["report"]) == (str(out), "complete", None)
    assert [row["flow"] for row in document["summary"]] == ["udp", "tcp"]
    assert framewire.load(out / "scenario.toml").data["seed"] == 9


@pytest.mark.parametrize(
    ("mode", "code", "message"),
    [("error", 1, "port 5004"), ("machine", 3, "not permitted"), ("crash", 1, "SIGKILL"), ("no-events", 1, "event")],
)
@pytest.mark.usefixtures("fake_emulator")
def test_failures_are_one_message_with_an_exit_code(
    mode: str, code: int, message: str, scenario_file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FAKE_EMULATOR", mode)
    monkeypatch.chdir(tmp_path)
    ended = runner.invoke(app, ["run", str(scenario_file)])
    assert ended.exit_code == code
    assert ended.stdout == ""
    errors = [line for line in ended.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert message in errors[0]
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "runs").exists(), "it was made for this run"


@pytest.mark.parametrize("length", [200, 30_000])
def test_a_message_quotes_no_more_than_one_can_read(length: int, scenario_file: Path) -> None:
    source = f"{length * 'x'}"
    ended = CliRunner().invoke(app, ["scenario", "check", str(scenario_file), "--set", f"movie.source={source}"])
    assert ended.exit_code == 2
    assert (source in ended.stderr) == (length == 200) and len(ended.stderr) < 1_200
    assert ended.stderr.startswith("error: ") and ended.stderr.rstrip().endswith(("too long", "needed", "such file"))


@pytest.mark.usefixtures("fake_emulator")
def test_a_flow_that_broke_is_told_and_the_others_are_kept(
    scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_EMULATOR", "flow-failed")
    out = tmp_path / "result"
    ended = runner.invoke(app, ["run", str(scenario_file), "--no-report", "--out", str(out)])
    assert ended.exit_code == 1
    assert "error: flow udp: the receiver ended" in ended.stderr
    assert f"results  {out}" in ended.stdout
    assert (out / "summary.parquet").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "absent.toml"], "absent.toml: cannot read the scenario: No such file or directory"),
        (["scenario", "check", "absent.toml"], "absent.toml"),
        (["scenario", "check", "SCENARIO", "--set", "network.wifi.retry=300"], "0 to 255"),
        (["scenario", "check", "SCENARIO", "--set", "retry"], "KEY=VALUE"),
        (["run", "SCENARIO", "--set", "flow.quic.mtu=1400"], "the flows are: udp, tcp"),
        (["run", "SCENARIO", "--open", "--no-report"], "--open"),
        (
            ["run", "SCENARIO", "--world", "sim"],
            'world: "sim" is not allowed; did you mean "simulated"? allowed is one of emulated, simulated',
        ),
        (
            ["movie", "make", "--codec", "vp8"],
            'codec: "vp8" is not allowed; allowed is one of mpeg2, h264, h264-pyramid, h265, mpeg4',
        ),
        (
            ["send", "absent.vtp", "--transport", "vtpp"],
            'transport: "vtpp" is not allowed; did you mean "vtp"? allowed is one of vtp, vtp-hybrid, tfrc, rap, '
            "sqrt, aimd, fixed",
        ),
        (["receive", "127.0.0.1:5004", "x", "--transport", "upd"], 'transport: "upd" is not allowed'),
        (["movie", "probe", "SCENARIO"], "small.toml"),
        (["movie", "probe", "absent.m2v"], "absent.m2v: no such file; a video file is needed"),
        (["movie", "make", "--bitrate", "6 MB"], "6 MB"),
        (["report", "absent"], "absent: no such directory"),
        (["nonsense"], "nonsense"),
    ],
)
def test_wrong_input_ends_with_code_2(
    arguments: list[str], message: str, scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = runner.invoke(app, [str(scenario_file) if word == "SCENARIO" else word for word in arguments])
    assert ended.exit_code == 2
    assert message in ended.stderr
    assert ended.stdout == ""


@pytest.mark.usefixtures("fake_emulator")
def test_ctrl_c_keeps_a_partial_result_and_says_so(
    scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_EMULATOR", "until-stopped")
    out = tmp_path / "result"
    command = framewire_command("run", scenario_file, "--no-report", "--out", out)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "flows under way" in line:
                break
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 130, stderr
    assert stdout.startswith("This result is partial: it was interrupted after 96 % of the movie (24 of 25 frames).")
    assert "of the frames that were offered" in stdout
    row = next(line for line in stdout.splitlines() if line.startswith("udp"))
    assert row.split()[:8] == ["udp", "100.0", "0/0/0", "88", "4.12", "0.0", "1", "partial"]
    assert "stopping; what was streamed is kept" in stderr
    assert framewire.load(out / "scenario.toml").name == "small"


@pytest.mark.usefixtures("fake_emulator")
def test_a_terminal_shows_a_bar_per_stream(scenario_file: Path, tmp_path: Path) -> None:
    controller, terminal = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100", "LINES": "30"}
    command = framewire_command("run", scenario_file, "--no-report", "--out", tmp_path / "result")
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=terminal, env=environment)
    os.close(terminal)
    shown = read_all(controller)
    assert process.wait(timeout=60) == 0
    assert "━" in shown
    assert "4.10 Mbit/s" in shown


@pytest.mark.parametrize("broken", ["frames", "nothing"])
@pytest.mark.usefixtures("fake_emulator")
def test_a_complete_run_is_shown_as_its_summary_says(broken: str, scenario_file: Path, tmp_path: Path) -> None:
    """Nothing is left out of it, and a ledger that cannot be read costs a partial one only that."""
    result = framewire.run(scenario_file, out=tmp_path / "result")
    if broken == "frames":
        (result.directory / "frames.parquet").unlink()
        result = framewire.Run(result.directory, "partial")
    console = Console(width=100)
    with console.capture() as captured:
        console.print(terminal.comparison(result.summary.to_dicts()))
    row = next(line for line in captured.get().splitlines() if line.startswith("udp"))
    assert row.split()[:6] == ["udp", "96.0", "0/0/6", "88", "4.12", "0.0"]


def read_all(descriptor: int) -> str:
    """What a program writes to its terminal until it is gone."""
    seen = bytearray()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and select.select([descriptor], [], [], 60)[0]:
        try:
            seen += os.read(descriptor, 65536)
        except OSError:  # the terminal's last user has closed it
            break
    os.close(descriptor)
    return seen.decode()


def test_displays_bear_whatever_the_emulator_says() -> None:
    console = Console(stderr=True, force_terminal=True, width=100)
    for display in (Bars(console), Lines(console)):
        with display:
            for event in (
                {"event": "progress", "flow": "unknown"},
                {"event": "started"},
                {"event": "started", "flows": ["a[b]"]},
                {"event": "progress", "flow": "a[b]", "dropped": None, "throughput_bps": None},
                {"event": "something new"},
            ):
                display(event)


def test_what_an_application_dropped_is_not_told_as_nothing() -> None:
    console = Console(width=100)
    theirs = {"event": "progress", "flow": "srt", "frames": 25, "dropped": None, "arrived": 7, "state": "done"}
    with console.capture() as captured, Lines(console) as display:
        display(theirs | {"flow": "fed", "offered": 9})
        display(theirs | {"offered": None})
        display(theirs | {"flow": "own", "offered": 9, "dropped": 0})
    fed, srt, own = captured.get().splitlines()
    assert "lost" not in fed + srt
    assert "    0 lost" in own
    assert fed.endswith(", 9 of 25 frames")
    assert srt.endswith(", 7 of 25 frames arrived")


def test_a_step_that_goes_on_is_told_as_often_as_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    console = Console(width=100)
    with console.capture() as captured, Lines(console, every_s=10.0) as display:
        for second in range(101):
            now[0] = float(second)
            display({"event": "step", "text": "rendering the film", "share": 0.2 * second / 100})
    first, *others = captured.get().splitlines()
    assert first == "rendering the film ..." and len(others) == 10
    assert others[0] == "rendering the film: 2%"


def test_a_step_that_says_nothing_is_told_to_go_on() -> None:
    written = io.StringIO()
    with Lines(Console(file=written, width=100), every_s=0.4) as display:
        display({"event": "step", "text": "reading the run"})
        time.sleep(1.5)
        silent = written.getvalue().splitlines()
        display({"event": "started", "flows": ["udp"]})
        time.sleep(1.0)
    assert silent[0] == "reading the run ..."
    assert 1 <= len(silent[1:]) <= 3 and set(silent[1:]) == {"reading the run: going on"}
    assert written.getvalue().splitlines()[len(silent) :] == ["streaming: udp"], "streams tell of themselves"


def test_a_minute_of_seven_flows_takes_a_few_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    flows = [f"flow{number}" for number in range(7)]
    console = Console(width=100)
    with console.capture() as captured, Lines(console) as display:
        display({"event": "started", "flows": flows})
        for tick in range(1, 121):  # twice a second
            now[0] = tick / 2
            for flow in flows:
                state = "done" if tick == 120 else "streaming"
                display({"event": "progress", "flow": flow, "frames": 1500, "offered": tick * 1500 // 120,
                         "elapsed_s": tick / 2, "state": state, "dropped": 0})  # fmt: skip
    lines = captured.get().splitlines()
    assert lines[0].startswith("streaming: flow0, flow1")
    assert lines.pop(1) == "streaming: 1% of the frames, 0 s, 7 of 7 flows under way"
    assert [line.split(",")[0] for line in lines[1:4]] == [
        f"streaming: {share}% of the frames" for share in (25, 50, 75)
    ]
    assert [line.split(":")[0] for line in lines[4:]] == flows, "each with its figures when it is done"
    # What takes hours is heard of every minute.
    with console.capture() as captured, Lines(console) as display:
        for tick in range(1, 11):
            now[0] += 30.0
            display(
                {"event": "progress", "flow": "long", "frames": 1_000_000, "offered": tick, "elapsed_s": 30.0 * tick}
            )
    assert len(captured.get().splitlines()) == 1 + 4


def test_networks_with_clocks_of_their_own_do_not_let_the_time_go_back() -> None:
    console = Console(width=100)
    with console.capture() as captured, Lines(console) as display:
        display({"event": "started", "flows": ["a", "b"], "frames": 100})
        for flow, offered, elapsed_s in (("a", 30, 1.2), ("a", 100, 8.0), ("b", 10, 0.4), ("b", 60, 2.4)):
            display({"event": "progress", "flow": flow, "frames": 100, "offered": offered, "elapsed_s": elapsed_s,
                     "state": "streaming", "dropped": 0})  # fmt: skip
    said = [line.split(", ")[1] for line in captured.get().splitlines()[1:]]
    assert said == ["1 s", "8 s", "b at 2 s"]


@pytest.mark.parametrize(("offered", "full"), [(25, True), (10, False)])
def test_a_bar_is_full_only_when_everything_was_offered(offered: int, full: bool) -> None:
    console = Console(force_terminal=True, width=100)
    with console.capture() as captured, Bars(console) as display:
        display({"event": "started", "flows": ["udp"]})
        display({"event": "progress", "flow": "udp", "offered": offered, "frames": 25, "state": "done"})
    assert ("✓" in captured.get()) == full


def test_a_movie_is_shown_by_types_and_groups(stream: Path) -> None:
    ended = runner.invoke(app, ["movie", "probe", str(stream)])
    assert ended.exit_code == 0, ended.output
    assert "176x144" in ended.stdout
    assert "25 frames/s" in ended.stdout
    assert "25 frames, 1.00 s" in ended.stdout
    assert max(map(len, ended.stdout.splitlines())) <= 100
    listed = json.loads(runner.invoke(app, ["movie", "probe", str(stream), "--json", "--frames"]).stdout)
    assert [entry["frames"] for entry in listed["types"]] == [2, 7, 16]
    assert sum(entry["frames"] for entry in listed["types"]) == listed["frames"] == len(listed["frame_index"])
    assert listed["bytes"] == stream.stat().st_size == sum(frame["size"] for frame in listed["frame_index"])
    assert listed["mean_bps"] == listed["bytes"] * 8 == listed["peak_bps"]
    assert "".join(group["types"] for group in listed["groups"]).count("I") == 2


def test_frames_are_listed_when_asked_for(stream: Path) -> None:
    brief = runner.invoke(app, ["movie", "probe", str(stream)]).stdout.splitlines()
    full = runner.invoke(app, ["movie", "probe", str(stream), "--frames"]).stdout.splitlines()
    assert len(full) - len(brief) >= 25
    assert max(map(len, full)) <= 100


def test_a_scenario_is_resolved_checked_and_described(scenario_file: Path) -> None:
    resolved = runner.invoke(app, ["scenario", "resolve", str(scenario_file)]).stdout
    assert framewire.load(resolved).toml == resolved
    as_json = runner.invoke(app, ["scenario", "resolve", str(scenario_file), "--json"]).stdout
    assert json.loads(as_json) == framewire.load(resolved).data
    checked = runner.invoke(app, ["scenario", "check", str(scenario_file)])
    assert checked.exit_code == 0
    assert "small, with flows udp, tcp" in checked.stdout
    assert json.loads(runner.invoke(app, ["scenario", "schema"]).stdout)["title"] == "Scenario"


def test_the_version_is_that_of_the_workspace() -> None:
    import tomllib

    manifest = tomllib.loads((REPOSITORY / "Cargo.toml").read_text())
    expected = manifest["workspace"]["package"]["version"]
    assert runner.invoke(app, ["--version"]).stdout == f"framewire {expected}\n"
    assert framewire.__version__ == expected


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_can_complete(shell: str) -> None:
    environment = os.environ | {"_FRAMEWIRE_COMPLETE": f"source_{shell}"}
    command = [str(Path(sys.executable).parent / "framewire")]
    script = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert "_FRAMEWIRE_COMPLETE" in script
    if shell == "bash":
        asked = os.environ | {"_FRAMEWIRE_COMPLETE": "complete_bash", "COMP_WORDS": "framewire ", "COMP_CWORD": "1"}
        words = subprocess.run(command, env=asked, capture_output=True, text=True, check=True).stdout.split()
        assert {"run", "report", "movie", "scenario", "doctor"} <= set(words)


def test_help_names_the_exit_codes() -> None:
    ended = runner.invoke(app, ["--help"])
    assert "130 interrupted" in " ".join(ended.stdout.split())


def test_the_help_of_campaign_has_the_options_that_a_file_takes() -> None:
    """``campaign FILE`` is ``campaign run FILE``, and its options need not be looked for there."""
    told = [
        " ".join(runner.invoke(app, [*path, "--help"]).stdout.split()) for path in (["campaign"], ["campaign", "run"])
    ]
    options = [set(re.findall(r"--[a-z]+", text)) for text in told]
    assert options[0] == options[1] >= {"--out", "--jobs", "--repeats", "--set", "--json"}
    assert "campaign FILE [OPTIONS]" in told[0] and "campaign COMMAND" in told[0]
    assert "show Show the means of a campaign." in told[0]


def commands(group: typer_main.TyperGroup, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, command in group.commands.items():
        yield (*path, name)
        if isinstance(command, typer_main.TyperGroup):
            yield from commands(command, (*path, name))


@pytest.mark.parametrize("path", [(), *commands(typer_main.get_command(app))], ids=" ".join)  # type: ignore[arg-type]
def test_every_command_has_an_example_and_fits_eighty_columns(path: tuple[str, ...]) -> None:
    ended = runner.invoke(app, [*path, "--help"], terminal_width=80)
    assert ended.exit_code == 0
    assert max(map(len, ended.stdout.splitlines())) <= 80
    assert "..." not in ended.stdout.partition("Commands:")[2], "a command's help is cut short"
    said = " ".join(ended.stdout.split())
    assert " ".join(("Example: framewire", *path) if path else ("Begin with: framewire run",)) in said


def test_help_imports_nothing_that_is_slow() -> None:
    program = (
        "import sys\nfrom framewire.cli import app\n"
        "try:\n    app(['--help'])\nexcept SystemExit:\n    pass\n"
        "print(sorted({'polars', 'numpy', 'plotly', 'PIL', 'jinja2'} & set(sys.modules)))"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "[]"


STREAMS = [
    {"flow": "udp-blocking", "status": "complete", "frames": 1500, "offered": 1500, "shown": 3,
     "stalls": 0, "stalled_s": 0.0,
     "lost_i": 101, "offered_i": 101, "lost_p": 350, "offered_p": 400, "lost_b": 719, "offered_b": 999},
    {"flow": "tcp+ifd-optimised", "status": "complete", "frames": 1500, "offered": 1500, "shown": 1500,
     "stalls": 12, "stalled_s": 113.2,
     "lost_i": 0, "offered_i": 101, "lost_p": 0, "offered_p": 400, "lost_b": 0, "offered_b": 999, "duration_s": 173.1,
     "latency_p95_ms": 28155.0, "frame_throughput_bps": 4.1e6, "retransmissions": 312, "timeouts": 3,
     "srtt_mean_ms": 123.456},
]  # fmt: skip


@pytest.mark.parametrize("width", [30, 80, 100, 120])
def test_a_narrow_terminal_gets_the_table_in_pieces(width: int) -> None:
    """Nothing is cropped, and each piece names the flows again."""
    console = Console(width=width)
    with console.capture() as captured:
        console.print(terminal.comparison(STREAMS))
    lines = captured.get().splitlines()
    assert max(map(len, lines)) <= width
    assert "…" not in captured.get()
    if width >= 80:
        words = [word for line in lines if line.startswith("tcp+ifd-optimised") for word in line.split()[1:]]
        told = ["100.0", "0/0/0", "28155", "4.10", "113.2", "173.1", "312", "3", "123.5"]
        assert words == told[: {80: 7, 100: 9, 120: 9}[width]], "details as far as they fit"
        words = [word for line in lines if line.startswith("udp-blocking") for word in line.split()[1:]]
        assert words[1] == "100/88/72"
        assert words[6:] == ["-"] * {80: 1, 100: 3, 120: 3}[width], "a datagram flow has no connection"
        assert sum(line.split()[:1] == ["flow"] for line in lines) == 1


def test_the_table_accounts_for_every_frame() -> None:
    told = {"late": 30, "undecodable": 300, "shown": 1170}
    console = Console(width=100)
    with console.capture() as captured:
        console.print(terminal.comparison([STREAMS[1] | told, STREAMS[1] | {"late": 0, "undecodable": 0}]))
    rows = [line.split() for line in captured.get().splitlines() if line.startswith("tcp+ifd-optimised")]
    assert rows[0][1:4] == ["78.0", "2.0", "20.0"]
    assert rows[1][1:4] == ["100.0", "0.0", "0.0"]
    assert "undec." in captured.get()


@pytest.mark.parametrize("report", [False, True])
def test_the_verdict_is_the_last_line_and_stands_in_the_json_with_its_reasons(
    report: bool, stream: Path, tmp_path: Path
) -> None:
    path = tmp_path / "narrow.toml"
    wire = 'kind = "wired"\nwire = { rate = "200 kbit/s", queue = "20 packets" }'
    flows = "".join(f'[[flow]]\ntransport = "{name}"\n' for name in ("udp", "tcp"))
    path.write_text(f'movie.source = "{stream}"\n[network]\n{wire}\n{flows}')
    command = ["run", str(path), "--world", "simulated", *([] if report else ["--no-report"])]
    ended = runner.invoke(app, [*command, "--out", str(tmp_path / "text")])
    assert ended.exit_code == 0, ended.output
    end = " ".join(ended.stdout.split("\n\n")[-1].split())
    told = json.loads(runner.invoke(app, [*command, "--json", "--out", str(tmp_path / "json")]).stdout)["verdict"]
    assert end == told["sentence"]
    assert end.startswith(("For live viewing, ", "None of them", "No transport"))
    assert end.count(".") - end.count(".0") - sum(end.count(f".{digit}") for digit in range(1, 10)) == 1, "one sentence"
    assert told["reasons"] and not any("<" in reason for reason in told["reasons"])
    assert told["provisional"] is None
    assert any("seed changes nothing" in caveat for caveat in told["caveats"])
    unscored = any("Picture quality took no part" in caveat for caveat in told["caveats"])
    assert unscored is not report
    assert "one run with one seed" not in ended.stdout, "another would give the same"
    lossy = [*command, "--set", "network.wire.loss=1 %", "--set", "network.wire.rate=2 Mbit/s"]
    drawn = runner.invoke(app, [*lossy, "--out", str(tmp_path / "drawn")])
    assert "Note: this is one run with one seed; framewire campaign repeats it" in " ".join(drawn.stdout.split())


@pytest.mark.parametrize("as_json", [False, True])
def test_an_interruption_at_the_very_end_of_a_run_leaves_out_the_pictures_and_says_what_makes_them(
    as_json: bool, scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, module = tmp_path / "out", sys.modules["framewire.run"]  # the function of that name hides it
    seal = module.seal

    def interrupted(directory: Path, **beside: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        seal(directory, **beside)

    monkeypatch.setattr(module, "seal", interrupted)
    command = ["run", str(scenario_file), "--world", "simulated", "--out", str(out), *(["--json"] if as_json else [])]
    ended = runner.invoke(app, command)
    assert ended.exit_code == 130, ended.output
    assert (out / "report.html").is_file() and not (out / "psnr.parquet").exists()
    assert json.loads((out / "run.json").read_text())["status"] == "complete"
    said = ended.stderr if as_json else ended.stdout
    assert f"pictures are not in the report yet: framewire report {out}" in said
    assert runner.invoke(app, ["report", str(out)]).exit_code == 0
    assert (out / "psnr.parquet").is_file()


def test_an_interruption_while_the_report_is_made_says_what_makes_it(
    scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from framewire import report

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(report, "write", interrupted)
    out = tmp_path / "out"
    ended = runner.invoke(app, ["run", str(scenario_file), "--world", "simulated", "--out", str(out)])
    assert ended.exit_code == 130
    assert f"the results are in {out}, and this makes it: framewire report {out}\n" in ended.stderr


def test_an_interruption_while_the_program_is_loaded_is_told_in_words(tmp_path: Path) -> None:
    module = tmp_path / "typer.py"
    module.write_text("raise KeyboardInterrupt\n")
    command = [sys.executable, "-m", "framewire", "--version"]
    ended = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "error: interrupted\n")


def test_flows_that_cannot_differ_are_told_once(stream: Path, tmp_path: Path) -> None:
    path = tmp_path / "remote.toml"
    flows = "".join(f'[[flow]]\ntransport = "{name}"\n' for name in ("udp", "udp+ifd", "tcp"))
    path.write_text(f'movie.source = "{stream}"\nnetwork.bottleneck = "remote"\n{flows}')
    command = ["run", str(path), "--world", "simulated", "--no-report"]
    ended = runner.invoke(app, [*command, "--out", str(tmp_path / "remote")])
    assert ended.exit_code == 0, ended.output
    said = " ".join(ended.stdout.split())
    assert said.count("Note: udp and udp+ifd do the same here: the bottleneck is remote") == 1
    frames = framewire.Run(tmp_path / "remote", "complete").frames.drop("flow")
    one, other = frames.slice(0, 25), frames.slice(25, 25)
    assert one.select("frame", "arrival_ns", "fate").equals(other.select("frame", "arrival_ns", "fate")), "it is true"
    local = runner.invoke(app, [*command, "--set", "network.bottleneck=local-device", "--out", str(tmp_path / "local")])
    assert "do the same here" not in local.stdout
