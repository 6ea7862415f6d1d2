//! Does a model behind an endpoint keep its promises, whatever the endpoint does?
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a failure is a panic")]

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;
use tabellion_engine::ports::EmbedError;
use tabellion_models::{ApiKey, Choice, Endpoint, open};

const SECRET: &str = "sk-very-secret";
const TEXT: &str = "a private text";
const TIME_MAX: Duration = Duration::from_millis(600);

fn endpoint(url: String) -> Endpoint {
    Endpoint {
        url,
        model: "small".to_owned(),
        dimensions: 2,
        key: Some(ApiKey::new(SECRET.to_owned())),
        ca_cert: None,
        texts_max: 2,
        time_max: TIME_MAX,
    }
}

/// A server that gives these answers, one a connection, and tells what it was asked.
fn scripted(answers: Vec<String>) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let (tell, told) = channel();
    thread::spawn(move || {
        for answer in answers {
            let Ok((mut stream, _)) = listener.accept() else { return };
            tell.send(request(&mut stream)).ok();
            if answer.is_empty() {
                thread::sleep(TIME_MAX * 10);
            }
            stream.write_all(answer.as_bytes()).ok();
        }
    });
    (url, told)
}

fn request(stream: &mut TcpStream) -> String {
    let mut seen = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let read = stream.read(&mut buffer).unwrap_or(0);
        seen.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&seen).into_owned();
        let complete = text.split_once("\r\n\r\n").is_some_and(|(head, body)| {
            let length = head
                .lines()
                .find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            body.len() >= length.unwrap_or(0)
        });
        if read == 0 || complete {
            return text;
        }
    }
}

fn reply(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

fn ok(body: &str) -> String {
    reply("200 OK", body)
}

fn ask(answer: &str, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
    let (url, _told) = scripted(vec![answer.to_owned()]);
    open(Choice::Http(endpoint(url))).unwrap().embed(texts)
}

fn check_discreet(words: &str) {
    assert!(!words.contains(SECRET) && !words.contains(TEXT) && !words.contains("leak"), "{words}");
}

fn check_unavailable(answer: &str) {
    match ask(answer, &[TEXT]) {
        Err(EmbedError::Unavailable(words)) => check_discreet(&words),
        other => panic!("{answer}: {other:?}"),
    }
}

fn check_nonsense(answer: &str) {
    match ask(answer, &[TEXT]) {
        Err(EmbedError::Nonsense(words)) => check_discreet(&words),
        other => panic!("{answer:.200}: {other:?}"),
    }
}

#[test]
fn a_good_answer_gives_vectors_of_unit_length() {
    let (url, told) = scripted(vec![ok(r#"{"data":[{"index":0,"embedding":[3,4]}]}"#)]);
    let host = url.trim_start_matches("http://").trim_end_matches("/v1").to_owned();
    let model = open(Choice::Http(endpoint(url))).unwrap();
    assert_eq!(
        (model.model(), model.dimensions(), model.batch_texts_max()),
        (&*format!("small@{host}"), 2, 2)
    );
    assert_eq!(model.embed(&[TEXT]).unwrap(), [[0.6, 0.8]]);
    let asked = told.recv().unwrap();
    let (head, body) = asked.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /v1/embeddings HTTP/1.1\r\n"), "{head}");
    assert!(head.contains(&format!("authorization: Bearer {SECRET}")), "{head}");
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(body, serde_json::json!({ "model": "small", "input": [TEXT] }));
}

#[test]
fn vectors_come_in_the_order_of_the_texts() {
    let backwards = r#"{"data":[{"index":1,"embedding":[0,1]},{"index":0,"embedding":[1,0]}]}"#;
    assert_eq!(ask(&ok(backwards), &["a", "b"]).unwrap(), [[1.0, 0.0], [0.0, 1.0]]);
}

#[test]
fn many_texts_are_asked_in_several_requests() {
    let pair = r#"{"data":[{"index":1,"embedding":[0,1]},{"index":0,"embedding":[1,0]}]}"#;
    let last = r#"{"data":[{"index":0,"embedding":[-1,0]}]}"#;
    let (url, told) = scripted(vec![ok(pair), ok(last)]);
    let found = open(Choice::Http(endpoint(url))).unwrap().embed(&["a", "b", ""]).unwrap();
    assert_eq!(found, [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]);
    assert!(told.recv().unwrap().contains(r#"["a","b"]"#));
    assert!(told.recv().unwrap().contains(r#"[" "]"#));
}

#[test]
fn a_bad_answer_is_nonsense() {
    let bodies = [
        r#"{"data":[{"index":0,"embedding":[1,2,3]}]}"#,
        r#"{"data":[{"index":0,"embedding":[1,NaN]}]}"#,
        r#"{"data":[{"index":0,"embedding":["leak","leak"]}]}"#,
        r#"{"data":[{"index":0,"embedding":[0,0]}]}"#,
        r#"{"data":[{"index":1,"embedding":[1,0]}]}"#,
        r#"{"data":[]}"#,
        "<html>leak</html>",
        "",
    ];
    bodies.iter().for_each(|body| check_nonsense(&ok(body)));
}

#[test]
fn a_huge_answer_is_not_read_to_its_end() {
    let huge = format!(r#"{{"data":[{{"index":0,"embedding":[3,4]}}],"leak":"{}"}}"#, "x".repeat(1 << 20));
    check_nonsense(&ok(&huge));
}

#[test]
fn a_refusal_tells_whether_later_may_be_better() {
    for status in ["500 Oops", "502 Bad", "503 Busy", "429 Slow down", "408 Late"] {
        check_unavailable(&reply(status, "leak"));
    }
    for status in ["400 Bad", "401 Who", "403 No", "404 Where", "422 What"] {
        check_nonsense(&reply(status, "leak"));
    }
}

#[test]
fn texts_go_nowhere_else() {
    let (elsewhere, told) = scripted(vec![ok(r#"{"data":[{"index":0,"embedding":[3,4]}]}"#)]);
    for status in ["301 Moved", "302 Found", "307 There", "308 There"] {
        let head = format!("HTTP/1.1 {status}\r\nlocation: {elsewhere}/embeddings\r\n");
        check_nonsense(&format!("{head}connection: close\r\ncontent-length: 0\r\n\r\n"));
    }
    assert!(told.try_recv().is_err());
}

#[test]
fn an_endpoint_that_hangs_is_left_in_time() {
    let stalls = [String::new(), "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{".to_owned()];
    for stall in stalls {
        #[expect(clippy::disallowed_methods, reason = "the test is about time")]
        let start = std::time::Instant::now();
        let (url, _told) = hanging(stall);
        let found = open(Choice::Http(endpoint(url))).unwrap().embed(&[TEXT]);
        assert_eq!(found, Err(EmbedError::Unavailable("the endpoint took too long".to_owned())));
        assert!(start.elapsed() < TIME_MAX * 5, "{:?}", start.elapsed());
    }
}

/// A server that says this much and then nothing, without hanging up.
fn hanging(beginning: String) -> (String, Receiver<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (keep, kept) = channel();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        request(&mut stream);
        stream.write_all(beginning.as_bytes()).unwrap();
        keep.send(stream).ok();
    });
    (url, kept)
}

#[test]
fn an_endpoint_that_is_down_can_be_opened_but_not_asked() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let model = open(Choice::Http(endpoint(url))).unwrap();
    match model.embed(&[TEXT]) {
        Err(EmbedError::Unavailable(words)) => check_discreet(&words),
        other => panic!("{other:?}"),
    }
    assert_eq!(model.embed(&[]), Ok(Vec::new()));
}

#[test]
fn a_connection_cut_short_is_no_answer() {
    check_unavailable("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{");
}
