"""A live test picture over TCP that stays live: with ifdsink, a connection that is too slow loses frames and not time.
Tells of every frame that is dropped, and why.

    GST_PLUGIN_PATH=... /usr/bin/python3 live.py HOST PORT SECONDS

On Debian: apt install python3-gi gir1.2-gstreamer-1.0, and the Python is /usr/bin/python3.

A receiver to try it with, which takes about 100 kB/s of the 500 kB/s; start it first, then: live.py 127.0.0.1 5000 10

    gst-launch-1.0 -q tcpserversrc host=127.0.0.1 port=5000 ! identity sleep-time=40000 ! fakesink
"""

import sys

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402


def on_group_lost(_sink: Gst.Element, frame: int, rule: str) -> None:
    """Called by the streaming thread; the element has asked the encoder for a key frame already."""
    print(f"group lost with frame {frame}: {rule}")


def main() -> int:
    Gst.init(None)
    if len(sys.argv) != 4:
        print("usage: live.py HOST PORT SECONDS", file=sys.stderr)
        return 2
    host, port, seconds = sys.argv[1:]
    pipeline = Gst.parse_launch(
        f"videotestsrc is-live=true pattern=snow num-buffers={25 * int(seconds)}"
        " ! video/x-raw,width=640,height=360,framerate=25/1"
        " ! x264enc tune=zerolatency speed-preset=ultrafast bitrate=4000 key-int-max=25"
        f" ! ifdsink name=sink host={host} port={port} sync=false max-size-time=200000000 post-drop-messages=true"
    )
    sink = pipeline.get_by_name("sink")
    sink.connect("group-lost", on_group_lost)
    pipeline.set_state(Gst.State.PLAYING)

    status = 0
    kinds = Gst.MessageType.EOS | Gst.MessageType.ERROR | Gst.MessageType.ELEMENT
    bus = pipeline.get_bus()
    while message := bus.timed_pop_filtered(Gst.CLOCK_TIME_NONE, kinds):
        told = message.get_structure()
        if message.type == Gst.MessageType.ELEMENT:
            if told.has_name("framewire-frame-dropped"):
                frame, kind, rule = (told.get_value(field) for field in ("frame", "type", "rule"))
                print(f"frame {frame} ({kind}) dropped: {rule}")
            continue
        if message.type == Gst.MessageType.ERROR:
            error, details = message.parse_error()
            print(error.message, details, sep="\n", file=sys.stderr)
            status = 1
        break

    stats = sink.get_property("stats")
    print(f"{stats.get_value('sent')} frames sent, {stats.get_value('dropped')} dropped")
    pipeline.set_state(Gst.State.NULL)
    return status


if __name__ == "__main__":
    sys.exit(main())
