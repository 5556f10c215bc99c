//! Messages of a pull's answer: each keeps its record, and what of it is looked at is taken out then.
//!
//! What messages can do (`ReceivedMessage` in mqframe/core/messages/message.py) stays Python's; here is only what they
//! hold (mqframe/core/storage/record.py).

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

use crate::entry::{int, long};
use crate::properties::{named, NAME_END, PAIR_END};
use crate::record::{Parts, HEAD_BYTES};

/// `UNPACKED_BYTES_MAX` of mqframe/core/messages/compression.py.
const UNPACKED_BYTES_MAX: i64 = 64 << 20;

/// A message as `ReceivedMessage` has it, made from `record`.
#[pyclass(module = "mqframe_speedups._native")]
pub struct RecordMessage {
    record: Py<PyBytes>,
    body_end: usize,
    text_start: usize,
    body: Option<Py<PyAny>>,
    #[pyo3(get, set)]
    _properties: Option<Py<PyDict>>,
    #[pyo3(get, set)]
    pub topic: Py<PyString>,
    #[pyo3(get, set)]
    broker_name: Py<PyString>,
    #[pyo3(get, set)]
    pub queue_id: i32,
    #[pyo3(get, set)]
    pub queue_offset: i64,
    #[pyo3(get, set)]
    commit_log_offset: i64,
    #[pyo3(get, set)]
    pub store_size: i64,
    #[pyo3(get, set)]
    born_timestamp: i64,
    #[pyo3(get, set)]
    store_timestamp: i64,
    #[pyo3(get, set)]
    reconsume_times: i64,
    #[pyo3(get, set)]
    sys_flag: i32,
    #[pyo3(get, set)]
    flag: i32,
    #[pyo3(get, set)]
    body_crc: i32,
    #[pyo3(get, set)]
    prepared_transaction_offset: i64,
    #[pyo3(get, set)]
    pub unpacked_bytes_max: i64,
    #[pyo3(get, set)]
    pub checks_crc: bool,
}

impl RecordMessage {
    /// The text of its properties.
    pub fn text_of<'a>(&'a self, py: Python<'a>) -> &'a [u8] {
        &self.record.bind(py).as_bytes()[self.text_start..]
    }
}

#[pymethods]
impl RecordMessage {
    #[getter(_body)]
    fn stored(&mut self, py: Python<'_>) -> Py<PyAny> {
        let record = self.record.bind(py).as_bytes();
        let stored = || {
            PyBytes::new(py, &record[HEAD_BYTES..self.body_end])
                .into_any()
                .unbind()
        };
        self.body.get_or_insert_with(stored).clone_ref(py)
    }

    #[setter(_body)]
    fn set_stored(&mut self, body: Py<PyAny>) {
        self.body = Some(body);
    }

    #[getter(_raw_properties)]
    fn text<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.text_of(py))
    }

    #[getter]
    fn _born_host<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.record.bind(py).as_bytes()[48..56])
    }

    #[getter]
    fn _store_host<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.record.bind(py).as_bytes()[64..72])
    }

    /// All properties by name (`decode_properties` in mqframe/core/messages/properties.py), which are kept. Python
    /// splits what is no UTF-8.
    #[getter]
    fn properties<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let mut message = slf.borrow_mut();
        if let Some(kept) = &message._properties {
            return Ok(kept.bind(py).clone().into_any());
        }
        let Ok(text) = std::str::from_utf8(message.text_of(py)) else {
            drop(message); // splitting the properties keeps them in it
            return slf.call_method0(intern!(py, "_properties_split"));
        };
        let found = PyDict::new(py);
        for pair in text.split(char::from(PAIR_END)) {
            match pair.split_once(char::from(NAME_END)) {
                Some((name, value)) if !name.is_empty() && !value.is_empty() => {
                    found.set_item(name, value)?
                }
                _ => {}
            }
        }
        message._properties = Some(found.clone().unbind());
        Ok(found.into_any())
    }

    /// The tag, or `None`. Python looks where properties were split, or are odd.
    #[getter]
    fn tag<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = slf.py();
        let message = slf.borrow();
        if message._properties.is_none() {
            match named(message.text_of(py)).map(|named| named.tags.map(std::str::from_utf8)) {
                Some(None) => return Ok(None),
                Some(Some(Ok(tag))) => return Ok(Some(PyString::new(py, tag).into_any())),
                _ => {}
            }
        }
        drop(message); // splitting the properties keeps them in it
        let properties = slf.getattr(intern!(py, "properties"))?;
        let tag = properties.call_method1(intern!(py, "get"), (intern!(py, "TAGS"),))?;
        Ok((!tag.is_none()).then_some(tag))
    }

    /// Whether `name` stands anywhere in the text of the properties, which is quicker than to split it.
    fn may_have(&self, py: Python<'_>, name: &[u8]) -> bool {
        memchr::memmem::find(self.text_of(py), name).is_some()
    }
}

/// The messages in `records`, which lie one behind the other, read from the broker `broker_name`; `None` where one of
/// them is not of the usual kind.
#[pyfunction]
pub fn read_messages(
    records: &Bound<'_, PyBytes>,
    broker_name: &Bound<'_, PyString>,
) -> PyResult<Option<Vec<Py<RecordMessage>>>> {
    let py = records.py();
    let mut rest = records.as_bytes();
    let mut found = Vec::new();
    let mut topic_bytes: &[u8] = b"";
    let mut topic = PyString::new(py, "");
    while !rest.is_empty() {
        let Some(parts) = Parts::of(rest) else {
            return Ok(None);
        };
        let its_topic = &rest[parts.body_end + 1..parts.topic_end];
        if its_topic != topic_bytes {
            let Ok(text) = std::str::from_utf8(its_topic) else {
                return Ok(None);
            };
            (topic_bytes, topic) = (its_topic, PyString::new(py, text));
        }
        let message = RecordMessage {
            record: PyBytes::new(py, &rest[..parts.end]).unbind(),
            body_end: parts.body_end,
            text_start: parts.topic_end + 2,
            body: None,
            _properties: None,
            topic: topic.clone().unbind(),
            broker_name: broker_name.clone().unbind(),
            queue_id: int(rest, 12),
            queue_offset: long(rest, 20),
            commit_log_offset: long(rest, 28),
            store_size: parts.end as i64,
            born_timestamp: long(rest, 40),
            store_timestamp: long(rest, 56),
            reconsume_times: int(rest, 72).into(),
            sys_flag: int(rest, 36),
            flag: int(rest, 16),
            body_crc: int(rest, 8),
            prepared_transaction_offset: long(rest, 76),
            unpacked_bytes_max: UNPACKED_BYTES_MAX,
            checks_crc: false,
        };
        found.push(Py::new(py, message)?);
        rest = &rest[parts.end..];
    }
    Ok(Some(found))
}
