//! A promise for threads: like a future of `concurrent.futures`.

use std::sync::Arc;

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

use crate::outcome::Batch;
use crate::promise::{track, untracked, Promise, Told};

#[pyclass(frozen, weakref, module = "mqframe_speedups._native")]
pub struct ThreadPromise {
    pub promise: Promise,
}

impl ThreadPromise {
    /// One for the message at `place` of `batch`.
    pub fn make(py: Python<'_>, batch: Arc<Batch>, place: usize) -> PyResult<Py<Self>> {
        untracked(
            py,
            Self {
                promise: Promise::new(batch, place),
            },
        )
    }

    /// The future in whose place it stands.
    fn behind<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let promise = &slf.get().promise;
        if let Some(future) = promise.future.get() {
            return Ok(future.bind(py).clone());
        }
        let future = promise.batch.source.bind(py).call0()?;
        if let Some(result) = promise.result(py)? {
            future.call_method1(intern!(py, "finish"), (result, py.None()))?;
        }
        // No other thread runs from the look for a result to this: a batch that ends finds the future, and tells it.
        if promise.future.set(future.clone().unbind()).is_err() {
            return Self::behind(slf); // another thread was faster
        }
        track(slf);
        Ok(future)
    }
}

/// `concurrent.futures.Future`.
fn future_class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    CLASS.import(py, "concurrent.futures", "Future")
}

#[pymethods]
impl ThreadPromise {
    /// What `isinstance` says that it is.
    #[getter]
    fn __class__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyType>> {
        future_class(slf.py()).cloned()
    }

    fn done(&self, py: Python<'_>) -> PyResult<bool> {
        self.promise.done(py)
    }

    #[pyo3(signature = (timeout = None))]
    fn result(slf: &Bound<'_, Self>, timeout: Option<Py<PyAny>>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        if slf.get().promise.settled() {
            if let Some(result) = slf.get().promise.result(py)? {
                return Ok(result);
            }
        }
        let result = Self::behind(slf)?.call_method1(intern!(py, "result"), (timeout,))?;
        Ok(result.unbind())
    }

    #[pyo3(signature = (timeout = None))]
    fn exception(slf: &Bound<'_, Self>, timeout: Option<Py<PyAny>>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        if slf.get().promise.settled() {
            return Ok(py.None());
        }
        let error = Self::behind(slf)?.call_method1(intern!(py, "exception"), (timeout,))?;
        Ok(error.unbind())
    }

    #[pyo3(signature = (r#fn))]
    fn add_done_callback(slf: &Bound<'_, Self>, r#fn: Py<PyAny>) -> PyResult<()> {
        let told = Told {
            callback: r#fn,
            promise: slf.clone().into_any().unbind(),
        };
        Self::behind(slf)?.call_method1(intern!(slf.py(), "add_done_callback"), (told,))?;
        Ok(())
    }

    // What `concurrent.futures.wait` and `as_completed` look at.

    #[getter]
    fn _condition<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::behind(slf)?.getattr(intern!(slf.py(), "_condition"))
    }

    #[getter]
    fn _state<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::behind(slf)?.getattr(intern!(slf.py(), "_state"))
    }

    /// They are to be told of this one, not of the future.
    #[getter]
    fn _waiters<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let future = Self::behind(slf)?;
        future.setattr(intern!(slf.py(), "shown"), slf)?;
        future.getattr(intern!(slf.py(), "_waiters"))
    }

    fn __getattr__<'py>(slf: &Bound<'py, Self>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        Self::behind(slf)?.getattr(name)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        Ok(Self::behind(slf)?.repr()?.to_string())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.promise
            .future
            .get()
            .map_or(Ok(()), |future| visit.call(future))
    }
}
