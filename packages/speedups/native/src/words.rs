//! Whether one of many words occurs in a text: the words at which a message is left to Python's rules.
//!
//! Most messages have none, and every send asks. One search by vectors for each word was measured to be as
//! fast, for 14 words, as one search for all of them (Wu and Manber's).

use memchr::memmem::Finder;

/// Words to look for.
pub struct Words {
    /// On the heap, as a `Finder` asks for an alignment that objects of Python do not have.
    finders: Vec<Finder<'static>>,
}

impl Words {
    pub fn new(words: &[Vec<u8>]) -> Self {
        let finders = words.iter().map(|word| Finder::new(word).into_owned());
        Self {
            finders: finders.collect(),
        }
    }

    /// Whether `text` contains one of the words.
    pub fn occur_in(&self, text: &[u8]) -> bool {
        self.finders.iter().any(|word| word.find(text).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(all: &[&str]) -> Words {
        Words::new(
            &all.iter()
                .map(|word| word.as_bytes().to_vec())
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn words_are_found_wherever_they_lie() {
        let all = [
            "DELAY\x01",
            "TIMER_",
            "POP_CK",
            "1ST_P",
            "TTL",
            "\u{e9}",
            "RECONSUME_",
            "xyzxyzq",
        ];
        let made = words(&all);
        for word in all {
            for before in 0..20 {
                for after in 0..20 {
                    let text = ["-".repeat(before).as_str(), word, &"T".repeat(after)].concat();
                    assert!(made.occur_in(text.as_bytes()), "{text}");
                    let less = &word.as_bytes()[1..];
                    let text = [&vec![b'-'; before], less, &vec![b'-'; after]].concat();
                    assert!(!made.occur_in(&text), "{text:?}");
                }
            }
        }
        assert!(!made.occur_in(b""));
        assert!(made.occur_in(b"xyzxyzxyzq"));
    }

    #[test]
    fn no_word_is_in_nothing_and_the_empty_one_in_all() {
        assert!(!words(&[]).occur_in(b"text"));
        assert!(words(&["", "DELAY"]).occur_in(b""));
    }
}
