"""VLC at one end of a stream. It refuses to run as root, for whom it runs as nobody here."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from .link import Link, multiplexed
from .programs import Unable

PROGRAM = "cvlc"
NOBODY = 65534
"""The user without rights of Debian (base-passwd)."""
QUIETLY = ("-I", "dummy", "--no-audio")
AT_ITS_END = "vlc://quit"
MODULES = Path("/usr/lib")
NO_LIVE555 = "VLC has no live555 here, and takes a session description for an MPEG program stream"
LISTENS_FOR_NO_TCP = "VLC listens for no TCP"
SENDS_NO_TCP = "VLC sends by no TCP but HTTP and RTSP"


def is_there() -> bool:
    """Whether it is installed."""
    return shutil.which(PROGRAM) is not None


def kept(_link: Link) -> int:
    """None: what it keeps is told."""
    return 0


def _vlc(link: Link, *words: str) -> list[str]:
    link.folder.chmod(0o777)  # so that nobody writes there
    home = f"HOME={link.folder}"
    if os.geteuid():
        return ["env", home, PROGRAM, *QUIETLY, *words]
    who = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    return ["setpriv", *who, "env", home, PROGRAM, *QUIETLY, *words]


def _into_file(link: Link, place: str) -> list[str]:
    # Without a multiplexer ("dummy"), of which VLC's keep the last frames: docs/real.md.
    return _vlc(link, "--no-sout-audio", place, "--sout", f"#std{{access=file,mux=dummy,dst={link.out}}}", AT_ITS_END)


def receives(link: Link) -> list[str]:
    """A receiver, which writes the elementary stream."""
    places = {"ts": f"udp://@127.0.0.1:{link.port}", "ts+rtp": f"rtp://@127.0.0.1:{link.port}"}
    # By itself it knows types of RTP that are fixed (RFC 3551); a description is for live555, which Debian's has not.
    places["udp"] = places["ts+rtp"] if link.codec.payload_type < 96 else str(link.sdp)
    if places.get(link.transport) == str(link.sdp) and not any(MODULES.glob("*/vlc/plugins/access/liblive555*")):
        raise Unable(NO_LIVE555)
    if link.transport not in places:
        raise Unable(LISTENS_FOR_NO_TCP)
    return _into_file(link, places[link.transport])


def fetches(link: Link, url: str) -> list[str]:
    """A client of a server."""
    return _into_file(link, url)


def sends(link: Link) -> list[str]:
    """A sender, which paces itself."""
    to = f"dst=127.0.0.1,port={link.port}"
    how = {
        "udp": f"#rtp{{dst=127.0.0.1,port-video={link.port},sdp=file://{link.sdp}}}",
        "ts": f"#std{{access=udp,mux=ts,dst=127.0.0.1:{link.port}}}",
        "ts+rtp": f"#rtp{{{to},mux=ts}}",
    }
    if link.transport not in how:
        raise Unable(SENDS_NO_TCP)
    # It ends where it has read the movie, with the last second and a half unsent: so it plays the movie twice.
    return _vlc(link, str(link.held), str(link.held), "--sout-keep", "--sout", how[link.transport], AT_ITS_END)


def describes(_link: Link) -> None:
    """It has the headers in the stream."""
    return


def multiplexes(link: Link) -> list[str]:
    """What makes the file that a server of files has."""
    muxer = {"http": "mp4{faststart}", "http+fmp4": "mp4frag", "http+ts": "ts"}[link.transport]
    return _vlc(link, str(link.held), "--sout", f"#std{{access=file,mux={muxer},dst={multiplexed(link)}}}", AT_ITS_END)


def serves(link: Link) -> tuple[list[str], str]:
    """A server of RTSP, and what is asked for."""
    url = f"rtsp://127.0.0.1:{link.port}/movie"
    return _vlc(link, str(link.held), "--sout", f"#rtp{{sdp={url}}}", "--sout-keep", "--loop"), url
