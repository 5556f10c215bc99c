//! What became of a batch of submitted messages, of which each one's result is made when it is asked for
//! (`split_send_result` in mqframe/core/sending/answer.py).

use std::sync::{Arc, OnceLock};

use memchr::memchr_iter;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyType};

/// Of messages gathered together. `outcome`: that of their request once it was answered, and how many went before them; `source`: gives the loop where promises are for asyncio, while
/// it is there, and else a new future.
pub struct Batch {
    pub outcome: OnceLock<(Arc<Outcome>, usize)>,
    pub source: Py<PyAny>,
}

impl Batch {
    pub fn new(source: Py<PyAny>) -> Self {
        Self {
            outcome: OnceLock::new(),
            source,
        }
    }
}

/// All are stored at one queue, one behind the other.
pub struct Outcome {
    kind: Py<PyType>,
    status: Py<PyAny>,
    queue: Py<PyAny>,
    region: Py<PyAny>,
    trace: Py<PyAny>,
    first_offset: i64,
    ids: Py<PyList>,
    /// The broker's ids, joined by commas, and where each begins; none where it gave others.
    offset_ids: Py<PyString>,
    starts: Vec<usize>,
}

impl Outcome {
    /// Of the messages `ids`, two at least, as `result` of their batch says; `None` where Python has to look.
    pub fn of(result: &Bound<'_, PyAny>, ids: &Bound<'_, PyList>) -> PyResult<Option<Self>> {
        let py = result.py();
        if ids.len() < 2 || !result.getattr(intern!(py, "batch_places"))?.is_none() {
            return Ok(None);
        }
        let offset_ids = result.getattr(intern!(py, "offset_message_id"))?;
        let (Ok(offset_ids), Ok(first_offset)) = (
            offset_ids.cast_into_exact::<PyString>(),
            result.getattr(intern!(py, "queue_offset"))?.extract::<i64>(),
        ) else {
            return Ok(None);
        };
        let Ok(text) = offset_ids.to_str() else {
            return Ok(None);
        };
        if first_offset.checked_add(ids.len() as i64).is_none() {
            return Ok(None);
        }
        let mut starts = vec![0];
        starts.extend(memchr_iter(b',', text.as_bytes()).map(|at| at + 1));
        if starts.len() != ids.len() {
            starts.clear();
        }
        starts.push(text.len() + 1);
        Ok(Some(Self {
            kind: result.get_type().unbind(),
            status: result.getattr(intern!(py, "status"))?.unbind(),
            queue: result.getattr(intern!(py, "queue"))?.unbind(),
            region: result.getattr(intern!(py, "region_id"))?.unbind(),
            trace: result.getattr(intern!(py, "trace_on"))?.unbind(),
            first_offset,
            ids: ids.clone().unbind(),
            offset_ids: offset_ids.unbind(),
            starts,
        }))
    }

    /// The result of the message at `place`.
    pub fn result(&self, py: Python<'_>, place: usize) -> PyResult<Py<PyAny>> {
        let offset_id = match self.starts.get(place..place + 2) {
            Some(&[start, next]) => &self.offset_ids.bind(py).to_str()?[start..next - 1],
            _ => "",
        };
        let made = self.kind.bind(py).call1((
            &self.status,
            self.ids.bind(py).get_item(place)?,
            &self.queue,
            self.first_offset + place as i64,
            offset_id,
            py.None(),
            &self.region,
            &self.trace,
        ))?;
        Ok(made.unbind())
    }
}
