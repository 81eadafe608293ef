"""The pages of forms: new experiments, their preview, and the parts that are added to them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from aqmlab.console.auth import Rejected, form
from aqmlab.console.forms import estimate, form_fields, form_lists, job_requests, starts, sync, toml_input
from aqmlab.console.jobs import Jobs
from aqmlab.disciplines.catalogue import disciplines
from aqmlab.results.cells import BASELINE
from aqmlab.results.notes import LONG_FIFO, long_fifos
from aqmlab.spec import testbeds
from aqmlab.store.store import Store
from aqmlab.topology import svg
from aqmlab.topology.network import topology
from aqmlab.ui.counts import pluralize

_COMPARISON = """\
testbed = "unc-2003"

[protocol]
warmup = "1 min"
duration = "2 min"
"""

_LIVE = """\
testbed = "unc-2003"

[link]
rate = "10 Mbit/s"

[users]
load = 80

[protocol]
warmup = "5 s"
duration = "20 s"
"""

_SWEEP = """\
testbed = "unc-2003"

[link]
rate = "20 Mbit/s"

[protocol]
warmup = "30 s"
duration = "1 min"
"""

_AXES = {
    "axes[0].path": "users.load",
    "axes[0].values": "80, 98",
    "axes[1].path": "queue.pi.q_ref",
    "axes[1].values": "5, 20, 80",
}

_STARTED = ("comparison", "sweep")
"""The forms that start from an experiment."""

_EMPTY_FORM: Mapping[str, Any] = {"form_values": {}, "filled": (), "invalid_field": "", "message": "", "focus": ""}
"""The values for a new part of a form."""

Render = Callable[..., HTMLResponse]


@dataclass(frozen=True)
class Preview:
    """The state of a form: what it runs, or what is wrong with it."""

    message: str = ""
    """The error; empty if the form is valid."""
    field: str = ""
    """The field of the error, if it has one."""
    line: int | None = None
    """The line of the TOML with the error."""
    drawing: str = ""
    """The network as SVG."""
    estimate: estimate.Estimate | None = None
    cells: str = ""
    """The number of cells of a comparison and their origin; empty for other forms."""
    notes: tuple[str, ...] = ()
    """Facts to know before the start."""


class FormPages:
    """The pages with forms."""

    def __init__(self, render: Render, store: Store, out: Path, jobs: Jobs, csrf: Callable[[], str]) -> None:
        self._render = render
        self._store = store
        self._out = out
        self._jobs = jobs
        self._csrf = csrf
        self.routes = [
            Route("/new", self._new),
            Route("/preview", self._preview, methods=["POST"]),
            Route("/keys.json", self._keys),
            Route("/parameters", self._parameters),
            Route("/schemes", self._schemes),
            Route("/rows", self._rows),
            Route("/runs", self._start, methods=["POST"]),
        ]

    async def _new(self, request: Request) -> Response:
        kind = request.query_params.get("kind", "comparison")
        if job_requests.by_name(kind) is job_requests.live:
            await run_in_threadpool(job_requests.check_live)
        return self._form(kind, initial_values(kind, request.query_params.get("from", "")), "")

    async def _start(self, request: Request) -> Response:
        values = form_lists.renumber(await form(request, self._csrf()))
        kind = values.get("kind", "comparison")
        make_request = job_requests.by_name(kind)
        try:
            job = await self._jobs.start(await run_in_threadpool(make_request, values, self._out))
        except Rejected as rejection:
            page = self._form(kind, values, str(rejection))
            page.status_code = rejection.status
            return page
        return RedirectResponse(f"/runs/{job.number}", 303)

    async def _preview(self, request: Request) -> Response:
        """Return the drawing, the estimate or the error of a form, and the side of it that was not edited."""
        typed = await form(request, self._csrf())
        kind = typed.get("kind", "comparison")
        values = form_lists.renumber(typed)
        shown = await run_in_threadpool(preview, kind, values, self._store, self._out)
        try:
            text = sync.merged(values)
        except Rejected:
            return self._render("preview", preview=shown, synced=None, new_text=None, refilled=False)
        spec = values.get("spec", "")
        # Fields in step with the TOML are left alone: somebody may be typing in one.
        refilled = spec != values.get(sync.SYNCED, "") or _testbed(sync.field_values(spec)) != _testbed(values)
        new_text = text if text != spec else None
        context = self._context(kind, {**_own_values(kind, values), **_filled(text)}, "") if refilled else {}
        return self._render(
            "preview", **{**context, "preview": shown, "synced": text, "new_text": new_text, "refilled": refilled}
        )

    async def _keys(self, _: Request) -> Response:
        """Return the keys of a spec for completion: path, meaning and choices."""
        rows = chain.from_iterable(
            form_fields.row(path, 0, kind)
            for path, known in form_fields.lists().items()
            if path != form_fields.AXES.path
            for kind in known.kinds
        )
        return JSONResponse(
            [
                {"path": field.path, "hint": field.hint, "default": field.default, "choices": field.choices}
                for field in (*form_fields.paths().values(), *rows)
            ]
        )

    def _form(self, kind: str, values: Mapping[str, str], message: str) -> HTMLResponse:
        return self._render(f"new_{kind}", **self._context(kind, values, message))

    def _context(self, kind: str, values: Mapping[str, str], message: str) -> dict[str, Any]:
        """Return the content of a form; an error is shown at its field or line, otherwise at the top."""
        invalid_field, line = _place(kind, values, message)
        if line and invalid_field in ("spec", "grid") and " line " not in message:
            message = f"line {line}: {message}"
        return {
            "kind": kind,
            "form_values": values,
            "inherited": _inherited(_testbed(values)),
            "filled": [field for field, value in values.items() if value],
            "message": message,
            "invalid_field": invalid_field,
            "focus": invalid_field,
            "disciplines": disciplines(),
            "groups": form_fields.groups(),
            "keys": form_fields.paths(),
            "lists": form_fields.lists(),
            "axes": form_fields.AXES,
            "rows": form_lists.rows(values),
            "starts": starts.starts() if kind in _STARTED else {},
        }

    async def _parameters(self, request: Request) -> Response:
        return self._render("parameters", parameters=form_fields.parameters(_discipline(request)), **_EMPTY_FORM)

    async def _rows(self, request: Request) -> Response:
        """Return a further row of a list, and the button for the next one."""
        query = request.query_params
        path, number = query.get("list", ""), query.get("number", "")
        if not (number.isascii() and number.isdecimal() and len(number) < 5):
            raise Rejected(400, "number: a whole number")
        row = form_lists.row(path, int(number), query.get("row", ""))
        empty_form = {**_EMPTY_FORM, "focus": row.paths[0]}
        return self._render("rows", row=row, list=form_fields.lists()[path], number=int(number) + 1, **empty_form)

    async def _schemes(self, request: Request) -> Response:
        """Return the schemes of a form with the scheme whose parameters are filled in."""
        values = request.query_params
        names = (field.path for field in form_fields.parameters(_discipline(request)))
        parameters = ",".join(
            f"{name.partition('.')[2]}={value}" for name in names if (value := "".join(values.get(name, "").split()))
        )
        scheme = ":".join(filter(None, [values["discipline"], parameters]))
        schemes = "\n".join([*job_requests.lines_of(values.get("schemes", "")), scheme])
        return self._render("schemes", **{**_EMPTY_FORM, "form_values": {"schemes": schemes}})


def initial_values(kind: str, start_name: str = "") -> Mapping[str, str]:
    """Return the initial values of a form, its fields in step with its TOML; ``start_name`` names their experiment.

    Raises
    ------
    Rejected
        When there is no such experiment, or the form starts from none.
    """
    if start_name:
        if kind not in _STARTED:
            raise Rejected(404, "from: this form starts from no experiment")
        start = starts.by_name(start_name)
        return {**_filled(start.text), "schemes": "\n".join(start.schemes), "from": start.name}
    texts = {"comparison": _COMPARISON, "sweep": _SWEEP, "live": _LIVE}
    return {**_filled(texts[kind]), **(_AXES if kind == "sweep" else {})}


def preview(kind: str, form_values: Mapping[str, str], store: Store, out: Path) -> Preview:
    """Return the network of a form and the time of its job, or its error; nothing is written."""
    plans = {
        "comparison": job_requests.plan_comparison,
        "sweep": job_requests.plan_sweep,
        "live": job_requests.plan_live,
    }
    if kind not in plans:
        raise Rejected(404, "there is no such form")
    try:
        planned = plans[kind](form_values, out)
    except Rejected as rejection:
        message = str(rejection)
        field, line = _place(kind, form_values, message)
        return Preview(message, field, line)
    time = estimate.real_time(planned.cells) if kind == "live" else estimate.estimate(planned.cells, store)
    network = topology(planned.experiment, planned.cells[-1].spec)
    if kind != "live":
        # Each scheme has a queue of its own.
        network = replace(network, links=tuple(replace(link, queue="") for link in network.links))
    fifos = list(dict.fromkeys(text for cell in planned.cells if cell.label != BASELINE for text in long_fifos(cell)))
    texts = (f"{LONG_FIFO} {'; '.join(fifos)}.",) if fifos else ()
    counted = _counted(planned) if kind == "comparison" else ""
    return Preview(drawing=svg.draw(network), estimate=time, cells=counted, notes=texts)


def _counted(planned: job_requests.Plan) -> str:
    """Return the number of cells of a comparison with their origin."""
    parts = [pluralize(len(planned.schemes), "scheme")]
    if any(cell.label == BASELINE for cell in planned.cells):
        parts.append("the uncongested network, which every comparison runs as its reference")
    text = " and ".join(parts)
    seeds = f"{text}; with {len(planned.seeds)} seeds each" if len(planned.seeds) > 1 else text
    return f"{seeds}: {pluralize(len(planned.cells), 'cell')}"


def _filled(text: str) -> dict[str, str]:
    """Return the values of a form with this TOML, in step."""
    return {**sync.field_values(text), "spec": text, sync.SYNCED: text}


def _testbed(form_values: Mapping[str, str]) -> str:
    return form_values.get("testbed", "")


def _inherited(testbed: str) -> dict[str, str]:
    """Return the values that a testbed gives to empty fields, by path."""
    if testbed not in testbeds.load_all():
        return {}
    tables = testbeds.find(testbed).tables
    return {
        f"{table}.{name}": str(value).lower() if isinstance(value, bool) else str(value)
        for table, values in tables.items()
        for name, value in values.items()
        if isinstance(value, (str, int, float))
    }


def _own_values(kind: str, form_values: Mapping[str, str]) -> dict[str, str]:
    """Return the values of the fields that are not part of the TOML."""
    return {name: form_values[name] for name in job_requests.NAMES[kind] if name in form_values}


def _place(kind: str, form_values: Mapping[str, str], message: str) -> tuple[str, int | None]:
    """Return the field of an error and the line of the TOML that it is about."""
    path = message.partition(":")[0]
    rows = form_lists.rows(form_values)
    row_fields = [name for row in chain.from_iterable(rows.values()) for name in (row.name, *row.paths)]
    field = _nearest_field(path, (*job_requests.NAMES[kind], *form_fields.paths(), *row_fields))
    if field in form_fields.paths() and not form_values.get(field):
        field = ""
    for name in ("spec", "grid"):
        text = form_values.get(name, "")
        if path == name and (stated := re.search(r"\bline (\d+)|at end of document", message)):
            return name, int(stated[1] or len(text.splitlines()))
        if line := toml_input.line(text, path):
            return field or name, line
    return field, None


def _discipline(request: Request) -> str:
    name = request.query_params.get("discipline", "")
    if name not in disciplines():
        raise Rejected(404, "there is no such discipline")
    return name


def _nearest_field(path: str, names: Collection[str]) -> str:
    """Return the name that a path of a spec begins with; an empty text if there is none."""
    while path not in names:
        path, *rest = re.split(r"(?=[.\[][^.\[]*$)", path)
        if not rest:
            return ""
    return path
