//! Binary headers (`_decode_binary` in mqframe/core/wire/frame.py; source: RocketMQSerializable.java):
//!
//!     2 B code | 1 B language | 2 B version | 4 B opaque | 4 B flag | 4 B remark length | remark
//!     4 B length of the fields | for each: 2 B length, name, 4 B length, value

use crate::header::{Field, Head, FIELDS_MAX};

const FIXED_BYTES: usize = 21;

/// The header's numbers; its fields go into `fields`. `None` unless it is ordinary: it has fields and no
/// remark, and ends with its last field.
pub fn read<'a>(header: &'a [u8], fields: &mut Vec<Field<'a>>) -> Option<Head> {
    let (fixed, mut rest) = header.split_first_chunk::<FIXED_BYTES>()?;
    let int = |at: usize| i32::from_be_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
    if int(13) != 0 || usize::try_from(int(17)) != Ok(rest.len()) {
        return None;
    }
    while !rest.is_empty() {
        let (size, behind) = rest.split_first_chunk::<2>()?;
        let (name, behind) = text(behind, i32::from(i16::from_be_bytes(*size)))?;
        let (size, behind) = behind.split_first_chunk::<4>()?;
        let (value, behind) = text(behind, i32::from_be_bytes(*size))?;
        if fields.len() == FIELDS_MAX {
            return None;
        }
        fields.push(Field {
            name,
            value,
            escaped: false,
        });
        rest = behind;
    }
    Some(Head {
        code: i32::from(i16::from_be_bytes([fixed[0], fixed[1]])),
        opaque: int(5),
        flag: int(9),
    })
}

/// The first `size` bytes and the rest. Each piece has to be text by itself: lengths may cut a character.
fn text(from: &[u8], size: i32) -> Option<(&[u8], &[u8])> {
    let (piece, rest) = from.split_at_checked(usize::try_from(size).ok()?)?;
    std::str::from_utf8(piece).ok()?;
    Some((piece, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(remark: i32, fields: &[u8], more: i32) -> Vec<u8> {
        let mut out = vec![0x01, 0x36, 0, 0x01, 0xdf];
        for value in [-7, 2, remark, fields.len() as i32 + more] {
            out.extend_from_slice(&value.to_be_bytes());
        }
        out.extend_from_slice(fields);
        out
    }

    #[test]
    fn an_ordinary_header_is_read() {
        let mut fields = Vec::new();
        let raw = header(0, b"\0\x01a\0\0\0\x02xy\0\x01b\0\0\0\0", 0);
        let found = read(&raw, &mut fields).unwrap();
        assert_eq!((found.code, found.opaque, found.flag), (310, -7, 2));
        let named: Vec<_> = fields.iter().map(|field| (field.name, field.value)).collect();
        assert_eq!(named, [(&b"a"[..], &b"xy"[..]), (b"b", b"")]);
    }

    #[test]
    fn odd_headers_are_left() {
        let good = b"\0\x01a\0\0\0\x02xy";
        assert!(read(&header(0, good, 0), &mut Vec::new()).is_some());
        for odd in [
            header(1, good, 0),
            header(-1, good, 0),
            header(0, good, 1),
            header(0, good, -1),
            header(0, &good[..8], 0),
            header(0, b"\0\x01a\0\0\0\x03xy", 0),
            header(0, b"\0\x01a\xff\xff\xff\xff", 0),
            header(0, b"\xff\xffa\0\0\0\0", 0),
            header(0, b"\0\x01a\0\0\0\x01\xc3", 0),
            header(0, b"\0\x01\xc3\0\0\0\0", 0),
            header(0, good, 0)[..20].to_vec(),
        ] {
            assert_eq!(read(&odd, &mut Vec::new()), None, "{odd:?}");
        }
    }
}
