//! The segment of System V shared memory by which PostgreSQL keeps a second server off its data.
//!
//! A server frees its segment when it ends, and takes back the one of its predecessor when it starts. When
//! a killed one never starts again, nobody does: the kernel keeps the segment until it is told
//! otherwise, and holds few thousands of them. Its key and id are in the server's lock file.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Result, bail, ensure};

/// The lock file in the data folder; a server that ends by itself removes it.
const LOCK_FILE: &str = "postmaster.pid";
/// The line of the lock file with key and id, counted from 0.
const LOCK_FILE_LINE: usize = 6;

/// Names one segment: an id is given to another one only after the first is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Segment {
    pub key: i32,
    pub id: i32,
}

/// Frees the segment that a server has left in its data folder's name, if there is one.
///
/// # Errors
///
/// When a process still uses it, or the kernel refuses.
pub(super) fn free(data: &Path) -> Result<()> {
    let Some(segment) = Segment::of(data) else { return Ok(()) };
    let Some(state) = state_of(segment.id)? else { return Ok(()) };
    // A lock file can be older than the segments of now, by a start of the machine.
    let owner = std::fs::metadata(data)?.uid();
    if state.shm_perm.__key != segment.key || state.shm_perm.uid != owner {
        return Ok(());
    }
    ensure!(state.shm_nattch == 0, "the shared memory {} is still in use", segment.id);
    // SAFETY: this command reads no buffer.
    if unsafe { libc::shmctl(segment.id, libc::IPC_RMID, std::ptr::null_mut()) } == 0 {
        return Ok(());
    }
    match io::Error::last_os_error() {
        error if is_gone(&error) => Ok(()),
        error => bail!("could not free the shared memory {}: {error}", segment.id),
    }
}

impl Segment {
    /// The segment that the lock file of a data folder names.
    pub(super) fn of(data: &Path) -> Option<Self> {
        let lock_file = std::fs::read_to_string(data.join(LOCK_FILE)).ok()?;
        let mut numbers = lock_file.lines().nth(LOCK_FILE_LINE)?.split_whitespace();
        // A negative key stands there as an unsigned number of 64 bits.
        let key = numbers.next()?.parse::<u64>().ok()? as i32;
        Some(Self { key, id: numbers.next()?.parse().ok()? })
    }

    /// Whether the kernel holds it.
    #[cfg(test)]
    pub(super) fn exists(self) -> bool {
        let segments = std::fs::read_to_string("/proc/sysvipc/shm").unwrap();
        let mut columns = segments.lines().map(str::split_whitespace);
        let (key, id) = (self.key.to_string(), self.id.to_string());
        columns.any(|mut line| line.next() == Some(&key) && line.next() == Some(&id))
    }
}

/// What the kernel says about a segment; `None` when there is none with this id.
fn state_of(id: i32) -> Result<Option<libc::shmid_ds>> {
    let mut state = std::mem::MaybeUninit::<libc::shmid_ds>::uninit();
    // SAFETY: the pointer is valid for the call, and the state is read only when it was filled.
    if unsafe { libc::shmctl(id, libc::IPC_STAT, state.as_mut_ptr()) } == 0 {
        return Ok(Some(unsafe { state.assume_init() }));
    }
    match io::Error::last_os_error() {
        error if is_gone(&error) => Ok(None),
        error => bail!("could not look at the shared memory {id}: {error}"),
    }
}

/// Whether the kernel has no segment with the id, or another user's in its place.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EIDRM | libc::EACCES | libc::EPERM))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A segment of our own, freed at the end if it is still there.
    struct Own(Segment);

    impl Own {
        fn new(key: i32) -> Self {
            // SAFETY: shmget has no memory effects.
            let id = unsafe { libc::shmget(key, 56, libc::IPC_CREAT | libc::IPC_EXCL | 0o600) };
            assert_ne!(id, -1, "{}", io::Error::last_os_error());
            Self(Segment { key, id })
        }
    }

    impl Drop for Own {
        fn drop(&mut self) {
            // SAFETY: the segment is ours, and nothing points into it.
            unsafe { libc::shmctl(self.0.id, libc::IPC_RMID, std::ptr::null_mut()) };
        }
    }

    /// A data folder whose lock file has this as its line about shared memory.
    fn data_folder(line: &str) -> tempfile::TempDir {
        let data = tempfile::tempdir().unwrap();
        let text = format!("1\n/data\n1\n5432\n/socket\n127.0.0.1\n{line}\nready   \n");
        std::fs::write(data.path().join(LOCK_FILE), text).unwrap();
        data
    }

    #[test]
    fn a_segment_is_freed_by_its_key_and_id_together() {
        for key in [fastrand::i32(1_000..), fastrand::i32(..-1_000)] {
            let own = Own::new(key);
            let Segment { id, .. } = own.0;
            assert!(own.0.exists());
            for other in [format!("{:9} {id:9}", key as u64 ^ 1), format!("{key}"), String::new()] {
                free(data_folder(&other).path()).unwrap();
                assert!(own.0.exists(), "`{other}` does not name it");
            }
            let data = data_folder(&format!("{:9} {id:9}", key as u64));
            assert_eq!(Segment::of(data.path()), Some(own.0));
            free(data.path()).unwrap();
            assert!(!own.0.exists());
            free(data.path()).unwrap();
        }
    }

    #[test]
    fn a_segment_in_use_stays() {
        let own = Own::new(fastrand::i32(1_000..));
        // SAFETY: the kernel chooses the address; nothing is read or written there.
        let address = unsafe { libc::shmat(own.0.id, std::ptr::null(), 0) };
        assert_ne!(address as isize, -1);
        let data = data_folder(&format!("{} {}", own.0.key, own.0.id));
        let error = free(data.path()).unwrap_err().to_string();
        assert!(error.contains("still in use"), "{error}");
        assert!(own.0.exists());
        // SAFETY: nothing points into it.
        assert_eq!(unsafe { libc::shmdt(address) }, 0);
        free(data.path()).unwrap();
        assert!(!own.0.exists());
    }

    #[test]
    fn a_folder_without_a_server_has_none() {
        free(tempfile::tempdir().unwrap().path()).unwrap();
    }
}
