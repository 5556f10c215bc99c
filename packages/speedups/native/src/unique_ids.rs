//! Unique keys of many messages (`spell_ids` in mqframe/core/messages/ids.py).

use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

/// The digits of a number in a unique key.
const DIGITS: usize = 4;

/// Unique keys that begin with `head` and end with the low 16 bits of each of `numbers`.
#[pyfunction]
pub fn spell_ids<'py>(head: &str, numbers: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
    let py = numbers.py();
    let made = PyList::empty(py);
    let mut text = String::with_capacity(head.len() + DIGITS);
    text.push_str(head);
    for number in numbers.try_iter()? {
        text.truncate(head.len());
        put_digits(&mut text, number?.extract::<u64>()?);
        made.append(PyString::new(py, &text))?;
    }
    Ok(made)
}

fn put_digits(text: &mut String, number: u64) {
    for place in (0..DIGITS).rev() {
        let digit = (number >> (4 * place)) as usize & 15;
        text.push(b"0123456789ABCDEF"[digit] as char);
    }
}

#[cfg(test)]
mod tests {
    use super::put_digits;

    #[test]
    fn the_low_bits_are_spelled_in_four_digits() {
        let spelled = |number| {
            let mut text = String::from("A");
            put_digits(&mut text, number);
            text
        };
        assert_eq!(spelled(0), "A0000");
        assert_eq!(spelled(0xBEEF), "ABEEF");
        assert_eq!(spelled(0x1_0003_00FF), "A00FF");
    }
}
