"""Streams between framewire and a peer, and between two peers, to see whose defect it is that not all of one comes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from . import ffmpeg, gstreamer, vlc
from .codecs import Codec, movie
from .link import DESCRIBED, SERVED, Link, multiplexed
from .outcome import Outcome, compared
from .programs import Unable, ended, first_line, framewire, free_port, last_line, run, started

PEERS: dict[str, ModuleType] = {"FFmpeg": ffmpeg, "GStreamer": gstreamer, "VLC": vlc}


@contextmanager
def linked(transport: str, codec: Codec, movies: Path) -> Iterator[Link]:
    """A stream of its own, with files of its own."""
    movie(codec, movies)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # so that VLC reads there, which does not run as root
        yield Link(transport, codec, free_port(), movies, Path(folder))


def to_peer(peer: str, transport: str, codec: Codec, movies: Path) -> Outcome:
    """framewire sends or serves, a peer receives or fetches."""
    with linked(transport, codec, movies) as link:
        return (_served_to if transport in SERVED else _sent_to)(PEERS[peer], link)


def from_peer(peer: str, transport: str, codec: Codec, movies: Path) -> Outcome:
    """A peer sends, or makes what is served; framewire receives."""
    with linked(transport, codec, movies) as link:
        if transport.startswith("rtsp"):
            return _played_from(PEERS[peer], link)
        return (_fetched_from if transport in SERVED else _received_from)(PEERS[peer], link)


WAYS = {"to": to_peer, "from": from_peer}


def _sent_to(peer: ModuleType, link: Link) -> Outcome:
    command = peer.receives(link)
    words = ["send", str(link.held), "--to", f"127.0.0.1:{link.port}", "--transport", link.transport]
    words += ["--out", str(link.folder / "sent")]
    described = link.transport in DESCRIBED
    if described:  # its receiver may need the description first
        with started(framewire(*words, "--sdp", str(link.sdp), "--delay", "5"), None) as sender:
            while not link.sdp.exists() and sender.poll() is None:
                time.sleep(0.05)
            with started(command, link.port) as receiver:
                sent = ended(sender, 40)
                said = ended(receiver, 3)
    else:
        with started(command, link.port) as receiver:
            time.sleep(0.5)
            with started(framewire(*words), None) as sender:
                sent = ended(sender, 40)
            said = ended(receiver, 8 if peer is ffmpeg else 2)
    if not (link.folder / "sent" / "run.json").exists():
        if lack := lacking(said):
            raise Unable(lack)
        raise RuntimeError(f"framewire did not send: {last_line(sent)}")
    return _judged(peer, link, link.out, said)


def _judged(peer: ModuleType, link: Link, received: Path, said: str) -> Outcome:
    outcome = compared(received, link.source, link.codec, said, peer.kept(link))
    if outcome.frames or not (lack := lacking(said)):
        return outcome
    raise Unable(lack)


LACKS = (
    "no element",
    "Unsupported codec",
    "Decoder (codec none)",
    "not supported",
    "Failed to setup RTSP session",
    "unable to open the MRL",
)
"""In what words peers say that they cannot do what they are asked to."""


def lacking(said: str) -> str:
    """What a peer said that it lacks; nothing where it said nothing of that."""
    found = (line.strip() for line in said.splitlines() if any(word in line for word in LACKS))
    return PARTICULAR.sub("", next(found, ""))


PARTICULAR = re.compile(r"^\[(\w+ @ )?(0x)?[0-9a-f]+\] | '[a-z]+://[^']*'")
"""What is of one run alone: addresses in memory, and of files and servers."""


def _received_from(peer: ModuleType, link: Link) -> Outcome:
    command = peer.sends(link)
    description = ["--codec", link.codec.suffix]
    if describing := peer.describes(link):
        _tried(describing)
        description = ["--sdp", str(link.sdp)]
    out = link.folder / "came"
    words = ["receive", f"127.0.0.1:{link.port}", "--transport", link.transport, *description, "--out", str(out)]
    with started(framewire(*words, "--silence", "2", "--wait", "12"), link.port) as receiver:
        with started(command, None) as sender:
            sent = ended(sender, 20)
        said = ended(receiver, 20)
    return _came(link, out, said, sent)


def _came(link: Link, out: Path, said: str, sent: str) -> Outcome:
    """What framewire received."""
    document = out / "run.json"
    if not document.exists():
        if lack := lacking(sent):
            raise Unable(lack)
        raise RuntimeError(f"framewire: {last_line(said)}")
    flow = json.loads(document.read_text())["flows"][0]
    refused = "; ".join(flow["rejections"][:1])
    received = out / "received" / f"movie.{link.codec.suffix}"
    return compared(received, link.source, link.codec, refused or lacking(sent))


def _tried(command: list[str]) -> str:
    """Runs a peer to its end; what it lacks it says."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    if done.returncode:
        raise Unable(lacking(done.stderr) or first_line(done.stderr))
    return done.stderr


def _served_to(peer: ModuleType, link: Link) -> Outcome:
    scheme = link.transport.split("+")[0]
    command = peer.fetches(link, f"{scheme}://127.0.0.1:{link.port}{SERVED[link.transport]}")
    words = ["send", str(link.served()), "--serve", f"{scheme}://127.0.0.1:{link.port}/"]
    with started(framewire(*words, "--out", str(link.folder / "sent")), link.port) as server:
        with started(command, None) as client:
            client_said = ended(client, 25)
        server.terminate()
        said = server.communicate(timeout=20)[1]
    if server.returncode:
        raise RuntimeError(f"framewire did not serve: {said}")
    return _judged(peer, link, link.out, client_said)


def _fetched_from(peer: ModuleType, link: Link) -> Outcome:
    """A file that the peer made, of any server of files: Python's."""
    said = _tried(peer.multiplexes(link))
    made = multiplexed(link)
    if not made.exists():
        raise Unable(lacking(said) or first_line(said))
    server = [
        sys.executable,
        "-m",
        "http.server",
        str(link.port),
        "--bind",
        "127.0.0.1",
        "--directory",
        str(link.folder),
    ]
    with started(server, link.port):
        return _asked(link, f"http://127.0.0.1:{link.port}/{made.name}", said)


def _played_from(peer: ModuleType, link: Link) -> Outcome:
    """A server of RTSP of the peer's."""
    server, url = peer.serves(link)
    with started(server, link.port) as process:
        outcome = _asked(link, url, "", "--transport", link.transport)
        process.terminate()
    return outcome


def _asked(link: Link, url: str, peer_said: str, *options: str) -> Outcome:
    out = link.folder / "came"
    with started(framewire("receive", url, "--out", str(out), "--wait", "10", *options), None) as receiver:
        said = ended(receiver, 30)
    return _came(link, out, said, peer_said)


def between(sender: str, receiver: str, transport: str, codec: Codec, movies: Path) -> Outcome:
    """The same stream without framewire, from one peer to the other."""
    with linked(transport, codec, movies) as link:
        if transport.startswith("rtsp"):
            server, url = PEERS[sender].serves(link)
            with started(server, link.port), started(PEERS[receiver].fetches(link, url), None) as client:
                said = ended(client, 25)
        elif transport in SERVED:
            _tried(PEERS[sender].multiplexes(link))
            run_by = PEERS[receiver].fetches(link, str(multiplexed(link)))
            said = _tried(run_by)
        else:
            if describing := PEERS[sender].describes(link):
                run(describing)
            with started(PEERS[receiver].receives(link), link.port) as receiving:
                time.sleep(0.5)
                with started(PEERS[sender].sends(link), None) as sending:
                    ended(sending, 20)
                said = ended(receiving, 5)
        return compared(link.out, link.source, codec, said, PEERS[receiver].kept(link))
