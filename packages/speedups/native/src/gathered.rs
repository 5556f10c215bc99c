//! Submitted messages that travel together (`Batch` in mqframe/core/sending/accumulator.py, `Items` in
//! mqframe/client/sending/result_futures.py).

use std::sync::Arc;

use pyo3::exceptions::PyIndexError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

use crate::elements::put_element;
use crate::loop_promise::LoopPromise;
use crate::outcome::{Batch, Outcome};
use crate::plain_message::{read, Plain, Rules};
use crate::thread_promise::ThreadPromise;

/// One that was found plain. `text_end`: of its properties in the batch's `texts`.
struct Entry {
    message: Py<PyAny>,
    future: Py<PyAny>,
    plain: Plain,
    text_end: usize,
}

enum Watched {
    Future(Py<PyAny>),
    Promise(Py<LoopPromise>),
}

enum Member {
    Plain(Entry),
    /// Python's `Item`.
    Item(Py<PyAny>),
}

impl Member {
    fn message(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self {
            Self::Plain(entry) => Ok(entry.message.clone_ref(py)),
            Self::Item(item) => item.getattr(py, intern!(py, "message")),
        }
    }

    /// What waits for the result.
    fn future<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Plain(entry) => Ok(entry.future.bind(py).clone()),
            Self::Item(item) => item.bind(py).getattr(intern!(py, "future")),
        }
    }
}

/// What all batches of a producer share. `item`: makes Python's items; `split`: the results of each message of a batch.
pub struct Shared {
    pub rules: Rules,
    pub item: Py<PyAny>,
    pub split: Py<PyAny>,
}

/// The messages of a batch: what is plain as it was found, all others as items of Python.
#[pyclass(module = "mqframe_speedups._native")]
pub struct Gathered {
    #[pyo3(get, set)]
    queue: Py<PyAny>,
    #[pyo3(get, set)]
    due: f64,
    #[pyo3(get, set)]
    pub bytes: usize,
    #[pyo3(get, set)]
    pub closed: bool,
    /// What the promises of its messages look at.
    pub batch: Arc<Batch>,
    /// That, and those of others that joined, each with the count of messages before it.
    parts: Vec<(usize, Arc<Batch>)>,
    shared: Arc<Shared>,
    members: Vec<Member>,
    texts: Vec<u8>,
}

impl Gathered {
    pub fn new(queue: Py<PyAny>, due: f64, batch: Batch, shared: Arc<Shared>) -> Self {
        let (bytes, closed, members, texts) = (0, false, Vec::new(), Vec::new());
        let batch = Arc::new(batch);
        let parts = vec![(0, batch.clone())];
        Self {
            queue,
            due,
            bytes,
            closed,
            batch,
            parts,
            shared,
            members,
            texts,
        }
    }

    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Puts a message at the end and counts its size; `text`: its properties.
    pub fn put(&mut self, message: Py<PyAny>, future: Py<PyAny>, plain: Plain, text: &[u8]) {
        self.bytes += plain.size;
        self.push(message, future, plain, text);
    }

    fn push(&mut self, message: Py<PyAny>, future: Py<PyAny>, plain: Plain, text: &[u8]) {
        self.texts.extend_from_slice(text);
        let text_end = self.texts.len();
        self.members.push(Member::Plain(Entry {
            message,
            future,
            plain,
            text_end,
        }));
    }

    /// Puts all messages of another one at the end, which has none afterwards. Their size is not counted.
    fn extend(&mut self, other: &Bound<'_, Self>) {
        let mut other = other.borrow_mut();
        let (count, text) = (self.members.len(), self.texts.len());
        self.parts
            .extend(other.parts.drain(..).map(|(before, part)| (count + before, part)));
        self.texts.append(&mut other.texts);
        self.members.extend(other.members.drain(..).map(|mut member| {
            if let Member::Plain(entry) = &mut member {
                entry.text_end += text;
            }
            member
        }));
    }

    /// What waits for the results.
    fn futures<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.members.iter().map(|member| member.future(py)).collect()
    }

    /// What is to hear that all have a result, by the places of their messages.
    fn watched(&self, py: Python<'_>) -> PyResult<Vec<(usize, Watched)>> {
        let mut found = Vec::new();
        for (place, member) in self.members.iter().enumerate() {
            let watched = match member.future(py)?.cast_into_exact::<LoopPromise>() {
                Ok(promise) if promise.get().is_watched() => Watched::Promise(promise.unbind()),
                Ok(_) => continue,
                Err(other) => {
                    let future = other.into_inner();
                    match future.cast_exact::<ThreadPromise>() {
                        Ok(promise) => match promise.get().promise.future.get() {
                            Some(future) => Watched::Future(future.clone_ref(py)),
                            None => continue,
                        },
                        Err(_) => Watched::Future(future.unbind()),
                    }
                }
            };
            found.push((place, watched));
        }
        Ok(found)
    }

    fn member(&self, at: isize) -> PyResult<&Member> {
        let at = if at < 0 {
            at + self.members.len() as isize
        } else {
            at
        };
        let member = usize::try_from(at).ok().and_then(|at| self.members.get(at));
        member.ok_or_else(|| PyIndexError::new_err("there are not so many messages"))
    }

    /// Its elements; `None` where one is not plain, or a key is no usual one.
    fn encoded(&self, py: Python<'_>, unique_ids: &Bound<'_, PyList>) -> Option<Vec<u8>> {
        if unique_ids.len() != self.members.len() {
            return None;
        }
        let mut out = Vec::with_capacity(self.bytes + self.members.len() * 8);
        let mut text_start = 0;
        for (member, id) in self.members.iter().zip(unique_ids.iter()) {
            let Member::Plain(entry) = member else {
                return None;
            };
            let id = id.cast_exact::<PyString>().ok()?.to_str().ok()?;
            let own = &self.texts[text_start..entry.text_end];
            text_start = entry.text_end;
            if id.is_empty() {
                return None;
            }
            let body = entry.plain.body.bind(py).as_bytes();
            let texts = [b"UNIQ_KEY\x01", id.as_bytes(), b"\x02", own];
            put_element(&mut out, entry.plain.flag, body, &texts)?;
        }
        Some(out)
    }
}

#[pymethods]
impl Gathered {
    /// What holds its messages: itself.
    #[getter]
    fn items(slf: Py<Self>) -> Py<Self> {
        slf
    }

    /// Puts an item of Python at the end, or all messages of another batch. Sizes are counted by who does so.
    fn append(slf: &Bound<'_, Self>, item: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = slf.py();
        if let Ok(other) = item.cast_exact::<Self>() {
            slf.borrow_mut().extend(other);
            return Ok(());
        }
        if item.getattr(intern!(py, "queue"))?.is_none() {
            let message = item.getattr(intern!(py, "message"))?;
            let future = item.getattr(intern!(py, "future"))?.unbind();
            let mut text = Vec::new();
            let shared = slf.borrow().shared.clone();
            if let Some((_, plain)) = read(&message, &mut text, &shared.rules) {
                slf.borrow_mut().push(message.unbind(), future, plain, &text);
                return Ok(());
            }
        }
        slf.borrow_mut().members.push(Member::Item(item.clone().unbind()));
        Ok(())
    }

    // Handed over as one, it looks like an item.

    /// The first one.
    #[getter]
    fn message(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.member(0)?.message(py)
    }

    /// Bytes of all.
    #[getter]
    fn size(&self) -> usize {
        self.bytes
    }

    #[getter]
    fn count(&self) -> usize {
        self.members.len()
    }

    fn __len__(&self) -> usize {
        self.members.len()
    }

    /// The item at a place; of what is plain it is made now.
    fn __getitem__(slf: &Bound<'_, Self>, at: isize) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let (item, message, future, size) = {
            let gathered = slf.borrow();
            match gathered.member(at)? {
                Member::Item(item) => return Ok(item.clone_ref(py)),
                Member::Plain(entry) => (
                    gathered.shared.item.clone_ref(py),
                    entry.message.clone_ref(py),
                    entry.future.clone_ref(py),
                    entry.plain.size,
                ),
            }
        };
        item.call1(py, (message, future, size, py.None()))
    }

    /// Bytes of all bodies.
    fn body_bytes(&self, py: Python<'_>) -> PyResult<usize> {
        self.members.iter().try_fold(0, |sum, member| {
            Ok(sum
                + match member {
                    Member::Plain(entry) => entry.plain.body_bytes,
                    Member::Item(item) => {
                        let message = item.bind(py).getattr(intern!(py, "message"))?;
                        message.getattr(intern!(py, "body"))?.len()?
                    }
                })
        })
    }

    /// How many are bound to a queue.
    fn bound(&self, py: Python<'_>) -> PyResult<usize> {
        self.members.iter().try_fold(0, |sum, member| {
            Ok(sum
                + match member {
                    Member::Plain(_) => 0,
                    Member::Item(item) => {
                        usize::from(!item.bind(py).getattr(intern!(py, "queue"))?.is_none())
                    }
                })
        })
    }

    /// Those futures that are to be given a result, and which, as the answer to all of them says. Promises find their own.
    fn settle<'py>(
        slf: &Bound<'py, Self>,
        result: &Bound<'py, PyAny>,
        ids: &Bound<'py, PyList>,
    ) -> PyResult<Bound<'py, PyList>> {
        let py = slf.py();
        let outcome = Outcome::of(result, ids)?;
        let gathered = slf.borrow();
        let Some(outcome) = outcome.filter(|_| gathered.members.len() == ids.len()) else {
            drop(gathered);
            let results = match ids.len() {
                1 => PyList::new(py, [result])?,
                _ => slf
                    .borrow()
                    .shared
                    .split
                    .clone_ref(py)
                    .bind(py)
                    .call1((result, ids))?
                    .cast_into()?,
            };
            return PyList::new(py, slf.borrow().futures(py)?.into_iter().zip(results.iter()));
        };
        let outcome = Arc::new(outcome);
        for (before, part) in &gathered.parts {
            let _ = part.outcome.set((outcome.clone(), *before));
        }
        // All of these before code of Python runs: who makes a future from now on gives it the result himself.
        let watched = gathered.watched(py)?;
        drop(gathered);
        let rest = PyList::empty(py);
        for (place, one) in watched {
            match one {
                Watched::Future(future) => rest.append((future, outcome.result(py, place)?))?,
                Watched::Promise(promise) => rest.append((Teller(promise), py.None()))?,
            }
        }
        Ok(rest)
    }

    /// The messages, to look at and to be packed.
    fn messages(slf: Py<Self>) -> GatheredMessages {
        GatheredMessages { gathered: slf }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.queue)?;
        for member in &self.members {
            match member {
                Member::Plain(entry) => {
                    visit.call(&entry.message)?;
                    visit.call(&entry.future)?;
                }
                Member::Item(item) => visit.call(item)?,
            }
        }
        Ok(())
    }

    fn __clear__(&mut self) {
        self.members.clear();
    }
}

/// Has a promise that has its result by now tell whoever waits, when its turn comes.
#[pyclass(frozen, module = "mqframe_speedups._native")]
pub struct Teller(Py<LoopPromise>);

#[pymethods]
impl Teller {
    /// Not yet.
    fn done(&self) -> bool {
        false
    }

    fn set_result(&self, py: Python<'_>, _result: &Bound<'_, PyAny>) -> PyResult<()> {
        LoopPromise::tell(self.0.bind(py))
    }
}

/// The messages of a batch, as a sequence.
#[pyclass(frozen, module = "mqframe_speedups._native")]
pub struct GatheredMessages {
    gathered: Py<Gathered>,
}

#[pymethods]
impl GatheredMessages {
    fn __len__(&self, py: Python<'_>) -> usize {
        self.gathered.borrow(py).members.len()
    }

    fn __getitem__(&self, py: Python<'_>, at: isize) -> PyResult<Py<PyAny>> {
        self.gathered.borrow(py).member(at)?.message(py)
    }

    /// The body of a batch request of them; `None` where Python has to make it.
    fn encoded<'py>(&self, py: Python<'py>, unique_ids: &Bound<'py, PyList>) -> Option<Bound<'py, PyBytes>> {
        let out = self.gathered.borrow(py).encoded(py, unique_ids)?;
        Some(PyBytes::new(py, &out))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.gathered)
    }
}
