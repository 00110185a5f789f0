"""Runs in the simulated world: the same run directory, the same to the bit each time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

import framewire
from framewire import _native, movie, report
from framewire.errors import InputError
from framewire.playout import Player, pauses, play, replayed
from framewire.report import outcome, palette
from framewire.report.data import load as load_run
from framewire.report.figures import of_tables
from framewire.run_output import print_run

ALL = "\n".join(
    f'[[flow]]\ntransport = "{name}"'
    for name in ("udp-blocking", "udp", "udp-whole", "udp+ifd", "tcp", "tcp+ifd", "tcp+ifd-optimised")
)
OVEN = '[network.wifi]\nretry = 3\n[network.wifi.oven]\non = [["1 s", "3 s"]]\n[network.wifi.sniffer]\ncapture = "65 %"'
UDP = '[[flow]]\ntransport = "udp"'
SECONDS = 4


@pytest.fixture(scope="module")
def film(lab_cache: Path) -> Path:
    """A few seconds of the lab movie."""
    return movie.make(4_000_000, SECONDS, cache_dir=lab_cache).path


def text(film: Path, network: str = OVEN, flows: str = ALL) -> str:
    return f'name = "test"\n[movie]\nsource = "{film}"\n{network}\n{flows}'


def simulate(text: str, out: Path, **options: object) -> framewire.Run:
    return framewire.run(text, out=out, world="simulated", **options)  # type: ignore[arg-type]


def resolved(text: str) -> _native.Scenario:
    return framewire.load(text, movie_duration_s=float(SECONDS)).parsed


def test_a_run_directory_is_that_of_the_other_world(film: Path, tmp_path: Path) -> None:
    run = simulate(text(film), tmp_path / "run")
    names = {path.name for path in run.directory.iterdir()}
    tables = {f"{name}.parquet" for name in ("accuracy", "flows", "frames", "packets", "summary")}
    assert names == tables | {"received", "run.json", "scenario.toml"}
    meta = run.results.meta
    assert (meta["world"], meta["status"], meta["origin_utc"]) == ("simulated", "complete", None)
    assert run.status == "complete" and run.results.accuracy.is_empty()
    assert all(entry == {"disturbed": None} for entry in meta["accuracy"].values())
    assert set(run.summary["flow"]) == set(run.results.packets["flow"]) == set(run.results.flows["flow"])
    fates = ("shown", "late", "undecodable", "lost")
    assert run.summary.select(pl.sum_horizontal(fates).alias("sum"))["sum"].to_list() == [25 * SECONDS] * 7
    blocking = (run.directory / "received" / "udp-blocking.m2v").read_bytes()
    assert 0.9 * film.stat().st_size < len(blocking) <= film.stat().st_size


def test_whoever_plays_the_ledger_sees_what_ledger_and_summary_say(film: Path, tmp_path: Path) -> None:
    run = simulate(text(film) + '\n[playout]\nstartup = "20 ms"', tmp_path / "run")
    waits = late = 0
    for row in run.summary.iter_rows(named=True):
        ledger = run.frames.filter(pl.col("flow") == row["flow"])
        assert replayed(ledger, Player(startup_s=0.02))["fate"].to_list() == ledger["fate"].to_list()
        on_time = play(ledger, Player(startup_s=0.02)).shown_at_s
        waiting = play(ledger, Player("stall", 0.02)).shown_at_s
        behind = [at - slot / 25 for slot, at in enumerate(waiting) if at is not None]
        assert behind[-1] == pytest.approx(row["stalled_s"], abs=1e-8)
        assert sum(late - early > 1e-8 for early, late in pairwise([0.0, *behind])) == row["stalls"]
        assert all(at is None or at == pytest.approx(slot / 25) for slot, at in enumerate(on_time))
        waits, late = waits + row["stalls"], late + row["late"]
        patient = replayed(ledger, Player(startup_s=60.0))["fate"]
        assert "late" not in patient and (patient == "shown").sum() == row["shown"] + row["late"]
    assert waits > 0 and late > 0


NARROW = "[network]\nkind = 'wired'\n[network.wire]\nrate = '3.6 Mbit/s'\nqueue = '50 packets'"
TCP = "[[flow]]\ntransport = 'tcp'\n[playout]\nstartup = '500 ms'\n"


def test_a_player_that_fills_its_buffer_again_pauses_seldom(film: Path, tmp_path: Path) -> None:
    marks = "low_mark = '80 ms'\nhigh_mark = '1 s'"
    each = simulate(text(film, NARROW, TCP), tmp_path / "each")
    again = simulate(text(film, NARROW, TCP + marks), tmp_path / "again")
    (often,), (seldom,) = each.summary.rows(named=True), again.summary.rows(named=True)
    assert often["stalls"] > 3 * seldom["stalls"] > 0, "the same movie, twice"
    assert seldom["stalled_s"] >= often["stalled_s"] > 0.2, "what is filled again is waited for, too"
    found = pauses(again.frames, Player("stall", 0.5, low_mark_s=0.08, high_mark_s=1.0))
    assert len(found) == seldom["stalls"]
    assert sum(pause.until_s - pause.from_s for pause in found) == pytest.approx(seldom["stalled_s"])
    for pause in found:
        filled = pl.col("display_ns").is_between(pause.position_s * 1e9, (pause.position_s + 1) * 1e9)
        assert again.frames.filter(filled)["ready_ns"].max() == pytest.approx(pause.until_s * 1e9, abs=2)


REMOTE = (
    '[network]\nbottleneck = "remote"\n[network.wifi]\nretry = 7\nerror_floor = "10 %"\n[network.wifi.sniffer]\n'
    'capture = "65 %"\n[network.wire]\nrate = "20 Mbit/s"'
)


def test_an_access_point_behind_a_wire_is_on_the_air_too(film: Path, tmp_path: Path) -> None:
    """Table, summary and report tell the same of the hop that goes over 802.11, wherever that is."""
    run = simulate(text(film, REMOTE, UDP), tmp_path / "remote")
    air = run.results.packets.filter((pl.col("hop") == "access-point") & (pl.col("transmissions") > 0))
    assert air.height > 100
    row = run.summary.row(0, named=True)
    assert row["transmissions_mean"] == pytest.approx(air["transmissions"].mean())
    assert row["transmissions_mean"] > 1.05 and row["sniffed_total"] == air["sniffed"].sum() > 0
    (drawn,) = [one for one in of_tables(load_run(run.directory)) if one.name == "link"]
    assert [(figure.name, figure.absent) for figure in drawn.figures if figure.absent] == []
    assert len(drawn.figures) == 4 and all(figure.data for figure in drawn.figures)


def test_losses_of_whole_frames_in_a_burst_are_told_with_what_helps(film: Path, tmp_path: Path) -> None:
    """The ledger tells it: the end of a run without a report, which reads no packets, says the same as a report, but
    for what a report says of the pictures that it compares."""
    small = '[network]\nkind = "wired"\n[network.wire]\nrate = "20 Mbit/s"\nqueue = "16 KiB"'
    told = {}
    for name, more in (("burst", ""), ("spread", '\nspread = "frame-interval"')):
        run = simulate(text(film, small, UDP + more), tmp_path / name)
        at_the_end = [str(text) for text in report.judge(run.directory).caveats]
        assert [str(outcome.DISCARDED), *at_the_end] == [
            str(text) for text in report.write(run.directory).verdict.caveats
        ]
        told[name] = [text for text in at_the_end if "to a full queue" in text]
    assert len(told["burst"]) == 1 and "flow.udp.spread=" in told["burst"][0]
    assert told["spread"] == []


def test_a_connection_is_summed_up_and_datagrams_have_none(film: Path, tmp_path: Path) -> None:
    """In an outage of a second the retransmission timer runs out; without loss nothing is sent again."""
    lossy = '[network]\nkind = "wired"\n[network.wire]\nrate = "8 Mbit/s"\ndelay = "20 ms"\noutages = [["1 s", "2 s"]]'
    run = simulate(text(film, lossy), tmp_path / "lossy")
    for row in run.summary.iter_rows(named=True):
        samples = run.results.flows.filter(pl.col("flow") == row["flow"])
        if row["flow"].startswith("udp"):
            assert (row["retransmissions"], row["timeouts"], row["srtt_mean_ms"]) == (None, None, None)
            assert samples["timeouts"].null_count() == samples.height
            continue
        assert row["retransmissions"] >= row["timeouts"] >= 1
        assert (row["retransmissions"], row["timeouts"]) == samples.select("retransmissions", "timeouts").row(-1)
        assert 40 < row["srtt_mean_ms"] < 400
    clean = simulate(text(film, lossy.partition("\noutages")[0]), tmp_path / "clean").summary
    streams = clean.filter(pl.col("flow").str.starts_with("tcp")).select("retransmissions", "timeouts")
    assert streams.rows() == [(0, 0)] * 3


def test_two_runs_are_the_same_to_the_bit(film: Path, tmp_path: Path) -> None:
    one, other = (simulate(text(film), tmp_path / name) for name in ("one", "other"))
    for path in sorted(one.directory.rglob("*")):
        if path.is_file():
            twin = other.directory / path.relative_to(one.directory)
            assert path.read_bytes() == twin.read_bytes(), path.name
    third = simulate(text(film), tmp_path / "third", set={"seed": 2})
    assert third.frames.drop("flow").equals(one.frames.drop("flow")) is False


def test_a_cell_has_the_run_s_tables_and_hashes(film: Path, tmp_path: Path) -> None:
    loaded = _native.load_movie(film)
    assert (len(loaded), loaded.path) == (25 * SECONDS, film)
    run = simulate(text(film), tmp_path / "run")
    cell = tmp_path / "cell"
    cell.mkdir()
    told = json.loads(_native.simulate_cell(resolved(text(film)), loaded, cell))
    assert sorted(path.name for path in cell.iterdir()) == ["frames.parquet", "summary.parquet"]
    assert pl.read_parquet(cell / "frames.parquet").equals(run.frames)
    assert pl.read_parquet(cell / "summary.parquet").equals(run.summary)
    assert set(told["hashes"]) == {"frames", "summary"}
    assert [summary["flow"] for summary in told["summaries"]] == run.summary["flow"].to_list()
    assert told["failures"] == [] and told["simulated_s"] > 7 * SECONDS
    again = json.loads(_native.simulate_cell(resolved(text(film)), loaded, packets=True, flows=True))
    assert {name: again["hashes"][name] for name in told["hashes"]} == told["hashes"]
    assert set(again["hashes"]) == {"frames", "summary", "packets", "flows"}


def test_threads_share_a_movie_and_compute_the_same(film: Path) -> None:
    loaded, scenario = _native.load_movie(film), resolved(text(film))
    told: list[str] = []
    threads = [threading.Thread(target=lambda: told.append(_native.simulate_cell(scenario, loaded))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(told) == 4 and len(set(told)) == 1


def test_the_report_of_a_simulated_run_says_so(film: Path, tmp_path: Path) -> None:
    run = simulate(text(film), tmp_path / "run")
    page = run.report().read_text()
    assert "simulated" in page
    assert "There is no proof of accuracy" not in page


def test_a_flow_is_called_as_its_transport_was_written(
    film: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flows = "\n".join(f'[[flow]]\ntransport = "{name}"' for name in ("rtp", "tcp"))
    run = simulate(text(film, flows=flows), tmp_path / "run")
    assert [(one["name"], one["transport"]) for one in run.results.meta["flows"]] == [
        ("rtp", "udp-blocking"),
        ("tcp", "tcp"),
    ]
    assert run.summary.select("flow", "transport").rows() == [("rtp", "udp-blocking"), ("tcp", "tcp")]
    assert set(run.frames["flow"]) == {"rtp", "tcp"}
    assert (run.directory / "received" / "rtp.m2v").is_file()
    print_run(run, None, None)
    table = capsys.readouterr().out
    assert "rtp" in table and "udp-blocking" not in table
    shown = load_run(run.directory).flows
    assert [(flow.name, flow.look.colour) for flow in shown] == [
        ("rtp", palette.TRANSPORT_COLOURS["udp-blocking"]),
        ("tcp", palette.TRANSPORT_COLOURS["tcp"]),
    ]
    assert report.judge(run.directory).best == ["rtp", "tcp"]
    named = simulate(text(film, flows=flows.replace('"rtp"', '"udp-blocking"')), tmp_path / "named")
    assert set(named.summary["flow"]) == {"udp-blocking", "tcp"}
    renamed = named.frames.with_columns(pl.col("flow").replace("udp-blocking", "rtp"))
    assert renamed.equals(run.frames), "a name decides nothing"


def test_bad_input_is_named(film: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="warp.*emulated, simulated"):
        framewire.run(text(film), out=tmp_path / "run", world="warp")
    flow = '[[flow]]\ntransport = "tcp"\ncongestion = "fast"'
    with pytest.raises(InputError, match=r"flow\.0\.congestion.*fast.*cubic"):
        simulate(text(film, flows=flow), tmp_path / "run")
    assert not list(tmp_path.iterdir()), "a run that cannot be leaves nothing behind"
    cut = tmp_path / "cut.m2v"
    cut.write_bytes(film.read_bytes()[:100_000])
    with pytest.raises(_native.MovieError, match="cut"):
        _native.load_movie(cut)
    with pytest.raises(_native.MovieError, match="No such file"):
        _native.load_movie(tmp_path / "none.m2v")


def test_what_only_virtual_time_has_is_refused_elsewhere(film: Path, tmp_path: Path) -> None:
    flows = '[[flow]]\ntransport = "udp"\nname = "a"\n[[flow]]\ntransport = "udp"\nname = "b"\nstation = 1'
    together = f'layout = "together"\n{text(film, flows=flows)}'
    with pytest.raises(InputError, match="--world simulated"):
        framewire.run(together, out=tmp_path / "emulated")
    assert simulate(together, tmp_path / "run").status == "complete"


def test_a_full_disk_is_told_with_the_system_s_number(film: Path, tmp_path: Path) -> None:
    (tmp_path / "frames.parquet.part").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left") as caught:
        _native.simulate_cell(resolved(text(film)), _native.load_movie(film), tmp_path)
    assert caught.value.errno == 28
    assert str(caught.value.filename).endswith("frames.parquet")


INTERRUPTED = """
import json, sys
from framewire import _native
scenario, film, directory = sys.argv[1:]
loaded = _native.load_movie(film)
print("begun", flush=True)
told = json.loads(_native.simulate(_native.Scenario.read(scenario), loaded, directory))
print(told["status"], told["ended_by"])
"""


def computed_s(pid: int) -> float:
    """Processor time that a process has used: it tells where a program is, however little of the machine it gets."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system does not tell how far a process is")
def test_ctrl_c_ends_a_simulation_with_what_there_is(film: Path, tmp_path: Path) -> None:
    # Flows of many minutes: seconds of work on any machine, and no time limit before it.
    long = tmp_path / "long.m2v"
    long.write_bytes(film.read_bytes() * 200)
    program = [
        sys.executable,
        "-c",
        INTERRUPTED,
        resolved(f'limit = "600 min"\n{text(long)}').toml(),
        str(long),
        str(tmp_path),
    ]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        begun_s = computed_s(process.pid)
        while computed_s(process.pid) < begun_s + 0.3:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "partial interrupted\n"
        assert process.wait(timeout=30) == 0
    assert json.loads((tmp_path / "run.json").read_text())["ended_by"] == "interrupted"


def test_a_large_movie_that_is_cut_while_it_is_sent_is_a_clear_error(film: Path, tmp_path: Path) -> None:
    large = tmp_path / "large.m2v"
    with large.open("wb") as file:
        for _ in range(2):
            file.write(film.read_bytes())
            # Zeros behind a picture are its stuffing. Only what is over 64 MiB stays on the disk.
            file.seek(40 << 20, os.SEEK_CUR)
        file.truncate()
    loaded, scenario = _native.load_movie(large), resolved('limit = "1 s"\n' + text(film, network="", flows=UDP))
    json.loads(_native.simulate_cell(scenario, loaded))
    os.truncate(large, 100_000)
    with pytest.raises(ValueError, match=r"large.m2v: the file changed while it was in use: frame \d+ cannot be read"):
        _native.simulate_cell(scenario, loaded)
