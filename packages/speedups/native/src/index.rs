//! Entries of one index file that are not in it yet (`IndexFile` in mqframe_index/store/index_file.py).

use std::collections::HashMap;

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyBufferError, PyOverflowError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PySequence};

use crate::hasher::NumberState;
use crate::keys::Keys;

const HEADER_BYTES: usize = 40;
const SLOT_BYTES: usize = 4;
const ENTRY_BYTES: usize = 20;

/// Entries `>iqii` (hash, log offset, seconds, previous entry of the slot), and the slots' newest entries.
#[pyclass(module = "mqframe_speedups._native")]
pub struct NewEntries {
    slots: u32,
    entries: Vec<u8>,
    newest: HashMap<u32, i32, NumberState>,
}

#[pymethods]
impl NewEntries {
    #[new]
    fn new(slots: u32) -> PyResult<Self> {
        if slots == 0 {
            return Err(PyValueError::new_err("an index file has at least one slot"));
        }
        Ok(Self {
            slots,
            entries: Vec::new(),
            newest: HashMap::default(),
        })
    }

    fn __len__(&self) -> usize {
        self.entries.len() / ENTRY_BYTES
    }

    /// Note entries for at most `most` of `keys` behind the first `skip`, numbered from `number` on.
    #[allow(clippy::too_many_arguments)] // as Python gives them
    fn add(
        &mut self,
        py: Python<'_>,
        keys: &Bound<'_, PyAny>,
        skip: usize,
        most: usize,
        number: i32,
        seconds: i32,
        first_seconds: i32,
        slot_map: &Bound<'_, PyAny>,
        before_cut: &Bound<'_, PyAny>,
    ) -> PyResult<usize> {
        let slot_map = self.buffer(slot_map)?;
        let copied;
        let pairs = if let Ok(keys) = keys.cast::<Keys>() {
            let all = &keys.get().pairs;
            let first = skip.min(all.len());
            &all[first..first + most.min(all.len() - first)]
        } else {
            copied = some_pairs(keys.cast::<PySequence>()?, skip, most)?;
            &copied[..]
        };
        let count = i32::try_from(pairs.len()).ok();
        if count.and_then(|count| number.checked_add(count)).is_none() {
            return Err(PyOverflowError::new_err(
                "more entries than an index file can number",
            ));
        }
        let began = number - self.__len__() as i32;
        let before = self.entries.len();
        let slot_map = slot_map.as_slice(py).ok_or_else(not_bytes)?;
        let added = self.note(pairs, number, (first_seconds, seconds), |slot| {
            let at = HEADER_BYTES + slot as usize * SLOT_BYTES;
            let bytes = [0, 1, 2, 3].map(|byte| slot_map[at + byte].get());
            let found = i32::from_be_bytes(bytes);
            if found < began {
                return Ok(found);
            }
            before_cut.call1((slot, found))?.extract()
        });
        if added.is_err() {
            self.take_back(before, began);
        }
        added
    }

    /// All entries, joined.
    fn entries<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.entries)
    }

    /// Have the slots name their newest entries.
    fn write_slots(&self, py: Python<'_>, slot_map: &Bound<'_, PyAny>) -> PyResult<()> {
        let slot_map = self.buffer(slot_map)?;
        let bytes = slot_map.as_mut_slice(py).ok_or_else(|| {
            PyBufferError::new_err("the slots cannot be written: read-only, or not one piece")
        })?;
        for (slot, number) in &self.newest {
            let at = HEADER_BYTES + *slot as usize * SLOT_BYTES;
            for (cell, byte) in bytes[at..at + SLOT_BYTES].iter().zip(number.to_be_bytes()) {
                cell.set(byte);
            }
        }
        Ok(())
    }

    /// Forget all entries: they are written.
    fn clear(&mut self) {
        self.entries.clear();
        self.newest.clear();
    }
}

impl NewEntries {
    /// The buffer of `slot_map`, which holds header and slots.
    fn buffer(&self, slot_map: &Bound<'_, PyAny>) -> PyResult<PyBuffer<u8>> {
        let buffer = PyBuffer::<u8>::get(slot_map)?;
        let needed = HEADER_BYTES + self.slots as usize * SLOT_BYTES;
        if buffer.item_count() < needed {
            return Err(PyValueError::new_err(format!(
                "header and slots have {needed} bytes, not {}",
                buffer.item_count()
            )));
        }
        Ok(buffer)
    }

    /// Notes an entry for each of `pairs`; `written` tells what a slot named before. Returns how many slots
    /// were never used.
    fn note(
        &mut self,
        pairs: &[(u32, i64)],
        first: i32,
        (first_seconds, seconds): (i32, i32),
        written: impl Fn(u32) -> PyResult<i32>,
    ) -> PyResult<usize> {
        let mut used = 0;
        self.entries.reserve(pairs.len() * ENTRY_BYTES);
        for ((hash, offset), number) in pairs.iter().zip(first..) {
            let slot = hash % self.slots;
            let previous = match self.newest.get(&slot) {
                Some(previous) => *previous,
                None => {
                    let previous = written(slot)?.max(0);
                    used += usize::from(previous == 0);
                    previous
                }
            };
            let seconds = if number == first { first_seconds } else { seconds };
            let mut entry = [0; ENTRY_BYTES];
            entry[..4].copy_from_slice(&hash.to_be_bytes());
            entry[4..12].copy_from_slice(&offset.to_be_bytes());
            entry[12..16].copy_from_slice(&seconds.to_be_bytes());
            entry[16..].copy_from_slice(&previous.to_be_bytes());
            self.entries.extend_from_slice(&entry);
            self.newest.insert(slot, number);
        }
        Ok(used)
    }

    /// Takes back the entries behind the first `size` bytes, newest first, as if they were never noted.
    /// `began`: the number of the first entry of all.
    fn take_back(&mut self, size: usize, began: i32) {
        for entry in self.entries[size..].rchunks_exact(ENTRY_BYTES) {
            let slot = u32::from_be_bytes([entry[0], entry[1], entry[2], entry[3]]) % self.slots;
            let previous = i32::from_be_bytes([entry[16], entry[17], entry[18], entry[19]]);
            if previous >= began {
                self.newest.insert(slot, previous);
            } else {
                self.newest.remove(&slot);
            }
        }
        self.entries.truncate(size);
    }
}

fn some_pairs(keys: &Bound<'_, PySequence>, skip: usize, most: usize) -> PyResult<Vec<(u32, i64)>> {
    let all = keys.len()?;
    let first = skip.min(all);
    let last = first + most.min(all - first);
    (first..last).map(|at| keys.get_item(at)?.extract()).collect()
}

fn not_bytes() -> PyErr {
    PyBufferError::new_err("header and slots are not one piece of bytes")
}
