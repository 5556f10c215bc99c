//! Requests of AckMessage of RocketMQ's gRPC protocol for one message, read up to the words of its receipt handle, and the
//! answer where all goes well: `DoorHandle.parse` and `all_done` in mqframe_grpc/rules.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::protobuf::{once, pair, put_bytes, resource, Fields, Value};

const LONG_DIGITS: usize = 18;
const INT_DIGITS: usize = 9;
const UNKNOWN_OFFSET: i64 = -1;

/// Start offset, time of the pop, invisible time, revive queue, mark, broker, queue, offset.
type Words<'a> = (i64, i64, i64, i64, &'a str, &'a str, i64, i64);
/// Topic, group, message id, handle, its first eight words, its ninth, and the answer where all goes well.
type Ack<'a> = (&'a str, &'a str, &'a str, &'a str, Words<'a>, i64, Py<PyBytes>);

/// Reads requests. `status`: that of success, as it travels.
#[pyclass(module = "mqframe_speedups._native")]
pub struct AckReader {
    status: Vec<u8>,
}

#[pymethods]
impl AckReader {
    #[new]
    fn new(status: Vec<u8>) -> Self {
        Self { status }
    }

    /// What `request` acknowledges; `None` where it is not one message by a handle as a door makes it.
    fn read<'a>(&self, request: &'a Bound<'_, PyBytes>) -> Option<Ack<'a>> {
        let mut fields = Fields::of(request.as_bytes());
        let (mut group, mut topic, mut entry) = (None, None, None);
        while let Some((number, value)) = fields.next_field()? {
            let Value::Bytes(value) = value else {
                return None;
            };
            match number {
                1 => once(&mut group, resource(value)?)?,
                2 => once(&mut topic, resource(value)?)?,
                3 => once(&mut entry, pair(value)?)?,
                _ => return None,
            }
        }
        let (message_id, handle) = entry.filter(|(message_id, _)| !message_id.is_empty())?;
        let (words, log_offset) = words_of(handle)?;
        let done = PyBytes::new(request.py(), &self.done(message_id, handle)).unbind();
        Some((topic?, group?, message_id, handle, words, log_offset, done))
    }
}

impl AckReader {
    fn done(&self, message_id: &str, handle: &str) -> Vec<u8> {
        let mut entry = Vec::with_capacity(message_id.len() + handle.len() + self.status.len() + 16);
        put_bytes(&mut entry, 1, message_id.as_bytes());
        put_bytes(&mut entry, 2, handle.as_bytes());
        put_bytes(&mut entry, 3, &self.status);
        let mut out = Vec::with_capacity(entry.len() + self.status.len() + 8);
        put_bytes(&mut out, 1, &self.status);
        put_bytes(&mut out, 2, &entry);
        out
    }
}

/// The words of a handle that has eight, or nine.
fn words_of(handle: &str) -> Option<(Words<'_>, i64)> {
    let mut rest = handle.split(' ');
    let mut next = || rest.next();
    let (start, popped, hidden) = (long(next()?)?, long(next()?)?, long(next()?)?);
    let revive = number(next()?, INT_DIGITS)?;
    let (mark, broker) = (next()?, next()?);
    let (queue, offset) = (number(next()?, INT_DIGITS)?, long(next()?)?);
    let log_offset = next().map_or(Some(UNKNOWN_OFFSET), long)?;
    let ordinary = matches!(mark, "0" | "1" | "2") && !broker.is_empty() && next().is_none();
    ordinary.then_some((
        (start, popped, hidden, revive, mark, broker, queue, offset),
        log_offset,
    ))
}

fn long(word: &str) -> Option<i64> {
    number(word, LONG_DIGITS)
}

fn number(word: &str, digits_max: usize) -> Option<i64> {
    let fits = (1..=digits_max).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit());
    if fits {
        word.parse().ok()
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_has_eight_words_or_nine() {
        let words = (17, 1_795_971_784_500, 60_000, 3, "0", "broker-a", 3, 19);
        let handle = "17 1795971784500 60000 3 0 broker-a 3 19";
        assert_eq!(words_of(handle), Some((words, -1)));
        assert_eq!(words_of(&format!("{handle} 1234")), Some((words, 1234)));
        for odd in [
            "17 1795971784500 60000 3 0 broker-a 3",
            "17 1795971784500 60000 3 3 broker-a 3 19",
            "17 1795971784500 60000 3 0  3 19",
            "17 1795971784500 60000 1234567890 0 broker-a 3 19",
            "+17 1795971784500 60000 3 0 broker-a 3 19",
            "17 1795971784500 60000 3 0 broker-a 3 19 -1",
            "17 1795971784500 60000 3 0 broker-a 3 19 ",
            "17 1795971784500 60000 3 0 broker-a 3 19 5 more",
            "",
        ] {
            assert_eq!(words_of(odd), None, "{odd:?}");
        }
    }
}
