"""The worlds that a test runs in, as parameters: the emulated one where it is to be had, in real time."""

from __future__ import annotations

import pytest
from test_emulated import capable

WORLDS = [
    "simulated",
    pytest.param(
        "emulated",
        marks=[
            pytest.mark.real_time,
            pytest.mark.skipif(capable() is not None, reason=f"no emulated world here: {capable()}"),
        ],
    ),
]
