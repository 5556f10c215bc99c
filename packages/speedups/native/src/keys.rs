//! Index keys of the records of one call.

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::properties::Named;
use crate::text::{index_hash, java_hash};

/// Hashes and log offsets of the index keys of records, in the order of the log.
#[pyclass(frozen, sequence, module = "mqframe_speedups._native")]
pub struct Keys {
    pub pairs: Vec<(u32, i64)>,
}

#[pymethods]
impl Keys {
    fn __len__(&self) -> usize {
        self.pairs.len()
    }

    /// The pair at a place, which PyO3 counts from the end where Python gives a negative one.
    fn __getitem__(&self, at: usize) -> PyResult<(u32, i64)> {
        self.pairs
            .get(at)
            .copied()
            .ok_or_else(|| PyIndexError::new_err(at))
    }

    /// As a list of (hash, log offset).
    fn pairs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.pairs.iter().copied())
    }
}

/// Notes the keys of the record at `physical`, the unique key first, then the words of KEYS (`index_keys` in
/// mqframe/core/storage/dispatch_facts.py). `head`: the hash of its topic with `#` behind.
pub fn note_keys(pairs: &mut Vec<(u32, i64)>, head: u32, named: &Named, physical: i64) -> Option<()> {
    for word in named.unique.into_iter().chain(named.words()) {
        pairs.push((index_hash(java_hash(word, head)?), physical));
    }
    Some(())
}
