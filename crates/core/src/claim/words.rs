//! A text as sentences of plain words: contractions undone, punctuation gone, quotations known, assurances left out.

/// A longer word is noise and is cut.
const WORD_BYTES_MAX: usize = 64;
/// Words that are looked at; what follows is topic no longer.
const WORDS_MAX: usize = 4_096;

/// Words before a colon that are a label.
const LABEL_WORDS_MAX: usize = 5;
/// Words before an equals sign that name what equals.
const NAMED_WORDS_MAX: usize = 8;

/// Labels that say nothing of what follows.
const NOTE_LABELS: [&str; 7] = ["note", "fyi", "update", "info", "nb", "heads-up", "reminder"];

/// One word of a sentence.
#[derive(Debug, Clone, Default)]
pub(super) struct Word {
    /// In lower case, without punctuation around it.
    pub(super) text: String,
    /// It began with a capital.
    pub(super) capital: bool,
    /// It ended in 's.
    pub(super) owner: bool,
    /// A comma, a colon or a bracket follows.
    pub(super) stop: bool,
    /// It stands in quotation marks.
    pub(super) quoted: bool,
}

/// One sentence.
#[derive(Debug, Clone, Default)]
pub(super) struct Sentence {
    pub(super) words: Vec<Word>,
    /// It ends in a question mark.
    pub(super) asks: bool,
    /// It goes on behind a semicolon.
    pub(super) continues: bool,
}

/// The sentences of a text.
pub(super) fn sentences(text: &str) -> Vec<Sentence> {
    let mut reading = Reading::default();
    for line in text.lines() {
        let mut chunks = line.split_whitespace().peekable();
        while let Some(chunk) = chunks.next() {
            if reading.seen >= WORDS_MAX {
                return reading.done();
            }
            reading.chunk(chunk, chunks.peek().copied());
        }
        reading.end(false);
        reading.current.continues = false;
    }
    reading.done()
}

#[derive(Default)]
struct Reading {
    sentences: Vec<Sentence>,
    current: Sentence,
    quoted: bool,
    seen: usize,
}

impl Reading {
    fn chunk(&mut self, chunk: &str, next: Option<&str>) {
        let opened = chunk.trim_start_matches(opens);
        if chunk.len() > opened.len() && chunk.starts_with(['"', '“', '«', '(', '[']) {
            self.quoted |= chunk.starts_with(['"', '“', '«']);
            self.break_before();
        }
        let body = opened.trim_end_matches(closes);
        let tail = opened.get(body.len()..).unwrap_or_default();
        let quoted = self.quoted;
        for (at, part) in parts(body).enumerate() {
            if at > 0 {
                self.colon(LABEL_WORDS_MAX);
            }
            let (count, rest) = counted(part).unwrap_or((part, ""));
            self.word(count, quoted);
            self.word(rest, quoted);
        }
        if tail.contains(['"', '”', '»']) {
            self.quoted = false;
        }
        if tail.contains([',', ':', ')', ']', '…', '—']) || is_dash(chunk) {
            self.break_before();
        }
        if tail.contains(':') {
            self.colon(LABEL_WORDS_MAX);
        }
        if chunk == "=" {
            self.colon(NAMED_WORDS_MAX);
        }
        if ends_sentence(body, tail, next) {
            self.end(tail.contains('?'));
            self.current.continues = tail.contains(';');
        }
    }

    /// A colon after the first few words of a sentence says what they are.
    fn colon(&mut self, most: usize) {
        // "Note: the deploy failed" says no more than "The deploy failed".
        if matches!(self.current.words.as_slice(), [only] if NOTE_LABELS.contains(&only.text.as_str())) {
            self.current.words.clear();
            return;
        }
        let few = (1..=most).contains(&self.current.words.len());
        if let (true, Some(last)) = (few, self.current.words.last_mut()) {
            last.stop = false;
            self.current.words.push(Word { text: ":".to_owned(), ..Word::default() });
        }
    }

    /// Pushes a word, taken apart where it is a contraction.
    fn word(&mut self, part: &str, quoted: bool) {
        let capital = part.chars().next().is_some_and(char::is_uppercase);
        let lower = match cut(part) {
            whole if whole.len() == part.len() => whole.to_lowercase().replace('’', "'"),
            // What is cut off still counts.
            front => format!("{}~{:x}", front.to_lowercase(), super::hash64(0, part.as_bytes())),
        };
        let mut push = |text: &str, owner: bool| {
            let text = text.trim_matches('\'');
            if !text.is_empty() {
                let word = Word { text: text.to_owned(), capital, owner, stop: false, quoted };
                self.current.words.push(word);
                self.seen += 1;
            }
        };
        if let Some((first, second)) = contraction(&lower) {
            push(first, false);
            push(second, false);
        } else if let Some(owner) = lower.strip_suffix("'s") {
            push(owner, true);
        } else {
            push(&lower, false);
        }
    }

    fn break_before(&mut self) {
        if let Some(last) = self.current.words.last_mut() {
            last.stop = true;
        }
    }

    fn end(&mut self, asks: bool) {
        if !self.current.words.is_empty() {
            let mut sentence = std::mem::take(&mut self.current);
            sentence.asks = asks;
            super::assurance::take_away(&mut sentence.words);
            self.sentences.push(sentence);
        }
    }

    fn done(mut self) -> Vec<Sentence> {
        self.end(false);
        self.sentences
    }
}

fn opens(c: char) -> bool {
    matches!(c, '"' | '\'' | '“' | '‘' | '«' | '(' | '[' | '{' | '*' | '_' | '`' | '•' | '·' | '—')
}

fn closes(c: char) -> bool {
    opens(c) || matches!(c, '.' | ',' | ';' | ':' | '!' | '?' | '”' | '’' | '»' | ')' | ']' | '}' | '…')
}

fn is_dash(chunk: &str) -> bool {
    chunk.chars().all(|c| matches!(c, '-' | '–' | '—'))
}

/// The words of a chunk without blanks: `port=8080` and `port:8080` are two.
fn parts(body: &str) -> impl Iterator<Item = &str> {
    let address = body.contains("://") || body.contains('@');
    let clock = body.starts_with(|c: char| c.is_ascii_digit());
    let splits = move |c: char| !address && (c == '=' || c == '—' || (c == ':' && !clock));
    body.split(splits).filter(|part| !part.is_empty() && !is_dash(part))
}

/// "3-bedroom" is a number and a word.
fn counted(part: &str) -> Option<(&str, &str)> {
    let (count, rest) = part.split_once('-')?;
    let is_number = !count.is_empty() && count.chars().all(|c| c.is_ascii_digit());
    (is_number && rest.starts_with(char::is_alphabetic)).then_some((count, rest))
}

fn contraction(lower: &str) -> Option<(&str, &str)> {
    const SUBJECTS: [&str; 11] =
        ["it", "he", "she", "that", "there", "what", "who", "here", "where", "how", "this"];
    match lower {
        "cannot" | "can't" => return Some(("can", "not")),
        "won't" => return Some(("will", "not")),
        "ain't" => return Some(("is", "not")),
        "shan't" => return Some(("shall", "not")),
        _ => {}
    }
    let ends =
        [("n't", "not"), ("'re", "are"), ("'ve", "have"), ("'ll", "will"), ("'m", "am"), ("'d", "would")];
    let found = ends.iter().find_map(|(end, word)| Some((lower.strip_suffix(end)?, *word)));
    found.or_else(|| lower.strip_suffix("'s").filter(|base| SUBJECTS.contains(base)).map(|base| (base, "is")))
}

fn ends_sentence(body: &str, tail: &str, next: Option<&str>) -> bool {
    if tail.contains(['!', '?', ';']) {
        return true;
    }
    let starts = |c: char| c.is_uppercase() || c.is_ascii_digit() || opens(c) || !c.is_alphanumeric();
    tail.contains('.')
        && next.is_none_or(|next| next.starts_with(starts) || !next.is_ascii())
        && !is_abbreviation(body)
}

fn is_abbreviation(body: &str) -> bool {
    const KNOWN: [&str; 14] =
        ["mr", "mrs", "ms", "dr", "st", "vs", "e.g", "i.e", "approx", "no", "prof", "jr", "etc", "mt"];
    let single = body.chars().count() == 1 && body.chars().all(char::is_uppercase);
    single || KNOWN.iter().any(|known| known.eq_ignore_ascii_case(body))
}

fn cut(word: &str) -> &str {
    let mut end = word.len().min(WORD_BYTES_MAX);
    while !word.is_char_boundary(end) {
        end -= 1;
    }
    word.get(..end).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let found: Vec<String> = sentences(text)
            .iter()
            .map(|sentence| sentence.words.iter().map(|w| w.text.as_str()).collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn sentences_are_told_apart() {
        check("Dr. Li isn't in. Is she? Yes; no.", &["dr li is not in", "is she", "yes", "no"]);
        check("port=8080, at 10:30 (v1.2)", &["port : 8080 at 10:30 v1.2"]);
        check("Bob's dogs' bowl — “it’s red”", &["bob dogs bowl it is red"]);
        check("a 3-bedroom flat, 555-1234, 2x4-inch", &["a 3 bedroom flat 555-1234 2x4-inch"]);
        check("", &[]);
        check("... ?!", &[]);
    }
}
