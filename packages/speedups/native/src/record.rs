//! Records (mqframe/core/storage/record.py) and the queue entries that list them.

use crate::entry::int;
use crate::properties::BYTES_MAX;
use crate::record_crc::crc_of;

pub const MAGIC_V1: i32 = -626_843_481;
/// `TOPIC_V1_BYTES_MAX`: topics that are longer take another magic, and are left to Python.
pub const TOPIC_BYTES_MAX: usize = 127;
pub const BORN_HOST_V6: i32 = 0x10;
pub const STORE_HOST_V6: i32 = 0x20;
/// Of the fixed part where both hosts are IPv4.
pub const HEAD_BYTES: usize = 88;
const HOST_V6_BYTES: usize = 20;
const NUMBERS_BYTES: usize = 72;

/// Where the parts of a record of the usual kind lie: version 1, IPv4 hosts.
pub struct Parts {
    pub body_end: usize,
    pub topic_end: usize,
    pub end: usize,
}

impl Parts {
    /// Of the record at the beginning of `rest`; `None` where none of the usual kind is there, or not all of it.
    pub fn of(rest: &[u8]) -> Option<Self> {
        let usual = rest.len() > HEAD_BYTES
            && int(rest, 4) == MAGIC_V1
            && int(rest, 36) & (BORN_HOST_V6 | STORE_HOST_V6) == 0;
        if !usual {
            return None;
        }
        let end = usize::try_from(int(rest, 0)).ok()?;
        let body_end = HEAD_BYTES + usize::try_from(int(rest, 84)).ok()?;
        let topic_end = body_end + 1 + usize::from(*rest.get(body_end)?);
        let text = topic_end + 2;
        if text > end || end > rest.len() || end - text > BYTES_MAX {
            return None;
        }
        let text_bytes = usize::from(rest[topic_end]) << 8 | usize::from(rest[topic_end + 1]);
        (text_bytes == end - text).then_some(Self {
            body_end,
            topic_end,
            end,
        })
    }
}

/// Where a record comes from and is kept.
#[derive(Clone, Copy)]
pub struct Hosts<'a> {
    pub born: &'a [u8],
    pub store: &'a [u8],
}

impl Hosts<'_> {
    /// `sys_flag` with the bits that tell the size of both hosts (`fixed_part` in batch_layout.py).
    fn mark(&self, sys_flag: i32) -> i32 {
        let bit = |host: &[u8], bit| if host.len() == HOST_V6_BYTES { bit } else { 0 };
        (sys_flag & !(BORN_HOST_V6 | STORE_HOST_V6))
            | bit(self.born, BORN_HOST_V6)
            | bit(self.store, STORE_HOST_V6)
    }
}

/// One message as it is to be stored. `prepared`: log offset of the half that it was; `properties`: pieces that lie
/// one behind the other.
pub struct Record<'a> {
    pub topic: &'a [u8],
    pub queue_id: i32,
    pub queue_offset: i64,
    pub physical: i64,
    pub flag: i32,
    pub sys_flag: i32,
    pub born: i64,
    pub stored: i64,
    pub reconsumed: i32,
    pub prepared: i64,
    pub body: &'a [u8],
    pub properties: [&'a [u8]; 3],
}

/// The bytes of a record with parts of these sizes.
pub fn record_bytes(hosts: &Hosts, topic: usize, body: usize, properties: usize) -> usize {
    NUMBERS_BYTES + hosts.born.len() + hosts.store.len() + 1 + topic + body + 2 + properties
}

/// Writes `record`, `size` bytes, with the fields of `HEAD` in their order.
pub fn put_record(out: &mut Vec<u8>, record: &Record, hosts: &Hosts, size: usize) {
    let properties: usize = record.properties.iter().map(|piece| piece.len()).sum();
    let mut head = [0_u8; 48];
    put(&mut head, 0, (size as i32).to_be_bytes());
    put(&mut head, 4, MAGIC_V1.to_be_bytes());
    put(&mut head, 8, crc_of(record.body).to_be_bytes());
    put(&mut head, 12, record.queue_id.to_be_bytes());
    put(&mut head, 16, record.flag.to_be_bytes());
    put(&mut head, 20, record.queue_offset.to_be_bytes());
    put(&mut head, 28, record.physical.to_be_bytes());
    put(&mut head, 36, hosts.mark(record.sys_flag).to_be_bytes());
    put(&mut head, 40, record.born.to_be_bytes());
    let mut tail = [0_u8; 16];
    put(&mut tail, 0, record.reconsumed.to_be_bytes());
    put(&mut tail, 4, record.prepared.to_be_bytes());
    put(&mut tail, 12, (record.body.len() as i32).to_be_bytes());
    out.reserve(size);
    out.extend_from_slice(&head);
    out.extend_from_slice(hosts.born);
    out.extend_from_slice(&record.stored.to_be_bytes());
    out.extend_from_slice(hosts.store);
    out.extend_from_slice(&tail);
    out.extend_from_slice(record.body);
    out.push(record.topic.len() as u8);
    out.extend_from_slice(record.topic);
    out.extend_from_slice(&(properties as u16).to_be_bytes());
    for piece in record.properties {
        out.extend_from_slice(piece);
    }
}

/// Writes a queue entry: log offset, size, tags code (`ENTRY` in mqframe/store/queues/consume_queue.py).
pub fn put_entry(out: &mut Vec<u8>, physical: i64, size: usize, code: i64) {
    let mut entry = [0_u8; 20];
    put(&mut entry, 0, physical.to_be_bytes());
    put(&mut entry, 8, (size as i32).to_be_bytes());
    put(&mut entry, 12, code.to_be_bytes());
    out.extend_from_slice(&entry);
}

fn put<const SIZE: usize>(out: &mut [u8], at: usize, value: [u8; SIZE]) {
    out[at..at + SIZE].copy_from_slice(&value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_the_size_that_it_says() {
        for (born, store, sys_flag) in [(8, 8, 1), (20, 8, 0x11), (8, 20, 0x21), (20, 20, 0x31)] {
            let (born, store) = (vec![1; born], vec![2; store]);
            let hosts = Hosts {
                born: &born,
                store: &store,
            };
            let record = Record {
                topic: b"topic",
                queue_id: 1,
                queue_offset: 2,
                physical: 3,
                flag: 4,
                sys_flag: 0x31,
                born: 5,
                stored: 6,
                reconsumed: 7,
                prepared: 8,
                body: b"body",
                properties: [b"p\x01q", b"\x02", b"r\x01s\x02"],
            };
            let size = record_bytes(&hosts, 5, 4, 8);
            let mut out = Vec::new();
            put_record(&mut out, &record, &hosts, size);
            assert_eq!(out.len(), size);
            assert_eq!(out[..4], (size as i32).to_be_bytes());
            assert_eq!(i32::from_be_bytes(out[36..40].try_into().unwrap()), sys_flag);
            assert!(out.ends_with(b"body\x05topic\0\x08p\x01q\x02r\x01s\x02"));
        }
    }
}
