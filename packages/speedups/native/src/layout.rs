//! `SendLayout`: frames in, what is to be written and answered out.

use std::ops::Range;

use memchr::memmem::{find, Finder};
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::answer::Answers;
use crate::batch::{Batch, BatchLimits};
use crate::diverted::{Diversions, GivenWay, Kind};
use crate::hasher::NumberState;
use crate::header::{read, whole_frame, Field, Frame, Limits};
use crate::json::unescape;
use crate::laid::{Laid, Work};
use crate::record::Hosts;
use crate::record_crc::ROOM;
use crate::send::{send_of, Send, SEND_V2, TRANSACTION_MASK};
use crate::signers::Signers;
use crate::topics::{LastTopic, Topics};
use crate::words::Words;

/// More would not fit the number under which messages are counted.
const SIZE_BOUNDS_MAX: usize = 1 << 10;
/// `SHARDING_KEY` of mqframe/core/messages/properties.py: messages with it are counted as such in order.
const SHARDING: &[u8] = b"__SHARDINGKEY";

/// Lays out ordinary sends. Belongs to one thread.
#[pyclass(module = "mqframe_speedups._native")]
pub struct SendLayout {
    /// Behind the properties of each message. `guarded`: it ends with room for the CRC over a record; `own_bytes`:
    /// without that.
    pub suffix: Vec<u8>,
    guarded: bool,
    pub own_bytes: usize,
    pub words: Words,
    pub diversions: Diversions,
    pub batch_words: Words,
    /// With one of these among the properties of its request an answer does not wait.
    at_once: Words,
    /// Boxed for its alignment, see `Words`.
    sharding: Box<Finder<'static>>,
    store_host: Vec<u8>,
    pub answers: Answers,
    limits: Limits,
    pub batch_limits: BatchLimits,
    text_max: usize,
    pub size_bounds: Vec<u64>,
    pub topics: Topics,
    state: NumberState,
}

/// As Python gives it: the sender's host; the log's end, the bytes that records may take there, the store time
/// (ms), the longest body; what finds queues.
type Place<'py> = (Bound<'py, PyBytes>, i64, i64, i64, usize, Bound<'py, PyAny>);

/// The same for all frames of one call.
pub struct Turn<'a, 'py> {
    pub hosts: Hosts<'a>,
    pub room: usize,
    pub now: i64,
    body_bytes_max: usize,
    pub queue_of: &'a Bound<'py, PyAny>,
}

/// What became of one frame.
pub enum Step<'a> {
    Served,
    Stopped,
    Unknown(&'a [u8]),
    Undecided(Kind),
}

#[pymethods]
impl SendLayout {
    #[new]
    #[pyo3(signature = (*, suffix, guarded, words, diverting, apart, batch_words, at_once, store_host, offset_id_head,
                        answer, frame_bytes_max, header_bytes_max, text_max, batch_messages_max, batch_keys_max,
                        size_bounds))]
    #[allow(clippy::too_many_arguments)] // keywords of Python
    fn new(
        mut suffix: Vec<u8>,
        guarded: bool,
        words: Vec<Vec<u8>>,
        diverting: Vec<Vec<u8>>,
        apart: Vec<Vec<u8>>,
        batch_words: Vec<Vec<u8>>,
        at_once: Vec<Vec<u8>>,
        store_host: Vec<u8>,
        offset_id_head: Vec<u8>,
        answer: (Vec<u8>, Vec<u8>, Vec<u8>, Vec<u8>),
        frame_bytes_max: usize,
        header_bytes_max: usize,
        text_max: usize,
        batch_messages_max: usize,
        batch_keys_max: usize,
        size_bounds: Vec<u64>,
    ) -> PyResult<Self> {
        check_host(&store_host)?;
        if !size_bounds.is_sorted() || size_bounds.len() > SIZE_BOUNDS_MAX {
            return Err(PyValueError::new_err("size_bounds are not in order, or too many"));
        }
        let (head, marks, middle, tail) = answer;
        let mut words = words;
        if [&b"UNIQ_KEY\x01"[..], b"TAGS\x01", b"KEYS\x01"]
            .iter()
            .any(|name| find(&suffix, name).is_some())
        {
            words.push(Vec::new()); // its values would hide those of all messages: nothing is ordinary
        }
        let own_bytes = suffix.len();
        if guarded {
            suffix.extend_from_slice(ROOM);
        }
        Ok(Self {
            suffix,
            guarded,
            own_bytes,
            words: Words::new(&words),
            diversions: Diversions::new(&diverting, apart),
            batch_words: Words::new(&batch_words),
            at_once: Words::new(&at_once),
            sharding: Box::new(Finder::new(SHARDING)),
            store_host,
            answers: Answers {
                head,
                marks,
                middle,
                tail,
                offset_id_head,
            },
            limits: Limits {
                frame_bytes: frame_bytes_max,
                header_bytes: header_bytes_max,
            },
            batch_limits: BatchLimits {
                messages: batch_messages_max,
                keys: batch_keys_max,
            },
            text_max,
            size_bounds,
            topics: Topics::default(),
            state: NumberState::default(),
        })
    }

    /// Messages may be sent to `topic`, queues 0 to `queues` - 1; `sys_flag` is or-ed to theirs.
    fn admit(&mut self, topic: Bound<'_, PyString>, queues: i32, sys_flag: i32) -> PyResult<()> {
        self.topics.admit(topic, queues, sys_flag)
    }

    /// Whether `topic` was admitted.
    fn knows(&self, topic: &str) -> bool {
        self.topics.know(topic.as_bytes())
    }

    /// Admit no topic any more, and know nothing of what waits elsewhere.
    fn forget(&mut self) {
        self.topics.clear();
        self.diversions.forget();
    }

    /// Know nothing of what waits elsewhere any more.
    fn forget_ways(&mut self) {
        self.diversions.forget();
    }

    /// What becomes of messages to a queue of `topic` with these bits of transactions and this pair among their
    /// properties; `None`: they are left.
    #[pyo3(signature = (topic, queue_id, bits, pair, way))]
    fn divert(
        &mut self,
        topic: &Bound<'_, PyString>,
        queue_id: i32,
        bits: i32,
        pair: &str,
        way: Option<GivenWay<'_>>,
    ) -> PyResult<()> {
        let place = (self.topics.number_of(topic)?, queue_id, bits);
        self.diversions.hear(&mut self.topics, pair, place, way)
    }

    /// Lay out one send that is no frame: its fields as Python has them. Of the last two numbers, which only
    /// other messages need, nothing is told but that they fit a header.
    fn lay_one(
        &self,
        py: Python<'_>,
        topic: &str,
        numbers: (i32, i32, i64, i32, i32, i32, i32),
        properties: &str,
        body: &Bound<'_, PyBytes>,
        place: Place<'_>,
    ) -> PyResult<Option<Laid>> {
        let (queue_id, sys_flag, born, flag, reconsumed, _, _) = numbers;
        let turn = self.turn(&place)?;
        let body = body.as_bytes();
        let send = Send {
            code: SEND_V2,
            one_way: true, // its answer is none of bytes
            opaque: 0,
            topic: topic.as_bytes(),
            queue_id,
            sys_flag,
            born,
            flag,
            reconsumed,
            properties: properties.as_bytes(),
            escaped: false,
            is_batch: false,
        };
        let mut work = self.work(place.1, body.len() + properties.len());
        let parts = (&send, send.properties, body);
        let mut scratch = Scratch::default();
        let room = (&mut scratch.topic, &mut scratch.batch, &mut scratch.tail);
        match self.place(py, parts, &turn, &mut work, room)? {
            Step::Served => work.finish(py, 0, None, None).map(Some),
            Step::Stopped | Step::Unknown(_) | Step::Undecided(_) => Ok(None),
        }
    }

    /// Lay out frames of `data` from `start` on, up to the first that is not whole, not ordinary, or not signed
    /// by one of `signers` who may send it; `None`: nobody has to sign.
    #[pyo3(signature = (data, start, place, signers=None))]
    fn lay(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyBytes>,
        start: usize,
        place: Place<'_>,
        mut signers: Option<PyRefMut<'_, Signers>>,
    ) -> PyResult<Option<Laid>> {
        let data = data.as_bytes();
        let turn = self.turn(&place)?;
        if let Some(signers) = &mut signers {
            signers.begin();
        }
        let mut work = self.work(place.1, data.len().saturating_sub(start));
        let mut scratch = Scratch {
            fields: Vec::with_capacity(16),
            ..Scratch::default()
        };
        let mut at = start;
        let (unknown, undecided) = loop {
            let Some(frame) = whole_frame(data, at, &self.limits) else {
                break (None, None);
            };
            match self.serve(py, &frame, &turn, &mut work, &mut scratch, signers.as_deref_mut())? {
                Step::Served => at = frame.end,
                Step::Stopped => break (None, None),
                Step::Unknown(topic) => break (std::str::from_utf8(topic).ok(), None),
                Step::Undecided(kind) => break (None, Some(kind)),
            }
        };
        if work.count == 0 && unknown.is_none() && undecided.is_none() {
            return Ok(None);
        }
        work.finish(py, at, unknown, undecided).map(Some)
    }
}

/// Room that all frames of a call use.
#[derive(Default)]
struct Scratch<'a> {
    fields: Vec<Field<'a>>,
    properties: Vec<u8>,
    topic: LastTopic<'a>,
    batch: Batch<'a>,
    tail: Vec<u8>,
}

impl SendLayout {
    /// Nothing laid out yet, at log offset `end`, of frames with `size` bytes.
    fn work(&self, end: i64, size: usize) -> Work {
        Work::new(self.guarded, end, size, self.state.clone())
    }

    fn turn<'a, 'py>(&'a self, place: &'a Place<'py>) -> PyResult<Turn<'a, 'py>> {
        let (born_host, end, room, now, body_bytes_max, queue_of) = place;
        let (born_host, end, room) = (born_host.as_bytes(), *end, *room);
        check_host(born_host)?;
        if end < 0 || end.checked_add(room.max(0)).is_none() {
            return Err(PyOverflowError::new_err("the log ends behind all offsets"));
        }
        Ok(Turn {
            hosts: Hosts {
                born: born_host,
                store: &self.store_host,
            },
            room: usize::try_from(room).unwrap_or(0), // none is left where it is negative
            now: *now,
            body_bytes_max: *body_bytes_max,
            queue_of,
        })
    }

    /// Lays `frame` out if it is an ordinary send. Nothing of `work` changes otherwise.
    fn serve<'a>(
        &self,
        py: Python,
        frame: &Frame<'a>,
        turn: &Turn,
        work: &mut Work,
        scratch: &mut Scratch<'a>,
        signers: Option<&mut Signers>,
    ) -> PyResult<Step<'a>> {
        let head = read(frame, &mut scratch.fields);
        let Some(send) = head.and_then(|head| send_of(&head, &scratch.fields)) else {
            return Ok(Step::Stopped);
        };
        scratch.properties.clear();
        let Some(text) = text_of(&send, &mut scratch.properties) else {
            return Ok(Step::Stopped);
        };
        if let Some(signers) = signers {
            let Some(user) = signers.user_of(&mut scratch.fields, Some(text), frame.body) else {
                return Ok(Step::Stopped);
            };
            // What is granted is kept of topics that there are.
            if !self.topics.know(send.topic) {
                return Ok(Step::Unknown(send.topic));
            }
            if !signers.may(user, send.code, send.topic) {
                return Ok(Step::Stopped);
            }
        }
        let room = (&mut scratch.topic, &mut scratch.batch, &mut scratch.tail);
        self.place(py, (&send, text, frame.body), turn, work, room)
    }

    /// Lays out a send with these properties and this body, if it is an ordinary one, or of a kind that is known.
    fn place<'a>(
        &self,
        py: Python,
        (send, text, body): (&Send<'a>, &[u8], &'a [u8]),
        turn: &Turn,
        work: &mut Work,
        (last_topic, batch, tail): (&mut LastTopic<'a>, &mut Batch<'a>, &mut Vec<u8>),
    ) -> PyResult<Step<'a>> {
        let body_fits = !body.is_empty() && body.len() <= turn.body_bytes_max;
        if !body_fits || send.queue_id < 0 || text.len() > self.text_max {
            return Ok(Step::Stopped);
        }
        let is_marked = self.words.occur_in(text);
        let pair = is_marked.then(|| self.diverting_pair(text)).flatten();
        let is_known = match pair {
            None => !is_marked && send.sys_flag & TRANSACTION_MASK == 0,
            Some(_) => !send.is_batch,
        };
        if !is_known {
            return Ok(Step::Stopped);
        }
        let at_once = self.at_once.occur_in(text);
        if work.count == 0 {
            work.at_once = at_once;
        } else if work.at_once != at_once {
            return Ok(Step::Stopped); // answers that wait leave without those that do not
        }
        if send.is_batch {
            return self.place_batch(py, (send, text, body), turn, work, last_topic, batch);
        }
        match pair {
            None => self.place_one(py, (send, text, body), turn, work, last_topic),
            Some(pair) => self.place_elsewhere(py, (send, text, body), pair, turn, work, (last_topic, tail)),
        }
    }

    /// The pair in `text` for which a rule has messages wait elsewhere, where no other word is in it.
    fn diverting_pair(&self, text: &[u8]) -> Option<Range<usize>> {
        let pair = self.diversions.pair_in(text)?;
        let is_alone = !self.words.occur_in(&text[..pair.start]) && !self.words.occur_in(&text[pair.end..]);
        (is_alone && self.diversions.keep(text, &pair)).then_some(pair)
    }

    /// Whether messages with these properties in their request are counted as such in order.
    pub fn is_sharded(&self, text: &[u8]) -> bool {
        self.sharding.find(text).is_some()
    }
}

/// The properties of `send` as text; `None` where their escapes are odd.
fn text_of<'t>(send: &Send<'t>, scratch: &'t mut Vec<u8>) -> Option<&'t [u8]> {
    if !send.escaped {
        return Some(send.properties);
    }
    unescape(send.properties, scratch)?;
    Some(scratch)
}

fn check_host(host: &[u8]) -> PyResult<()> {
    if matches!(host.len(), 8 | 20) {
        return Ok(());
    }
    Err(PyValueError::new_err(format!(
        "a host of {} bytes; packed ones have 8 or 20",
        host.len()
    )))
}
