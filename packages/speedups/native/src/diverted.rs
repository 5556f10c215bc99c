//! Messages that a send rule has wait elsewhere, such as halves and those with a delay level, as Python said of
//! the first of each kind (mqframe_speedups/rules_asked.py).

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use memchr::memchr;
use memchr::memmem::Finder;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::properties::{is_regular, NAME_END, PAIR_END};
use crate::record::TOPIC_BYTES_MAX;
use crate::topics::Topics;

/// Kinds that are remembered; then all are forgotten.
const KINDS_MAX: usize = 1 << 14;

/// What messages of one kind share besides their pair: the number of their topic, queue, transaction bits.
pub type Place = (usize, i32, i32);

/// Such a kind as Python is asked about it: topic, queue, transaction bits, pair.
pub type Kind = (String, i32, i32, String);

/// As Python gives it: topic, queue, what is added, when it is due, as what it is counted, as in `Way`.
pub type GivenWay<'py> = (Bound<'py, PyString>, i32, Vec<Vec<u8>>, Option<i64>, Py<PyAny>);

/// Where messages of one kind are stored. `topic`: its number; `added`: what stands behind the broker's own
/// properties, in pieces, between which the unique key goes; `due_ms`: how long after its storage a message is
/// due, if its queue entry says that; `counted`: a number of `Diversions::counted`.
pub struct Way {
    pub topic: usize,
    pub queue_id: i32,
    pub added: Vec<Vec<u8>>,
    pub due_ms: Option<i64>,
    pub counted: usize,
}

impl Way {
    /// Writes the properties that a message with this unique key gets.
    pub fn put_added(&self, out: &mut Vec<u8>, unique: &[u8]) {
        for (number, piece) in self.added.iter().enumerate() {
            if number > 0 {
                out.extend_from_slice(unique);
            }
            out.extend_from_slice(piece);
        }
    }
}

/// The kinds that are known. `counted`: objects of Python that say as what messages are counted.
pub struct Diversions {
    names: Vec<Finder<'static>>,
    apart: HashSet<Vec<u8>>,
    ways: HashMap<Vec<u8>, HashMap<Place, Option<Way>>>,
    count: usize,
    pub counted: Vec<Py<PyAny>>,
}

impl Diversions {
    /// `names`: properties of which each value makes a kind; `apart`: a message with one of these is of none.
    pub fn new(names: &[Vec<u8>], apart: Vec<Vec<u8>>) -> Self {
        let names = names.iter().map(|name| {
            let start = [name.as_slice(), &[NAME_END]].concat();
            Finder::new(&start).into_owned()
        });
        Self {
            names: names.collect(),
            apart: apart.into_iter().collect(),
            ways: HashMap::new(),
            count: 0,
            counted: Vec::new(),
        }
    }

    /// Where in `text` the pair lies that makes the kind of a message with these properties.
    pub fn pair_in(&self, text: &[u8]) -> Option<Range<usize>> {
        self.names.iter().find_map(|name| {
            let at = name.find(text)?;
            if at > 0 && text[at - 1] != PAIR_END {
                return None;
            }
            let rest = &text[at..];
            Some(at..at + memchr(PAIR_END, rest).unwrap_or(rest.len()))
        })
    }

    /// Whether rules that look at nothing but the pair at `pair` keep all of `text` as it is: every pair has a
    /// name and a value, no name comes twice, and none is apart.
    pub fn keep(&self, text: &[u8], pair: &Range<usize>) -> bool {
        is_regular(text, |at, name| at == pair.start || !self.apart.contains(name))
    }

    /// Where messages of a kind are stored; `Some(None)`: that is for Python to see, `None`: Python was not asked.
    pub fn way(&self, pair: &[u8], place: Place) -> Option<Option<&Way>> {
        Some(self.ways.get(pair)?.get(&place)?.as_ref())
    }

    /// Messages of this kind are stored as Python says; `None`: they are left to it.
    pub fn hear(
        &mut self,
        topics: &mut Topics,
        pair: &str,
        place: Place,
        way: Option<GivenWay<'_>>,
    ) -> PyResult<()> {
        let way = match way {
            Some((topic, queue_id, added, due_ms, counted)) if topic.to_cow()?.len() <= TOPIC_BYTES_MAX => {
                Some(Way {
                    topic: topics.number_of(&topic)?,
                    queue_id,
                    added,
                    due_ms,
                    counted: self.number_of(counted),
                })
            }
            _ => None,
        };
        self.know(pair, place, way);
        Ok(())
    }

    /// Messages of this kind are stored so; `None`: they are left to Python.
    fn know(&mut self, pair: &str, place: Place, way: Option<Way>) {
        if self.count >= KINDS_MAX {
            self.ways.clear();
            self.count = 0;
        }
        let places = self.ways.entry(pair.as_bytes().to_vec()).or_default();
        self.count += usize::from(places.insert(place, way).is_none());
    }

    /// The number of an object that says as what messages are counted.
    fn number_of(&mut self, counted: Py<PyAny>) -> usize {
        let mut known = self.counted.iter();
        let found = known.position(|other| other.as_ptr() == counted.as_ptr());
        found.unwrap_or_else(|| {
            self.counted.push(counted);
            self.counted.len() - 1
        })
    }

    /// Knows no kind any more.
    pub fn forget(&mut self) {
        self.ways.clear();
        self.counted.clear();
        self.count = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties::PAIRS_MAX;

    fn diversions() -> Diversions {
        let names = [b"TRAN_MSG".to_vec(), b"DELAY".to_vec()];
        Diversions::new(&names, vec![b"REAL_TOPIC".to_vec(), b"DELAY".to_vec()])
    }

    #[test]
    fn the_pair_that_makes_a_kind_is_found_where_it_is_one() {
        let known = diversions();
        for (text, found) in [
            ("DELAY\x013\x02a\x01b\x02", Some("DELAY\x013")),
            ("a\x01b\x02DELAY\x013", Some("DELAY\x013")),
            ("a\x01b\x02TRAN_MSG\x01true\x02", Some("TRAN_MSG\x01true")),
            ("a\x01b\x02XDELAY\x013\x02", None),
            ("a\x01DELAY\x02", None),
            ("", None),
        ] {
            let pair = known.pair_in(text.as_bytes());
            assert_eq!(pair.map(|pair| &text[pair]), found, "{text:?}");
        }
    }

    #[test]
    fn odd_properties_are_not_kept() {
        let known = diversions();
        for (text, kept) in [
            ("DELAY\x013", true),
            ("DELAY\x013\x02a\x01b\x02", true),
            ("a\x01b\x01c\x02DELAY\x013\x02", true),
            ("a\x01b\x02DELAY\x013\x02a\x01c", false),
            ("DELAY\x013\x02\x02", false),
            ("DELAY\x013\x02\x02a\x01b", false),
            ("DELAY\x013\x02a", false),
            ("DELAY\x013\x02a\x01", false),
            ("DELAY\x013\x02\x01b", false),
            ("DELAY\x013\x02REAL_TOPIC\x01b", false),
            ("DELAY\x013\x02DELAY\x014", false),
        ] {
            let pair = known.pair_in(text.as_bytes()).unwrap();
            assert_eq!(known.keep(text.as_bytes(), &pair), kept, "{text:?}");
        }
        let many = |count| (0..count).map(|n| format!("{n}\x01v\x02")).collect::<String>() + "DELAY\x013";
        for (count, kept) in [(PAIRS_MAX - 1, true), (PAIRS_MAX, false)] {
            let text = many(count);
            let pair = known.pair_in(text.as_bytes()).unwrap();
            assert_eq!(known.keep(text.as_bytes(), &pair), kept, "{count}");
        }
    }

    #[test]
    fn kinds_are_known_until_there_are_too_many() {
        let mut known = diversions();
        assert!(known.way(b"DELAY\x013", (0, 1, 0)).is_none());
        known.know("DELAY\x013", (0, 1, 0), None);
        let left = known.way(b"DELAY\x013", (0, 1, 0));
        assert!(left.is_some_and(|way| way.is_none()));
        let way = |queue_id| Way {
            topic: 1,
            queue_id,
            added: vec![b"k\x01".to_vec(), b"\x02".to_vec()],
            due_ms: None,
            counted: 0,
        };
        for queue_id in 0..KINDS_MAX as i32 - 1 {
            known.know("DELAY\x013", (0, queue_id + 2, 0), Some(way(queue_id)));
        }
        let found = known.way(b"DELAY\x013", (0, 7, 0)).flatten().unwrap();
        let mut out = Vec::new();
        found.put_added(&mut out, b"K");
        assert_eq!((found.queue_id, out.as_slice()), (5, &b"k\x01K\x02"[..]));
        assert!(known.way(b"DELAY\x013", (1, 7, 0)).is_none());
        assert!(known.way(b"DELAY\x013", (0, 7, 4)).is_none());
        known.know("DELAY\x014", (0, 1, 0), None);
        assert!(known.way(b"DELAY\x013", (0, 7, 0)).is_none());
        assert!(known.way(b"DELAY\x014", (0, 1, 0)).is_some());
        known.forget();
        assert!(known.way(b"DELAY\x014", (0, 1, 0)).is_none());
    }
}
