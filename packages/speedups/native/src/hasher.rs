//! A hasher for small numbers: one multiplication. Senders choose index keys, so that every table has its own
//! factor, which they cannot know.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// Makes `NumberHasher`s with one factor.
#[derive(Clone)]
pub struct NumberState(u64);

impl Default for NumberState {
    fn default() -> Self {
        Self(RandomState::new().hash_one(0_u64) | 1)
    }
}

impl BuildHasher for NumberState {
    type Hasher = NumberHasher;

    fn build_hasher(&self) -> NumberHasher {
        NumberHasher {
            factor: self.0,
            value: 0,
        }
    }
}

/// Hashes one number.
pub struct NumberHasher {
    factor: u64,
    value: u64,
}

impl Hasher for NumberHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        // The upper half is the well mixed one: tables take their places from both.
        let product = u128::from(self.value ^ number ^ self.factor.rotate_left(32)) * u128::from(self.factor);
        self.value = (product >> 64) as u64 ^ product as u64;
    }

    fn finish(&self) -> u64 {
        self.value
    }
}
