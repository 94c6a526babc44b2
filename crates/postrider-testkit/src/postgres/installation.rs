//! The server binaries on this machine, and how to get them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::folder::Owner;
use crate::packages;

/// The oldest major version that Postrider supports.
const OLDEST: u32 = 14;

/// Where Debian and Ubuntu keep one folder per major version.
const DEBIAN_FOLDER: &str = "/usr/lib/postgresql";

/// A folder with `initdb` and `postgres` of a supported version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    bin_dir: PathBuf,
    version: String,
}

impl Installation {
    /// Looks for server binaries: `PG_BINDIR`, `pg_config --bindir`, the folders of `PATH`, then
    /// /usr/lib/postgresql/*/bin with the newest version first. The first usable ones win.
    ///
    /// # Errors
    ///
    /// When there are none; the message says where was looked, why not, and what to install.
    pub fn find() -> Result<Self> {
        Self::find_in(&candidates())
    }

    /// Takes the binaries in a folder.
    ///
    /// # Errors
    ///
    /// When `initdb` or `postgres` is missing, cannot be run by the user the server would run as,
    /// or is too old.
    pub fn at(bin_dir: &Path) -> Result<Self> {
        for program in ["initdb", "postgres"] {
            ensure!(bin_dir.join(program).is_file(), "there is no `{program}`");
        }
        let mut command = Command::new(bin_dir.join("postgres"));
        command.arg("--version").current_dir("/");
        if let Some(owner) = Owner::unless_unprivileged()? {
            owner.apply(&mut command);
        }
        let output = command.output().context("`postgres` cannot be run by an ordinary user")?;
        let printed = String::from_utf8_lossy(&output.stdout);
        let (version, major) = parse_version(&printed)
            .with_context(|| format!("`postgres --version` printed `{}`", printed.trim()))?;
        ensure!(major >= OLDEST, "version {version} is older than {OLDEST}");
        Ok(Self { bin_dir: bin_dir.to_owned(), version })
    }

    /// The folder of the binaries.
    pub fn bin_dir(&self) -> &Path {
        &self.bin_dir
    }

    /// The version, such as `15.14`.
    pub fn version(&self) -> &str {
        &self.version
    }

    fn find_in(candidates: &[PathBuf]) -> Result<Self> {
        let mut looked = String::new();
        for folder in candidates {
            match Self::at(folder) {
                Ok(installation) => return Ok(installation),
                Err(error) => looked.push_str(&format!("  {}: {error:#}\n", folder.display())),
            }
        }
        bail!(
            "found no PostgreSQL server binaries (version {OLDEST} or newer).\n\
             Install the server package: `apt-get install postgresql` on Debian and Ubuntu, \
             `dnf install postgresql-server` on Fedora, `brew install postgresql` on macOS; \
             or set PG_BINDIR to the folder that holds `initdb` and `postgres`.\n\
             Looked at:\n{looked}"
        )
    }
}

/// Finds the server binaries, and installs the Debian package `postgresql` when there are none and
/// we may.
///
/// # Errors
///
/// When there are none and they cannot be installed; the message says what to install.
pub fn ensure_installed() -> Result<Installation> {
    packages::find_or_install(&["postgresql"], Installation::find)
}

/// The folders to look at, best first.
fn candidates() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> =
        std::env::var_os("PG_BINDIR").map(PathBuf::from).into_iter().collect();
    if let Ok(output) = Command::new("pg_config").arg("--bindir").output() {
        let printed = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        folders.extend((!printed.is_empty()).then(|| PathBuf::from(printed)));
    }
    // A folder of PATH counts only when the server is in it; otherwise it would clutter the error.
    let path = std::env::var_os("PATH").unwrap_or_default();
    folders.extend(std::env::split_paths(&path).filter(|folder| folder.join("postgres").is_file()));
    folders.extend(versioned_folders(Path::new(DEBIAN_FOLDER)));
    let mut seen = std::collections::HashSet::new();
    folders.retain(|folder| seen.insert(folder.clone()));
    folders
}

/// `14/bin`, `15/bin`, … under a folder, newest first.
fn versioned_folders(parent: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(parent) else { return Vec::new() };
    let number = |name: &OsStr| name.to_str()?.parse::<u32>().ok();
    let mut versions: Vec<u32> =
        entries.flatten().filter_map(|entry| number(&entry.file_name())).collect();
    versions.sort_unstable_by(|a, b| b.cmp(a));
    versions.into_iter().map(|version| parent.join(version.to_string()).join("bin")).collect()
}

/// Reads `postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)` into the version and its major.
fn parse_version(printed: &str) -> Option<(String, u32)> {
    let (_, rest) = printed.split_once("(PostgreSQL)")?;
    let version = rest.split_whitespace().next()?;
    // A development version is called `19devel`, `19beta1` or `19rc1`.
    let digits = version.find(|c: char| !c.is_ascii_digit()).unwrap_or(version.len());
    Some((version.to_owned(), version[..digits].parse().ok()?))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn versions_are_read() {
        let cases = [
            ("postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)\n", Some(("15.14", 15))),
            ("postgres (PostgreSQL) 9.6.24\n", Some(("9.6.24", 9))),
            ("postgres (PostgreSQL) 19devel\n", Some(("19devel", 19))),
            ("something else\n", None),
            ("", None),
        ];
        for (printed, expected) in cases {
            let parsed = parse_version(printed);
            assert_eq!(parsed.as_ref().map(|(v, m)| (v.as_str(), *m)), expected, "{printed}");
        }
    }

    /// A folder whose `postgres` prints the given version.
    fn fake(version: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for program in ["initdb", "postgres"] {
            let path = folder.path().join(program);
            let script = format!("#!/bin/sh\\necho 'postgres (PostgreSQL) {version}'\\n");
            // The shell writes it: a file that another thread's child inherited open for writing
            // cannot be executed.
            let write = r#"printf "$1" > "$2" && chmod 755 "$2""#;
            let shell = Command::new("sh").args(["-c", write, "sh", &script]).arg(&path).status();
            assert!(shell.unwrap().success());
        }
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        folder
    }

    #[test]
    fn an_old_or_broken_installation_is_passed_over() {
        let (empty, old, good) = (tempfile::tempdir().unwrap(), fake("13.9"), fake("16.1"));
        let folders = [&empty, &old, &good].map(|folder| folder.path().to_owned());
        let found = Installation::find_in(&folders).unwrap();
        assert_eq!((found.bin_dir(), found.version()), (good.path(), "16.1"));
    }

    #[test]
    fn when_there_is_none_the_error_says_what_to_install_and_why() {
        let old = fake("13.9");
        let error = Installation::find_in(&[old.path().to_owned()]).unwrap_err().to_string();
        for part in ["apt-get install postgresql", "PG_BINDIR", "13.9 is older than 14"] {
            assert!(error.contains(part), "`{part}` is missing in: {error}");
        }
    }

    #[test]
    fn newer_versions_come_first() {
        let parent = tempfile::tempdir().unwrap();
        for name in ["9", "14", "15", "common"] {
            std::fs::create_dir(parent.path().join(name)).unwrap();
        }
        let expected = ["15/bin", "14/bin", "9/bin"].map(|name| parent.path().join(name));
        assert_eq!(versioned_folders(parent.path()), expected);
    }
}
