//! Keys with which a client of OAuth 2 signs who it is (RFC 7518).

use postrider_core::auth::oauth::Sign;
use ring::{
    rand::SystemRandom,
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, RSA_PKCS1_SHA256,
        RSA_PSS_SHA256, RsaEncoding, RsaKeyPair,
    },
};

/// A client's key. Is not shown.
pub struct ClientKey {
    id: Option<String>,
    pair: Pair,
}

enum Pair {
    Rsa(RsaKeyPair),
    Pss(RsaKeyPair),
    Ecdsa(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl ClientKey {
    /// Reads a key (PKCS #8) for an algorithm: `RS256`, `PS256`, `ES256` or `EdDSA`; none if it is none for it.
    pub fn read(algorithm: &str, pkcs8: &[u8], id: Option<String>) -> Option<Self> {
        let pair = match algorithm {
            "RS256" => Pair::Rsa(RsaKeyPair::from_pkcs8(pkcs8).ok()?),
            "PS256" => Pair::Pss(RsaKeyPair::from_pkcs8(pkcs8).ok()?),
            "ES256" => {
                let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
                let pair = EcdsaKeyPair::from_pkcs8(algorithm, pkcs8, &SystemRandom::new());
                Pair::Ecdsa(pair.ok()?)
            }
            "EdDSA" => Pair::Ed25519(Ed25519KeyPair::from_pkcs8_maybe_unchecked(pkcs8).ok()?),
            _ => return None,
        };
        Some(Self { id, pair })
    }
}

impl Sign for ClientKey {
    fn algorithm(&self) -> &'static str {
        match self.pair {
            Pair::Rsa(_) => "RS256",
            Pair::Pss(_) => "PS256",
            Pair::Ecdsa(_) => "ES256",
            Pair::Ed25519(_) => "EdDSA",
        }
    }

    fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    fn sign(&self, text: &[u8]) -> Option<Vec<u8>> {
        let random = SystemRandom::new();
        let rsa = |pair: &RsaKeyPair, padding: &'static dyn RsaEncoding| {
            let mut signature = vec![0; pair.public().modulus_len()];
            pair.sign(padding, &random, text, &mut signature).ok()?;
            Some(signature)
        };
        match &self.pair {
            Pair::Rsa(pair) => rsa(pair, &RSA_PKCS1_SHA256),
            Pair::Pss(pair) => rsa(pair, &RSA_PSS_SHA256),
            Pair::Ecdsa(pair) => Some(pair.sign(&random, text).ok()?.as_ref().to_vec()),
            Pair::Ed25519(pair) => Some(pair.sign(text).as_ref().to_vec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use ring::signature::{self, KeyPair, UnparsedPublicKey};

    use super::*;

    #[test]
    fn what_a_key_signs_is_verified_by_its_public_half_and_it_is_for_its_own_algorithm_only() {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let ecdsa = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let ed25519 = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, ecdsa.as_ref(), &random).unwrap();
        let public = UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, pair.public_key());
        let key = ClientKey::read("ES256", ecdsa.as_ref(), None).unwrap();
        public.verify(b"text", &key.sign(b"text").unwrap()).unwrap();
        let pair = Ed25519KeyPair::from_pkcs8(ed25519.as_ref()).unwrap();
        let public = UnparsedPublicKey::new(&signature::ED25519, pair.public_key());
        let key = ClientKey::read("EdDSA", ed25519.as_ref(), Some("k".to_owned())).unwrap();
        public.verify(b"text", &key.sign(b"text").unwrap()).unwrap();
        assert_eq!((key.algorithm(), key.id()), ("EdDSA", Some("k")));
        for (algorithm, key) in [
            ("RS256", &ecdsa),
            ("PS256", &ecdsa),
            ("EdDSA", &ecdsa),
            ("ES256", &ed25519),
            ("none", &ecdsa),
        ] {
            assert!(ClientKey::read(algorithm, key.as_ref(), None).is_none(), "{algorithm}");
        }
    }
}
