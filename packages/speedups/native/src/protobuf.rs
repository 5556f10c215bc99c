//! Writes and reads messages of protobuf, field by field, as the classes made of their descriptors do.

const VARINT: u32 = 0;
const BYTES: u32 = 2;
const CONTINUES: u8 = 0x80;
const VARINT_BYTES_MAX: usize = 10;

/// What a field holds: fields of other kinds are left to Python.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The number of a field, and what it holds.
type Field<'a> = (u64, Value<'a>);

/// The fields of one message, in their order.
pub struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub fn of(raw: &'a [u8]) -> Self {
        Self { rest: raw }
    }

    /// The next field, `Some(None)` behind the last one; `None` for anything that is not written so.
    pub fn next_field(&mut self) -> Option<Option<Field<'a>>> {
        if self.rest.is_empty() {
            return Some(None);
        }
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => Value::Number(self.varint()?),
            2 => {
                let size = usize::try_from(self.varint()?).ok()?;
                let (value, rest) = self.rest.split_at_checked(size)?;
                self.rest = rest;
                Value::Bytes(value)
            }
            _ => return None,
        };
        (1..1 << 29)
            .contains(&(tag >> 3))
            .then_some(Some((tag >> 3, value)))
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for at in 0..VARINT_BYTES_MAX - 1 {
            let byte = *self.rest.get(at)?;
            value |= u64::from(byte & !CONTINUES) << (7 * at);
            if byte < CONTINUES {
                self.rest = &self.rest[at + 1..];
                return Some(value);
            }
        }
        None // negative, or too long
    }
}

/// A number of which `value` is 64 bits, a negative one in ten bytes.
fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= u64::from(CONTINUES) {
        out.push(value as u8 | CONTINUES);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A number that is written whatever it is, as fields are that may be absent.
pub fn put_number(out: &mut Vec<u8>, field: u32, value: i64) {
    put_varint(out, u64::from(field << 3 | VARINT));
    put_varint(out, value as u64);
}

/// A number of a field that is 0 where it is absent.
pub fn put_nonzero(out: &mut Vec<u8>, field: u32, value: i64) {
    if value != 0 {
        put_number(out, field, value);
    }
}

/// Bytes, text, or a message in bytes, be it empty.
pub fn put_bytes(out: &mut Vec<u8>, field: u32, value: &[u8]) {
    put_varint(out, u64::from(field << 3 | BYTES));
    put_varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

/// Bytes or text of a field that is empty where it is absent.
pub fn put_filled(out: &mut Vec<u8>, field: u32, value: &[u8]) {
    if !value.is_empty() {
        put_bytes(out, field, value);
    }
}

/// Sets what a message has once; a second one would have to be merged with it.
pub fn once<T>(place: &mut Option<T>, value: T) -> Option<()> {
    place.replace(value).is_none().then_some(())
}

/// A field of text, which protobuf takes for one.
pub fn text(raw: &[u8]) -> Option<&str> {
    std::str::from_utf8(raw).ok()
}

/// The two texts of a message that has both, in this order, and nothing else.
pub fn pair(raw: &[u8]) -> Option<(&str, &str)> {
    let mut fields = Fields::of(raw);
    let (Some((1, Value::Bytes(first))), Some((2, Value::Bytes(second))), None) =
        (fields.next_field()?, fields.next_field()?, fields.next_field()?)
    else {
        return None;
    };
    Some((text(first)?, text(second)?))
}

/// The name in a `Resource` of RocketMQ. Its namespace is not looked at.
pub fn resource(raw: &[u8]) -> Option<&str> {
    let mut name = None;
    let mut fields = Fields::of(raw);
    while let Some((number, value)) = fields.next_field()? {
        match (number, value) {
            (1, Value::Bytes(value)) => drop(text(value)?),
            (2, Value::Bytes(value)) => name = Some(text(value)?),
            _ => return None,
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut out = Vec::new();
        put_number(&mut out, 3, 300);
        put_bytes(&mut out, 16, b"ab");
        let mut fields = Fields::of(&out);
        assert_eq!(fields.next_field(), Some(Some((3, Value::Number(300)))));
        assert_eq!(fields.next_field(), Some(Some((16, Value::Bytes(b"ab")))));
        assert_eq!(fields.next_field(), Some(None));
    }

    #[test]
    fn names_are_those_of_resources() {
        assert_eq!(resource(b"\x0a\x02ns\x12\x01t"), Some("t"));
        assert_eq!(resource(b"\x12\x01t\x12\x01u"), Some("u"));
        for raw in [&b""[..], b"\x0a\x02ns", b"\x12\x01\xff", b"\x1a\x01t"] {
            assert_eq!(resource(raw), None, "{raw:?}");
        }
    }

    #[test]
    fn a_second_one_is_not_taken() {
        let mut place = None;
        assert_eq!((once(&mut place, 1), once(&mut place, 2)), (Some(()), None));
    }

    #[test]
    fn other_bytes_are_left() {
        let long = [0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1];
        for raw in [
            &[0x08][..],
            &[0x0a, 2, 1],
            &[0x0d, 1, 2, 3, 4],
            &[0x02, 0],
            &[0x80],
            &long,
        ] {
            assert_eq!(Fields::of(raw).next_field(), None, "{raw:?}");
        }
    }

    #[test]
    fn numbers_take_seven_bits_a_byte() {
        for (value, bytes) in [
            (0, &[0x08, 0][..]),
            (1, &[0x08, 1]),
            (127, &[0x08, 0x7f]),
            (128, &[0x08, 0x80, 1]),
            (300, &[0x08, 0xac, 2]),
            (-1, &[0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]),
        ] {
            let mut out = Vec::new();
            put_number(&mut out, 1, value);
            assert_eq!(out, bytes);
        }
    }

    #[test]
    fn what_is_nothing_may_be_left_out() {
        let mut out = Vec::new();
        put_nonzero(&mut out, 1, 0);
        put_filled(&mut out, 2, b"");
        assert_eq!(out, b"");
        put_bytes(&mut out, 2, b"");
        put_filled(&mut out, 16, b"ab");
        assert_eq!(out, [0x12, 0, 0x82, 1, 2, b'a', b'b']);
    }
}
