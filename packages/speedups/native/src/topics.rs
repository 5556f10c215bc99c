//! The topics that may be sent to, and where the messages of a call go in their queues.

use std::collections::HashMap;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::laid::Work;
use crate::layout::{Step, Turn};
use crate::record::TOPIC_BYTES_MAX;
use crate::send::{Send, TRANSACTION_MASK};
use crate::text::java_hash;

/// A topic. `queues`: how many may be sent to, `None`: it was not admitted, but messages wait there; `hash`: of
/// its name with `#` behind, as index keys begin.
pub struct Topic {
    pub name: Py<PyString>,
    pub bytes: Vec<u8>,
    queues: Option<i32>,
    pub sys_flag: i32,
    pub hash: u32,
}

/// The topic of the send before, and its number.
pub type LastTopic<'a> = (&'a [u8], usize);

/// All that are known, by their numbers.
#[derive(Default)]
pub struct Topics {
    all: Vec<Topic>,
    numbers: HashMap<Vec<u8>, usize>,
}

impl Topics {
    /// Messages may be sent to `topic`, queues 0 to `queues` - 1; `sys_flag` is or-ed to theirs.
    pub fn admit(&mut self, topic: Bound<'_, PyString>, queues: i32, sys_flag: i32) -> PyResult<()> {
        let number = self.number_of(&topic)?;
        let admitted = &mut self.all[number];
        admitted.name = topic.unbind();
        admitted.queues = Some(queues);
        admitted.sys_flag = sys_flag;
        Ok(())
    }

    /// The number of `topic`, admitted or not: messages of a queue have to be found whatever they are.
    pub fn number_of(&mut self, topic: &Bound<'_, PyString>) -> PyResult<usize> {
        let name = topic.to_cow()?;
        let bytes = name.as_bytes();
        if let Some(number) = self.numbers.get(bytes) {
            return Ok(*number);
        }
        self.numbers.insert(bytes.to_vec(), self.all.len());
        self.all.push(Topic {
            name: topic.clone().unbind(),
            bytes: bytes.to_vec(),
            queues: None,
            sys_flag: 0,
            hash: java_hash(format!("{name}#").as_bytes(), 0).unwrap_or_default(),
        });
        Ok(self.all.len() - 1)
    }

    /// Whether the topic of this name was admitted.
    pub fn know(&self, name: &[u8]) -> bool {
        let number = self.numbers.get(name);
        number.is_some_and(|number| self.all[*number].queues.is_some())
    }

    /// The topic with this number.
    pub fn at(&self, number: usize) -> &Topic {
        &self.all[number]
    }

    /// Admits none any more.
    pub fn clear(&mut self) {
        self.numbers.clear();
        self.all.clear();
    }

    /// The topic of `send` and its number, if that may go there; else what becomes of its frame.
    pub fn of<'a>(&self, send: &Send<'a>, last: &mut LastTopic<'a>) -> Result<(usize, &Topic), Step<'a>> {
        if send.topic.len() > TOPIC_BYTES_MAX {
            return Err(Step::Stopped);
        }
        if last.0 != send.topic || send.topic.is_empty() {
            let number = self.numbers.get(send.topic);
            *last = (send.topic, *number.ok_or(Step::Unknown(send.topic))?);
        }
        let topic = &self.all[last.1];
        let queues = topic.queues.ok_or(Step::Unknown(send.topic))?;
        if send.queue_id >= queues || topic.sys_flag & TRANSACTION_MASK != 0 {
            return Err(Step::Stopped);
        }
        Ok((last.1, topic))
    }
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
