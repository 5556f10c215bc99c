//! Numbers and hashes of text, exactly as the Python side reads and writes them.

const POWER_2: u32 = 31 * 31;
const POWER_3: u32 = POWER_2 * 31;
const POWER_4: u32 = POWER_3 * 31;

/// The longest number that is read: 18 digits fit an `i64` whatever they are.
const DIGITS_MAX: usize = 18;

/// The number that `text` is, if it is written as Python and Java write numbers.
///
/// Python's `int` and msgspec read more than that (`+1`, ` 1`, `007`, `-0`): those are left to them.
pub fn number(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        _ => (false, text),
    };
    let first = *digits.first()?;
    if digits.len() > DIGITS_MAX || (first == b'0' && (digits.len() > 1 || negative)) {
        return None;
    }
    let mut value = 0_i64;
    for digit in digits {
        let unit = digit.wrapping_sub(b'0');
        if unit > 9 {
            return None;
        }
        value = value * 10 + i64::from(unit);
    }
    Some(if negative { -value } else { value })
}

/// As `number`, within a Java int (`Int` in mqframe/core/requests/fields.py).
pub fn int(text: &[u8]) -> Option<i32> {
    i32::try_from(number(text)?).ok()
}

/// Writes `value` in decimal.
pub fn put_number(out: &mut Vec<u8>, value: i64) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

/// Writes `value` as 16 upper-case hexadecimal digits, as offset ids end.
pub fn put_hex(out: &mut Vec<u8>, value: u64) {
    let mut digits = [0_u8; 16];
    for (at, digit) in digits.iter_mut().enumerate() {
        *digit = b"0123456789ABCDEF"[(value >> (60 - 4 * at)) as usize & 15];
    }
    out.extend_from_slice(&digits);
}

/// `java.lang.String.hashCode` of `text` (valid UTF-8) as unsigned number, continuing from `start`, the hash
/// of a prefix (`unsigned_hash` in mqframe/core/messages/java_hash.py). `None` for bytes that are no text.
pub fn java_hash(text: &[u8], start: u32) -> Option<u32> {
    if !text.is_ascii() {
        let units = std::str::from_utf8(text).ok()?.encode_utf16();
        return Some(units.fold(start, |value, unit| step(value, u32::from(unit))));
    }
    // Four characters at a time: each multiplication waits for the one before.
    let mut value = start;
    let mut chunks = text.chunks_exact(4);
    for four in &mut chunks {
        let own = u32::from(four[0]) * POWER_3
            + u32::from(four[1]) * POWER_2
            + u32::from(four[2]) * 31
            + u32::from(four[3]);
        value = value.wrapping_mul(POWER_4).wrapping_add(own);
    }
    let rest = chunks.remainder().iter();
    Some(rest.fold(value, |value, unit| step(value, u32::from(*unit))))
}

fn step(value: u32, unit: u32) -> u32 {
    value.wrapping_mul(31).wrapping_add(unit)
}

/// The hash that index files use (`KeyHashes.pairs` in mqframe_index/store/key_hashes.py).
pub fn index_hash(java: u32) -> u32 {
    if java >= 0x8000_0000 {
        java.wrapping_neg() & 0x7FFF_FFFF
    } else {
        java
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_only_as_they_are_written() {
        assert_eq!(number(b"0"), Some(0));
        assert_eq!(number(b"-12"), Some(-12));
        assert_eq!(number(b"999999999999999999"), Some(999_999_999_999_999_999));
        for odd in [
            "", "-", "-0", "00", "01", "-01", "+1", " 1", "1 ", "1_0", "1.0", "1e3", "\u{661}",
        ] {
            assert_eq!(number(odd.as_bytes()), None, "{odd}");
        }
        assert_eq!(number(b"1000000000000000000"), None);
    }

    #[test]
    fn ints_end_where_those_of_java_end() {
        assert_eq!(int(b"2147483647"), Some(i32::MAX));
        assert_eq!(int(b"-2147483648"), Some(i32::MIN));
        assert_eq!(int(b"2147483648"), None);
    }

    #[test]
    fn numbers_are_written_in_decimal_and_hexadecimal() {
        let mut out = Vec::new();
        for value in [0, -1, 10, i64::MAX, i64::MIN] {
            put_number(&mut out, value);
            out.push(b' ');
        }
        assert_eq!(out, b"0 -1 10 9223372036854775807 -9223372036854775808 ");
        out.clear();
        put_hex(&mut out, 0x1_234A_BCDE);
        assert_eq!(out, b"00000001234ABCDE");
    }

    #[test]
    fn hashes_are_those_of_java() {
        assert_eq!(java_hash(b"", 7), Some(7));
        assert_eq!(java_hash(b"hello world", 0), Some(1_794_106_052));
        assert_eq!(
            java_hash("\u{e9}\u{1f600}".as_bytes(), 0),
            Some(233 * 961 + 0xD83D * 31 + 0xDE00)
        );
        assert_eq!(java_hash(b"\xff", 0), None);
        assert_eq!(index_hash(0x8000_0000), 0);
        assert_eq!(index_hash(0xFFFF_FFFF), 1);
        assert_eq!(index_hash(5), 5);
    }
}
