//! The body of a batch request (`encode_elements` in mqframe/core/sending/encoding.py).

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple, PyType};

use crate::properties::{BYTES_MAX, NAME_END, PAIR_END};

/// Of an element, besides its body and the text of its properties.
pub const OVERHEAD_BYTES: usize = 22;

/// The body of a batch request with `messages`, of the class `usual`, and their unique keys; `None` where Python has
/// to look.
#[pyfunction]
pub fn encode_elements<'py>(
    messages: &Bound<'py, PyAny>,
    unique_ids: &Bound<'py, PyList>,
    usual: &Bound<'py, PyType>,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let py = messages.py();
    let mut out = Vec::new();
    let mut text = Vec::new();
    let mut count = 0;
    for (message, unique_id) in messages.try_iter()?.zip(unique_ids.iter()) {
        let message = message?;
        if !message.get_type().is(usual) || !put_properties(&mut text, &message, &unique_id) {
            return Ok(None);
        }
        let body = message.getattr(intern!(py, "body"))?;
        let (Ok(body), Ok(flag)) = (
            body.cast_exact::<PyBytes>(),
            message.getattr(intern!(py, "flag"))?.extract::<i32>(),
        ) else {
            return Ok(None);
        };
        if put_element(&mut out, flag, body.as_bytes(), &[&text]).is_none() {
            return Ok(None);
        }
        count += 1;
    }
    let whole = messages.len()? == count && unique_ids.len() == count;
    Ok(whole.then(|| PyBytes::new(py, &out)))
}

/// Puts an element at the end of `out`; `texts`: of its properties, one behind the other. `None` where it is too long.
pub fn put_element(out: &mut Vec<u8>, flag: i32, body: &[u8], texts: &[&[u8]]) -> Option<()> {
    let text_bytes = texts.iter().map(|text| text.len()).sum::<usize>();
    if text_bytes > BYTES_MAX {
        return None;
    }
    let size = i32::try_from(OVERHEAD_BYTES + body.len() + text_bytes).ok()?;
    out.extend_from_slice(&size.to_be_bytes());
    out.extend_from_slice(&[0; 8]);
    out.extend_from_slice(&flag.to_be_bytes());
    out.extend_from_slice(&(body.len() as i32).to_be_bytes());
    out.extend_from_slice(body);
    out.extend_from_slice(&(text_bytes as u16).to_be_bytes());
    for text in texts {
        out.extend_from_slice(text);
    }
    Some(())
}

/// The words of the keys of a message.
pub fn words_of<'py>(keys: &Bound<'py, PyAny>) -> Option<Vec<Bound<'py, PyAny>>> {
    if let Ok(words) = keys.cast_exact::<PyTuple>() {
        return Some(words.iter().collect());
    }
    Some(keys.cast_exact::<PyList>().ok()?.iter().collect())
}

/// Has `out` be the text of the properties; whether they are such as they should be.
fn put_properties(out: &mut Vec<u8>, message: &Bound<'_, PyAny>, unique_id: &Bound<'_, PyAny>) -> bool {
    let py = message.py();
    out.clear();
    put_pair(out, b"UNIQ_KEY", unique_id)
        && !out.is_empty()
        && message
            .getattr(intern!(py, "tag"))
            .is_ok_and(|tag| tag.is_none() || put_pair(out, b"TAGS", &tag))
        && message
            .getattr(intern!(py, "keys"))
            .is_ok_and(|keys| put_keys(out, &keys))
        && message
            .getattr(intern!(py, "properties"))
            .is_ok_and(|own| put_own(out, &own))
}

/// What is exactly a string of Python, without halves of surrogates.
fn text_of<'a>(value: &'a Bound<'_, PyAny>) -> Option<&'a str> {
    value.cast_exact::<PyString>().ok()?.to_str().ok()
}

/// Puts a pair behind others, unless its value is empty. Whether that is text.
fn put_pair(out: &mut Vec<u8>, name: &[u8], value: &Bound<'_, PyAny>) -> bool {
    let Some(value) = text_of(value) else {
        return false;
    };
    if !value.is_empty() {
        out.extend_from_slice(name);
        out.push(NAME_END);
        out.extend_from_slice(value.as_bytes());
        out.push(PAIR_END);
    }
    true
}

fn put_keys(out: &mut Vec<u8>, keys: &Bound<'_, PyAny>) -> bool {
    let Some(words) = words_of(keys) else {
        return false;
    };
    for (number, word) in words.iter().enumerate() {
        let Some(word) = text_of(word) else {
            return false;
        };
        out.extend_from_slice(if number == 0 { b"KEYS\x01" } else { b" " });
        out.extend_from_slice(word.as_bytes());
    }
    if !words.is_empty() {
        out.push(PAIR_END);
    }
    true
}

fn put_own(out: &mut Vec<u8>, own: &Bound<'_, PyAny>) -> bool {
    let Ok(own) = own.cast_exact::<PyDict>() else {
        return false;
    };
    own.iter().all(|(name, value)| match text_of(&name) {
        Some("") => value.is_exact_instance_of::<PyString>(),
        Some(name) => put_pair(out, name.as_bytes(), &value),
        None => false,
    })
}
