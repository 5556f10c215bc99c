//! The log as Python keeps it, and what lies in it around the record that was looked at last.

use pyo3::buffer::{PyBuffer, ReadOnlyCell};
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::types::PyList;

/// How much is copied with a record that is asked for: little at first, for the next may be far away
/// (`LogWindow` in mqframe/store/reading/log_window.py).
const AHEAD_BYTES: i64 = 4096;
const AHEAD_BYTES_MAX: i64 = 64 << 10;
/// `GAP_BYTES_MAX` of mqframe/store/queues/choosing.py.
pub const GAP_BYTES_MAX: i64 = 4096;

/// The log as it is: its files, where it begins and ends, bytes of a file, the log offset from which on its maps are
/// read.
#[derive(FromPyObject)]
pub struct Log<'py>(pub Bound<'py, PyList>, pub i64, pub i64, pub i64, pub i64);

impl<'py> Log<'py> {
    /// Log offset at which the file begins that has `physical`, which is not before the log.
    pub fn base_of(&self, physical: i64) -> i64 {
        physical - (physical - self.1) % self.3
    }

    /// The file that begins at log offset `base`; `None` where there is none.
    pub fn file(&self, base: i64) -> Option<Bound<'py, PyAny>> {
        self.0.get_item(((base - self.1) / self.3) as usize).ok()
    }
}

/// All bytes of the map of a file.
pub fn map_of(file: &Bound<'_, PyAny>) -> PyResult<PyBuffer<u8>> {
    PyBuffer::get(&file.getattr(pyo3::intern!(file.py(), "view"))?)
}

/// `size` bytes of a file from `at` on; `None` where the disk would have to be waited for.
pub fn read_now(file: &Bound<'_, PyAny>, at: i64, size: i64) -> PyResult<Option<PyBuffer<u8>>> {
    let read = file.call_method1(pyo3::intern!(file.py(), "read_now"), (at, size))?;
    if read.is_none() {
        return Ok(None);
    }
    PyBuffer::get(&read).map(Some)
}

/// The bytes of `buffer`.
pub fn cells<'a>(buffer: &'a PyBuffer<u8>, py: Python<'a>) -> PyResult<&'a [ReadOnlyCell<u8>]> {
    let all = buffer.as_slice(py);
    all.ok_or_else(|| PyBufferError::new_err("not a buffer of bytes that lie together"))
}

/// Gives records as slices of maps, older ones copied; those that lie near to each other are copied together.
pub struct Window<'a, 'py> {
    log: &'a Log<'py>,
    buffer: Option<PyBuffer<u8>>,
    base: i64,
    stop: i64,
    ahead: i64,
}

impl<'a, 'py> Window<'a, 'py> {
    /// Nothing of `log` is looked at yet.
    pub fn new(log: &'a Log<'py>) -> Self {
        Self {
            log,
            buffer: None,
            base: 0,
            stop: 0,
            ahead: AHEAD_BYTES,
        }
    }

    /// The record of `size` bytes at `start`, both within the log; `None` where no file has it, or the disk would have
    /// to be waited for.
    pub fn record<'s>(
        &'s mut self,
        py: Python<'s>,
        start: i64,
        size: i64,
    ) -> PyResult<Option<&'s [ReadOnlyCell<u8>]>> {
        if start < self.base || start + size > self.stop {
            self.turn_to(start, size)?;
        }
        let Some(buffer) = &self.buffer else {
            return Ok(None);
        };
        let at = (start - self.base) as usize;
        Ok(cells(buffer, py)?.get(at..at + size as usize))
    }

    fn turn_to(&mut self, start: i64, size: i64) -> PyResult<()> {
        self.buffer = None;
        let base = self.log.base_of(start);
        let stop = (base + self.log.3).min(self.log.2);
        let Some(file) = self.log.file(base) else {
            return Ok(());
        };
        if start >= self.log.4 {
            self.buffer = Some(map_of(&file)?);
            (self.base, self.stop) = (base, stop);
            return Ok(());
        }
        let is_near = self.base <= start && start <= self.stop + GAP_BYTES_MAX;
        self.ahead = if is_near {
            (2 * self.ahead).min(AHEAD_BYTES_MAX)
        } else {
            AHEAD_BYTES
        };
        let mut wanted = size.max(self.ahead.min(stop - start));
        let mut read = read_now(&file, start - base, wanted)?;
        if read.is_none() && wanted > size {
            wanted = size;
            read = read_now(&file, start - base, wanted)?;
        }
        self.buffer = read;
        (self.base, self.stop) = (start, start + wanted);
        Ok(())
    }
}
