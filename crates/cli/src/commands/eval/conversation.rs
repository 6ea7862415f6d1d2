//! Labelled conversations as they lie in files: what was said, and which turns answer which question.
//!
//! Invariant (ingest is blind): turns and questions are apart, and answers are not even read, so nothing of a question can
//! find its way into what is remembered.

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// A conversation, and what is asked about it.
#[derive(Debug)]
pub(super) struct Conversation {
    /// Everything that was said, in order.
    pub(super) turns: Vec<Turn>,
    /// The questions that at least one turn answers.
    pub(super) questions: Vec<Question>,
    /// What somebody noted down of it, in order; not every file has that.
    pub(super) observations: Vec<Observation>,
}

/// A fact about somebody, and the turns that it was taken from.
#[derive(Debug, Clone)]
pub(super) struct Observation {
    pub(super) speaker: String,
    pub(super) text: String,
    pub(super) turns: BTreeSet<String>,
}

/// Something that was said.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) id: String,
    pub(super) session: String,
    pub(super) speaker: String,
    /// When its session took place, as RFC 3339.
    pub(super) time: String,
    pub(super) text: String,
}

/// What is asked, and where the answer is.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) text: String,
    pub(super) category: u8,
    /// The turns that hold the answer.
    pub(super) turns: BTreeSet<String>,
    /// The sessions that these turns are in.
    pub(super) sessions: BTreeSet<String>,
}

#[derive(Deserialize)]
struct File {
    sessions: Vec<FileSession>,
    qa: Vec<FileQuestion>,
    #[serde(default)]
    observations: Vec<FileObservation>,
}

#[derive(Deserialize)]
struct FileObservation {
    speaker: String,
    fact: String,
    #[serde(default)]
    evidence: BTreeSet<String>,
}

#[derive(Deserialize)]
struct FileSession {
    session: u32,
    date_time: String,
    turns: Vec<FileTurn>,
}

#[derive(Deserialize)]
struct FileTurn {
    dia_id: String,
    speaker: String,
    text: String,
    image_caption: Option<String>,
}

#[derive(Deserialize)]
struct FileQuestion {
    question: String,
    #[serde(default)]
    evidence: Vec<String>,
    category: u8,
}

/// Every conversation in a folder, by name of file.
pub(super) fn read_all(folder: &Path) -> Result<Vec<Conversation>> {
    let listing = std::fs::read_dir(folder).with_context(|| {
        format!(
            "cannot read {}; --data names the folder with the conversations, a JSON file each",
            folder.display()
        )
    })?;
    let mut paths = listing.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<PathBuf>>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    if paths.is_empty() {
        bail!("there is no .json file in {}; docs/eval.md says what it should hold", folder.display());
    }
    let read = |path: &PathBuf| {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        parse(&text).with_context(|| {
            format!(
                "{} is not a conversation; docs/eval.md shows one, mend the file or move it away",
                path.display()
            )
        })
    };
    paths.iter().map(read).collect()
}

fn parse(text: &str) -> Result<Conversation> {
    let file: File = serde_json::from_str(text)?;
    let mut turns = Vec::new();
    for session in file.sessions {
        let time = rfc3339(&session.date_time).with_context(|| {
            format!("date_time is {:?}, not like \"7:48 pm on 21 May, 2023\"", session.date_time)
        })?;
        let turn = |turn: FileTurn| Turn {
            session: session.session.to_string(),
            time: time.clone(),
            text: said(turn.text, turn.image_caption.as_deref()),
            id: turn.dia_id,
            speaker: turn.speaker,
        };
        turns.extend(session.turns.into_iter().map(turn).filter(|turn| !turn.text.trim().is_empty()));
    }
    ensure!(!turns.is_empty(), "no turn says anything");
    let mut sessions = HashMap::new();
    for turn in &turns {
        let before = sessions.insert(turn.id.as_str(), turn.session.as_str());
        ensure!(before.is_none(), "two turns have the dia_id {}", turn.id);
    }
    let questions = file.qa.into_iter().filter_map(|asked| question(asked, &sessions)).collect();
    let noted =
        |one: FileObservation| Observation { speaker: one.speaker, text: one.fact, turns: one.evidence };
    let observations = file.observations.into_iter().map(noted).collect();
    Ok(Conversation { turns, questions, observations })
}

/// What a turn says, and what the picture shows that it shares: that finds more than the words alone.
fn said(text: String, caption: Option<&str>) -> String {
    match caption {
        Some(caption) if !caption.is_empty() => format!("{text} [shares: {caption}]"),
        _ => text,
    }
}

/// A question with its evidence; none if no turn is evidence. Some labels name no turn: those are left out.
fn question(asked: FileQuestion, sessions: &HashMap<&str, &str>) -> Option<Question> {
    let known = asked.evidence.iter().filter_map(|id| sessions.get_key_value(id.as_str()));
    let (turns, sessions): (BTreeSet<_>, BTreeSet<_>) =
        known.map(|(id, session)| ((*id).to_owned(), (*session).to_owned())).unzip();
    (!turns.is_empty()).then_some(Question {
        text: asked.question,
        category: asked.category,
        turns,
        sessions,
    })
}

/// `7:48 pm on 21 May, 2023` as `2023-05-21T19:48:00Z`. The data names no zone.
fn rfc3339(text: &str) -> Option<String> {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let text = text.to_lowercase().replace(',', " ");
    let words: Vec<&str> = text.split_whitespace().collect();
    let [clock, half, "on", day, month, year] = words.as_slice() else { return None };
    let (hour, minute) = clock.split_once(':')?;
    let (hour, minute): (u32, u32) = (hour.parse().ok()?, minute.parse().ok()?);
    let hour = match *half {
        "am" => hour % 12,
        "pm" => hour % 12 + 12,
        _ => return None,
    };
    let month = MONTHS.iter().position(|name| name == month)? + 1;
    let (day, year): (u32, u32) = (day.parse().ok()?, year.parse().ok()?);
    let time = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:00Z");
    time.parse::<tabellion_core::time::Timestamp>().ok().map(|_| time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn file() -> Value {
        json!({
            "sessions": [
                {"session": 1, "date_time": "7:48 pm on 21 May, 2023", "turns": [
                    {"dia_id": "D1:1", "speaker": "Ada", "text": "I bought a kite."},
                    {"dia_id": "D1:2", "speaker": "Bo", "text": "Which colour?", "image_caption": "a kite"}]},
                {"session": 2, "date_time": "12:05 am on 2 June, 2023", "turns": [
                    {"dia_id": "D2:1", "speaker": "Ada", "text": "Red."}]}],
            "qa": [
                {"question": "What colour is the kite?", "answer": 7, "evidence": ["D2:1", "D1:1", "D8:6; D9:17", "D"], "category": 1},
                {"question": "Who is Cy?", "evidence": ["D7:7"], "category": 5},
                {"question": "Who is Di?", "category": 3}],
        })
    }

    #[test]
    fn turns_keep_their_order_and_labels_that_name_no_turn_are_left_out() {
        let read = parse(&file().to_string()).unwrap();
        let ids: Vec<_> = read.turns.iter().map(|turn| (turn.id.as_str(), turn.session.as_str())).collect();
        assert_eq!(ids, [("D1:1", "1"), ("D1:2", "1"), ("D2:1", "2")]);
        assert_eq!(read.turns[2].time, "2023-06-02T00:05:00Z");
        assert_eq!(read.turns[1].text, "Which colour? [shares: a kite]");
        assert_eq!(read.questions.len(), 1);
        assert_eq!(read.questions[0].turns, BTreeSet::from(["D1:1".to_owned(), "D2:1".to_owned()]));
        assert_eq!(read.questions[0].sessions.len(), 2);
    }

    #[test]
    fn a_file_that_cannot_be_measured_is_refused() {
        let refused = |path: &str, value: Value| {
            let mut file = file();
            *file.pointer_mut(path).unwrap() = value;
            format!("{:#}", parse(&file.to_string()).unwrap_err())
        };
        assert!(refused("/sessions/0/date_time", json!("yesterday")).contains("date_time"));
        assert!(refused("/sessions/1/turns/0/dia_id", json!("D1:1")).contains("D1:1"));
        assert!(refused("/sessions", json!([])).contains("no turn"));
        assert!(refused("/qa", json!(3)).contains("qa") || parse("{").is_err());
    }

    #[test]
    fn times_are_read_as_the_data_writes_them() {
        let check =
            |text: &str, expected: Option<&str>| assert_eq!(rfc3339(text).as_deref(), expected, "{text}");
        check("7:48 pm on 21 May, 2023", Some("2023-05-21T19:48:00Z"));
        check("12:10 am on 1 February, 2023", Some("2023-02-01T00:10:00Z"));
        check("12:10 pm on 1 February, 2023", Some("2023-02-01T12:10:00Z"));
        check("7:48 pm on 31 June, 2023", None);
        check("7:48 on 21 May, 2023", None);
    }
}
