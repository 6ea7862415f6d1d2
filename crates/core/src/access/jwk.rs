//! The public keys of whoever signs tokens: a JSON Web Key Set (RFC 7517), and what each key may confirm.
//!
//! Invariant (the key decides): which algorithm a signature is checked with follows from the key. What a token says of its
//! algorithm must agree and chooses nothing. Symmetric keys are not even read: who can check could sign.

use data_encoding::BASE64URL_NOPAD;
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};
use serde::Deserialize;

/// The largest key set that is read.
pub const JWKS_BYTES_MAX: usize = 256 << 10;
/// Keys of a set; issuers have a handful.
const KEYS_MAX: usize = 64;
/// The modulus of RSA keys: 2,048 to 8,192 bits.
const MODULUS_BYTES: std::ops::RangeInclusive<usize> = 256..=1_024;

/// What is no key set, in words that hold nothing of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotKeys {
    /// Larger than any should be.
    #[error("it is larger than {JWKS_BYTES_MAX} bytes")]
    TooLarge,
    /// Not JSON of the form `{"keys": […]}`.
    #[error("it is no JSON Web Key Set: an object with a list `keys`")]
    Malformed,
    /// More keys than any issuer has.
    #[error("it holds more than {KEYS_MAX} keys")]
    TooMany,
    /// No key that could confirm anything.
    #[error("it holds no public key for RS256, PS256, ES256, ES384 or EdDSA")]
    Empty,
}

/// How a token may be signed: by a private key, with a public one to check it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Algorithm {
    Rs256,
    Ps256,
    Es256,
    Es384,
    EdDsa,
}

impl Algorithm {
    /// The algorithm of this name. There is no `none` and no HMAC.
    pub(super) fn from_word(word: &str) -> Option<Self> {
        match word {
            "RS256" => Some(Self::Rs256),
            "PS256" => Some(Self::Ps256),
            "ES256" => Some(Self::Es256),
            "ES384" => Some(Self::Es384),
            "EdDSA" | "Ed25519" => Some(Self::EdDsa),
            _ => None,
        }
    }
}

/// A public key by its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Material {
    Rsa { modulus: Vec<u8>, exponent: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Key {
    id: Option<String>,
    only: Option<Algorithm>,
    material: Material,
}

/// Why no key confirms a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unconfirmed {
    /// None that the token could mean is known.
    Unknown,
    /// The key that it means signs otherwise, or did not sign this.
    Wrong,
}

/// The public keys of an issuer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeySet(Vec<Key>);

#[derive(Deserialize)]
struct Jwks {
    keys: Vec<serde_json::Value>,
}

/// A key as it is written. Members that are not listed, private ones among them, are not read.
#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    key_ops: Option<Vec<String>>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl KeySet {
    /// The keys of a set that can confirm tokens; others, such as those for encryption, are passed over.
    ///
    /// # Errors
    /// When it is no key set, or holds no such key.
    pub fn from_jwks(bytes: &[u8]) -> Result<Self, NotKeys> {
        if bytes.len() > JWKS_BYTES_MAX {
            return Err(NotKeys::TooLarge);
        }
        let read: Jwks = serde_json::from_slice(bytes).map_err(|_| NotKeys::Malformed)?;
        if read.keys.len() > KEYS_MAX {
            return Err(NotKeys::TooMany);
        }
        let jwks = read.keys.into_iter().filter_map(|key| serde_json::from_value::<Jwk>(key).ok());
        let keys: Vec<Key> = jwks.filter_map(Jwk::read).collect();
        if keys.is_empty() { Err(NotKeys::Empty) } else { Ok(Self(keys)) }
    }

    /// Checks a signature with the key that a token names; without a name, with the only one of its kind.
    pub(super) fn confirm(
        &self,
        algorithm: Algorithm,
        id: Option<&str>,
        signed: &[u8],
        signature: &[u8],
    ) -> Result<(), Unconfirmed> {
        let meant: Vec<&Key> = match id {
            Some(id) => self.0.iter().filter(|key| key.id.as_deref() == Some(id)).collect(),
            None => self.0.iter().filter(|key| key.signs(algorithm)).collect(),
        };
        if meant.is_empty() {
            return Err(Unconfirmed::Unknown);
        }
        let is_plain = id.is_some() || meant.len() == 1;
        let holds = |key: &&Key| key.signs(algorithm) && key.confirms(algorithm, signed, signature);
        if is_plain && meant.iter().any(holds) { Ok(()) } else { Err(Unconfirmed::Wrong) }
    }
}

impl Jwk {
    fn read(self) -> Option<Key> {
        let for_signatures = self.purpose.as_deref().is_none_or(|word| word == "sig");
        let may_verify = self.key_ops.as_ref().is_none_or(|words| words.iter().any(|word| word == "verify"));
        if !for_signatures || !may_verify {
            return None;
        }
        let only = match &self.alg {
            None => None,
            Some(word) => Some(Algorithm::from_word(word)?),
        };
        Some(Key { material: self.material()?, id: self.kid, only })
    }

    fn material(&self) -> Option<Material> {
        match (self.kty.as_str(), self.crv.as_deref()) {
            ("RSA", _) => {
                let modulus = without_zeros(bytes(self.n.as_deref())?);
                let exponent = without_zeros(bytes(self.e.as_deref())?);
                MODULUS_BYTES.contains(&modulus.len()).then_some(Material::Rsa { modulus, exponent })
            }
            ("EC", Some("P-256")) => self.point(32).map(Material::P256),
            ("EC", Some("P-384")) => self.point(48).map(Material::P384),
            ("OKP", Some("Ed25519")) => {
                bytes(self.x.as_deref()).filter(|x| x.len() == 32).map(Material::Ed25519)
            }
            _ => None,
        }
    }

    /// A point of a curve, as SEC 1 writes it: 4, x, y.
    fn point(&self, width: usize) -> Option<Vec<u8>> {
        let (x, y) = (bytes(self.x.as_deref())?, bytes(self.y.as_deref())?);
        (x.len() == width && y.len() == width).then(|| [&[4], x.as_slice(), &y].concat())
    }
}

fn bytes(text: Option<&str>) -> Option<Vec<u8>> {
    BASE64URL_NOPAD.decode(text?.as_bytes()).ok()
}

/// A number as its bytes, without zeros before it: some write them, none count.
fn without_zeros(number: Vec<u8>) -> Vec<u8> {
    number.into_iter().skip_while(|byte| *byte == 0).collect()
}

impl Key {
    fn signs(&self, algorithm: Algorithm) -> bool {
        let kind = match (&self.material, algorithm) {
            (Material::Rsa { .. }, Algorithm::Rs256 | Algorithm::Ps256)
            | (Material::P256(_), Algorithm::Es256)
            | (Material::P384(_), Algorithm::Es384)
            | (Material::Ed25519(_), Algorithm::EdDsa) => true,
            (Material::Rsa { .. } | Material::P256(_) | Material::P384(_) | Material::Ed25519(_), _) => false,
        };
        kind && self.only.is_none_or(|only| only == algorithm)
    }

    fn confirms(&self, algorithm: Algorithm, signed: &[u8], signature: &[u8]) -> bool {
        let point = |known: &'static dyn signature::VerificationAlgorithm, key: &[u8]| {
            UnparsedPublicKey::new(known, key).verify(signed, signature)
        };
        let checked = match &self.material {
            Material::Rsa { modulus, exponent } => {
                let padding = match algorithm {
                    Algorithm::Ps256 => &signature::RSA_PSS_2048_8192_SHA256,
                    Algorithm::Rs256 | Algorithm::Es256 | Algorithm::Es384 | Algorithm::EdDsa => {
                        &signature::RSA_PKCS1_2048_8192_SHA256
                    }
                };
                RsaPublicKeyComponents { n: modulus, e: exponent }.verify(padding, signed, signature)
            }
            Material::P256(key) => point(&signature::ECDSA_P256_SHA256_FIXED, key),
            Material::P384(key) => point(&signature::ECDSA_P384_SHA384_FIXED, key),
            Material::Ed25519(key) => point(&signature::ED25519, key),
        };
        checked.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ed25519_dalek::{Signer, SigningKey};

    fn ed25519(id: Option<&str>, key: &SigningKey) -> serde_json::Value {
        let x = BASE64URL_NOPAD.encode(key.verifying_key().as_bytes());
        serde_json::json!({"kty": "OKP", "crv": "Ed25519", "kid": id, "x": x})
    }

    fn set(keys: &[serde_json::Value]) -> Result<KeySet, NotKeys> {
        KeySet::from_jwks(serde_json::json!({ "keys": keys }).to_string().as_bytes())
    }

    /// SHARE-28: a key confirms what it signed, under its own name, and nothing else.
    #[test]
    fn a_key_confirms_what_it_signed() {
        let (one, other) = (SigningKey::from_bytes(&[1; 32]), SigningKey::from_bytes(&[2; 32]));
        let keys = set(&[ed25519(Some("one"), &one), ed25519(Some("other"), &other)]).unwrap();
        let signature = one.sign(b"said").to_bytes();
        let check = |id: Option<&str>, said: &[u8]| keys.confirm(Algorithm::EdDsa, id, said, &signature);
        assert_eq!(check(Some("one"), b"said"), Ok(()));
        assert_eq!(check(Some("one"), b"else"), Err(Unconfirmed::Wrong));
        assert_eq!(check(Some("other"), b"said"), Err(Unconfirmed::Wrong));
        assert_eq!(check(Some("third"), b"said"), Err(Unconfirmed::Unknown));
        assert_eq!(check(None, b"said"), Err(Unconfirmed::Wrong), "two could be meant");
        let same_name = set(&[ed25519(Some("one"), &other), ed25519(Some("one"), &one)]).unwrap();
        assert_eq!(same_name.confirm(Algorithm::EdDsa, Some("one"), b"said", &signature), Ok(()));
        let alone = set(&[ed25519(None, &one)]).unwrap();
        assert_eq!(alone.confirm(Algorithm::EdDsa, None, b"said", &signature), Ok(()));
        assert_eq!(
            alone.confirm(Algorithm::Es256, None, b"said", &signature),
            Err(Unconfirmed::Unknown),
            "an Ed25519 key signs nothing else"
        );
    }

    /// SHARE-28: secrets that could sign, and keys for other purposes, are never read.
    #[test]
    fn only_public_keys_for_signatures_are_read() {
        let key = SigningKey::from_bytes(&[1; 32]);
        let changed = |name: &str, value: serde_json::Value| {
            let mut jwk = ed25519(Some("a"), &key);
            jwk[name] = value;
            set(&[jwk])
        };
        assert!(set(&[ed25519(Some("a"), &key)]).is_ok());
        assert!(changed("use", "sig".into()).is_ok() && changed("alg", "EdDSA".into()).is_ok());
        for (name, value) in [
            ("use", serde_json::json!("enc")),
            ("alg", serde_json::json!("HS256")),
            ("key_ops", serde_json::json!(["sign"])),
            ("crv", serde_json::json!("X25519")),
            ("x", serde_json::json!("AAAA")),
            ("x", serde_json::json!("not base64url!")),
            ("kty", serde_json::json!("oct")),
        ] {
            assert_eq!(changed(name, value), Err(NotKeys::Empty), "{name}");
        }
        let short = BASE64URL_NOPAD.encode(&[255; 128]);
        assert_eq!(
            set(&[serde_json::json!({"kty": "RSA", "n": short, "e": "AQAB"})]),
            Err(NotKeys::Empty),
            "1,024 bits can be broken"
        );
    }

    #[test]
    fn what_is_no_key_set_is_told() {
        assert_eq!(KeySet::from_jwks(b"{"), Err(NotKeys::Malformed));
        assert_eq!(KeySet::from_jwks(b"[]"), Err(NotKeys::Malformed));
        assert_eq!(KeySet::from_jwks(b"{\"keys\":[]}"), Err(NotKeys::Empty));
        assert_eq!(KeySet::from_jwks(&vec![b' '; JWKS_BYTES_MAX + 1]), Err(NotKeys::TooLarge));
        let key = ed25519(None, &SigningKey::from_bytes(&[1; 32]));
        assert_eq!(set(&vec![key.clone(); KEYS_MAX + 1]), Err(NotKeys::TooMany));
        let strange =
            [serde_json::json!(5), serde_json::json!({"kty": "new"}), serde_json::json!({"kid": 1}), key];
        assert_eq!(set(&strange).map(|keys| keys.0.len()), Ok(1), "what is not understood is passed over");
    }
}
