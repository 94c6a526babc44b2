//! A small file system in memory that can be made full and free again.
//!
//! It is mounted in a mount namespace of our own: nobody else sees it, and the kernel takes it down
//! with the last of our processes, however that ends.

use std::{
    ffi::CString,
    io,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};

/// As large as it may become; memory is only used for what is written.
const SIZE: u64 = 4 << 30;
/// What is left when it is full.
const REST: u64 = 16 << 10;

/// A mounted file system; dropping it unmounts it.
#[derive(Debug)]
pub struct Disk {
    path: PathBuf,
    /// Under the mount.
    _folder: tempfile::TempDir,
}

impl Disk {
    /// Mounts one. To be called before the process has other threads: they would stay in the namespace
    /// of before and not see it.
    ///
    /// # Errors
    ///
    /// Where that is not allowed.
    pub fn mount() -> Result<Self> {
        // SAFETY: unshare has no memory effects.
        let is_apart = unsafe { libc::unshare(libc::CLONE_NEWNS) } == 0;
        ensure!(is_apart, "no mount namespace: {}", io::Error::last_os_error());
        mount(Path::new("/"), libc::MS_REC | libc::MS_PRIVATE, None)
            .context("could not make mounts private")?;
        let folder = tempfile::Builder::new().prefix("postrider-chaos-").tempdir()?;
        let path = folder.path().to_owned();
        mount(&path, 0, Some(SIZE)).context("could not mount a tmpfs")?;
        Ok(Self { path, _folder: folder })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves no space.
    ///
    /// # Errors
    ///
    /// When the file system cannot be changed.
    pub fn fill(&self) -> Result<()> {
        // What is written between the look and the change makes the new size too small.
        for _ in 0..100 {
            if mount(&self.path, libc::MS_REMOUNT, Some(self.used()? + REST)).is_ok() {
                return Ok(());
            }
        }
        mount(&self.path, libc::MS_REMOUNT, Some(self.used()? + REST))
            .context("could not fill the disk")
    }

    /// Makes space again.
    ///
    /// # Errors
    ///
    /// When the file system cannot be changed.
    pub fn free(&self) -> Result<()> {
        mount(&self.path, libc::MS_REMOUNT, Some(SIZE)).context("could not free the disk")
    }

    /// Bytes that are written.
    ///
    /// # Errors
    ///
    /// When the file system does not say.
    pub fn used(&self) -> Result<u64> {
        let path = CString::new(self.path.as_os_str().as_encoded_bytes())?;
        let mut figures = std::mem::MaybeUninit::<libc::statvfs>::uninit();
        // SAFETY: both pointers are valid for the call; the figures are read only when it has filled
        // them.
        let figures = unsafe {
            let result = libc::statvfs(path.as_ptr(), figures.as_mut_ptr());
            ensure!(result == 0, "statvfs: {}", io::Error::last_os_error());
            figures.assume_init()
        };
        Ok((figures.f_blocks - figures.f_bfree) * figures.f_frsize)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let Ok(path) = CString::new(self.path.as_os_str().as_encoded_bytes()) else { return };
        // SAFETY: the pointer is valid for the call. What is open keeps the mount until it is closed.
        unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH) };
    }
}

fn mount(path: &Path, flags: libc::c_ulong, size: Option<u64>) -> Result<()> {
    let path = CString::new(path.as_os_str().as_encoded_bytes())?;
    // PostgreSQL runs as another user.
    let options = size.map(|size| CString::new(format!("size={size},mode=0755"))).transpose()?;
    let data = options.as_ref().map_or(std::ptr::null(), |options| options.as_ptr().cast());
    // SAFETY: all pointers are valid for the call.
    let result =
        unsafe { libc::mount(c"tmpfs".as_ptr(), path.as_ptr(), c"tmpfs".as_ptr(), flags, data) };
    ensure!(result == 0, "mount: {}", io::Error::last_os_error());
    Ok(())
}
