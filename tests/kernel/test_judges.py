"""Real programs as judges of the models of pages and videos, in virtual time and over the same links."""

from __future__ import annotations

import shutil
from collections import deque
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

import pytest
from test_kernel import _kernel_permitted  # noqa: F401, the fixture of both files

from judges.__main__ import all_cases, page, read_record
from judges.cases import PAGES, PageCase, page_cases
from judges.comparison import Comparison
from judges.links import Link
from judges.loads import http2_loads, model_loads
from judges.page import write_certificate
from judges.play import choose
from judges.videos import VideoCase

GUIDE = Path(__file__).parents[2] / "docs" / "guide"

RECORD = read_record(GUIDE)

needs_kernel = pytest.mark.usefixtures("_kernel_permitted")

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")

needs_nghttp2 = pytest.mark.skipif(
    any(shutil.which(program) is None for program in ("nghttp", "nghttpd")), reason="nghttp2 is not installed"
)


def test_the_page_has_the_table_of_its_record() -> None:
    assert (GUIDE / "judges.md").read_text(encoding="utf-8") == page(RECORD)
    assert [row["case"] for row in RECORD] == [asdict(case) for case in all_cases()]


@pytest.mark.parametrize("name", PAGES)
def test_the_site_has_the_resources_of_the_page(name: str, tmp_path: Path) -> None:
    judged = PAGES[name]
    judged.write_site(tmp_path / "files")
    sizes = {file.name: file.stat().st_size for file in (tmp_path / "files").iterdir()}
    assert sizes == {file: size for file, _, size in judged.resources()}
    document = (tmp_path / "files" / "index.html").read_text(encoding="ascii")
    positions = [
        document.index(f"/{file}") for file, kind, _ in judged.resources() if kind in ("css", "script", "image")
    ]
    # At its end, so that nghttp knows the resources when the document is complete; or at its beginning.
    late = len(document) - 2_000
    assert all((position < 2_000) if judged.early_links else (position > late) for position in positions)


@needs_openssl
def test_a_certificate_grows_with_its_names(tmp_path: Path) -> None:
    lengths = []
    for names in (10, 20):
        write_certificate(tmp_path, names)
        lengths.append((tmp_path / "cert.pem").stat().st_size)
    assert lengths[0] < lengths[1]


def test_a_player_keeps_to_the_throughput_of_its_segments() -> None:
    rates = [1_000_000, 2_000_000, 3_000_000]
    assert choose(rates, deque()) == 1_000_000
    assert choose(rates, deque([0.5e6])) == 1_000_000
    # The harmonic mean of 1.5 and 6 Mbit/s is 2.4; the arithmetic one is 3.75.
    assert choose(rates, deque([1.5e6, 6e6])) == 2_000_000


def compare(document: str, link: Link, *, loads: int = 1) -> dict[str, Comparison]:
    """Return the comparison of a case of the page, with its first seed."""
    case = PageCase("HTTP/2", document, link)
    assert case in page_cases()
    return case.compare(seeds=1, loads=loads)


@needs_kernel
@needs_nghttp2
@needs_openssl
@pytest.mark.parametrize("queue", ["droptail:limit=100", "fq_codel"])
def test_a_page_over_http2_loads_as_by_nghttp(queue: str) -> None:
    compared = compare("40 kB", Link(queue, 20))
    # The deviations of the page are -0.1 and -1.4 % here, and at most 5.7 % in all cases without a download.
    assert abs(compared["page load"].deviation.mean) < 3
    # Records of TLS end later than frames: -4.1 and -3.4 %.
    assert abs(compared["first render"].deviation.mean) < 6
    assert abs(compared["html"].deviation.mean) < 2


@needs_kernel
@needs_nghttp2
@needs_openssl
@pytest.mark.parametrize("queue", ["droptail:limit=100", "fq_codel"])
def test_the_slow_start_of_linux_gives_the_time_of_nghttp(queue: str) -> None:
    link = Link(queue, 100)
    (model,) = model_loads(PAGES["30 kB"], link, 1, loads=1, think_s=1.0, congestion="reno")
    (program,) = http2_loads(PAGES["30 kB"], link, 1, loads=1, think_s=1.0, congestion="reno")
    # 1,271 and 1,258 ms behind drop-tail, 1,349 and 1,350 ms under FQ-CoDel. With a window that grows only when it is
    # full, the model takes 1,346 and 1,417 ms.
    assert model.load_s == pytest.approx(program.load_s, rel=0.01)


@needs_kernel
@needs_nghttp2
@needs_openssl
@pytest.mark.slow
def test_a_page_beside_a_download_loads_as_by_nghttp() -> None:
    compared = compare("40 kB", Link("fq_codel", 20, download=True), loads=8)
    # Over eight seeds the deviations are -0.1 ± 0.8 % and -0.0 ± 0.8 %.
    assert abs(compared["page load"].deviation.mean) < 5
    assert abs(compared["first render"].deviation.mean) < 5
    # The download takes half of the link: alone the page takes 0.8 s.
    assert compared["page load"].program.mean > 1_200


@needs_kernel
@needs_openssl
@pytest.mark.skipif(find_spec("aioquic") is None, reason="aioquic is not installed")
@pytest.mark.slow
def test_a_page_over_http3_loads_as_by_aioquic() -> None:
    case = PageCase("HTTP/3", "one origin", Link("droptail:limit=100", 20))
    assert case in page_cases()
    compared = case.compare()
    # The deviations are -1.6 and +2.1 % here, and at most 8.9 and 6.6 % in all cases without a download.
    assert abs(compared["page load"].deviation.mean) < 4
    assert abs(compared["html"].deviation.mean) < 4


@needs_kernel
@pytest.mark.slow
@pytest.mark.parametrize("queue", ["droptail:limit=100", "fq_codel"])
def test_a_player_chooses_the_rates_of_the_model(queue: str) -> None:
    case = VideoCase(Link(queue, 20), seconds=42)
    # The same rates at the same times: both worlds differ by the headers of HTTP.
    assert case.model(1) == pytest.approx(case.program(1), rel=0.01, abs=1e-6)
