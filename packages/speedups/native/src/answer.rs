//! Answers to sends that were stored (`encode_answer` in mqframe/core/wire/frame.py, of the fields that
//! `SendProcessor._store_one` gives it).

use crate::text::{put_hex, put_number};

const WORDS_BYTES: usize = 8;

/// What all answers share. `head`: from the beginning of the header to the opening quote of `msgId`;
/// `region`: between the unique key's closing quote and the request's number; `tail`: behind that.
pub struct Answers {
    pub head: Vec<u8>,
    pub region: Vec<u8>,
    pub tail: Vec<u8>,
    pub offset_id_head: Vec<u8>,
}

/// What one answer says.
pub struct Answer<'a> {
    pub opaque: i32,
    pub queue_id: i32,
    pub queue_offset: i64,
    pub physical: i64,
    pub unique: &'a [u8],
}

impl Answers {
    /// Writes the whole frame of `answer`. It has no body.
    pub fn put(&self, out: &mut Vec<u8>, answer: &Answer) {
        let start = out.len();
        out.extend_from_slice(&[0; WORDS_BYTES]);
        out.extend_from_slice(&self.head);
        out.extend_from_slice(&self.offset_id_head);
        put_hex(out, answer.physical as u64);
        out.extend_from_slice(b"\",\"queueId\":\"");
        put_number(out, i64::from(answer.queue_id));
        out.extend_from_slice(b"\",\"queueOffset\":\"");
        put_number(out, answer.queue_offset);
        out.extend_from_slice(b"\",\"transactionId\":\"");
        out.extend_from_slice(answer.unique);
        out.push(b'"');
        out.extend_from_slice(&self.region);
        put_number(out, i64::from(answer.opaque));
        out.extend_from_slice(&self.tail);
        let header = (out.len() - start - WORDS_BYTES) as u32;
        out[start..start + 4].copy_from_slice(&(header + 4).to_be_bytes());
        out[start + 4..start + 8].copy_from_slice(&header.to_be_bytes());
    }
}
