"""FFmpeg at one end of a stream."""

from __future__ import annotations

import shutil

from .codecs import FRAMES
from .link import DESCRIBED, Link, multiplexed
from .programs import Unable

PROGRAM = "ffmpeg"
LACKS = {
    "rtp+tcp": "FFmpeg does not know RFC 4571",
    "rtsp": "FFmpeg's muxer of RTSP announces to a server, and is none",
}
PROBING = ("-probesize", "500000", "-analyzeduration", "300000")


def is_there() -> bool:
    """Whether it is installed."""
    return shutil.which(PROGRAM) is not None


def kept(link: Link) -> int:
    """Frames that its decoder keeps at the end of a stream whose end it does not see: of RTP over UDP without RTCP."""
    return 8 if link.transport in DESCRIBED else 0


def receives(link: Link) -> list[str]:
    """A receiver. Of a stream of UDP it sees no end, and writes nothing more when it is interrupted."""
    of = {
        "udp": ["-protocol_whitelist", "file,udp,rtp", "-i", str(link.sdp)],
        "ts": [*PROBING, "-f", "mpegts", "-i", f"udp://127.0.0.1:{link.port}?fifo_size=100000&timeout=6000000"],
        # Without a description it opens its socket once more behind the first packet, and loses what comes meanwhile.
        "ts+rtp": ["-protocol_whitelist", "file,udp,rtp", *PROBING, "-i", str(link.sdp)],
        "tcp": [*PROBING, "-f", link.codec.demuxer, "-i", f"tcp://127.0.0.1:{link.port}?listen=1"],
        "ts+tcp": [*PROBING, "-f", "mpegts", "-i", f"tcp://127.0.0.1:{link.port}?listen=1"],
    }
    if link.transport not in of:
        raise Unable(LACKS[link.transport])
    until = ["-frames:v", str(FRAMES), "-flush_packets", "1"]
    return ["ffmpeg", "-y", "-v", "error", *of[link.transport], *_shown(link, until)]


def fetches(link: Link, url: str) -> list[str]:
    """A client of a server."""
    by = {"rtsp": ["-rtsp_transport", "tcp"], "rtsp+udp": ["-rtsp_transport", "udp"]}.get(link.transport, [])
    return ["ffmpeg", "-y", "-v", "error", *by, "-i", url, *_shown(link, ["-map", "0:v"])]


def _shown(link: Link, options: list[str]) -> list[str]:
    return ["-fps_mode", "passthrough", *options, "-f", "framemd5", str(link.out)]


def sends(link: Link) -> list[str]:
    """A sender, which paces itself."""
    places = {
        "udp": ["-f", "rtp", f"rtp://127.0.0.1:{link.port}"],
        "ts": ["-f", "mpegts", f"udp://127.0.0.1:{link.port}?pkt_size=1316"],
        "ts+rtp": ["-f", "rtp_mpegts", f"rtp://127.0.0.1:{link.port}"],
        "tcp": ["-f", link.codec.muxer, f"tcp://127.0.0.1:{link.port}"],
        "ts+tcp": ["-f", "mpegts", f"tcp://127.0.0.1:{link.port}"],
    }
    if link.transport not in places:
        raise Unable(LACKS[link.transport])
    return ["ffmpeg", "-v", "error", "-re", "-i", str(link.held), "-c", "copy", *places[link.transport]]


def describes(link: Link) -> list[str] | None:
    """What writes the description of such a stream, which alone has the headers of some codecs, where there is one."""
    if link.transport != "udp":
        return None
    *rest, kind, form, place = sends(link)
    return [*rest, "-t", "0.1", "-sdp_file", str(link.sdp), kind, form, place]


def multiplexes(link: Link) -> list[str]:
    """What makes the file that a server of files has."""
    options = {
        "http": ["-movflags", "faststart", "-f", "mp4"],
        "http+fmp4": ["-movflags", "empty_moov+frag_keyframe+default_base_moof", "-f", "mp4"],
        "http+ts": ["-f", "mpegts"],
    }
    return [
        "ffmpeg",
        "-v",
        "error",
        "-i",
        str(link.held),
        "-c",
        "copy",
        *options[link.transport],
        str(multiplexed(link)),
    ]


def serves(_link: Link) -> tuple[list[str], str]:
    """A server of RTSP."""
    raise Unable(LACKS["rtsp"])
