//! What threads hand over to the loop of their producer: plain messages of one topic that follow each other together, all
//! else as items of Python, in the order in which each thread came.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use pyo3::exceptions::PyIndexError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PySet, PyString};

use crate::gathered::Gathered;
use crate::gatherer::Gatherer;
use crate::thread_promise::ThreadPromise;

/// `RETRY_PREFIX` and `DLQ_PREFIX` of mqframe/core/messages/names.py: messages to these topics go alone.
const ALONE: [&str; 2] = ["%RETRY%", "%DLQ%"];

/// One thing to hand over: where it is messages gathered, their topic as well.
enum Handed {
    Item(Py<PyAny>),
    Gathered(Py<Gathered>, Py<PyString>),
}

/// As a `collections.deque` that is put into at its end and taken from at its front. `admitted`: topics of which Python
/// has handed over a message.
#[pyclass(frozen, module = "mqframe_speedups._native")]
pub struct Inbox {
    gatherer: Py<Gatherer>,
    admitted: Py<PySet>,
    handed: Mutex<VecDeque<Handed>>,
}

impl Inbox {
    pub fn new(py: Python<'_>, gatherer: Py<Gatherer>) -> PyResult<Self> {
        let admitted = PySet::empty(py)?.unbind();
        Ok(Self {
            gatherer,
            admitted,
            handed: Mutex::new(VecDeque::new()),
        })
    }

    fn handed(&self) -> MutexGuard<'_, VecDeque<Handed>> {
        self.handed.lock().expect("nobody panics with it")
    }

    /// What the newest messages were gathered into, if they go to `topic` and one of `size` bytes has room there; with
    /// their count.
    fn newest(&self, topic: &Bound<'_, PyString>, size: usize) -> PyResult<Option<(Py<Gathered>, usize)>> {
        let py = topic.py();
        let handed = self.handed();
        let Some(Handed::Gathered(gathered, its_topic)) = handed.back() else {
            return Ok(None);
        };
        if its_topic.bind(py).to_str()? != topic.to_str()? {
            return Ok(None);
        }
        let newest = gathered.borrow(py);
        let room = self.gatherer.get().has_room(&newest, size);
        Ok(room.then(|| (gathered.clone_ref(py), newest.len())))
    }
}

#[pymethods]
impl Inbox {
    /// The future of `message`, which is handed over now; `None` where Python has to.
    fn take(&self, message: &Bound<'_, PyAny>) -> PyResult<Option<Py<ThreadPromise>>> {
        let py = message.py();
        let gatherer = self.gatherer.get();
        let mut text = gatherer.text();
        let Some((topic, plain)) = gatherer.plain(message, &mut text)? else {
            return Ok(None);
        };
        if plain.size > gatherer.bytes_max || !self.admitted.bind(py).contains(&topic)? {
            return Ok(None);
        }
        let found = self.newest(&topic, plain.size)?;
        let joins = found.is_some();
        let (gathered, place) = match found {
            Some(found) => found,
            None => (Py::new(py, gatherer.batch(py, py.None(), 0.0))?, 0),
        };
        let batch = gathered.borrow(py).batch.clone();
        let promise = ThreadPromise::make(py, batch, place)?;
        // The garbage collector may have let other threads run meanwhile; from here on nobody else does.
        if joins {
            match self.newest(&topic, plain.size)? {
                Some((newest, count)) if newest.is(&gathered) && count == place => {}
                _ => return Ok(None),
            }
        }
        if !gatherer.in_flight.borrow_mut(py).acquire(plain.body_bytes as i64) {
            return Ok(None);
        }
        gathered.borrow_mut(py).put(
            message.clone().unbind(),
            promise.clone_ref(py).into_any(),
            plain,
            &text,
        );
        gatherer.keep(text);
        if !joins {
            self.handed()
                .push_back(Handed::Gathered(gathered, topic.unbind()));
        }
        Ok(Some(promise))
    }

    /// Hands an item of Python over.
    fn append(&self, item: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = item.py();
        let topic = item
            .getattr(intern!(py, "message"))?
            .getattr(intern!(py, "topic"))?;
        if let Ok(topic) = topic.cast_into_exact::<PyString>() {
            let name = topic.to_str()?;
            if !ALONE.iter().any(|prefix| name.starts_with(prefix)) {
                self.admitted.bind(py).add(topic)?;
            }
        }
        self.handed().push_back(Handed::Item(item.clone().unbind()));
        Ok(())
    }

    /// The first item, or messages gathered, to which none is added any more. Raises `IndexError` where there is nothing.
    fn popleft(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let first = self.handed().pop_front();
        match first {
            Some(Handed::Item(item)) => Ok(item),
            Some(Handed::Gathered(gathered, _)) => {
                gathered.borrow_mut(py).closed = true;
                Ok(gathered.into_any())
            }
            None => Err(PyIndexError::new_err("nothing was handed over")),
        }
    }

    fn __len__(&self) -> usize {
        self.handed().len()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.gatherer)?;
        if let Ok(handed) = self.handed.try_lock() {
            for one in handed.iter() {
                match one {
                    Handed::Item(item) => visit.call(item)?,
                    Handed::Gathered(gathered, _) => visit.call(gathered)?,
                }
            }
        }
        Ok(())
    }

    fn __clear__(&self) {
        let all = std::mem::take(&mut *self.handed());
        drop(all);
    }
}
