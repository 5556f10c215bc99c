//! Verdicts of a filter of records, remembered by the values of the properties that it looks at.
//!
//! The filter is Python's, and is asked once for each combination of values. What is in any way unusual, a record
//! or an entry of a queue, is left to Python.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use memchr::memchr;
use memchr::memmem::FinderRev;
use pyo3::buffer::{PyBuffer, ReadOnlyCell};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PySlice, PyString};

use crate::entry::{entries as entries_of, int, long, Entry, ENTRY_BYTES};
use crate::properties::{NAME_END, PAIR_END};
use crate::record::{BORN_HOST_V6, MAGIC_V1, STORE_HOST_V6};
use crate::window::cells;

const HEAD_BYTES: usize = 88;
const V6: i32 = BORN_HOST_V6 | STORE_HOST_V6;
/// Combinations of values that are remembered, and how many bytes they have at most: senders choose them.
const REMEMBERED_MAX: usize = 4096;
const VALUES_BYTES_MAX: usize = 256;

type Cells<'a> = &'a [ReadOnlyCell<u8>];

/// `wanted`, a filter of records by `matches`, which looks at the properties called `names` and at nothing else.
#[pyclass(module = "mqframe_speedups._native", frozen)]
pub struct RecordVerdicts {
    wanted: Py<PyAny>,
    matches: Py<PyAny>,
    names: Vec<Py<PyString>>,
    finders: Vec<FinderRev<'static>>,
    are_plain: bool,
    known: Mutex<HashMap<Box<[u8]>, bool>>,
}

/// What is used again for each record.
#[derive(Default)]
pub struct Scratch {
    properties: Vec<u8>,
    values: Vec<u8>,
}

#[pymethods]
impl RecordVerdicts {
    #[new]
    fn new(py: Python<'_>, wanted: Py<PyAny>, matches: Py<PyAny>, names: Vec<String>) -> Self {
        let finder = |name: &String| {
            let mut needle = name.clone().into_bytes();
            needle.push(NAME_END);
            FinderRev::new(&needle).into_owned()
        };
        Self {
            wanted,
            matches,
            finders: names.iter().map(finder).collect(),
            are_plain: names.iter().all(|name| name.is_ascii()),
            names: names
                .iter()
                .map(|name| PyString::intern(py, name).unbind())
                .collect(),
            known: Mutex::default(),
        }
    }

    /// Combinations of values that are remembered.
    fn __len__(&self) -> usize {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether `record`, all its bytes, is wanted.
    fn __call__(&self, record: &Bound<'_, PyAny>) -> PyResult<bool> {
        let buffer = PyBuffer::<u8>::get(record)?;
        self.judge(
            record.py(),
            cells(&buffer, record.py())?,
            &mut Scratch::default(),
            || Ok(record.clone()),
        )
    }

    /// How many entries of a queue, from `number` on, are done with; `size` with the bytes of those that match.
    ///
    /// Those go into `picked`: number, log offset, size. It ends before an entry that is in any way unusual, or
    /// whose record is not in the `window`: what it shows, the log offsets where that begins and where its last
    /// record may end. It ends before more than `limits` would be picked, too: records, bytes.
    #[allow(clippy::too_many_arguments)] // as Python gives them
    fn look_ahead(
        &self,
        number: usize,
        picked: &Bound<'_, PyList>,
        mut size: i64,
        entries: &Bound<'_, PyBytes>,
        limits: (usize, i64),
        queue_id: i32,
        log_start: i64,
        window: (Bound<'_, PyAny>, i64, i64),
    ) -> PyResult<(usize, i64)> {
        let py = entries.py();
        let (view, base, stop) = window;
        let buffer = PyBuffer::<u8>::get(&view)?;
        let cells = cells(&buffer, py)?;
        let (mut count, mut scratch) = (picked.len(), Scratch::default());
        let rest = entries.as_bytes().get(number * ENTRY_BYTES..).unwrap_or_default();
        for (done, entry) in entries_of(rest).enumerate() {
            let (physical, record_bytes) = (entry.physical, entry.size);
            let end = physical.saturating_add(i64::from(record_bytes));
            let is_within = physical >= base.max(log_start) && end <= stop;
            let is_full = count >= limits.0 || size + i64::from(record_bytes) > limits.1;
            if !is_within || record_bytes <= 0 || (count > 0 && is_full) {
                return Ok((done, size));
            }
            let (start, end) = ((physical - base) as usize, (end - base) as usize);
            let Some(record) = cells
                .get(start..end)
                .filter(|record| is_listed(record, &entry, queue_id))
            else {
                return Ok((done, size));
            };
            let slice = || view.get_item(PySlice::new(py, start as isize, end as isize, 1));
            if self.judge(py, record, &mut scratch, slice)? {
                picked.append((number + done, physical, record_bytes))?;
                size += i64::from(record_bytes);
                count += 1;
            }
        }
        Ok((rest.len() / ENTRY_BYTES, size))
    }
}

impl RecordVerdicts {
    /// Whether `record`, that of `entry` of a queue, is wanted; `None` where it is not plainly that.
    pub fn judge_listed(
        &self,
        py: Python<'_>,
        record: &[ReadOnlyCell<u8>],
        entry: &Entry,
        queue_id: i32,
        scratch: &mut Scratch,
    ) -> Option<PyResult<bool>> {
        let whole = || {
            let bytes = record.iter().map(ReadOnlyCell::get).collect::<Vec<_>>();
            Ok(PyBytes::new(py, &bytes).into_any())
        };
        is_listed(record, entry, queue_id).then(|| self.judge(py, record, scratch, whole))
    }

    fn judge<'py>(
        &self,
        py: Python<'py>,
        record: Cells<'_>,
        scratch: &mut Scratch,
        object: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<bool> {
        let plainly = || self.wanted.bind(py).call1((object()?,))?.is_truthy();
        if self.values(record, scratch).is_none() {
            return plainly();
        }
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(verdict) = known().get(scratch.values.as_slice()) {
            return Ok(*verdict);
        }
        let verdict = match self.ask(py, &scratch.values) {
            Some(verdict) => verdict,
            None => plainly()?,
        };
        let mut known = known();
        if known.len() >= REMEMBERED_MAX {
            known.clear();
        }
        known.insert(scratch.values.as_slice().into(), verdict);
        Ok(verdict)
    }

    /// What `matches` says of these `values`; `None` where it raises, or they are no text.
    fn ask(&self, py: Python<'_>, mut values: &[u8]) -> Option<bool> {
        let properties = PyDict::new(py);
        for name in &self.names {
            let (is_there, rest) = values.split_first()?;
            values = rest;
            if *is_there == 1 {
                let (size, rest) = values.split_first_chunk::<4>()?;
                let (value, rest) = rest.split_at_checked(u32::from_le_bytes(*size) as usize)?;
                values = rest;
                properties.set_item(name, std::str::from_utf8(value).ok()?).ok()?;
            }
        }
        self.matches.bind(py).call1((properties,)).ok()?.is_truthy().ok()
    }

    /// The values of all names, in their order, into `scratch`; `None` unless names are plain and each is absent or a
    /// regular pair.
    ///
    /// `RecordProperties.get` (mqframe/core/storage/record_filter.py) takes the last occurrence of a name where
    /// it is a pair with another one behind, and looks on where it is none.
    fn values(&self, record: Cells<'_>, scratch: &mut Scratch) -> Option<()> {
        if !self.are_plain {
            return None;
        }
        let Scratch { properties, values } = scratch;
        properties.clear();
        properties.extend(properties_of(record)?.iter().map(ReadOnlyCell::get));
        values.clear();
        for name in &self.finders {
            let Some(at) = name.rfind(properties.as_slice()) else {
                values.push(0);
                continue;
            };
            if at > 0 && properties[at - 1] != PAIR_END {
                return None;
            }
            let rest = &properties[at + name.needle().len()..];
            let value = &rest[..memchr(PAIR_END, rest).filter(|end| *end > 0)?];
            values.push(1);
            values.extend((value.len() as u32).to_le_bytes());
            values.extend(value);
        }
        (values.len() <= VALUES_BYTES_MAX).then_some(())
    }
}

/// Whether `record` says that it is the one of `entry`.
fn is_listed(record: Cells<'_>, entry: &Entry, queue_id: i32) -> bool {
    if record.len() < HEAD_BYTES {
        return false;
    }
    let head = copied::<36>(record, 0);
    (int(&head, 0), int(&head, 12), long(&head, 28)) == (entry.size, queue_id, entry.physical)
}

/// The properties of a record of version 1 with IPv4 hosts, the common kind.
fn properties_of(record: Cells<'_>) -> Option<Cells<'_>> {
    if record.len() < HEAD_BYTES {
        return None;
    }
    let head = copied::<HEAD_BYTES>(record, 0);
    if int(&head, 4) != MAGIC_V1 || int(&head, 36) & V6 != 0 {
        return None;
    }
    let topic = HEAD_BYTES + usize::try_from(int(&head, 84)).ok()?;
    let topic_bytes = record.get(topic)?.get();
    record.get(topic + 3 + usize::from(topic_bytes)..)
}

fn copied<const N: usize>(cells: Cells<'_>, at: usize) -> [u8; N] {
    std::array::from_fn(|byte| cells[at + byte].get())
}
