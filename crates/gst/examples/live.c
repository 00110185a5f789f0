/* A live test picture over TCP that stays live: with ifdsink, a connection that is too slow loses frames and not time.
 * Tells of every frame that is dropped, and why.
 *
 *   cc live.c -o live $(pkg-config --cflags --libs gstreamer-1.0)
 *   GST_PLUGIN_PATH=... ./live HOST PORT SECONDS
 *
 * A receiver to try it with, which takes about 100 kB/s of the 500 kB/s; start it first, then: ./live 127.0.0.1 5000 10
 *
 *   gst-launch-1.0 -q tcpserversrc host=127.0.0.1 port=5000 ! identity sleep-time=40000 ! fakesink
 */
#include <gst/gst.h>
#include <stdlib.h>

/* On the bus, because post-drop-messages=true. */
static void on_element_message(const GstMessage *message)
{
    const GstStructure *told = gst_message_get_structure((GstMessage *)message);
    guint64 frame = 0;
    if (told && gst_structure_has_name(told, "framewire-frame-dropped") &&
        gst_structure_get_uint64(told, "frame", &frame))
        g_print("frame %" G_GUINT64_FORMAT " (%s) dropped: %s\n", frame, gst_structure_get_string(told, "type"),
                gst_structure_get_string(told, "rule"));
}

/* Called by the streaming thread; the element has asked the encoder for a key frame already. */
static void on_group_lost(GstElement *sink, guint64 frame, const gchar *rule, gpointer data)
{
    (void)sink, (void)data;
    g_print("group lost with frame %" G_GUINT64_FORMAT ": %s\n", frame, rule);
}

int main(int argc, char **argv)
{
    gst_init(&argc, &argv);
    if (argc != 4) {
        g_printerr("usage: live HOST PORT SECONDS\n");
        return 2;
    }
    gchar *line = g_strdup_printf(
        "videotestsrc is-live=true pattern=snow num-buffers=%d ! video/x-raw,width=640,height=360,framerate=25/1 "
        "! x264enc tune=zerolatency speed-preset=ultrafast bitrate=4000 key-int-max=25 "
        "! ifdsink name=sink host=%s port=%s sync=false max-size-time=200000000 post-drop-messages=true",
        25 * atoi(argv[3]), argv[1], argv[2]);
    GError *error = NULL;
    gchar *details = NULL;
    GstElement *pipeline = gst_parse_launch(line, &error);
    g_free(line);
    if (error) {
        g_printerr("%s\n", error->message);
        return 1;
    }
    GstElement *sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
    g_signal_connect(sink, "group-lost", G_CALLBACK(on_group_lost), NULL);
    gst_element_set_state(pipeline, GST_STATE_PLAYING);

    GstBus *bus = gst_element_get_bus(pipeline);
    int status = 0;
    for (gboolean running = TRUE; running;) {
        GstMessage *message = gst_bus_timed_pop_filtered(bus, GST_CLOCK_TIME_NONE,
                                                         GST_MESSAGE_EOS | GST_MESSAGE_ERROR | GST_MESSAGE_ELEMENT);
        switch (GST_MESSAGE_TYPE(message)) {
        case GST_MESSAGE_ELEMENT:
            on_element_message(message);
            break;
        case GST_MESSAGE_ERROR:
            gst_message_parse_error(message, &error, &details);
            g_printerr("%s\n%s\n", error->message, details ? details : "");
            g_clear_error(&error);
            g_free(details);
            status = 1;
            running = FALSE;
            break;
        default:
            running = FALSE;
        }
        gst_message_unref(message);
    }

    GstStructure *stats = NULL;
    guint64 sent = 0, dropped = 0;
    g_object_get(sink, "stats", &stats, NULL);
    gst_structure_get(stats, "sent", G_TYPE_UINT64, &sent, "dropped", G_TYPE_UINT64, &dropped, NULL);
    g_print("%" G_GUINT64_FORMAT " frames sent, %" G_GUINT64_FORMAT " dropped\n", sent, dropped);

    gst_structure_free(stats);
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_object_unref(bus);
    gst_object_unref(sink);
    gst_object_unref(pipeline);
    return status;
}
