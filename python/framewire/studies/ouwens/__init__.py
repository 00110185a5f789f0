"""The measurements of J. Ouwens' thesis on MPEG-2 over IEEE 802.11b (TU/e and Philips Research, 2005), repeated.

``plan`` says what is measured, ``measure`` has it done, ``published`` is what the thesis found. ``tables``, ``figures``
and ``open_questions`` put the two side by side, ``criteria`` and ``effects`` judge, ``page`` and ``terminal`` show it.
"""
