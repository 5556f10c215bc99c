//! What a pull is given: entries of its queue chosen, their records read, and all of it laid out as one answer.
//!
//! Where an entry, a record or a read is in any way unusual, nothing is said, and Python looks.

use pyo3::buffer::{PyBuffer, ReadOnlyCell};
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::entry::{entries as entries_of, int, long};
use crate::record::{BORN_HOST_V6, HEAD_BYTES, STORE_HOST_V6};
use crate::text::put_number;

const WORDS_BYTES: usize = 8;
/// What a host of IPv6 is longer than one of IPv4, bytes.
const V6_MORE: usize = 12;
/// `GAP_BYTES_MAX` and `WINDOW_BYTES_MAX` of mqframe/store/queues/choosing.py.
const GAP_BYTES_MAX: i64 = 4096;
const WINDOW_BYTES_MAX: i64 = 1 << 20;

/// Log offsets of whole records that lie one behind the other. `number`, `last`: of the entry of the last of
/// them, and where that record begins.
#[derive(Debug, PartialEq, Eq)]
struct Stretch {
    start: i64,
    end: i64,
    number: usize,
    last: i64,
}

/// What is read of the log. `done`: entries that are done with; `count`, `size`: of all stretches.
#[derive(Debug, PartialEq, Eq)]
struct Chosen {
    done: usize,
    count: usize,
    size: i64,
    stretches: Vec<Stretch>,
}

/// The answer, how many entries it is done with, records, their bytes, stretches.
type Given<'py> = (Bound<'py, PyBytes>, usize, usize, i64, Vec<(i64, i64)>);

/// How pulls of one kind are answered.
#[pyclass(module = "mqframe_speedups._native", frozen)]
pub struct PullAnswers {
    codes: Option<Vec<i64>>,
    messages: usize,
    size_bytes: i64,
    topic: Option<(i32, Vec<u8>)>,
    header: Vec<Vec<u8>>,
}

/// The log as it is. `mapped_from`: log offset from which on its maps are read.
#[derive(FromPyObject)]
struct Log<'py>(Bound<'py, PyList>, i64, i64, i64, i64);

#[pymethods]
impl PullAnswers {
    #[new]
    fn new(
        codes: Option<Vec<i64>>,
        messages: usize,
        size_bytes: i64,
        topic: Option<(i32, Vec<u8>)>,
        header: Vec<Vec<u8>>,
    ) -> Self {
        Self {
            codes,
            messages,
            size_bytes,
            topic,
            header,
        }
    }

    /// What the pull of (queue id, offset, lowest and highest offset, opaque) is given, of `entries`, the first of
    /// which is that offset. `log`: its files, where it begins and ends, bytes of a file, from where on maps are
    /// read. `None` where Python has to look.
    fn answer<'py>(
        &self,
        entries: &Bound<'py, PyBytes>,
        pull: (i32, i64, i64, i64, i64),
        log: Log<'py>,
    ) -> PyResult<Option<Given<'py>>> {
        let py = entries.py();
        let (queue_id, offset, low, high, opaque) = pull;
        let Some(chosen) = self.choose(entries.as_bytes(), &log) else {
            return Ok(None);
        };
        let following = offset + chosen.done as i64;
        let header = self.header(&[following, low, high, opaque]);
        let begin = WORDS_BYTES + header.len();
        let Ok(size) = i32::try_from(chosen.size) else {
            return Ok(None); // no frame is so long
        };
        let size = size as usize;
        let mut fits = false;
        let answer = PyBytes::new_with(py, begin + size, |out| {
            out[..4].copy_from_slice(&((header.len() + size + 4) as u32).to_be_bytes());
            out[4..8].copy_from_slice(&(header.len() as u32).to_be_bytes());
            out[8..begin].copy_from_slice(&header);
            let records = &mut out[begin..];
            fits = log.read(&chosen.stretches, records)? && self.fit(&chosen, records, queue_id, offset);
            Ok(())
        })?;
        let stretches = chosen.stretches.iter().map(|each| (each.start, each.end));
        Ok(fits.then(|| {
            (
                answer,
                chosen.done,
                chosen.count,
                chosen.size,
                stretches.collect(),
            )
        }))
    }
}

impl PullAnswers {
    fn header(&self, numbers: &[i64]) -> Vec<u8> {
        let mut header = Vec::with_capacity(512);
        for (number, part) in self.header.iter().enumerate() {
            if number > 0 {
                put_number(&mut header, numbers.get(number - 1).copied().unwrap_or_default());
            }
            header.extend(part);
        }
        header
    }

    /// `choose` (mqframe/store/queues/choosing.py) without filters of records; `None` where Python has to look: an
    /// entry is a filler or none at all, lies outside of the log or before another one, or nothing matches.
    fn choose(&self, entries: &[u8], log: &Log<'_>) -> Option<Chosen> {
        let Log(_, log_start, log_end, file_bytes, _) = *log;
        let mut stretches = Vec::<Stretch>::new();
        let (mut done, mut count, mut size_all) = (0, 0, 0);
        for entry in entries_of(entries) {
            let (physical, size) = (entry.physical, i64::from(entry.size));
            let end = physical.checked_add(size)?;
            if size <= 0 || size == i64::from(i32::MAX) || physical < log_start || end > log_end {
                return None;
            }
            if self
                .codes
                .as_ref()
                .is_none_or(|codes| codes.contains(&entry.code))
            {
                if count > 0 && (count >= self.messages || size_all + size > self.size_bytes) {
                    break;
                }
                if size > self.size_bytes || stretches.last().is_some_and(|last| last.end > physical) {
                    return None;
                }
                let starts_file = (physical - log_start) % file_bytes == 0;
                match stretches.last_mut() {
                    Some(last) if last.end == physical && last.number + 1 == done && !starts_file => {
                        (last.end, last.number, last.last) = (end, done, physical);
                    }
                    _ => stretches.push(Stretch {
                        start: physical,
                        end,
                        number: done,
                        last: physical,
                    }),
                }
                count += 1;
                size_all += size;
            }
            done += 1;
        }
        (count > 0).then_some(Chosen {
            done,
            count,
            size: size_all,
            stretches,
        })
    }

    /// `fit` (mqframe/store/reading/fitting.py) of `records`, those of all stretches.
    fn fit(&self, chosen: &Chosen, records: &[u8], queue_id: i32, offset: i64) -> bool {
        let Some((magic, topic)) = &self.topic else {
            return true;
        };
        let (mut begin, most) = (0, chosen.stretches.len() - 1);
        chosen.stretches.iter().enumerate().all(|(number, stretch)| {
            let last = &records[begin + (stretch.last - stretch.start) as usize..];
            begin += (stretch.end - stretch.start) as usize;
            let size = stretch.end - stretch.last;
            last.len() >= HEAD_BYTES
                && i64::from(int(last, 0)) == size
                && int(last, 12) == queue_id
                && long(last, 20) == offset + stretch.number as i64
                && long(last, 28) == stretch.last
                && (0 < number && number < most
                    || int(last, 4) == *magic && names_topic(&last[..size as usize], topic))
        })
    }
}

impl Log<'_> {
    /// Reads the records of `stretches` into `out`, which they fill; whether all of them could be.
    fn read(&self, stretches: &[Stretch], out: &mut [u8]) -> PyResult<bool> {
        let Log(files, log_start, _, file_bytes, mapped_from) = self;
        let (mut rest, mut number) = (out, 0);
        while let Some(Stretch { start, mut end, .. }) = stretches.get(number) {
            let at = start - log_start;
            let base = log_start + at - at % file_bytes;
            let mut behind = number + 1;
            let is_mapped = start >= mapped_from;
            let limit = if is_mapped {
                end
            } else {
                (base + file_bytes).min(start + WINDOW_BYTES_MAX)
            };
            while let Some(next) = stretches.get(behind) {
                let is_near = end <= next.start && next.start <= end + GAP_BYTES_MAX;
                if !is_near || next.end > limit || next.start >= *mapped_from {
                    break;
                }
                (end, behind) = (next.end, behind + 1);
            }
            if end > base + file_bytes {
                return Ok(false);
            }
            let Ok(file) = files.get_item((at / file_bytes) as usize) else {
                return Ok(false);
            };
            let py = file.py();
            let (read, from) = if is_mapped {
                (file.getattr(pyo3::intern!(py, "view"))?, base)
            } else {
                let place = (start - base, end - start);
                (file.call_method1(pyo3::intern!(py, "read_now"), place)?, *start)
            };
            if read.is_none() {
                return Ok(false); // the disk would have to be waited for
            }
            let buffer = PyBuffer::<u8>::get(&read)?;
            let cells = buffer.as_slice(py).ok_or_else(not_bytes)?;
            for each in &stretches[number..behind] {
                let Some(part) = cells.get((each.start - from) as usize..(each.end - from) as usize) else {
                    return Ok(false);
                };
                let (filled, left) = rest.split_at_mut(part.len());
                copy(part, filled);
                rest = left;
            }
            number = behind;
        }
        Ok(true)
    }
}

fn copy(cells: &[ReadOnlyCell<u8>], out: &mut [u8]) {
    for (byte, cell) in out.iter_mut().zip(cells) {
        *byte = cell.get();
    }
}

/// `is_of` (mqframe/core/storage/agreement.py) of a `record`. `topic`: with its length in front.
fn names_topic(record: &[u8], topic: &[u8]) -> bool {
    let Some(flags) = record.get(36..40).map(|flags| int(flags, 0)) else {
        return false;
    };
    let hosts = [BORN_HOST_V6, STORE_HOST_V6]
        .iter()
        .filter(|bit| flags & **bit != 0);
    let head = HEAD_BYTES + V6_MORE * hosts.count();
    let Some(length) = record.get(head - 4..head) else {
        return false;
    };
    let begin = usize::try_from(int(length, 0))
        .ok()
        .and_then(|body| head.checked_add(body));
    begin
        .and_then(|begin| record.get(begin..))
        .is_some_and(|rest| rest.starts_with(topic))
}

fn not_bytes() -> PyErr {
    PyBufferError::new_err("not a buffer of bytes that lie together")
}
