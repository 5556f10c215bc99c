//! Single messages, as far as `SendProcessor._store_one` (mqframe/broker/sending/processor.py) finds them ordinary,
//! or a send rule has them wait elsewhere as it did with others of their kind.

use std::iter::once;
use std::ops::Range;

use pyo3::prelude::*;

use crate::answer::{Answer, Unique};
use crate::keys::note_keys;
use crate::laid::Work;
use crate::layout::{SendLayout, Step, Turn};
use crate::properties::{mark_behind, named, Named, BYTES_MAX};
use crate::record::{record_bytes, Record};
use crate::send::{Send, TRANSACTION_MASK};
use crate::topics::{queue_at, LastTopic, Topic};

/// What is counted otherwise than by its topic has numbers from here on, where topics have theirs below.
const COUNTED_FROM: usize = 1 << 30;

/// Where a message is stored. `number`: of `topic`; `tail`: behind its own properties; `code`: what its queue entry
/// says; `counted`: as what it is counted, a number and what Python knows it by; `sharded`: as one in order.
struct Goal<'g> {
    number: usize,
    topic: &'g Topic,
    queue_id: i32,
    sys_flag: i32,
    tail: &'g [u8],
    code: i64,
    counted: (usize, &'g Py<PyAny>),
    sharded: bool,
}

impl SendLayout {
    /// Lays out a send of one message with these properties and this body, in which no word occurs, if it is an
    /// ordinary one. Nothing of `work` changes otherwise.
    pub fn place_one<'a>(
        &self,
        py: Python,
        (send, text, body): (&Send<'a>, &[u8], &[u8]),
        turn: &Turn,
        work: &mut Work,
        last_topic: &mut LastTopic<'a>,
    ) -> PyResult<Step<'a>> {
        let Some(named) = named(text).filter(|named| named.is_plain()) else {
            return Ok(Step::Stopped);
        };
        let (Some(_), Some(code)) = (named.unique, named.tags_code()) else {
            return Ok(Step::Stopped);
        };
        let size = self.size_of(send.topic, (text, body), &self.suffix, turn, work);
        if size.is_none() {
            return Ok(Step::Stopped);
        }
        // Last, so that an unknown topic is the only reason to stop, as far as that can be told.
        let (number, topic) = match self.topics.of(send, last_topic) {
            Ok(found) => found,
            Err(step) => return Ok(step),
        };
        let goal = Goal {
            number,
            topic,
            queue_id: send.queue_id,
            sys_flag: send.sys_flag | topic.sys_flag,
            tail: &self.suffix,
            code,
            counted: (number, topic.name.as_any()),
            sharded: self.is_sharded(text),
        };
        self.put_one(py, (send, text, body), &named, &goal, turn, work)
    }

    /// The same of a message that waits elsewhere for its `pair`, all of whose other properties are kept.
    pub fn place_elsewhere<'a>(
        &self,
        py: Python,
        (send, text, body): (&Send<'a>, &[u8], &[u8]),
        pair: Range<usize>,
        turn: &Turn,
        work: &mut Work,
        (last_topic, tail): (&mut LastTopic<'a>, &mut Vec<u8>),
    ) -> PyResult<Step<'a>> {
        let Some(named) = named(text).filter(|named| named.is_plain()) else {
            return Ok(Step::Stopped);
        };
        let (Some(unique), Some(tags_code)) = (named.unique, named.tags_code()) else {
            return Ok(Step::Stopped);
        };
        let (number, topic) = match self.topics.of(send, last_topic) {
            Ok(found) => found,
            Err(step) => return Ok(step),
        };
        let bits = send.sys_flag & TRANSACTION_MASK;
        let (pair, place) = (&text[pair], (number, send.queue_id, bits));
        let way = match self.diversions.way(pair, place) {
            Some(Some(way)) => way,
            Some(None) => return Ok(Step::Stopped),
            None => return Ok(undecided(send, bits, pair).unwrap_or(Step::Stopped)),
        };
        let (own, room) = self.suffix.split_at(self.own_bytes);
        tail.clear();
        tail.extend_from_slice(own);
        way.put_added(tail, unique);
        tail.extend_from_slice(room);
        let due_at = |due_ms| turn.now.saturating_add(due_ms);
        let goal = Goal {
            number: way.topic,
            topic: self.topics.at(way.topic),
            queue_id: way.queue_id,
            sys_flag: (send.sys_flag | topic.sys_flag) & !TRANSACTION_MASK,
            tail,
            code: way.due_ms.map_or(tags_code, due_at),
            counted: (COUNTED_FROM + way.counted, &self.diversions.counted[way.counted]),
            sharded: false,
        };
        self.put_one(py, (send, text, body), &named, &goal, turn, work)
    }

    /// Lays a message out as it is stored at its goal.
    fn put_one<'a>(
        &self,
        py: Python,
        (send, text, body): (&Send<'a>, &[u8], &[u8]),
        named: &Named,
        goal: &Goal,
        turn: &Turn,
        work: &mut Work,
    ) -> PyResult<Step<'a>> {
        let size = self.size_of(&goal.topic.bytes, (text, body), goal.tail, turn, work);
        let (Some(size), Some(unique)) = (size, named.unique) else {
            return Ok(Step::Stopped);
        };
        let keyed = work.keys.len();
        if note_keys(&mut work.keys, goal.topic.hash, named, work.end).is_none() {
            work.keys.truncate(keyed);
            return Ok(Step::Stopped);
        }
        let Some((run, queue_offset)) = queue_at(py, work, turn, goal.number, goal.topic, goal.queue_id)?
        else {
            work.keys.truncate(keyed);
            return Ok(Step::Stopped);
        };
        let physical = work.end;
        let record = Record {
            topic: &goal.topic.bytes,
            queue_id: goal.queue_id,
            queue_offset,
            physical,
            flag: send.flag,
            sys_flag: goal.sys_flag,
            born: send.born,
            stored: turn.now,
            reconsumed: send.reconsumed,
            prepared: 0,
            body,
            properties: [text, mark_behind(text), goal.tail],
        };
        work.append(run, &record, &turn.hosts, size, goal.code);
        work.count_put(py, goal.counted, goal.sharded, (1, size), &self.size_bounds);
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

    /// The bytes of a record with these parts; `None` where there is no room for it, or for its properties.
    fn size_of(
        &self,
        topic: &[u8],
        (text, body): (&[u8], &[u8]),
        tail: &[u8],
        turn: &Turn,
        work: &Work,
    ) -> Option<usize> {
        let properties_bytes = text.len() + mark_behind(text).len() + tail.len();
        let size = record_bytes(&turn.hosts, topic.len(), body.len(), properties_bytes);
        (properties_bytes <= BYTES_MAX && work.records.len() + size <= turn.room).then_some(size)
    }
}

/// Where Python is to be asked first what becomes of messages like `send`.
fn undecided<'a>(send: &Send, bits: i32, pair: &[u8]) -> Option<Step<'a>> {
    let topic = std::str::from_utf8(send.topic).ok()?.to_owned();
    let pair = std::str::from_utf8(pair).ok()?.to_owned();
    Some(Step::Undecided((topic, send.queue_id, bits, pair)))
}
