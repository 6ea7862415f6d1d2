//! Memories as Mem0 gives them, turned into the lines of an import.

use anyhow::{Context as _, bail};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::Read;

/// The largest file that is turned into lines: it is held in memory.
const BYTES_MAX: u64 = 1 << 30;
/// The names that a list of memories has in an answer or an export.
const LISTS: [&str; 3] = ["results", "memories", "data"];
/// The names that the text of a memory has.
const TEXTS: [&str; 3] = ["memory", "text", "data"];

/// Through what a memory was said: kept as fields.
const KEPT: [&str; 2] = ["agent_id", "run_id"];
/// User ids that a refusal lists.
const USERS_LISTED: usize = 20;

/// The lines of an import, one a memory, of what `get_all`, an export or one JSON object a line says: those of one user.
///
/// # Errors
/// When the input is too large, is none of these, or has memories of several users and none of them was chosen.
pub(super) fn lines(input: impl Read, user_id: Option<&str>) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(BYTES_MAX + 1).read_to_end(&mut bytes).context("cannot read on")?;
    if bytes.len() as u64 > BYTES_MAX {
        bail!("the file is larger than 1 GiB; cut it into several");
    }
    let values: Vec<Value> = serde_json::Deserializer::from_slice(&bytes)
        .into_iter::<Value>()
        .collect::<Result<_, _>>()
        .context("this is not JSON as Mem0 writes it")?;
    let memories: Vec<&Value> = values.iter().flat_map(memories).collect();
    let chosen = of_one_user(&memories, user_id)?;
    let mut lines = Vec::new();
    for memory in chosen {
        serde_json::to_writer(&mut lines, &item(memory))?;
        lines.push(b'\n');
    }
    Ok(lines)
}

/// The memories of the chosen user; all of them where the file names no more than one.
fn of_one_user<'a>(memories: &[&'a Value], chosen: Option<&str>) -> anyhow::Result<Vec<&'a Value>> {
    let user = |memory: &Value| memory.get("user_id").and_then(Value::as_str).map(str::to_owned);
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for name in memories.iter().filter_map(|memory| user(memory)) {
        *counts.entry(name).or_default() += 1;
    }
    let listed = || {
        let shown = counts.iter().take(USERS_LISTED).map(|(name, count)| format!("  {name}: {count}"));
        let more = counts.len().saturating_sub(USERS_LISTED);
        shown.chain((more > 0).then(|| format!("  … and {more} more"))).collect::<Vec<_>>().join("\n")
    };
    match chosen {
        Some(name) if !counts.contains_key(name) => {
            bail!("the file has no memories of {name}; it has those of\n{}", listed())
        }
        Some(name) => {
            Ok(memories.iter().filter(|memory| user(memory).as_deref() == Some(name)).copied().collect())
        }
        None if counts.len() > 1 => bail!(
            "the file has memories of {} users, and an import writes those of one; nothing was written. Say --user-id for each \
             of them, with a key of that user:\n{}",
            counts.len(),
            listed()
        ),
        None => Ok(memories.to_vec()),
    }
}

/// The memories of a value: a list, an object that holds one, or a memory itself.
fn memories(value: &Value) -> Vec<&Value> {
    let listed = LISTS.iter().find_map(|name| value.get(name)?.as_array());
    match value.as_array().or(listed) {
        Some(list) => list.iter().collect(),
        None => vec![value],
    }
}

/// A memory as a write. What is no memory becomes an empty write, which the server refuses under its number.
fn item(memory: &Value) -> Value {
    let text = |name: &str| memory.get(name).and_then(Value::as_str);
    let said = TEXTS.iter().find_map(|name| text(name)).unwrap_or_default();
    let mut fields: Map<String, Value> =
        memory.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut add = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            fields.entry(name).or_insert_with(|| Value::from(value));
        }
    };
    add("time", text("updated_at").or_else(|| text("created_at")));
    add("mem0_id", text("id"));
    for name in KEPT {
        add(name, text(name));
    }
    let mut item = json!({"text": said});
    super::super::set(&mut item, "fields", (!fields.is_empty()).then_some(fields));
    super::super::set(&mut item, "tags", memory.get("categories").filter(|tags| tags.is_array()).cloned());
    item
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Value> {
        let lines = lines(text.as_bytes(), None).unwrap();
        lines
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect()
    }

    #[test]
    fn every_form_gives_the_same_lines() {
        let memory = r#"{"id":"m","memory":"Prefers tea","categories":["drinks"],"created_at":"2026-03-01T10:00:00Z","updated_at":null}"#;
        let expected = json!({"text": "Prefers tea", "tags": ["drinks"],
                              "fields": {"time": "2026-03-01T10:00:00Z", "mem0_id": "m"}});
        for text in [
            format!("[{memory}]"),
            format!("{{\"results\":[{memory}]}}"),
            format!("{memory}\n"),
            format!("{{\"memories\":[{memory}]}}"),
        ] {
            assert_eq!(read(&text), [expected.clone()], "{text}");
        }
        assert_eq!(read("[7, {}]"), [json!({"text": ""}), json!({"text": ""})]);
        assert!(lines("no JSON".as_bytes(), None).is_err());
    }

    #[test]
    fn memories_of_one_user_are_taken() {
        let text = r#"[{"memory":"a","user_id":"u","agent_id":"g","run_id":"r"},{"memory":"b","user_id":"v"},{"memory":"c"}]"#;
        let refused = lines(text.as_bytes(), None).unwrap_err().to_string();
        assert!(refused.contains("2 users") && refused.ends_with("  u: 1\n  v: 1"), "{refused}");
        let chosen: Value = serde_json::from_slice(&lines(text.as_bytes(), Some("u")).unwrap()).unwrap();
        assert_eq!(chosen, json!({"text": "a", "fields": {"agent_id": "g", "run_id": "r"}}));
        assert!(lines(text.as_bytes(), Some("w")).is_err());
        assert_eq!(read(r#"[{"memory":"b","user_id":"v"},{"memory":"c"}]"#).len(), 2);
    }
}
