//! Single messages, as far as `SendProcessor._store_one` (mqframe/broker/sending/processor.py) finds them ordinary.

use std::iter::once;

use pyo3::prelude::*;

use crate::answer::{Answer, Unique};
use crate::keys::note_keys;
use crate::laid::Work;
use crate::layout::{SendLayout, Step, Turn};
use crate::properties::{mark_behind, named, BYTES_MAX};
use crate::record::{record_bytes, Record};
use crate::send::Send;
use crate::text::java_hash;
use crate::topics::{queue_at, LastTopic};

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
        let (number, topic) = match self.topics.of(send, last_topic) {
            Ok(found) => found,
            Err(step) => return Ok(step),
        };
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
}
