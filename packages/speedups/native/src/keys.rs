//! Index keys of the records of one call.

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::properties::Named;
use crate::text::{index_hash, java_hash};

/// The latest second that an entry names, counted from the beginning of its file.
const SECONDS_MAX: i64 = 0x7FFF_FFFF;

/// Hashes and log offsets of the index keys of records, in the order of the log.
///
/// `times`: of records that were stored at different times, from which pair on which one counts, ms.
#[pyclass(frozen, sequence, module = "mqframe_speedups._native")]
#[derive(Default)]
pub struct Keys {
    pub pairs: Vec<(u32, i64)>,
    pub times: Vec<(usize, i64)>,
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

    /// The times, ms, with the pairs of each; none where all are of one.
    fn by_time<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let ends = self.times.iter().skip(1).map(|(start, _)| *start);
        let all = self.times.iter().zip(ends.chain([self.pairs.len()]));
        let groups = all.map(|((start, time), end)| (*time, &self.pairs[*start..end]));
        PyList::new(py, groups.collect::<Vec<_>>())
    }

    /// How many pairs from number `skip` on, at most `most`, are of one second after `begin`, ms, and the time of
    /// the last; with `begin` -1 of one time. `None` where all are of one anyway, or there is no such number.
    fn of_one_second(&self, skip: usize, most: usize, begin: i64) -> Option<(usize, i64)> {
        if skip >= self.pairs.len() {
            return None;
        }
        let times = &self.times[self
            .times
            .partition_point(|(start, _)| *start <= skip)
            .checked_sub(1)?..];
        let moment = |time| if begin < 0 { time } else { seconds(time, begin) };
        let first = moment(times[0].1);
        let alike = times
            .iter()
            .take_while(|(_, time)| moment(*time) == first)
            .count();
        let end = times.get(alike).map_or(self.pairs.len(), |(start, _)| *start);
        let end = end.min(skip.saturating_add(most));
        let last = times[..alike].partition_point(|(start, _)| *start < end);
        Some((end - skip, times[last.max(1) - 1].1))
    }
}

impl Keys {
    /// The pairs from number `from` on are of a record that was stored at `time`, ms.
    pub fn stamp(&mut self, from: usize, time: i64) {
        let is_new = self.times.last().is_none_or(|(_, last)| *last != time);
        if from < self.pairs.len() && is_new {
            self.times.push((from, time));
        }
    }
}

/// As `IndexFile.add` (mqframe_index/store/index_file.py) counts them.
fn seconds(time: i64, begin: i64) -> i64 {
    if 0 < begin && begin < time {
        ((time - begin) / 1000).min(SECONDS_MAX)
    } else {
        0
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
