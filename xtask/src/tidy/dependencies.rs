//! What we are built of: under which licences, from where, and what has to stay out.
//!
//! The part of `cargo deny` that needs neither an installation nor a network. Advisories need a database that
//! changes every day: `advisories.rs`.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::Violation;
use crate::process::cargo;

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
    packages.iter().flat_map(judge_package).collect()
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
    let violation = |message| Violation { path: "Cargo.lock".to_owned(), line: 1, message };
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
}
