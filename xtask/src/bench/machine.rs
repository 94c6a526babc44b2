//! On what it was measured.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};

use super::compare::median;
use super::stand::{SETTINGS, Stand};

const SYNC_COUNT: usize = 200;
/// A page of PostgreSQL's log.
const PAGE_BYTES: usize = 8_192;

/// Name and value of what the figures depend on.
pub async fn describe(stand: &Stand) -> Result<Vec<(String, String)>> {
    let postgres = stand.postgres();
    let client = postgres.connect().await?;
    let date = "select to_char(now() at time zone 'utc', 'YYYY-MM-DD')";
    let date: String = client.query_one(date, &[]).await?.get(0);
    let command: Vec<String> = std::env::args().skip(1).collect();
    let settings = SETTINGS.iter().map(|(name, value)| format!("{name} = {value}"));
    let settings: Vec<String> = std::iter::once("fsync = on".to_owned()).chain(settings).collect();
    let cores = std::thread::available_parallelism()?;
    let load = read("/proc/loadavg").split(' ').take(3).collect::<Vec<_>>().join(" ");
    let sync_us = sync_time_us(&postgres.data_dir())?;
    Ok([
        ("command", format!("cargo xtask {}", command.join(" "))),
        ("date", date),
        (
            "machine",
            format!("{}, {cores} cores, {}", field("/proc/cpuinfo", "model name"), memory()),
        ),
        ("kernel", read("/proc/sys/kernel/osrelease")),
        ("disk", format!("{sync_us:.0} µs to write 8 kB and wait for it")),
        ("load before", load),
        ("PostgreSQL", postgres.version().to_owned()),
        ("rustc", rustc_version()?),
        ("settings", settings.join(", ")),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into())
}

/// How long a commit waits for the disk at least.
fn sync_time_us(folder: &Path) -> Result<f64> {
    let path = folder.join("bench-sync");
    let mut file = std::fs::File::create(&path)
        .with_context(|| format!("could not write {}", path.display()))?;
    let mut times = Vec::new();
    for _ in 0..SYNC_COUNT {
        let began_at = Instant::now();
        file.write_all(&[0; PAGE_BYTES])?;
        file.sync_data()?;
        times.push(began_at.elapsed().as_secs_f64() * 1e6);
    }
    std::fs::remove_file(&path)?;
    Ok(median(times))
}

fn rustc_version() -> Result<String> {
    let output = Command::new("rustc").arg("--version").output().context("could not run rustc")?;
    let version = String::from_utf8_lossy(&output.stdout);
    Ok(version.trim().trim_start_matches("rustc ").to_owned())
}

fn memory() -> String {
    let kibibytes = field("/proc/meminfo", "MemTotal");
    let kibibytes: f64 = kibibytes.trim_end_matches(" kB").parse().unwrap_or(f64::NAN);
    format!("{:.0} GiB", kibibytes / 1024.0 / 1024.0)
}

/// The first value of a field in one of the kernel's files of `name: value` lines.
fn field(path: &str, name: &str) -> String {
    let content = read(path);
    let mut fields = content.lines().filter_map(|line| line.split_once(':'));
    let found = fields.find(|(field, _)| field.trim() == name);
    found.map_or_else(|| "unknown".to_owned(), |(_, value)| value.trim().to_owned())
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}
