use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn client(proof: Proof) -> Client {
    Client {
        id: "a b:c".to_owned(),
        proof,
        scope: "read write".to_owned(),
        audience: Some("https://api.test/".to_owned()),
        extra: vec![("resource".to_owned(), "x&y".to_owned())],
        token_url: "https://id.test/token".to_owned(),
    }
}

fn ask(proof: Proof) -> Question {
    client(proof).question(1_000, "nonce").unwrap()
}

#[test]
fn a_client_shows_its_secret_in_the_header_or_the_body() {
    let common = "grant_type=client_credentials&scope=read%20write&audience=https%3A%2F%2Fapi.test%2F&resource=x%26y";
    let basic = ask(Proof::Basic("s%c+".to_owned()));
    assert_eq!(basic.body, common);
    let expected = format!("Basic {}", STANDARD.encode("a%20b%3Ac:s%25c%2B"));
    assert_eq!(basic.authorization.unwrap(), expected.as_str());
    let post = ask(Proof::Post("s%c+".to_owned()));
    assert_eq!(post.body, format!("{common}&client_id=a%20b%3Ac&client_secret=s%25c%2B"));
    assert_eq!(post.authorization, None);
}

struct Key(Ed25519KeyPair);

impl Sign for Key {
    fn algorithm(&self) -> &'static str {
        "EdDSA"
    }

    fn id(&self) -> Option<&str> {
        Some("k1")
    }

    fn sign(&self, text: &[u8]) -> Option<Vec<u8>> {
        Some(self.0.sign(text).as_ref().to_vec())
    }
}

#[test]
fn a_client_signs_who_it_is() {
    let key = || Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
    let body = ask(Proof::Key(Box::new(Key(key())))).body;
    let kind = "urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer";
    assert!(
        body.contains(&format!("&client_id=a%20b%3Ac&client_assertion_type={kind}&")),
        "{body}"
    );
    let token = body.split("client_assertion=").nth(1).unwrap();
    let parts: Vec<&str> = token.split('.').collect();
    let decode = |text: &str| URL_SAFE_NO_PAD.decode(text).unwrap();
    let json = |text: &str| serde_json::from_slice::<serde_json::Value>(&decode(text)).unwrap();
    assert_eq!(json(parts[0]), json!({ "alg": "EdDSA", "typ": "JWT", "kid": "k1" }));
    assert_eq!(
        json(parts[1]),
        json!({
            "iss": "a b:c", "sub": "a b:c", "aud": "https://id.test/token", "jti": "nonce",
            "iat": 1_000, "exp": 1_120
        })
    );
    let signed = format!("{}.{}", parts[0], parts[1]);
    let public = UnparsedPublicKey::new(&ED25519, key().public_key().as_ref().to_vec());
    public.verify(signed.as_bytes(), &decode(parts[2])).unwrap();
}

#[test]
fn an_answer_has_a_token_or_says_why_not() {
    let read = |status, body: &str| {
        read(status, body.as_bytes())
            .map(|(value, life)| (value.to_str().unwrap().to_owned(), life.as_secs()))
            .map_err(|error| error.to_string())
    };
    for (status, body, expected) in [
        (
            200,
            r#"{"access_token":"t","token_type":"bearer","expires_in":60}"#,
            Ok(("Bearer t", 60)),
        ),
        (200, r#"{"access_token":"t","expires_in":"60","more":{}}"#, Ok(("Bearer t", 60))),
        (200, r#"{"access_token":"t","token_type":"Bearer"}"#, Ok(("Bearer t", 3_600))),
        (200, r#"{"access_token":"t","expires_in":-1}"#, Ok(("Bearer t", 3_600))),
        (200, r#"{"access_token":"t","expires_in":1e300}"#, Ok(("Bearer t", 3_600))),
        (200, r#"{"access_token":"t","expires_in":99999999}"#, Ok(("Bearer t", 604_800))),
        (
            200,
            r#"{"access_token":"t","token_type":"DPoP"}"#,
            Err("HTTP 200 with a token_type other than Bearer"),
        ),
        (
            200,
            r#"{"access_token":"a\r\nb: c"}"#,
            Err("HTTP 200 with an access_token that cannot be sent"),
        ),
        (200, r#"{"access_token":""}"#, Err("HTTP 200 with an access_token that cannot be sent")),
        (200, r#"{"error":"x"}"#, Err("HTTP 200 with no access_token")),
        (200, "hello", Err("HTTP 200 with no JSON object")),
        (
            401,
            r#"{"error":"invalid_client","error_description":"hush"}"#,
            Err("HTTP 401 (invalid_client)"),
        ),
        (400, r#"{"error":"in\u0007va<lid"}"#, Err("HTTP 400 (invalid)")),
        (503, "<html>", Err("HTTP 503")),
        (302, r#"{"access_token":"t"}"#, Err("HTTP 302")),
    ] {
        let expected =
            expected.map(|(value, life)| (value.to_owned(), life)).map_err(str::to_owned);
        assert_eq!(read(status, body), expected, "{status} {body}");
    }
}

fn take(tokens: &mut Tokens, at: Duration) -> u64 {
    tokens.take(HeaderValue::from_static("Bearer t"), 100 * SECOND, at);
    match tokens.standing(at) {
        Standing::Good(token) => token.generation,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_token_is_renewed_before_its_end() {
    let mut tokens = Tokens::default();
    assert!(matches!(tokens.standing(SECOND), Standing::Nothing));
    take(&mut tokens, SECOND);
    for (at, expected) in
        [(80, "Good(Token(1))"), (81, "Due(Token(1))"), (100, "Due(Token(1))"), (101, "Nothing")]
    {
        assert_eq!(format!("{:?}", tokens.standing(at * SECOND)), expected, "{at}");
    }
}

#[test]
fn the_first_refusal_ends_a_token_and_that_of_the_next_one_is_an_answer() {
    let mut tokens = Tokens::default();
    let one = take(&mut tokens, SECOND);
    tokens.note_accepted(one);
    for _ in 0..3 {
        assert_eq!(tokens.note_refused(one, SECOND), Refusal::Renew);
        assert!(matches!(tokens.standing(SECOND), Standing::Nothing));
    }
    let two = take(&mut tokens, SECOND);
    // What was sent with the old one ends nothing more.
    assert_eq!(tokens.note_refused(one, SECOND), Refusal::Renew);
    tokens.note_accepted(one);
    assert_eq!(tokens.note_refused(two, SECOND), Refusal::Final);
    assert_eq!(tokens.note_refused(two, SECOND), Refusal::Final);
    assert!(matches!(tokens.standing(SECOND), Standing::Good(_)));
    tokens.note_accepted(two);
    assert_eq!(tokens.note_refused(two, SECOND), Refusal::Renew);
}

#[test]
fn a_token_that_is_refused_is_renewed_once_a_minute() {
    let mut tokens = Tokens::default();
    let mut renewals = 0;
    let mut current = 0;
    for second in 0..600 {
        let now = second * SECOND;
        if let Standing::Nothing = tokens.standing(now) {
            tokens.take(HeaderValue::from_static("Bearer t"), 3_600 * SECOND, now);
            current += 1;
        }
        if tokens.note_refused(current, now) == Refusal::Renew {
            renewals += 1;
            assert!(matches!(tokens.standing(now), Standing::Nothing));
        }
    }
    // The first one at once.
    assert_eq!(renewals, 10);
    let mut tokens = Tokens::default();
    let one = take(&mut tokens, SECOND);
    tokens.note_refused(one, SECOND);
    let two = take(&mut tokens, SECOND);
    assert_eq!(tokens.note_refused(two, 60 * SECOND), Refusal::Final);
    assert_eq!(tokens.note_refused(two, 61 * SECOND), Refusal::Renew);
    assert_eq!(tokens.note_refused(two, 61 * SECOND), Refusal::Renew);
    // The client was repaired meanwhile.
    let three = take(&mut tokens, 61 * SECOND);
    tokens.note_accepted(three);
    assert_eq!(tokens.note_refused(three, 62 * SECOND), Refusal::Renew);
}
