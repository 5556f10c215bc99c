//! What is asked of many messages at once (`ManyMessages` in mqframe/core/messages/message.py).
//!
//! Where one of them is none of ours, or a number is beyond those that ours have, Python looks.

use memchr::memmem::Finder;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use crate::messages::RecordMessage;

/// Has `look` look at each, as long as it says so; whether all are ours, and it went on to the end.
fn all(messages: &Bound<'_, PyAny>, mut look: impl FnMut(&Bound<'_, RecordMessage>) -> bool) -> bool {
    messages.cast_exact::<PyList>().is_ok_and(|messages| {
        messages
            .iter()
            .all(|message| message.cast_exact::<RecordMessage>().is_ok_and(&mut look))
    })
}

/// The queue offset of each.
#[pyfunction]
pub fn offsets_of(messages: &Bound<'_, PyAny>) -> Option<Vec<i64>> {
    let mut offsets = Vec::new();
    let ours = all(messages, |message| {
        offsets.push(message.borrow().queue_offset);
        true
    });
    ours.then_some(offsets)
}

/// Bytes of their records together.
#[pyfunction]
pub fn store_bytes_of(messages: &Bound<'_, PyAny>) -> Option<i64> {
    let mut bytes = Some(0_i64);
    let ours = all(messages, |message| {
        bytes = bytes.and_then(|bytes| bytes.checked_add(message.borrow().store_size));
        true
    });
    bytes.filter(|_| ours)
}

/// Whether `name` stands anywhere in the text of the properties of any.
#[pyfunction]
pub fn any_may_have(messages: &Bound<'_, PyAny>, name: &[u8]) -> Option<bool> {
    let py = messages.py();
    let finder = Finder::new(name);
    let mut found = false;
    let ours = all(messages, |message| {
        found = found || finder.find(message.borrow().text_of(py)).is_some();
        true
    });
    ours.then_some(found)
}

/// Whether all are known to be of the queue `queue_id` of `topic`, from offset `first` on, in order.
#[pyfunction]
pub fn rise_in(
    messages: &Bound<'_, PyAny>,
    topic: &Bound<'_, PyString>,
    queue_id: &Bound<'_, PyAny>,
    first: &Bound<'_, PyAny>,
) -> bool {
    let (Ok(topic), Ok(queue_id), Ok(mut next)) =
        (topic.to_str(), queue_id.extract::<i32>(), first.extract::<i64>())
    else {
        return false;
    };
    let py = messages.py();
    let mut known = std::ptr::null_mut(); // messages of one answer share the object
    all(messages, |message| {
        let message = message.borrow();
        if message.topic.as_ptr() != known {
            if !message.topic.bind(py).to_str().is_ok_and(|its| its == topic) {
                return false;
            }
            known = message.topic.as_ptr();
        }
        let offset = message.queue_offset;
        let rises = message.queue_id == queue_id && offset >= next && offset < i64::MAX;
        next = offset.saturating_add(1);
        rises
    })
}

/// Has their bodies unpack to `bytes_max` bytes at most, with `check_crc` not without a check; whether that is done.
#[pyfunction]
pub fn guard(messages: &Bound<'_, PyAny>, bytes_max: &Bound<'_, PyAny>, check_crc: bool) -> bool {
    bytes_max.extract::<i64>().is_ok_and(|bytes_max| {
        all(messages, |message| {
            let mut message = message.borrow_mut();
            message.unpacked_bytes_max = bytes_max;
            message.checks_crc = check_crc;
            true
        })
    })
}
