use ring::signature::{ED25519, UnparsedPublicKey};

use super::*;

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const PAIR: &str =
    "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==";
const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
const TIMESTAMP: i64 = 1_614_265_330;
/// The space shows that the bytes are signed as they are sent.
const BODY: &[u8] = br#"{"test": 2432232314}"#;

fn sign(keys: &[&str], id: &str, timestamp: i64, body: &[u8]) -> String {
    let keys: Vec<SigningKey> = keys.iter().map(|key| SigningKey::parse(key).unwrap()).collect();
    signatures(&keys, id, timestamp, body).unwrap().to_str().unwrap().to_owned()
}

/// The published examples of Standard Webhooks.
#[test]
fn the_vectors_of_the_standard_come_out() {
    let v1 = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
    let v1a = "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==";
    assert_eq!(sign(&[SECRET], ID, TIMESTAMP, BODY), v1);
    assert_eq!(sign(&[PAIR], ID, TIMESTAMP, BODY), v1a);
    assert_eq!(sign(&[SECRET, PAIR], ID, TIMESTAMP, BODY), format!("{v1} {v1a}"));
    let other = sign(
        &["whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"],
        "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk",
        1_649_367_553,
        br#"{"email":"test@example.com","username":"test_user"}"#,
    );
    assert_eq!(other, "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=");
}

#[test]
fn without_keys_nothing_is_signed() {
    assert!(signatures(&[], ID, TIMESTAMP, BODY).is_none());
}

#[test]
fn a_body_need_not_be_text() {
    let signature = sign(&[PAIR], ID, TIMESTAMP, &[0, 0xff, b'.']);
    let signature = STANDARD.decode(signature.strip_prefix("v1a,").unwrap()).unwrap();
    let public = SigningKey::parse(PAIR).unwrap().public_key().unwrap();
    assert_eq!(public, "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=");
    let public = STANDARD.decode(public.strip_prefix(PUBLIC_PREFIX).unwrap()).unwrap();
    let signed = [format!("{ID}.{TIMESTAMP}.").as_bytes(), &[0, 0xff, b'.']].concat();
    UnparsedPublicKey::new(&ED25519, public).verify(&signed, &signature).unwrap();
}

#[test]
fn a_pair_made_of_a_seed_signs() {
    let text = pair_from_seed(&[7; 32]);
    let key = SigningKey::parse(&text).unwrap();
    assert!(key.public_key().unwrap().starts_with(PUBLIC_PREFIX));
    assert!(!format!("{key:?}").contains(&text[5..20]));
}

#[test]
fn what_is_no_key_is_refused_without_being_told() {
    let of = |prefix: &str, length: usize| format!("{prefix}{}", STANDARD.encode(vec![1; length]));
    let cases = [
        (String::new(), KeyError::Prefix),
        ("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned(), KeyError::Prefix),
        ("WHSEC_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned(), KeyError::Prefix),
        (format!("{SECRET}\n"), KeyError::Base64),
        (format!("{SECRET} "), KeyError::Base64),
        ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa-_".to_owned(), KeyError::Base64),
        (of("whsec_", 25).trim_end_matches('=').to_owned(), KeyError::Base64),
        ("whsec_".to_owned(), KeyError::SymmetricLength),
        (of("whsec_", 23), KeyError::SymmetricLength),
        (of("whsec_", 65), KeyError::SymmetricLength),
        (of("whsk_", 32), KeyError::PairLength),
        // The public key is not that of the seed.
        (of("whsk_", 64), KeyError::Pair),
    ];
    for (text, error) in cases {
        assert_eq!(SigningKey::parse(&text).unwrap_err(), error, "{text}");
    }
    for length in [24, 32, 64] {
        SigningKey::parse(&of("whsec_", length)).unwrap();
    }
}

fn check(keys: &[&str], signatures: &str) -> Result<(), VerifyError> {
    let keys: Vec<_> = keys.iter().map(|key| VerifyingKey::parse(key).unwrap()).collect();
    let timestamp = TIMESTAMP.to_string();
    verify(&keys, Some(ID), Some(&timestamp), Some(signatures), BODY, TIMESTAMP)
}

/// The counter-examples of the standard's libraries, and what they let through.
#[test]
fn only_what_a_key_has_signed_verifies() {
    let v1 = sign(&[SECRET], ID, TIMESTAMP, BODY);
    let v1a = sign(&[PAIR], ID, TIMESTAMP, BODY);
    let public = SigningKey::parse(PAIR).unwrap().public_key().unwrap();
    for keys in
        [&[SECRET][..], &[&public, SECRET], &["whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD", SECRET]]
    {
        check(keys, &v1).unwrap();
        check(keys, &format!("v1,bad v2,bad {v1} v1,bad")).unwrap();
    }
    for keys in [&[public.as_str()][..], &[PAIR]] {
        check(keys, &format!("v1,bad {v1a}")).unwrap();
        assert_eq!(check(keys, &v1), Err(VerifyError::Signature));
    }
    let truncated = &v1[..v1.len() - 4];
    let of_the_raw_key = "v1,TcxlhK9b6UD6iVI1ZU2tTqp8PEVfYRseNNfa6b+LcUg=";
    let renamed = v1.replace("v1,", "v1a,");
    for wrong in ["", "v1,", "v1", truncated, of_the_raw_key, &renamed, &v1a] {
        assert_eq!(check(&[SECRET], wrong), Err(VerifyError::Signature), "{wrong}");
    }
    assert_eq!(check(&[], &v1), Err(VerifyError::Signature));
}

#[test]
fn what_is_old_or_incomplete_does_not_verify() {
    let keys = [VerifyingKey::parse(SECRET).unwrap()];
    let good = sign(&[SECRET], ID, TIMESTAMP, BODY);
    let at =
        |now: i64| verify(&keys, Some(ID), Some(&TIMESTAMP.to_string()), Some(&good), BODY, now);
    for now in [TIMESTAMP - 300, TIMESTAMP, TIMESTAMP + 300] {
        at(now).unwrap();
    }
    assert_eq!(at(TIMESTAMP + 301), Err(VerifyError::TooOld));
    assert_eq!(at(TIMESTAMP - 301), Err(VerifyError::TooNew));
    let timestamp = TIMESTAMP.to_string();
    let (id, time, signature) = (Some(ID), Some(timestamp.as_str()), Some(good.as_str()));
    let cases = [
        (None, time, signature, VerifyError::Missing("webhook-id")),
        (id, None, signature, VerifyError::Missing("webhook-timestamp")),
        (id, time, None, VerifyError::Missing("webhook-signature")),
        (id, Some("hello"), signature, VerifyError::Timestamp),
        (Some("msg_other"), time, signature, VerifyError::Signature),
    ];
    for (id, time, signature, error) in cases {
        assert_eq!(verify(&keys, id, time, signature, BODY, TIMESTAMP), Err(error));
    }
    let other = verify(&keys, id, time, signature, b"other", TIMESTAMP);
    assert_eq!(other, Err(VerifyError::Signature));
}
