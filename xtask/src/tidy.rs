//! Does the repository keep its own rules?
//!
//! Each rule is a pure function from what was read to a list of findings; reading happens here and in `tree`.
//! Only files that git tracks, or would track, are read. The rules also run as a test, so `make test` holds them.

mod code;
mod codes;
mod files;
mod lock;
mod names;
mod order;
mod purity;
mod tree;
mod words;

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tree::SourceFile;

/// Why tidy could not look, as opposed to what it found.
pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const CODES: &str = "xtask/codes.txt";
const ERRORS: &str = "crates/core/src/error.rs";
const LONG_FILES: &str = "xtask/long_files.txt";
const LOCK: &str = "Cargo.lock";
const DENY: &str = "deny.toml";

/// One broken rule, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    path: String,
    line: Option<usize>,
    message: String,
}

impl Finding {
    fn in_file(path: &str, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: None, message: message.into() }
    }

    /// `index` counts from 0, as `enumerate` does; people count from 1.
    fn on_line(path: &str, index: usize, message: impl Into<String>) -> Self {
        Self { line: Some(index + 1), ..Self::in_file(path, message) }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.message),
            None => write!(f, "{}: {}", self.path, self.message),
        }
    }
}

/// Runs every rule on the workspace around the current directory.
pub(crate) fn run() -> Result<Vec<Finding>> {
    let workspace = workspace()?;
    let files = tree::read(Path::new(&workspace.root))?;
    let text = |path: &str| files.iter().find(|file| file.path == path).map_or("", |file| file.text.as_str());

    let mut findings = order::check(&workspace.packages);
    findings.extend(purity::check_dependencies(&workspace.packages));
    findings.extend(codes::check(text(ERRORS), text(CODES)));
    findings.extend(files::check_length(&files, text(LONG_FILES)));
    findings.extend(lock::check(text(LOCK), text(DENY)));
    findings.extend(files.iter().flat_map(check_file));
    Ok(findings)
}

/// Adds the error codes that are not listed yet. It never takes one away.
pub(crate) fn bless() -> Result<()> {
    let root = PathBuf::from(workspace()?.root);
    let listed = read_or_empty(&root.join(CODES))?;
    let errors = read_or_empty(&root.join(ERRORS))?;
    std::fs::write(root.join(CODES), codes::blessed(&errors, &listed))?;
    Ok(())
}

fn check_file(file: &SourceFile) -> Vec<Finding> {
    let mut findings = words::check(file);
    if file.is_rust() {
        findings.extend(names::check(file));
        findings.extend(files::check_header(file));
        findings.extend(purity::check_source(file));
    }
    findings
}

/// Without dependencies, so that it needs no network and no lock.
fn workspace() -> Result<order::Workspace> {
    let metadata = ["metadata", "--no-deps", "--format-version", "1"];
    Ok(serde_json::from_slice(&output(Command::new("cargo").args(metadata))?)?)
}

/// What a command prints, if it succeeds.
fn output(command: &mut Command) -> Result<Vec<u8>> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim()).into())
}

fn read_or_empty(path: &Path) -> Result<String> {
    if !path.exists() {
        return Ok(String::new());
    }
    std::fs::read_to_string(path).map_err(|error| failed(path, &error))
}

fn failed(path: &Path, error: &dyn std::error::Error) -> Box<dyn std::error::Error> {
    format!("{}: {error}", path.display()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tidy_holds() {
        let findings: Vec<String> = run().unwrap().iter().map(ToString::to_string).collect();
        assert!(findings.is_empty(), "{} to mend:\n{}", findings.len(), findings.join("\n"));
    }

    #[test]
    fn a_finding_names_its_place() {
        assert_eq!(Finding::in_file("a.rs", "too long").to_string(), "a.rs: too long");
        assert_eq!(Finding::on_line("a.rs", 0, "bad name").to_string(), "a.rs:1: bad name");
    }
}
