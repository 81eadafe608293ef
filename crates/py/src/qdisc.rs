//! One queue discipline alone, driven packet by packet: `aqmlab.Queue` is the form that people use.

use std::sync::{Mutex, PoisonError};

use aqmlab_aqm::{self as aqm, Admission, Departure, Ecn, Fifo, LinkContext};
use aqmlab_sim::{DisciplineSpec, LinkSpec, QueueSpec, queue_stream};
use aqmlab_units::{Bytes, Time};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::SpecError;
use crate::faults::Faults;
use crate::law::PyLaw;
use crate::seen::{self, ECN};

/// 31 years: far inside what nanoseconds can say.
const LATEST_S: f64 = 1e9;

/// A queue discipline, and the time it has been told.
#[pyclass]
pub(crate) struct Qdisc {
    /// Never locked: what Python shares must only look as if it could be.
    queue: Mutex<Box<dyn aqm::Qdisc<usize> + Send>>,
    now: Time,
    faults: Faults,
}

fn spec_error(path: &str, error: impl std::fmt::Display) -> PyErr {
    SpecError::new_err(format!("{path}: {error}"))
}

/// A whole number between two others.
fn whole(name: &str, value: &Bound<'_, PyAny>, least: u32, most: u32) -> PyResult<u32> {
    let possible = value.extract().ok().filter(|number| (least..=most).contains(number));
    possible.ok_or_else(|| {
        let got = value.repr().map_or_else(|_| "what has no form".to_owned(), |text| text.to_string());
        PyValueError::new_err(format!("{name}: must be a whole number from {least} to {most}, got {got}"))
    })
}

/// The place in [`ECN`] of the field that is called `text`.
fn parse_ecn(text: &str) -> PyResult<usize> {
    ECN.iter().position(|(name, _)| *name == text).ok_or_else(|| {
        let names = ECN.map(|(name, _)| name).join(", ");
        PyValueError::new_err(format!("ecn: must be one of {names}, got {text:?}"))
    })
}

impl Qdisc {
    fn queue(&mut self) -> &mut dyn aqm::Qdisc<usize> {
        &mut **self.queue.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time in nanoseconds; it does not run backwards.
    fn clock(&self, name: &str, secs: f64) -> PyResult<Time> {
        if !(0.0..=LATEST_S).contains(&secs) {
            let message = format!("{name}: must be a time from 0 to {LATEST_S:e} s, got {secs} s");
            return Err(PyValueError::new_err(message));
        }
        let time = Time::from_secs_f64(secs);
        if time < self.now {
            let now = self.now.as_secs_f64();
            let message = format!("{name}: must not lie before {now} s, where the queue is, got {secs} s");
            return Err(PyValueError::new_err(message));
        }
        Ok(time)
    }

    /// Run the timers that `is_due`, and let the clock stand at `until`.
    fn run_timers(&mut self, py: Python<'_>, until: Time, is_due: impl Fn(Time) -> bool) -> PyResult<()> {
        while let Some(timer) = self.queue().poll_timeout()
            && is_due(timer)
        {
            // A discipline asks at the earliest for now.
            self.now = self.now.max(timer);
            self.queue().on_timeout(timer);
            py.check_signals()?;
        }
        self.now = until;
        self.faults.raise(py)
    }
}

#[pymethods]
impl Qdisc {
    #[new]
    #[pyo3(signature = (queue_json, rate, overhead, seed, make_law = None))]
    fn new(
        queue_json: &str,
        rate: Option<&str>,
        overhead: Option<&str>,
        seed: u64,
        make_law: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Qdisc> {
        let usual = LinkSpec::default();
        let rate = rate
            .map_or(Ok(usual.contexts()[0].rate), str::parse)
            .map_err(|error| spec_error("rate", error))?;
        let overhead =
            overhead.map_or(Ok(usual.overhead), str::parse).map_err(|error| spec_error("overhead", error))?;
        let link = LinkContext { rate, header: Bytes::ZERO, overhead, peak: None };
        let written = serde_json::from_str(queue_json).map_err(|error| spec_error("queue", error))?;
        let spec = QueueSpec::read(written, &link).map_err(|error| SpecError::new_err(error.to_string()))?;
        let rng = queue_stream(seed, 0);
        let faults = Faults::default();
        let queue: Box<dyn aqm::Qdisc<usize> + Send> = match (spec.discipline, make_law) {
            (DisciplineSpec::Known(config), _) => config.queue(&link, rng),
            (DisciplineSpec::Custom(custom), Some(make)) => {
                let law = PyLaw::new(make, link, rng, faults.clone())?;
                Box::new(Fifo::new(law, custom.limit))
            }
            (DisciplineSpec::Kernel { .. }, _) => {
                return Err(spec_error(
                    "queue.kernel",
                    "needs world = \"kernel\": this is a discipline of the Linux kernel",
                ));
            }
            (DisciplineSpec::Custom(custom), None) => {
                return Err(spec_error(
                    &format!("queue.{}", custom.name),
                    "this law has no implementation here",
                ));
            }
        };
        let queue = if spec.noecn { Box::new(aqm::WithoutEcn::new(queue)) } else { queue };
        Ok(Qdisc { queue: Mutex::new(queue), now: Time::ZERO, faults })
    }

    fn enqueue(
        &mut self,
        py: Python<'_>,
        size: &Bound<'_, PyAny>,
        flow: &Bound<'_, PyAny>,
        ecn: &str,
        at: f64,
    ) -> PyResult<&'static str> {
        let field = parse_ecn(ecn)?;
        let packet = aqm::Packet {
            size: Bytes::new(whole("size", size, 1, 65_535)?.into()),
            ecn: ECN[field].1,
            flow: whole("flow", flow, 0, u32::MAX)?,
        };
        let now = self.clock("at", at)?;
        // Within one instant a timeout comes before an arrival.
        self.run_timers(py, now, |timer| timer <= now)?;
        let admission = self.queue().enqueue(packet, field, now, &mut |_| ());
        self.faults.raise(py)?;
        Ok(match admission {
            Admission::Queued => "queued",
            Admission::Marked => "marked",
            Admission::DroppedEarly | Admission::DroppedForced | Admission::DroppedByLimit => "dropped",
        })
    }

    fn dequeue(&mut self, py: Python<'_>, at: f64) -> PyResult<Option<seen::Packet>> {
        let now = self.clock("at", at)?;
        // Within one instant a departure comes before a timeout.
        self.run_timers(py, now, |timer| timer < now)?;
        let departure = self.queue().dequeue(now, &mut |_| ());
        self.faults.raise(py)?;
        Ok(departure.map(|Departure { packet, payload, enqueued_at }| {
            // A discipline without ECN does not see the field that the packet arrived with.
            let ecn = if packet.ecn == Ecn::Ce { Ecn::Ce } else { ECN[payload].1 };
            seen::Packet::new(aqm::Packet { ecn, ..packet }, enqueued_at)
        }))
    }

    fn advance(&mut self, py: Python<'_>, to: f64) -> PyResult<()> {
        let now = self.clock("to", to)?;
        self.run_timers(py, now, |timer| timer <= now)
    }

    #[getter]
    fn now(&self) -> f64 {
        self.now.as_secs_f64()
    }

    #[getter]
    fn packets(&mut self) -> u32 {
        self.queue().state().packets
    }

    #[getter]
    fn bytes(&mut self) -> u64 {
        self.queue().state().bytes.get()
    }

    fn counters<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counters = self.queue().counters();
        let by_cause = [
            ("offered", counters.offered),
            ("queued", counters.queued),
            ("marked", counters.marked),
            ("dropped_early", counters.dropped_early),
            ("dropped_forced", counters.dropped_forced),
            ("dropped_by_limit", counters.dropped_by_limit),
            ("dropped_at_dequeue", counters.dropped_at_dequeue),
            ("evicted", counters.evicted),
            ("delivered", counters.delivered(self.packets())),
        ];
        let table = PyDict::new(py);
        by_cause.iter().try_for_each(|(name, count)| table.set_item(name, count))?;
        Ok(table)
    }

    fn probe<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut variables = Vec::new();
        self.queue().probe(&mut |name, value| variables.push((name, value)));
        self.faults.raise(py)?;
        let table = PyDict::new(py);
        variables.iter().try_for_each(|(name, value)| table.set_item(name, value))?;
        Ok(table)
    }
}
