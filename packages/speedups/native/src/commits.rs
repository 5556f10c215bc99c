//! Committed halves: the message that a half becomes, and the op message behind it that ends the half, laid out
//! together (`HalfQueue.commit` in mqframe_transactions/broker/half_queue.py).

use memchr::memmem::find;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::entry::{int, long};
use crate::keys::{note_keys, Keys};
use crate::properties::{is_regular, named, PAIR_END};
use crate::record::{put_entry, put_record, record_bytes, Hosts, Parts, Record, HEAD_BYTES, TOPIC_BYTES_MAX};
use crate::text::java_hash;

/// `PROPERTY_CRC` of mqframe/core/storage/property_crc.py: what says it of its record is not copied.
const CRC: &[u8] = b"__CRC32#";
const BORN_HOST: std::ops::Range<usize> = 48..56;
const HOST_BYTES: usize = 8;

/// Where a record goes: topic, queue, queue offset, flag of its system.
type Goal<'a> = (&'a str, i32, i64, i32);

/// One that was laid out: how many bytes it has, its queue entry, the code in that.
type LaidRecord = (usize, Py<PyBytes>, i64);

/// Both records, what is to be known of each, index keys of the first.
type LaidCommit = (Py<PyBytes>, LaidRecord, LaidRecord, Keys);

/// Lays out the message that `half`, all bytes of its record, becomes, and a record of `op`, a body and
/// properties, behind it. `place`: the store's host; log offset; store time, ms; longest body.
///
/// `None` where either is in any way unusual.
#[pyfunction]
pub fn lay_commit(
    py: Python<'_>,
    half: &[u8],
    goal: Goal<'_>,
    op_goal: Goal<'_>,
    op: (&[u8], &[u8]),
    place: (&[u8], i64, i64, usize),
) -> Option<LaidCommit> {
    let (store_host, end, now, body_bytes_max) = place;
    let parts = Parts::of(half).filter(|parts| parts.end == half.len())?;
    let (body, text) = (&half[HEAD_BYTES..parts.body_end], &half[parts.topic_end + 2..]);
    let is_kept = text.last() == Some(&PAIR_END)
        && is_regular(text, |_, _| true)
        && find(text, CRC).is_none()
        && std::str::from_utf8(text).is_ok();
    if !is_kept || body.len() > body_bytes_max || store_host.len() != HOST_BYTES {
        return None;
    }
    let message = Record {
        topic: goal.0.as_bytes(),
        queue_id: goal.1,
        queue_offset: goal.2,
        physical: end,
        flag: int(half, 16),
        sys_flag: goal.3,
        born: long(half, 40),
        stored: now,
        reconsumed: int(half, 72),
        prepared: long(half, 28),
        body,
        properties: [text, b"", b""],
    };
    let mut out = Vec::with_capacity(2 * half.len());
    let hosts = Hosts {
        born: &half[BORN_HOST],
        store: store_host,
    };
    let first = put(py, &mut out, &message, &hosts)?;
    let ended = Record {
        topic: op_goal.0.as_bytes(),
        queue_id: op_goal.1,
        queue_offset: op_goal.2,
        physical: end + first.0 as i64,
        flag: 0,
        sys_flag: op_goal.3,
        born: now,
        stored: now,
        reconsumed: 0,
        prepared: 0,
        body: op.0,
        properties: [op.1, b"", b""],
    };
    let hosts = Hosts {
        born: store_host,
        store: store_host,
    };
    let second = put(py, &mut out, &ended, &hosts)?;
    let mut keys = Keys::default();
    let head = java_hash(format!("{}#", goal.0).as_bytes(), 0)?;
    note_keys(&mut keys.pairs, head, &named(text)?, end)?;
    Some((PyBytes::new(py, &out).unbind(), first, second, keys))
}

/// Writes `record`, and says what its queue gets.
fn put(py: Python<'_>, out: &mut Vec<u8>, record: &Record, hosts: &Hosts) -> Option<LaidRecord> {
    let [text, ..] = record.properties;
    let code = named(text)?.tags_code()?;
    if record.topic.len() > TOPIC_BYTES_MAX || record.topic.is_empty() {
        return None;
    }
    let size = record_bytes(hosts, record.topic.len(), record.body.len(), text.len());
    put_record(out, record, hosts, size);
    let mut entry = Vec::new();
    put_entry(&mut entry, record.physical, size, code);
    Some((size, PyBytes::new(py, &entry).unbind(), code))
}
