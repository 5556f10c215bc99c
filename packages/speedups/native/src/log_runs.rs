//! What neighbouring records of the log say, described at once for a start or a check (`LogReading` in
//! mqframe/core/storage/log_reading.py).
//!
//! It ends before a record that is in any way unusual: that one is read by Python.

use std::collections::HashMap;

use memchr::memchr;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::entry::{int, long};
use crate::keys::{note_keys, Keys};
use crate::properties::named;
use crate::record::{put_entry, Parts, HEAD_BYTES};
use crate::record_crc::{agrees, crc_of};
use crate::send::TRANSACTION_MASK;
use crate::text::java_hash;

/// Of ordinary records one behind the other: how many there are, log offsets behind the last of them and where
/// it begins, when it was stored, the latest such time, ms; their runs and keys (`LogRuns`).
type Said = (usize, i64, i64, i64, i64, Py<PyList>, Keys);

/// One record. `text`: its properties.
struct Ordinary<'a> {
    size: usize,
    topic: &'a [u8],
    queue_id: i32,
    queue_offset: i64,
    stored: i64,
    text: &'a [u8],
}

/// What is said of one queue. `topic_hash`: of its topic with `#` behind, as index keys begin.
struct Run<'a> {
    topic: &'a str,
    queue_id: i32,
    first: i64,
    following: i64,
    covered: i64,
    topic_hash: u32,
    entries: Vec<u8>,
}

/// What is described so far.
#[derive(Default)]
struct Described<'a> {
    runs: Vec<Run<'a>>,
    places: HashMap<(&'a [u8], i32), usize>,
    last_run: usize,
    keys: Keys,
}

/// Describe the ordinary records at the beginning of `some`, which is from log offset `first` on; `None`: there
/// is none. `crc`: check those of bodies. It ends before records of the topics `apart`, too. Keys are noted of
/// records from log offset `keys_from` on.
#[pyfunction]
pub fn describe_log(
    py: Python<'_>,
    some: &Bound<'_, PyBytes>,
    first: i64,
    crc: bool,
    apart: Vec<String>,
    keys_from: i64,
) -> PyResult<Option<Said>> {
    let some = some.as_bytes();
    let mut described = Described::default();
    let (mut at, mut count, mut last) = (0, 0, 0);
    let (mut stored, mut newest) = (0, i64::MIN);
    while let Some(record) = ordinary(&some[at..], first.saturating_add(at as i64), crc) {
        let physical = first + at as i64;
        let noted = described.note(&record, physical, &apart, physical >= keys_from);
        if noted.is_none() {
            break;
        }
        (last, stored, newest) = (physical, record.stored, newest.max(record.stored));
        at += record.size;
        count += 1;
    }
    if count == 0 {
        return Ok(None);
    }
    let runs = described.runs.into_iter().map(|run| {
        let entries = PyBytes::new(py, &run.entries);
        ((run.topic, run.queue_id), run.first, entries, run.covered)
    });
    let runs = PyList::new(py, runs.collect::<Vec<_>>())?.unbind();
    let end = first + at as i64;
    Ok(Some((count, end, last, stored, newest, runs, described.keys)))
}

impl<'a> Described<'a> {
    /// Notes a record, unless it is not ordinary: then nothing of it.
    fn note(&mut self, record: &Ordinary<'a>, physical: i64, apart: &[String], keyed: bool) -> Option<()> {
        let named = named(record.text)?;
        let code = java_hash(named.tags.unwrap_or_default(), 0)?;
        let number = self.run_of(record, apart)?;
        let run = &mut self.runs[number];
        if keyed {
            let from = self.keys.pairs.len();
            note_keys(&mut self.keys.pairs, run.topic_hash, &named, physical)?;
            self.keys.stamp(from, record.stored);
        }
        put_entry(&mut run.entries, physical, record.size, i64::from(code as i32));
        run.following = record.queue_offset + 1;
        run.covered = physical + record.size as i64;
        self.last_run = number;
        Some(())
    }

    /// The run that `record` goes on with, or begins; `None` where it does not follow.
    fn run_of(&mut self, record: &Ordinary<'a>, apart: &[String]) -> Option<usize> {
        let is_of = |run: &Run| (run.topic.as_bytes(), run.queue_id) == (record.topic, record.queue_id);
        // Neighbours are of one queue, often.
        let known = match self.runs.get(self.last_run) {
            Some(run) if is_of(run) => Some(self.last_run),
            _ => self.places.get(&(record.topic, record.queue_id)).copied(),
        };
        if let Some(number) = known {
            return (self.runs[number].following == record.queue_offset).then_some(number);
        }
        let topic = std::str::from_utf8(record.topic).ok()?;
        if apart.iter().any(|other| other == topic) {
            return None;
        }
        let number = self.runs.len();
        self.runs.push(Run {
            topic,
            queue_id: record.queue_id,
            first: record.queue_offset,
            following: record.queue_offset,
            covered: 0,
            topic_hash: java_hash(b"#", java_hash(record.topic, 0)?)?,
            entries: Vec::new(),
        });
        self.places.insert((record.topic, record.queue_id), number);
        Some(number)
    }
}

/// The record at the beginning of `rest`, which is at log offset `physical`; `None`: it is none, or no ordinary
/// one. What Python checks is checked (`read_record` in mqframe/core/storage/log_scan.py).
fn ordinary(rest: &[u8], physical: i64, crc: bool) -> Option<Ordinary<'_>> {
    let parts = Parts::of(rest)?;
    let record = &rest[..parts.end];
    let (queue_offset, text) = (long(record, 20), &record[parts.topic_end + 2..]);
    let is_ordinary = int(record, 36) & TRANSACTION_MASK == 0
        && long(record, 28) == physical
        && (0..i64::MAX).contains(&queue_offset);
    // Where properties hold a zero, the disk may have lost a part of them.
    if !is_ordinary || memchr(0, text).is_some() || std::str::from_utf8(text).is_err() {
        return None;
    }
    if crc && (crc_of(&record[HEAD_BYTES..parts.body_end]) != int(record, 8) || !agrees(record)) {
        return None;
    }
    Some(Ordinary {
        size: parts.end,
        topic: &record[parts.body_end + 1..parts.topic_end],
        queue_id: int(record, 12),
        queue_offset,
        stored: long(record, 56),
        text,
    })
}
