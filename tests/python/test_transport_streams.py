"""Movies in MPEG transport streams: what FFmpeg shows of the movie as received is what the ledger calls shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_emulated import capable
from test_rtp_payloads import IN_CONTAINERS, LOSSY, NARROW, STALL, check, check_fates, films  # noqa: F401

import framewire


def scenario(film: Path, network: str, transport: str) -> str:
    return f'name = "test"\n[movie]\nsource = "{film}"\n{network}{STALL}[[flow]]\ntransport = "{transport}"\n'


@pytest.mark.parametrize("codec", IN_CONTAINERS)
@pytest.mark.parametrize(
    ("transport", "network"),
    [
        ("ts", LOSSY),
        ("ts+rtp", LOSSY),
        ("ts", NARROW),
        ("ts+udp-whole", NARROW),
        ("ts+rtp+ifd", NARROW),
        ("ts+dependency", NARROW),
        ("ts+tcp", NARROW),
        ("ts+tcp+dependency", NARROW),
    ],
)
def test_the_decoder_shows_what_the_ledger_says(
    codec: str,
    transport: str,
    network: str,
    films: dict[str, Path],  # noqa: F811
    tmp_path: Path,
) -> None:
    text = scenario(films[codec], network, transport)
    frames = check(films[codec], framewire.run(text, out=tmp_path / "run", world="simulated"))
    check_fates(frames, transport, loses_nothing=network == NARROW and transport in ("ts", "ts+tcp"))


@pytest.mark.real_time
@pytest.mark.skipif(capable() is not None, reason=f"no emulated world here: {capable()}")
@pytest.mark.parametrize("transport", ["ts", "ts+rtp", "ts+tcp+dependency"])
@pytest.mark.parametrize("codec", IN_CONTAINERS)
def test_it_does_so_over_the_kernels_sockets(
    codec: str,
    transport: str,
    films: dict[str, Path],  # noqa: F811
    tmp_path: Path,
) -> None:
    text = scenario(films[codec], NARROW if "tcp" in transport else LOSSY, transport)
    run = framewire.run(text, out=tmp_path / "run", world="emulated")
    frames = check(films[codec], run)
    assert 0 < frames.filter(fate="lost").height < len(frames)
    if "tcp" not in transport:
        # Where each was lost is known: packets are found again by the clock in them, or by their number.
        lost = frames.filter(fate="lost")
        assert set(lost["root_cause_place"]) == {"link"}
