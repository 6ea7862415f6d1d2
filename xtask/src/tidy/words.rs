//! Does the repository speak of the product alone?
//!
//! A path that exists on one machine only, or a number in somebody's tracker, means nothing to the next reader.

use super::Finding;
use super::code::is_ident;
use super::tree::SourceFile;

/// A kind of text that does not belong here.
struct Rule {
    /// Whether a line holds it.
    stands_in: fn(&str) -> bool,
    message: &'static str,
    /// Files, or folders and name beginnings, that may hold it all the same.
    allowed: &'static [&'static str],
}

const RULES: [Rule; 4] = [
    Rule {
        stands_in: |line| is_path_start(line, "/work/") || is_path_start(line, "/root/"),
        message: "a path of one machine; say it relative to the repository",
        allowed: &[THIS],
    },
    Rule {
        stands_in: |line| line.contains("../shared"),
        message: "a path outside the repository; only the benchmark and evaluation may look for data there",
        allowed: &[
            THIS,
            "Makefile",
            "tools/bench_peers.py",
            "crates/cli/src/commands/eval",
            "crates/core/tests/claim_conversations.rs",
        ],
    },
    Rule {
        stands_in: names_issue,
        message: "a tracker's number; say what is meant in words",
        allowed: &[THIS],
    },
    Rule {
        stands_in: |line| line.contains("index-url"),
        message: "a package index of one machine; leave it to that machine's settings",
        allowed: &[THIS],
    },
];

/// The rules and their tests spell out what they forbid.
const THIS: &str = "xtask/src/tidy/words.rs";

/// Written by cargo; `lock` looks at it.
const GENERATED: &str = "Cargo.lock";

/// The lines of a file that speak of something else than the product.
pub(super) fn check(file: &SourceFile) -> Vec<Finding> {
    if file.path == GENERATED {
        return Vec::new();
    }
    let rules = RULES.iter().filter(|rule| !rule.allowed.iter().any(|start| file.path.starts_with(start)));
    rules
        .flat_map(|rule| {
            let lines = file.text.lines().enumerate().filter(|(_, line)| (rule.stands_in)(line));
            lines.map(|(index, _)| Finding::on_line(&file.path, index, rule.message))
        })
        .collect()
}

/// Whether `path` stands in the line as the start of an absolute path, not inside an address or a relative path.
fn is_path_start(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        !before.is_some_and(|c| is_ident(c) || matches!(c, '.' | '-' | '}' | ')' | '*'))
    })
}

/// `issue 12`, `Issue #12`, `issues 3`: the word and a number.
fn names_issue(line: &str) -> bool {
    let lower = line.to_lowercase();
    lower.match_indices("issue").any(|(at, word)| {
        let before = lower.get(..at).and_then(|text| text.chars().next_back());
        let rest = lower.get(at + word.len()..).unwrap_or("");
        let rest = rest.strip_prefix('s').unwrap_or(rest);
        let number = rest.trim_start_matches([' ', '#']);
        !before.is_some_and(is_ident)
            && number.len() < rest.len()
            && number.starts_with(|c: char| c.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_line(path: &str, line: &str, expected: usize) {
        let found = check(&SourceFile::planted(path, line));
        assert_eq!(found.len(), expected, "{path}: {line}: {found:?}");
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        check_line("README.md", "cd /work/main", 1);
        check_line("docs/api.md", "see `/root/.cargo`", 1);
        check_line("README.md", "https://example.com/work/plan and net/root/hub", 0);
        check_line("docs/log-format.md", "from_root, to_root, the root/leaf", 0);
    }

    #[test]
    fn paths_outside_the_repository_are_found() {
        check_line("crates/core/src/item.rs", "include_str!(\"../shared/spec\")", 1);
        check_line("Makefile", "DATA ?= ../shared/data", 0);
        check_line("crates/cli/src/commands/eval.rs", "const DATA: &str = \"../shared/data\";", 0);
    }

    #[test]
    fn numbers_of_a_tracker_are_found() {
        check_line("CHANGELOG.md", "Fixes issue 12", 1);
        check_line("src/a.rs", "// see Issue #7", 1);
        check_line("src/a.rs", "// the issues 3 and 4", 1);
        check_line("src/a.rs", "keys are issued 3 at a time; an issue in 2 parts; tissue 4", 0);
        check_line("src/a.rs", "a session, session 1, the session layer", 0);
    }

    #[test]
    fn package_indexes_are_found() {
        check_line("tests/requirements.txt", "--index-url https://packages.example", 1);
    }

    #[test]
    fn the_lock_file_is_not_prose() {
        check_line(GENERATED, "issue 12", 0);
    }
}
