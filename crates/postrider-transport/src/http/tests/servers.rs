//! Servers of others, started privately: own port, own folder, never as root, gone with the value.

use std::{
    fs, io,
    net::{SocketAddr, TcpStream},
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use postrider_testkit::{child::Process, port};

/// How long a start may take on a machine that has other things to do.
const START_TIMEOUT: Duration = Duration::from_secs(60);
const NOBODY: u32 = 65_534;

/// A running server.
pub struct Server {
    // Before the folder: it has to be gone when that is removed.
    process: Process,
    folder: Folder,
    pub address: SocketAddr,
}

/// A folder that everybody may write to, removed with the value.
struct Folder(PathBuf);

impl Folder {
    fn create() -> Self {
        let path = std::env::temp_dir().join(format!("postrider-egress-{:x}", fastrand::u64(..)));
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Server {
    /// Starts a program of a Debian package. `arguments` gets its folder, in which it may put files, and its port.
    pub fn start(program: &str, arguments: impl Fn(&Path, u16) -> Vec<String>) -> Self {
        let folder = Folder::create();
        for _ in 0..20 {
            let port = port::find_free().unwrap();
            let address = SocketAddr::from(([127, 0, 0, 1], port));
            let process = spawn(program, &folder.0, &arguments(&folder.0, port));
            if is_up(&process, address) {
                return Self { process, folder, address };
            }
        }
        let log = fs::read_to_string(folder.0.join("log")).unwrap_or_default();
        panic!("{program} does not start: {log}");
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.0.join("log")).unwrap_or_default()
    }

    /// Ends it at once.
    pub fn kill(&self) {
        assert!(self.process.signal(libc::SIGKILL));
        assert!(self.process.wait_blocking(START_TIMEOUT).is_some());
    }

    /// Starts it anew where it was.
    pub fn restart(&mut self, program: &str, arguments: impl Fn(&Path, u16) -> Vec<String>) {
        let arguments = arguments(&self.folder.0, self.address.port());
        self.process = spawn(program, &self.folder.0, &arguments);
        assert!(is_up(&self.process, self.address));
    }
}

fn spawn(program: &str, folder: &Path, arguments: &[String]) -> Process {
    let log = fs::File::options().append(true).create(true).open(folder.join("log")).unwrap();
    fs::set_permissions(folder.join("log"), fs::Permissions::from_mode(0o666)).unwrap();
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
    // SAFETY: geteuid has no preconditions.
    if unsafe { libc::geteuid() } == 0 {
        command.uid(NOBODY).gid(NOBODY);
    }
    let spawned: io::Result<_> = Process::spawn(command, libc::SIGKILL, |_| ());
    let (process, ()) = spawned.unwrap_or_else(|error| {
        panic!("{program}: {error}: install Debian's nginx-light, tinyproxy-bin and microsocks")
    });
    process
}

/// Whether it takes connections; not, if somebody else took the port.
fn is_up(process: &Process, address: SocketAddr) -> bool {
    let end = Instant::now() + START_TIMEOUT;
    while Instant::now() < end {
        if !process.is_running() {
            return false;
        }
        if TcpStream::connect(address).is_ok() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}
