//! JSON headers (`_decode_json` in mqframe/core/wire/frame.py), as clients write them: one object without
//! white space, whose fields are strings. Anything else that is JSON is left to Python.

use crate::header::{Field, Head, FIELDS_MAX};
use crate::text::int;

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// The header's numbers; its extFields go into `fields`. `None` unless it is ordinary.
pub fn read<'a>(header: &'a [u8], fields: &mut Vec<Field<'a>>) -> Option<Head> {
    // JSON allows no control characters, and msgspec no bytes that are not UTF-8, anywhere in it.
    if header.iter().fold(u8::MAX, |least, byte| least.min(*byte)) < 0x20 {
        return None;
    }
    std::str::from_utf8(header).ok()?;
    let mut cursor = Cursor { text: header, at: 0 };
    let mut head = Head {
        code: 0,
        opaque: 0,
        flag: 0,
    };
    let mut seen = 0_u8;
    cursor.need(b'{')?;
    loop {
        let name = cursor.plain_string()?;
        cursor.need(b':')?;
        let bit = match name {
            b"code" => {
                head.code = cursor.int()?;
                1
            }
            b"opaque" => {
                head.opaque = cursor.int()?;
                2
            }
            b"flag" => {
                head.flag = cursor.int()?;
                4
            }
            b"version" => {
                cursor.int()?;
                8
            }
            b"language" => {
                cursor.plain_string()?;
                16
            }
            b"serializeTypeCurrentRPC" => {
                cursor.plain_string()?;
                32
            }
            b"remark" => {
                cursor.null()?;
                64
            }
            b"extFields" => {
                cursor.object(fields)?;
                128
            }
            _ => return None,
        };
        if seen & bit != 0 {
            return None;
        }
        seen |= bit;
        if !cursor.more()? {
            break;
        }
    }
    (cursor.at == header.len() && seen & 1 != 0).then_some(head)
}

struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn need(&mut self, wanted: u8) -> Option<()> {
        if *self.text.get(self.at)? != wanted {
            return None;
        }
        self.at += 1;
        Some(())
    }

    /// Whether another member follows; the object ends otherwise.
    fn more(&mut self) -> Option<bool> {
        let found = *self.text.get(self.at)?;
        self.at += 1;
        match found {
            b',' => Some(true),
            b'}' => Some(false),
            _ => None,
        }
    }

    fn null(&mut self) -> Option<()> {
        if !self.text[self.at..].starts_with(b"null") {
            return None;
        }
        self.at += 4;
        Some(())
    }

    fn int(&mut self) -> Option<i32> {
        let rest = &self.text[self.at..];
        let size = rest
            .iter()
            .position(|byte| !byte.is_ascii_digit() && *byte != b'-')?;
        self.at += size;
        int(&rest[..size])
    }

    fn plain_string(&mut self) -> Option<&'a [u8]> {
        let (text, escaped) = self.string()?;
        (!escaped).then_some(text)
    }

    /// The string that begins here, without its quotes, and whether it has escapes.
    fn string(&mut self) -> Option<(&'a [u8], bool)> {
        self.need(b'"')?;
        let start = self.at;
        let mut at = start;
        let mut escaped = false;
        loop {
            at = find(self.text, at, b'"', b'\\')?;
            if self.text[at] == b'"' {
                self.at = at + 1;
                return Some((&self.text[start..at], escaped));
            }
            escaped = true;
            at += 2;
        }
    }

    fn object(&mut self, fields: &mut Vec<Field<'a>>) -> Option<()> {
        self.need(b'{')?;
        loop {
            let name = self.plain_string()?;
            self.need(b':')?;
            let (value, escaped) = self.string()?;
            if fields.len() == FIELDS_MAX {
                return None;
            }
            fields.push(Field { name, value, escaped });
            if !self.more()? {
                return Some(());
            }
        }
    }
}

/// Index of the first `one` or `other` in `text` from `at` on.
///
/// Eight bytes at a time: names, values and what lies between escapes are so short that the start of a search
/// by vectors (memchr) costs more than the search.
fn find(text: &[u8], mut at: usize, one: u8, other: u8) -> Option<usize> {
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & HIGHS; // right up to the first byte that is 0
    let (ones, others) = (ONES * u64::from(one), ONES * u64::from(other));
    while let Some(bytes) = text.get(at..)?.first_chunk::<8>() {
        let word = u64::from_le_bytes(*bytes);
        let found = zeros(word ^ ones) | zeros(word ^ others);
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    let rest = text[at..]
        .iter()
        .position(|byte| *byte == one || *byte == other)?;
    Some(at + rest)
}

/// Writes what the inside of a JSON string stands for. `None` for escapes that are none, and for surrogates,
/// which JSON pairs and Python may keep alone.
pub fn unescape(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    out.reserve(text.len());
    let mut from = 0;
    while let Some(at) = find(text, from, b'\\', b'\\') {
        out.extend_from_slice(&text[from..at]);
        let (kind, rest) = text[at + 1..].split_first()?;
        from = at + 2;
        match kind {
            b'u' => {
                put_character(rest.first_chunk::<4>()?, out)?;
                from += 4;
            }
            b'"' | b'\\' | b'/' => out.push(*kind),
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            _ => return None,
        }
    }
    out.extend_from_slice(&text[from..]);
    Some(())
}

fn put_character(digits: &[u8; 4], out: &mut Vec<u8>) -> Option<()> {
    // What ends names and pairs of properties, which are most of all escapes.
    if let [b'0', b'0', b'0', last @ (b'1' | b'2')] = digits {
        out.push(last - b'0');
        return Some(());
    }
    let mut value = 0;
    for digit in digits {
        value = value << 4 | char::from(*digit).to_digit(16)?;
    }
    let character = char::from_u32(value)?; // none for surrogates
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Option<Head> {
        read(text.as_bytes(), &mut Vec::new())
    }

    #[test]
    fn an_ordinary_header_is_read_whatever_the_order() {
        let mut fields = Vec::new();
        let text = br#"{"extFields":{"a":"g","i":"x\u0001\"y"},"opaque":-5,"flag":2,"remark":null,"language":"JAVA","version":1,"serializeTypeCurrentRPC":"JSON","code":310}"#;
        let found = read(text, &mut fields).unwrap();
        assert_eq!((found.code, found.opaque, found.flag), (310, -5, 2));
        let a = Field {
            name: b"a",
            value: b"g",
            escaped: false,
        };
        let i = Field {
            name: b"i",
            value: br#"x\u0001\"y"#,
            escaped: true,
        };
        assert_eq!(fields, [a, i]);
    }

    #[test]
    fn odd_headers_are_left() {
        assert!(head(r#"{"code":1}"#).is_some());
        for odd in [
            "",
            "{",
            "{}",
            r#"{"code":1"#,
            r#"{"code":1}}"#,
            r#"{"code":1} "#,
            r#"{ "code":1}"#,
            r#"{"code": 1}"#,
            r#"{"code":1.0}"#,
            r#"{"code":01}"#,
            r#"{"code":1-}"#,
            r#"{"code":"1"}"#,
            r#"{"code":1,"code":1}"#,
            r#"{"code":2147483648}"#,
            r#"{"c\u006fde":1}"#,
            r#"{"code":1,"other":1}"#,
            r#"{"code":1,"remark":"x"}"#,
            r#"{"code":1,"extFields":null}"#,
            r#"{"code":1,"extFields":{}}"#,
            r#"{"code":1,"extFields":{"a":1}}"#,
            r#"{"code":1,"extFields":{"a":"1",}}"#,
            r#"{"code":1,"extFields":{"\u0061":"1"}}"#,
            r#"{"code":1,"extFields":{"a":"1\"#,
            r#"{"code":1,"language":"\u0041"}"#,
            r#"{"opaque":1}"#,
            "{\"code\":1,\"language\":\"\n\"}",
        ] {
            assert_eq!(head(odd), None, "{odd}");
        }
        assert_eq!(read(b"{\"code\":1,\"language\":\"\xc3\"}", &mut Vec::new()), None);
    }

    #[test]
    fn bytes_are_found_wherever_they_lie() {
        for before in 0..20 {
            for after in 0..20 {
                let text = [vec![0xA3; before], vec![b'"'], vec![0x23; after]].concat();
                assert_eq!(find(&text, 0, b'"', b'\\'), Some(before));
                assert_eq!(find(&text, before / 2, b'\\', b'"'), Some(before));
                assert_eq!(find(&text, before + 1, b'"', b'\\'), None);
            }
        }
        assert_eq!(find(b"", 1, b'"', b'"'), None);
    }

    #[test]
    fn escapes_stand_for_what_json_says() {
        let mut out = Vec::new();
        unescape(br#"a\u0001\u00e9\u20AC\b\f\n\r\t\"\\\/z"#, &mut out).unwrap();
        assert_eq!(out, "a\u{1}\u{e9}\u{20ac}\u{8}\u{c}\n\r\t\"\\/z".as_bytes());
        for odd in [
            r"\ud83d\ude00",
            r"\udc00",
            r"\x",
            r"\u00g0",
            r"\u+123",
            r"\u12",
            r"\",
        ] {
            assert_eq!(unescape(odd.as_bytes(), &mut out), None, "{odd}");
        }
    }
}
