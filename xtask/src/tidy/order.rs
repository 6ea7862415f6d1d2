//! Do the crates use each other in one direction only?
//!
//! `cli -> server -> models -> engine -> store -> core`: a crate may use any crate to its right, never one to its left.

use serde::Deserialize;

use super::Finding;

/// Left to right. A new crate of the workspace takes its place here.
const ORDER: [&str; 6] = [
    "tabellion-cli",
    "tabellion-server",
    "tabellion-models",
    "tabellion-engine",
    "tabellion-store",
    "tabellion-core",
];

/// Members that are no part of the product.
const OUTSIDE: [&str; 1] = ["xtask"];

/// The part of `cargo metadata` that the rules need.
#[derive(Deserialize)]
pub(super) struct Workspace {
    pub(super) packages: Vec<Package>,
    #[serde(rename = "workspace_root")]
    pub(super) root: String,
}

/// A member of the workspace and what it names in its manifest.
#[derive(Deserialize)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) dependencies: Vec<Dependency>,
}

/// One line of a manifest's dependencies.
#[derive(Deserialize)]
pub(super) struct Dependency {
    pub(super) name: String,
    /// `None`, `dev` or `build`.
    kind: Option<String>,
}

impl Package {
    /// Where the member's manifest lies.
    pub(super) fn manifest(&self) -> String {
        let folder = self.name.strip_prefix("tabellion-").map(|name| format!("crates/{name}"));
        format!("{}/Cargo.toml", folder.as_deref().unwrap_or(&self.name))
    }

    #[cfg(test)]
    pub(super) fn planted(name: &str, uses: &[&str], kind: Option<&str>) -> Self {
        let dependency = |name: &&str| Dependency { name: (*name).to_owned(), kind: kind.map(str::to_owned) };
        Self { name: name.to_owned(), dependencies: uses.iter().map(dependency).collect() }
    }
}

impl Dependency {
    /// Whether only the crate's tests use it.
    pub(super) fn is_for_tests(&self) -> bool {
        self.kind.as_deref() == Some("dev")
    }
}

/// Every dependency that points left, and every member without a place.
pub(super) fn check(packages: &[Package]) -> Vec<Finding> {
    packages
        .iter()
        .filter(|package| !OUTSIDE.contains(&package.name.as_str()))
        .flat_map(check_package)
        .collect()
}

fn check_package(package: &Package) -> Vec<Finding> {
    let Some(own) = place(&package.name) else {
        let message = format!("{} has no place in the crate order (xtask/src/tidy/order.rs)", package.name);
        return vec![Finding::in_file(&package.manifest(), message)];
    };
    package
        .dependencies
        .iter()
        .filter(|dependency| place(&dependency.name).is_some_and(|used| used < own))
        .map(|dependency| {
            let message = format!("{} may not use {}: {}", package.name, dependency.name, ORDER.join(" -> "));
            Finding::in_file(&package.manifest(), message)
        })
        .collect()
}

fn place(name: &str) -> Option<usize> {
    ORDER.iter().position(|known| *known == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_one(name: &str, uses: &[&str], expected: usize) {
        assert_eq!(check(&[Package::planted(name, uses, None)]).len(), expected, "{name} uses {uses:?}");
    }

    #[test]
    fn a_crate_may_use_any_crate_to_its_right() {
        check_one("tabellion-cli", &["tabellion-server", "tabellion-core", "clap"], 0);
        check_one("tabellion-models", &["tabellion-engine", "tabellion-core", "tokenizers"], 0);
        check_one("tabellion-store", &["tabellion-core", "rusqlite"], 0);
        check_one("xtask", &["tabellion-cli"], 0);
    }

    #[test]
    fn a_crate_may_not_use_one_to_its_left() {
        check_one("tabellion-core", &["tabellion-store"], 1);
        check_one("tabellion-engine", &["tabellion-models"], 1);
        check_one("tabellion-models", &["tabellion-server"], 1);
        check_one("tabellion-store", &["tabellion-engine", "tabellion-server"], 2);
    }

    #[test]
    fn a_new_crate_needs_a_place() {
        check_one("tabellion-extra", &[], 1);
    }
}
