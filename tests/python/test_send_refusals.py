"""``framewire send --to`` refuses before a film is read, cut or encoded, where it can be known before."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from framewire import content
from framewire.cli import app
from framewire.endpoint.address import Address
from framewire.errors import InputError
from framewire.real import ends, source
from framewire.transports import CARRIERS, TRANSPORTS, begun_by_senders

NOWHERE = Address.parse("127.0.0.1:5004")


class WasRead(Exception):
    """The film was about to be read."""


@pytest.fixture(autouse=True)
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever reads a whole film ends the test."""

    def read(*_given: Any, **_named: Any) -> Any:
        raise WasRead

    monkeypatch.setattr(content, "prepare", read)
    monkeypatch.setattr(source, "_kept", read)
    monkeypatch.setattr(source, "_part", read)


def refusal(what: str, **options: Any) -> str:
    with pytest.raises(InputError) as refused:
        ends.send(what, NOWHERE, **options)
    return str(refused.value)


def test_a_duration_without_a_unit_is_called_by_its_option() -> None:
    for given in ("5", "", "-3 s", "5 parsecs"):
        said = refusal("lab", duration=given)
        assert said.startswith(f'--duration "{given}" is not allowed; allowed is a number and one of min, s, ms')
        assert said.endswith(', as "5 s"') and "movie.duration" not in said
    assert (
        refusal("lab", duration="1 ms") == '--duration "1 ms" is not allowed; allowed is "0.2 s" or more: a few frames'
    )
    assert refusal("lab", set=["movie.duration=5"]).startswith("movie.duration"), "which was set so"
    with pytest.raises(WasRead):
        ends.send("lab", NOWHERE, duration="5 s")


@pytest.mark.parametrize("what", ["lab", source.STDIN])
def test_options_are_refused_before_anything_is_read(what: str, tmp_path: Path) -> None:
    assert "flow.0.foo: unknown key" in refusal(what, set=["flow.0.foo=3"])
    assert "one flow between two machines" in refusal(what, set=["flow.0.count=2"])
    assert "session descriptions are of RTP over UDP; tcp needs none" in refusal(
        what, transport="tcp", sdp=tmp_path / "a.sdp"
    )
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "file").touch()
    assert str(taken) in refusal(what, out=taken)
    with pytest.raises(WasRead):
        ends.send(what, NOWHERE, transport="ts+rtp", sdp=tmp_path / "a.sdp")


def test_a_file_is_looked_at_before_it_is_cut(stream: Path, tmp_path: Path) -> None:
    assert refusal(str(tmp_path / "none.mp4")) == f"{tmp_path / 'none.mp4'}: {os.strerror(2)}"
    assert "no times" in refusal(str(stream), start_s=1.0)
    assert "flow.0.mtu" in refusal(str(stream), set=["flow.0.mtu=1"])
    with pytest.raises(WasRead):
        ends.send(str(stream), NOWHERE)


def test_transports_whose_receivers_ask_are_refused_before() -> None:
    asked = [one.name for one in TRANSPORTS if one.name in CARRIERS and one.is_entry]
    told = {}
    for name in asked:
        try:
            ends.send("lab", NOWHERE, transport=name)
        except InputError as error:
            told[name] = str(error)
        except WasRead:
            continue
    assert sorted(told) == ["http", "http+fmp4", "http+ts", "rtsp", "rtsp+udp"]
    assert all("its receiver asks for the movie; --serve" in said for said in told.values())


@pytest.mark.parametrize(("written", "is_sent"), [("rtp", True), ("rtp+dependency", True), ("mp4+tcp", False)])
def test_a_transport_may_be_called_by_its_parts(written: str, is_sent: bool) -> None:
    with pytest.raises(WasRead) if is_sent else pytest.raises(InputError, match="its receiver asks for the movie"):
        ends.send("lab", NOWHERE, transport=written)


def test_lists_of_transports_have_every_name_that_is_taken() -> None:
    sent = begun_by_senders()
    assert sent[:3] == ["udp-blocking", "rtp", "udp"] and "http" not in sent and "rtsp" not in sent
    with pytest.raises(InputError, match=r"allowed is one of udp-blocking, rtp, udp, .*"):
        ends.send("lab", NOWHERE, transport="rtpx")
    for command in ("send", "receive"):
        said = "".join(CliRunner().invoke(app, [command, "--help"]).output.split())
        assert f"oneof{','.join(sent)}[default:udp]" in said, said
    assert "rtp is another name of udp-blocking\n" in CliRunner().invoke(app, ["transports"]).output
    listed = json.loads(CliRunner().invoke(app, ["transports", "--json"]).stdout)
    assert {one["name"]: one["also_called"] for one in listed if one["also_called"]} == {"udp-blocking": "rtp"}
