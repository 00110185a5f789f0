"""GStreamer at one end of a stream."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

from .link import Link, multiplexed
from .programs import Unable

PROGRAM = "gst-launch-1.0"
SERVER = Path(__file__).parents[1] / "rtsp_server.py"
PYTHON = "/usr/bin/python3"
"""Debian's, which has its bindings."""


def is_there() -> bool:
    """Whether it is installed."""
    return shutil.which(PROGRAM) is not None


def kept(_link: Link) -> int:
    """It writes all that it has when it is interrupted (`-e`)."""
    return 0


def _launch(*elements: str, to_its_end: bool = False) -> list[str]:
    return [PROGRAM, *(["-e"] if to_its_end else []), "-q", *shlex.split(" ! ".join(elements))]


def _into_file(link: Link) -> tuple[str, ...]:
    return (link.codec.parser, link.codec.caps, f"filesink location={link.out}")


def receives(link: Link) -> list[str]:
    """A receiver, which writes the elementary stream."""
    codec = link.codec
    datagrams = f"udpsrc address=127.0.0.1 port={link.port} buffer-size=2000000"
    stream = f"tcpserversrc host=127.0.0.1 port={link.port}"
    in_stream = codec.rtp.replace("application/x-rtp", "application/x-rtp-stream")
    of_ts = "application/x-rtp,media=video,clock-rate=90000,encoding-name=MP2T,payload=33"
    source = {
        "udp": (f"{datagrams} caps={codec.rtp}", codec.depayloader),
        "ts": (datagrams, "tsdemux"),
        "ts+rtp": (f"{datagrams} caps={of_ts}", "rtpmp2tdepay", "tsdemux"),
        "tcp": (stream,),
        "rtp+tcp": (stream, in_stream, "rtpstreamdepay", codec.depayloader),
        "ts+tcp": (stream, "tsdemux"),
    }[link.transport]
    return _launch(*source, *_into_file(link), to_its_end=True)


def fetches(link: Link, url: str) -> list[str]:
    """A client of a server."""
    client = "souphttpsrc" if _has_element("souphttpsrc") else "curlhttpsrc"
    if link.transport.startswith("http") and not _has_element(client):
        raise Unable("no client of HTTP is installed (plugins of libsoup or curl)")
    from_rtsp = "rtspsrc protocols={} location={}"
    file = f"{client} location={url}" if "://" in url else f"filesrc location={url}"
    source = {
        "http": (file, "qtdemux"),
        "http+fmp4": (file, "qtdemux"),
        "http+ts": (file, "tsdemux"),
        "rtsp": (from_rtsp.format("tcp", url), link.codec.depayloader),
        "rtsp+udp": (from_rtsp.format("udp", url), link.codec.depayloader),
    }[link.transport]
    return _launch(*source, *_into_file(link))


def _has_element(name: str) -> bool:
    return not subprocess.run(["gst-inspect-1.0", "--exists", name], check=False).returncode


def sends(link: Link) -> list[str]:
    """A sender, which paces itself."""
    codec = link.codec
    datagrams = f"udpsink host=127.0.0.1 port={link.port}"
    stream = f"tcpclientsink host=127.0.0.1 port={link.port} sync=true"
    how = {
        "udp": (codec.payloader, datagrams),
        "ts": ("mpegtsmux alignment=7", datagrams),
        "ts+rtp": ("mpegtsmux alignment=7", "rtpmp2tpay", datagrams),
        "tcp": (codec.caps, stream),
        "rtp+tcp": (codec.payloader, "rtpstreampay", stream),
        "ts+tcp": ("mpegtsmux", stream),
    }[link.transport]
    return _launch(*_movie(link), *how)


def _movie(link: Link) -> tuple[str, ...]:
    return (f"filesrc location={link.held}", "matroskademux", link.codec.parser)


def describes(_link: Link) -> None:
    """Its payloaders send all headers in the stream."""
    return


def multiplexes(link: Link) -> list[str]:
    """What makes the file that a server of files has."""
    muxer = {
        "http": "mp4mux faststart=true",
        "http+fmp4": "mp4mux fragment-duration=500 streamable=true",
        "http+ts": "mpegtsmux",
    }
    return _launch(*_movie(link), muxer[link.transport], f"filesink location={multiplexed(link)}", to_its_end=True)


def serves(link: Link) -> tuple[list[str], str]:
    """A server of RTSP (gst-rtsp-server), and what is asked for."""
    words = [str(link.held), str(link.port), link.codec.parser, link.codec.payloader]
    return [PYTHON, str(SERVER), *words], f"rtsp://127.0.0.1:{link.port}/movie"
