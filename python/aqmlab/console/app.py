"""The console's pages."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from aqmlab._core import SpecError
from aqmlab.campaigns.failures import Failures
from aqmlab.console import cell_list, live_charts, network, overview, queries, third_party
from aqmlab.console.auth import Guard, Rejected, form
from aqmlab.console.forms import job_requests
from aqmlab.console.forms.pages import FormPages
from aqmlab.console.jobs import Job, Jobs
from aqmlab.console.reports import Reports
from aqmlab.reports import narrative
from aqmlab.reports.ranking import rankings
from aqmlab.results.notes import notes
from aqmlab.running import process
from aqmlab.storage.errors import StoreError
from aqmlab.store.annotations import MAX_NOTE, MAX_TAG, MAX_TAGS, Annotation, Annotations
from aqmlab.store.store import Store
from aqmlab.ui import canvas
from aqmlab.ui.escaping import visible
from aqmlab.ui.messages import logger


class Console:
    """The pages about one store."""

    def __init__(self, out: Path, host: str, watched_request: job_requests.JobRequest | None = None) -> None:
        self._out = out
        self._watched_request = watched_request
        self._jobs = Jobs()
        self._reports = Reports()
        self._cell_table = cell_list.CellTable()
        self._store = Store(out)
        self._annotations = Annotations(out)
        self._pages = Environment(
            loader=ChoiceLoader([PackageLoader("aqmlab.console"), PackageLoader("aqmlab.reports")]),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
        )
        self._forms = FormPages(self._page, self._store, out, self._jobs, lambda: self.guard.csrf)
        app = Starlette(
            routes=[
                Route("/", self._cells),
                Route("/compare", self._compare),
                Route("/overview", self._overview),
                Route("/charts.json", self._charts),
                Route("/live.json", self._live_charts),
                Route("/cells/{key}", self._cell),
                Route("/cells/{key}/delay.svg", self._delay),
                Route("/annotations", self._annotate, methods=["POST"]),
                Route("/pending", self._pending),
                Route("/cells/{key}/explain", self._explain, methods=["POST"]),
                Route("/report", self._report),
                *self._forms.routes,
                Route("/runs/{number:int}", self._run),
                Route("/runs/{number:int}/events", self._events),
                Route("/runs/{number:int}/progress", self._progress),
                Route("/runs/{number:int}/stop", self._stop, methods=["POST"]),
                Mount("/static/reports", StaticFiles(packages=[("aqmlab.reports", "static")])),
                Mount("/static/vega", StaticFiles(packages=[("aqmlab.reports", "vendored")])),
                Mount("/static", StaticFiles(packages=[("aqmlab.console", "static")])),
            ],
            exception_handlers={
                Rejected: self._reject,
                SpecError: self._reject,
                StoreError: self._reject,
                HTTPException: self._reject,
            },
            lifespan=self._lifespan,
        )
        self._pages.filters["code"] = _code
        self._pages.globals["integrity"] = third_party.integrity
        self._pages.globals["has_live"] = process.PROGRAM.exists()
        self._pages.globals["palette"] = canvas.PALETTE
        self._pages.globals["visible"] = visible
        self._pages.globals["max_characters"] = {"tags": MAX_TAGS * (MAX_TAG + 1), "note": MAX_NOTE}
        self.guard = Guard(app, host=host)
        self.watched_job: Job | None = None
        """The job for which the console was opened."""
        self._watcher: asyncio.Task[None] | None = None
        """The task that writes a message in the terminal when this job has ended."""

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        if self._watched_request is not None:
            self.watched_job = await self._jobs.start(self._watched_request, in_terminal=True)
            self._watcher = asyncio.create_task(self._log_end(self.watched_job))
        yield

    async def close(self) -> None:
        """Stop all jobs, so that pending requests can be answered."""
        if self._watcher is not None:
            self._watcher.cancel()
        self._reports.end()
        await self._jobs.end()

    async def _log_end(self, job: Job) -> None:
        await job.wait()
        logger.info("the page stays until Ctrl-C")

    async def _cells(self, request: Request) -> Response:
        view = cell_list.View.from_query(request.query_params)
        annotated = await run_in_threadpool(self._annotations.load)
        page = self._page(
            "cells",
            view=view,
            list=await run_in_threadpool(self._cell_table.page, self._store, view, annotated),
            annotations=annotated,
            empty=Annotation(),
            pending=await self._pending_cells(),
            max_compared=cell_list.MAX_COMPARED,
            titles=cell_list.TITLES,
            filters=cell_list.FILTERS,
            ages=cell_list.AGES,
            text_of=cell_list.text_of,
            is_number=cell_list.is_number,
        )
        if request.headers.get("HX-Trigger") == "view":
            page.headers["HX-Replace-Url"] = view.address()
        elif "HX-Request" in request.headers and "HX-Trigger" not in request.headers:
            # A link, which has no name, sends the form's fields too: its address would say some of them twice.
            page.headers["HX-Push-Url"] = view.address(page=view.page)
        return page

    async def _annotate(self, request: Request) -> Response:
        """Save the tags and the note of a cell or an experiment."""
        values = await form(request, self.guard.csrf)
        subject = values.get("subject", "")
        is_experiment = await run_in_threadpool(self._cell_table.has_experiment, self._store, subject)
        if not is_experiment:
            await run_in_threadpool(queries.result, self._store, subject)
        try:
            annotation = Annotation.parse(values.get("tags", ""), values.get("note", ""))
        except ValueError as error:
            raise Rejected(400, str(error)) from None
        await run_in_threadpool(self._annotations.save, subject, annotation)
        return RedirectResponse(f"/?experiment={subject}" if is_experiment else f"/cells/{subject}", 303)

    async def _pending(self, _: Request) -> Response:
        """Return the cells in progress and the failed cells; the fragment polls while a job runs."""
        pending = await self._pending_cells()
        page = self._page("pending", pending=pending)
        if not pending["jobs"]:
            page.headers["HX-Trigger"] = "ended"
        return page

    async def _pending_cells(self) -> Mapping[str, Any]:
        failures = await run_in_threadpool(Failures(self._out).load)
        return {
            "jobs": [(job, _running_cells(job)) for job in self._jobs.list_all() if job.exit_code is None],
            "failures": sorted(failures.values(), key=lambda failure: failure.at, reverse=True),
        }

    async def _delay(self, request: Request) -> Response:
        result = await run_in_threadpool(queries.result, self._store, request.path_params["key"])
        return Response(await run_in_threadpool(cell_list.sparkline, result), media_type="image/svg+xml")

    async def _compare(self, request: Request) -> Response:
        comparison = await self._comparison(request.query_params.getlist("cell"))
        return self._page(
            "compare",
            comparison=comparison,
            styles=comparison.styles,
            parts=await run_in_threadpool(queries.tables, comparison),
            rankings=rankings,
            notes=narrative.notes,
            query=urlencode([("cell", key) for key in request.query_params.getlist("cell")]),
        )

    async def _overview(self, request: Request) -> Response:
        view = cell_list.View.from_query(request.query_params)
        annotated = await run_in_threadpool(self._annotations.load)
        try:
            cells = await run_in_threadpool(self._cell_table.select, self._store, view, annotated)
        except ValueError as error:
            raise Rejected(400, str(error)) from None
        number = request.query_params.get("number", overview.DEFAULT)
        found = await run_in_threadpool(overview.overview, cells, number, view.page)
        return self._page("overview", view=view, overview=found, titles=overview.NUMBERS)

    async def _charts(self, request: Request) -> Response:
        """Return the figures of a comparison for its script."""
        comparison = await self._comparison(request.query_params.getlist("cell"))
        return JSONResponse(await run_in_threadpool(comparison.record))

    async def _live_charts(self, _: Request) -> Response:
        """Return the figures of a job in progress for its script, which adds the rows."""
        return JSONResponse(await run_in_threadpool(live_charts.record))

    async def _comparison(self, keys: Sequence[str]) -> queries.Comparison:
        return await run_in_threadpool(queries.comparison, self._store, tuple(keys))

    async def _cell(self, request: Request) -> Response:
        key = request.path_params["key"]
        comparison = await self._comparison([key])
        result = await run_in_threadpool(queries.result, self._store, key)
        return self._page(
            "cell",
            key=key,
            name=str(result.cell),
            headline=queries.headline(result),
            parts=await run_in_threadpool(queries.tables, comparison),
            annotation=(await run_in_threadpool(self._annotations.load)).get(key, Annotation()),
            comparison=comparison,
            styles=comparison.styles,
            notes=notes([result]),
            spec=json.dumps(result.cell.resolved, indent=2),
            metadata=json.dumps(result.metadata, indent=2),
            directory=str(result.location),
            network=await run_in_threadpool(network.of_result, result),
            slowest=job_requests.SLOWEST if job_requests.can_explain(result) else 0,
            explanations=[job for job in self._jobs.list_all() if job.request.explained == key],
        )

    async def _explain(self, request: Request) -> Response:
        """Start a job that explains the slowest requests of a cell."""
        await form(request, self.guard.csrf)
        result = await run_in_threadpool(queries.result, self._store, request.path_params["key"])
        job = await self._jobs.start(job_requests.explanation(result))
        return RedirectResponse(f"/runs/{job.number}", 303)

    async def _report(self, request: Request) -> Response:
        keys = request.query_params.getlist("cell")
        results = await run_in_threadpool(queries.results, self._store, keys)
        page = await self._reports.make(self._out, [result.location.name for result in results], request)
        # A download: the content security policy of these pages would block its scripts.
        return Response(
            page, media_type="text/html", headers={"Content-Disposition": 'attachment; filename="report.html"'}
        )

    async def _run(self, request: Request) -> Response:
        job = self._jobs.get(request.path_params["number"])
        output = queries.JobOutput()
        if job.exit_code is not None:
            output = await run_in_threadpool(queries.job_output, self._store, job.request, job.cells)
        query = urlencode([("cell", key) for key in output.cells[: cell_list.MAX_COMPARED]])
        return self._page(
            "run",
            job=job,
            output=output,
            query=query,
            max_compared=cell_list.MAX_COMPARED,
            charts=live_charts.charts(),
            styles={},
        )

    async def _progress(self, request: Request) -> Response:
        """Return the progress of a job's cells; the fragment polls for its next update."""
        job = self._jobs.get(request.path_params["number"])
        has_ended = job.exit_code is not None
        stored_count = await run_in_threadpool(self._store.count, job.cells)
        running_cells = [] if has_ended else _running_cells(job)
        # The cell that the page's charts show, otherwise the newest one.
        chosen = request.query_params.get("shown")
        known_cells = running_cells or list(job.latest_readings.values())
        shown = next((cell for cell in known_cells if cell["cell"] == chosen), known_cells[-1] if known_cells else None)
        spec = None if shown is None else job.request.specs.get(str(shown["cell"]))
        drawing = "" if spec is None or shown is None else network.of_reading(spec, shown)
        page = self._page(
            "progress",
            job=job,
            stored_count=stored_count,
            running_cells=running_cells,
            shown=shown,
            drawing=drawing,
        )
        if has_ended and "again" not in request.query_params:
            page.headers["HX-Trigger"] = "ended"
        return page

    async def _events(self, request: Request) -> Response:
        job = self._jobs.get(request.path_params["number"])

        async def events() -> AsyncIterator[str]:
            async for kind, data in job.events():
                yield f"event: {kind}\ndata: {json.dumps(data)}\n\n"
            yield f"event: end\ndata: {json.dumps(job.exit_code)}\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")

    async def _stop(self, request: Request) -> Response:
        await form(request, self.guard.csrf)
        job = self._jobs.get(request.path_params["number"])
        job.stop()
        return RedirectResponse(f"/runs/{job.number}", 303)

    async def _reject(self, _: Request, error: Exception) -> Response:
        page = self._page("rejected", message=error.detail if isinstance(error, HTTPException) else str(error))
        page.status_code = 400
        if isinstance(error, Rejected):
            page.status_code = error.status
        elif isinstance(error, HTTPException):
            page.status_code = error.status_code
        return page

    def _page(self, template: str, /, **values: object) -> HTMLResponse:
        page = self._pages.get_template(f"{template}.html")
        return HTMLResponse(
            page.render(**values, store=str(self._out), csrf=self.guard.csrf, runs=self._jobs.list_all())
        )


def _code(text: str) -> Markup:
    """Return a text whose parts between backquotes are code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _running_cells(job: Job) -> list[Mapping[str, object]]:
    return [reading for reading in job.latest_readings.values() if reading["now_s"] < reading["end_s"]]
