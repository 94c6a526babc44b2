//! `sql/schema.sql`: what `postrider migrate` makes of an empty database, so that a review sees the
//! effect of a change to `sql/`.
//!
//! Bodies of functions and queries of views are left out: they stand in `sql/` as they are. So are partitions by month,
//! and what differs between versions of `pg_dump`: the file changes only when the schema does.

mod statements;
#[cfg(test)]
mod tests;

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use postrider_testkit::postgres::{Options, PrivatePostgres};
use postrider_testkit::process::{Profile, postrider_binary, workspace};

/// The golden file, from the root of the repository.
const PATH: &str = "sql/schema.sql";

/// The golden file's first lines, up to the version of PostgreSQL whose `pg_dump` wrote it.
const HEADING: &str = "\
-- What `postrider migrate` makes of an empty database. Written by `cargo xtask schema`, compared by\n\
-- `cargo xtask ci`. Bodies of functions, queries of views and partitions by month are left out. Dumped by\n\
-- PostgreSQL ";

/// Each view with the lines of its columns.
const COLUMNS: &str = "
    select
        format('postrider.%I', c.relname),
        string_agg(
            format('    %I %s', a.attname, format_type(a.atttypid, a.atttypmod)),
            ',\n' order by a.attnum)
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = 'postrider'::regnamespace
    and c.relkind = 'v'
    and a.attnum > 0
    group by c.oid";

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
    let rows = postgres.connect_to("golden").await?.query(COLUMNS, &[]).await?;
    let columns = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    let major = postgres.version().to_string();
    let major = major.split('.').next().unwrap_or_default();
    Ok(format!("{HEADING}{major}\n{}", statements::golden(&dump, &columns)))
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
