"""One stream of the table."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from .codecs import Codec
from .codecs import held as container
from .codecs import movie as elementary

SENT = ("udp", "ts", "ts+rtp", "tcp", "rtp+tcp", "ts+tcp")
"""Transports whose sender opens them."""
DESCRIBED = frozenset({"udp", "ts+rtp"})
"""Those with a session description."""
SERVED = {
    "http": "/mp4/movie.mp4",
    "http+fmp4": "/fmp4/movie.mp4",
    "http+ts": "/ts/movie.ts",
    "rtsp": "/movie.mkv",
    "rtsp+udp": "/movie.mkv",
}
"""Those that a receiver asks for, and where the movie is then."""
SUFFIXES = {"http": "mp4", "http+fmp4": "mp4", "http+ts": "ts"}


@dataclass(frozen=True)
class Link:
    """What is carried how, over which port of loopback, and the files beside it."""

    transport: str
    codec: Codec
    port: int
    movies: Path
    """Where the movies are."""
    folder: Path
    """What is of this stream alone."""

    @property
    def source(self) -> Path:
        """The movie, as an elementary stream."""
        return elementary(self.codec, self.movies)

    @property
    def held(self) -> Path:
        """The same in a container, for programs that need times."""
        return container(self.codec, self.movies)

    @property
    def sdp(self) -> Path:
        """Its session description."""
        return self.folder / "stream.sdp"

    @property
    def out(self) -> Path:
        """What a peer received: an elementary stream, or FFmpeg's list of its frames."""
        return self.folder / f"received.{self.codec.suffix}"

    def served(self) -> Path:
        """The movie in a folder of its own, as a server has it."""
        folder = self.folder / "served"
        folder.mkdir(exist_ok=True)
        shutil.copy(self.held, folder / "movie.mkv")
        return folder / "movie.mkv"


def multiplexed(link: Link) -> Path:
    """What a peer makes for a server of files."""
    return link.folder / f"multiplexed.{SUFFIXES[link.transport]}"
