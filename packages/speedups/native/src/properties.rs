//! What is looked for in the properties of a message (name 0x01 value 0x02, repeated) without splitting them.

use memchr::{memchr, memchr_iter};

const NAME_END: u8 = 1;
pub const PAIR_END: u8 = 2;
/// `PROPERTIES_BYTES_MAX` of mqframe/core/messages/properties.py.
pub const BYTES_MAX: usize = 32767;

/// Values that dispatch and answers need. `unique`: the unique key, which goes into the answer as it is.
#[derive(Debug, PartialEq, Eq)]
pub struct Named<'a> {
    pub unique: &'a [u8],
    pub tags: Option<&'a [u8]>,
    pub keys: Option<&'a [u8]>,
}

/// The values in `text`; `None` unless each name's last occurrence is a regular pair.
///
/// `index_keys` and `queue_code` (mqframe/core/storage/dispatch_facts.py) look at the last occurrence of a
/// name, be it the end of another name, and where that is no pair with a value they look for one that is.
pub fn named(text: &[u8]) -> Option<Named<'_>> {
    let (mut unique, mut tags, mut keys) = (None, None, None);
    for at in memchr_iter(NAME_END, text) {
        let before = &text[..at];
        match before.last() {
            Some(b'Y') if before.ends_with(b"UNIQ_KEY") => unique = Some((at - 8, at + 1)),
            Some(b'S') if before.ends_with(b"TAGS") => tags = Some((at - 4, at + 1)),
            Some(b'S') if before.ends_with(b"KEYS") => keys = Some((at - 4, at + 1)),
            _ => {}
        }
    }
    let found = Named {
        unique: value(text, unique?)?,
        tags: tags.map_or(Some(None), |place| value(text, place).map(Some))?,
        keys: keys.map_or(Some(None), |place| value(text, place).map(Some))?,
    };
    let plain = |byte: &u8| matches!(byte, 0x20..=0x7e) && !matches!(byte, b'"' | b'\\');
    found.unique.iter().all(plain).then_some(found)
}

fn value(text: &[u8], (name, start): (usize, usize)) -> Option<&[u8]> {
    if name > 0 && text[name - 1] != PAIR_END {
        return None;
    }
    let rest = &text[start..];
    let found = &rest[..memchr(PAIR_END, rest).unwrap_or(rest.len())];
    (!found.is_empty()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_pair_counts() {
        let found = named(b"UNIQ_KEY\x01A\x02TAGS\x01t\x02KEYS\x01k l\x02UNIQ_KEY\x01B C").unwrap();
        assert_eq!(
            (found.unique, found.tags, found.keys),
            (&b"B C"[..], Some(&b"t"[..]), Some(&b"k l"[..]))
        );
        assert_eq!(named(b"UNIQ_KEY\x01A\x02").unwrap().tags, None);
        assert_eq!(named(b"a\x01KEYS\x02UNIQ_KEY\x01A\x02").unwrap().keys, None);
    }

    #[test]
    fn odd_pairs_are_left() {
        for odd in [
            "",
            "TAGS\x01t\x02",
            "UNIQ_KEY\x01\x02",
            "UNIQ_KEY\x01",
            "UNIQ_KEY\x01A\x02UNIQ_KEY\x01\x02",
            "UNIQ_KEY\x01A\x02xUNIQ_KEY\x01B\x02",
            "UNIQ_KEY\x01A\x02MYTAGS\x01B\x02",
            "UNIQ_KEY\x01A\x02TAGS\x01\x02",
            "UNIQ_KEY\x01A\x02v\x01KEYS\x01\x02",
            "UNIQ_KEY\x01\u{e9}\x02",
            "UNIQ_KEY\x01\"\x02",
            "UNIQ_KEY\x01\\\x02",
            "UNIQ_KEY\x01a\x01\x02",
            "UNIQ_KEY\x01\x7f\x02",
        ] {
            assert_eq!(named(odd.as_bytes()), None, "{odd:?}");
        }
    }
}
