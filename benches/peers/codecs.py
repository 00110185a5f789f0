"""The movies, and what is particular to their codecs, in the words of the peers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .programs import run

FRAMES = 75
"""Of each movie: three seconds."""


@dataclass(frozen=True)
class Codec:
    """A codec."""

    name: str
    suffix: str
    encoder: tuple[str, ...]
    demuxer: str
    """FFmpeg's name of its reader of such elementary streams."""
    muxer: str
    encoding_name: str
    """In RTP."""
    payload_type: int
    depayloader: str
    payloader: str
    parser: str
    caps: str
    """Of an elementary stream, in GStreamer."""
    in_ts: bool = True
    """Whether framewire carries it in a transport stream."""

    @property
    def rtp(self) -> str:
        """What its packets are called in GStreamer."""
        named = f"encoding-name={self.encoding_name},payload={self.payload_type}"
        return f"application/x-rtp,media=video,clock-rate=90000,{named}"


MPEG2 = Codec(
    "MPEG-2",
    "m2v",
    ("mpeg2video", "-b:v", "2M", "-g", "25", "-bf", "2"),
    "mpegvideo",
    "mpeg2video",
    "MPV",
    32,
    "rtpmpvdepay",
    "rtpmpvpay",
    "mpegvideoparse",
    "video/mpeg",
)
MPEG4 = Codec(
    "MPEG-4 part 2",
    "m4v",
    ("mpeg4", "-b:v", "2M", "-g", "25", "-bf", "2", "-bsf:v", "dump_extra=freq=keyframe"),
    "m4v",
    "m4v",
    "MP4V-ES",
    96,
    "rtpmp4vdepay",
    "rtpmp4vpay config-interval=1",
    "mpeg4videoparse",
    "video/mpeg,mpegversion=4,systemstream=false",
)
H264 = Codec(
    "H.264",
    "h264",
    ("libx264", "-preset", "veryfast", "-b:v", "1M", "-threads", "1", "-g", "25", "-bf", "2"),
    "h264",
    "h264",
    "H264",
    96,
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
    "H265",
    96,
    "rtph265depay",
    "rtph265pay config-interval=-1",
    "h265parse",
    "video/x-h265,stream-format=byte-stream,alignment=au",
)
AV1 = Codec(
    "AV1",
    "obu",
    ("libaom-av1", "-cpu-used", "8", "-b:v", "1M", "-g", "25", "-threads", "1"),
    "obu",
    "obu",
    "AV1",
    96,
    "rtpav1depay",
    "rtpav1pay",
    "av1parse",
    "video/x-av1,stream-format=obu-stream,alignment=tu",
    in_ts=False,
)
CODECS = (MPEG2, MPEG4, H264, H265, AV1)


def movie(codec: Codec, folder: Path) -> Path:
    """The movie as an elementary stream, and beside it in a container for peers that need times: `held`."""
    path = folder / f"movie.{codec.suffix}"
    if not path.exists():
        source = ["-f", "lavfi", "-i", "testsrc2=s=640x360:r=25:d=3"]
        quiet = ["ffmpeg", "-y", "-v", "error"]
        run([*quiet, *source, "-c:v", *codec.encoder, str(held(codec, folder))])
        run([*quiet, "-i", str(held(codec, folder)), "-c", "copy", "-f", codec.muxer, str(path)])
    return path


def held(codec: Codec, folder: Path) -> Path:
    """The movie in a container."""
    return folder / f"{codec.suffix}.mkv"
