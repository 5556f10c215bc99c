//! `mqframe_speedups._native`: ordinary sends and pulls of a broker, and records that a start reads,
//! laid out natively.
//!
//! Python is the reference: whatever is in any way unusual is left to it. So nothing here refuses, repairs or
//! guesses; a frame is either laid out as Python would have done it, byte for byte, or not touched.

mod acks;
mod answer;
mod batch;
mod binary;
mod commits;
mod diverted;
mod elements;
mod entry;
mod fields;
mod gathered;
mod gatherer;
mod given;
mod hasher;
mod header;
mod in_flight;
mod inbox;
mod index;
mod json;
mod keys;
mod laid;
mod layout;
mod log_runs;
mod loop_promise;
mod many;
mod md5;
mod messages;
mod outcome;
mod plain_message;
mod promise;
mod properties;
mod protobuf;
mod pulls;
mod received;
mod record;
mod record_crc;
mod send;
mod sent;
mod signers;
mod single;
mod text;
mod thread_promise;
mod topics;
mod unique_ids;
mod verdicts;
mod window;
mod words;

use pyo3::prelude::*;

/// What Python asks for: it changes with every change of what is called here.
const INTERFACE: u32 = 9;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("INTERFACE", INTERFACE)?;
    module.add_class::<keys::Keys>()?;
    module.add_class::<layout::SendLayout>()?;
    module.add_class::<laid::Laid>()?;
    module.add_class::<index::NewEntries>()?;
    module.add_class::<fields::FieldReader>()?;
    module.add_class::<verdicts::RecordVerdicts>()?;
    module.add_class::<pulls::PullReader>()?;
    module.add_class::<given::PullAnswers>()?;
    module.add_class::<messages::RecordMessage>()?;
    module.add_class::<received::ReceivedTranslator>()?;
    module.add_class::<sent::SentReader>()?;
    module.add_class::<acks::AckReader>()?;
    module.add_class::<signers::Signers>()?;
    module.add_class::<in_flight::InFlight>()?;
    module.add_class::<inbox::Inbox>()?;
    module.add_class::<gathered::Gathered>()?;
    module.add_class::<gathered::GatheredMessages>()?;
    module.add_class::<gatherer::Gatherer>()?;
    module.add_class::<loop_promise::LoopPromise>()?;
    module.add_class::<thread_promise::ThreadPromise>()?;
    module.add_function(wrap_pyfunction!(elements::encode_elements, module)?)?;
    module.add_function(wrap_pyfunction!(unique_ids::spell_ids, module)?)?;
    module.add_function(wrap_pyfunction!(messages::read_messages, module)?)?;
    module.add_function(wrap_pyfunction!(many::offsets_of, module)?)?;
    module.add_function(wrap_pyfunction!(many::store_bytes_of, module)?)?;
    module.add_function(wrap_pyfunction!(many::any_may_have, module)?)?;
    module.add_function(wrap_pyfunction!(many::rise_in, module)?)?;
    module.add_function(wrap_pyfunction!(many::guard, module)?)?;
    module.add_function(wrap_pyfunction!(commits::lay_commit, module)?)?;
    module.add_function(wrap_pyfunction!(log_runs::describe_log, module)?)
}
