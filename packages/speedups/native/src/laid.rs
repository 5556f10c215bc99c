//! What one call of `SendLayout.lay` found, and how it becomes objects of Python.

use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

use crate::diverted::Kind;
use crate::entry::ENTRY_BYTES;
use crate::hasher::NumberState;
use crate::keys::Keys;
use crate::record::{put_entry, put_record, Hosts, Record};
use crate::record_crc::fill_in;

/// Sends that were laid out. Nothing is stored yet.
#[pyclass(frozen, get_all, module = "mqframe_speedups._native")]
pub struct Laid {
    stopped: usize,
    unknown: Option<Py<PyString>>,
    undecided: Option<Kind>,
    at_once: bool,
    count: usize,
    end: i64,
    records: Py<PyBytes>,
    answers: Py<PyBytes>,
    runs: Py<PyList>,
    puts: Py<PyList>,
    kinds: Py<PyList>,
    keys: Py<Keys>,
}

/// Messages of one queue.
pub struct Run {
    pub queue: Py<PyAny>,
    pub first: i64,
    pub end: i64,
    pub entries: Vec<u8>,
    pub codes: Vec<i64>,
}

/// Messages of one topic, or of a kind that waits elsewhere, as they are counted: those of about one size together.
/// `times`: by how many requests they came.
struct Puts {
    name: Py<PyAny>,
    sharded: bool,
    count: u64,
    bytes: u64,
    times: u64,
}

/// What is laid out so far. `guarded`: whether records end with room for a CRC over all of them; `at_once`: whether
/// none of the answers waits, or all may; `end`: log offset behind the last record; `puts_at`: where `puts` counts
/// messages, by a number, that of their topic mostly, their size, and whether they are sharded.
pub struct Work {
    guarded: bool,
    pub at_once: bool,
    pub records: Vec<u8>,
    pub answers: Vec<u8>,
    pub end: i64,
    pub count: usize,
    pub runs: Vec<Run>,
    queues: HashMap<u64, usize, NumberState>,
    last_run: (u64, usize),
    puts: Vec<Puts>,
    puts_at: HashMap<u64, usize, NumberState>,
    last_puts: (u64, usize),
    kinds: Vec<(i32, bool, u64)>,
    pub keys: Vec<(u32, i64)>,
}

const NONE: (u64, usize) = (u64::MAX, 0);

impl Work {
    /// `size`: bytes of the frames that may be laid out.
    pub fn new(guarded: bool, end: i64, size: usize, state: NumberState) -> Self {
        Self {
            guarded,
            at_once: false,
            records: Vec::with_capacity(size),
            answers: Vec::with_capacity(size / 2),
            end,
            count: 0,
            runs: Vec::new(),
            queues: HashMap::with_hasher(state.clone()),
            last_run: NONE,
            puts: Vec::new(),
            puts_at: HashMap::with_hasher(state),
            last_puts: NONE,
            kinds: Vec::new(),
            keys: Vec::new(),
        }
    }

    /// The run of a queue, if there is one.
    pub fn run(&mut self, queue: u64) -> Option<usize> {
        // Messages of one connection go to few queues, mostly.
        if self.last_run.0 == queue {
            return Some(self.last_run.1);
        }
        let run = *self.queues.get(&queue)?;
        self.last_run = (queue, run);
        Some(run)
    }

    /// A new run: `first` is the queue offset at which `queue` goes on.
    pub fn add_run(&mut self, key: u64, queue: Py<PyAny>, first: i64) -> usize {
        let run = self.runs.len();
        self.runs.push(Run {
            queue,
            first,
            end: 0,
            entries: Vec::new(),
            codes: Vec::new(),
        });
        self.queues.insert(key, run);
        self.last_run = (key, run);
        run
    }

    /// Makes room for `count` messages of a run, whose records have `size` bytes.
    pub fn expect(&mut self, run: usize, count: usize, size: usize) {
        self.records.reserve(size);
        let run = &mut self.runs[run];
        run.entries.reserve(count * ENTRY_BYTES);
        run.codes.reserve(count);
        self.keys.reserve(2 * count); // a unique key and another one
    }

    /// Lays out a record of `size` bytes for a queue; `code`: what its entry says, mostly the tags code.
    pub fn append(&mut self, run: usize, record: &Record, hosts: &Hosts, size: usize, code: i64) {
        let start = self.records.len();
        put_record(&mut self.records, record, hosts, size);
        if self.guarded {
            fill_in(&mut self.records[start..]);
        }
        self.end = record.physical + size as i64;
        self.count += 1;
        let run = &mut self.runs[run];
        put_entry(&mut run.entries, record.physical, size, code);
        run.codes.push(code);
        run.end = self.end;
    }

    /// Counts one put of `count` messages, whose records have `size` bytes together, as `PutCount.add` of
    /// mqframe/broker/tables/statistics.py. `name` has the number `number`.
    pub fn count_put(
        &mut self,
        py: Python,
        (number, name): (usize, &Py<PyAny>),
        sharded: bool,
        (count, size): (usize, usize),
        bounds: &[u64],
    ) {
        let average = (size / count) as u64;
        let slot = bounds.partition_point(|bound| *bound < average); // as bisect_left
        let key = (number as u64) << 16 | (slot as u64) << 1 | u64::from(sharded);
        if self.last_puts.0 != key {
            let puts = &mut self.puts;
            let at = *self.puts_at.entry(key).or_insert_with(|| {
                puts.push(Puts {
                    name: name.clone_ref(py),
                    sharded,
                    count: 0,
                    bytes: 0,
                    times: 0,
                });
                puts.len() - 1
            });
            self.last_puts = (key, at);
        }
        let puts = &mut self.puts[self.last_puts.1];
        puts.count += count as u64;
        puts.bytes += size as u64;
        puts.times += 1;
    }

    /// Counts a request.
    pub fn count_kind(&mut self, code: i32, one_way: bool) {
        for kind in &mut self.kinds {
            if (kind.0, kind.1) == (code, one_way) {
                kind.2 += 1;
                return;
            }
        }
        self.kinds.push((code, one_way, 1));
    }

    /// All of it as objects of Python.
    pub fn finish(
        mut self,
        py: Python<'_>,
        stopped: usize,
        unknown: Option<&str>,
        undecided: Option<Kind>,
    ) -> PyResult<Laid> {
        self.runs.sort_by_key(|run| run.end);
        let runs = self.runs.into_iter().map(|run| {
            let entries = PyBytes::new(py, &run.entries);
            (run.end, run.queue, run.first, entries, run.codes)
        });
        let puts = self.puts.into_iter();
        let puts = puts.map(|puts| (puts.name, puts.sharded, puts.count, puts.bytes, puts.times));
        Ok(Laid {
            stopped,
            unknown: unknown.map(|topic| PyString::new(py, topic).unbind()),
            undecided,
            at_once: self.at_once,
            count: self.count,
            end: self.end,
            records: PyBytes::new(py, &self.records).unbind(),
            answers: PyBytes::new(py, &self.answers).unbind(),
            runs: PyList::new(py, runs.collect::<Vec<_>>())?.unbind(),
            puts: PyList::new(py, puts.collect::<Vec<_>>())?.unbind(),
            kinds: PyList::new(py, self.kinds)?.unbind(),
            keys: Py::new(
                py,
                Keys {
                    pairs: self.keys,
                    times: Vec::new(),
                },
            )?,
        })
    }
}
