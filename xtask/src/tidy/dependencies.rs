//! What we are built of: under which licences, from where, and what has to stay out.
//!
//! The part of `cargo deny` that needs neither an installation nor a network. Advisories need a database that
//! changes every day: `advisories.rs`.

use std::{collections::HashMap, path::Path};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::Violation;
use postrider_testkit::process::cargo;

/// Licences that let us be used under MIT or Apache-2.0.
const LICENCES: &[&str] = &[
    "MIT",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "Unicode-3.0",
    "CDLA-Permissive-2.0",
];

/// Where everything comes from that is not ours.
const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Packages that stay out, and why.
const BANNED: &[(&str, &str)] = &[
    ("openssl", "TLS is rustls with ring"),
    ("openssl-sys", "TLS is rustls with ring"),
    ("native-tls", "TLS is rustls with ring"),
    ("aws-lc-rs", "a second provider of ciphers beside ring"),
    ("aws-lc-sys", "a second provider of ciphers beside ring"),
];

/// Packages that only these others may depend on, and why. `tcp-stream` reads client certificates in PKCS #12, which we
/// never hand to it, and its TLS cannot be had without; those files are enciphered with what nobody should use otherwise.
const CONFINED: &[(&str, &[&str], &str)] = &[
    ("p12-keystore", &["tcp-stream"], "an unused part of TLS in lapin"),
    ("des", &["p12-keystore"], "a broken cipher"),
    ("rc2", &["p12-keystore"], "a broken cipher"),
    ("rc4", &[], "a broken cipher"),
];

/// Checks what `cargo metadata` says, for this platform and without a network.
///
/// # Errors
///
/// When cargo cannot tell; violations are no error.
pub fn check(root: &Path) -> Result<Vec<Violation>> {
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let arguments = ["metadata", "--format-version", "1", "--locked", "--filter-platform"];
    let mut command = cargo();
    command.args(arguments).arg(platform).current_dir(root);
    let output = command.output().context("could not run cargo")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cargo metadata failed:\n{said}");
    Ok(judge(&serde_json::from_slice(&output.stdout)?))
}

/// Judges the packages of a `cargo metadata`.
pub fn judge(metadata: &Value) -> Vec<Violation> {
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut violations: Vec<Violation> = packages.iter().flat_map(judge_package).collect();
    violations.extend(judge_edges(metadata, packages));
    violations
}

/// Judges who depends on what is confined, by what was resolved.
fn judge_edges<'a>(metadata: &'a Value, packages: &'a [Value]) -> Vec<Violation> {
    let text = |value: &'a Value| value.as_str().unwrap_or_default();
    let names: HashMap<&str, &str> =
        packages.iter().map(|package| (text(&package["id"]), text(&package["name"]))).collect();
    let name_of = |id| names.get(text(id)).copied().unwrap_or_default();
    let nodes = metadata["resolve"]["nodes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut problems = Vec::new();
    for node in nodes {
        let dependent = name_of(&node["id"]);
        for dependency in node["deps"].as_array().map(Vec::as_slice).unwrap_or_default() {
            let name = name_of(&dependency["pkg"]);
            let confined = CONFINED.iter().find(|(confined, ..)| *confined == name);
            if let Some((_, allowed, reason)) = confined
                && !allowed.contains(&dependent)
            {
                problems.push(format!("{dependent} depends on {name}, which stays out: {reason}"));
            }
        }
    }
    problems.into_iter().map(violation).collect()
}

fn violation(message: String) -> Violation {
    Violation { path: "Cargo.lock".to_owned(), line: 1, message }
}

fn judge_package(package: &Value) -> Vec<Violation> {
    let name = package["name"].as_str().unwrap_or_default();
    let mut problems = Vec::new();
    if let Some((_, reason)) = BANNED.iter().find(|(banned, _)| *banned == name) {
        problems.push(format!("{name} stays out: {reason}"));
    }
    // What has no source is ours.
    let source = package["source"].as_str().unwrap_or(CRATES_IO);
    if source != CRATES_IO {
        problems.push(format!("{name} comes from {source}, and not from crates.io"));
    }
    let licence = package["license"].as_str().unwrap_or_default();
    if !is_allowed(licence) {
        problems.push(format!("{name} has the licence `{licence}`, which is not on the list"));
    }
    problems.into_iter().map(violation).collect()
}

/// Whether each part of an SPDX expression has an alternative that is on the list.
fn is_allowed(licence: &str) -> bool {
    let licence = licence.replace('/', " OR ").replace(['(', ')'], "");
    let has_choice =
        |part: &str| part.split(" OR ").any(|choice| LICENCES.contains(&choice.trim()));
    licence.split(" AND ").all(has_choice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(name: &str, source: Option<&str>, licence: Option<&str>, expected: &[&str]) {
        let package = json!({ "name": name, "source": source, "license": licence });
        let found = judge(&json!({ "packages": [package] }));
        let found: Vec<_> = found.iter().map(|violation| violation.message.as_str()).collect();
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.contains(expected), "{found}");
        }
    }

    #[test]
    fn licences_bans_and_sources_are_judged() {
        let registry = Some(CRATES_IO);
        check("a", registry, Some("MIT OR Apache-2.0"), &[]);
        check("a", None, Some("Apache-2.0/MIT"), &[]);
        check("a", registry, Some("(MIT OR GPL-3.0) AND Unicode-3.0"), &[]);
        check("a", registry, Some("MIT AND GPL-3.0"), &["licence `MIT AND GPL-3.0`"]);
        check("a", registry, Some("AGPL-3.0"), &["licence"]);
        check("a", registry, None, &["licence ``"]);
        check("a", Some("git+https://example.com/a"), Some("MIT"), &["not from crates.io"]);
        check("a", Some("sparse+https://example.com/index"), Some("MIT"), &["not from crates.io"]);
        check("openssl", registry, Some("Apache-2.0"), &["stays out"]);
    }

    #[test]
    fn old_ciphers_have_no_other_dependents_than_are_known() {
        let package = |name: &str| json!({ "id": format!("{name}@1"), "name": name, "source": CRATES_IO, "license": "MIT" });
        let node = |name: &str, on: &str| json!({ "id": format!("{name}@1"), "deps": [{ "pkg": format!("{on}@1") }] });
        let names = ["des", "p12-keystore", "tcp-stream", "postrider"];
        let judged = |edges: &[(&str, &str)]| {
            let nodes: Vec<Value> = edges.iter().map(|(name, on)| node(name, on)).collect();
            judge(&json!({
                "packages": names.map(package), "resolve": { "nodes": nodes } }))
        };
        assert_eq!(judged(&[("p12-keystore", "des"), ("tcp-stream", "p12-keystore")]).len(), 0);
        let found = judged(&[("postrider", "p12-keystore"), ("tcp-stream", "des")]);
        assert_eq!(found.len(), 2);
        assert!(found[0].message.starts_with("postrider depends on p12-keystore"));
    }
}
