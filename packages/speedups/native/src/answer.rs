//! Answers to sends that were stored (`encode_answer` in mqframe/core/wire/frame.py, of the fields that
//! `SendProcessor._store_one` and `_fields` give it).

use crate::text::{put_hex, put_number};

const WORDS_BYTES: usize = 8;

/// What all answers share. `head`: from the beginning of the header to the opening quote of `msgId`; `marks`:
/// the fields that say the same in each, with a comma before each; `middle`: from behind the fields to the
/// request's number; `tail`: behind that.
pub struct Answers {
    pub head: Vec<u8>,
    pub marks: Vec<u8>,
    pub middle: Vec<u8>,
    pub tail: Vec<u8>,
    pub offset_id_head: Vec<u8>,
}

/// What one answer says.
pub struct Answer<'a> {
    pub opaque: i32,
    pub queue_id: i32,
    pub queue_offset: i64,
    pub unique: Unique<'a>,
}

/// The request's unique key. Answers to batches have it last, if at all.
pub enum Unique<'a> {
    BeforeMarks(&'a [u8]),
    BehindMarks(Option<&'a [u8]>),
}

impl Answers {
    /// Writes the whole frame of `answer`, which has no body. `offsets`: log offsets of the messages.
    pub fn put(&self, out: &mut Vec<u8>, answer: &Answer, offsets: impl Iterator<Item = i64>) {
        let start = out.len();
        out.extend_from_slice(&[0; WORDS_BYTES]);
        out.extend_from_slice(&self.head);
        for (number, offset) in offsets.enumerate() {
            if number > 0 {
                out.push(b',');
            }
            out.extend_from_slice(&self.offset_id_head);
            put_hex(out, offset as u64);
        }
        out.extend_from_slice(b"\",\"queueId\":\"");
        put_number(out, i64::from(answer.queue_id));
        out.extend_from_slice(b"\",\"queueOffset\":\"");
        put_number(out, answer.queue_offset);
        out.push(b'"');
        match answer.unique {
            Unique::BeforeMarks(key) => {
                put_unique(out, key);
                out.extend_from_slice(&self.marks);
            }
            Unique::BehindMarks(key) => {
                out.extend_from_slice(&self.marks);
                if let Some(key) = key {
                    put_unique(out, key);
                }
            }
        }
        out.extend_from_slice(&self.middle);
        put_number(out, i64::from(answer.opaque));
        out.extend_from_slice(&self.tail);
        let header = (out.len() - start - WORDS_BYTES) as u32;
        out[start..start + 4].copy_from_slice(&(header + 4).to_be_bytes());
        out[start + 4..start + 8].copy_from_slice(&header.to_be_bytes());
    }
}

fn put_unique(out: &mut Vec<u8>, key: &[u8]) {
    out.extend_from_slice(b",\"transactionId\":\"");
    out.extend_from_slice(key);
    out.push(b'"');
}
