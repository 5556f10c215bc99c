//! What is looked for in the properties of a message (name 0x01 value 0x02, repeated) without splitting them.

use memchr::{memchr, memchr_iter};

use crate::text::java_hash;

pub const NAME_END: u8 = 1;
pub const PAIR_END: u8 = 2;
/// `PROPERTIES_BYTES_MAX` of mqframe/core/messages/properties.py.
pub const BYTES_MAX: usize = 32767;
/// The most properties of a message all of whose pairs are looked at.
pub const PAIRS_MAX: usize = 32;

/// Values that dispatch and answers need. `unique`: the unique key.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub struct Named<'a> {
    pub unique: Option<&'a [u8]>,
    pub tags: Option<&'a [u8]>,
    pub keys: Option<&'a [u8]>,
}

impl<'a> Named<'a> {
    /// What counts where `others` stand behind these: the last of each name.
    pub fn before(self, others: Named<'a>) -> Self {
        Self {
            unique: others.unique.or(self.unique),
            tags: others.tags.or(self.tags),
            keys: others.keys.or(self.keys),
        }
    }

    /// Whether the unique key, if there is one, goes into the JSON of an answer as it is.
    pub fn is_plain(&self) -> bool {
        let plain = |byte: &u8| matches!(byte, 0x20..=0x7e) && !matches!(byte, b'"' | b'\\');
        self.unique.is_none_or(|key| key.iter().all(plain))
    }

    /// What queue entries say of the tag, its Java hash; 0 without one, `None` where it is no text.
    pub fn tags_code(&self) -> Option<i64> {
        java_hash(self.tags.unwrap_or_default(), 0).map(|hash| i64::from(hash as i32))
    }

    /// Words of KEYS.
    pub fn words(&self) -> impl Iterator<Item = &'a [u8]> {
        let words = self.keys.unwrap_or_default().split(|byte| *byte == b' ');
        words.filter(|word| !word.is_empty())
    }
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
    let regular = |place: Option<_>| place.map_or(Some(None), |place| value(text, place).map(Some));
    Some(Named {
        unique: regular(unique)?,
        tags: regular(tags)?,
        keys: regular(keys)?,
    })
}

/// What ends the last pair of `text` where another one is put behind it.
pub fn mark_behind(text: &[u8]) -> &'static [u8] {
    match text.last() {
        None | Some(&PAIR_END) => b"",
        _ => &[PAIR_END],
    }
}

/// Whether every pair in `text` has a name and a value, no name comes twice, and `takes` takes each, told where
/// its pair begins. Not where there are too many.
pub fn is_regular(text: &[u8], takes: impl Fn(usize, &[u8]) -> bool) -> bool {
    let mut names: [&[u8]; PAIRS_MAX] = [b""; PAIRS_MAX];
    let (mut count, mut at) = (0, 0);
    let text = text.strip_suffix(&[PAIR_END]).unwrap_or(text);
    for piece in text.split(|byte| *byte == PAIR_END) {
        let name = &piece[..memchr(NAME_END, piece).unwrap_or_default()];
        let is_new = !name.is_empty() && count < PAIRS_MAX && !names[..count].contains(&name);
        if !is_new || piece.len() == name.len() + 1 || !takes(at, name) {
            return false;
        }
        names[count] = name;
        count += 1;
        at += piece.len() + 1;
    }
    true
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
            (Some(&b"B C"[..]), Some(&b"t"[..]), Some(&b"k l"[..]))
        );
        assert_eq!(named(b"UNIQ_KEY\x01A\x02").unwrap().tags, None);
        assert_eq!(named(b"a\x01KEYS\x02UNIQ_KEY\x01A\x02").unwrap().keys, None);
        assert_eq!(named(b"").unwrap(), named(b"a\x01b\x02").unwrap());
    }

    #[test]
    fn of_two_texts_the_last_pair_counts() {
        let first = named(b"UNIQ_KEY\x01A\x02TAGS\x01t").unwrap();
        let both = first.before(named(b"TAGS\x01u\x02KEYS\x01 k  l ").unwrap());
        assert_eq!((both.unique, both.tags), (Some(&b"A"[..]), Some(&b"u"[..])));
        assert_eq!(both.words().collect::<Vec<_>>(), [b"k", b"l"]);
        assert_eq!(first.words().count(), 0);
    }

    #[test]
    fn plain_keys_need_no_escapes() {
        for (text, plain) in [
            ("a\x01b", true),
            ("UNIQ_KEY\x01A b\x02", true),
            ("UNIQ_KEY\x01\u{e9}\x02", false),
            ("UNIQ_KEY\x01\"\x02", false),
            ("UNIQ_KEY\x01\\\x02", false),
            ("UNIQ_KEY\x01a\x01\x02", false),
            ("UNIQ_KEY\x01\x7f\x02", false),
        ] {
            assert_eq!(named(text.as_bytes()).unwrap().is_plain(), plain, "{text:?}");
        }
    }

    #[test]
    fn odd_pairs_are_left() {
        for odd in [
            "UNIQ_KEY\x01\x02",
            "UNIQ_KEY\x01",
            "UNIQ_KEY\x01A\x02UNIQ_KEY\x01\x02",
            "UNIQ_KEY\x01A\x02xUNIQ_KEY\x01B\x02",
            "UNIQ_KEY\x01A\x02MYTAGS\x01B\x02",
            "UNIQ_KEY\x01A\x02TAGS\x01\x02",
            "UNIQ_KEY\x01A\x02v\x01KEYS\x01\x02",
        ] {
            assert_eq!(named(odd.as_bytes()), None, "{odd:?}");
        }
    }
}
