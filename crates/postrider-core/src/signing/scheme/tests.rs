use proptest::prelude::*;

use super::*;

const FIELDS: &[&str] = &["id", "timestamp", "body"];

#[test]
fn a_template_has_its_fields_and_no_other_braces() {
    for (text, fields, expected) in [
        ("{id}.{timestamp}.{body}", FIELDS, true),
        ("{body}{body}", FIELDS, true),
        ("{id}", FIELDS, false),
        ("", FIELDS, false),
        ("{{body}}", FIELDS, false),
        ("{body}{", FIELDS, false),
        ("{body}}", FIELDS, false),
        ("{body}{nonce}", FIELDS, false),
        ("t={timestamp},", &["id", "timestamp"], true),
        ("", &["id", "timestamp"], true),
        ("{body}", &["id", "timestamp"], false),
    ] {
        assert_eq!(is_template(text, fields), expected, "{text}");
    }
}

/// GitHub's own example: `X-Hub-Signature-256` of "Hello, World!".
#[test]
fn the_published_example_of_github_comes_out() {
    let signer = Signer::by_scheme(&preset("github"), ["raw:It's a Secret to Everybody"]).unwrap();
    let mut headers = HeaderMap::new();
    signer.sign(&mut headers, "msg_1", 1, b"Hello, World!").unwrap();
    let expected = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    assert_eq!(headers["x-hub-signature-256"], expected);
}

/// Slack's own example.
#[test]
fn the_published_example_of_slack_comes_out() {
    let signer =
        Signer::by_scheme(&preset("slack"), ["raw:8f742231b10e8888abcd99yyyzzz85a5"]).unwrap();
    let mut headers = HeaderMap::new();
    let body = b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V\
        &channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&\
        response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN\
        &trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
    signer.sign(&mut headers, "msg_1", 1_531_420_618, body).unwrap();
    let expected = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503";
    assert_eq!(headers["x-slack-signature"], expected);
    assert_eq!(headers["x-slack-request-timestamp"], "1531420618");
}

#[test]
fn a_key_that_does_not_sign_so_is_refused() {
    let pair = "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==";
    let error = Signer::by_scheme(&preset("stripe"), [pair]).unwrap_err();
    assert_eq!(error, SchemeError::Key(KeyError::NoText));
    let base64 = SchemeText { header: "x", has_base64_keys: true, ..PLAIN };
    let error = Signer::by_scheme(&base64, ["raw:not base64!"]).unwrap_err();
    assert_eq!(error, SchemeError::Key(KeyError::RawBase64));
    assert_eq!(SigningKey::parse("raw:12345678").unwrap_err(), KeyError::Raw);
    assert_eq!(SigningKey::parse("raw:1234567").unwrap_err(), KeyError::RawLength);
}

fn preset(name: &str) -> SchemeText<'static> {
    PRESETS.iter().find(|(known, _)| *known == name).unwrap().1
}

proptest! {
    /// What was read is what stands there.
    #[test]
    fn pieces_make_up_their_text(text in "([a-z{}.]|\\{id\\}|\\{body\\}|\\{timestamp\\}){0,12}") {
        let again: String = pieces(&text).into_iter().map(|piece| match piece {
            Piece::Text(text) => text,
            Piece::Id => "{id}".to_owned(),
            Piece::Timestamp => "{timestamp}".to_owned(),
            Piece::Body => "{body}".to_owned(),
        }).collect();
        prop_assert_eq!(again, text);
    }
}
