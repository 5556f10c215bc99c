//! Pulls, read by their pattern: the header without the numbers in it that change from pull to pull.
//!
//! Python decodes the first pull of a pattern, and says what it thinks of it. A later one is the same request but
//! for its numbers, so that nothing of it has to be decoded. Either form of headers has patterns of its own.

use std::collections::HashMap;

use memchr::memmem::Finder;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::header::{whole_frame, Field, Limits};
use crate::signers::{Signers, SIGNATURE};
use crate::text::number;
use crate::{binary, json};

const JSON: u8 = 0;
const BINARY: u8 = 1;
/// Far below what any server takes.
const LIMITS: Limits = Limits {
    frame_bytes: 8192,
    header_bytes: 4096,
};
/// Patterns that are known, and what they take together, bytes: clients choose them.
const PATTERNS_MAX: usize = 16_384;
const PATTERNS_BYTES_MAX: usize = 8 << 20;
/// What stands before each number, in the order in which they are given to Python. The last one is none of the
/// fields, so it is not in quotes.
const NUMBERS: [&str; 4] = [
    "\"queueId\":\"",
    "\"queueOffset\":\"",
    "\"commitOffset\":\"",
    "\"opaque\":",
];

/// The names of the first three, by which they are found in a header in binary.
const NAMES: [&[u8]; 3] = [b"queueId", b"queueOffset", b"commitOffset"];
/// Of a header in binary (binary.rs): before and behind its opaque, and where its fields begin, behind their length.
const BEFORE_OPAQUE: usize = 5;
const BEHIND_OPAQUE: usize = 9;
const BEFORE_LENGTH: usize = 17;
const FIRST_FIELD: usize = 21;
/// The length of a value stands before it.
const LENGTH_BYTES: usize = 4;

/// A pull: where its frame ends, its fields where it has to be signed, the pattern, and the numbers.
struct Pull<'a> {
    end: usize,
    fields: Vec<Field<'a>>,
    pattern: Vec<u8>,
    numbers: [i64; 4],
}

/// Where a pull ends, what was said of its pattern, queue id, queue offset, commit offset, opaque.
type Read = (usize, Option<Py<PyAny>>, i64, i64, i64, i64);

/// Reads pulls, and keeps what was said of their patterns.
#[pyclass(module = "mqframe_speedups._native")]
pub struct PullReader {
    /// On the heap, as they are aligned to 32 bytes, and Python's objects are not.
    finders: Box<[Finder<'static>; 4]>,
    known: HashMap<Vec<u8>, Py<PyAny>>,
    known_bytes: usize,
}

#[pymethods]
impl PullReader {
    #[new]
    fn new() -> Self {
        Self {
            finders: Box::new(NUMBERS.map(|name| Finder::new(name).into_owned())),
            known: HashMap::new(),
            known_bytes: 0,
        }
    }

    /// The pull whose frame begins at byte `start` of `data`; `None` where there is no plain one that is whole,
    /// nor one that is signed by one of `signers`, where somebody has to sign.
    #[pyo3(signature = (data, start, signers=None))]
    fn read(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyBytes>,
        start: usize,
        signers: Option<PyRefMut<'_, Signers>>,
    ) -> Option<Read> {
        let pull = if let Some(mut signers) = signers {
            signers.begin();
            let mut pull = self.pull(data.as_bytes(), start, true)?;
            signers.user_of(&mut pull.fields, None, &[])?;
            pull
        } else {
            self.pull(data.as_bytes(), start, false)?
        };
        let known = self.known.get(&pull.pattern).map(|what| what.clone_ref(py));
        let [queue_id, offset, commit, opaque] = pull.numbers;
        Some((pull.end, known, queue_id, offset, commit, opaque))
    }

    /// Keep `what` of the pattern of the pull that begins at byte `start` of `data`. `signed`: its signature
    /// does not belong to that.
    #[pyo3(signature = (data, start, what, signed=false))]
    fn know(&mut self, data: &Bound<'_, PyBytes>, start: usize, what: Py<PyAny>, signed: bool) {
        let Some(pull) = self.pull(data.as_bytes(), start, signed) else {
            return;
        };
        if self.known.len() >= PATTERNS_MAX || self.known_bytes >= PATTERNS_BYTES_MAX {
            self.known.clear();
            self.known_bytes = 0;
        }
        self.known_bytes += pull.pattern.len();
        self.known.insert(pull.pattern, what);
    }

    /// Patterns of which something is kept.
    fn __len__(&self) -> usize {
        self.known.len()
    }
}

impl PullReader {
    fn pull<'a>(&self, data: &'a [u8], start: usize, signed: bool) -> Option<Pull<'a>> {
        let frame = whole_frame(data, start, &LIMITS).filter(|frame| frame.body.is_empty())?;
        let mut pull = Pull {
            end: frame.end,
            fields: Vec::new(),
            pattern: Vec::with_capacity(frame.header.len() + 1),
            numbers: [0; 4],
        };
        pull.pattern.push(frame.form);
        match frame.form {
            JSON => self.take_json(frame.header, signed, &mut pull)?,
            BINARY => take_binary(frame.header, signed, &mut pull)?,
            _ => return None,
        }
        i32::try_from(pull.numbers[3]).ok()?;
        Some(pull)
    }

    fn take_json<'a>(&self, header: &'a [u8], signed: bool, pull: &mut Pull<'a>) -> Option<()> {
        let mut places = [(0, 0); 5];
        if signed {
            json::read(header, &mut pull.fields)?;
            let value = pull.fields.iter().find(|field| field.name == SIGNATURE)?.value;
            let at = place_in(header, value);
            places[4] = (at, at + value.len());
        }
        for (which, finder) in self.finders.iter().enumerate() {
            let at = finder.find(header)? + finder.needle().len();
            let digits = header[at..]
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count();
            let quoted = finder.needle().ends_with(b"\"");
            let behind = *header.get(at + digits)?;
            let ends = if quoted {
                behind == b'"'
            } else {
                matches!(behind, b',' | b'}')
            };
            if !ends {
                return None;
            }
            pull.numbers[which] = number(&header[at..at + digits])?;
            places[which] = (at, at + digits);
        }
        pull.leave_out(header, &mut places);
        Some(())
    }
}

/// A value that is left out is so with its length; that of all fields differs with these.
fn take_binary<'a>(header: &'a [u8], signed: bool, pull: &mut Pull<'a>) -> Option<()> {
    let head = binary::read(header, &mut pull.fields)?;
    let mut places = [(0, 0); 6];
    for (which, name) in NAMES.iter().chain(signed.then_some(&SIGNATURE)).enumerate() {
        let mut named = pull.fields.iter().filter(|field| field.name == *name);
        let value = named.next()?.value;
        if named.next().is_some() {
            return None; // the last of them counts, which is for Python to see
        }
        if which < NAMES.len() {
            pull.numbers[which] = number(value).filter(|number| *number >= 0)?;
        }
        let at = place_in(header, value);
        places[which] = (at - LENGTH_BYTES, at + value.len());
    }
    pull.numbers[3] = i64::from(head.opaque);
    places[4] = (BEFORE_OPAQUE, BEHIND_OPAQUE);
    places[5] = (BEFORE_LENGTH, FIRST_FIELD);
    pull.leave_out(header, &mut places);
    (head.opaque >= 0).then_some(())
}

/// Where `value`, a part of `header`, begins there.
fn place_in(header: &[u8], value: &[u8]) -> usize {
    value.as_ptr() as usize - header.as_ptr() as usize
}

impl Pull<'_> {
    /// Takes what is in `header` but not at `places` into the pattern; those that are empty leave nothing out.
    fn leave_out(&mut self, header: &[u8], places: &mut [(usize, usize)]) {
        places.sort_unstable();
        let mut at = 0;
        for (first, behind) in places {
            self.pattern.extend(&header[at..*first]);
            at = *behind;
        }
        self.pattern.extend(&header[at..]);
    }
}
