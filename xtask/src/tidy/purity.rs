//! Is `core` still a set of pure functions?
//!
//! No IO, async, clock or randomness: same input, same output. Held twice, by what its manifest names and by what
//! its source calls. Tests are free.

use super::Finding;
use super::code::{before_tests, code_only, is_ident};
use super::order::Package;
use super::tree::SourceFile;

const PURE: &str = "tabellion-core";
const PURE_SOURCE: &str = "crates/core/src/";

/// Crate families: `tokio` stands for `tokio-util` and `tokio_test` too.
const FORBIDDEN_CRATES: [(&str, &[&str]); 4] = [
    ("IO", &IO),
    ("async", &["async", "async-std", "futures", "pollster", "smol", "tokio", "tower"]),
    ("a clock", &["chrono", "coarsetime", "quanta", "time"]),
    ("randomness", &["fastrand", "getrandom", "oorandom", "rand", "uuid"]),
];

const IO: [&str; 18] = [
    "axum", "deadpool", "figment", "hyper", "log", "memmap2", "metrics", "mio", "postgres", "reqwest",
    "rmcp", "rusqlite", "rustls", "tempfile", "tonic", "tracing", "ureq", "walkdir",
];

const FORBIDDEN_CALLS: [(&str, &str); 14] = [
    ("std::env", "IO"),
    ("std::fs", "IO"),
    ("std::net", "IO"),
    ("std::process", "IO"),
    ("std::thread", "IO"),
    ("print!", "IO"),
    ("println!", "IO"),
    ("eprintln!", "IO"),
    ("dbg!", "IO"),
    ("async fn", "async"),
    ("SystemTime::now", "a clock"),
    ("Instant::now", "a clock"),
    ("Timestamp::now", "a clock"),
    ("Zoned::now", "a clock"),
];

/// The dependencies of `core`, those of its tests aside, that bring what it must not know.
pub(super) fn check_dependencies(packages: &[Package]) -> Vec<Finding> {
    let pure = packages.iter().filter(|package| package.name == PURE);
    pure.flat_map(|package| {
        package.dependencies.iter().filter(|used| !used.is_for_tests()).filter_map(|used| {
            let what = brings(&used.name)?;
            let message = format!("{PURE} may not use {}: it brings {what}", used.name);
            Some(Finding::in_file(&package.manifest(), message))
        })
    })
    .collect()
}

fn brings(name: &str) -> Option<&'static str> {
    let (what, _) = FORBIDDEN_CRATES.iter().find(|(_, families)| families.iter().any(|f| is_of(name, f)))?;
    Some(what)
}

fn is_of(name: &str, family: &str) -> bool {
    name.strip_prefix(family).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_']))
}

/// The lines of `core` that reach for the outside world.
pub(super) fn check_source(file: &SourceFile) -> Vec<Finding> {
    if !file.path.starts_with(PURE_SOURCE) || is_test_file(&file.path) {
        return Vec::new();
    }
    let code = code_only(&file.text);
    let lines = before_tests(&code).lines().enumerate();
    lines
        .flat_map(|(index, line)| {
            FORBIDDEN_CALLS.iter().filter(|(call, _)| mentions(line, call)).map(move |(call, what)| {
                Finding::on_line(&file.path, index, format!("`{call}` is {what}, and core is pure"))
            })
        })
        .collect()
}

fn is_test_file(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/")
}

/// Whether `call` stands in `line` as whole words.
fn mentions(line: &str, call: &str) -> bool {
    line.match_indices(call).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        let after = line.get(at + call.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(is_ident) && (call.ends_with('!') || !after.is_some_and(is_ident))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_uses(crate_name: &str, used: &str, kind: Option<&str>, expected: usize) {
        let package = Package::planted(crate_name, &[used], kind);
        assert_eq!(check_dependencies(&[package]).len(), expected, "{crate_name} uses {used}");
    }

    #[test]
    fn core_names_no_crate_of_the_outside_world() {
        check_uses(PURE, "tokio", None, 1);
        check_uses(PURE, "tokio-stream", None, 1);
        check_uses(PURE, "rand_core", None, 1);
        check_uses(PURE, "rusqlite", Some("build"), 1);
        check_uses(PURE, "time", None, 1);
    }

    #[test]
    fn its_tests_and_other_crates_are_free() {
        check_uses(PURE, "rand", Some("dev"), 0);
        check_uses(PURE, "timeline", None, 0);
        check_uses(PURE, "sha2", None, 0);
        check_uses("tabellion-store", "rusqlite", None, 0);
    }

    fn check_calls(path: &str, text: &str, expected: usize) {
        assert_eq!(check_source(&SourceFile::planted(path, text)).len(), expected, "{path}: {text}");
    }

    #[test]
    fn core_calls_nothing_of_the_outside_world() {
        check_calls("crates/core/src/item.rs", "use std::fs;", 1);
        check_calls("crates/core/src/item.rs", "let now = std::time::SystemTime::now();", 1);
        check_calls("crates/core/src/item.rs", "pub async fn get() {}", 1);
        check_calls("crates/core/src/item.rs", "println!(\"{x}\");", 1);
    }

    #[test]
    fn prose_tests_and_other_crates_may() {
        check_calls("crates/core/src/item.rs", "// never std::fs", 0);
        check_calls("crates/core/src/item.rs", "fn a() {}\n#[cfg(test)]\nmod tests { use std::fs; }", 0);
        check_calls("crates/core/src/item/tests.rs", "use std::fs;", 0);
        check_calls("crates/store/src/sqlite.rs", "use std::fs;", 0);
        check_calls("crates/core/src/item.rs", "use std::fst;", 0);
    }
}
