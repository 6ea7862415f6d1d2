//! Does each file, module and type say what it is?
//!
//! A name such as `manager` or `util` says nothing, `do_` says less, and a successor named `2` says that the first
//! one was left behind.

use super::Finding;
use super::code::{code_only, identifiers};
use super::tree::SourceFile;

const EMPTY_WORDS: [&str; 8] =
    ["manager", "managers", "helper", "helpers", "util", "utils", "common", "misc"];

const DECLARES: [&str; 6] = ["mod", "struct", "enum", "trait", "type", "union"];

/// Last words that end in 2 by right.
const NUMBERED: [&str; 3] = ["h2", "http2", "sha2"];

/// The empty names in a Rust file's path and declarations.
pub(super) fn check(file: &SourceFile) -> Vec<Finding> {
    let code = code_only(&file.text);
    let declared = code.lines().enumerate().flat_map(|(index, line)| {
        let names = identifiers(line);
        let faults: Vec<String> = names.windows(2).filter_map(declaration_fault).collect();
        faults.into_iter().map(move |message| (index, message))
    });
    let mut findings: Vec<Finding> =
        path_faults(&file.path).map(|message| Finding::in_file(&file.path, message)).collect();
    findings.extend(declared.map(|(index, message)| Finding::on_line(&file.path, index, message)));
    findings
}

fn path_faults(path: &str) -> impl Iterator<Item = String> {
    path.trim_end_matches(".rs").split('/').filter_map(fault)
}

fn declaration_fault(pair: &[&str]) -> Option<String> {
    match pair {
        ["fn", name] if name.starts_with("do_") => {
            Some(format!("`{name}`: name what it does, without `do_`"))
        }
        [keyword, name] if DECLARES.contains(keyword) => fault(name),
        _ => None,
    }
}

fn fault(name: &str) -> Option<String> {
    let words = words(name);
    if let Some(word) = words.iter().find(|word| EMPTY_WORDS.contains(&word.as_str())) {
        return Some(format!("`{name}`: `{word}` says nothing; name what it answers"));
    }
    let last = words.last()?;
    let stem = last.strip_suffix('2')?;
    let successor = !stem.ends_with(|c: char| c.is_ascii_digit()) && !NUMBERED.contains(&last.as_str());
    successor.then(|| format!("`{name}`: replace the first one instead of numbering a second"))
}

/// `LogEntry`, `log_entry` and `log-entry` are all `log`, `entry`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_lower = false;
    for c in name.chars() {
        let separates = !c.is_alphanumeric();
        if separates || (c.is_uppercase() && after_lower) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| !separates) {
            word.extend(c.to_lowercase());
        }
        after_lower = c.is_lowercase() || c.is_ascii_digit();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(text: &str, expected: usize) {
        assert_eq!(check(&SourceFile::planted("crates/core/src/item.rs", text)).len(), expected, "{text}");
    }

    fn check_path(path: &str, expected: usize) {
        assert_eq!(check(&SourceFile::planted(path, "")).len(), expected, "{path}");
    }

    #[test]
    fn empty_names_are_found() {
        check_text("pub struct LeaseManager;", 1);
        check_text("mod util;", 1);
        check_text("pub(crate) enum MiscError {}", 1);
        check_text("trait StoreHelper {}", 1);
        check_text("fn do_write() {}", 1);
        check_text("struct Search2;", 1);
    }

    #[test]
    fn telling_names_pass() {
        check_text("pub struct Lease; mod commonality; fn document() {} struct Sha512; mod http2;", 0);
        check_text("// struct LeaseManager\nlet x = \"mod util;\";", 0);
        check_text("let manager = 1; fn redo_write() {}", 0);
    }

    #[test]
    fn paths_are_names_too() {
        check_path("crates/store/src/sqlite_util.rs", 1);
        check_path("crates/store/tests/common/mod.rs", 1);
        check_path("crates/engine/src/read2.rs", 1);
        check_path("crates/engine/src/read.rs", 0);
    }

    #[test]
    fn words_are_split_by_case_and_sign() {
        assert_eq!(words("LogEntry_of2 x"), ["log", "entry", "of2", "x"]);
    }
}
