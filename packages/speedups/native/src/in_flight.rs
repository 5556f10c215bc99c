//! How much is under way (`InFlightCount` in mqframe/core/sending/in_flight.py).

use pyo3::prelude::*;

/// Counts what is under way, as Python's; each call is one step for all threads.
#[pyclass(module = "mqframe_speedups._native")]
pub struct InFlight {
    #[pyo3(get)]
    count_max: i64,
    #[pyo3(get)]
    bytes_max: i64,
    #[pyo3(get)]
    count: i64,
    #[pyo3(get)]
    bytes: i64,
}

#[pymethods]
impl InFlight {
    #[new]
    fn new(count_max: i64, bytes_max: i64) -> Self {
        let (count, bytes) = (0, 0);
        Self {
            count_max,
            bytes_max,
            count,
            bytes,
        }
    }

    /// Start one of `size` bytes if it fits; returns whether it did.
    pub fn acquire(&mut self, size: i64) -> bool {
        let fits = self.count < self.count_max
            && (self.bytes.saturating_add(size) <= self.bytes_max || self.count == 0);
        if fits {
            self.count += 1;
            self.bytes = self.bytes.saturating_add(size);
        }
        fits
    }

    /// `count` ended, of `size` bytes in all.
    #[pyo3(signature = (size, count = 1))]
    fn release(&mut self, size: i64, count: i64) {
        self.count -= count;
        self.bytes -= size;
    }

    fn __str__(&self) -> String {
        format!(
            "{} of {} messages, {} of {} bytes",
            self.count, self.count_max, self.bytes, self.bytes_max
        )
    }
}
