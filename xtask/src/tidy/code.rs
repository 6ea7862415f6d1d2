//! Which part of a Rust file is code?
//!
//! Blanks comments and literals, so that a name rule does not trip over prose or test data. It knows just enough of
//! the grammar for that: it never fails, and a file that rustc would refuse only gives a poorer answer.

/// The text with each comment and literal replaced by a space; line breaks stay where they were.
pub(super) fn code_only(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut previous = ' ';
    while let Some(c) = rest.chars().next() {
        let opaque = opaque_len(rest, is_ident(previous));
        let (head, tail) = rest.split_at_checked(opaque.unwrap_or(c.len_utf8())).unwrap_or((rest, ""));
        if opaque.is_some() {
            out.push(' ');
            out.extend(head.chars().filter(|c| *c == '\n'));
            previous = ' ';
        } else {
            out.push(c);
            previous = c;
        }
        rest = tail;
    }
    out
}

/// The part of `code` before its tests.
pub(super) fn before_tests(code: &str) -> &str {
    code.split_once("#[cfg(test)]").map_or(code, |(before, _)| before)
}

/// The identifiers and keywords of one line, in order.
pub(super) fn identifiers(line: &str) -> Vec<&str> {
    line.split(|c| !is_ident(c)).filter(|word| !word.is_empty()).collect()
}

pub(super) fn is_ident(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// How many bytes the comment or literal at the start of `rest` takes, if there is one.
fn opaque_len(rest: &str, inside_ident: bool) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return Some(block_comment_len(rest));
    }
    if rest.starts_with('"') {
        return Some(quoted_len(rest, '"'));
    }
    if rest.starts_with('\'') {
        return char_len(rest);
    }
    if inside_ident { None } else { raw_string_len(rest) }
}

fn block_comment_len(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(tail) = rest.get(at..).filter(|tail| !tail.is_empty()) {
        if tail.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if tail.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += tail.chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

fn quoted_len(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

/// A lifetime starts like a character literal but has no closing quote two characters on.
fn char_len(rest: &str) -> Option<usize> {
    let mut chars = rest.chars().skip(1);
    let first = chars.next()?;
    let literal = first == '\\' || chars.next() == Some('\'');
    literal.then(|| quoted_len(rest, '\''))
}

fn raw_string_len(rest: &str) -> Option<usize> {
    let unprefixed = rest.strip_prefix(['b', 'c']).unwrap_or(rest);
    let fence = unprefixed.strip_prefix('r')?;
    let body = fence.trim_start_matches('#');
    let hashes = fence.len() - body.len();
    let close = format!("\"{}", "#".repeat(hashes));
    let content = body.strip_prefix('"')?;
    let opened = rest.len() - content.len();
    Some(content.find(&close).map_or(rest.len(), |at| opened + at + close.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let code = code_only(text);
        let words: Vec<&str> = code.lines().flat_map(identifiers).collect();
        assert_eq!(words.join(" "), expected, "{text}");
    }

    #[test]
    fn comments_are_not_code() {
        check("let a; // struct B\nlet c;", "let a let c");
        check("a /* b /* c */ d */ e", "a e");
        check("a /* never closed", "a");
    }

    #[test]
    fn literals_are_not_code() {
        check(r#"a("b \" c") d"#, "a d");
        check(r##"a(r#"b " c"#) d"##, "a d");
        check(r##"a(br#"b " c"#) d"##, "a d");
        check(r"a('b') '\'' c '\u{41}' d", "a c d");
        check("a(\"never closed", "a");
    }

    #[test]
    fn lifetimes_and_raw_identifiers_are_code() {
        check("fn f<'a>(x: &'a str, y: &'static str)", "fn f a x a str y static str");
        check("let r#type = for_r;", "let r type for_r");
    }

    #[test]
    fn line_breaks_stay() {
        assert_eq!(code_only("a\n\"b\nc\"\n/*\n\n*/d").lines().count(), 6);
    }

    #[test]
    fn tests_come_last() {
        assert_eq!(before_tests("a\n#[cfg(test)]\nb"), "a\n");
        assert_eq!(before_tests("a"), "a");
    }
}
