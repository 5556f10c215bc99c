//! Sends: `SendMessage` (10), `SendMessageV2` (310) and `SendBatchMessage` (320) of
//! mqframe/core/requests/messages.py, as far as `SendProcessor._serve` (mqframe/broker/sending/processor.py)
//! finds them ordinary.

use crate::header::{Field, Head};
use crate::text::{int, number};

const SEND: i32 = 10;
pub const SEND_V2: i32 = 310;
const SEND_BATCH: i32 = 320;
const ONE_WAY: i32 = 2;
pub const TRANSACTION_MASK: i32 = 0xC;

/// Places of the fields, in the order of the short names `a` to `n`.
mod place {
    pub const GROUP: usize = 0;
    pub const TOPIC: usize = 1;
    pub const DEFAULT_TOPIC: usize = 2;
    pub const DEFAULT_QUEUES: usize = 3;
    pub const QUEUE_ID: usize = 4;
    pub const SYS_FLAG: usize = 5;
    pub const BORN: usize = 6;
    pub const FLAG: usize = 7;
    pub const PROPERTIES: usize = 8;
    pub const RECONSUMED: usize = 9;
    pub const UNIT_MODE: usize = 10;
    pub const MAX_RECONSUMED: usize = 11;
    pub const BATCH: usize = 12;
    pub const COUNT: usize = 14;
}

/// What one send says. `escaped`: `properties` are still written with JSON's escapes. `is_batch`: the field
/// says so, whatever the code is, as `SendProcessor.send` has it.
#[derive(Debug, PartialEq, Eq)]
pub struct Send<'a> {
    pub code: i32,
    pub one_way: bool,
    pub opaque: i32,
    pub topic: &'a [u8],
    pub queue_id: i32,
    pub sys_flag: i32,
    pub born: i64,
    pub flag: i32,
    pub reconsumed: i32,
    pub properties: &'a [u8],
    pub escaped: bool,
    pub is_batch: bool,
}

/// The send that a header describes; `None` for other requests, and for sends that are not ordinary.
pub fn send_of<'a>(head: &Head, fields: &[Field<'a>]) -> Option<Send<'a>> {
    if !matches!(head.code, SEND | SEND_V2 | SEND_BATCH) || (head.flag != 0 && head.flag != ONE_WAY) {
        return None;
    }
    let mut values = [None; place::COUNT];
    let mut escaped = false;
    for (at, field) in fields.iter().enumerate() {
        let place = if head.code == SEND {
            long_place(field.name)
        } else {
            short_place(field.name)
        };
        if field.escaped {
            if place != Some(place::PROPERTIES) {
                return None;
            }
            escaped = true;
        }
        match place {
            Some(place) if values[place].is_none() => values[place] = Some(field.value),
            None if fields[..at].iter().all(|other| other.name != field.name) => {}
            _ => return None, // the last of several counts, which is for Python to see
        }
    }
    let optional = |place: usize| values[place].map_or(Some(0), int);
    let is_true = |place: usize| match values[place] {
        None | Some(b"false") => Some(false),
        Some(b"true") => Some(true),
        _ => None,
    };
    values[place::GROUP]?;
    values[place::DEFAULT_TOPIC]?;
    int(values[place::DEFAULT_QUEUES]?)?;
    optional(place::MAX_RECONSUMED)?;
    let send = Send {
        code: head.code,
        one_way: head.flag == ONE_WAY,
        opaque: head.opaque,
        topic: values[place::TOPIC]?,
        queue_id: int(values[place::QUEUE_ID]?)?,
        sys_flag: int(values[place::SYS_FLAG]?)?,
        born: number(values[place::BORN]?)?,
        flag: int(values[place::FLAG]?)?,
        reconsumed: optional(place::RECONSUMED)?,
        properties: values[place::PROPERTIES].unwrap_or_default(),
        escaped,
        is_batch: is_true(place::BATCH)?,
    };
    // A queue below 0 stands for any: Python draws it.
    (!is_true(place::UNIT_MODE)? && send.queue_id >= 0).then_some(send)
}

fn short_place(name: &[u8]) -> Option<usize> {
    match name {
        [letter @ b'a'..=b'n'] => Some(usize::from(letter - b'a')),
        _ => None,
    }
}

fn long_place(name: &[u8]) -> Option<usize> {
    Some(match name {
        b"producerGroup" => place::GROUP,
        b"topic" => place::TOPIC,
        b"defaultTopic" => place::DEFAULT_TOPIC,
        b"defaultTopicQueueNums" => place::DEFAULT_QUEUES,
        b"queueId" => place::QUEUE_ID,
        b"sysFlag" => place::SYS_FLAG,
        b"bornTimestamp" => place::BORN,
        b"flag" => place::FLAG,
        b"properties" => place::PROPERTIES,
        b"reconsumeTimes" => place::RECONSUMED,
        b"unitMode" => place::UNIT_MODE,
        b"maxReconsumeTimes" => place::MAX_RECONSUMED,
        b"batch" => place::BATCH,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: &str =
        "producerGroup topic defaultTopic defaultTopicQueueNums queueId sysFlag bornTimestamp \
                        flag properties reconsumeTimes unitMode maxReconsumeTimes batch";
    const SHORT: &str = "a b c d e f g h i j k l m";
    const VALUES: &str = "group t TBW102 4 3 1 1700000000000 -9 text 2 false 16 false";

    fn fields<'a>(names: &'a str, values: &'a str) -> Vec<Field<'a>> {
        let pairs = names
            .split_ascii_whitespace()
            .zip(values.split_ascii_whitespace());
        pairs
            .map(|(name, value)| Field {
                name: name.as_bytes(),
                value: value.as_bytes(),
                escaped: false,
            })
            .collect()
    }

    fn read<'a>(code: i32, flag: i32, fields: &[Field<'a>]) -> Option<Send<'a>> {
        let head = Head {
            code,
            opaque: 8,
            flag,
        };
        send_of(&head, fields)
    }

    #[test]
    fn both_forms_say_the_same() {
        for (code, names) in [(10, LONG), (310, SHORT), (320, SHORT)] {
            let found = read(code, 2, &fields(names, VALUES)).unwrap();
            assert_eq!((found.topic, found.properties), (&b"t"[..], &b"text"[..]));
            assert_eq!((found.queue_id, found.sys_flag, found.flag), (3, 1, -9));
            assert_eq!(
                (found.born, found.reconsumed, found.opaque),
                (1_700_000_000_000, 2, 8)
            );
            assert!(found.one_way && !found.escaped && !found.is_batch);
            assert_eq!(
                read(code, 0, &fields(names, VALUES)[..8]).unwrap().properties,
                b""
            );
            assert_eq!(read(code, 0, &fields(names, VALUES)[..7]), None);
            let mut batch = fields(names, VALUES);
            batch[12].value = b"true";
            assert!(read(code, 0, &batch).unwrap().is_batch);
        }
        assert_eq!(read(10, 0, &fields(SHORT, VALUES)), None);
        assert_eq!(read(320, 0, &fields(LONG, VALUES)), None);
        assert_eq!(read(330, 0, &fields(SHORT, VALUES)), None);
        assert_eq!(read(310, 1, &fields(SHORT, VALUES)), None);
    }

    #[test]
    fn odd_values_are_left() {
        let values = VALUES.split(' ').collect::<Vec<_>>();
        for (place, odd) in [
            (3, "x"),
            (4, "-1"),
            (4, "04"),
            (5, "0x4"),
            (6, "1e3"),
            (7, "2147483648"),
            (9, "+1"),
            (10, "true"),
            (11, "x"),
            (12, "0"),
        ] {
            let mut changed = values.clone();
            changed[place] = odd;
            assert_eq!(
                read(310, 0, &fields(SHORT, &changed.join(" "))),
                None,
                "{place} {odd}"
            );
        }
    }

    #[test]
    fn names_that_come_twice_are_left_and_others_ignored() {
        let mut all = fields(SHORT, VALUES);
        let other = |name| Field {
            name,
            value: b"1",
            escaped: false,
        };
        all.push(other(b"zz"));
        all.push(other(b"y"));
        assert!(read(310, 0, &all).is_some());
        all.push(other(b"zz"));
        assert_eq!(read(310, 0, &all), None);
        all.pop();
        all.push(other(b"a"));
        assert_eq!(read(310, 0, &all), None);
    }

    #[test]
    fn only_properties_have_escapes() {
        let mut all = fields(SHORT, VALUES);
        all[8].escaped = true;
        assert!(read(310, 0, &all).unwrap().escaped);
        all[0].escaped = true;
        assert_eq!(read(310, 0, &all), None);
    }
}
