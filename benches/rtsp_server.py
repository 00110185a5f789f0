"""gst-rtsp-server with one movie, beside which framewire's server is measured (docs/serving.md), and which serves it.

It needs Debian's python3-gi and gir1.2-gst-rtsp-server-1.0, and so the system's Python:
``/usr/bin/python3 benches/rtsp_server.py MOVIE.mkv PORT [PARSER PAYLOADER]`` serves ``rtsp://127.0.0.1:PORT/movie``
until it is ended: H.264, unless these elements are for another codec. With ``--interleaved`` in front it sends no
datagrams.
"""

import sys

import gi  # type: ignore[import-not-found]

gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstRtsp, GstRtspServer  # type: ignore[import-not-found]  # noqa: E402


def main() -> None:
    """Serves until the process is ended."""
    options = [word for word in sys.argv[1:] if word.startswith("--")]
    movie, port, *elements = [word for word in sys.argv[1:] if not word.startswith("--")]
    parser, payloader = elements or ("h264parse", "rtph264pay config-interval=-1")
    payload_type = 32 if payloader == "rtpmpvpay" else 96  # RFC 3551, section 6
    Gst.init(None)
    server = GstRtspServer.RTSPServer()
    server.set_address("127.0.0.1")
    server.set_service(port)
    server.set_backlog(1_000)
    factory = GstRtspServer.RTSPMediaFactory()
    source = f"filesrc location={movie} ! matroskademux ! {parser}"
    factory.set_launch(f"( {source} ! {payloader} name=pay0 pt={payload_type} )")
    if "--interleaved" in options:
        factory.set_protocols(GstRtsp.RTSPLowerTrans.TCP)
    server.get_mount_points().add_factory("/movie", factory)
    server.attach(None)
    GLib.MainLoop().run()


if __name__ == "__main__":
    main()
