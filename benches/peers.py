"""Which programs play what framewire sends, and whose streams it receives: the table of docs/real.md.

Every cell is a stream over loopback from one to the other, whose frames are decoded by FFmpeg and compared with those
of the movie. Run it with ``python benches/peers.py``, which prints the table of what is installed, or with ``--write``,
which puts it into the page. It takes some six minutes.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "real.md"

TRANSPORTS = ("udp", "ts", "ts+rtp", "tcp", "rtp+tcp", "ts+tcp")
SERVED = {"http": "/mp4/movie.mp4", "http+ts": "/ts/movie.ts", "rtsp": "/movie.mkv"}
"""Those that a peer asks for, and where the movie is then."""
PEERS = {"FFmpeg": "ffmpeg", "GStreamer": "gst-launch-1.0", "VLC": "cvlc"}
DESCRIBED = {"udp", "ts+rtp"}
"""Those with a session description."""


FRAMES = 75
"""Of each movie: three seconds."""


@dataclass(frozen=True)
class Codec:
    """What is particular to a codec, in the words of the peers."""

    name: str
    suffix: str
    encoder: tuple[str, ...]
    ffmpeg: str
    """FFmpeg's name of its reader of such streams."""
    muxer: str
    rtp: str
    depayloader: str
    payloader: str
    parser: str
    caps: str


MPEG2 = Codec(
    "MPEG-2",
    "m2v",
    ("mpeg2video", "-b:v", "2M"),
    "mpegvideo",
    "mpeg2video",
    "application/x-rtp,media=video,clock-rate=90000,encoding-name=MPV,payload=32",
    "rtpmpvdepay",
    "rtpmpvpay",
    "mpegvideoparse",
    "video/mpeg",
)
H264 = Codec(
    "H.264",
    "h264",
    ("libx264", "-preset", "veryfast", "-b:v", "1M", "-threads", "1"),
    "h264",
    "h264",
    "application/x-rtp,media=video,clock-rate=90000,encoding-name=H264,payload=96",
    "rtph264depay",
    "rtph264pay config-interval=-1",
    "h264parse",
    "video/x-h264,stream-format=byte-stream,alignment=au",
)
H265 = Codec(
    "H.265",
    "h265",
    ("libx265", "-preset", "ultrafast", "-b:v", "1M", "-x265-params", "log-level=none:pools=1:bframes=2:keyint=25"),
    "hevc",
    "hevc",
    "application/x-rtp,media=video,clock-rate=90000,encoding-name=H265,payload=96",
    "rtph265depay",
    "rtph265pay config-interval=-1",
    "h265parse",
    "video/x-h265,stream-format=byte-stream,alignment=au",
)
CODECS = (MPEG2, H264, H265)


@dataclass(frozen=True)
class Outcome:
    """What came of a stream: frames that are the movie's, of how many, and what was said where not all of them are."""

    frames: int
    of: int
    said: str = ""

    @property
    def is_whole(self) -> bool:
        """Every frame came, and no other."""
        return self.frames == self.of and not self.said


class Unable(Exception):
    """A peer lacks what it needs; with its own words."""


def movie(codec: Codec, folder: Path) -> Path:
    """The movie as an elementary stream, and beside it in a container for peers that need times."""
    path = folder / f"movie.{codec.suffix}"
    if not path.exists():
        source = ["-f", "lavfi", "-i", "testsrc2=s=640x360:r=25:d=3"]
        bframes = [] if codec is H265 else ["-g", "25", "-bf", "2"]
        held = folder / f"{codec.suffix}.mkv"
        run(["ffmpeg", "-y", "-v", "error", *source, "-c:v", *codec.encoder, *bframes, str(held)])
        run(["ffmpeg", "-y", "-v", "error", "-i", str(held), "-c", "copy", "-f", codec.muxer, str(path)])
    return path


def run(command: Sequence[str]) -> str:
    """Runs a program to its end, which has to be a good one."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode:
        raise RuntimeError(f"{shlex.join(command)}: {done.stderr.strip()}")
    return done.stdout


def decoded(path: Path, codec: Codec) -> list[str]:
    """The MD5 of every frame that FFmpeg's decoder shows; none of a file that is not there."""
    if not path.exists() or not path.stat().st_size:
        return []
    if path.read_bytes()[:1] == b"#":  # FFmpeg has decoded it already
        return md5s(path.read_text())
    command = ["ffmpeg", "-v", "quiet", "-f", codec.ffmpeg, "-i", str(path), "-f", "framemd5", "-"]
    return md5s(subprocess.run(command, capture_output=True, text=True, check=False, timeout=60).stdout)


def md5s(shown: str) -> list[str]:
    """The last column of FFmpeg's framemd5."""
    return [line.rsplit(",", 1)[1].strip() for line in shown.splitlines() if line and not line.startswith("#")]


KEPT = 8
"""Frames that FFmpeg's decoder keeps at the end of a stream whose end it does not see: of RTP over UDP without RTCP."""


def compared(received: Path, sent: Path, codec: Codec, said: str, kept: int = 0) -> Outcome:
    """How many frames of the movie came as they were sent; `kept` of the last may be in the peer still."""
    wanted, found = decoded(sent, codec), decoded(received, codec)
    same = len(set(wanted) & set(found))
    if len(found) >= len(wanted) - kept and found == wanted[: len(found)]:
        return Outcome(len(wanted), len(wanted))
    return Outcome(same, len(wanted), first_line(said) or f"{len(found)} frames came")


def first_line(text: str) -> str:
    """The first line that says something."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def framewire(*words: str) -> list[str]:
    """The command of this checkout."""
    return [sys.executable, "-m", "framewire", *words]


def receiving_command(peer: str, transport: str, codec: Codec, port: int, out: Path, sdp: Path) -> list[str]:
    """A receiver of a peer's, which writes the elementary stream."""
    if peer == "FFmpeg":
        # Of a stream of UDP it sees no end, and writes nothing more when it is interrupted.
        until = ["-frames:v", str(FRAMES), "-flush_packets", "1"]
        shown = ["-fps_mode", "passthrough", *until, "-f", "framemd5", str(out)]
        return ["ffmpeg", "-y", "-v", "error", *_ffmpeg_source(transport, codec, port, sdp), *shown]
    if peer == "GStreamer":
        end = f"{codec.parser} ! {codec.caps} ! filesink location={out}"
        return ["gst-launch-1.0", "-e", "-q", *shlex.split(f"{_gstreamer_source(transport, codec, port)} ! {end}")]
    return _vlc_receiver(transport, port, out)


def _ffmpeg_source(transport: str, codec: Codec, port: int, sdp: Path) -> list[str]:
    probing = ["-probesize", "500000", "-analyzeduration", "300000"]
    of = {
        "udp": ["-protocol_whitelist", "file,udp,rtp", "-i", str(sdp)],
        "ts": [*probing, "-f", "mpegts", "-i", f"udp://127.0.0.1:{port}?fifo_size=100000&timeout=6000000"],
        # Without a description it opens its socket once more behind the first packet, and loses what comes meanwhile.
        "ts+rtp": ["-protocol_whitelist", "file,udp,rtp", *probing, "-i", str(sdp)],
        "tcp": [*probing, "-f", codec.ffmpeg, "-i", f"tcp://127.0.0.1:{port}?listen=1"],
        "ts+tcp": [*probing, "-f", "mpegts", "-i", f"tcp://127.0.0.1:{port}?listen=1"],
    }
    if transport not in of:
        raise Unable("FFmpeg does not know RFC 4571")
    return of[transport]


def _gstreamer_source(transport: str, codec: Codec, port: int) -> str:
    datagrams = f"udpsrc address=127.0.0.1 port={port} buffer-size=2000000"
    stream = f"tcpserversrc host=127.0.0.1 port={port}"
    in_stream = codec.rtp.replace("application/x-rtp", "application/x-rtp-stream")
    of_ts = "application/x-rtp,media=video,clock-rate=90000,encoding-name=MP2T,payload=33"
    return {
        "udp": f"{datagrams} caps={codec.rtp} ! {codec.depayloader}",
        "ts": f"{datagrams} ! tsdemux",
        "ts+rtp": f"{datagrams} caps={of_ts} ! rtpmp2tdepay ! tsdemux",
        "tcp": stream,
        "rtp+tcp": f"{stream} ! {in_stream} ! rtpstreamdepay ! {codec.depayloader}",
        "ts+tcp": f"{stream} ! tsdemux",
    }[transport]


def _vlc_receiver(transport: str, port: int, out: Path) -> list[str]:
    places = {"ts": f"udp://@127.0.0.1:{port}", "ts+rtp": f"rtp://@127.0.0.1:{port}"}
    if transport not in places:
        raise Unable("VLC listens for no TCP, and Debian's has no live555 for RTP of video")
    return ["cvlc", "--quiet", places[transport], "--sout", f"#std{{access=file,mux=ts,dst={out}}}"]


def sending_command(peer: str, transport: str, codec: Codec, held: Path, port: int) -> list[str]:
    """A sender of a peer's, which paces itself."""
    if peer == "FFmpeg":
        places = {
            "udp": ["-f", "rtp", f"rtp://127.0.0.1:{port}"],
            "ts": ["-f", "mpegts", f"udp://127.0.0.1:{port}?pkt_size=1316"],
            "ts+rtp": ["-f", "rtp_mpegts", f"rtp://127.0.0.1:{port}"],
            "tcp": ["-f", codec.muxer, f"tcp://127.0.0.1:{port}"],
            "ts+tcp": ["-f", "mpegts", f"tcp://127.0.0.1:{port}"],
        }
        if transport not in places:
            raise Unable("FFmpeg does not know RFC 4571")
        return ["ffmpeg", "-v", "error", "-re", "-i", str(held), "-c", "copy", *places[transport]]
    if peer == "GStreamer":
        datagrams, stream = f"udpsink host=127.0.0.1 port={port}", f"tcpclientsink host=127.0.0.1 port={port} sync=true"
        source = f"filesrc location={held} ! matroskademux ! {codec.parser}"
        of = {
            "udp": f"{codec.payloader} ! {datagrams}",
            "ts": f"mpegtsmux alignment=7 ! {datagrams}",
            "ts+rtp": f"mpegtsmux alignment=7 ! rtpmp2tpay ! {datagrams}",
            "tcp": f"{codec.caps} ! {stream}",
            "rtp+tcp": f"{codec.payloader} ! rtpstreampay ! {stream}",
            "ts+tcp": f"mpegtsmux ! {stream}",
        }
        return ["gst-launch-1.0", "-q", *shlex.split(f"{source} ! {of[transport]}")]
    raise Unable("not tried")


PORTS = itertools.count(20_000 + 2 * (os.getpid() % 10_000), 4)


def free_port() -> int:
    """An even port of UDP and TCP that is free, with the one above it."""
    for port in PORTS:
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
            for kind, number in itertools.product((socket.SOCK_DGRAM, socket.SOCK_STREAM), (port, port + 1)):
                stack.enter_context(socket.socket(socket.AF_INET, kind)).bind(("127.0.0.1", number))
            return port
    raise AssertionError("the list has no end")


def is_bound(port: int) -> bool:
    """Whether something of this machine receives at a port of UDP, or listens at one of TCP."""
    end = f":{port:04X}"
    for name, states in (("udp", None), ("udp6", None), ("tcp", "0A"), ("tcp6", "0A")):
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[1].endswith(end) and states in (None, fields[3]):
                return True
    return False


@contextlib.contextmanager
def started(command: Sequence[str], port: int | None) -> Iterator[subprocess.Popen[str]]:
    """A program that is started, and where a port is given receives at it; it is ended with the context."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1] / "python")}
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            for _ in range(200):
                if port is None or process.poll() is not None or is_bound(port):
                    break
                time.sleep(0.05)
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def ended(process: subprocess.Popen[str], patience_s: float) -> str:
    """What a program said to its end; one that does not end by itself is interrupted, as by Ctrl-C."""
    for number in (None, signal.SIGINT, signal.SIGINT, signal.SIGKILL):
        if number is not None:
            process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=patience_s)[1]
    return ""


def to_peer(peer: str, transport: str, codec: Codec, folder: Path) -> Outcome:
    """framewire sends, a peer receives."""
    source, port, sdp = movie(codec, folder), free_port(), folder / "stream.sdp"
    out = folder / f"received.{codec.suffix}"
    for path in (out, sdp):
        path.unlink(missing_ok=True)
    command = receiving_command(peer, transport, codec, port, out, sdp)
    with tempfile.TemporaryDirectory() as runs:
        words = ["send", str(source), "--to", f"127.0.0.1:{port}", "--transport", transport, "--out", f"{runs}/sent"]
        if transport in DESCRIBED:  # its receiver may need the description first
            with started(framewire(*words, "--sdp", str(sdp), "--delay", "4"), None) as sender:
                while not sdp.exists() and sender.poll() is None:
                    time.sleep(0.05)
                with started(command, port) as receiver:
                    sent = ended(sender, 30)
                    said = ended(receiver, 3)
        else:
            with started(command, port) as receiver:
                time.sleep(0.5)
                with started(framewire(*words), None) as sender:
                    sent = ended(sender, 30)
                said = ended(receiver, 8 if peer == "FFmpeg" else 2)
        if not (Path(runs) / "sent" / "run.json").exists():
            raise RuntimeError(f"framewire did not send: {sent}")
    return compared(out, source, codec, said, KEPT if peer == "FFmpeg" and transport in DESCRIBED else 0)


def from_peer(peer: str, transport: str, codec: Codec, folder: Path) -> Outcome:
    """A peer sends, framewire receives."""
    source, port, sdp = movie(codec, folder), free_port(), folder / "stream.sdp"
    command = sending_command(peer, transport, codec, folder / f"{codec.suffix}.mkv", port)
    description = ["--codec", codec.suffix]
    if (peer, transport) == ("FFmpeg", "udp"):  # which has the parameter sets in its description alone
        run([*command[:-3], "-t", "0.1", "-sdp_file", str(sdp), *command[-3:]])
        description = ["--sdp", str(sdp)]
    with tempfile.TemporaryDirectory() as runs:
        out = Path(runs) / "came"
        words = ["receive", f"127.0.0.1:{port}", "--transport", transport, *description, "--out", str(out)]
        with started(framewire(*words, "--silence", "2"), port) as receiver:
            with started(command, None) as sender:
                sent = ended(sender, 15)
            said = ended(receiver, 20)
        document = out / "run.json"
        if not document.exists():
            raise RuntimeError(f"framewire did not receive: {said}; {sent}")
        flow = json.loads(document.read_text())["flows"][0]
        refused = "; ".join(flow["rejections"][:1])
        return compared(out / "received" / f"movie.{codec.suffix}", source, codec, first_line(sent) or refused)


def fetching_command(peer: str, transport: str, codec: Codec, url: str, out: Path) -> list[str]:
    """A peer's client of a server, which writes the elementary stream or FFmpeg's list of its frames."""
    if peer == "FFmpeg":
        interleaved = ["-rtsp_transport", "tcp"] if transport == "rtsp" else []
        shown = ["-map", "0:v", "-fps_mode", "passthrough", "-f", "framemd5", str(out)]
        return ["ffmpeg", "-y", "-v", "error", *interleaved, "-i", url, *shown]
    if peer == "GStreamer":
        client = "souphttpsrc" if _has_element("souphttpsrc") else "curlhttpsrc"
        if transport != "rtsp" and not _has_element(client):
            raise Unable("no client of HTTP is installed (plugins of libsoup or curl)")
        source = {
            "http": f"{client} location={url} ! qtdemux",
            "http+ts": f"{client} location={url} ! tsdemux",
            "rtsp": f"rtspsrc protocols=tcp location={url} ! {codec.depayloader}",
        }[transport]
        return [
            "gst-launch-1.0",
            "-q",
            *shlex.split(f"{source} ! {codec.parser} ! {codec.caps} ! filesink location={out}"),
        ]
    raise Unable("VLC's client writes no stream to compare; docs/serving.md says what it shows")


def _has_element(name: str) -> bool:
    return not subprocess.run(["gst-inspect-1.0", "--exists", name], check=False).returncode


def served_to_peer(peer: str, transport: str, codec: Codec, folder: Path) -> Outcome:
    """framewire serves, a peer fetches or plays."""
    source, port, out = movie(codec, folder), free_port(), folder / f"received.{codec.suffix}"
    out.unlink(missing_ok=True)
    scheme = transport.split("+")[0]
    command = fetching_command(peer, transport, codec, f"{scheme}://127.0.0.1:{port}{SERVED[transport]}", out)
    with tempfile.TemporaryDirectory() as runs:
        held = Path(runs) / "movie.mkv"
        shutil.copy(folder / f"{codec.suffix}.mkv", held)
        words = ["send", str(held), "--serve", f"{scheme}://127.0.0.1:{port}/", "--out", f"{runs}/served"]
        with started(framewire(*words), port) as server:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
            server.send_signal(signal.SIGTERM)
            said = server.communicate(timeout=20)[1]
    if server.returncode:
        raise RuntimeError(f"framewire did not serve: {said}")
    return compared(out, source, codec, done.stderr)


WAYS = {"to": to_peer, "from": from_peer}


def cell(way: str, peer: str, transport: str, folder: Path, codecs: Sequence[Codec] = CODECS) -> str:
    """The codecs that come whole, and of the others what comes instead."""
    whole, other = [], []
    if transport in SERVED and way == "from":
        return ""
    for codec in codecs:
        try:
            outcome = (served_to_peer if transport in SERVED else WAYS[way])(peer, transport, codec, folder)
        except Unable as unable:
            return str(unable)
        print(f"{way:4} {peer:9} {transport:8} {codec.name:6} {outcome}", file=sys.stderr, flush=True)
        if outcome.is_whole:
            whole.append(codec.name)
        else:
            other.append(f"{codec.name}: {outcome.frames} of {outcome.of} frames")
    return "; ".join([", ".join(whole), *other] if whole else other)


def table(folder: Path) -> list[str]:
    """The rows of the page."""
    peers = [peer for peer, program in PEERS.items() if shutil.which(program)]
    heads = [f"{way} {peer}" for peer in peers for way in WAYS if (way, peer) != ("from", "VLC")]
    rows = ["| transport | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    for transport in (*TRANSPORTS, *SERVED):
        cells = [cell(*head.split(), transport, folder) for head in heads]
        rows.append(f"| `{transport}` | " + " | ".join(cells) + " |")
    return rows


BEGIN, END = "<!-- peers: benches/peers.py -->", "<!-- end of peers -->"


def main() -> None:
    """Makes the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into docs/real.md")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = table(Path(folder))
    print("\n".join(rows))
    if asked.write:
        text = PAGE.read_text(encoding="utf-8")
        block = re.compile(f"{re.escape(BEGIN)}.*{re.escape(END)}", re.DOTALL)
        joined = "\n".join(rows)
        PAGE.write_text(block.sub(lambda _: f"{BEGIN}\n{joined}\n{END}", text), encoding="utf-8")


if __name__ == "__main__":
    main()
