//! The table of everything that a receiver may do wrong, and of what a dispatcher has to make of it.

use std::time::Duration;

use super::{
    Expected::{self, Accepted, AcceptedOr, Rejected, SomeAccepted, Unavailable},
    Frame, Kind,
    Step::{self, *},
    Stream, Wire,
    names::Answers::{self, *},
};

/// These do nothing wrong. They show what the work costs others that comes with those that do.
pub const READS_WHAT_IS_LARGE: &str = "reads what is large";
pub const ANSWERS_HTTP2: &str = "HTTP/2: answers";

/// Slow, and still well within every limit of time by itself.
const SLOW: Duration = Duration::from_secs(1);
const LARGE: usize = 2 * 1024 * 1024;
/// Longer than a run: whoever is deaf for so long has its connection open to the end.
const FOR_EVER: Duration = Duration::from_secs(86_400);

const DNS: &str = "DNS failure: the host name could not be resolved";
const CLOSED: Expected = Unavailable(&["the connection was closed before the answer was complete"]);
const RESET: Expected = Unavailable(&["connection reset"]);
const TIMEOUT: Expected = Unavailable(&["timeout: no answer within"]);
const NO_CONNECTION: Expected = Unavailable(&["timeout: no connection within"]);
const PROTOCOL: Expected = Unavailable(&["protocol error: "]);
const TLS: Expected = Unavailable(&["TLS failure: "]);
const TOO_MUCH: Expected = Unavailable(&["the destination sent more than it was asked for"]);
const BABBLE: Expected = Unavailable(&["protocol error: more than 32 informational answers"]);

const fn plain(name: &'static str, script: &'static [Step], expected: Expected) -> Kind {
    Kind {
        name,
        wire: Wire::Plain,
        script,
        expected,
        answers: None,
        payload_length: 0,
        is_once: false,
    }
}

const fn broken_tls(name: &'static str, script: &'static [Step], expected: Expected) -> Kind {
    Kind {
        name,
        wire: Wire::BrokenTls,
        script,
        expected,
        answers: None,
        payload_length: 0,
        is_once: false,
    }
}

const fn tls(name: &'static str, script: &'static [Step], expected: Expected) -> Kind {
    Kind {
        name,
        wire: Wire::Tls,
        script,
        expected,
        answers: None,
        payload_length: 0,
        is_once: false,
    }
}

const fn http2(name: &'static str, script: &'static [Step], expected: Expected) -> Kind {
    Kind {
        name,
        wire: Wire::Http2,
        script,
        expected,
        answers: None,
        payload_length: 0,
        is_once: false,
    }
}

/// A good receiver, of whose name the server of names says this.
const fn named(name: &'static str, answers: Answers, expected: Expected) -> Kind {
    Kind { answers: Some(answers), ..plain(name, GOOD, expected) }
}

const fn large(kind: Kind) -> Kind {
    Kind { payload_length: LARGE, ..kind }
}

const fn once(kind: Kind) -> Kind {
    Kind { is_once: true, ..kind }
}

const GOOD: &[Step] = &[Request, Say(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"), Again];
const HERE: [u8; 4] = [127, 0, 0, 1];
/// Not allowed, and nobody is there.
const INSIDE: [u8; 4] = [10, 255, 255, 1];

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

const fn connection(kind: u8, flags: u8, payload: &'static [u8]) -> Frame {
    Frame { kind, flags, stream: Stream::Connection, payload }
}

const fn request(kind: u8, flags: u8, payload: &'static [u8]) -> Frame {
    Frame { kind, flags, stream: Stream::Request, payload }
}

const SETTINGS: Frame = connection(4, 0, b"");
const PING: Frame = connection(6, 0, b"12345678");
/// `:status: 200`
const OK: Frame = request(1, END_HEADERS, b"\x88");
const OK_AND_END: Frame = request(1, END_HEADERS | END_STREAM, b"\x88");
/// `:status: 100`, `102` and `103`
const CONTINUE: Frame = request(1, END_HEADERS, b"\x08\x03100");
const PROCESSING: Frame = request(1, END_HEADERS, b"\x08\x03102");
const HINTS: Frame = request(1, END_HEADERS, b"\x08\x03103");
const DATA: Frame = request(0, 0, &[b'x'; 1024]);
const EMPTY_DATA: Frame = request(0, 0, b"");
const BYTE: Frame = request(0, 0, b"x");
/// Nothing of a request's body may be sent, ever: nobody widens this window of 0 bytes.
const NO_WINDOW: Frame = connection(4, 0, b"\0\x04\0\0\0\0");
/// No stream may be opened, ever.
const NO_STREAMS: Frame = connection(4, 0, b"\0\x03\0\0\0\0");
/// `x: y`, and there is more.
const MORE_HEADERS: Frame = request(9, 0, b"\0\x01x\x01y");
/// A piece of a value of 2^28 bytes, as long as a frame may be.
const MORE_VALUE: Frame = request(9, 0, &[b'x'; 16_384]);
/// The rest of a head or of trailers: a field of 4,000 bytes that is kept in HPACK's table, and named 10,000 times more
/// by a byte each. That is 40 MB.
const UNFOLDING: &[Frame] = &[
    request(9, 0, b"\x40\x01x\x7f\xa1\x1e"),
    request(9, 0, &[b'x'; 4_000]),
    request(9, END_HEADERS, &[0xbe; 10_000]),
];

/// A whole gzip of 50,000,401 NUL in 48,482 bytes: head, table of codes and a NUL, then 193,800 times "the same, 258
/// times more" in two bits of 0 each, then the end and the sums. Nothing shorter unfolds to as much.
const GZIP_HEAD: &[u8] =
    b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xed\xc0\x81\0\0\0\0\x80\xa0\xfd\xa9\x17\xa9";
const GZIP_THIRD: &[u8] = &[0; 16_150];
const GZIP_END: &[u8] = b"\x06\x55\x98\x2c\xad\x11\xf2\xfa\x02";
/// `:status: 200`, `content-encoding: gzip`
const GZIPPED: &[Frame] = &[
    request(1, END_HEADERS, b"\x88\x0f\x0b\x04gzip"),
    request(0, 0, GZIP_HEAD),
    request(0, 0, GZIP_THIRD),
    request(0, 0, GZIP_THIRD),
    request(0, 0, GZIP_THIRD),
    request(0, END_STREAM, GZIP_END),
];

const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

/// Every kind there is.
pub const KINDS: &[Kind] = &[
    // Connecting and TLS.
    plain("says nothing", &[Wait], TIMEOUT),
    plain("closes at once", &[], Unavailable(&[""])),
    plain("resets at once", &[Reset], Unavailable(&[""])),
    plain("reads and closes", &[Request], CLOSED),
    plain("reads and resets", &[Request, Reset], RESET),
    large(plain(READS_WHAT_IS_LARGE, GOOD, Accepted)),
    large(plain("does not read", &[Deaf(Duration::from_secs(20))], TIMEOUT)),
    large(plain(
        "does not read, and answers",
        &[Say(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"), Deaf(Duration::from_secs(5))],
        // If the sockets' buffers take the whole request, the connection is kept, and the next request
        // on it is not read for five seconds: it ends with the connection, or before that by its timeout.
        AcceptedOr(&[
            "received unexpected message",
            "timeout: no answer within",
            "the connection was closed before the answer was complete",
            "connection reset",
        ]),
    )),
    // These take nothing and keep their connections, whatever becomes of the other side.
    large(plain("does not read, and answers with a byte too many", &[Beginning, Say(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\nX"), Deaf(FOR_EVER)], Accepted)),
    large(plain("does not read, ever", &[Beginning, Deaf(FOR_EVER)], TIMEOUT)),
    large(plain("does not read, and promises a body", &[Beginning, Say(b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n"), Deaf(FOR_EVER)], Accepted)),
    large(tls("does not read, inside TLS", &[Beginning, Deaf(FOR_EVER)], TIMEOUT)),
    large(tls("does not read, and promises a body, inside TLS", &[Beginning, Say(b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n"), Deaf(FOR_EVER)], Accepted)),
    // Names. Who has failed is not asked for again at once.
    named("a name server that is dead", Silence, Unavailable(&["timeout: no connection within", DNS])),
    named("a name server that is slow", Late(SLOW), Accepted),
    named("no such name", Code(3), Unavailable(&[DNS])),
    named("a name server that fails", Code(2), Unavailable(&[DNS])),
    named("a name server that refuses", Code(5), Unavailable(&[DNS])),
    named("a name without addresses", Addresses(&[]), Unavailable(&[DNS])),
    named("a name server that answers nonsense", Garbage(&[0xff; 64]), Unavailable(&["timeout: no connection within", DNS])),
    named("a name of an internal address", Addresses(&[INSIDE]), Unavailable(&["address is internal"])),
    named("a name of many internal addresses", Addresses(&[INSIDE; 24]), Unavailable(&["address is internal"])),
    named("mixed addresses", Addresses(&[INSIDE, HERE, INSIDE]), Accepted),
    named("a name that changes its mind", Changing(&[HERE, INSIDE]), AcceptedOr(&["address is internal"])),
    named("an address where nobody is, first", Addresses(&[[127, 0, 0, 99], HERE]), Accepted),
    broken_tls("TLS: silence", &[Wait], NO_CONNECTION),
    broken_tls("TLS: closed", &[], Unavailable(&[""])),
    broken_tls("TLS: reset", &[Reset], Unavailable(&[""])),
    broken_tls("TLS: plain HTTP", &[Say(b"HTTP/1.1 400 Bad Request\r\n\r\n"), Wait], TLS),
    broken_tls("TLS: an alert", &[Say(&[21, 3, 3, 0, 2, 2, 40]), Wait], TLS),
    broken_tls("TLS: a flood of warnings", &[Flood(&[21, 3, 3, 0, 2, 1, 90])], TLS),
    broken_tls("TLS: a flood of NUL", &[Flood(&[0])], TLS),
    broken_tls("TLS: a flood of 0xff", &[Flood(&[0xff])], TLS),
    broken_tls("TLS: a huge handshake", &[Flood(&[22, 3, 3, 0, 4, 2, 255, 255, 255])], TLS),
    broken_tls("TLS: a record, a byte a second", &[Drip(&[22, 3, 3, 1, 0, 2, 0], SLOW)], NO_CONNECTION),
    // The line of the status.
    plain("another protocol", &[Request, Say(b"220 mail.example.com ESMTP\r\n\r\n"), Wait], PROTOCOL),
    plain("status 20", &[Request, Say(b"HTTP/1.1 20 OK\r\n\r\n"), Wait], PROTOCOL),
    plain("status 000", &[Request, Say(b"HTTP/1.1 000 OK\r\n\r\n"), Wait], PROTOCOL),
    plain("status 999", &[Request, Say(b"HTTP/1.1 999 OK\r\ncontent-length: 0\r\n\r\n"), Again], Unavailable(&["HTTP 999"])),
    plain("status 2000", &[Request, Say(b"HTTP/1.1 2000 OK\r\n\r\n"), Wait], PROTOCOL),
    plain("status -200", &[Request, Say(b"HTTP/1.1 -200 OK\r\n\r\n"), Wait], PROTOCOL),
    plain("status 2xx", &[Request, Say(b"HTTP/1.1 2xx OK\r\n\r\n"), Wait], PROTOCOL),
    plain("HTTP/9.9", &[Request, Say(b"HTTP/9.9 200 OK\r\ncontent-length: 0\r\n\r\n"), Wait], PROTOCOL),
    plain("HTTP/0.9", &[Request, Say(b"<html>200 OK</html>")], PROTOCOL),
    plain("HTTP/1.0", &[Request, Say(b"HTTP/1.0 200 OK\r\n\r\nok")], Accepted),
    plain("HTTP/2 unasked", &[Request, Say(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"), Wait], PROTOCOL),
    plain("frames of HTTP/2 unasked", &[Request, Say(b"\0\0\0\x04\0\0\0\0\0\0\0\0\x04\x01\0\0\0\0"), Wait], PROTOCOL),
    plain("a reason of NUL", &[Request, Say(b"HTTP/1.1 200 \0\0\r\n\r\n"), Wait], PROTOCOL),
    plain("a reason that is no UTF-8", &[Request, Say(b"HTTP/1.1 503 \xff\xfe\r\ncontent-length: 0\r\n\r\n"), Again], Unavailable(&["HTTP 503"])),
    plain("an endless reason", &[Request, Say(b"HTTP/1.1 200 "), Flood(b"x")], PROTOCOL),
    plain("empty lines for ever", &[Request, Flood(b"\r\n")], Unavailable(&[""])),
    plain("NUL for ever", &[Request, Flood(b"\0")], PROTOCOL),
    plain("0xff for ever", &[Request, Flood(b"\xff")], PROTOCOL),
    plain("half a head, closed", &[Request, Say(b"HTTP/1.1 200 OK\r\ncontent-le")], CLOSED),
    plain("half a head, reset", &[Request, Say(b"HTTP/1.1 200 OK\r\ncontent-le"), Reset], Unavailable(&[""])),
    plain("half a head, silence", &[Request, Say(b"HTTP/1.1 200 OK\r\ncontent-le"), Wait], TIMEOUT),
    plain("a head, a byte a second", &[Request, Say(b"HTTP/1.1 200 OK\r\nx: "), Drip(b"x", SLOW)], TIMEOUT),
    // Informational answers.
    plain("100 for ever", &[Request, Flood(b"HTTP/1.1 100 Continue\r\n\r\n")], BABBLE),
    plain("102 for ever", &[Request, Flood(b"HTTP/1.1 102 Processing\r\n\r\n")], BABBLE),
    plain("103 for ever", &[Request, Flood(b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n")], BABBLE),
    tls("103 for ever, inside TLS", &[Request, Flood(b"HTTP/1.1 103 Early Hints\r\n\r\n")], BABBLE),
    plain("103 and nothing else", &[Request, Say(b"HTTP/1.1 103 Early Hints\r\n\r\n"), Wait], TIMEOUT),
    plain("101", &[Request, Say(b"HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n"), Wait], Unavailable(&[""])),
    // Headers.
    plain("an endless header", &[Request, Say(b"HTTP/1.1 200 OK\r\nx: "), Flood(b"x")], PROTOCOL),
    plain("headers for ever", &[Request, Say(b"HTTP/1.1 200 OK\r\n"), Flood(b"x: y\r\n")], PROTOCOL),
    plain("a header without a name", &[Request, Say(b"HTTP/1.1 200 OK\r\n: x\r\n\r\n"), Wait], PROTOCOL),
    plain("a header without a colon", &[Request, Say(b"HTTP/1.1 200 OK\r\nx\r\n\r\n"), Wait], PROTOCOL),
    plain("a space before the colon", &[Request, Say(b"HTTP/1.1 200 OK\r\nx : y\r\n\r\n"), Wait], PROTOCOL),
    plain("a folded line", &[Request, Say(b"HTTP/1.1 200 OK\r\nx: y\r\n z\r\n\r\n"), Wait], PROTOCOL),
    plain("NUL in a header", &[Request, Say(b"HTTP/1.1 200 OK\r\nserver: a\0b\r\n\r\n"), Wait], PROTOCOL),
    plain("a header that is no UTF-8", &[Request, Say(b"HTTP/1.1 200 OK\r\nserver: \xff\xfe\r\ncontent-length: 0\r\n\r\n"), Again], Accepted),
    plain("a redirect", &[Request, Say(b"HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\ncontent-length: 0\r\n\r\n"), Again], Unavailable(&["redirects are not followed"])),
    plain("two lengths", &[Request, Say(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nok"), Wait], PROTOCOL),
    plain("a list of lengths", &[Request, Say(b"HTTP/1.1 200 OK\r\ncontent-length: 2, 3\r\n\r\nok"), Wait], PROTOCOL),
    plain("a negative length", &[Request, Say(b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n"), Wait], PROTOCOL),
    plain("a length of 2^64", &[Request, Say(b"HTTP/1.1 200 OK\r\ncontent-length: 18446744073709551616\r\n\r\n"), Wait], PROTOCOL),
    plain("a length of 2^64 - 1", &[Request, Say(b"HTTP/1.1 200 OK\r\ncontent-length: 18446744073709551615\r\n\r\n"), Wait], Unavailable(&[""])),
    plain("a length and chunks", &[Request, Say(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"), Again], Accepted),
    plain("an encoding that nobody knows", &[Request, Say(b"HTTP/1.1 200 OK\r\ntransfer-encoding: rot13\r\n\r\nbx")], Accepted),
    once(plain("Retry-After of 10^23", &[Request, Say(b"HTTP/1.1 503 x\r\nretry-after: 100000000000000000000000\r\ncontent-length: 0\r\n\r\n"), Wait], Unavailable(&["HTTP 503"]))),
    once(plain("Retry-After of the year 9999", &[Request, Say(b"HTTP/1.1 503 x\r\nretry-after: Fri, 31 Dec 9999 23:59:59 GMT\r\ncontent-length: 0\r\n\r\n"), Wait], Unavailable(&["HTTP 503"]))),
    plain("a negative Retry-After", &[Request, Say(b"HTTP/1.1 429 x\r\nretry-after: -1\r\ncontent-length: 0\r\n\r\n"), Again], Unavailable(&["HTTP 429"])),
    plain("Retry-After that is no UTF-8", &[Request, Say(b"HTTP/1.1 503 x\r\nretry-after: \xff\xfe\r\ncontent-length: 0\r\n\r\n"), Again], Unavailable(&["HTTP 503"])),
    plain("a refusal", &[Request, Say(b"HTTP/1.1 400 \xff\r\ncontent-length: 2\r\n\r\n\xff\0"), Again], Rejected("HTTP 400")),
    // Bodies. The status is known by then, and it decides.
    plain("204 with a body", &[Request, Say(b"HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\nhello"), Wait], Accepted),
    plain("a body of NUL and of no UTF-8", &[Request, Say(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n\0\xff\xc3("), Again], Accepted),
    plain("a body for ever", &[Request, Say(b"HTTP/1.1 200 OK\r\n\r\n"), Flood(b"x")], Accepted),
    plain("a refusal with a body for ever", &[Request, Say(b"HTTP/1.1 500 x\r\n\r\n"), Flood(b"x")], Unavailable(&["HTTP 500"])),
    plain("a body, a byte a second", &[Request, Say(b"HTTP/1.1 200 OK\r\n\r\n"), Drip(b"x", SLOW)], Accepted),
    plain("a body that is promised", &[Request, Say(b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n"), Wait], Accepted),
    plain("half a body", &[Request, Say(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf")], Accepted),
    plain("half a body, reset", &[Request, Say(b"HTTP/1.1 500 x\r\ncontent-length: 9\r\n\r\nhalf"), Reset], Unavailable(&[""])),
    plain("a compressed flood", &[Request, Say(b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n\x1f\x8b\x08\0\0\0\0\0\0\x03\xec\xc1\x01\x0d\0\0\0\xc2\xa0"), Flood(b"\0")], Accepted),
    plain("a small gzip of 50 MB", &[Request, Say(b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 48482\r\n\r\n"), Say(GZIP_HEAD), Say(GZIP_THIRD), Say(GZIP_THIRD), Say(GZIP_THIRD), Say(GZIP_END), Again], Accepted),
    plain("a chunk of no number", &[Request, Say(CHUNKED), Say(b"zz\r\n"), Wait], Accepted),
    plain("a negative chunk", &[Request, Say(CHUNKED), Say(b"-1\r\nx\r\n"), Wait], Accepted),
    plain("a chunk of 2^64", &[Request, Say(CHUNKED), Say(b"10000000000000000\r\nx"), Wait], Accepted),
    // The dearest bytes there are to take apart: with many such connections nobody gets another one within 2 s.
    plain("a chunk of endless zeros", &[Request, Say(CHUNKED), Flood(b"0")], SomeAccepted(&["timeout: no connection"])),
    plain("an endless chunk", &[Request, Say(CHUNKED), Say(b"7fffffffffffffff\r\n"), Flood(b"x")], Accepted),
    plain("chunks of a byte for ever", &[Request, Say(CHUNKED), Flood(b"1\r\nx\r\n")], Accepted),
    plain("an endless extension of a chunk", &[Request, Say(CHUNKED), Say(b"1;"), Flood(b"x")], Accepted),
    plain("extensions of chunks for ever", &[Request, Say(CHUNKED), Flood(b"1;a=b\r\nx\r\n")], Accepted),
    plain("trailers for ever", &[Request, Say(CHUNKED), Say(b"0\r\n"), Flood(b"x: y\r\n")], Accepted),
    plain("an endless trailer", &[Request, Say(CHUNKED), Say(b"0\r\nx: "), Flood(b"x")], Accepted),
    plain("a trailer of NUL", &[Request, Say(CHUNKED), Say(b"0\r\nx: \0\xff\r\n\r\n"), Wait], Accepted),
    plain("a trailer, a byte a second", &[Request, Say(CHUNKED), Say(b"0\r\nx: "), Drip(b"x", SLOW)], Accepted),
    // The second answer belongs to no request, or to the next one, if that is sent before it is looked at.
    plain("two answers to a request", &[Request, Say(b"HTTP/1.1 503 x\r\ncontent-length: 0\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"), Request, Wait], Unavailable(&["HTTP 503"])),
    plain("answers for ever", &[Request, Say(b"HTTP/1.1 503 x\r\ncontent-length: 0\r\n\r\n"), Flood(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")], AcceptedOr(&["HTTP 503"])),
    // HTTP/2. Requests share connections, so what is wrong with one may end others.
    http2(ANSWERS_HTTP2, &[Frames(&[SETTINGS]), Request, Frames(&[request(1, 4, b"\x88"), request(0, END_STREAM, b"ok")]), Again], Accepted),
    http2("HTTP/2: silence", &[Wait], TIMEOUT),
    http2("HTTP/2: closed", &[], Unavailable(&[""])),
    // What waits for its turn waits until its time is over, and for nothing.
    http2("HTTP/2: takes no streams", &[Greet(&[NO_STREAMS]), Wait], TIMEOUT),
    http2("HTTP/2: an answer of HTTP/1", &[Request, Say(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"), Wait], PROTOCOL),
    http2("HTTP/2: NUL for ever", &[Flood(b"\0")], Unavailable(&[""])),
    http2("HTTP/2: 0xff for ever", &[Flood(b"\xff")], PROTOCOL),
    http2("HTTP/2: pings for ever", &[Frames(&[SETTINGS]), Request, FloodFrames(&[PING])], TOO_MUCH),
    http2("HTTP/2: settings for ever", &[Frames(&[SETTINGS]), Request, FloodFrames(&[SETTINGS])], TOO_MUCH),
    http2("HTTP/2: unknown frames for ever", &[Frames(&[SETTINGS]), Request, FloodFrames(&[connection(99, 0, b"x")])], TOO_MUCH),
    http2("HTTP/2: priorities for ever", &[Frames(&[SETTINGS]), Request, FloodFrames(&[request(2, 0, b"\0\0\0\0\0")])], Unavailable(&["protocol error: ", "the connection failed"])),
    http2("HTTP/2: 100 for ever", &[Frames(&[SETTINGS]), Request, FloodFrames(&[CONTINUE])], TOO_MUCH),
    http2("HTTP/2: 102 for ever", &[Frames(&[SETTINGS]), Request, FloodFrames(&[PROCESSING])], TOO_MUCH),
    http2("HTTP/2: 103 for ever", &[Frames(&[SETTINGS]), Request, FloodFrames(&[HINTS])], TOO_MUCH),
    http2("HTTP/2: continuations for ever", &[Frames(&[SETTINGS]), Request, Frames(&[request(1, 0, b"\x88")]), FloodFrames(&[request(9, 0, b"\x08\x03103")])], PROTOCOL),
    http2("HTTP/2: headers for ever", &[Frames(&[SETTINGS]), Request, Frames(&[request(1, 0, b"\x88")]), FloodFrames(&[MORE_HEADERS])], PROTOCOL),
    http2("HTTP/2: an endless header", &[Frames(&[SETTINGS]), Request, Frames(&[request(1, 0, b"\x88\0\x01x\x7f\xff\xff\xff\x7f")]), FloodFrames(&[MORE_VALUE])], PROTOCOL),
    http2("HTTP/2: headers that unfold to 40 MB", &[Frames(&[SETTINGS]), Request, Frames(&[request(1, 0, b"\x88")]), Frames(UNFOLDING), Wait], PROTOCOL),
    // Where large ones take their turns, the connection is found dead in the end: nobody answers its pings.
    large(http2("HTTP/2: does not read", &[Frames(&[NO_WINDOW]), Request, Wait], Unavailable(&["timeout: no answer within", "timeout: the connection is dead"]))),
    large(http2("HTTP/2: does not read, and answers", &[Frames(&[NO_WINDOW]), Request, Frames(&[OK_AND_END]), Again], Accepted)),
    http2("HTTP/2: windows of 2^31", &[Frames(&[SETTINGS]), Request, FloodFrames(&[connection(8, 0, b"\x7f\xff\xff\xff")])], PROTOCOL),
    http2("HTTP/2: status 20", &[Frames(&[SETTINGS]), Request, Frames(&[request(1, 5, b"\x08\x0220")]), Wait], PROTOCOL),
    http2("HTTP/2: status 000", &[Frames(&[SETTINGS]), Request, Frames(&[request(1, 5, b"\x08\x03000")]), Wait], PROTOCOL),
    http2("HTTP/2: status 999", &[Frames(&[SETTINGS]), Request, Frames(&[request(1, 5, b"\x08\x03999")]), Again], Unavailable(&["HTTP 999"])),
    http2("HTTP/2: no status", &[Frames(&[SETTINGS]), Request, Frames(&[request(1, 5, b"\x00\x01x\x01y")]), Again], PROTOCOL),
    http2("HTTP/2: 101", &[Frames(&[SETTINGS]), Request, Frames(&[request(1, 4, b"\x08\x03101")]), Wait], Unavailable(&[""])),
    http2("HTTP/2: NUL in a header", &[Frames(&[SETTINGS]), Request, Frames(&[request(1, 5, b"\x88\x00\x01x\x01\x00")]), Wait], PROTOCOL),
    http2("HTTP/2: a table that is not there", &[Frames(&[SETTINGS]), Request, Frames(&[request(1, 5, b"\xff\xff\xff\x0f")]), Wait], PROTOCOL),
    http2("HTTP/2: a body before the head", &[Frames(&[SETTINGS]), Request, Frames(&[DATA]), Wait], PROTOCOL),
    http2("HTTP/2: a reset", &[Frames(&[SETTINGS]), Request, Frames(&[request(3, 0, b"\0\0\0\x02")]), Again], PROTOCOL),
    http2("HTTP/2: GOAWAY", &[Frames(&[SETTINGS]), Request, Frames(&[connection(7, 0, b"\0\0\0\0\0\0\0\x02bye\xff\0")]), Wait], PROTOCOL),
    once(http2("HTTP/2: Retry-After of 10^23", &[Frames(&[SETTINGS]), Request, Frames(&[request(1, 5, b"\x08\x03503\x0f\x26\x18100000000000000000000000")]), Wait], Unavailable(&["HTTP 503"]))),
    once(http2("HTTP/2: Retry-After of the year 9999", &[Frames(&[SETTINGS]), Request, Frames(&[request(1, 5, b"\x08\x03503\x0f\x26\x1dFri, 31 Dec 9999 23:59:59 GMT")]), Wait], Unavailable(&["HTTP 503"]))),
    http2("HTTP/2: a negative Retry-After", &[Frames(&[SETTINGS]), Request, Frames(&[request(1, 5, b"\x08\x03429\x0f\x26\x02-1")]), Again], Unavailable(&["HTTP 429"])),
    http2("HTTP/2: Retry-After that is no UTF-8", &[Frames(&[SETTINGS]), Request, Frames(&[request(1, 5, b"\x08\x03503\x0f\x26\x02\xff\xfe")]), Again], Unavailable(&["HTTP 503"])),
    http2("HTTP/2: two lengths", &[Frames(&[SETTINGS]), Request, Frames(&[request(1, 4, b"\x88\x0f\x0d\x012\x0f\x0d\x013")]), Again], PROTOCOL),
    http2("HTTP/2: a negative length", &[Frames(&[SETTINGS]), Request, Frames(&[request(1, 4, b"\x88\x0f\x0d\x02-1")]), Again], PROTOCOL),
    http2("HTTP/2: a length of 2^64", &[Frames(&[SETTINGS]), Request, Frames(&[request(1, 4, b"\x88\x0f\x0d\x1418446744073709551616")]), Again], PROTOCOL),
    http2("HTTP/2: a length and no body", &[Frames(&[SETTINGS]), Request, Frames(&[request(1, 5, b"\x88\x0f\x0d\x015")]), Again], PROTOCOL),
    http2("HTTP/2: a push", &[Frames(&[SETTINGS]), Request, Frames(&[request(5, 4, b"\0\0\0\x02\x88")]), Wait], PROTOCOL),
    // Of many requests that share a connection one has that stream.
    http2("HTTP/2: another's stream", &[Frames(&[SETTINGS]), Request, Frames(&[Frame { kind: 1, flags: 5, stream: Stream::Other(99), payload: b"\x88" }]), Wait], AcceptedOr(&["protocol error: ", "timeout: no answer within"])),
    http2("HTTP/2: a frame that is too long", &[Frames(&[SETTINGS]), Request, Say(b"\xff\xff\xff\0\0\0\0\0\x01"), Flood(b"x")], PROTOCOL),
    http2("HTTP/2: half a head", &[Frames(&[SETTINGS]), Request, Say(b"\0\0\x05\x01")], Unavailable(&[""])),
    http2("HTTP/2: half a head, silence", &[Frames(&[SETTINGS]), Request, Say(b"\0\0\x05\x01"), Wait], TIMEOUT),
    http2("HTTP/2: a head, a byte a second", &[Frames(&[SETTINGS]), Request, Say(b"\0\x40\0\x01\x04\0\0\0\x01"), Drip(b"\x88", SLOW)], TIMEOUT),
    http2("HTTP/2: 204 with a body", &[Frames(&[SETTINGS]), Request, Frames(&[request(1, 4, b"\x89\x0f\x0d\x015"), request(0, END_STREAM, b"hello")]), Again], Accepted),
    http2("HTTP/2: half a body", &[Frames(&[SETTINGS]), Request, Frames(&[request(1, 4, b"\x88\x0f\x0d\x019"), request(0, END_STREAM, b"half")]), Again], Accepted),
    http2("HTTP/2: more than its length", &[Frames(&[SETTINGS]), Request, Frames(&[request(1, 4, b"\x88\x0f\x0d\x012"), request(0, END_STREAM, b"hello")]), Again], Accepted),
    http2("HTTP/2: a body that is promised", &[Frames(&[SETTINGS]), Request, Frames(&[request(1, 4, b"\x88\x0f\x0d\x0b99999999999")]), Again], Accepted),
    // Answers that come faster than they are read overrun the window of their connection, and end it.
    http2("HTTP/2: a small gzip of 50 MB", &[Frames(&[SETTINGS]), Request, Frames(GZIPPED), Again], SomeAccepted(&["protocol error: ", "the destination sent more than"])),
    // One answer at a time: the other requests of its connection get none.
    http2("HTTP/2: a body, a byte a second", &[Frames(&[SETTINGS]), Request, Frames(&[OK]), DripFrames(&[BYTE], SLOW)], SomeAccepted(&["timeout: "])),
    http2("HTTP/2: trailers, a byte a second", &[Frames(&[SETTINGS]), Request, Frames(&[OK, DATA]), Say(b"\0\x40\0\x01\x05\0\0\0\x01"), Drip(b"\0", SLOW)], SomeAccepted(&["timeout: "])),
    http2("HTTP/2: trailers for ever", &[Frames(&[SETTINGS]), Request, Frames(&[OK, request(1, END_STREAM, b"\0\x01x\x01y")]), FloodFrames(&[MORE_HEADERS])], AcceptedOr(&["protocol error: "])),
    http2("HTTP/2: an endless trailer", &[Frames(&[SETTINGS]), Request, Frames(&[OK, request(1, END_STREAM, b"\0\x01x\x7f\xff\xff\xff\x7f")]), FloodFrames(&[MORE_VALUE])], AcceptedOr(&["protocol error: "])),
    http2("HTTP/2: trailers that unfold to 40 MB", &[Frames(&[SETTINGS]), Request, Frames(&[OK, request(1, END_STREAM, b"")]), Frames(UNFOLDING), Wait], AcceptedOr(&["protocol error: "])),
    http2("HTTP/2: a body for ever", &[Frames(&[SETTINGS]), Request, Frames(&[OK]), FloodFrames(&[DATA])], AcceptedOr(&["the destination sent more than"])),
    http2("HTTP/2: empty data for ever", &[Frames(&[SETTINGS]), Request, Frames(&[OK]), FloodFrames(&[EMPTY_DATA])], AcceptedOr(&["protocol error: "])),
    http2("HTTP/2: trailers of NUL", &[Frames(&[SETTINGS]), Request, Frames(&[OK, request(1, 5, b"\x00\x01x\x01\x00")]), Wait], AcceptedOr(&["protocol error: "])),
    // The second answer ends the connection, on a busy machine before the first one is looked at.
    http2("HTTP/2: two answers to a request", &[Frames(&[SETTINGS]), Request, Frames(&[OK_AND_END, OK_AND_END]), Again], AcceptedOr(&["protocol error: "])),
];

#[cfg(test)]
mod tests {
    use std::{
        io::{Seek, Write},
        process::Command,
    };

    use super::*;

    fn script(name: &str) -> &'static [Step] {
        KINDS.iter().find(|kind| kind.name == name).unwrap().script
    }

    #[test]
    fn the_small_gzip_is_whole_and_unfolds_to_50_mb() {
        let mut said = script("a small gzip of 50 MB").iter().filter_map(|step| match step {
            Say(bytes) => Some(*bytes),
            _ => None,
        });
        let head = String::from_utf8_lossy(said.next().unwrap());
        let gzip = said.collect::<Vec<_>>().concat();
        assert!(head.contains(&format!("\r\ncontent-length: {}\r\n", gzip.len())), "{head}");
        let frames = script("HTTP/2: a small gzip of 50 MB").iter().filter_map(|step| match step {
            Frames(frames) => Some(*frames),
            _ => None,
        });
        let data = frames.flatten().filter(|frame| frame.kind == 0).map(|frame| frame.payload);
        assert!(data.collect::<Vec<_>>().concat() == gzip, "another body over HTTP/2");

        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&gzip).unwrap();
        file.rewind().unwrap();
        let unfolded = Command::new("gzip").arg("-dc").stdin(file).output().unwrap();
        assert!(unfolded.status.success(), "{}", String::from_utf8_lossy(&unfolded.stderr));
        assert!(unfolded.stdout == vec![0; 50_000_401], "{} bytes", unfolded.stdout.len());
    }
}
