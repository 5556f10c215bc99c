//! MD5 (RFC 1321), by which clients of RocketMQ's gRPC protocol see whether a body arrived whole. It guards nothing.

const BLOCK_BYTES: usize = 64;
const SHIFTS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

/// The integer part of 2^32 times the sine of 1, 2, …, 64.
const SINES: [u32; 64] = [
    0xd76a_a478,
    0xe8c7_b756,
    0x2420_70db,
    0xc1bd_ceee,
    0xf57c_0faf,
    0x4787_c62a,
    0xa830_4613,
    0xfd46_9501,
    0x6980_98d8,
    0x8b44_f7af,
    0xffff_5bb1,
    0x895c_d7be,
    0x6b90_1122,
    0xfd98_7193,
    0xa679_438e,
    0x49b4_0821,
    0xf61e_2562,
    0xc040_b340,
    0x265e_5a51,
    0xe9b6_c7aa,
    0xd62f_105d,
    0x0244_1453,
    0xd8a1_e681,
    0xe7d3_fbc8,
    0x21e1_cde6,
    0xc337_07d6,
    0xf4d5_0d87,
    0x455a_14ed,
    0xa9e3_e905,
    0xfcef_a3f8,
    0x676f_02d9,
    0x8d2a_4c8a,
    0xfffa_3942,
    0x8771_f681,
    0x6d9d_6122,
    0xfde5_380c,
    0xa4be_ea44,
    0x4bde_cfa9,
    0xf6bb_4b60,
    0xbebf_bc70,
    0x289b_7ec6,
    0xeaa1_27fa,
    0xd4ef_3085,
    0x0488_1d05,
    0xd9d4_d039,
    0xe6db_99e5,
    0x1fa2_7cf8,
    0xc4ac_5665,
    0xf429_2244,
    0x432a_ff97,
    0xab94_23a7,
    0xfc93_a039,
    0x655b_59c3,
    0x8f0c_cc92,
    0xffef_f47d,
    0x8584_5dd1,
    0x6fa8_7e4f,
    0xfe2c_e6e0,
    0xa301_4314,
    0x4e08_11a1,
    0xf753_7e82,
    0xbd3a_f235,
    0x2ad7_d2bb,
    0xeb86_d391,
];

/// The digest of `data`, in hexadecimal digits, upper case.
pub fn md5_text(data: &[u8]) -> [u8; 32] {
    let mut state: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    let blocks = data.chunks_exact(BLOCK_BYTES);
    let rest = blocks.remainder();
    for block in blocks {
        mix(&mut state, block);
    }
    let mut last = [[0_u8; BLOCK_BYTES]; 2];
    last[0][..rest.len()].copy_from_slice(rest);
    last[0][rest.len()] = 0x80;
    let both = rest.len() >= BLOCK_BYTES - 8;
    let bits = (data.len() as u64).wrapping_mul(8).to_le_bytes();
    last[usize::from(both)][BLOCK_BYTES - 8..].copy_from_slice(&bits);
    for block in &last[..=usize::from(both)] {
        mix(&mut state, block);
    }
    let mut text = [0; 32];
    for (at, byte) in state.iter().flat_map(|word| word.to_le_bytes()).enumerate() {
        text[2 * at] = b"0123456789ABCDEF"[usize::from(byte >> 4)];
        text[2 * at + 1] = b"0123456789ABCDEF"[usize::from(byte & 15)];
    }
    text
}

fn mix(state: &mut [u32; 4], block: &[u8]) {
    let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| block[4 * at + byte]));
    let words: [u32; 16] = std::array::from_fn(word);
    let [mut a, mut b, mut c, mut d] = *state;
    for step in 0..64 {
        let (mixed, word) = match step / 16 {
            0 => ((b & c) | (!b & d), step),
            1 => ((d & b) | (!d & c), (5 * step + 1) % 16),
            2 => (b ^ c ^ d, (3 * step + 5) % 16),
            _ => (c ^ (b | !d), 7 * step % 16),
        };
        let sum = a
            .wrapping_add(mixed)
            .wrapping_add(SINES[step])
            .wrapping_add(words[word]);
        let turned = b.wrapping_add(sum.rotate_left(SHIFTS[step / 16][step % 4]));
        (a, d, c, b) = (d, c, b, turned);
    }
    for (part, more) in state.iter_mut().zip([a, b, c, d]) {
        *part = part.wrapping_add(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digests_of_the_rfc() {
        for (data, text) in [
            ("", "D41D8CD98F00B204E9800998ECF8427E"),
            ("a", "0CC175B9C0F1B6A831C399E269772661"),
            ("abc", "900150983CD24FB0D6963F7D28E17F72"),
            ("message digest", "F96B697D7CB7938D525A2F31AAF161D0"),
            ("abcdefghijklmnopqrstuvwxyz", "C3FCD3D76192E4007DFB496CCA67E13B"),
            (
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
                "D174AB98D277D9F5A5611C2C9F419D9F",
            ),
            (
                "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
                "57EDF4A22BE3C955AC49DA2E2107B67A",
            ),
        ] {
            assert_eq!(std::str::from_utf8(&md5_text(data.as_bytes())).unwrap(), text);
        }
    }
}
