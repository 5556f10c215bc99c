//! `SendLayout`: frames in, what is to be written and answered out.

use std::collections::HashMap;
use std::iter::once;

use memchr::memmem::{find, Finder};
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::answer::{Answer, Answers, Unique};
use crate::batch::{Batch, BatchLimits};
use crate::hasher::NumberState;
use crate::header::{read, whole_frame, Field, Frame, Limits};
use crate::json::unescape;
use crate::keys::note_keys;
use crate::laid::{Laid, Work};
use crate::properties::{mark_behind, named, BYTES_MAX};
use crate::record::{record_bytes, Hosts, Record, TOPIC_BYTES_MAX};
use crate::record_crc::ROOM;
use crate::send::{send_of, Send, SEND_V2, TRANSACTION_MASK};
use crate::signers::Signers;
use crate::text::java_hash;
use crate::words::Words;

/// More would not fit the number under which messages are counted.
const SIZE_BOUNDS_MAX: usize = 1 << 10;
/// `SHARDING_KEY` of mqframe/core/messages/properties.py: messages with it are counted as such in order.
const SHARDING: &[u8] = b"__SHARDINGKEY";

/// A topic that may be sent to. `hash`: of its name with `#` behind, as index keys begin.
pub struct Topic {
    pub name: Py<PyString>,
    queues: i32,
    pub sys_flag: i32,
    pub hash: u32,
}

/// Lays out ordinary sends. Belongs to one thread.
#[pyclass(module = "mqframe_speedups._native")]
pub struct SendLayout {
    /// Behind the properties of each message. `guarded`: it ends with room for the CRC over a record.
    pub suffix: Vec<u8>,
    guarded: bool,
    pub words: Words,
    pub batch_words: Words,
    /// Boxed for its alignment, see `Words`.
    sharding: Box<Finder<'static>>,
    store_host: Vec<u8>,
    pub answers: Answers,
    limits: Limits,
    pub batch_limits: BatchLimits,
    text_max: usize,
    pub size_bounds: Vec<u64>,
    pub topics: Vec<Topic>,
    numbers: HashMap<Vec<u8>, usize>,
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
    queue_of: &'a Bound<'py, PyAny>,
}

/// What became of one frame.
pub enum Step<'a> {
    Served,
    Stopped,
    Unknown(&'a [u8]),
}

#[pymethods]
impl SendLayout {
    #[new]
    #[pyo3(signature = (*, suffix, guarded, words, batch_words, store_host, offset_id_head, answer, frame_bytes_max,
                        header_bytes_max, text_max, batch_messages_max, batch_keys_max, size_bounds))]
    #[allow(clippy::too_many_arguments)] // keywords of Python
    fn new(
        mut suffix: Vec<u8>,
        guarded: bool,
        words: Vec<Vec<u8>>,
        batch_words: Vec<Vec<u8>>,
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
        if guarded {
            suffix.extend_from_slice(ROOM);
        }
        Ok(Self {
            suffix,
            guarded,
            words: Words::new(&words),
            batch_words: Words::new(&batch_words),
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
            topics: Vec::new(),
            numbers: HashMap::new(),
            state: NumberState::default(),
        })
    }

    /// Messages may be sent to `topic`, queues 0 to `queues` - 1; `sys_flag` is or-ed to theirs.
    fn admit(&mut self, topic: Bound<'_, PyString>, queues: i32, sys_flag: i32) -> PyResult<()> {
        let name = topic.to_cow()?;
        let hash = java_hash(format!("{name}#").as_bytes(), 0).unwrap_or_default();
        let number = *self
            .numbers
            .entry(name.as_bytes().to_vec())
            .or_insert(self.topics.len());
        let admitted = Topic {
            name: topic.clone().unbind(),
            queues,
            sys_flag,
            hash,
        };
        if number == self.topics.len() {
            self.topics.push(admitted);
        } else {
            self.topics[number] = admitted;
        }
        Ok(())
    }

    /// Whether `topic` was admitted.
    fn knows(&self, topic: &str) -> bool {
        self.numbers.contains_key(topic.as_bytes())
    }

    /// Admit no topic any more.
    fn forget(&mut self) {
        self.numbers.clear();
        self.topics.clear();
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
        match self.place(py, parts, &turn, &mut work, &mut (&[], 0), &mut Batch::default())? {
            Step::Served => work.finish(py, 0, None).map(Some),
            Step::Stopped | Step::Unknown(_) => Ok(None),
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
        let unknown = loop {
            let Some(frame) = whole_frame(data, at, &self.limits) else {
                break None;
            };
            match self.serve(py, &frame, &turn, &mut work, &mut scratch, signers.as_deref_mut())? {
                Step::Served => at = frame.end,
                Step::Stopped => break None,
                Step::Unknown(topic) => break std::str::from_utf8(topic).ok(),
            }
        };
        if work.count == 0 && unknown.is_none() {
            return Ok(None);
        }
        work.finish(py, at, unknown).map(Some)
    }
}

/// Room that all frames of a call use.
#[derive(Default)]
struct Scratch<'a> {
    fields: Vec<Field<'a>>,
    properties: Vec<u8>,
    topic: LastTopic<'a>,
    batch: Batch<'a>,
}

/// The topic of the send before, and its number.
pub type LastTopic<'a> = (&'a [u8], usize);

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
            if !self.numbers.contains_key(send.topic) {
                return Ok(Step::Unknown(send.topic));
            }
            if !signers.may(user, send.code, send.topic) {
                return Ok(Step::Stopped);
            }
        }
        let Scratch { topic, batch, .. } = scratch;
        self.place(py, (&send, text, frame.body), turn, work, topic, batch)
    }

    /// Lays out a send with these properties and this body, if it is an ordinary one.
    fn place<'a>(
        &self,
        py: Python,
        (send, text, body): (&Send<'a>, &[u8], &'a [u8]),
        turn: &Turn,
        work: &mut Work,
        last_topic: &mut LastTopic<'a>,
        batch: &mut Batch<'a>,
    ) -> PyResult<Step<'a>> {
        let body_fits = !body.is_empty() && body.len() <= turn.body_bytes_max;
        if !body_fits || send.queue_id < 0 || text.len() > self.text_max || self.words.occur_in(text) {
            return Ok(Step::Stopped);
        }
        if send.is_batch {
            return self.place_batch(py, (send, text, body), turn, work, last_topic, batch);
        }
        let mark = mark_behind(text);
        let properties = [text, mark, &self.suffix];
        let properties_bytes = text.len() + mark.len() + self.suffix.len();
        let Some(named) = named(text).filter(|named| named.is_plain()) else {
            return Ok(Step::Stopped);
        };
        let (Some(unique), true) = (named.unique, properties_bytes <= BYTES_MAX) else {
            return Ok(Step::Stopped);
        };
        let size = record_bytes(&turn.hosts, send.topic.len(), body.len(), properties_bytes);
        if work.records.len() + size > turn.room {
            return Ok(Step::Stopped);
        }
        let Some(code) = java_hash(named.tags.unwrap_or_default(), 0) else {
            return Ok(Step::Stopped);
        };
        // Last, so that an unknown topic is the only reason to stop, as far as that can be told.
        let number = match self.topic_of(send, last_topic) {
            Ok(number) => number,
            Err(step) => return Ok(step),
        };
        let topic = &self.topics[number];
        let keyed = work.keys.len();
        if note_keys(&mut work.keys, topic.hash, &named, work.end).is_none() {
            work.keys.truncate(keyed);
            return Ok(Step::Stopped);
        }
        let Some((run, queue_offset)) = queue_at(py, work, turn, number, topic, send.queue_id)? else {
            work.keys.truncate(keyed);
            return Ok(Step::Stopped);
        };
        let physical = work.end;
        let record = Record {
            topic: send.topic,
            queue_id: send.queue_id,
            queue_offset,
            physical,
            flag: send.flag,
            sys_flag: send.sys_flag | topic.sys_flag,
            born: send.born,
            stored: turn.now,
            reconsumed: send.reconsumed,
            body,
            properties,
        };
        work.append(run, &record, &turn.hosts, size, code);
        let name = (number, &topic.name);
        work.count_put(py, name, self.is_sharded(text), (1, size), &self.size_bounds);
        work.count_kind(send.code, send.one_way);
        if !send.one_way {
            let answer = Answer {
                opaque: send.opaque,
                queue_id: send.queue_id,
                queue_offset,
                unique: Unique::BeforeMarks(unique),
            };
            self.answers.put(&mut work.answers, &answer, once(physical));
        }
        Ok(Step::Served)
    }

    /// The number of the topic of `send`, if that may go there; else what becomes of its frame.
    pub fn topic_of<'a>(&self, send: &Send<'a>, last: &mut LastTopic<'a>) -> Result<usize, Step<'a>> {
        if send.topic.len() > TOPIC_BYTES_MAX {
            return Err(Step::Stopped);
        }
        if last.0 != send.topic || send.topic.is_empty() {
            let number = self.numbers.get(send.topic);
            *last = (send.topic, *number.ok_or(Step::Unknown(send.topic))?);
        }
        let topic = &self.topics[last.1];
        if send.queue_id >= topic.queues || (send.sys_flag | topic.sys_flag) & TRANSACTION_MASK != 0 {
            return Err(Step::Stopped);
        }
        Ok(last.1)
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

/// The number of the queue's run, and the queue offset of its next message; `None` where Python has no such
/// queue.
pub fn queue_at(
    py: Python,
    work: &mut Work,
    turn: &Turn,
    number: usize,
    topic: &Topic,
    queue_id: i32,
) -> PyResult<Option<(usize, i64)>> {
    let key = (number as u64) << 32 | queue_id as u64;
    let run = if let Some(run) = work.run(key) {
        run
    } else {
        let queue = turn.queue_of.call1(((topic.name.bind(py), queue_id),))?;
        if queue.is_none() {
            return Ok(None);
        }
        let first = queue.getattr(intern!(py, "next_offset"))?.extract::<i64>()?;
        work.add_run(key, queue.unbind(), first)
    };
    let found = &work.runs[run];
    Ok(Some((run, found.first + found.codes.len() as i64)))
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
