//! Writes messages of protobuf, field by field, as the classes made of their descriptors do.

const VARINT: u32 = 0;
const BYTES: u32 = 2;
const CONTINUES: u8 = 0x80;

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

#[cfg(test)]
mod tests {
    use super::*;

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
