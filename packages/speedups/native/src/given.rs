//! What a pull is given: entries of its queue chosen, their records read, and all of it laid out as one answer.
//!
//! Where an entry, a record or a read is in any way unusual, nothing is said, and Python looks.

use pyo3::buffer::ReadOnlyCell;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::entry::{entries as entries_of, int, long, Entry};
use crate::record::{BORN_HOST_V6, HEAD_BYTES, STORE_HOST_V6};
use crate::text::put_number;
use crate::verdicts::{RecordVerdicts, Scratch};
use crate::window::{cells, map_of, read_now, Log, Window, GAP_BYTES_MAX};

const WORDS_BYTES: usize = 8;
/// What a host of IPv6 is longer than one of IPv4, bytes.
const V6_MORE: usize = 12;
/// `WINDOW_BYTES_MAX` of mqframe/store/queues/choosing.py.
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
#[derive(Debug, Default, PartialEq, Eq)]
struct Chosen {
    done: usize,
    count: usize,
    size: i64,
    stretches: Vec<Stretch>,
}

impl Chosen {
    /// Takes the record of `entry`, the one behind those that are done with; `None`: it lies before another one.
    fn take(&mut self, entry: &Entry, log: &Log<'_>) -> Option<()> {
        let (start, number) = (entry.physical, self.done);
        let end = start + i64::from(entry.size);
        if self.stretches.last().is_some_and(|last| last.end > start) {
            return None;
        }
        match self.stretches.last_mut() {
            Some(last) if last.end == start && last.number + 1 == number && log.base_of(start) != start => {
                (last.end, last.number, last.last) = (end, number, start);
            }
            _ => self.stretches.push(Stretch {
                start,
                end,
                number,
                last: start,
            }),
        }
        self.count += 1;
        self.size += end - start;
        Some(())
    }
}

/// The answer, how many entries it is done with, records, their bytes, stretches.
type Given<'py> = (Bound<'py, PyBytes>, usize, usize, i64, Vec<(i64, i64)>);

/// How pulls of one kind are answered. `headers`: of an answer with messages, and of one that found none.
#[pyclass(module = "mqframe_speedups._native", frozen)]
pub struct PullAnswers {
    codes: Option<Vec<i64>>,
    verdicts: Option<Py<RecordVerdicts>>,
    messages: usize,
    size_bytes: i64,
    topic: Option<(i32, Vec<u8>)>,
    headers: (Vec<Vec<u8>>, Vec<Vec<u8>>),
}

#[pymethods]
impl PullAnswers {
    #[new]
    fn new(
        codes: Option<Vec<i64>>,
        verdicts: Option<Py<RecordVerdicts>>,
        messages: usize,
        size_bytes: i64,
        topic: Option<(i32, Vec<u8>)>,
        headers: (Vec<Vec<u8>>, Vec<Vec<u8>>),
    ) -> Self {
        Self {
            codes,
            verdicts,
            messages,
            size_bytes,
            topic,
            headers,
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
        let Some(chosen) = self.choose(py, entries.as_bytes(), queue_id, &log)? else {
            return Ok(None);
        };
        let following = offset + chosen.done as i64;
        let (some, none) = &self.headers;
        let parts = if chosen.count > 0 { some } else { none };
        let header = header_of(parts, &[following, low, high, opaque]);
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
            fits = read(&log, &chosen.stretches, records)? && self.fit(&chosen, records, queue_id, offset);
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
    /// `choose` (mqframe/store/queues/choosing.py); `None` where Python has to look: an entry is a filler or none at
    /// all, lies outside of the log or before another one, or there is none.
    fn choose(
        &self,
        py: Python<'_>,
        entries: &[u8],
        queue_id: i32,
        log: &Log<'_>,
    ) -> PyResult<Option<Chosen>> {
        let mut chosen = Chosen::default();
        let (mut window, mut scratch) = (Window::new(log), Scratch::default());
        for entry in entries_of(entries) {
            let size = i64::from(entry.size);
            let is_within =
                entry.physical >= log.1 && entry.physical.checked_add(size).is_some_and(|end| end <= log.2);
            if size <= 0 || size == i64::from(i32::MAX) || !is_within {
                return Ok(None);
            }
            if self.may_want(&entry) {
                if chosen.count > 0 && (chosen.count >= self.messages || chosen.size + size > self.size_bytes)
                {
                    break;
                }
                let Some(is_wanted) = self.judge(py, &entry, queue_id, &mut window, &mut scratch)? else {
                    return Ok(None);
                };
                if is_wanted && (size > self.size_bytes || chosen.take(&entry, log).is_none()) {
                    return Ok(None);
                }
            }
            chosen.done += 1;
        }
        Ok((chosen.done > 0).then_some(chosen))
    }

    fn may_want(&self, entry: &Entry) -> bool {
        let codes = self.codes.as_ref();
        codes.is_none_or(|codes| codes.contains(&entry.code))
    }

    /// Whether the record of `entry` is wanted; `None` where it cannot be read, or is not plainly one of the queue.
    fn judge(
        &self,
        py: Python<'_>,
        entry: &Entry,
        queue_id: i32,
        window: &mut Window<'_, '_>,
        scratch: &mut Scratch,
    ) -> PyResult<Option<bool>> {
        let Some(verdicts) = &self.verdicts else {
            return Ok(Some(true));
        };
        let Some(record) = window.record(py, entry.physical, i64::from(entry.size))? else {
            return Ok(None);
        };
        let verdict = verdicts.get().judge_listed(py, record, entry, queue_id, scratch);
        verdict.transpose()
    }

    /// `fit` (mqframe/store/reading/fitting.py) of `records`, those of all stretches.
    fn fit(&self, chosen: &Chosen, records: &[u8], queue_id: i32, offset: i64) -> bool {
        let Some((magic, topic)) = &self.topic else {
            return true;
        };
        let (mut begin, most) = (0, chosen.stretches.len().saturating_sub(1));
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

/// Reads the records of `stretches` of `log` into `out`, which they fill; whether all of them could be.
fn read(log: &Log<'_>, stretches: &[Stretch], out: &mut [u8]) -> PyResult<bool> {
    let Log(_, _, _, file_bytes, mapped_from) = log;
    let (mut rest, mut number) = (out, 0);
    while let Some(Stretch { start, mut end, .. }) = stretches.get(number) {
        let base = log.base_of(*start);
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
        let Some(file) = log.file(base) else {
            return Ok(false);
        };
        let (buffer, from) = if is_mapped {
            (map_of(&file)?, base)
        } else {
            let Some(buffer) = read_now(&file, start - base, end - start)? else {
                return Ok(false); // the disk would have to be waited for
            };
            (buffer, *start)
        };
        let cells = cells(&buffer, file.py())?;
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

/// A header of `parts`, with a number behind each but the last.
fn header_of(parts: &[Vec<u8>], numbers: &[i64]) -> Vec<u8> {
    let mut header = Vec::with_capacity(512);
    for (number, part) in parts.iter().enumerate() {
        if number > 0 {
            put_number(&mut header, numbers.get(number - 1).copied().unwrap_or_default());
        }
        header.extend(part);
    }
    header
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
