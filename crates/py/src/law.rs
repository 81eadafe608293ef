//! A law written in Python, behind the seam of laws.
//!
//! Each call takes the interpreter's lock for itself, so that runs side by side take turns at it. The first error ends
//! the law's work: the driver of the law checks for it between two steps, and until then every packet passes. The contract
//! of a law is in `python/aqmlab/disciplines/custom/law.py`.

use aqmlab_aqm::{Aqm, LinkContext, QueueState, Verdict};
use aqmlab_sim::interned;
use aqmlab_units::{Stream, Time};
use pyo3::call::PyCallArgs;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::faults::{Faults, told};
use crate::seen;

/// The methods that a class may have, in the order of [`Hook`].
const HOOKS: [&str; 6] = ["on_enqueue", "on_dequeue", "on_overflow", "on_empty", "on_timeout", "probe"];

#[derive(Clone, Copy)]
enum Hook {
    Enqueue,
    Dequeue,
    Overflow,
    Empty,
    Timeout,
    Probe,
}

/// A law whose judgement is a Python object's.
pub(crate) struct PyLaw {
    object: Py<PyAny>,
    /// Its bound methods; `None` where its class leaves one out.
    hooks: [Option<Py<PyAny>>; HOOKS.len()],
    next_timeout: Option<Time>,
    /// The names that `probe` showed when the law was made.
    variables: Vec<&'static str>,
    is_over: bool,
    faults: Faults,
}

impl PyLaw {
    /// `make(link, rng)` makes the object, and says itself where it went wrong.
    pub(crate) fn new(
        make: &Bound<'_, PyAny>,
        link: LinkContext,
        rng: Stream,
        faults: Faults,
    ) -> PyResult<PyLaw> {
        let py = make.py();
        let object = make.call1((seen::LinkContext(link), seen::Stream(rng)))?;
        let base = py.import("aqmlab.disciplines.custom.law")?.getattr("Law")?;
        let mut hooks = [const { None }; HOOKS.len()];
        for (hook, name) in hooks.iter_mut().zip(HOOKS) {
            let own = object.get_type().getattr_opt(name)?;
            // What the base class has does nothing: not to call it saves its time.
            let inherited = |own: &Bound<'_, PyAny>| base.getattr(name).is_ok_and(|of_base| own.is(&of_base));
            if own.is_some_and(|own| !inherited(&own)) {
                *hook = Some(object.getattr(name)?.unbind());
            }
        }
        let mut law = PyLaw {
            object: object.unbind(),
            hooks,
            next_timeout: None,
            variables: Vec::new(),
            is_over: false,
            faults,
        };
        law.next_timeout = law.read_next_timeout(py, "__init__", Time::ZERO)?;
        law.variables = law.shown(py)?.into_iter().map(|(name, _)| interned(&name)).collect();
        Ok(law)
    }

    /// Call a method, unless the class leaves it out; `None` then.
    fn call<'py>(
        &self,
        py: Python<'py>,
        hook: Hook,
        arguments: impl PyCallArgs<'py>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(method) = &self.hooks[hook as usize] else { return Ok(None) };
        method
            .bind(py)
            .call1(arguments)
            .map(Some)
            .map_err(|error| self.raised(py, HOOKS[hook as usize], error))
    }

    /// Returns the error for an exception in the user's code.
    fn raised(&self, py: Python<'_>, method: &str, error: PyErr) -> PyErr {
        let class = self.object.bind(py).get_type();
        // With its traceback, which `value` leaves out.
        told(py, "raised", (class, method, error.into_value(py)))
    }

    /// The error that says that an answer is none.
    fn nonsense(&self, py: Python<'_>, method: &str, must: &str, got: &Bound<'_, PyAny>) -> PyErr {
        let class = self.object.bind(py).get_type();
        told(py, "nonsense", (class, method, must, got))
    }

    /// Do something with the object; the first error is the last time.
    fn attach<T>(&mut self, work: impl FnOnce(&mut PyLaw, Python<'_>) -> PyResult<T>) -> Option<T> {
        if self.is_over {
            return None;
        }
        Python::attach(|py| work(self, py))
            .map_err(|error| {
                self.is_over = true;
                self.next_timeout = None;
                self.faults.keep(error);
            })
            .ok()
    }

    /// Reads the time of the next `on_timeout`: not before `earliest`.
    fn read_next_timeout(&self, py: Python<'_>, method: &str, earliest: Time) -> PyResult<Option<Time>> {
        let value =
            self.object.bind(py).getattr_opt(intern!(py, "next_timeout")).and_then(|value| match value {
                Some(method) if method.is_callable() => method.call0().map(Some),
                value => Ok(value),
            });
        let value = value.map_err(|error| self.raised(py, "next_timeout", error))?;
        let Some(value) = value.filter(|value| !value.is_none()) else { return Ok(None) };
        if self.hooks[Hook::Timeout as usize].is_none() {
            let must = "must leave next_timeout None, since the class has no on_timeout";
            return Err(self.nonsense(py, method, must, &value));
        }
        let due = value.extract().ok().filter(|secs: &f64| !secs.is_nan()).map(Time::from_secs_f64);
        if due.is_none_or(|due| due < earliest) {
            let must = format!("must leave next_timeout None or a time from {earliest} on");
            return Err(self.nonsense(py, method, &must, &value));
        }
        // "Never", as a float says it.
        Ok(due.filter(|due| *due < Time::MAX))
    }

    fn tell<'py>(
        &mut self,
        py: Python<'py>,
        hook: Hook,
        arguments: impl PyCallArgs<'py>,
        earliest: Time,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(answer) = self.call(py, hook, arguments)? else { return Ok(None) };
        self.next_timeout = self.read_next_timeout(py, HOOKS[hook as usize], earliest)?;
        Ok(Some(answer))
    }

    fn judge(&mut self, hook: Hook, packet: seen::Packet, queue: QueueState, now: Time) -> Verdict {
        if self.hooks[hook as usize].is_none() {
            return Verdict::Pass;
        }
        let verdict = self.attach(|law, py| {
            let arguments = (packet, seen::QueueState::from(queue), seen::time(py, now)?);
            let Some(answer) = law.tell(py, hook, arguments, now)? else { return Ok(Verdict::Pass) };
            match answer.cast::<PyString>().ok().and_then(|text| text.to_str().ok()) {
                Some("pass") => Ok(Verdict::Pass),
                Some("mark") => Ok(Verdict::Mark),
                Some("drop") => Ok(Verdict::Drop),
                _ => {
                    let must = r#"must answer "pass", "mark" or "drop""#;
                    Err(law.nonsense(py, HOOKS[hook as usize], must, &answer))
                }
            }
        });
        verdict.unwrap_or(Verdict::Pass)
    }

    /// Returns the variables of `probe`.
    fn shown(&self, py: Python<'_>) -> PyResult<Vec<(String, f64)>> {
        const TAKEN: [&str; 4] = ["time_s", "direction", "packets", "bytes"];
        let Some(answer) = self.call(py, Hook::Probe, ())? else { return Ok(Vec::new()) };
        let must = |must: &str| self.nonsense(py, "probe", must, &answer);
        let table = answer.cast::<PyDict>().map_err(|_| must("must answer a dict of numbers by name"))?;
        let variables: Vec<(String, f64)> = table
            .iter()
            .map(|(name, value)| Ok((name.extract()?, value.extract()?)))
            .collect::<PyResult<_>>()
            .map_err(|_| must("must answer a dict of numbers by name"))?;
        if variables.iter().any(|(name, _)| TAKEN.contains(&name.as_str())) {
            return Err(must("must leave time_s, direction, packets and bytes to the queue"));
        }
        Ok(variables)
    }
}

impl Aqm for PyLaw {
    fn on_enqueue(&mut self, pkt: &aqmlab_aqm::Packet, queue: QueueState, now: Time) -> Verdict {
        self.judge(Hook::Enqueue, seen::Packet::new(*pkt, now), queue, now)
    }

    fn on_dequeue(
        &mut self,
        pkt: &aqmlab_aqm::Packet,
        enqueued_at: Time,
        queue: QueueState,
        now: Time,
    ) -> Verdict {
        self.judge(Hook::Dequeue, seen::Packet::new(*pkt, enqueued_at), queue, now)
    }

    fn on_overflow(&mut self, pkt: &aqmlab_aqm::Packet, queue: QueueState, now: Time) {
        let packet = seen::Packet::new(*pkt, now);
        self.attach(|law, py| {
            let arguments = (packet, seen::QueueState::from(queue), seen::time(py, now)?);
            law.tell(py, Hook::Overflow, arguments, now).map(drop)
        });
    }

    fn on_empty(&mut self, now: Time) {
        self.attach(|law, py| law.tell(py, Hook::Empty, (seen::time(py, now)?,), now).map(drop));
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.next_timeout
    }

    fn on_timeout(&mut self, queue: QueueState, now: Time) {
        if self.next_timeout.is_none_or(|due| now < due) {
            return;
        }
        // A law that wants to be called again at once would never be done.
        let later = Time::from_nanos(now.as_nanos() + 1);
        self.attach(|law, py| {
            let arguments = (seen::QueueState::from(queue), seen::time(py, now)?);
            law.tell(py, Hook::Timeout, arguments, later).map(drop)
        });
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let shown = if self.is_over { Ok(Vec::new()) } else { Python::attach(|py| self.reshown(py)) };
        let values = shown.unwrap_or_else(|error| {
            self.faults.keep(error);
            Vec::new()
        });
        // The columns of a table stay the same even for a law that failed.
        let values = values.into_iter().chain(std::iter::repeat(f64::NAN));
        self.variables.iter().zip(values).for_each(|(name, value)| out(name, value));
    }
}

impl PyLaw {
    /// The values of the variables that were shown at first.
    fn reshown(&self, py: Python<'_>) -> PyResult<Vec<f64>> {
        let shown = self.shown(py)?;
        if !shown.iter().map(|(name, _)| name.as_str()).eq(self.variables.iter().copied()) {
            let names = shown.into_iter().map(|(name, _)| name).collect::<Vec<_>>().into_pyobject(py)?;
            let must = format!("must always show the same variables, {}", self.variables.join(", "));
            return Err(self.nonsense(py, "probe", &must, &names));
        }
        Ok(shown.into_iter().map(|(_, value)| value).collect())
    }
}
