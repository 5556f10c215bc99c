//! What waits for the result of a submitted message: as cheap as it gets until somebody wants more than the result.
//!
//! It stands for a future of Python, which is made when what is rarely asked is asked of it, or when its send failed, and
//! then does all. Until somebody waits for it, it refers to nothing that could refer to it, so that the garbage collector
//! need not know it.

use std::sync::{Arc, OnceLock};

use pyo3::ffi;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::PyClass;

use crate::outcome::Batch;

/// What both kinds have.
pub struct Promise {
    pub batch: Arc<Batch>,
    place: u32,
    result: OnceLock<Py<PyAny>>,
    pub future: OnceLock<Py<PyAny>>,
}

impl Promise {
    pub fn new(batch: Arc<Batch>, place: usize) -> Self {
        let (result, future) = (OnceLock::new(), OnceLock::new());
        Self {
            batch,
            place: place as u32,
            result,
            future,
        }
    }

    /// Whether it has its result without a future.
    pub fn settled(&self) -> bool {
        self.future.get().is_none() && self.batch.outcome.get().is_some()
    }

    /// The result that its batch got, if it did.
    pub fn result(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        if let Some(result) = self.result.get() {
            return Ok(Some(result.clone_ref(py)));
        }
        let Some((outcome, before)) = self.batch.outcome.get() else {
            return Ok(None);
        };
        let made = outcome.result(py, before + self.place as usize)?;
        Ok(Some(self.result.get_or_init(|| made).clone_ref(py)))
    }

    pub fn done(&self, py: Python<'_>) -> PyResult<bool> {
        match self.future.get() {
            Some(future) => future.bind(py).call_method0(intern!(py, "done"))?.is_truthy(),
            None => Ok(self.batch.outcome.get().is_some()),
        }
    }
}

/// A new promise, which the garbage collector does not know.
pub fn untracked<T: PyClass + Into<PyClassInitializer<T>>>(py: Python<'_>, promise: T) -> PyResult<Py<T>> {
    let made = Py::new(py, promise)?;
    // SAFETY: it is alive, and what was made just now is tracked.
    unsafe { ffi::PyObject_GC_UnTrack(made.as_ptr().cast()) };
    Ok(made)
}

/// Has the garbage collector know `promise`: from now on it refers to what may refer to it.
pub fn track<T>(promise: &Bound<'_, T>) {
    // SAFETY: it is alive, of a class that the collector may know, and all that it traverses is set.
    unsafe {
        if ffi::PyObject_GC_IsTracked(promise.as_ptr()) == 0 {
            ffi::PyObject_GC_Track(promise.as_ptr().cast());
        }
    }
}

/// Has what waits for the future behind `promise` be called with that one.
#[pyclass(frozen, module = "mqframe_speedups._native")]
pub struct Told {
    pub callback: Py<PyAny>,
    pub promise: Py<PyAny>,
}

#[pymethods]
impl Told {
    fn __call__(&self, py: Python<'_>, _future: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.callback.call1(py, (&self.promise,))
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.callback.bind(py).eq(other)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.callback)?;
        visit.call(&self.promise)
    }
}
