//! What a pop has found, as clients of RocketMQ's gRPC protocol get it: `message_of` in mqframe_grpc/rules/receives.py,
//! for ordinary records.

use std::collections::HashSet;

use memchr::memchr;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::entry::{int, long};
use crate::md5::md5_text;
use crate::properties::{NAME_END, PAIR_END};
use crate::protobuf::{put_bytes, put_filled, put_nonzero, put_number};
use crate::record::{Parts, HEAD_BYTES};

const PROPERTIES_MAX: usize = 64;
/// `COMPRESSED` of `SysFlag`.
const COMPRESSED: i32 = 1;
/// The years 1 to 9999 (mqframe_grpc/rules/times.py).
const MOMENTS_MS: std::ops::RangeInclusive<i64> = -62_135_596_800_000..=253_402_300_799_999;
/// Of gRPC's message: a flag, and the length.
const PREFIX_BYTES: usize = 5;

/// An answer for the client; message id; start of the pop, queue, queue offset, log offset.
type Received = (Py<PyBytes>, String, i64, i32, i64, i64);

/// What a pop took from one queue, and is not matched with its record yet.
struct Queue<'a> {
    id: i32,
    start: i64,
    offsets: std::str::Split<'a, char>,
}

/// The properties of a message that have a place of their own.
#[derive(Default)]
struct Named<'a> {
    tags: Option<&'a str>,
    keys: &'a str,
    unique: &'a str,
    group: Option<&'a str>,
    trace: Option<&'a str>,
    born_host: &'a str,
}

/// Translates what was popped. `reserved`: names of properties that clients are not shown; `left`: with one of these
/// Python looks at the message; `kinds`: of the digest, the encoding, messages of no group and of one.
#[pyclass(module = "mqframe_speedups._native")]
pub struct ReceivedTranslator {
    reserved: HashSet<String>,
    left: HashSet<String>,
    kinds: (i64, i64, i64, i64),
}

#[pymethods]
impl ReceivedTranslator {
    #[new]
    fn new(reserved: HashSet<String>, left: HashSet<String>, kinds: (i64, i64, i64, i64)) -> Self {
        Self {
            reserved,
            left,
            kinds,
        }
    }

    /// The messages in `records`, all of `topic`; `None` where one of them is not ordinary, or is not where the pop
    /// says. `resource`: the topic as the client named it, in bytes; `places`: `start_offset_info` and
    /// `msg_offset_info` of the pop; `words`: of each handle what stands behind the start, and the broker's name.
    fn translate(
        &self,
        py: Python<'_>,
        records: &[u8],
        topic: &str,
        resource: &[u8],
        places: (&str, &str),
        words: (&str, &str),
    ) -> Option<Vec<Received>> {
        let mut queues = queues(places.0, places.1)?;
        let mut found = Vec::new();
        let mut rest = records;
        while !rest.is_empty() {
            let parts = Parts::of(rest)?;
            let id = int(rest, 12);
            let queue = queues.iter_mut().find(|queue| queue.id == id)?;
            let offset = long(rest, 20);
            if queue.offsets.next()?.parse() != Ok(offset) {
                return None;
            }
            let physical = u64::try_from(long(rest, 28)).ok()?;
            let start = queue.start;
            let handle = format!("{start} {} {} {id} {offset} {physical}", words.0, words.1);
            let (answer, message_id) = self.one(&rest[..parts.end], &parts, topic, resource, &handle)?;
            let answer = PyBytes::new(py, &answer).unbind();
            found.push((answer, message_id, start, id, offset, physical as i64));
            rest = &rest[parts.end..];
        }
        let all = queues.iter_mut().all(|queue| queue.offsets.next().is_none());
        all.then_some(found)
    }
}

impl ReceivedTranslator {
    fn one(
        &self,
        record: &[u8],
        parts: &Parts,
        topic: &str,
        resource: &[u8],
        handle: &str,
    ) -> Option<(Vec<u8>, String)> {
        let ordinary = record[parts.body_end + 1..parts.topic_end] == *topic.as_bytes()
            && int(record, 36) & COMPRESSED == 0
            && int(record, 72) == 0;
        if !ordinary {
            return None;
        }
        let (digest, encoding, normal, fifo) = self.kinds;
        let body = &record[HEAD_BYTES..parts.body_end];
        let mut message = Vec::with_capacity(body.len() + record.len() + 512);
        put_bytes(&mut message, 1, resource);
        let named = self.put_properties(&mut message, &record[parts.topic_end + 2..])?;
        let mut said = Vec::with_capacity(512);
        if let Some(tag) = named.tags {
            put_bytes(&mut said, 1, tag.as_bytes());
        }
        for key in named.keys.split(' ').filter(|key| !key.is_empty()) {
            put_bytes(&mut said, 2, key.as_bytes());
        }
        put_bytes(&mut said, 3, named.unique.as_bytes());
        let mut part = Vec::with_capacity(64);
        put_nonzero(&mut part, 1, digest);
        put_bytes(&mut part, 2, &md5_text(body));
        put_bytes(&mut said, 4, &part);
        put_nonzero(&mut said, 5, encoding);
        let kind = if named.group.is_some() { fifo } else { normal };
        put_nonzero(&mut said, 6, kind);
        put_moment(&mut said, 7, long(record, 40));
        match named.born_host {
            "" => put_bytes(&mut said, 8, address(&record[48..52]).as_bytes()),
            host => put_bytes(&mut said, 8, host.as_bytes()),
        }
        put_moment(&mut said, 9, long(record, 56));
        let port = u32::from_be_bytes(record[68..72].try_into().ok()?);
        let host = format!("{}:{port}", address(&record[64..68]));
        put_bytes(&mut said, 10, host.as_bytes());
        put_bytes(&mut said, 12, handle.as_bytes());
        put_nonzero(&mut said, 13, int(record, 12).into());
        put_number(&mut said, 14, long(record, 20));
        put_number(&mut said, 16, 1);
        for (field, text) in [(17, named.group), (18, named.trace)] {
            if let Some(text) = text {
                put_bytes(&mut said, field, text.as_bytes());
            }
        }
        put_bytes(&mut message, 3, &said);
        put_filled(&mut message, 4, body);
        let mut answer = Vec::with_capacity(message.len() + 16);
        answer.resize(PREFIX_BYTES, 0);
        put_bytes(&mut answer, 2, &message);
        let size = u32::try_from(answer.len() - PREFIX_BYTES).ok()?;
        answer[1..PREFIX_BYTES].copy_from_slice(&size.to_be_bytes());
        Some((answer, named.unique.to_owned()))
    }

    /// Writes those that are the sender's own, and returns the others.
    fn put_properties<'a>(&self, message: &mut Vec<u8>, raw: &'a [u8]) -> Option<Named<'a>> {
        let mut names: Vec<&str> = Vec::with_capacity(16);
        let mut named = Named::default();
        let mut pair = Vec::new();
        let text = std::str::from_utf8(raw).ok()?;
        for each in text.split(char::from(PAIR_END)) {
            let Some(end) = memchr(NAME_END, each.as_bytes()) else {
                continue;
            };
            let (name, value) = (&each[..end], &each[end + 1..]);
            if name.is_empty() || value.is_empty() {
                continue;
            }
            if names.len() == PROPERTIES_MAX || names.contains(&name) || self.left.contains(name) {
                return None;
            }
            names.push(name);
            match name {
                "TAGS" => named.tags = Some(value),
                "KEYS" => named.keys = value,
                "UNIQ_KEY" => named.unique = value,
                "__SHARDINGKEY" => named.group = Some(value),
                "TRACE_CONTEXT" => named.trace = Some(value),
                "__BORNHOST" => named.born_host = value,
                _ => {}
            }
            if !self.reserved.contains(name) {
                pair.clear();
                put_bytes(&mut pair, 1, name.as_bytes());
                put_bytes(&mut pair, 2, value.as_bytes());
                put_bytes(message, 2, &pair);
            }
        }
        // A message without an id, and a host that may be blank, are Python's.
        let host = named.born_host.as_bytes();
        let plain = host.is_empty() || host.iter().any(u8::is_ascii_graphic);
        (plain && !named.unique.is_empty()).then_some(named)
    }
}

/// What was taken from each queue of a topic that is no retry topic; `None` for anything odd.
fn queues<'a>(starts: &str, offsets: &'a str) -> Option<Vec<Queue<'a>>> {
    let mut found: Vec<Queue<'a>> = Vec::new();
    if starts.split(';').count() != offsets.split(';').count() {
        return None;
    }
    for (start, offsets) in starts.split(';').zip(offsets.split(';')) {
        let (queue, start) = start.strip_prefix("0 ")?.split_once(' ')?;
        let (same, offsets) = offsets.strip_prefix("0 ")?.split_once(' ')?;
        let id = queue.parse().ok()?;
        if same != queue || found.iter().any(|other| other.id == id) {
            return None;
        }
        found.push(Queue {
            id,
            start: start.parse().ok()?,
            offsets: offsets.split(','),
        });
    }
    Some(found)
}

fn address(host: &[u8]) -> String {
    let words: Vec<String> = host.iter().map(u8::to_string).collect();
    words.join(".")
}

fn put_moment(out: &mut Vec<u8>, field: u32, ms: i64) {
    let ms = if MOMENTS_MS.contains(&ms) { ms } else { 0 };
    let mut moment = Vec::with_capacity(24);
    put_nonzero(&mut moment, 1, ms.div_euclid(1000));
    put_nonzero(&mut moment, 2, ms.rem_euclid(1000) * 1_000_000);
    put_bytes(out, field, &moment);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_those_of_both_texts() {
        let found = queues("0 3 17;0 0 5", "0 3 17,19;0 0 5").unwrap();
        let all: Vec<_> = found
            .into_iter()
            .map(|queue| (queue.id, queue.start, queue.offsets.collect::<Vec<_>>()))
            .collect();
        assert_eq!(all, [(3, 17, vec!["17", "19"]), (0, 5, vec!["5"])]);
    }

    #[test]
    fn other_texts_are_left() {
        for (starts, offsets) in [
            ("", ""),
            ("0 3 17", ""),
            ("0 3 17", "0 4 17"),
            ("1 3 17", "1 3 17"),
            ("0 3 17;0 3 18", "0 3 17;0 3 18"),
            ("0 3 17", "0 3 17;0 4 18"),
            ("0 x 17", "0 x 17"),
            ("0 3 x", "0 3 17"),
        ] {
            assert!(queues(starts, offsets).is_none(), "{starts:?} {offsets:?}");
        }
    }
}
