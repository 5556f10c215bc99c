//! What a producer is given by `submit` and is plain joins the batch that is open for its topic, in one call.
//!
//! Python opens batches, closes and sends them, and has every message that is not plain, or with which something is to
//! be done: the first one of a batch, and the one that fills it.

use std::sync::{Arc, Mutex};

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFrozenSet, PyString, PyType};

use crate::gathered::{Gathered, Shared};
use crate::in_flight::InFlight;
use crate::inbox::Inbox;
use crate::loop_promise::LoopPromise;
use crate::outcome::Batch;
use crate::plain_message::{read, Plain, Rules};

/// Takes plain messages. `open`: the newest batch of each topic; `known_route`: gives a topic's route; `in_flight`:
/// counts what has no result; `waiters`: who waits for room, and goes first; `source`:
/// as `Batch` has it.
#[pyclass(frozen, module = "mqframe_speedups._native")]
pub struct Gatherer {
    open: Py<PyDict>,
    known_route: Py<PyAny>,
    pub in_flight: Py<InFlight>,
    waiters: Py<PyAny>,
    source: Py<PyAny>,
    shared: Arc<Shared>,
    last_route: Mutex<Option<Py<PyAny>>>,
    text: Mutex<Vec<u8>>,
    messages_max: usize,
    pub bytes_max: usize,
}

#[pymethods]
impl Gatherer {
    #[new]
    #[allow(clippy::too_many_arguments)]
    fn new(
        open: Py<PyDict>,
        known_route: Py<PyAny>,
        in_flight: Py<InFlight>,
        waiters: Py<PyAny>,
        source: Py<PyAny>,
        split: Py<PyAny>,
        usual: Py<PyType>,
        fields: Py<PyAny>,
        item: Py<PyAny>,
        reserved: Py<PyFrozenSet>,
        body_below: usize,
        messages_max: usize,
        bytes_max: usize,
    ) -> Self {
        let rules = Rules {
            usual,
            fields,
            reserved,
            body_below,
        };
        let shared = Arc::new(Shared { rules, item, split });
        Self {
            open,
            known_route,
            in_flight,
            waiters,
            source,
            shared,
            last_route: Mutex::new(None),
            text: Mutex::default(),
            messages_max,
            bytes_max,
        }
    }

    /// A batch without messages, for `queue`, which leaves at `due`.
    pub fn batch(&self, py: Python<'_>, queue: Py<PyAny>, due: f64) -> Gathered {
        let batch = Batch::new(self.source.clone_ref(py));
        Gathered::new(queue, due, batch, self.shared.clone())
    }

    /// The future of `message`, which is in a batch now; `None` where Python has to take it.
    fn take(&self, message: &Bound<'_, PyAny>) -> PyResult<Option<Py<PyAny>>> {
        let py = message.py();
        let mut text = self.text();
        let Some((topic, plain)) = self.plain(message, &mut text)? else {
            return Ok(None);
        };
        let Some(batch) = self.open.bind(py).get_item(&topic)? else {
            return Ok(None);
        };
        let Ok(batch) = batch.cast_exact::<Gathered>() else {
            return Ok(None);
        };
        if self.fills(&batch.borrow(), plain.size) {
            return Ok(None);
        }
        let (of, place) = {
            let batch = batch.borrow();
            (batch.batch.clone(), batch.len())
        };
        let future = LoopPromise::make(py, of, place)?.into_any();
        let mut batch = batch.borrow_mut();
        // The garbage collector may have had others do something meanwhile.
        if batch.len() != place || self.fills(&batch, plain.size) {
            return Ok(None);
        }
        if !self.in_flight.borrow_mut(py).acquire(plain.body_bytes as i64) {
            return Ok(None);
        }
        batch.put(message.clone().unbind(), future.clone_ref(py), plain, &text);
        self.keep(text);
        Ok(Some(future))
    }

    /// What threads hand messages over by.
    fn inbox(slf: &Bound<'_, Self>) -> PyResult<Inbox> {
        Inbox::new(slf.py(), slf.clone().unbind())
    }

    /// That, and its `take`.
    fn handing_over<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, Inbox>, Bound<'py, PyAny>)> {
        let inbox = Bound::new(slf.py(), Self::inbox(slf)?)?;
        let take = inbox.getattr(intern!(slf.py(), "take"))?;
        Ok((inbox, take))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.open)?;
        visit.call(&self.known_route)?;
        visit.call(&self.waiters)?;
        visit.call(&self.source)
    }
}

impl Gatherer {
    /// What the properties of a message may be put into, to be kept for the next one.
    pub fn text(&self) -> Vec<u8> {
        let mut text = std::mem::take(&mut *self.text.lock().expect("nobody panics with it"));
        text.clear();
        text
    }

    pub fn keep(&self, text: Vec<u8>) {
        *self.text.lock().expect("nobody panics with it") = text;
    }

    /// The topic of `message`, and what else it has; `None` where Python has to look at it, or to wait for its turn.
    pub fn plain<'py>(
        &self,
        message: &Bound<'py, PyAny>,
        text: &mut Vec<u8>,
    ) -> PyResult<Option<(Bound<'py, PyString>, Plain)>> {
        let py = message.py();
        let Some((topic, plain)) = read(message, text, &self.shared.rules) else {
            return Ok(None);
        };
        let Ok(topic) = topic.cast_into_exact::<PyString>() else {
            return Ok(None);
        };
        let free = self.waiters.bind(py).len()? == 0 && self.has_queues(&topic)?;
        Ok(free.then_some((topic, plain)))
    }

    /// Whether one of `size` bytes has room in what was gathered.
    pub fn has_room(&self, gathered: &Gathered, size: usize) -> bool {
        !gathered.closed && gathered.len() < self.messages_max && gathered.bytes + size <= self.bytes_max
    }

    /// Whether a batch takes no more, or is to leave with one of `size` bytes more.
    fn fills(&self, batch: &Gathered, size: usize) -> bool {
        batch.closed || batch.len() + 1 >= self.messages_max || batch.bytes + size >= self.bytes_max
    }

    /// Whether a route with queues to write is known yet.
    fn has_queues(&self, topic: &Bound<'_, PyString>) -> PyResult<bool> {
        let py = topic.py();
        let route = self.known_route.bind(py).call1((topic,))?;
        if route.is_none() {
            return Ok(false);
        }
        let last = || self.last_route.lock().expect("nobody panics with it");
        if last().as_ref().is_some_and(|last| last.is(&route)) {
            return Ok(true); // a route does not change, new ones come in its place
        }
        let has_queues = route.call_method0(intern!(py, "write_queues"))?.is_truthy()?;
        if has_queues {
            let before = last().replace(route.unbind());
            drop(before);
        }
        Ok(has_queues)
    }
}
