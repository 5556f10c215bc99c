//! Entries of queues (`>qiq`: log offset, record size, tags code), and the numbers of which records consist, too.

pub const ENTRY_BYTES: usize = 20;

/// One entry of a queue.
pub struct Entry {
    pub physical: i64,
    pub size: i32,
    pub code: i64,
}

/// The entries of `raw`; a last part that is no whole one is left out.
pub fn entries(raw: &[u8]) -> impl Iterator<Item = Entry> + '_ {
    raw.chunks_exact(ENTRY_BYTES).map(|entry| Entry {
        physical: long(entry, 0),
        size: int(entry, 8),
        code: long(entry, 12),
    })
}

/// The four bytes from `at` on. Panics where they are not there.
pub fn int(bytes: &[u8], at: usize) -> i32 {
    i32::from_be_bytes(std::array::from_fn(|byte| bytes[at + byte]))
}

/// The eight bytes from `at` on. Panics where they are not there.
pub fn long(bytes: &[u8], at: usize) -> i64 {
    i64::from_be_bytes(std::array::from_fn(|byte| bytes[at + byte]))
}
