use serde_json::Value;

use super::*;

const NOW: i64 = 1_440_938_160; // 2015-08-30T12:36:00Z, the time of AWS's suite
const KEY: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

fn sigv4(service: &str, session_token: Option<&str>) -> SigV4 {
    SigV4 {
        access_key_id: "AKIDEXAMPLE".to_owned(),
        secret_access_key: KEY.to_owned(),
        session_token: session_token.map(str::to_owned),
        region: "us-east-1".to_owned(),
        service: service.to_owned(),
    }
}

/// What becomes of a request: its URL, and its headers by name.
fn applied(
    auth: &Auth,
    method: &str,
    url: &str,
    body: &str,
    headers: HeaderMap,
) -> (Uri, HeaderMap) {
    let (method, mut uri) = (method.parse().unwrap(), url.parse().unwrap());
    let mut headers = headers;
    let request =
        Unproven { method: &method, uri: &mut uri, headers: &mut headers, body: body.as_bytes() };
    auth.apply(request, NOW).unwrap();
    (uri, headers)
}

fn post(auth: &Auth, body: &str) -> (Uri, HeaderMap) {
    applied(auth, "POST", "https://a.test/hook?x=1", body, HeaderMap::new())
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> &'h str {
    str::from_utf8(headers[name].as_bytes()).unwrap()
}

/// The published suite of Signature Version 4, as far as requests are such as an endpoint can have.
#[test]
fn requests_are_signed_as_in_the_suite_of_aws() {
    let cases: Value = serde_json::from_str(include_str!("../../testdata/sigv4.json")).unwrap();
    let cases = cases.as_array().unwrap();
    assert!(cases.len() >= 19);
    for case in cases {
        let auth = Auth::SigV4(sigv4("service", case["session_token"].as_str()));
        let url = format!("https://example.amazonaws.com{}", case["path"].as_str().unwrap());
        let (_, headers) =
            applied(&auth, case["method"].as_str().unwrap(), &url, "", HeaderMap::new());
        assert_eq!(text(&headers, "authorization"), case["authorization"], "{case}");
        assert_eq!(text(&headers, "x-amz-date"), "20150830T123600Z");
        let token = headers.get("x-amz-security-token").map(|token| token.to_str().unwrap());
        assert_eq!(token, case["session_token"].as_str());
        assert!(!headers.contains_key("x-amz-content-sha256"));
    }
}

/// The examples of AWS's guide to S3 (GET Bucket Lifecycle), and those of its own library for paths that are encoded.
#[test]
fn paths_and_bodies_are_signed_as_the_service_has_them() {
    let own = SigV4 { secret_access_key: "ANOTREAL".to_owned(), ..sigv4("service", None) };
    assert_eq!(own.path("/test/@connections/JBD%3D"), "/test/%40connections/JBD%253D");
    assert_eq!(own.path("/a/b/../c/"), "/a/c/");
    assert_eq!(sigv4("s3", None).path("//a/../%20/"), "//a/../%20/");

    let own = SigV4 {
        access_key_id: "AKIAIOSFODNN7EXAMPLE".to_owned(),
        secret_access_key: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned(),
        ..sigv4("s3", None)
    };
    let (method, mut uri) =
        (Method::GET, "https://examplebucket.s3.amazonaws.com/?lifecycle".parse().unwrap());
    let (mut headers, at) = (HeaderMap::new(), 1_369_353_600);
    let request = Unproven { method: &method, uri: &mut uri, headers: &mut headers, body: b"" };
    Auth::SigV4(own).apply(request, at).unwrap();
    assert!(text(&headers, "authorization").ends_with(
        "SignedHeaders=host;x-amz-content-sha256;x-amz-date, \
         Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"
    ));
    assert_eq!(
        text(&headers, "x-amz-content-sha256"),
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    );
}

#[test]
fn body_content_type_and_port_are_signed() {
    let auth = Auth::SigV4(sigv4("events", None));
    let signed = |url: &str, body: &str, content_type: &str| {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", content_type.parse().unwrap());
        headers.insert("x-other", content_type.parse().unwrap());
        text(&applied(&auth, "POST", url, body, headers).1, "authorization").to_owned()
    };
    let one = signed("http://a.test/", "{}", "application/json");
    assert!(one.contains("SignedHeaders=content-type;host;x-amz-date,"), "{one}");
    assert_eq!(signed("http://a.test:80/", "{}", "application/json"), one);
    for (url, body, content_type) in [
        ("http://a.test:8080/", "{}", "application/json"),
        ("http://a.test:443/", "{}", "application/json"),
        ("http://a.test/", "{ }", "application/json"),
        ("http://a.test/", "{}", "text/plain"),
        ("http://a.test/?a", "{}", "application/json"),
    ] {
        assert_ne!(signed(url, body, content_type), one, "{url} {body} {content_type}");
    }
}

#[test]
fn users_tokens_and_keys_stand_where_they_belong() {
    // RFC 7617, sections 2 and 2.1.
    let basic = Auth::basic("Aladdin", "open sesame").unwrap();
    assert_eq!(text(&post(&basic, "").1, "authorization"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    let basic = Auth::basic("test", "123\u{a3}").unwrap();
    assert_eq!(text(&post(&basic, "").1, "authorization"), "Basic dGVzdDoxMjPCow==");
    assert_eq!(text(&post(&Auth::basic("k", "").unwrap(), "").1, "authorization"), "Basic azo=");
    assert_eq!(Auth::basic("a:b", "").unwrap_err(), AuthError::Colon);

    let bearer = Auth::bearer("mF_9.B5f-4.1JqM");
    assert_eq!(text(&post(&bearer, "").1, "authorization"), "Bearer mF_9.B5f-4.1JqM");
    let key = Auth::api_key(&HeaderName::from_static("x-key"), "k é");
    assert_eq!(text(&post(&key, "").1, "x-key"), "k é");
    let key = Auth::query("api key", "a&b=ü+");
    assert_eq!(post(&key, "").0, "https://a.test/hook?x=1&api%20key=a%26b%3D%C3%BC%2B");
    let (uri, headers) = applied(&key, "POST", "https://a.test", "", HeaderMap::new());
    assert_eq!(uri, "https://a.test/?api%20key=a%26b%3D%C3%BC%2B");
    assert!(headers.is_empty());
}

/// RFC 4231, test case 2, and RFC 2202, test case 2, with another digest.
#[test]
fn a_body_has_its_hmac() {
    let sha256 = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
    let sha1 = "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79";
    for (digest, encoding, prefix, expected) in [
        (Digest::Sha256, Encoding::Hex, "sha256=", format!("sha256={sha256}")),
        (Digest::Sha256, Encoding::Base64, "", STANDARD.encode(hex::decode(sha256).unwrap())),
        (Digest::Sha1, Encoding::Hex, "", sha1.to_owned()),
    ] {
        let auth = Auth::Hmac(Hmac {
            header: HeaderName::from_static("x-mac"),
            key: hmac::Key::new(Hmac::algorithm(digest), b"Jefe"),
            encoding,
            prefix: prefix.to_owned(),
        });
        let (_, headers) = post(&auth, "what do ya want for nothing?");
        assert_eq!(text(&headers, "x-mac"), expected);
    }
}

#[test]
fn what_stood_in_the_place_of_its_headers_is_gone() {
    let mut headers = HeaderMap::new();
    headers.append("authorization", "Bearer theirs".parse().unwrap());
    headers.append("authorization", "Bearer theirs too".parse().unwrap());
    headers.append("x-amz-security-token", "theirs".parse().unwrap());
    let (_, bearer) = applied(&Auth::bearer("x"), "POST", "http://a.test/", "", headers.clone());
    assert_eq!(bearer.get_all("authorization").iter().count(), 1);
    assert_eq!(bearer["authorization"], "Bearer x");
    assert!(bearer["authorization"].is_sensitive());
    let signed = Auth::SigV4(sigv4("events", None));
    let (_, signed) = applied(&signed, "POST", "http://a.test/", "", headers);
    assert!(!signed.contains_key("x-amz-security-token"));
    assert!(text(&signed, "authorization").starts_with("AWS4"));
}

#[test]
fn a_request_has_no_more_headers_than_it_may() {
    let mut headers = HeaderMap::new();
    for number in 0..HEADERS_MAX {
        headers.insert(HeaderName::try_from(format!("x-{number}")).unwrap(), number.into());
    }
    let (method, mut uri) = (Method::POST, "http://a.test/".parse().unwrap());
    let request = Unproven { method: &method, uri: &mut uri, headers: &mut headers, body: b"" };
    assert_eq!(Auth::bearer("x").apply(request, NOW), Err(HeaderError::TooMany));
}

#[test]
fn nothing_of_it_is_shown() {
    let hidden = |auth: &Auth| {
        let mut headers = vec![
            ("authorization".to_owned(), "theirs".to_owned()),
            ("x-a".to_owned(), "a".to_owned()),
        ];
        let mut url = "https://a.test/?b=c".to_owned();
        auth.hide(&mut url, &mut headers, "…");
        headers.sort();
        let headers: Vec<_> = headers.iter().map(|(n, v)| format!("{n}: {v}")).collect();
        (url, headers.join(", "))
    };
    let plain = || "https://a.test/?b=c".to_owned();
    for (auth, url, headers) in [
        (Auth::bearer("secret"), plain(), "authorization: …, x-a: a"),
        (
            Auth::query("key", "secret"),
            "https://a.test/?b=c&key=…".to_owned(),
            "authorization: theirs, x-a: a",
        ),
        (Auth::SigV4(sigv4("events", None)), plain(), "authorization: …, x-a: a, x-amz-date: …"),
        (
            Auth::SigV4(sigv4("s3", Some("secret"))),
            plain(),
            "authorization: …, x-a: a, x-amz-content-sha256: …, x-amz-date: …, x-amz-security-token: …",
        ),
    ] {
        assert_eq!(hidden(&auth), (url, headers.to_owned()));
        assert!(!format!("{auth:?}").contains("secret"));
    }
    assert!(!format!("{:?}", post(&Auth::bearer("secret"), "").1).contains("secret"));
}
