//! `sql/schema.sql`: what `postrider migrate` makes of an empty database, so that a review sees the
//! effect of a change to `sql/`.
//!
//! Partitions by month are left out, and what differs between versions of `pg_dump`, so that the file
//! changes only when the schema does.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::postgres::{Options, PrivatePostgres};
use crate::process::{Profile, postrider_binary, workspace};

/// The golden file, from the root of the repository.
const PATH: &str = "sql/schema.sql";

/// The golden file's first lines, up to the version of PostgreSQL whose `pg_dump` wrote it.
const HEADING: &str = "\
-- What `postrider migrate` makes of an empty database. Written by `cargo xtask schema`, compared by\n\
-- `cargo xtask ci`. Partitions by month are left out. Dumped by PostgreSQL ";

/// Writes `sql/schema.sql`, or with `check` only compares it.
///
/// # Errors
///
/// With `check`, when the file is not what it should be: the text names the first line. Otherwise
/// when PostgreSQL or our program cannot be run.
pub async fn write_or_check(check: bool) -> Result<()> {
    let current = dump().await?;
    let path = workspace().join(PATH);
    if !check {
        return std::fs::write(&path, current).with_context(|| format!("could not write {PATH}"));
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    if golden == current {
        return Ok(());
    }
    let version = |text: &str| {
        text.strip_prefix(HEADING).and_then(|rest| rest.lines().next().map(str::to_owned))
    };
    if version(&golden) != version(&current) {
        eprintln!(
            "NOT COMPARED: {PATH} was dumped by PostgreSQL {}, here is {}, and versions dump differently",
            version(&golden).unwrap_or_default(),
            version(&current).unwrap_or_default()
        );
        return Ok(());
    }
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let (golden, current) = (lines(&golden), lines(&current));
    let same = golden.iter().zip(&current).take_while(|(golden, current)| golden == current);
    let at = same.count();
    let line = |lines: &[String]| lines.get(at).cloned().unwrap_or_else(|| "(end)".to_owned());
    bail!(
        "{PATH} is not what the schema is now; run `cargo xtask schema` and look at the change.\n\
         The first difference is in line {}:\n- {}\n+ {}",
        at + 1,
        line(&golden),
        line(&current)
    )
}

/// Installs the schema into an empty database and dumps it.
async fn dump() -> Result<String> {
    let binary = postrider_binary(Profile::Debug, &[])?;
    let postgres = PrivatePostgres::start(Options::default())?;
    postgres.create_database("golden").await?;
    let url = postgres.url_for("golden");
    run(Command::new(binary).arg("migrate").env("DATABASE_URL", &url))?;
    let dump = run(Command::new(postgres.bin_dir().join("pg_dump"))
        .args(["--schema-only", "--no-owner", "--schema=postrider"])
        // message_2026_11 and the like.
        .arg("--exclude-table=postrider.*_2???_??")
        .args(["--dbname", &url]))?;
    let major = postgres.version().to_string();
    let major = major.split('.').next().unwrap_or_default();
    Ok(format!("{HEADING}{major}\n{}", normalised(&dump)))
}

/// Leaves out the lines that depend on who dumps: versions, session settings, the random keys of
/// `\restrict`; and blank lines that follow one another.
fn normalised(dump: &str) -> String {
    let is_kept = |line: &&str| {
        let dropped = ["SET ", "SELECT pg_catalog.set_config", "\\", "-- Dumped "];
        !dropped.iter().any(|start| line.starts_with(start))
            && *line != "--"
            && !line.starts_with("-- PostgreSQL database dump")
    };
    let mut text = String::new();
    let mut was_blank = true;
    for line in dump.lines().filter(is_kept) {
        let is_blank = line.trim().is_empty();
        if is_blank && was_blank {
            continue;
        }
        if line.starts_with("-- Name: ") && !was_blank {
            text.push('\n');
        }
        text.push_str(line.trim_end());
        text.push('\n');
        was_blank = is_blank;
    }
    format!("\n{}\n", text.trim())
}

/// Runs a program to its end and returns what it wrote to standard output.
fn run(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("could not run {program}"))?;
    ensure!(
        output.status.success(),
        "{program} failed ({}):\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).with_context(|| format!("{program} wrote no UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_is_the_same_whoever_made_it() {
        let dump = "--\n-- PostgreSQL database dump\n--\n\n\\restrict x\n\n-- Dumped from database \
            version 15\n-- Dumped by pg_dump version 17\n\nSET statement_timeout = 0;\nSELECT \
            pg_catalog.set_config('search_path', '', false);\n\n--\n-- Name: t; Type: TABLE\n--\n\n\
            CREATE TABLE t (\n    a integer\n);\n\n\n--\n-- PostgreSQL database dump complete\n--\n\n\
            \\unrestrict x\n";
        let expected = "\n-- Name: t; Type: TABLE\n\nCREATE TABLE t (\n    a integer\n);\n";
        assert_eq!(normalised(dump), expected);
    }
}
