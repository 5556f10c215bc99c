//! Headers of requests, as far as they are ordinary. Whatever a parser here does not know is `None`, and left
//! to `decode_header` of mqframe/core/wire/frame.py.

use crate::{binary, json};

/// The most header fields that are looked at: sends have 14 at most, some clients add a few.
pub const FIELDS_MAX: usize = 40;

/// What a header says besides its fields.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub struct Head {
    pub code: i32,
    pub opaque: i32,
    pub flag: i32,
}

/// One header field. `escaped`: the value is written with JSON's escapes.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub struct Field<'a> {
    pub name: &'a [u8],
    pub value: &'a [u8],
    pub escaped: bool,
}

/// One whole frame. `form`: how its header is written; `end`: index behind its last byte.
#[derive(Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    pub form: u8,
    pub header: &'a [u8],
    pub body: &'a [u8],
    pub end: usize,
}

/// Limits of frames, as `FrameDecoder` has them.
pub struct Limits {
    pub frame_bytes: usize,
    pub header_bytes: usize,
}

/// The frame that begins at `start`, if all of it is there and `FrameDecoder.next_frame` would take it.
pub fn whole_frame<'a>(data: &'a [u8], start: usize, limits: &Limits) -> Option<Frame<'a>> {
    let words = data.get(start..)?.first_chunk::<8>()?;
    let length = i32::from_be_bytes([words[0], words[1], words[2], words[3]]);
    let length = usize::try_from(length).ok()?;
    let header_length = u32::from_be_bytes([0, words[5], words[6], words[7]]) as usize;
    if length < 4
        || length + 4 > limits.frame_bytes
        || header_length > length - 4
        || header_length > limits.header_bytes
    {
        return None;
    }
    let end = start.checked_add(length + 4)?;
    let (header, body) = data.get(start + 8..end)?.split_at(header_length);
    Some(Frame {
        form: words[4],
        header,
        body,
        end,
    })
}

/// Reads the header of `frame`; its fields go into `fields`, which is cleared first.
pub fn read<'a>(frame: &Frame<'a>, fields: &mut Vec<Field<'a>>) -> Option<Head> {
    fields.clear();
    match frame.form {
        0 => json::read(frame.header, fields),
        1 => binary::read(frame.header, fields),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        frame_bytes: 40,
        header_bytes: 20,
    };

    fn frame(length: i32, mark: u32, rest: usize) -> Vec<u8> {
        let mut data = length.to_be_bytes().to_vec();
        data.extend_from_slice(&mark.to_be_bytes());
        data.resize(8 + rest, b'x');
        data
    }

    #[test]
    fn a_frame_is_taken_whole() {
        let mut data = frame(9, 0x0100_0002, 5);
        data.insert(0, b'-');
        let found = whole_frame(&data, 1, &LIMITS).unwrap();
        assert_eq!(
            (found.form, found.header.len(), found.body.len(), found.end),
            (1, 2, 3, 14)
        );
        assert_eq!(whole_frame(&data[..13], 1, &LIMITS), None);
    }

    #[test]
    fn lengths_are_checked_as_the_decoder_checks_them() {
        for (length, mark) in [
            (3, 0),
            (-1, 0),
            (37, 0),
            (8, 5),
            (36, 21),
            (i32::MAX, 0),
            (i32::MIN, 0),
        ] {
            assert_eq!(
                whole_frame(&frame(length, mark, 100), 0, &LIMITS),
                None,
                "{length} {mark}"
            );
        }
        assert!(whole_frame(&frame(36, 20, 100), 0, &LIMITS).is_some());
        assert_eq!(whole_frame(b"1234567", 0, &LIMITS), None);
        assert_eq!(whole_frame(b"", 9, &LIMITS), None);
    }
}
