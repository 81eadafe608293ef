//! A congestion control written in Python, behind the seam of controls.
//!
//! Each event is one call, after which the window, the threshold and the pacing rate are read from the object. The first
//! error ends the control's work: the driver of the run checks for it between two steps, and until then the window stays.
//! The contract is in `python/aqmlab/controls/control.py`.

use std::fmt;
use std::sync::Arc;

use aqmlab_tcp::congestion::ControlMaker;
use aqmlab_tcp::{Ack, CongestionControl, Marks, Profile};
use aqmlab_units::BitRate;
use pyo3::call::PyCallArgs;
use pyo3::intern;
use pyo3::prelude::*;

use crate::faults::{Faults, told};
use crate::seen_tcp as seen;

/// The largest window that TCP can advertise (RFC 7323 section 2.2): larger ones change nothing.
const MAX_WINDOW: u32 = 1 << 30;

/// The methods that the engine calls, in the order of [`Hook`].
const HOOKS: [&str; 8] =
    ["on_delivery", "on_ack", "on_loss", "on_recovered", "on_rto", "on_spurious", "on_mark", "on_idle"];

#[derive(Clone, Copy)]
enum Hook {
    Delivery,
    Ack,
    Loss,
    Recovered,
    Rto,
    Spurious,
    Mark,
    Idle,
}

/// A control whose window is a Python object's.
pub(crate) struct PyControl {
    /// The object; `None` when it could not be made.
    object: Option<Py<PyAny>>,
    /// Its bound methods; `None` for one that does nothing.
    hooks: [Option<Py<PyAny>>; HOOKS.len()],
    marks: Marks,
    cwnd: u32,
    /// `None` while it does not bound.
    ssthresh: Option<u32>,
    pacing_rate: Option<BitRate>,
    /// During loss recovery the threshold is its target.
    in_recovery: bool,
    /// The size of a segment, the least window; known from the first event on.
    mss: u32,
    faults: Faults,
}

impl PyControl {
    /// Return a maker of controls. `make(connection)` makes the object, and says itself where it went wrong.
    pub(crate) fn maker(make: Py<PyAny>, marks: Marks, faults: Faults) -> ControlMaker {
        Arc::new(move |profile| {
            let mut control = PyControl {
                object: None,
                hooks: [const { None }; HOOKS.len()],
                marks,
                cwnd: profile.initial_window_bytes(),
                ssthresh: None,
                pacing_rate: None,
                in_recovery: false,
                mss: 1,
                faults: faults.clone(),
            };
            control.attach(|control, py| control.create(make.bind(py), profile));
            Box::new(control)
        })
    }

    fn create(&mut self, make: &Bound<'_, PyAny>, profile: &Profile) -> PyResult<()> {
        let py = make.py();
        let object = make.call1((seen::Connection::of(profile),))?;
        let base = py.import("aqmlab.controls.control")?.getattr("CongestionControl")?;
        for (hook, name) in self.hooks.iter_mut().zip(HOOKS) {
            let is_inherited = object.get_type().getattr(name)?.is(&base.getattr(name)?);
            // Those of the base class do nothing: not to call them saves their time.
            if !(is_inherited && matches!(name, "on_delivery" | "on_spurious")) {
                *hook = Some(object.getattr(name)?.unbind());
            }
        }
        self.object = Some(object.unbind());
        self.read_state(py, "__init__")
    }

    /// Do something with the object; the first error is the last time.
    fn attach(&mut self, work: impl FnOnce(&mut PyControl, Python<'_>) -> PyResult<()>) {
        Python::attach(|py| {
            if let Err(error) = work(self, py) {
                self.object = None;
                self.hooks = [const { None }; HOOKS.len()];
                self.faults.keep(error);
            }
        });
    }

    /// Call a method, and read the state that it leaves.
    fn tell(&mut self, hook: Hook, arguments: impl for<'py> PyCallArgs<'py>) {
        if self.hooks[hook as usize].is_none() {
            return;
        }
        let name = HOOKS[hook as usize];
        self.attach(|control, py| {
            let method = control.hooks[hook as usize].as_ref().expect("checked above").bind(py);
            method.call1(arguments).map_err(|error| control.raised(py, name, error))?;
            control.read_state(py, name)
        });
    }

    fn read_state(&mut self, py: Python<'_>, method: &str) -> PyResult<()> {
        let cwnd = self.attribute(py, method, intern!(py, "cwnd"))?;
        let must = "must leave cwnd a number of bytes from one segment on";
        let bytes = window(cwnd.as_ref()).filter(|&bytes| bytes >= self.mss);
        self.cwnd = bytes.ok_or_else(|| self.nonsense(py, method, must, cwnd.as_ref()))?;
        let ssthresh = self.attribute(py, method, intern!(py, "ssthresh"))?;
        let must = "must leave ssthresh None or a number of bytes from 1 on";
        self.ssthresh = match &ssthresh {
            None => None,
            some => {
                let bytes = window(some.as_ref()).filter(|&bytes| bytes > 0);
                Some(bytes.ok_or_else(|| self.nonsense(py, method, must, some.as_ref()))?)
            }
        };
        let rate = self.attribute(py, method, intern!(py, "pacing_rate_bps"))?;
        let must = "must leave pacing_rate_bps None or a number from 1 on";
        self.pacing_rate = match &rate {
            None => None,
            some => {
                let rate = number(some.as_ref()).and_then(bit_rate);
                Some(rate.ok_or_else(|| self.nonsense(py, method, must, some.as_ref()))?)
            }
        };
        Ok(())
    }

    /// Read an attribute, or a property; `None` for Python's `None`.
    fn attribute<'py>(
        &self,
        py: Python<'py>,
        method: &str,
        name: &Bound<'py, pyo3::types::PyString>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let object = self.object.as_ref().expect("a control that failed has no methods").bind(py);
        let value = object.getattr(name).map_err(|error| self.raised(py, method, error))?;
        Ok(Some(value).filter(|value| !value.is_none()))
    }

    /// Returns the error for an exception in the user's code.
    fn raised(&self, py: Python<'_>, method: &str, error: PyErr) -> PyErr {
        let class = self.object.as_ref().map(|object| object.bind(py).get_type());
        // With its traceback, which `value` leaves out.
        told(py, "raised", (class, method, error.into_value(py)))
    }

    /// The error about a state that is none.
    fn nonsense(&self, py: Python<'_>, method: &str, must: &str, got: Option<&Bound<'_, PyAny>>) -> PyErr {
        let class = self.object.as_ref().map(|object| object.bind(py).get_type());
        told(py, "nonsense", (class, method, must, got))
    }
}

fn number(value: Option<&Bound<'_, PyAny>>) -> Option<f64> {
    value?.extract().ok().filter(|number: &f64| !number.is_nan())
}

/// The whole bytes of a window.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "windows are from 0 to 2^30")]
fn window(value: Option<&Bound<'_, PyAny>>) -> Option<u32> {
    Some(number(value)?.clamp(0.0, f64::from(MAX_WINDOW)) as u32)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
fn bit_rate(bps: f64) -> Option<BitRate> {
    BitRate::from_bits_per_sec(bps as u64)
}

impl fmt::Debug for PyControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PyControl").field("cwnd", &self.cwnd).finish_non_exhaustive()
    }
}

impl CongestionControl for PyControl {
    fn new(_: &Profile) -> PyControl {
        unreachable!("a control in Python is made by its maker")
    }

    fn cwnd(&self) -> u32 {
        self.cwnd
    }

    fn ssthresh(&self) -> u32 {
        self.ssthresh.unwrap_or(if self.in_recovery { self.cwnd } else { MAX_WINDOW })
    }

    fn marks(&self) -> Marks {
        self.marks
    }

    fn needs_rate_samples(&self) -> bool {
        true
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        self.pacing_rate
    }

    fn on_delivery(&mut self, ack: &Ack) {
        self.mss = ack.mss;
        self.tell(Hook::Delivery, (seen::Ack(*ack),));
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.mss = ack.mss;
        self.tell(Hook::Ack, (seen::Ack(*ack),));
    }

    fn on_fast_retransmit(&mut self, window: u32, mss: u32) {
        self.in_recovery = true;
        self.mss = mss;
        self.tell(Hook::Loss, (window, mss));
    }

    fn on_recovered(&mut self, flight: u32, mss: u32) {
        self.in_recovery = false;
        self.mss = mss;
        self.tell(Hook::Recovered, (flight, mss));
    }

    fn on_timeout(&mut self, window: u32, mss: u32) {
        self.in_recovery = false;
        self.mss = mss;
        self.tell(Hook::Rto, (window, mss));
    }

    fn on_spurious(&mut self) {
        self.tell(Hook::Spurious, ());
    }

    fn on_ecn_echo(&mut self, window: u32, mss: u32) {
        self.mss = mss;
        self.tell(Hook::Mark, (window, mss));
    }

    fn on_idle(&mut self, initial_window: u32) {
        self.tell(Hook::Idle, (initial_window,));
    }
}
