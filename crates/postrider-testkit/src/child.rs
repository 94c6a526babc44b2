//! A child process that dies with us and whose end can be awaited.
//!
//! Guarantees: the kernel sends the child its death signal when our process ends, however it ends;
//! a signal is never sent to a process id that may belong to somebody else by now; the child leads
//! a session of its own, so Ctrl-C in a terminal reaches us alone and we choose what follows.
//! Children of the child are left to the child.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::time::{Duration, Instant};

use tokio::sync::watch;

/// A running or ended child process. Dropping it kills it and waits for its end.
#[derive(Debug)]
pub struct Process {
    pid: u32,
    shared: Arc<Shared>,
    ended: watch::Receiver<Option<ExitStatus>>,
}

#[derive(Debug)]
struct Shared {
    status: Mutex<Option<ExitStatus>>,
    changed: Condvar,
}

impl Process {
    /// Starts `command`. `death_signal` is what the child gets when our process ends.
    ///
    /// `take` receives the child before anything else, so that the caller can move its pipes out.
    ///
    /// # Errors
    ///
    /// When the program cannot be executed.
    pub fn spawn<T>(
        command: Command,
        death_signal: i32,
        take: impl FnOnce(&mut Child) -> T,
    ) -> io::Result<(Self, T)> {
        let mut child = spawn_on_lasting_thread(command, death_signal)?;
        let taken = take(&mut child);
        let pid = child.id();
        let shared = Arc::new(Shared { status: Mutex::new(None), changed: Condvar::new() });
        let (sender, ended) = watch::channel(None);
        let reaper = Arc::clone(&shared);
        std::thread::Builder::new()
            .name(format!("reaper-{pid}"))
            .spawn(move || reap(child, &reaper, &sender))?;
        Ok((Self { pid, shared, ended }, taken))
    }

    /// The process id. After the end of the process it may belong to another one.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// How the process ended; `None` while it runs (or is stopped by SIGSTOP).
    pub fn status(&self) -> Option<ExitStatus> {
        *self.shared.lock()
    }

    /// Whether the process has not ended yet.
    pub fn is_running(&self) -> bool {
        self.status().is_none()
    }

    /// Sends a signal. Returns whether the process was still there to get it.
    pub fn signal(&self, signal: i32) -> bool {
        // The lock keeps the reaper from freeing the process id before the signal is out.
        let status = self.shared.lock();
        // SAFETY: kill has no memory effects; the id is that of a child not yet reaped.
        status.is_none() && unsafe { libc::kill(self.pid as libc::pid_t, signal) } == 0
    }

    /// Blocks until the process has ended, at most for `timeout`; `None` when it still runs.
    pub fn wait_blocking(&self, timeout: Duration) -> Option<ExitStatus> {
        let status = self.shared.lock();
        let (status, _) = self
            .shared
            .changed
            .wait_timeout_while(status, timeout, |status| status.is_none())
            .unwrap_or_else(PoisonError::into_inner);
        *status
    }

    /// Waits until the process has ended, at most for `timeout`; `None` when it still runs.
    pub async fn wait(&self, timeout: Duration) -> Option<ExitStatus> {
        let mut ended = self.ended.clone();
        let waited = tokio::time::timeout(timeout, ended.wait_for(Option::is_some)).await;
        waited.ok().and_then(|status| status.ok().and_then(|status| *status))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(libc::SIGKILL);
        self.wait_blocking(Duration::from_secs(10));
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Option<ExitStatus>> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for the end without reaping, then reaps under the lock that senders of signals hold.
fn reap(mut child: Child, shared: &Shared, sender: &watch::Sender<Option<ExitStatus>>) {
    loop {
        // SAFETY: waitid writes to `info`, which is plain data that outlives the call.
        let result = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            libc::waitid(libc::P_PID, child.id(), &raw mut info, libc::WEXITED | libc::WNOWAIT)
        };
        if result == 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            break;
        }
    }
    let mut status = shared.lock();
    // Nobody else reaps, so waiting cannot fail; should it, the process is gone all the same.
    let ended = child.wait().unwrap_or_else(|_| ExitStatus::from_raw(libc::SIGKILL));
    *status = Some(ended);
    shared.changed.notify_all();
    sender.send_replace(Some(ended));
}

type Order = (Command, mpsc::Sender<io::Result<Child>>);

/// Spawns on a thread that lives as long as the process.
///
/// The death signal is tied to the *thread* that spawned: a test's thread, or one of a runtime that
/// shrinks, would take its children along while the process goes on.
fn spawn_on_lasting_thread(mut command: Command, death_signal: i32) -> io::Result<Child> {
    static SPAWNER: OnceLock<Mutex<mpsc::Sender<Order>>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (sender, orders) = mpsc::channel::<Order>();
        std::thread::Builder::new()
            .name("spawner".to_owned())
            .spawn(move || {
                for (mut command, answer) in orders {
                    // The one who ordered waits for the answer, so it cannot be gone.
                    let _ = answer.send(command.spawn());
                }
            })
            .expect("the spawner thread can be started");
        Mutex::new(sender)
    });
    die_with_parent(&mut command, death_signal);
    let (answer, child) = mpsc::channel();
    spawner
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .send((command, answer))
        .expect("the spawner thread runs as long as the process");
    child.recv().expect("the spawner thread answers every order")
}

/// Makes the command's process a session leader that gets `death_signal` when its parent ends.
///
/// The standard library changes the user before it calls `pre_exec`: a later change of user would
/// clear the death signal.
fn die_with_parent(command: &mut Command, death_signal: i32) {
    let parent = std::process::id() as libc::pid_t;
    // SAFETY: the closure calls only async-signal-safe functions and allocates nothing.
    unsafe {
        command.pre_exec(move || {
            if libc::setsid() == -1 {
                return Err(io::Error::last_os_error());
            }
            if libc::prctl(libc::PR_SET_PDEATHSIG, death_signal as libc::c_ulong) == -1 {
                return Err(io::Error::last_os_error());
            }
            // The parent may have died before prctl; then nobody would send the signal.
            if libc::getppid() != parent {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
            Ok(())
        });
    }
}

/// The processes whose parent is `pid`.
pub fn children_of(pid: u32) -> Vec<u32> {
    processes().filter(|&child| stat_field(child, 4) == Some(u64::from(pid))).collect()
}

/// The living processes whose working folder is `folder`, as far as we may know it.
pub fn processes_in(folder: &Path) -> Vec<u32> {
    let works_there =
        |pid: u32| std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == folder);
    processes().filter(|&pid| works_there(pid) && is_alive(pid)).collect()
}

/// When a process started, in clock ticks since the boot; with the id it names one process for
/// good. `None` when there is no such process.
pub fn started_at(pid: u32) -> Option<u64> {
    stat_field(pid, 22)
}

/// The processor time that a process has used, and its children that have ended and been waited for.
pub fn cpu_time(pid: u32) -> Option<Duration> {
    // utime, stime, cutime and cstime.
    let ticks = (14..=17).map(|number| stat_field(pid, number)).sum::<Option<u64>>()?;
    // SAFETY: sysconf has no memory effects.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    Some(Duration::from_secs_f64(ticks as f64 / per_second as f64))
}

/// Whether the process exists and is not a zombie that waits to be reaped.
pub fn is_alive(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Kills processes that were ours a moment ago and waits for their end. Returns whether all of them
/// were gone before `deadline`.
pub fn kill(pids: &[u32], deadline: Instant) -> bool {
    for &pid in pids {
        // SAFETY: kill has no memory effects.
        unsafe { libc::kill(pid as libc::pid_t, libc::SIGKILL) };
    }
    wait_until_gone(pids, deadline)
}

/// Waits until none of the processes is alive. Returns whether that came true before `deadline`.
///
/// Processes that are not our children give no event portably; so this looks again and again.
pub fn wait_until_gone(pids: &[u32], deadline: Instant) -> bool {
    while pids.iter().any(|&pid| is_alive(pid)) {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    true
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// A numeric field of /proc/PID/stat, counted from 1 as in proc(5); not one of the first three.
fn stat_field(pid: u32, number: usize) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in parentheses and may hold blanks and parentheses.
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(number - 3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleeper() -> Process {
        let mut command = Command::new("sleep");
        command.arg("1000");
        Process::spawn(command, libc::SIGKILL, |_| ()).unwrap().0
    }

    #[test]
    fn a_killed_child_is_reported_and_signals_end() {
        let child = sleeper();
        assert!(child.is_running());
        assert!(child.signal(libc::SIGKILL));
        let status = child.wait_blocking(Duration::from_secs(60)).expect("it ends");
        assert_eq!(status.signal(), Some(libc::SIGKILL));
        assert!(!child.signal(libc::SIGTERM), "a signal must not reach a freed process id");
    }

    #[tokio::test]
    async fn waiting_for_a_running_child_times_out() {
        let child = sleeper();
        assert_eq!(child.wait(Duration::from_millis(1)).await, None);
        child.signal(libc::SIGTERM);
        assert!(child.wait(Duration::from_secs(60)).await.is_some());
    }

    #[test]
    fn a_child_outlives_the_thread_that_ordered_it() {
        let child = std::thread::spawn(sleeper).join().unwrap();
        // The thread is gone. Had it spawned the child itself, the child would be dying now.
        assert_eq!(child.wait_blocking(Duration::from_millis(50)), None);
    }

    #[test]
    fn dropping_kills() {
        let child = sleeper();
        let pid = child.pid();
        assert!(children_of(std::process::id()).contains(&pid));
        drop(child);
        assert!(!is_alive(pid));
    }
}
