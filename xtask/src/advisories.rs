//! Whether something is known against what we are built of: `cargo deny check advisories`.
//!
//! The database of advisories changes every day, so it is fetched. Where it is not at hand nothing fails, and what was not
//! checked is said, here and in the summary of `cargo xtask ci`.

use std::process::{Command, Output};

use anyhow::{Result, ensure};
use postrider_testkit::process::workspace;

/// How long each step may take, in seconds: a network that answers nothing must not hold up CI.
const LONGEST: &str = "60";

/// What came of it, if nothing was found.
#[derive(Debug, PartialEq, Eq)]
pub enum Advisories {
    /// Nothing is known.
    Clean,
    /// Why nobody knows.
    NotChecked(String),
}

/// Asks the database, if there is one.
///
/// # Errors
///
/// What cargo deny has found.
pub fn check() -> Result<Advisories> {
    judge(|arguments| {
        let mut command = Command::new("timeout");
        command.args([LONGEST, "cargo", "deny"]).args(arguments).current_dir(workspace()).output()
    })
}

/// The same, by whoever runs `cargo deny` with these arguments.
fn judge(deny: impl Fn(&[&str]) -> std::io::Result<Output>) -> Result<Advisories> {
    let not_checked = |reason: &str| Ok(Advisories::NotChecked(reason.to_owned()));
    if !deny(&["--version"]).is_ok_and(|output| output.status.success()) {
        return not_checked("cargo-deny is not installed");
    }
    let fetched = deny(&["fetch", "db"])?;
    if !fetched.status.success() {
        let said = String::from_utf8_lossy(&fetched.stderr);
        return not_checked(&format!("the database could not be fetched: {}", said.trim()));
    }
    let answer = deny(&["check", "--disable-fetch", "advisories"])?;
    let said = String::from_utf8_lossy(&answer.stderr);
    ensure!(answer.status.success(), "cargo deny has found advisories:\n{said}");
    Ok(Advisories::Clean)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    /// The exit codes of `--version`, `fetch` and `check`.
    #[track_caller]
    fn check(codes: [i32; 3], expected: &str) {
        let found = judge(|arguments| {
            let step =
                ["--version", "fetch", "check"].iter().position(|step| *step == arguments[0]);
            let status = ExitStatus::from_raw(codes[step.unwrap()] << 8);
            Ok(Output { status, stdout: Vec::new(), stderr: b"what was said".to_vec() })
        });
        let text = match found {
            Ok(Advisories::Clean) => "clean".to_owned(),
            Ok(Advisories::NotChecked(reason)) => format!("not checked: {reason}"),
            Err(error) => error.to_string(),
        };
        assert!(text.starts_with(expected), "{text}");
    }

    #[test]
    fn what_was_not_checked_is_not_clean() {
        check([0, 0, 0], "clean");
        check([0, 0, 1], "cargo deny has found advisories:\nwhat was said");
        check([1, 0, 0], "not checked: cargo-deny is not installed");
        check([0, 1, 0], "not checked: the database could not be fetched: what was said");
        check([0, 1, 1], "not checked: the database could not be fetched");
        let missing = judge(|_| Err(std::io::ErrorKind::NotFound.into())).unwrap();
        assert_eq!(missing, Advisories::NotChecked("cargo-deny is not installed".to_owned()));
    }
}
