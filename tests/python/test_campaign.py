"""The campaign file and the plan that is made from it: what is varied, which seeds, what is refused before it runs."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from conftest import REPOSITORY
from framewire import InputError, load
from framewire.campaign import plan as plan_module
from framewire.campaign.plan import Cell, plan, resolve, seed_of_repeat
from framewire.campaign.schema import schema
from framewire.campaign.spec import read

OVEN = [["0.2 s", "0.5 s"]]


@pytest.fixture
def document(stream: Path) -> dict[str, Any]:
    """A campaign of one point over a movie of a second."""
    return {"name": "small", "scenario": {"movie": {"source": str(stream)}, "flow": [{"transport": "udp"}]}}


def retries(cells: list[Cell]) -> list[int]:
    return [cell.scenario.data["network"]["wifi"]["retry"] for cell in cells]


def test_the_grid_is_every_combination_and_the_first_axis_varies_slowest(document: dict[str, Any]) -> None:
    axes = {"network.wifi.retry": [0, 3], "flow.*.mtu": [1500, 1400, 900]}
    cells = plan(read(document | {"axes": axes, "repeats": 2}))
    expected = list(itertools.product([0, 3], [1500, 1400, 900], [1, 2]))
    assert [(*cell.labels.values(), cell.repeat) for cell in cells] == expected
    assert [
        (r, cell.scenario.data["flow"][0]["mtu"], cell.repeat) for r, cell in zip(retries(cells), cells, strict=True)
    ] == expected
    assert len({cell.id for cell in cells}) == len(cells)


def test_keys_that_belong_together_are_one_axis(document: dict[str, Any]) -> None:
    values = [
        {"label": "no", "set": {}},
        {"label": "yes", "set": {"network": {"wifi": {"oven": {"on": OVEN}}}, "network.wire.delay": "3 ms"}},
    ]
    cells = plan(read(document | {"axis": [{"name": "interference", "values": values}]}))
    assert [cell.labels for cell in cells] == [{"interference": "no"}, {"interference": "yes"}]
    no, yes = (cell.scenario.data["network"] for cell in cells)
    assert "oven" not in no["wifi"]
    assert no["wire"]["delay"] == load({"flow": [{"transport": "udp"}]}).data["network"]["wire"]["delay"]
    assert yes["wifi"]["oven"]["on"] == [["200 ms", "500 ms"]]
    assert yes["wire"]["delay"] == "3 ms"


def test_a_whole_table_is_set_under_a_dotted_key_and_an_axis_may_have_another_name(document: dict[str, Any]) -> None:
    burst = {"good_to_bad": "1 %", "bad_to_good": "30 %"}
    axis = {"name": "loss", "key": "network.wire.loss", "values": ["1 %", burst]}
    cells = plan(read(document | {"axis": [axis]}))
    assert cells[0].labels == {"loss": "1 %"}
    assert cells[1].labels == {"loss": '{ "good_to_bad" = "1 %", "bad_to_good" = "30 %" }'}
    assert cells[1].scenario.data["network"]["wire"]["loss"]["loss_bad"] == "100 %"


def test_defaults_follow_what_the_axis_sets(document: dict[str, Any]) -> None:
    """The axes are laid over the scenario as written: with its defaults filled in, TCP would get a buffer of UDP's."""
    flows = plan(read(document | {"axes": {"flow.0.transport": ["udp", "tcp"]}}))
    for cell, transport in zip(flows, ("udp", "tcp"), strict=True):
        assert cell.scenario.data["flow"] == load({"flow": [{"transport": transport}]}).data["flow"]


def test_seeds_depend_on_the_repeat_and_on_nothing_else(document: dict[str, Any]) -> None:
    many = plan(read(document | {"axes": {"network.wifi.retry": [0, 1, 2]}, "repeats": 3}))
    by_repeat = {repeat: {cell.seed for cell in many if cell.repeat == repeat} for repeat in (1, 2, 3)}
    assert by_repeat == {repeat: {seed_of_repeat(1, repeat)} for repeat in (1, 2, 3)}
    longer = plan(read(document, repeats=5))
    assert [cell.seed for cell in longer] == [seed_of_repeat(1, repeat) for repeat in range(1, 6)]
    other = plan(read(document, set=["seed=2"], repeats=5))
    assert not {cell.seed for cell in other} & {cell.seed for cell in longer}
    assert all(0 <= cell.seed < 2**63 for cell in other + longer)


def test_an_id_says_what_is_computed_and_by_what(
    document: dict[str, Any], tmp_path: Path, stream: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def only(changed: dict[str, Any]) -> str:
        return plan(read(changed))[0].id

    def with_scenario(**keys: Any) -> str:
        return only(document | {"scenario": document["scenario"] | keys})

    original = only(document)
    assert original == only(document | {"name": "other", "metrics": ["stalls"]})
    moved = tmp_path / stream.name
    moved.write_bytes(stream.read_bytes())
    assert original == with_scenario(movie={"source": str(moved)})
    different = {
        with_scenario(seed=2),
        with_scenario(network={"wifi": {"retry": 5}}),
        only(document | {"packets": True}),
        only(document | {"flows": True}),
    }
    moved.write_bytes(stream.read_bytes()[:-40])
    different.add(with_scenario(movie={"source": str(moved)}))
    monkeypatch.setattr(plan_module, "program_fingerprint", lambda: "a rebuilt simulator")
    different.add(only(document))
    assert len(different | {original}) == 7


def test_a_scenario_may_be_a_file_beside_the_campaign(tmp_path: Path, stream: Path) -> None:
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios" / "second.m2v").write_bytes(stream.read_bytes())
    scenario = tmp_path / "scenarios" / "one flow.toml"
    scenario.write_text('movie.source = "second.m2v"\n[[flow]]\ntransport = "udp"\n')
    path = tmp_path / "sweep.toml"
    path.write_text('scenario = "scenarios/one flow.toml"\n[axes]\nnetwork.wifi.retry = [1, 2]\n')
    spec = read(path)
    cells = plan(spec)
    assert spec.name == "sweep"
    assert cells[0].movie.path == tmp_path / "scenarios" / "second.m2v"
    assert cells[0].scenario.name == "one-flow"
    assert cells[0].scenario.data["limit"] == "64 s"
    assert retries(cells) == [1, 2]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"axes": {"network.wifi.retry": [1, 300]}}, ["axis network.wifi.retry, value 300", "0 to 255"]),
        ({"axes": {"network.wifi.retry": [1, "3"]}}, ["axis network.wifi.retry, value 3", "network.wifi.retry"]),
        ({"axes": {"network.wifi.retrys": [1]}}, ["axis network.wifi.retrys", "did you mean `retry`"]),
        ({"axes": {"flow.*.transport": ["udp", "quic"]}}, ["axis flow.*.transport, value quic", "udp-blocking"]),
        (
            {"axes": {"flow.0.transport": ["tcp"], "flow.0.congestion": ["cubic", "bbr9"]}},
            ["axis flow.0.congestion, value bbr9", "illinois"],
        ),
        ({"axes": {"flow.tcp.mtu": [1400]}}, ["axis flow.tcp.mtu", "the flows are: udp"]),
        ({"axes": {"retry": []}}, ["axes.retry", "at least one value"]),
        ({"axes": {"network": {"wifi": {"retry": 3}}}}, ["axes.network.wifi.retry: 3", "list"]),
        ({"axes": {"network.wifi.retry": [1, 2, 1]}}, ["axes.network.wifi.retry", "1 is there twice"]),
        ({"axes": {"network.wifi.retry": [None]}}, ["network.wifi.retry", "None"]),
        ({"axes": ["network.wifi.retry"]}, ["axes: ", "table"]),
        ({"axes": {"seed": [1, 2]}}, ["axis seed", "column"]),
        (
            {"axis": [{"name": "a", "values": [{"label": "x", "set": {"network.wifi.retry": 300}}]}]},
            ["axis a, value x"],
        ),
        ({"axis": [{"name": "a", "values": [{"label": "x"}]}]}, ["axis a: values.0.set", "nothing"]),
        ({"axis": [{"name": "a", "values": [{"set": {}}]}]}, ["axis a: values.0.label", "nothing"]),
        ({"axis": [{"name": "a", "values": [3]}]}, ["axis a: values.0: 3", "label"]),
        ({"axis": [{"name": "a", "value": [3]}]}, ["axis.0.value", "did you mean `values`"]),
        ({"axis": [{"values": [3]}]}, ["axis.0.name", "nothing"]),
        ({"axis": {"name": "a"}}, ["axis: ", "[[axis]]"]),
        (
            {"axes": {"network.wifi.retry": [1]}, "axis": [{"name": "a", "key": "network.wifi.retry", "values": [2]}]},
            ["axis a", "network.wifi.retry", "already"],
        ),
        (
            {"axes": {"network.kind": ["wifi", "wired"], "network.wifi.retry": [3, 4]}},
            ["network.kind = wired, network.wifi.retry = 3", "network.wifi"],
        ),
        ({"axes": {"network.wifi.oven.on": [[["5 s", "6 s"]]]}}, ["axis network.wifi.oven.on", "5 s"]),
        ({"axes": {"movie.source": ["absent.m2v"]}}, ["movie", "absent.m2v"]),
        ({"scenario": {"movie": {"bitrates": "x"}, "flow": [{"transport": "udp"}]}}, ["scenario: movie.bitrates"]),
        ({"scenario": None}, ["scenario", "missing"]),
        ({"scenario": "absent.toml"}, ["absent.toml", "No such file"]),
        ({"repeat": 3}, ["repeat: unknown key", "did you mean `repeats`"]),
        ({"repeats": 0}, ["repeats: 0", "from 1"]),
        ({"repeats": True}, ["repeats: True"]),
        ({"metrics": ["duration"]}, ["metrics: 'duration'", "did you mean `duration_s`"]),
        ({"metrics": "duration_s"}, ["metrics", "list"]),
        ({"packets": 1}, ["packets: 1", "true or false"]),
        ({"flows": "all"}, ["flows: 'all'", "true or false"]),
        ({"version": 2}, ["version: 2", "allowed is 1"]),
        ({"name": "a/b"}, ["name: 'a/b'", "letters"]),
        ({"repeats": 10_000, "axes": {"network.wifi.retry": list(range(11))}}, ["110000 cells", "100000"]),
    ],
    ids=str,
)
def test_what_is_wrong_is_named_before_anything_runs(
    change: dict[str, Any], named: list[str], document: dict[str, Any]
) -> None:
    with pytest.raises(InputError) as caught:
        plan(read(document | change))
    assert all(part in str(caught.value) for part in named), caught.value


def test_what_an_axis_varies_cannot_be_set(document: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"network\.wifi\.retry cannot be set: it is varied by axis"):
        read(document | {"axes": {"network.wifi.retry": [1]}}, set=["network.wifi.retry=3"])
    cells = plan(read(document | {"axes": {"flow.*.mtu": [1400]}}, set={"network.wifi.retry": 3}))
    assert retries(cells) == [3]


def test_unreadable_files_are_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text("[axes\n")
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe")
    for path, problem in ((broken, "line 1"), (binary, "UTF-8"), (tmp_path / "absent.toml", "No such file")):
        with pytest.raises(InputError, match=problem) as caught:
            read(path)
        assert str(path) in str(caught.value)


def test_the_schema_knows_every_key_of_the_file(document: dict[str, Any]) -> None:
    described = schema()
    for key in described["properties"]:
        with pytest.raises(InputError) as caught:
            read(document | {key: object()})
        assert "unknown key" not in str(caught.value)
    with pytest.raises(InputError, match=f"allowed here: {', '.join(described['properties'])}"):
        read(document | {"zzz": 1})
    json.dumps(described)


@pytest.mark.parametrize(
    "path", sorted((REPOSITORY / "scenarios").glob("campaign-*.toml")), ids=lambda path: str(path.stem)
)
def test_example_campaigns_are_valid_and_named_after_their_file(path: Path) -> None:
    spec = read(path)
    assert f"campaign-{spec.name}" == path.stem
    assert len(resolve(spec)) >= 6


def test_the_documented_example_is_valid_and_names_every_key() -> None:
    import tomllib

    text = (REPOSITORY / "docs/campaign.md").read_text()
    example = text.split("```toml\n")[1].split("```")[0]
    assert len(resolve(read(tomllib.loads(example)))) == 3 * 2 * 2
    assert {key for key in schema()["properties"] if f"{key} =" not in example and f"[{key}]" not in example} == set()
