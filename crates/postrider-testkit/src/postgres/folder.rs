//! The temporary folder of a private server, which never stays behind.
//!
//! It belongs to the user the server runs as, and nobody else may look inside. It goes when the
//! value is dropped; when our process dies, a watchdog removes it; when the watchdog died too, the
//! next [`Folder::create`] sweeps it. A server that was killed has left a segment of shared memory,
//! which nothing but its data folder names: the segment goes before the folder does.

use std::ffi::{CString, OsStr};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::shared_memory;
use crate::child;

/// How long the processes of a folder that is swept may take to disappear.
const SWEEP_TIMEOUT: Duration = Duration::from_secs(10);

/// The name is this, then the process id, its start time and a running number.
const PREFIX: &str = "postrider-pg";

/// What the watchdog does: it waits for the end of its input, then ends the server whose working
/// folder is the data folder, frees the server's shared memory and removes everything. It is told the
/// folder as `$1`.
///
/// `free` does what [`shared_memory::free`] does. Where there is no `ipcrm`, the folder of a server
/// that has left a segment stays for the next sweep.
const WATCHDOG: &str = r#"
read -r _
[ -d "$1" ] || exit 0
pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null)
is_ours() { [ -n "$pid" ] && [ "$(readlink "/proc/$pid/cwd")" = "$1/data" ]; }
free() {
    set -- $(sed -n 7p "$1/data/postmaster.pid" 2>/dev/null)
    [ "$#" = 2 ] || return 0
    key=$1
    # A negative key stands there as an unsigned number of 64 bits, which not every shell can read.
    case $key in 1844674407??????????) key=$((${key#1844674407} - 3709551616)) ;; esac
    while read -r segment_key id _ _ _ _ attached _; do
        [ "$segment_key $id" = "$key $2" ] || continue
        [ "$attached" = 0 ] && ipcrm -m "$id"
        return
    done < /proc/sysvipc/shm
    return 0
}
is_ours "$1" && kill -QUIT "$pid" && kill -CONT "$pid"
tries=0
while is_ours "$1" && [ "$tries" -lt 50 ]; do sleep 0.1; tries=$((tries + 1)); done
is_ours "$1" && kill -KILL "$pid"
tries=0
until { free "$1" && rm -rf -- "$1"; } 2>/dev/null || [ "$tries" -ge 50 ]; do
    sleep 0.1; tries=$((tries + 1))
done
"#;

#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    owner: Option<Owner>,
    watchdog: Child,
}

/// The unprivileged user that a server of root's runs as.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owner {
    user: u32,
    group: u32,
}

impl Folder {
    /// Makes the folder in `base`, or in the system's temporary folder, and sweeps those left
    /// behind there by processes that are gone.
    pub(crate) fn create(base: Option<&Path>) -> Result<Self> {
        let base = base.map_or_else(std::env::temp_dir, Path::to_owned);
        let base = base
            .canonicalize()
            .with_context(|| format!("could not find the folder {}", base.display()))?;
        sweep(&base);
        let owner = Owner::unless_unprivileged()?;
        let path = base.join(unique_name());
        make_private(&path, owner)?;
        let watchdog = start_watchdog(&path)?;
        let folder = Self { path, owner, watchdog };
        make_private(&folder.data(), owner)?;
        make_private(&folder.socket(), owner)?;
        Ok(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.path.join("data")
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.path.join("socket")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.path.join("server.log")
    }

    /// Kills what runs in the data folder. Returns whether all of it was gone before `deadline`.
    pub(crate) fn kill_processes(&self, deadline: Instant) -> bool {
        kill_processes_in(&self.data(), deadline)
    }

    /// A command that runs in the folder as its owner, without PostgreSQL's environment variables.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.path).env("LC_ALL", "C");
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_of_postgresql(name)) {
            command.env_remove(name);
        }
        if let Some(owner) = self.owner {
            owner.apply(&mut command);
        }
        command
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // The watchdog tries again.
        if let Err(error) = remove(&self.path) {
            eprintln!("private PostgreSQL: {error:#}");
        }
        drop(self.watchdog.stdin.take());
        let _ = self.watchdog.wait();
    }
}

impl Owner {
    /// `None` when we are not root: then servers run as ourselves.
    pub(crate) fn unless_unprivileged() -> Result<Option<Self>> {
        // SAFETY: geteuid has no preconditions.
        if unsafe { libc::geteuid() } != 0 {
            return Ok(None);
        }
        match ["postgres", "nobody"].into_iter().find_map(Self::named) {
            Some(owner) => Ok(Some(owner)),
            None => bail!("PostgreSQL refuses to run as root, and there is no user `nobody`"),
        }
    }

    /// Lets the command run as this user. Its group is the only one: the standard library drops
    /// root's supplementary groups when the user changes.
    pub(crate) fn apply(self, command: &mut Command) {
        command.uid(self.user).gid(self.group);
    }

    fn named(name: &str) -> Option<Self> {
        let name = CString::new(name).expect("the names above hold no zero");
        let mut entry = std::mem::MaybeUninit::<libc::passwd>::uninit();
        let mut buffer = [0; 4096];
        let mut found = std::ptr::null_mut();
        // SAFETY: all pointers are valid for the call and the length is that of the buffer. The
        // entry is read only when the call says that it was filled.
        unsafe {
            let result = libc::getpwnam_r(
                name.as_ptr(),
                entry.as_mut_ptr(),
                buffer.as_mut_ptr(),
                buffer.len(),
                &raw mut found,
            );
            if result != 0 || found.is_null() {
                return None;
            }
            let entry = entry.assume_init();
            Some(Self { user: entry.pw_uid, group: entry.pw_gid })
        }
    }
}

/// Removes the folders of processes that are gone.
fn sweep(base: &Path) {
    let Ok(entries) = std::fs::read_dir(base) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_str().is_some_and(is_left_behind) {
            // Somebody else may sweep it at the same time, or it belongs to another user.
            let path = entry.path();
            let _ = kill_processes_in(&path.join("data"), Instant::now() + SWEEP_TIMEOUT)
                && remove(&path).is_ok();
        }
    }
}

/// Frees what a server in the folder has left in memory, then removes the folder, which names it.
fn remove(path: &Path) -> Result<()> {
    shared_memory::free(&path.join("data"))?;
    std::fs::remove_dir_all(path).with_context(|| format!("could not remove {}", path.display()))
}

/// Kills what runs in a folder. Returns whether all of it was gone before `deadline`.
fn kill_processes_in(folder: &Path, deadline: Instant) -> bool {
    // Again and again: a server that is about to end may have started another process.
    loop {
        let left = child::processes_in(folder);
        if left.is_empty() {
            return true;
        }
        if !child::kill(&left, deadline) {
            return false;
        }
    }
}

/// Whether a file name is that of a folder whose maker is gone.
fn is_left_behind(name: &str) -> bool {
    let Some(rest) = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_prefix('-')) else {
        return false;
    };
    let mut numbers = rest.split('-').map(str::parse::<u64>);
    let (Some(Ok(pid)), Some(Ok(started)), Some(Ok(_)), None) =
        (numbers.next(), numbers.next(), numbers.next(), numbers.next())
    else {
        return false;
    };
    u32::try_from(pid).is_ok_and(|pid| child::started_at(pid) != Some(started))
}

fn unique_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let pid = std::process::id();
    let started = child::started_at(pid).unwrap_or_default();
    format!("{PREFIX}-{pid}-{started}-{}", COUNT.fetch_add(1, Ordering::Relaxed))
}

fn make_private(path: &Path, owner: Option<Owner>) -> Result<()> {
    std::fs::DirBuilder::new()
        .mode(0o700)
        .create(path)
        .and_then(|()| match owner {
            Some(owner) => std::os::unix::fs::chown(path, Some(owner.user), Some(owner.group)),
            None => Ok(()),
        })
        .with_context(|| format!("could not make the folder {}", path.display()))
}

fn start_watchdog(path: &Path) -> Result<Child> {
    let mut command = Command::new("sh");
    command
        .args(["-c", WATCHDOG, "postrider-watchdog"])
        .arg(path)
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // SAFETY: setsid is async-signal-safe. In a session of its own the watchdog outlives Ctrl-C
    // and a signal to our process group.
    unsafe {
        command.pre_exec(|| match libc::setsid() {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        });
    }
    command.spawn().context("could not start the watchdog of a private PostgreSQL")
}

/// `PGPORT`, `PGDATA`, `PGOPTIONS` and the like would steer our server from outside.
fn is_of_postgresql(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with("PG"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_gone_processes_are_swept() {
        let pid = std::process::id();
        let started = child::started_at(pid).unwrap();
        let cases = [
            (format!("{PREFIX}-{pid}-{started}-0"), false),
            (format!("{PREFIX}-{pid}-{}-0", started + 1), true),
            (format!("{PREFIX}-{}-{started}-0", u32::MAX), true),
            (format!("{PREFIX}-{pid}"), false),
            ("something-else".to_owned(), false),
        ];
        for (name, expected) in cases {
            assert_eq!(is_left_behind(&name), expected, "{name}");
        }
    }

    #[test]
    fn a_folder_left_behind_is_gone_after_the_next_start() {
        let base = tempfile::tempdir().unwrap();
        let leftover = base.path().join(format!("{PREFIX}-{}-1-0", std::process::id()));
        std::fs::create_dir_all(leftover.join("data")).unwrap();
        let folder = Folder::create(Some(base.path())).unwrap();
        assert!(!leftover.exists());
        let path = folder.path.clone();
        assert!(path.exists());
        drop(folder);
        assert!(!path.exists());
    }
}
