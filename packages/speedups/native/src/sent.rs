//! Requests of SendMessage of RocketMQ's gRPC protocol with one ordinary message, checked and turned into what a broker
//! stores: `check_sends` and `draft` in mqframe_grpc/rules.

use std::collections::HashSet;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::properties::{NAME_END, PAIR_END};
use crate::protobuf::{once, pair, resource, text, Fields, Value};

const HOST_BYTES_MAX: usize = 255;
const SECONDS_MAX: u64 = 253_402_300_799;
const NANOS: u64 = 1_000_000_000;
/// The numbers of IDENTITY, which 0 stands for as well, and of NORMAL and FIFO.
const ENCODING_MAX: u64 = 1;
const KIND_MAX: u64 = 2;

/// Topic, message id, message group, properties as text, body, and when it was born, ms.
type Sent = (String, String, String, String, Py<PyBytes>, u64);

/// Reads requests. `reserved`: names of properties that clients may not set; `limits`: of a body in bytes, of properties
/// in bytes, of their number, of a message group in bytes.
#[pyclass(module = "mqframe_speedups._native")]
pub struct SentReader {
    reserved: HashSet<String>,
    body_bytes_max: usize,
    properties_bytes_max: usize,
    properties_max: usize,
    group_bytes_max: usize,
}

/// What a message says, in the text that it came in.
#[derive(Default)]
struct Said<'a> {
    tag: &'a str,
    keys: Vec<&'a str>,
    id: &'a str,
    group: &'a str,
    trace: &'a str,
    born_host: &'a str,
    born_ms: u64,
}

#[pymethods]
impl SentReader {
    #[new]
    fn new(reserved: HashSet<String>, limits: (usize, usize, usize, usize)) -> Self {
        Self {
            reserved,
            body_bytes_max: limits.0,
            properties_bytes_max: limits.1,
            properties_max: limits.2,
            group_bytes_max: limits.3,
        }
    }

    /// What `request` asks to be stored; `None` where it is not one ordinary message, or anything may be wrong with it.
    fn read(&self, request: &Bound<'_, PyBytes>) -> Option<Sent> {
        let mut whole = Fields::of(request.as_bytes());
        let Some((1, Value::Bytes(message))) = whole.next_field()? else {
            return None;
        };
        if whole.next_field()?.is_some() {
            return None;
        }
        self.message(request.py(), message)
    }
}

impl SentReader {
    fn message(&self, py: Python<'_>, raw: &[u8]) -> Option<Sent> {
        let mut fields = Fields::of(raw);
        let (mut topic, mut said, mut body) = (None, None, None);
        let mut pairs: Vec<(&str, &str)> = Vec::new();
        while let Some((number, value)) = fields.next_field()? {
            let Value::Bytes(value) = value else {
                return None;
            };
            match number {
                1 => once(&mut topic, resource(value)?)?,
                2 => pairs.push(pair(value)?),
                3 => once(&mut said, system(value)?)?,
                4 => once(&mut body, value)?,
                _ => return None,
            }
        }
        let (topic, said, body) = (topic?, said?, body?);
        let text = self.text(topic, &said, &pairs)?;
        let fits = (1..=self.body_bytes_max).contains(&body.len());
        fits.then(|| {
            let body = PyBytes::new(py, body).unbind();
            let (id, group) = (said.id.to_owned(), said.group.to_owned());
            (topic.to_owned(), id, group, text, body, said.born_ms)
        })
    }

    /// The properties that are stored, in the order of `draft`.
    fn text(&self, topic: &str, said: &Said, pairs: &[(&str, &str)]) -> Option<String> {
        let mut size = said.tag.len() + said.keys.iter().map(|key| key.len()).sum::<usize>();
        let mut text = String::with_capacity(256);
        if pairs.len() > self.properties_max || said.keys.len() > self.properties_bytes_max {
            return None;
        }
        for (at, (name, value)) in pairs.iter().enumerate() {
            let plain = is_word(name) && is_plain(value) && !value.is_empty();
            let known = || pairs[..at].iter().any(|(other, _)| other == name);
            if !plain || self.reserved.contains(*name) || known() {
                return None;
            }
            size += name.len() + value.len();
            put(&mut text, name, value);
        }
        let keys = said.keys.join(" ");
        let optional_word = |word: &str| word.is_empty() || is_word(word);
        let ordinary = size <= self.properties_bytes_max
            && said.id.len() + said.trace.len() <= self.properties_bytes_max
            && said.group.len() < self.group_bytes_max.max(1)
            && is_word(said.id)
            && optional_word(said.tag)
            && !said.tag.contains('|')
            && said.keys.iter().all(|key| is_word(key))
            && optional_word(said.group)
            && is_plain(said.trace)
            && is_word(said.born_host)
            && said.born_host.len() <= HOST_BYTES_MAX
            && said.born_ms > 0;
        if !ordinary {
            return None;
        }
        for (name, value) in [
            ("TAGS", said.tag),
            ("KEYS", &keys),
            ("UNIQ_KEY", said.id),
            ("PGROUP", topic),
            ("__SHARDINGKEY", said.group),
            ("TRACE_CONTEXT", said.trace),
            ("__BORNHOST", said.born_host),
            ("BORN_TIMESTAMP", &said.born_ms.to_string()),
        ] {
            if !value.is_empty() {
                put(&mut text, name, value);
            }
        }
        Some(text)
    }
}

fn put(text: &mut String, name: &str, value: &str) {
    text.push_str(name);
    text.push(char::from(NAME_END));
    text.push_str(value);
    text.push(char::from(PAIR_END));
}

/// Without control characters, for certain.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// The same, and not blank.
fn is_word(text: &str) -> bool {
    is_plain(text) && text.bytes().any(|byte| byte != b' ')
}

fn system(raw: &[u8]) -> Option<Said<'_>> {
    let mut said = Said::default();
    let mut fields = Fields::of(raw);
    let mut born = None;
    while let Some((number, value)) = fields.next_field()? {
        match (number, value) {
            (1, Value::Bytes(value)) => said.tag = text(value)?,
            (2, Value::Bytes(value)) => said.keys.push(text(value)?),
            (3, Value::Bytes(value)) => said.id = text(value)?,
            (5, Value::Number(encoding)) if encoding <= ENCODING_MAX => {}
            (6, Value::Number(kind)) if kind <= KIND_MAX => {}
            (7, Value::Bytes(value)) => once(&mut born, moment_ms(value)?)?,
            (8, Value::Bytes(value)) => said.born_host = text(value)?,
            (13, Value::Number(_)) => {} // the server chooses the queue
            (17, Value::Bytes(value)) => said.group = text(value)?,
            (18, Value::Bytes(value)) => said.trace = text(value)?,
            _ => return None,
        }
    }
    said.born_ms = born?;
    Some(said)
}

fn moment_ms(raw: &[u8]) -> Option<u64> {
    let (mut seconds, mut nanos) = (0, 0);
    let mut fields = Fields::of(raw);
    while let Some(field) = fields.next_field()? {
        match field {
            (1, Value::Number(value)) if value <= SECONDS_MAX => seconds = value,
            (2, Value::Number(value)) if value < NANOS => nanos = value,
            _ => return None,
        }
    }
    Some(seconds * 1000 + nanos / 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_of_ascii_and_not_blank() {
        for (word, plain, found) in [
            ("a b", true, true),
            ("  ", true, false),
            ("", true, false),
            ("a\tb", false, false),
            ("é", false, false),
            ("a\x7f", false, false),
        ] {
            assert_eq!((is_plain(word), is_word(word)), (plain, found), "{word:?}");
        }
    }

    #[test]
    fn moments_are_those_of_protobuf() {
        assert_eq!(moment_ms(&[8, 2, 0x10, 0xc0, 0x84, 0x3d]), Some(2001));
        assert_eq!(moment_ms(&[]), Some(0));
        assert_eq!(moment_ms(&[0x10, 0x80, 0x94, 0xeb, 0xdc, 3]), None);
        assert_eq!(moment_ms(&[0x18, 1]), None);
    }
}
