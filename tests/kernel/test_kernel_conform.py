"""Controls of the Linux kernel held to the clauses of their standards."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_kernel import _kernel_permitted  # noqa: F401, the fixture of all files

from aqmlab._core import SpecError
from aqmlab.conformance import Verdict, conform

needs_kernel = pytest.mark.usefixtures("_kernel_permitted")


@needs_kernel
@pytest.mark.slow
def test_cubic_of_linux_grows_too_slowly_above_its_last_window(tmp_path: Path) -> None:
    cases = ["cubic-beta", "cubic-friendly-above", "cubic-response-1000-10ms"]
    beta, above, response = conform("cubic", cases=cases, world="kernel", out=tmp_path, progress=False)
    assert beta.verdict is Verdict.MEETS
    # RFC 9438, section 4.3, asks for a segment in a round trip.
    assert above.verdict is Verdict.FAILS
    assert above.seen == pytest.approx(0.47, abs=0.05)
    assert response.verdict is Verdict.NOT_COVERED
    assert "cubic-friendly-above" in response.reason


@needs_kernel
def test_a_window_that_linux_lowers_in_steps_is_one_reduction(tmp_path: Path) -> None:
    (once,) = conform("dctcp", cases=["dctcp-once-a-window"], world="kernel", out=tmp_path, progress=False)
    assert (once.verdict, once.seen) == (Verdict.MEETS, 1)


@needs_kernel
def test_a_case_that_needs_another_slow_start_is_not_covered(tmp_path: Path) -> None:
    (rise,) = conform("reno", cases=["hystart++-small-rise"], world="kernel", out=tmp_path, progress=False)
    assert (rise.verdict, rise.seen, rise.reason) == (Verdict.NOT_COVERED, None, "the kernel has its own hystart")


@needs_kernel
def test_a_control_that_linux_lacks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"tcp\.congestion: the kernel has no ledbat"):
        conform("ledbat", cases=["ledbat-target"], world="kernel", out=tmp_path, progress=False)
