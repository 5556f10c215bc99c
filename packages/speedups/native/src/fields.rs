//! Blocks of header fields (HPACK, RFC 7541), as `FieldReader` in mqframe_grpc/transport/fields.py reads them.
//!
//! Fields are tuples of Python from the moment they are known: one that a block names by its number costs a
//! reference, and no text. What cannot be read is said by Python's functions, in Python's words.

use std::collections::VecDeque;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

const ENTRY_BYTES: usize = 32;
const NUMBER_BYTES_MAX: usize = 5;
const LONG: u8 = 0x7F;
const CUT: &str = "header fields are cut off, or name one that is not in the table";

/// A field, with what it takes as the protocol counts it, and how much of that its name does.
struct Entry {
    field: Py<PyTuple>,
    name_bytes: usize,
    size: usize,
}

/// Why a block cannot be read.
enum Problem {
    Broken(String),
    TooLong,
    Raised(PyErr),
}

impl From<PyErr> for Problem {
    fn from(raised: PyErr) -> Self {
        Problem::Raised(raised)
    }
}

/// What a block says.
struct Found<'py> {
    fields: Vec<Bound<'py, PyTuple>>,
    size: usize,
}

/// Reads the blocks of one client, whose fields may refer to those before.
#[pyclass(module = "mqframe_speedups._native")]
pub struct FieldReader {
    bytes_max: usize,
    table_bytes_max: usize,
    room: usize,
    known: Vec<Entry>,
    table: VecDeque<Entry>,
    /// What the fields of the table take together.
    #[pyo3(get)]
    table_bytes: usize,
    /// What the fields of the last block took.
    #[pyo3(get)]
    read_bytes: usize,
    broken: Py<PyAny>,
    too_long: Py<PyAny>,
    unpacked: Py<PyAny>,
}

#[pymethods]
impl FieldReader {
    #[new]
    fn new(
        bytes_max: usize,
        table_bytes_max: usize,
        known: Vec<(Bound<'_, PyTuple>, usize)>,
        broken: Py<PyAny>,
        too_long: Py<PyAny>,
        unpacked: Py<PyAny>,
    ) -> PyResult<Self> {
        let known = known.into_iter().map(|(field, size)| {
            let name_bytes = field.get_item(0)?.len()?;
            Ok(Entry {
                field: field.unbind(),
                name_bytes,
                size,
            })
        });
        Ok(Self {
            bytes_max,
            table_bytes_max,
            room: table_bytes_max,
            known: known.collect::<PyResult<_>>()?,
            table: VecDeque::new(),
            table_bytes: 0,
            read_bytes: 0,
            broken,
            too_long,
            unpacked,
        })
    }

    /// The fields of the table, the newest first, each with what it takes.
    #[getter]
    fn table<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let entries = self.table.iter();
        PyList::new(
            py,
            entries
                .map(|entry| (entry.field.bind(py), entry.size))
                .collect::<Vec<_>>(),
        )
    }

    /// The fields in one block, in their order.
    fn read<'py>(&mut self, data: &Bound<'py, PyBytes>) -> PyResult<Bound<'py, PyList>> {
        let py = data.py();
        match self.block(py, data.as_bytes()) {
            Ok(found) => {
                self.read_bytes = found.size;
                PyList::new(py, found.fields)
            }
            Err(Problem::Broken(text)) => Err(raised(self.broken.bind(py).call1((text,))?)),
            Err(Problem::TooLong) => Err(raised(self.too_long.bind(py).call1((self.bytes_max,))?)),
            Err(Problem::Raised(problem)) => Err(problem),
        }
    }
}

impl FieldReader {
    fn block<'py>(&mut self, py: Python<'py>, data: &[u8]) -> Result<Found<'py>, Problem> {
        let mut found = Found {
            fields: Vec::with_capacity(24),
            size: 0,
        };
        let mut at = 0;
        while let Some(first) = data.get(at).copied() {
            at += 1;
            let (field, size) = if first > 0x80 {
                let index = number(data, &mut at, first, 0x7F)?;
                let entry = self.entry(index)?;
                (entry.field.bind(py).clone(), entry.size)
            } else if first == 0x80 {
                return Err(broken("there is no field 0"));
            } else if first & 0xE0 == 0x20 {
                let room = number(data, &mut at, first, 0x1F)?;
                self.resize(room, !found.fields.is_empty())?;
                continue;
            } else {
                self.literal(py, data, &mut at, first)?
            };
            found.fields.push(field);
            found.size += size;
            if found.size > self.bytes_max {
                return Err(Problem::TooLong);
            }
        }
        Ok(found)
    }

    /// A field whose value is written out, and its name perhaps; the table takes it where the block says so.
    fn literal<'py>(
        &mut self,
        py: Python<'py>,
        data: &[u8],
        at: &mut usize,
        first: u8,
    ) -> Result<(Bound<'py, PyTuple>, usize), Problem> {
        let index = number(data, at, first, if first & 0x40 == 0 { 0x0F } else { 0x3F })?;
        let (name, name_bytes) = if index > 0 {
            let entry = self.entry(index)?;
            (entry.field.bind(py).get_item(0)?, entry.name_bytes)
        } else {
            let raw = self.string(py, data, at)?;
            let latin: String = raw.bytes().iter().map(|byte| char::from(*byte)).collect();
            (PyString::new(py, &latin).into_any(), raw.bytes().len())
        };
        let raw = self.string(py, data, at)?;
        let value = match std::str::from_utf8(raw.bytes()) {
            Ok(text) => PyString::new(py, text).into_any(),
            Err(_) => PyBytes::new(py, raw.bytes()).call_method1("decode", ("utf-8", "replace"))?,
        };
        let size = name_bytes + raw.bytes().len() + ENTRY_BYTES;
        let field = PyTuple::new(py, [name, value])?;
        if first & 0x40 != 0 {
            self.remember(Entry {
                field: field.clone().unbind(),
                name_bytes,
                size,
            });
        }
        Ok((field, size))
    }

    fn entry(&self, index: usize) -> Result<&Entry, Problem> {
        let found = match index.checked_sub(self.known.len()) {
            Some(place) => self.table.get(place),
            None => self.known.get(index),
        };
        found.ok_or_else(|| broken(CUT))
    }

    /// The newest field of the table; as many of the oldest are forgotten.
    fn remember(&mut self, entry: Entry) {
        if entry.size > self.room {
            self.table.clear();
            self.table_bytes = 0;
            return;
        }
        self.table_bytes += entry.size;
        self.table.push_front(entry);
        self.forget_to(self.room);
    }

    fn forget_to(&mut self, room: usize) {
        while self.table_bytes > room {
            let Some(oldest) = self.table.pop_back() else {
                return;
            };
            self.table_bytes -= oldest.size;
        }
    }

    fn resize(&mut self, room: usize, begun: bool) -> Result<(), Problem> {
        if begun {
            return Err(broken("the table changes its size within header fields"));
        }
        let most = self.table_bytes_max;
        if room > most {
            return Err(Problem::Broken(format!(
                "a table of {room} bytes; at most {most} are kept"
            )));
        }
        self.room = room;
        self.forget_to(room);
        Ok(())
    }

    fn string<'a, 'py>(
        &self,
        py: Python<'py>,
        data: &'a [u8],
        at: &mut usize,
    ) -> Result<Raw<'a, 'py>, Problem> {
        let first = data.get(*at).copied().ok_or_else(|| broken(CUT))?;
        *at += 1;
        let size = number(data, at, first, LONG)?;
        let text = at.checked_add(size).and_then(|end| data.get(*at..end));
        let text = text.ok_or_else(|| broken("header fields are cut off"))?;
        *at += size;
        if first < 0x80 {
            return Ok(Raw::Plain(text));
        }
        let unpacked = self.unpacked.bind(py).call1((PyBytes::new(py, text),))?;
        Ok(Raw::Unpacked(
            unpacked.cast_into::<PyBytes>().map_err(PyErr::from)?,
        ))
    }
}

/// Text as it stands in the block, or unpacked.
enum Raw<'a, 'py> {
    Plain(&'a [u8]),
    Unpacked(Bound<'py, PyBytes>),
}

impl Raw<'_, '_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Raw::Plain(text) => text,
            Raw::Unpacked(text) => text.as_bytes(),
        }
    }
}

/// The number that begins in the bits `mask` of the byte before `at`.
fn number(data: &[u8], at: &mut usize, first: u8, mask: u8) -> Result<usize, Problem> {
    let mut found = u64::from(first & mask);
    if first & mask != mask {
        return Ok(found as usize);
    }
    for place in 0..NUMBER_BYTES_MAX {
        let byte = data.get(*at).copied().ok_or_else(|| broken(CUT))?;
        *at += 1;
        found += u64::from(byte & 0x7F) << (7 * place);
        if byte < 0x80 {
            return usize::try_from(found).map_err(|_| broken(CUT));
        }
    }
    Err(broken("a number without end in header fields"))
}

fn broken(text: &str) -> Problem {
    Problem::Broken(text.to_owned())
}

fn raised(problem: Bound<'_, PyAny>) -> PyErr {
    PyErr::from_value(problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(data: &[u8], mask: u8) -> Option<(usize, usize)> {
        let mut at = 1;
        let found = number(data, &mut at, data[0], mask).ok()?;
        Some((found, at))
    }

    #[test]
    fn numbers_go_on_where_their_bits_are_full() {
        assert_eq!(read(&[10], 0x1F), Some((10, 1)));
        assert_eq!(read(&[0xFF, 0x9A, 0x0A], 0x1F), Some((1337, 3))); // RFC 7541, C.1.2
        assert_eq!(read(&[0x7F, 0], 0x7F), Some((127, 2)));
        assert_eq!(read(&[0x7F, 0x80], 0x7F), None);
        assert_eq!(read(&[0x7F, 0x80, 0x80, 0x80, 0x80, 0x80, 0], 0x7F), None);
    }
}
