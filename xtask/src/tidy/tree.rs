//! Which files are the project's, and what do they say?
//!
//! Answers with every text file that git tracks or would track. Files that are not UTF-8 are left out.

use std::path::Path;
use std::process::Command;

use super::{Result, failed, output};

/// One text file; the path is relative to the root, with `/` between its parts.
pub(super) struct SourceFile {
    pub(super) path: String,
    pub(super) text: String,
}

impl SourceFile {
    pub(super) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether the file is in the `src` folder of a product crate.
    pub(super) fn is_product_source(&self) -> bool {
        let mut parts = self.path.split('/');
        self.is_rust() && parts.next() == Some("crates") && parts.nth(1) == Some("src")
    }

    #[cfg(test)]
    pub(super) fn planted(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }
}

/// Reads the project's files under `root`.
pub(super) fn read(root: &Path) -> Result<Vec<SourceFile>> {
    let mut files = Vec::new();
    for path in listed(root)? {
        let full = root.join(&path);
        // A file that was deleted and not yet committed is still listed.
        if !full.is_file() {
            continue;
        }
        let bytes = std::fs::read(&full).map_err(|error| failed(&full, &error))?;
        if let Ok(text) = String::from_utf8(bytes) {
            files.push(SourceFile { path, text });
        }
    }
    Ok(files)
}

fn listed(root: &Path) -> Result<Vec<String>> {
    let names =
        output(Command::new("git").args(["ls-files", "-coz", "--exclude-standard"]).current_dir(root))?;
    let names = String::from_utf8_lossy(&names);
    Ok(names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn product_source_is_told_from_the_rest() {
        let check = |path: &str, expected: bool| {
            assert_eq!(SourceFile::planted(path, "").is_product_source(), expected, "{path}");
        };
        check("crates/core/src/log/event.rs", true);
        check("crates/core/tests/golden.rs", false);
        check("crates/server/build.rs", false);
        check("crates/core/src/words.txt", false);
        check("xtask/src/main.rs", false);
    }

    #[test]
    fn the_project_lists_this_file_and_nothing_built() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let names = listed(root).unwrap();
        assert!(names.iter().any(|name| name == "xtask/src/tidy/tree.rs"));
        assert!(!names.iter().any(|name| name.starts_with("target/")));
    }
}
