//! A promise for asyncio: like a future of it, to whoever awaits it and to all functions of asyncio.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use pyo3::exceptions::{PyAttributeError, PyRuntimeError, PyStopIteration};
use pyo3::ffi;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};

use crate::outcome::Batch;
use crate::promise::{track, untracked, Promise, Told};

/// What is called once it is done, and its context.
type Callbacks = Vec<(Py<PyAny>, Py<PyAny>)>;

#[pyclass(frozen, weakref, module = "mqframe_speedups._native")]
pub struct LoopPromise {
    promise: Promise,
    callbacks: OnceLock<Box<Mutex<Callbacks>>>, // few ever have any, and many wait
    blocking: AtomicBool,
}

impl LoopPromise {
    /// One for the message at `place` of `batch`.
    pub fn make(py: Python<'_>, batch: Arc<Batch>, place: usize) -> PyResult<Py<Self>> {
        let (callbacks, blocking) = (OnceLock::new(), AtomicBool::new(false));
        untracked(
            py,
            Self {
                promise: Promise::new(batch, place),
                callbacks,
                blocking,
            },
        )
    }

    /// Whether somebody is to hear that it is done.
    pub fn is_watched(&self) -> bool {
        self.callbacks.get().is_some() || self.promise.future.get().is_some()
    }

    /// Its batch has a result: tells whoever waits for it.
    pub fn tell(slf: &Bound<'_, Self>) -> PyResult<()> {
        let py = slf.py();
        let own = slf.get();
        if let Some(future) = own.promise.future.get() {
            if let (false, Some(result)) = (own.promise.done(py)?, own.promise.result(py)?) {
                future.call_method1(py, intern!(py, "set_result"), (result,))?;
            }
        }
        let callbacks = own.take_callbacks();
        callbacks
            .into_iter()
            .try_for_each(|(callback, context)| soon(slf, callback, context))
    }

    fn take_callbacks(&self) -> Callbacks {
        let held = self
            .callbacks
            .get()
            .map(|held| held.lock().expect("nobody panics with it"));
        held.map_or_else(Vec::new, |mut held| std::mem::take(&mut *held))
    }

    /// The future in whose place it stands.
    fn behind<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let own = slf.get();
        if let Some(future) = own.promise.future.get() {
            return Ok(future.bind(py).clone());
        }
        let future = running(slf)?.call_method0(intern!(py, "create_future"))?;
        if let Some(result) = own.promise.result(py)? {
            future.call_method1(intern!(py, "set_result"), (result,))?;
        }
        if own.promise.future.set(future.clone().unbind()).is_err() {
            return Self::behind(slf); // it was made meanwhile
        }
        track(slf);
        for (callback, context) in own.take_callbacks() {
            let told = Told {
                callback,
                promise: slf.clone().into_any().unbind(),
            };
            future.call_method(
                intern!(py, "add_done_callback"),
                (told,),
                Some(&in_context(py, &context)?),
            )?;
        }
        Ok(future)
    }
}

/// The loop that it belongs to.
fn running<'py>(promise: &Bound<'py, LoopPromise>) -> PyResult<Bound<'py, PyAny>> {
    let found = promise.get().promise.batch.source.bind(promise.py()).call0()?;
    if found.is_none() {
        return Err(PyRuntimeError::new_err("the event loop of the producer is gone"));
    }
    Ok(found)
}

fn in_context<'py>(py: Python<'py>, context: &Py<PyAny>) -> PyResult<Bound<'py, PyDict>> {
    let named = PyDict::new(py);
    named.set_item(intern!(py, "context"), context)?;
    Ok(named)
}

/// Has the loop call `callback` with `promise`.
fn soon(promise: &Bound<'_, LoopPromise>, callback: Py<PyAny>, context: Py<PyAny>) -> PyResult<()> {
    let py = promise.py();
    let named = in_context(py, &context)?;
    running(promise)?.call_method(intern!(py, "call_soon"), (callback, promise), Some(&named))?;
    Ok(())
}

/// `asyncio.Future`.
fn future_class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    CLASS.import(py, "asyncio", "Future")
}

fn copied_context(py: Python<'_>) -> PyResult<Py<PyAny>> {
    static COPY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    Ok(COPY.import(py, "contextvars", "copy_context")?.call0()?.unbind())
}

#[pymethods]
impl LoopPromise {
    /// What `isinstance` says that it is.
    #[getter]
    fn __class__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyType>> {
        future_class(slf.py()).cloned()
    }

    #[getter]
    fn _asyncio_future_blocking(&self) -> bool {
        self.blocking.load(Ordering::Relaxed)
    }

    #[setter(_asyncio_future_blocking)]
    fn set_blocking(&self, blocking: bool) {
        self.blocking.store(blocking, Ordering::Relaxed);
    }

    fn get_loop<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        running(slf)
    }

    fn done(&self, py: Python<'_>) -> PyResult<bool> {
        self.promise.done(py)
    }

    fn cancelled(&self, py: Python<'_>) -> PyResult<bool> {
        match self.promise.future.get() {
            Some(future) => future
                .bind(py)
                .call_method0(intern!(py, "cancelled"))?
                .is_truthy(),
            None => Ok(false),
        }
    }

    #[pyo3(signature = (msg = None))]
    fn cancel(slf: &Bound<'_, Self>, msg: Option<Py<PyAny>>) -> PyResult<bool> {
        if slf.get().promise.settled() {
            return Ok(false);
        }
        let py = slf.py();
        Self::behind(slf)?
            .call_method1(intern!(py, "cancel"), (msg,))?
            .is_truthy()
    }

    fn result(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        if slf.get().promise.settled() {
            if let Some(result) = slf.get().promise.result(py)? {
                return Ok(result);
            }
        }
        Ok(Self::behind(slf)?.call_method0(intern!(py, "result"))?.unbind())
    }

    fn exception(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        if slf.get().promise.settled() {
            return Ok(py.None());
        }
        Ok(Self::behind(slf)?
            .call_method0(intern!(py, "exception"))?
            .unbind())
    }

    #[pyo3(signature = (fn_, /, *, context = None))]
    fn add_done_callback(slf: &Bound<'_, Self>, fn_: Py<PyAny>, context: Option<Py<PyAny>>) -> PyResult<()> {
        let py = slf.py();
        let own = slf.get();
        let context = match context {
            Some(context) => context,
            None => copied_context(py)?,
        };
        if let Some(future) = own.promise.future.get() {
            let told = Told {
                callback: fn_,
                promise: slf.clone().into_any().unbind(),
            };
            let named = in_context(py, &context)?;
            future
                .bind(py)
                .call_method(intern!(py, "add_done_callback"), (told,), Some(&named))?;
            return Ok(());
        }
        if own.promise.settled() {
            return soon(slf, fn_, context);
        }
        let held = own
            .callbacks
            .get_or_init(|| Box::new(Mutex::new(Vec::with_capacity(1))));
        held.lock().expect("nobody panics with it").push((fn_, context));
        track(slf);
        Ok(())
    }

    #[pyo3(signature = (fn_, /))]
    fn remove_done_callback(slf: &Bound<'_, Self>, fn_: &Bound<'_, PyAny>) -> PyResult<usize> {
        let py = slf.py();
        let own = slf.get();
        if let Some(future) = own.promise.future.get() {
            return future
                .bind(py)
                .call_method1(intern!(py, "remove_done_callback"), (fn_,))?
                .extract();
        }
        let (mut kept, mut removed) = (Vec::new(), 0);
        for (callback, context) in own.take_callbacks() {
            if callback.bind(py).eq(fn_)? {
                removed += 1;
            } else {
                kept.push((callback, context));
            }
        }
        if let Some(held) = own.callbacks.get() {
            let mut held = held.lock().expect("nobody panics with it");
            kept.append(&mut held);
            *held = kept;
        }
        Ok(removed)
    }

    fn __await__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        match slf.get().promise.future.get() {
            Some(future) => future.call_method0(slf.py(), intern!(slf.py(), "__await__")),
            None => Ok(slf.clone().into_any().unbind()),
        }
    }

    fn __iter__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        Self::__await__(slf)
    }

    /// A step of a wait for it: its end where there is a result.
    fn __next__(slf: &Bound<'_, Self>) -> PyResult<Option<Py<PyAny>>> {
        let own = slf.get();
        let py = slf.py();
        if own.promise.settled() {
            if let Some(result) = own.promise.result(py)? {
                // SAFETY: both are alive. What a batch got is no tuple and no exception, so whoever awaits takes it as it is:
                // an exception with it, made and taken apart, would cost as much as the rest of the wait.
                unsafe { ffi::PyErr_SetObject(ffi::PyExc_StopIteration, result.as_ptr()) };
                return Ok(None);
            }
        }
        if own.promise.done(py)? {
            return Err(PyStopIteration::new_err((Self::result(slf)?,)));
        }
        own.blocking.store(true, Ordering::Relaxed); // as tasks want it
        Ok(Some(slf.clone().into_any().unbind()))
    }

    fn __getattr__<'py>(slf: &Bound<'py, Self>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        if !future_class(slf.py())?.hasattr(name)? {
            return Err(PyAttributeError::new_err(format!(
                "a future has no attribute {name:?}"
            )));
        }
        Self::behind(slf)?.getattr(name)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        Ok(Self::behind(slf)?.repr()?.to_string())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        if let Some(Ok(held)) = self.callbacks.get().map(|held| held.try_lock()) {
            for (callback, context) in held.iter() {
                visit.call(callback)?;
                visit.call(context)?;
            }
        }
        self.promise
            .future
            .get()
            .map_or(Ok(()), |future| visit.call(future))
    }

    fn __clear__(&self) {
        drop(self.take_callbacks());
    }
}
