"""The scenario file from Python: the reader's own tests are in crates/scenario."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from conftest import REPOSITORY
from framewire import InputError, Scenario, load
from framewire.scenario import schema

FLOW = '[[flow]]\ntransport = "udp"\n'


def test_the_resolved_form_resolves_to_itself() -> None:
    resolved = load(FLOW)
    assert load(resolved.toml) == resolved
    assert load(resolved.data) == resolved
    assert load(resolved) == resolved
    assert tomllib.loads(resolved.toml) == resolved.data


def test_a_file_gives_its_name_and_its_directory(tmp_path: Path) -> None:
    path = tmp_path / "my film.toml"
    path.write_text('movie.source = "film.mp4"\n' + FLOW)
    resolved = load(path)
    assert resolved.name == "my-film"
    assert resolved.data["movie"] == {"source": str(tmp_path / "film.mp4")}
    assert "limit" not in resolved.data
    assert load(path, movie_duration_s=10.0).data["limit"] == "100 s"


@pytest.mark.parametrize(
    ("overrides", "retry"),
    [
        ({"network.wifi.retry": 7}, 7),
        (["network.wifi.retry=7"], 7),
        (["network.wifi.retry=7", "network.wifi.retry = 8"], 8),
        ("network.wifi.retry=7", 7),
    ],
)
def test_overrides_lie_over_the_text(overrides: object, retry: int) -> None:
    resolved = load("[network.wifi]\nretry = 2\n" + FLOW, set=overrides)  # type: ignore[arg-type]
    assert resolved.data["network"]["wifi"]["retry"] == retry


def test_python_values_become_toml() -> None:
    burst = {"good_to_bad": "1 %", "bad_to_good": 0.3}
    with pytest.raises(InputError, match="bad_to_good"):  # a number without quotes is not a probability
        load(FLOW, set={"network.wire.loss": burst})
    burst["bad_to_good"] = "30 %"
    resolved = load(FLOW, set={"network.wire.loss": burst, "network.wire.outages": [("1 s", "2 s")]})
    assert resolved.data["network"]["wire"]["loss"]["loss_bad"] == "100 %"
    assert resolved.data["network"]["wire"]["outages"] == [["1 s", "2 s"]]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[network.wifi]\nretry = 300\n" + FLOW, ["network.wifi.retry", "300", "0 to 255"]),
        ("[network.wifi]\nretrys = 3\n" + FLOW, ["network.wifi.retrys", "did you mean `retry`"]),
        ("[[flow]]\ntransport = 'quic'\n", ["flow.0.transport", "quic", "udp-blocking", "tcp+ifd-optimised"]),
        ("[[flow]\n", ["TOML", "line 1"]),
        ("\n", ["flow", "missing"]),
    ],
)
def test_wrong_input_names_key_value_and_what_is_allowed(text: str, named: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        load(text)
    assert all(part in str(caught.value) for part in named), caught.value


@pytest.mark.parametrize("size", [100, 1 << 21])
def test_a_video_given_as_a_scenario_is_called_one(size: int, tmp_path: Path) -> None:
    film = tmp_path / "cam.mp4"
    film.write_bytes((b"\0\0\0\x20ftypisom" + b"\xff" * 20).ljust(size, b"\0"))
    with pytest.raises(InputError) as caught:
        load(film)
    told = str(caught.value)
    assert "not a scenario: it looks like a video (an MP4 or MOV file)" in told, told
    assert f'movie.source = "{film}"' in told
    # A text is none, whatever its first letter.
    text = tmp_path / "G.toml"
    text.write_bytes(b"G".ljust(size, b"\xe4"))
    with pytest.raises(InputError) as caught:
        load(text)
    assert "looks like" not in str(caught.value)


def test_unreadable_files_are_named(tmp_path: Path) -> None:
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    for path, problem in ((binary, "UTF-8"), (tmp_path / "absent.toml", "No such file"), (tmp_path, "directory")):
        with pytest.raises(InputError, match=problem) as caught:
            load(path)
        assert str(path) in str(caught.value)


def test_what_cannot_be_a_value_is_refused() -> None:
    with pytest.raises(InputError, match="KEY=VALUE"):
        load(FLOW, set=["network.wifi.retry"])
    with pytest.raises(InputError, match="cannot be set"):
        load(FLOW, set={"seed": object()})
    with pytest.raises(InputError, match="JSON"):
        load({"seed": object()})


def test_the_schema_describes_the_file() -> None:
    described = schema()
    assert described["required"] == ["flow"]
    assert set(described["properties"]) == set(load(FLOW).data)


EXAMPLES = [
    path for path in sorted((REPOSITORY / "scenarios").glob("**/*.toml")) if not path.stem.startswith("campaign-")
]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_scenarios_are_valid_and_named_after_their_file(path: Path) -> None:
    assert load(path).name == path.stem


def test_the_demo_compares_seven_transports_over_the_disturbed_link() -> None:
    demo = load(REPOSITORY / "scenarios/demo.toml").data
    transports = [flow["transport"] for flow in demo["flow"]]
    known = [entry["const"] for entry in schema()["$defs"]["Transport"]["oneOf"] if "const" in entry]
    assert transports == ["udp-blocking", "udp", "udp-whole", "udp+ifd", "tcp", "tcp+ifd", "tcp+ifd-optimised"]
    assert set(transports) < set(known)
    assert demo["network"]["wifi"]["oven"]["on"] == [["20 s", "40 s"]]
    assert demo["movie"] == {"source": "lab", "bitrate": "6 Mbit/s", "duration": "60 s"}


def test_the_documented_example_is_valid_and_every_key_is_named() -> None:
    text = (REPOSITORY / "docs/scenario.md").read_text()
    example = text.split("```toml\n")[1].split("```")[0]
    resolved = load(example)
    assert isinstance(resolved, Scenario)
    described = schema()
    keys = set(described["properties"]).union(*(d.get("properties", {}) for d in described["$defs"].values()))
    assert {key for key in keys if key not in text} == set()


def test_stubs_say_what_the_module_has(tmp_path: Path) -> None:
    # The package around them, and all that it imports, is what `make lint` checks.
    settings = tmp_path / "mypy.ini"
    settings.write_text("[mypy]\nmypy_path = python\nfollow_imports = skip\n")
    command = [sys.executable, "-m", "mypy.stubtest", "framewire._native", "--mypy-config-file", str(settings)]
    ended = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_queues_and_lines_of_the_manual_are_understood() -> None:
    kept = r"^(?:# )?((?:queue_discipline|framing|shaper|policer) = [^#\n]*)"
    lines = [
        line
        for page in ("links.md", "scenario.md")
        for block in (REPOSITORY / "docs" / page).read_text().split("```toml\n")[1:]
        for line in re.findall(kept, block.split("```")[0], re.MULTILINE)
    ]
    assert len(lines) >= 6
    for line in lines:
        wire = tomllib.loads(line)
        assert load({"network": {"kind": "wired", "wire": wire}, "flow": [{"transport": "udp"}]})
