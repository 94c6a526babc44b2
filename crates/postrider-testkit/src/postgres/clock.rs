//! A clock that a test sets, for a server of its own: libfaketime between the server and the system.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::Installation;
use crate::packages;

/// The system's clock, moved by what was last [set](MovableClock::set) when the server started, or, of one that is [in
/// hand](MovableClock::in_hand), by what was set last. Clocks that only measure time stay as they are.
///
/// PostgreSQL's own timeouts go by this clock: those that are under way when it is moved end as much later. And in
/// signal handlers libfaketime tells the real time, so that in the future they never end: only the past works.
#[derive(Debug)]
pub struct MovableClock {
    folder: tempfile::TempDir,
    installation: Installation,
}

impl MovableClock {
    /// A clock that is right, and the binaries for servers that go by it.
    ///
    /// # Errors
    ///
    /// When there is no PostgreSQL or no libfaketime, and they cannot be installed.
    pub fn new() -> Result<Self> {
        Self::told_by("FAKETIME=\"$(cat '{offset}')\"\nexport FAKETIME")
    }

    /// The same for servers whose clock is moved while they run. Each look at it reads a file, which takes some
    /// microseconds.
    ///
    /// # Errors
    ///
    /// When there is no PostgreSQL or no libfaketime, and they cannot be installed.
    pub fn in_hand() -> Result<Self> {
        Self::told_by("export FAKETIME_TIMESTAMP_FILE='{offset}' FAKETIME_NO_CACHE=1")
    }

    /// By these lines of a shell, which name the file with the offset.
    fn told_by(lines: &str) -> Result<Self> {
        let real = Installation::find()?;
        let library = ensure_installed()?;
        let folder = tempfile::Builder::new()
            .permissions(fs::Permissions::from_mode(0o755))
            .tempdir()
            .context("could not make a folder for the clock")?;
        for entry in fs::read_dir(real.bin_dir()).context("could not read the binaries")? {
            let entry = entry?;
            if entry.file_name() != "postgres" {
                symlink(entry.path(), folder.path().join(entry.file_name()))?;
            }
        }
        let offset = folder.path().join("offset");
        write_offset(&offset, 0)?;
        let program = folder.path().join("postgres");
        let lines = lines.replace("{offset}", &offset.display().to_string());
        let script = format!(
            "#!/bin/sh\n{lines}\n\
             export LD_PRELOAD='{}' FAKETIME_DONT_FAKE_MONOTONIC=1 DONT_FAKE_MONOTONIC=1\n\
             exec '{}' \"$@\"\n",
            library.display(),
            real.bin_dir().join("postgres").display()
        );
        fs::write(&program, script).context("could not write the wrapper of `postgres`")?;
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
        let installation = Installation::at(folder.path())?;
        Ok(Self { folder, installation })
    }

    /// The binaries of a server that goes by this clock.
    pub fn installation(&self) -> Installation {
        self.installation.clone()
    }

    /// Moves the clock so many seconds away from the system's, into the past: for servers that start from now on, and
    /// those that are in hand.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn set(&self, offset_seconds: i64) -> Result<()> {
        write_offset(&self.folder.path().join("offset"), offset_seconds)
    }
}

/// libfaketime, which is installed if that is possible.
pub fn ensure_installed() -> Result<PathBuf> {
    packages::find_or_install(&["libfaketime"], find_library)
}

fn find_library() -> Result<PathBuf> {
    let folders = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let found = folders
        .map(|folder| folder.path().join("faketime/libfaketime.so.1"))
        .chain([PathBuf::from("/usr/lib/faketime/libfaketime.so.1")])
        .find(|library| library.is_file());
    found.context(
        "libfaketime was not found. Install it: `apt-get install libfaketime` on Debian and Ubuntu",
    )
}

fn write_offset(path: &Path, seconds: i64) -> Result<()> {
    let new = path.with_extension("new");
    fs::write(&new, format!("{seconds:+}s\n")).context("could not write the clock")?;
    fs::set_permissions(&new, fs::Permissions::from_mode(0o644))
        .context("could not show the clock")?;
    // Nobody finds half of it.
    fs::rename(new, path).context("could not set the clock")
}
