"""The result of a design rule: parameters, intermediate values, and the scheme to paste."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from aqmlab.design.control import Loop, Margins


@dataclass(frozen=True, kw_only=True)
class Value:
    """A number in a result, with its meaning, rule and source."""

    name: str
    value: float
    unit: str
    meaning: str
    rule: str
    source: str

    @property
    def text(self) -> str:
        """The value as written in a scheme."""
        if isinstance(self.value, int):
            return str(self.value)
        return f"{1e3 * self.value:.6g}ms" if self.unit == "s" else f"{self.value:.6g}"


@dataclass(frozen=True, kw_only=True)
class Design:
    """The parameters of one discipline for one link."""

    discipline: str
    parameters: tuple[Value, ...]
    """The parameters to set; the discipline's other parameters keep their defaults."""
    follows_from: tuple[Value, ...]
    """The intermediate values."""
    loop: Loop | None = None
    """The control loop with these parameters, if the rule is one of control theory."""

    @property
    def scheme(self) -> str:
        """The scheme as typed: ``pi:a=1.8e-05,...``."""
        return f"{self.discipline}:" + ",".join(f"{value.name}={value.text}" for value in self.parameters)

    @property
    def margins(self) -> Margins | None:
        """The stability margins of the loop."""
        return None if self.loop is None else self.loop.margins()

    def frame(self) -> pl.DataFrame:
        """Return a row for each number: the parameters, the intermediate values, and the margins of the loop.

        Returns
        -------
        polars.DataFrame
            ``name``, ``value``, ``unit``, ``meaning``, ``rule`` and ``source``.
        """
        values = (*self.parameters, *self.follows_from, *self.margin_values)
        rows = [{**asdict(value), "value": float(value.value)} for value in values]
        return pl.DataFrame(rows, schema={name: pl.Float64 if name == "value" else pl.String for name in rows[0]})

    @property
    def margin_values(self) -> tuple[Value, ...]:
        """The margins with their meanings; empty if the rule is not one of control theory."""
        if (margins := self.margins) is None:
            return ()
        loop, source = "the linear loop with TCP", self.parameters[0].source
        return tuple(
            Value(
                name=name,
                value=value,
                unit=unit,
                meaning=f"additional {lag} until oscillation",
                rule=loop,
                source=source,
            )
            for name, value, unit, lag in (
                ("phase margin", margins.phase_margin_deg, "degrees", "phase lag"),
                ("gain margin", margins.gain_margin_db, "dB", "gain"),
                ("delay margin", 1000 * margins.delay_margin_s, "ms", "delay"),
            )
        )

    def record(self) -> dict[str, Any]:
        """Return the result as one object."""
        return {
            "discipline": self.discipline,
            "scheme": self.scheme,
            "parameters": [asdict(value) for value in self.parameters],
            "follows_from": [asdict(value) for value in self.follows_from],
            "margins": None if self.margins is None else asdict(self.margins),
        }


def packets_per_sec(*, bits_per_sec: float, mean_packet: float = 500.0, overhead: float = 38.0) -> float:
    """Return C, the papers' capacity of a link in mean packets per second, frame overhead included.

    Examples
    --------
    >>> round(packets_per_sec(bits_per_sec=100e6))
    23234
    """
    check(bits_per_sec > 0, "rate", "above 0 bit/s", bits_per_sec)
    check(0 < mean_packet <= 65_535, "mean_packet", "between 1 B and 65535 B", mean_packet)
    return bits_per_sec / (8 * (mean_packet + overhead))


def capacity(packets_per_sec: float) -> Value:
    """Return C as an intermediate value."""
    return Value(
        name="C",
        value=packets_per_sec,
        unit="packets/s",
        meaning="capacity in mean packets",
        rule="rate / (8 (mean packet + overhead))",
        source="the link",
    )


def check(is_valid: bool, field: str, rule: str, value: float) -> None:
    """Raise a ``ValueError`` with the field's name and the accepted values unless ``is_valid``."""
    if not is_valid:
        raise ValueError(f"{field}: must be {rule}, got {value:g}")
