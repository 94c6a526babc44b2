//! Clusters that are made once for a run of the tests and copied by each test that starts a server.
//!
//! Making a cluster and installing the schema is most of what a test that asks for little costs. Two are
//! made: one that is empty, and one whose database [`DATABASE`] was migrated by the program under
//! test. They lie in a folder of their own that goes with the run, however it ends; the tests are told
//! in an environment variable ([`VARIABLE`]) where, and without it make their own.

use std::io::{BufRead, BufReader};
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::folder::Folder;
use super::{Installation, Options, PrivatePostgres, run};

/// Tells the tests in which folder the templates are.
pub const VARIABLE: &str = "POSTRIDER_TEST_TEMPLATES";

/// The database of the migrated cluster.
pub const DATABASE: &str = "shop";

/// The file system in memory that every Linux has.
const MEMORY: &str = "/dev/shm";
/// How many bytes must be free in [`MEMORY`], and twice as many of the memory itself. All servers of a
/// run together take a fraction of it.
const MEMORY_ROOM: u64 = 4 << 30;

/// The templates of one run; dropping it removes them.
#[derive(Debug)]
pub struct Templates {
    folder: Folder,
}

/// What a template holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// No database of ours.
    Empty,
    /// The database [`DATABASE`] with the schema.
    Migrated,
}

impl Templates {
    /// Makes the templates; the migrated one by `migrator`, the program under test, if it is given.
    ///
    /// They, and with them the servers of the tests, lie in memory where there is plenty. On a disk,
    /// ext4 takes most of a second of processor time to make the 1,500 files of a cluster when as many
    /// were removed a moment ago: it passes over inodes that were freed lately.
    ///
    /// # Errors
    ///
    /// As [`PrivatePostgres::start`], and when the program fails.
    pub async fn make(migrator: Option<&Path>) -> Result<Self> {
        let installation = Installation::find()?;
        let base = memory_with_room();
        let folder = Folder::create(base)?;
        super::make_cluster(&folder, &installation)?;
        let templates = Self { folder };
        if let Some(migrator) = migrator {
            templates.make_migrated(migrator, installation, base).await?;
        }
        Ok(templates)
    }

    /// The folder, for [`VARIABLE`].
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    async fn make_migrated(
        &self,
        migrator: &Path,
        installation: Installation,
        base: Option<&Path>,
    ) -> Result<()> {
        let folder = Folder::create(base)?;
        let empty = Kind::Empty.data_in(self.path());
        copy(&empty, &folder)?;
        let mut server = PrivatePostgres::start_made(folder, installation, Options::default())?;
        server.create_database(DATABASE).await?;
        run(Command::new(migrator).arg("migrate").env("DATABASE_URL", server.url_for(DATABASE)))?;
        server.stop()?;
        let data = server.data_dir();
        // What the tests set is appended to the configuration as initdb made it.
        std::fs::copy(empty.join("postgresql.conf"), data.join("postgresql.conf"))?;
        // A server that finds no statistics counts anew; autovacuum would have plans for those here.
        for entry in std::fs::read_dir(data.join("pg_stat"))? {
            std::fs::remove_file(entry?.path())?;
        }
        std::fs::rename(&data, Kind::Migrated.data_in(self.path()))
            .context("could not keep the migrated cluster")
    }
}

impl Kind {
    /// The template of this kind that we were told about, if there is one and it fits the options.
    pub(super) fn find_for(self, options: &Options) -> Option<PathBuf> {
        // Another version cannot read it, and who waits for the disk needs one.
        if options.installation.is_some() || options.fsync {
            return None;
        }
        let data = self.data_in(Path::new(&std::env::var_os(VARIABLE)?));
        // One kind is always there: that it is not must be an error.
        (self == Self::Empty || data.exists()).then_some(data)
    }

    fn data_in(self, folder: &Path) -> PathBuf {
        folder.join(match self {
            Self::Empty => "data",
            Self::Migrated => "migrated",
        })
    }
}

/// Copies the data of a cluster that does not run into a folder.
pub(super) fn copy(data: &Path, folder: &Folder) -> Result<()> {
    run(folder
        .command(Path::new("cp"))
        .args(["--archive", "--reflink=auto"])
        .arg(data.join("."))
        .arg(folder.data()))
}

/// Where servers that need no disk lie, next to the template: `None` for the usual place.
pub(super) fn base_of(template: &Path) -> Option<&Path> {
    template.parent()?.parent()
}

/// [`MEMORY`], if it has room and nobody has said where temporary files should be.
fn memory_with_room() -> Option<&'static Path> {
    let has_room = std::env::var_os("TMPDIR").is_none()
        && free_in_memory_file_system().is_some_and(|bytes| bytes >= MEMORY_ROOM)
        && available_memory().is_some_and(|bytes| bytes >= 2 * MEMORY_ROOM);
    has_room.then_some(Path::new(MEMORY))
}

/// How many bytes are free in [`MEMORY`]; `None` when it does not lie in memory.
fn free_in_memory_file_system() -> Option<u64> {
    let path = std::ffi::CString::new(MEMORY).expect("the path holds no zero");
    let mut figures = MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: both pointers are valid for the call; the figures are read only when it has filled them.
    let figures = unsafe {
        if libc::statfs(path.as_ptr(), figures.as_mut_ptr()) != 0 {
            return None;
        }
        figures.assume_init()
    };
    (figures.f_type == libc::TMPFS_MAGIC).then(|| figures.f_bavail * figures.f_bsize as u64)
}

/// How many bytes the machine can give away.
fn available_memory() -> Option<u64> {
    let lines = BufReader::new(std::fs::File::open("/proc/meminfo").ok()?).lines();
    let line = lines.map_while(Result::ok).find(|line| line.starts_with("MemAvailable:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn copies_of_a_template_are_servers_of_their_own_and_nothing_stays() {
        // It changes nothing, so the database stays empty.
        let templates = Templates::make(Some(Path::new("true"))).await.unwrap();
        let start = |options: Options| {
            let folder = Folder::create(None).unwrap();
            copy(&Kind::Migrated.data_in(templates.path()), &folder).unwrap();
            PrivatePostgres::start_made(folder, Installation::find().unwrap(), options).unwrap()
        };
        let first = start(Options { max_prepared_transactions: 3, ..Options::default() });
        let second = start(Options::default());
        first.execute(DATABASE, "create table t ()").await.unwrap();
        second.execute(DATABASE, "create table t ()").await.unwrap();
        for (server, expected) in [(&first, "3"), (&second, "0")] {
            let client = server.connect().await.unwrap();
            let row = client.query_one("show max_prepared_transactions", &[]).await.unwrap();
            assert_eq!(row.get::<_, &str>(0), expected);
        }
        let path = templates.path().to_owned();
        assert!(Kind::Empty.data_in(&path).join("PG_VERSION").exists());
        drop(templates);
        assert!(!path.exists());
        second.execute(DATABASE, "drop table t").await.unwrap();
    }

    #[test]
    fn who_waits_for_the_disk_or_brings_a_server_gets_no_copy() {
        let installation = Some(Installation::find().unwrap());
        for options in [
            Options { fsync: true, ..Options::default() },
            Options { installation, ..Options::default() },
        ] {
            assert_eq!(Kind::Empty.find_for(&options), None);
        }
    }
}
