//! Whether a message is as messages usually are (`check_message` in mqframe/core/messages/checks.py, `element_size` in
//! mqframe/core/sending/encoding.py), and its properties in text form.

use memchr::{memchr, memchr2, memmem};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFrozenSet, PyInt, PyString, PyTuple, PyType};

use crate::elements::{words_of, OVERHEAD_BYTES};
use crate::properties::{BYTES_MAX, NAME_END, PAIR_END};

/// `_PROPERTIES_ABOUT_BYTES` there.
const PROPERTIES_ABOUT_BYTES: usize = 80;

/// What was found. `size`: as `element_size` says.
pub struct Plain {
    pub body: Py<PyBytes>,
    pub body_bytes: usize,
    pub flag: i32,
    pub size: usize,
}

/// What messages are held against. `usual`: their class; `fields`: gives all that one of it has, as a tuple, topic and body
/// first, at a fraction of what asking for each would cost; `reserved`: names that applications may not set; `body_below`:
/// bodies have fewer bytes.
pub struct Rules {
    pub usual: Py<PyType>,
    pub fields: Py<PyAny>,
    pub reserved: Py<PyFrozenSet>,
    pub body_below: usize,
}

/// Puts the properties of `message` behind `text`, and gives its topic with what was found. `None` where Python has to look at
/// it: `text` is then to be cut off again.
pub fn read<'py>(
    message: &Bound<'py, PyAny>,
    text: &mut Vec<u8>,
    rules: &Rules,
) -> Option<(Bound<'py, PyAny>, Plain)> {
    let py = message.py();
    let start = text.len();
    if !message.get_type().is(&rules.usual) {
        return None;
    }
    let fields = rules.fields.bind(py).call1((message,)).ok()?;
    let fields = fields.cast_exact::<PyTuple>().ok()?;
    let field = |place: usize| fields.get_borrowed_item(place).ok();
    let body = field(1)?.cast_exact::<PyBytes>().ok()?.to_owned();
    let body_bytes = body.as_bytes().len();
    if body_bytes == 0 || body_bytes >= rules.body_below {
        return None;
    }
    let tag = field(2)?;
    if !tag.is_none() {
        let tag = plain_text(&tag)?;
        if memmem::find(tag, b"||").is_some() {
            return None;
        }
        if !tag.is_empty() {
            put(text, b"TAGS", tag);
        }
    }
    let has_keys = put_keys(text, &*field(3)?)?;
    let own = field(4)?;
    let own = own.cast_exact::<PyDict>().ok()?;
    let has_own = !own.is_empty();
    if has_own {
        for (name, value) in own.iter() {
            let (said, value) = (plain_text(&name)?, plain_text(&value)?);
            if said.is_empty() || value.is_empty() || rules.reserved.bind(py).contains(&name).ok()? {
                return None;
            }
            put(text, said, value);
        }
    }
    let flag = field(5)?.cast_exact::<PyInt>().ok()?.extract().ok()?;
    if !field(6)?.cast_exact::<PyBool>().is_ok_and(|wait| wait.is_true()) {
        return None;
    }
    let its_text = &text[start..];
    if its_text.len() + PROPERTIES_ABOUT_BYTES > BYTES_MAX {
        return None;
    }
    let mut size = body_bytes + OVERHEAD_BYTES + PROPERTIES_ABOUT_BYTES;
    if has_keys || has_own {
        let characters = its_text.iter().filter(|byte| (**byte as i8) >= -0x40);
        size += 4 * characters.count();
    }
    let plain = Plain {
        body: body.unbind(),
        body_bytes,
        flag,
        size,
    };
    Some((field(0)?.to_owned(), plain))
}

fn put(text: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    text.extend_from_slice(name);
    text.push(NAME_END);
    text.extend_from_slice(value);
    text.push(PAIR_END);
}

/// The bytes of what is exactly a string, without halves of surrogates and what separates properties.
fn plain_text<'a>(value: &'a Bound<'_, PyAny>) -> Option<&'a [u8]> {
    let text = value.cast_exact::<PyString>().ok()?.to_str().ok()?.as_bytes();
    memchr2(NAME_END, PAIR_END, text).is_none().then_some(text)
}

/// Whether there are any.
fn put_keys(text: &mut Vec<u8>, keys: &Bound<'_, PyAny>) -> Option<bool> {
    let words = words_of(keys)?;
    for (number, word) in words.iter().enumerate() {
        let word = plain_text(word)?;
        if word.is_empty() || memchr(b' ', word).is_some() {
            return None;
        }
        text.extend_from_slice(if number == 0 { b"KEYS\x01" } else { b" " });
        text.extend_from_slice(word);
    }
    if !words.is_empty() {
        text.push(PAIR_END);
    }
    Some(!words.is_empty())
}
