"""The experiments of Balk, Gerla, Sanadidi and Maggiorini's paper on VTP, repeated in virtual time.

"Adaptive Video Streaming: Pre-encoded MPEG-4 with Bandwidth Scaling", UCLA and Università degli Studi di Milano.
``plan`` says what is run, ``measure`` runs it, ``published`` is what the paper says. ``clips`` are the two movies by
their statistics. ``claims`` judges, ``figures`` draws, ``page`` and ``terminal`` show it.
"""
