//! Batches (mqframe/core/messages/batch.py), as far as `SendProcessor._store_batch` finds them ordinary and
//! `BatchLayout` (mqframe/store/appending/batch_layout.py) takes all their messages.

use memchr::memrchr2;
use pyo3::prelude::*;

use crate::answer::{Answer, Unique};
use crate::keys::note_keys;
use crate::laid::Work;
use crate::layout::{SendLayout, Step, Turn};
use crate::properties::{mark_behind, named, Named, BYTES_MAX, NAME_END, PAIR_END};
use crate::record::{record_bytes, Hosts, Record};
use crate::send::Send;
use crate::topics::{queue_at, LastTopic};

const HEAD_BYTES: usize = 20;

/// `BatchLimits` of batch_layout.py: messages of one batch, and keys of all; keys of one message.
pub struct BatchLimits {
    pub messages: usize,
    pub keys: usize,
}

/// One message. `own`: its properties, before those that the request gives to all. `named`: of both; `size`:
/// bytes of its record.
#[derive(Debug, PartialEq, Eq)]
struct Element<'a> {
    flag: i32,
    body: &'a [u8],
    own: &'a [u8],
    named: Named<'a>,
    size: usize,
}

/// Room for one batch that all batches of a call use. `joined`: the properties of all messages; `extra`: what
/// stands behind those of each.
#[derive(Default)]
pub struct Batch<'a> {
    elements: Vec<Element<'a>>,
    joined: Vec<u8>,
    extra: Vec<u8>,
}

impl SendLayout {
    /// Lays `body` out if it is an ordinary batch. Nothing of `work` changes otherwise. `text`: the properties
    /// that the request gives to all messages.
    pub fn place_batch<'a>(
        &self,
        py: Python,
        (send, text, body): (&Send<'a>, &[u8], &'a [u8]),
        turn: &Turn,
        work: &mut Work,
        last_topic: &mut LastTopic<'a>,
        batch: &mut Batch<'a>,
    ) -> PyResult<Step<'a>> {
        // Rules that look at batches look for words in the whole of them, bodies too.
        if self.batch_words.occur_in(text) || self.batch_words.occur_in(body) {
            return Ok(Step::Stopped);
        }
        batch.extra.clear();
        for piece in [text, mark_behind(text), &self.suffix] {
            batch.extra.extend_from_slice(piece);
        }
        let shared = named(text).filter(|shared| shared.is_plain());
        let Some(shared) = shared.filter(|_| batch.read(body, !text.is_empty(), &self.batch_limits)) else {
            return Ok(Step::Stopped);
        };
        let sized = batch.fits(&shared, &turn.hosts, send.topic.len(), &self.batch_limits);
        let is_text = std::str::from_utf8(&batch.joined).is_ok();
        let Some(size) = sized.filter(|_| is_text && !self.words.occur_in(&batch.joined)) else {
            return Ok(Step::Stopped);
        };
        if work.records.len() + size > turn.room {
            return Ok(Step::Stopped);
        }
        let (number, topic) = match self.topics.of(send, last_topic) {
            Ok(found) => found,
            Err(step) => return Ok(step),
        };
        let Some((run, first)) = queue_at(py, work, turn, number, topic, send.queue_id)? else {
            return Ok(Step::Stopped);
        };
        let physical = work.end;
        work.expect(run, batch.elements.len(), size);
        for (element, queue_offset) in batch.elements.iter().zip(first..) {
            let record = Record {
                topic: send.topic,
                queue_id: send.queue_id,
                queue_offset,
                physical: work.end,
                flag: element.flag,
                sys_flag: send.sys_flag | topic.sys_flag,
                born: send.born,
                stored: turn.now,
                reconsumed: 0, // a batch is nothing that was consumed
                prepared: 0,
                body: element.body,
                properties: [element.own, mark_behind(element.own), &batch.extra],
            };
            // All of it is text, so that all of it has a hash.
            let named = element.named.before(shared);
            let code = named.tags_code().unwrap_or_default();
            note_keys(&mut work.keys, topic.hash, &named, work.end).unwrap_or_default();
            work.append(run, &record, &turn.hosts, element.size, code);
        }
        let (name, count) = ((number, topic.name.as_any()), batch.elements.len());
        work.count_put(py, name, self.is_sharded(text), (count, size), &self.size_bounds);
        work.count_kind(send.code, send.one_way);
        if !send.one_way {
            let answer = Answer {
                opaque: send.opaque,
                queue_id: send.queue_id,
                queue_offset: first,
                unique: Unique::BehindMarks(shared.unique),
            };
            let sizes = batch.elements.iter().map(|element| element.size as i64);
            let offsets = sizes.scan(physical, |end, size| {
                *end += size;
                Some(*end - size)
            });
            self.answers.put(&mut work.answers, &answer, offsets);
        }
        Ok(Step::Served)
    }
}

impl<'a> Batch<'a> {
    /// Takes `body` apart. Whether it is a whole batch of ordinary messages, as far as their names go.
    /// `is_followed`: whether the request has properties.
    fn read(&mut self, body: &'a [u8], is_followed: bool, limits: &BatchLimits) -> bool {
        self.elements.clear();
        self.joined.clear();
        self.joined.reserve(body.len());
        let mut rest = body;
        while !rest.is_empty() && self.elements.len() < limits.messages {
            let Some((element, behind)) = first_of(rest) else {
                return false;
            };
            let own = element.own;
            // `SendRules.check_batch` reads both without a mark between: the end of what is no pair, and what
            // follows, would be a name that stands in neither.
            if is_followed && !mark_behind(own).is_empty() {
                match memrchr2(NAME_END, PAIR_END, own) {
                    Some(at) if own[at] == NAME_END => {}
                    _ => return false,
                }
            }
            self.joined.extend_from_slice(own);
            self.joined.push(PAIR_END); // so that nothing is found, and no character ends, in the next ones
            self.elements.push(element);
            rest = behind;
        }
        rest.is_empty() && !self.elements.is_empty()
    }

    /// Bytes of all records, once the size of each is known. `None` where one is too large, or there are too
    /// many keys; `shared`: what the request's properties name.
    fn fits(
        &mut self,
        shared: &Named,
        hosts: &Hosts,
        topic_bytes: usize,
        limits: &BatchLimits,
    ) -> Option<usize> {
        let (mut bytes, mut words) = (0, 0);
        for element in &mut self.elements {
            let own = element.own.len() + mark_behind(element.own).len();
            let properties = own + self.extra.len();
            let keys = shared.keys.or(element.named.keys);
            let count = keys.map_or(0, |_| element.named.before(*shared).words().count());
            if properties > BYTES_MAX || count > limits.keys {
                return None;
            }
            element.size = record_bytes(hosts, topic_bytes, element.body.len(), properties);
            bytes += element.size;
            words += count;
        }
        (words <= limits.messages).then_some(bytes)
    }
}

/// The first message of `batch`, its size still unknown, and what is behind it.
fn first_of(batch: &[u8]) -> Option<(Element<'_>, &[u8])> {
    let head = batch.first_chunk::<HEAD_BYTES>()?;
    let int = |at: usize| i32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let (whole, behind) = batch.split_at_checked(usize::try_from(int(0)).ok()?)?;
    let body_bytes = usize::try_from(int(16)).ok()?;
    let (body, rest) = whole.get(HEAD_BYTES..)?.split_at_checked(body_bytes)?;
    let (size, own) = rest.split_first_chunk::<2>()?;
    if usize::try_from(i16::from_be_bytes(*size)) != Ok(own.len()) {
        return None;
    }
    let element = Element {
        flag: int(12),
        body,
        own,
        named: named(own)?,
        size: 0,
    };
    Some((element, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: BatchLimits = BatchLimits { messages: 3, keys: 2 };

    fn element(body: &[u8], own: &[u8], more: i32) -> Vec<u8> {
        let size = (HEAD_BYTES + body.len() + 2 + own.len()) as i32 + more;
        let head = [size, 0x1234, 0x5678, -7, body.len() as i32];
        let mut out: Vec<u8> = head.iter().flat_map(|word| word.to_be_bytes()).collect();
        out.extend_from_slice(body);
        out.extend_from_slice(&(own.len() as u16).to_be_bytes());
        out.extend_from_slice(own);
        out
    }

    fn read(raw: &[u8], is_followed: bool) -> bool {
        Batch::default().read(raw, is_followed, &LIMITS)
    }

    #[test]
    fn a_batch_is_taken_apart() {
        let raw = [element(b"one", b"TAGS\x01t\x02", 0), element(b"", b"", 0)].concat();
        let mut batch = Batch::default();
        assert!(batch.read(&raw, true, &LIMITS));
        let found: Vec<_> = batch
            .elements
            .iter()
            .map(|each| (each.flag, each.body, each.own))
            .collect();
        assert_eq!(found, [(-7, &b"one"[..], &b"TAGS\x01t\x02"[..]), (-7, b"", b"")]);
        assert_eq!(batch.elements[0].named.tags, Some(&b"t"[..]));
        assert_eq!(batch.joined, b"TAGS\x01t\x02\x02\x02");
        assert!(batch.read(&raw[..raw.len() - 22], false, &LIMITS));
        assert_eq!(batch.elements.len(), 1);
    }

    #[test]
    fn damaged_batches_are_left() {
        let good = element(b"one", b"a\x01b", 0);
        assert!(read(&good.repeat(3), true));
        assert!(!read(&good.repeat(4), true));
        assert!(!read(b"", true));
        for size in 1..good.len() {
            assert!(!read(&good[..size], false), "{size}");
            assert!(!read(&[&good, &good[..size]].concat(), false), "{size}");
        }
        for more in [-30, -22, -1, 1, 100, i32::MAX - 100] {
            assert!(!read(&element(b"one", b"a\x01b", more), false), "{more}");
        }
        for (at, bytes) in [
            (16, [0xFF; 4]),
            (16, [0x7F, 0xFF, 0xFF, 0xFF]),
            (0, [0; 4]),
            (0, [0x80; 4]),
        ] {
            let mut bad = good.clone();
            bad[at..at + 4].copy_from_slice(&bytes);
            assert!(!read(&bad, false), "{at} {bytes:?}");
        }
        let mut long = element(b"one", &vec![b'x'; 0x8000], 0);
        assert!(!read(&long, false));
        long = element(b"one", &vec![b'x'; 0x7FFF], 0);
        assert!(read(&long, false));
    }

    #[test]
    fn what_would_be_a_name_together_is_left() {
        for (own, taken) in [
            ("DEL", false),
            ("a\x01b\x02DEL", false),
            ("a\x01b", true),
            ("DEL\x02", true),
        ] {
            assert_eq!(read(&element(b"x", own.as_bytes(), 0), true), taken, "{own:?}");
            assert!(read(&element(b"x", own.as_bytes(), 0), false));
        }
    }

    #[test]
    fn sizes_and_keys_have_limits() {
        let hosts = Hosts {
            born: &[0; 8],
            store: &[0; 8],
        };
        let sized = |own: &str, shared: &str, extra: usize| {
            let raw = element(b"x", own.as_bytes(), 0).repeat(2);
            let mut batch = Batch {
                extra: vec![b'e'; extra],
                ..Batch::default()
            };
            assert!(batch.read(&raw, false, &LIMITS));
            batch.fits(&named(shared.as_bytes()).unwrap(), &hosts, 5, &LIMITS)
        };
        assert_eq!(sized("a\x01b", "", 10), Some(2 * (72 + 16 + 1 + 5 + 1 + 2 + 14)));
        assert!(sized("a\x01b\x02", "", BYTES_MAX - 4).is_some());
        assert_eq!(sized("a\x01b", "", BYTES_MAX - 3), None);
        assert!(sized("KEYS\x01k", "", 0).is_some());
        assert_eq!(sized("KEYS\x01k l", "", 0), None, "four keys of all");
        assert_eq!(sized("KEYS\x01k", "KEYS\x01l m", 0), None);
        assert_eq!(sized("", "KEYS\x01l m n", 0), None, "three keys of one");
        assert!(
            sized("KEYS\x01k l m", "KEYS\x01l", 0).is_some(),
            "those of the request hide others"
        );
    }
}
