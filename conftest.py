"""What all tests of the Python package share."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path
from types import ModuleType

import pytest

REPOSITORY = Path(__file__).parent

sys.path.append(str(REPOSITORY / "scripts"))
import too_busy  # noqa: E402 (the rule that the runner of the Rust tests has)


def script(name: str) -> ModuleType:
    """A Python program of the directory ``scripts``, as a module."""
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), str(REPOSITORY / "scripts" / name))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


REQUIRE_ALL = "FRAMEWIRE_REQUIRE_ALL"
"""When this variable is 1, a test must not be skipped for want of a program or of test data."""

LACKING = re.compile(r"not installed|not found|no such file|could not import|test data", re.IGNORECASE)
"""Reasons of skips that say so. A skip for what a machine cannot do (no user namespaces) stays one."""


def pytest_configure() -> None:
    """Lets programs that tests start take Ctrl-C, also where a shell runs all of this in its background."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


MACHINE = pytest.StashKey[too_busy.Machine]()
"""What a test of real time shares its processors with."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Looks at the machine as long as a test of real time runs."""
    if item.get_closest_marker("real_time") is None:
        return (yield)
    with too_busy.Machine() as machine:
        item.stash[MACHINE] = machine
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Makes a failure of a skip that must not be, where everything is said to be installed; and *machine too busy* of a
    failure in real time that says nothing."""
    report = yield
    if os.environ.get(REQUIRE_ALL) == "1" and report.skipped and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2]
        if LACKING.search(reason):
            report.outcome = "failed"
            report.longrepr = f"{item.nodeid}: {REQUIRE_ALL} is set, but: {reason}"
    if report.failed and MACHINE in item.stash:
        now = time.monotonic()
        busy = item.stash[MACHINE].reason(now - call.duration, now)
        if busy is not None and (too_busy.is_run_again() or _may_excuse(report, call.excinfo)):
            report.sections.append((too_busy.WORDS, str(report.longrepr)))
            report.outcome = "skipped"
            report.longrepr = (str(item.path), item.location[1] or 0, f"{too_busy.WORDS}: {busy}")
    return report


def _may_excuse(report: pytest.TestReport, raised: pytest.ExceptionInfo[BaseException] | None) -> bool:
    """Whether a busy machine may be the reason: of an assertion its statement decides, of others what was raised."""
    if raised is None:
        return False
    value = raised.value
    failed = f"{type(value).__name__} {value}"
    if isinstance(value, AssertionError):
        failed = str(raised.traceback[-1].statement)
    elif isinstance(value, TimeoutError | subprocess.TimeoutExpired):
        failed = "timeout"
    said = (getattr(value, name, None) for name in ("stdout", "stderr"))  # of a program that ended with an error
    texts = [one.decode(errors="replace") if isinstance(one, bytes) else str(one) for one in said if one]
    return too_busy.may_excuse(failed, "\n".join([*texts, str(value), report.capstdout, report.capstderr]))


def machine_too_busy(config: pytest.Config) -> list[tuple[str, str]]:
    """Tests that ended so, and why."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    skipped = terminal.stats.get("skipped", []) if terminal is not None else []
    reasons = [(report.nodeid, report.longrepr[2]) for report in skipped if isinstance(report.longrepr, tuple)]
    return [(test, reason) for test, reason in reasons if too_busy.WORDS in reason]


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Lists the tests that said nothing to be run again, or fails where they are too many."""
    found = machine_too_busy(session.config)
    if not hasattr(session.config, "workerinput"):  # a worker of pytest-xdist, which tells the one that lists
        too_busy.put_off("python", [test for test, _ in found])
    if session.exitstatus == pytest.ExitCode.OK and too_busy.too_many(len(found)):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Counts them, or says that they are run again."""
    for line in too_busy.summary([f"{test}: {reason}" for test, reason in machine_too_busy(config)]):
        terminalreporter.write_line(line)


MOVIES = "FRAMEWIRE_TEST_CACHE"
"""A directory that several calls of pytest keep movies in, so that those that run side by side make each once."""


@pytest.fixture(scope="session", autouse=True)
def lab_cache(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    """Where movies are kept that need no cache of their own: all processes draw and encode them once, and the user's
    cache is left alone."""
    own = tmp_path_factory.getbasetemp()
    own = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FRAMEWIRE_CACHE", os.environ.get(MOVIES) or str(own / "lab"))
        directory = Path(os.environ["FRAMEWIRE_CACHE"]) / "movies"
        directory.mkdir(parents=True, exist_ok=True)
        yield directory


@pytest.fixture(scope="session")
def minute(lab_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A minute of MPEG-2 video at 2 Mbit/s: four seconds of the lab's movie again and again, for tests that need time
    rather than other pictures, each second of which takes a quarter of one to draw and encode."""
    from framewire import movie

    four = movie.make(2_000_000, 4, cache_dir=lab_cache).path.read_bytes()
    path = tmp_path_factory.mktemp("minute") / "minute.m2v"
    path.write_bytes(four * 15)
    return path


FAKE_EMULATOR = '''\
#!{python}
"""Speaks the emulator's protocol as the test asks it to (FAKE_EMULATOR)."""
import json, os, signal, sys, time
from pathlib import Path

def say(**event):
    print(json.dumps(event), flush=True)

def progress(flow, offered, state):
    say(event="progress", flow=flow, elapsed_s=offered / 25, offered=offered, frames=25, arrived=offered,
        dropped=0, lost=0, given_up=0, under_way=0, throughput_bps=4_100_000, state=state)

def write_tables(directory, flows, status):
    import polars as pl
    (directory / "run.json").write_text(json.dumps({{"format": 1, "status": status}}))
    pl.DataFrame([
        dict(flow=name, transport=name, status=status, movie_bitrate_bps=6_000_000, frames=25, shown=24, late=0,
             undecodable=0, lost=1, lost_i=0, frames_i=2, lost_p=0, frames_p=7, lost_b=1, frames_b=16,
             duration_s=1.04, frame_throughput_bps=4_123_456.0, latency_p95_ms=87.6, stalls=0, stalled_s=0.0)
        for name in flows
    ]).write_parquet(directory / "summary.parquet")
    unknown = dict.fromkeys(
        "level queued_ns first_byte_ns last_byte_ns arrival_ns arrival_rel_ns latency_ns jitter_ns packets "
        "packets_lost deadline_ns root_cause_place discarded_at missing_reference".split())
    pl.DataFrame([  # the last frame is the one that was lost; in a partial run it was never offered
        dict(flow=name, frame=number, type="I" if number < 2 else "P" if number < 9 else "B",
             display=number, gop=number // 15, size=1000, due_ns=number * 40_000_000,
             bytes_received=1000 * (number < 24), complete=number < 24, decodable=number < 24,
             fate="shown" if number < 24 else "lost",
             offered_ns=None if number == 24 and status == "partial" else 0, root_cause="run ended", **unknown)
        for name in flows for number in range(25)
    ]).write_parquet(directory / "frames.parquet")

if sys.argv[1:] == ["doctor", "--json"]:
    from framewire import _native
    sources = os.environ.get("FAKE_SOURCES") or getattr(_native, "__sources__", None)
    say(version=_native.__version__, sources=sources, can_emulate=True, capabilities=[
        dict(name="network namespaces", ok=True, detail="work", cost="no emulated runs"),
        dict(name="real-time priority", ok=False, detail="refused", cost="later releases")])
    sys.exit(0)

mode = os.environ.get("FAKE_EMULATOR", "complete")
plan = json.loads(Path(sys.argv[sys.argv.index("--plan") + 1]).read_text())
assert sys.argv[1] == "run" and plan["format"] == 1
directory = Path(plan["directory"])
flows = [flow["name"] for flow in plan["scenario"]["flow"]]
assert Path(plan["movie"]).is_file() and (directory / "scenario.toml").is_file()
asked_to_stop = []
signal.signal(signal.SIGINT, (lambda *_: None) if mode == "deaf" else lambda *_: asked_to_stop.append(1))
Path(os.environ["FAKE_PID"]).write_text(str(os.getpid())) if "FAKE_PID" in os.environ else None
say(event="started", flows=flows, frames=25, movie_s=1.0)
for flow in flows:
    progress(flow, 5, "streaming")
print("log: streams run", file=sys.stderr)
match mode:
    case "complete":
        pass
    case "error":
        say(event="error", message="flow udp: port 5004 is in use")
        sys.exit(1)
    case "machine":
        say(event="error", message="user namespaces: not permitted")
        sys.exit(3)
    case "crash":
        (directory / "half-written").write_text("x")
        os.kill(os.getpid(), signal.SIGKILL)
    case "silent-exit":
        print("panicked at line 7", file=sys.stderr)
        sys.exit(101)
    case "no-events":
        print("this is not JSON", flush=True)
        time.sleep(60)
    case "until-stopped" | "deaf":
        end = time.monotonic() + 60
        while not asked_to_stop and time.monotonic() < end:
            time.sleep(0.02)
            progress(flows[0], 10, "streaming")
status = "partial" if asked_to_stop else "complete"
for flow in flows:
    progress(flow, 25, "done")
write_tables(directory, flows, status)
failures = ["flow udp: the receiver ended"] if mode == "flow-failed" else []
say(event="finished", directory=str(directory), status="partial" if failures else status, failures=failures)
sys.exit(130 if asked_to_stop else 0)
'''


@pytest.fixture
def fake_emulator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that speaks the emulator's protocol; ``FAKE_EMULATOR`` says how it behaves."""
    program = tmp_path / "fake-emu"
    program.write_text(FAKE_EMULATOR.format(python=sys.executable))
    program.chmod(0o755)
    monkeypatch.setenv("FRAMEWIRE_EMU", str(program))
    return program


@pytest.fixture(scope="session")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One second of MPEG-2 video: 25 frames at 25 Hz."""
    path = tmp_path_factory.mktemp("stream") / "second.m2v"
    command = ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=176x144:rate=25:duration=1"]
    subprocess.run([*command, "-c:v", "mpeg2video", "-g", "15", "-bf", "2", str(path)], check=True)
    return path


@pytest.fixture
def scenario_file(tmp_path: Path, stream: Path) -> Path:
    """A scenario over ``stream``, with two flows."""
    path = tmp_path / "small.toml"
    path.write_text(f'movie.source = "{stream}"\n[[flow]]\ntransport = "udp"\n[[flow]]\ntransport = "tcp"\n')
    return path
