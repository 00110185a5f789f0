"""The picture of a network names every node and link, and is well-formed."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from typer.testing import CliRunner

from framewire import network_picture
from framewire.cli import app
from framewire.scenario import load

REPOSITORY = Path(__file__).parents[2]
SVG = "{http://www.w3.org/2000/svg}"


def texts(picture: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(picture).iter(f"{SVG}text")]


def test_every_node_and_link_is_drawn_with_what_it_does() -> None:
    said = texts(network_picture.svg(load(REPOSITORY / "scenarios/flat.toml")))
    for node in ("server", "exchange", "router", "laptop", "phone"):
        assert said.count(node) == 1
    assert said.count("flat") == 1, "a cell is named once"
    assert "→ 16 Mbit/s, 8 ms, 128 KiB" in said and "← 1 Mbit/s, 8 ms, 128 KiB" in said
    assert "↔ 1 Gbit/s, 5 ms, 1000 packets" in said


def test_nodes_stand_from_the_sender_to_the_right() -> None:
    picture = ET.fromstring(network_picture.svg(load(REPOSITORY / "scenarios/flat.toml")))
    boxes = picture.findall(f"{SVG}rect")[1:]
    places = {box.findtext(f"{SVG}title"): (float(box.get("x", "")), float(box.get("y", ""))) for box in boxes}
    order = ["server", "exchange", "router", "laptop"]
    assert sorted(order, key=lambda node: places[node][0]) == order
    assert len(set(places.values())) == len(places), "no node on another"


@pytest.mark.parametrize(
    ("network", "links"),
    [
        (
            {"kind": "wired", "wire": {"rate": "4 Mbit/s", "loss": "1 %"}},
            ["wire", "→ 4 Mbit/s, 100 us, 1000 packets, loss 1 %"],
        ),
        ({"kind": "wifi"}, ["802.11", "802.11b, automatic rate, 100 packets", "wire"]),
    ],
)
def test_a_short_form_is_drawn_as_what_it_stands_for(network: dict[str, object], links: list[str]) -> None:
    said = texts(network_picture.svg(load({"network": network, "flow": [{"transport": "udp"}]})))
    assert set(links) <= set(said) and {"sender", "receiver"} <= set(said)


def test_a_link_that_is_drawn_backwards_keeps_its_directions() -> None:
    link = {"between": ["b", "a"], "rate": "9 Mbit/s", "backward": {"rate": "1 Mbit/s"}}
    flow = {"transport": "udp", "from": "a", "to": "b"}
    said = texts(network_picture.svg(load({"network": {"kind": "graph", "link": {"x": link}}, "flow": [flow]})))
    assert [text.split(",")[0] for text in said if "Mbit/s" in text] == ["→ 1 Mbit/s", "← 9 Mbit/s"]


def test_the_command_writes_the_picture_or_says_why_not(tmp_path: Path) -> None:
    scenario, out = str(REPOSITORY / "scenarios/flat.toml"), tmp_path / "flat.svg"
    runner = CliRunner()
    printed = runner.invoke(app, ["scenario", "show", scenario])
    assert runner.invoke(app, ["scenario", "show", scenario, "--out", str(out)]).exit_code == 0
    assert out.read_text() == printed.stdout
    refused = runner.invoke(app, ["scenario", "show", scenario, "--out", str(out / "below.svg")])
    assert refused.exit_code == 2 and "cannot write the picture" in refused.output
