//! Is each file short enough to read, and does it say what it is for?

use std::collections::BTreeMap;

use super::tree::SourceFile;
use super::{Finding, LONG_FILES};

const LINES_MAX: usize = 600;

/// Rust files over the limit. `ratchet` lists the exceptions as `path lines`: they may shrink, not grow.
pub(super) fn check_length(files: &[SourceFile], ratchet: &str) -> Vec<Finding> {
    let allowed = match parse(ratchet) {
        Ok(allowed) => allowed,
        Err(finding) => return vec![finding],
    };
    let lengths: BTreeMap<&str, usize> = files
        .iter()
        .filter(|file| file.is_rust())
        .map(|file| (file.path.as_str(), file.text.lines().count()))
        .collect();
    let mut findings: Vec<Finding> = lengths
        .iter()
        .filter_map(|(path, lines)| {
            let most = allowed.get(path).copied().unwrap_or(LINES_MAX);
            (*lines > most)
                .then(|| Finding::in_file(path, format!("{lines} lines, at most {most}; split it")))
        })
        .collect();
    findings.extend(allowed.keys().filter(|path| lengths.get(*path).is_none_or(|n| *n <= LINES_MAX)).map(
        |path| Finding::in_file(LONG_FILES, format!("{path} is not long any more; take it off the list")),
    ));
    findings
}

fn parse(ratchet: &str) -> Result<BTreeMap<&str, usize>, Finding> {
    let rows = ratchet.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    rows.map(|(index, line)| {
        line.split_once(' ').and_then(|(path, lines)| Some((path, lines.trim().parse().ok()?))).ok_or_else(
            || Finding::on_line(LONG_FILES, index, "expected a path, a space and a number of lines"),
        )
    })
    .collect()
}

/// A source file of the product must open with its `//!` header.
pub(super) fn check_header(file: &SourceFile) -> Option<Finding> {
    let missing = file.is_product_source() && !file.text.starts_with("//!");
    missing
        .then(|| Finding::in_file(&file.path, "must start with a `//!` header: what it answers and refuses"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: usize, ratchet: &str, expected: usize) {
        let file = SourceFile::planted("crates/core/src/item.rs", &"x\n".repeat(lines));
        assert_eq!(check_length(&[file], ratchet).len(), expected, "{lines} lines, {ratchet:?}");
    }

    #[test]
    fn a_long_file_is_found() {
        check(600, "", 0);
        check(601, "", 1);
    }

    #[test]
    fn a_listed_file_may_shrink_and_not_grow() {
        check(700, "# long\ncrates/core/src/item.rs 700\n", 0);
        check(650, "crates/core/src/item.rs 700\n", 0);
        check(701, "crates/core/src/item.rs 700\n", 1);
    }

    #[test]
    fn the_list_holds_no_row_without_need() {
        check(600, "crates/core/src/item.rs 700\n", 1);
        check(10, "crates/core/src/gone.rs 700\n", 1);
        check(10, "crates/core/src/item.rs many\n", 1);
    }

    #[test]
    fn only_rust_is_measured() {
        let file = SourceFile::planted("docs/api.md", &"x\n".repeat(1000));
        assert!(check_length(&[file], "").is_empty());
    }

    #[test]
    fn a_missing_header_is_found() {
        let check = |path: &str, text: &str, expected: bool| {
            assert_eq!(check_header(&SourceFile::planted(path, text)).is_some(), expected, "{path}: {text}");
        };
        check("crates/core/src/item.rs", "use std::fmt;\n//! Too late.", true);
        check("crates/core/src/item.rs", "", true);
        check("crates/core/src/item.rs", "//! What is an item?\n", false);
        check("crates/core/tests/item.rs", "use std::fmt;", false);
    }
}
