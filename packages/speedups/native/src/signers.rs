//! Signatures of requests (`Signer` of mqframe_acl/signature.py; sources: AclUtils.java, AclSigner.java), and
//! what access control said of who signs.
//!
//! Nothing is decided here: Python says who there is, with which key each signs, and what each is granted.

use std::collections::HashMap;

use hmac::{Hmac, Mac};
use pyo3::prelude::*;
use sha1::Sha1;
use subtle::ConstantTimeEq;

use crate::header::Field;

const ACCESS_KEY: &[u8] = b"AccessKey";
pub const SIGNATURE: &[u8] = b"Signature";
/// Old clients do not sign this field, so that the version of the request would count.
const UNSIGNED_ONCE: &[u8] = b"_UNIQUE_KEY_QUERY";
const DIGEST_BYTES: usize = 20;
const SIGNATURE_BYTES: usize = 28;
/// What one connection is granted; then all of it is forgotten.
const GRANTS_MAX: usize = 256;
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

type Hasher = Hmac<Sha1>;

/// Somebody who signs. `known`: false of a name that nobody has; `granted`: the codes of sends by topic.
struct Signer {
    start: Hasher,
    known: bool,
    granted: HashMap<Vec<u8>, Vec<i32>>,
}

/// What has to be said before a request can be served: its user; code and topic, once the user is known.
type Asked = (String, Option<(i32, String)>);

/// Who signs the requests of one connection. `barred`: one was signed wrongly, so nothing is taken any more.
#[pyclass(module = "mqframe_speedups._native")]
#[derive(Default)]
pub struct Signers {
    users: HashMap<Vec<u8>, Signer>,
    grants: usize,
    asked: Option<Asked>,
    #[pyo3(get)]
    barred: bool,
}

#[pymethods]
impl Signers {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// `user` signs with `key`; there is nobody of that name where that is `None`, which takes as long to see.
    fn know(&mut self, user: &str, key: Option<&[u8]>) {
        // Keys of any length are taken.
        if let Ok(start) = Hasher::new_from_slice(key.unwrap_or(b"nobody")) {
            let signer = Signer {
                start,
                known: key.is_some(),
                granted: HashMap::new(),
            };
            self.users.insert(user.as_bytes().to_vec(), signer);
        }
    }

    /// Sends with `code` to `topic` may be taken of `user`, who is known.
    fn grant(&mut self, user: &str, code: i32, topic: &str) {
        if self.grants >= GRANTS_MAX {
            self.users.values_mut().for_each(|each| each.granted.clear());
            self.grants = 0;
        }
        if let Some(signer) = self.users.get_mut(user.as_bytes()) {
            let codes = signer.granted.entry(topic.as_bytes().to_vec()).or_default();
            codes.push(code);
            self.grants += 1;
        }
    }

    /// What has to be said before the request at which the last call stopped can be served, once; `None`: it
    /// stopped for another reason.
    fn asked(&mut self) -> Option<Asked> {
        self.asked.take()
    }
}

impl Signers {
    /// What is asked from now on is of requests that come next.
    pub fn begin(&mut self) {
        self.asked = None;
    }

    /// Who signed a request with these `fields`, if the signature is right; they are sorted. `plain`: what
    /// the value of the one that has escapes stands for.
    pub fn user_of<'a>(
        &mut self,
        fields: &mut [Field<'a>],
        plain: Option<&[u8]>,
        body: &[u8],
    ) -> Option<&'a [u8]> {
        if self.barred {
            return None;
        }
        fields.sort_unstable_by_key(|field| field.name);
        if fields.windows(2).any(|pair| pair[0].name == pair[1].name) {
            return None; // the last of them counts, which is for Python to see
        }
        let place_of = |name: &[u8]| fields.binary_search_by_key(&name, |field| field.name).ok();
        let (user, given) = (&fields[place_of(ACCESS_KEY)?], &fields[place_of(SIGNATURE)?]);
        let escaped = fields.iter().filter(|field| field.escaped).count();
        if user.escaped
            || given.escaped
            || escaped > usize::from(plain.is_some())
            || place_of(UNSIGNED_ONCE).is_some()
        {
            return None;
        }
        let (user, given) = (user.value, given.value);
        let Some(signer) = self.users.get(user) else {
            let user = std::str::from_utf8(user).ok()?;
            self.asked = Some((user.to_owned(), None));
            return None;
        };
        let mut hasher = signer.start.clone();
        for field in fields.iter().filter(|field| field.name != SIGNATURE) {
            hasher.update(plain.filter(|_| field.escaped).unwrap_or(field.value));
        }
        hasher.update(body);
        let wanted = encoded(&hasher.finalize().into_bytes().into());
        let fits = bool::from(wanted.ct_eq(given));
        // Whoever tries gets no answers but Python's, in Python's time.
        self.barred = !(fits & signer.known);
        (!self.barred).then_some(user)
    }

    /// Whether sends with `code` to `topic` may be taken of `user`.
    pub fn may(&mut self, user: &[u8], code: i32, topic: &[u8]) -> bool {
        let granted = self.users.get(user).and_then(|signer| signer.granted.get(topic));
        let may = granted.is_some_and(|codes| codes.contains(&code));
        if let (false, Ok(user), Ok(topic)) = (may, std::str::from_utf8(user), std::str::from_utf8(topic)) {
            self.asked = Some((user.to_owned(), Some((code, topic.to_owned()))));
        }
        may
    }
}

/// `digest` in base64.
fn encoded(digest: &[u8; DIGEST_BYTES]) -> [u8; SIGNATURE_BYTES] {
    let mut out = [b'='; SIGNATURE_BYTES];
    for (three, four) in digest.chunks(3).zip(out.chunks_mut(4)) {
        let mut bits = 0;
        for at in 0..3 {
            bits = bits << 8 | three.get(at).copied().map_or(0, usize::from);
        }
        // Of fewer than three bytes the last characters stand for nothing.
        for (at, character) in four.iter_mut().enumerate().take(three.len() + 1) {
            *character = BASE64[bits >> (18 - 6 * at) & 63];
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field<'a>(name: &'a str, value: &'a str) -> Field<'a> {
        Field {
            name: name.as_bytes(),
            value: value.as_bytes(),
            escaped: false,
        }
    }

    fn signers() -> Signers {
        let mut signers = Signers::new();
        signers.know("shop", Some(b"Jefe"));
        signers.know("nobody", None);
        signers
    }

    /// The signature with `key` of `text`.
    fn signature(key: &[u8], text: &[u8]) -> String {
        let mut hasher = Hasher::new_from_slice(key).unwrap();
        hasher.update(text);
        String::from_utf8(encoded(&hasher.finalize().into_bytes().into()).to_vec()).unwrap()
    }

    #[test]
    fn digests_are_those_of_the_standard() {
        // RFC 2202, test case 2.
        let text = b"what do ya want for nothing?";
        assert_eq!(signature(b"Jefe", text), "7/zfauXrL6LSdBbV8YTfnCWafHk=");
        assert_eq!(&encoded(&[0; DIGEST_BYTES]), b"AAAAAAAAAAAAAAAAAAAAAAAAAAA=");
        assert_eq!(&encoded(&[0xFF; DIGEST_BYTES]), b"//////////////////////////8=");
    }

    #[test]
    fn values_are_signed_in_the_order_of_their_names() {
        let right = signature(b"Jefe", b"shop12body");
        let mut fields = [
            field("b", "2"),
            field("Signature", &right),
            field("a", "1"),
            field("AccessKey", "shop"),
        ];
        let found = signers().user_of(&mut fields, None, b"body");
        assert_eq!(found, Some(&b"shop"[..]));
        for (at, other) in [(0, "x"), (1, "Shop"), (2, ""), (3, "shop")] {
            let mut changed = fields;
            changed[at].value = other.as_bytes();
            let mut signers = signers();
            let found = signers.user_of(&mut changed, None, b"body");
            // Sorted by now: AccessKey, Signature, a, b.
            assert_eq!(found, None, "{at}");
        }
        assert_eq!(signers().user_of(&mut fields, None, b"bodY"), None);
    }

    #[test]
    fn what_a_value_stands_for_is_signed() {
        let right = signature(b"Jefe", b"shopa\x01b");
        let mut fields = [
            field("AccessKey", "shop"),
            field("Signature", &right),
            field("i", "a\\u0001b"),
        ];
        fields[2].escaped = true;
        assert!(signers().user_of(&mut fields, Some(b"a\x01b"), b"").is_some());
        assert_eq!(signers().user_of(&mut fields, Some(b"a\x02b"), b""), None);
        assert_eq!(signers().user_of(&mut fields, None, b""), None);
        fields[0].escaped = true;
        assert_eq!(signers().user_of(&mut fields, Some(b"a\x01b"), b""), None);
    }

    #[test]
    fn what_is_not_plain_is_left_and_bars_nobody() {
        let right = signature(b"Jefe", b"shopx");
        let (user, given) = (field("AccessKey", "shop"), field("Signature", &right));
        for odd in [
            vec![user, given, field("z", "x"), field("z", "x")],
            vec![user, given, given, field("z", "x")],
            vec![user, user, given, field("z", "x")],
            vec![user, given, field("_UNIQUE_KEY_QUERY", "x")],
            vec![user, field("z", "x")],
            vec![given, field("z", "x")],
            vec![],
        ] {
            let mut signers = signers();
            assert_eq!(signers.user_of(&mut odd.clone(), None, b""), None, "{odd:?}");
            assert!(!signers.barred);
            assert_eq!(signers.asked(), None);
            let mut plain = [user, given, field("z", "x")];
            assert!(signers.user_of(&mut plain, None, b"").is_some());
        }
    }

    #[test]
    fn a_name_that_nobody_has_is_nobodys_whatever_the_signature() {
        let right = signature(b"nobody", b"nobody");
        let mut signers = signers();
        let mut fields = [field("AccessKey", "nobody"), field("Signature", &right)];
        assert_eq!(signers.user_of(&mut fields, None, b""), None);
        assert!(signers.barred);
    }

    #[test]
    fn what_is_granted_is_granted_by_code_and_topic() {
        let mut signers = signers();
        assert!(!signers.may(b"shop", 310, b"t"));
        assert_eq!(signers.asked(), Some(("shop".into(), Some((310, "t".into())))));
        signers.grant("shop", 310, "t");
        assert!(signers.may(b"shop", 310, b"t"));
        assert!(!signers.may(b"shop", 320, b"t") && !signers.may(b"shop", 310, b"u"));
        assert!(!signers.may(b"nobody", 310, b"t"));
        for number in 1..=GRANTS_MAX {
            signers.grant("shop", 310, &format!("t{number}"));
        }
        assert!(signers.may(b"shop", 310, b"t256") && !signers.may(b"shop", 310, b"t"));
        signers.grant("unknown", 310, "t");
        assert!(!signers.may(b"unknown", 310, b"t"));
    }
}
