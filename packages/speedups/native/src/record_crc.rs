//! The CRC over a whole record, kept as its last property (mqframe/core/storage/property_crc.py).

use crate::properties::PAIR_END;

/// Stands in a record until the CRC is known.
pub const ROOM: &[u8; ROOM_BYTES] = b"__CRC32#\x010000000000\x02";
const ROOM_BYTES: usize = 20;
const NAME_BYTES: usize = 9;

/// The CRC-32 of `bytes` without its top bit, as records keep it.
pub fn crc_of(bytes: &[u8]) -> i32 {
    (crc32fast::hash(bytes) & 0x7FFF_FFFF) as i32
}

/// Puts the CRC of `record`, which ends with `ROOM`, there.
pub fn fill_in(record: &mut [u8]) {
    let (guarded, room) = record.split_at_mut(record.len() - ROOM_BYTES);
    room[NAME_BYTES..ROOM_BYTES - 1].copy_from_slice(&digits(crc_of(guarded)));
}

/// Whether a record, whose size is that of a head at least, agrees with the CRC that it ends with, if it does.
pub fn agrees(record: &[u8]) -> bool {
    let (guarded, last) = record.split_at(record.len() - ROOM_BYTES);
    let (name, rest) = last.split_at(NAME_BYTES);
    let found = &rest[..rest.len() - 1];
    let is_named = name == &ROOM[..NAME_BYTES];
    if !is_named && !found.iter().all(u8::is_ascii_digit) {
        return true;
    }
    let is_crc = found == digits(crc_of(guarded));
    // Where all is right but the name, that was damaged.
    is_named == (is_crc && rest.ends_with(&[PAIR_END]))
}

/// Ten decimal digits, the least significant first.
fn digits(mut crc: i32) -> [u8; 10] {
    std::array::from_fn(|_| {
        let digit = b'0' + (crc % 10) as u8;
        crc /= 10;
        digit
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guarded(contents: &[u8]) -> Vec<u8> {
        let mut record = [contents, ROOM].concat();
        fill_in(&mut record);
        record
    }

    #[test]
    fn the_least_significant_digit_is_the_first() {
        assert_eq!(&digits(1_234_567_890), b"0987654321");
        assert_eq!(&digits(7), b"7000000000");
        assert_eq!(&digits(i32::MAX), b"7463847412");
        // The CRC of nine digits that is given everywhere, 0xCBF43926, without its top bit.
        assert_eq!(crc_of(b"123456789"), 0x4BF4_3926);
        assert_eq!(
            guarded(b"123456789"),
            b"123456789__CRC32#\x014166924721\x02".as_slice()
        );
    }

    #[test]
    fn every_bit_of_a_record_counts() {
        let record = guarded(b"head, body and properties");
        assert!(agrees(&record));
        for at in 0..record.len() {
            for bit in 0..8 {
                let mut damaged = record.clone();
                damaged[at] ^= 1 << bit;
                assert!(!agrees(&damaged), "{at} {bit}");
            }
        }
    }

    #[test]
    fn others_have_none() {
        assert!(agrees(b"properties of a record\x02"));
        assert!(agrees(b"one that ends with digits9999999999\x02"));
        assert!(!agrees(b"name and digits__CRC32#\x019999999999\x02"));
    }
}
