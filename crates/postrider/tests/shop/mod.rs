//! A private PostgreSQL with an empty database `shop`, and our program run on it.

pub mod asking;
pub mod consuming;
pub mod executing;
pub mod producing;
pub mod pulse;
pub mod schema;
pub mod serving;

use std::{
    io::Write,
    process::{Command, Output, Stdio},
};

use postrider_testkit::postgres::{Options, PrivatePostgres};
use serde_json::Value;
use tokio_postgres::Client;

pub struct Shop {
    pub postgres: PrivatePostgres,
}

/// What a run of the program left.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Shop {
    /// A server with the empty database.
    pub async fn open() -> Self {
        Self::open_with(Options::default()).await
    }

    /// A server that is set up differently, with the empty database.
    pub async fn open_with(options: Options) -> Self {
        let postgres = PrivatePostgres::start(options).unwrap();
        postgres.create_database("shop").await.unwrap();
        Self { postgres }
    }

    /// A server with the schema installed.
    pub async fn open_migrated() -> Self {
        Self::open_migrated_with(Options::default()).await
    }

    /// A server that is set up differently, with the schema installed: a copy of what our program made
    /// for this run of the tests, or made now.
    pub async fn open_migrated_with(options: Options) -> Self {
        if let Some(postgres) = PrivatePostgres::start_migrated(options.clone()).unwrap() {
            return Self { postgres };
        }
        let shop = Self::open_with(options).await;
        shop.run(&["migrate"]).succeed();
        shop
    }

    pub fn url(&self) -> String {
        self.postgres.url_for("shop")
    }

    pub async fn client(&self) -> Client {
        self.postgres.connect_to("shop").await.unwrap()
    }

    /// Runs SQL in `shop` as superuser.
    pub async fn execute(&self, sql: &str) {
        self.postgres.execute("shop", sql).await.unwrap();
    }

    pub fn run(&self, arguments: &[&str]) -> Run {
        run(&self.url(), arguments, "")
    }

    pub fn run_with_input(&self, arguments: &[&str], input: &str) -> Run {
        run(&self.url(), arguments, input)
    }

    /// Runs `psql` on `shop` as superuser.
    pub fn psql(&self, database: &str, arguments: &[&str], script: &str) -> Run {
        let mut command = Command::new("psql");
        command.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", &self.postgres.url_for(database)]);
        command.args(arguments);
        finish(command, script)
    }

    /// `pg_dump --schema-only`, without lines that differ from run to run.
    pub fn dump(&self, database: &str) -> String {
        let mut command = Command::new(self.postgres.bin_dir().join("pg_dump"));
        command.args(["--schema-only", "-d", &self.postgres.url_for(database)]);
        let run = finish(command, "").succeed();
        let is_stable = |line: &&str| !line.starts_with("\\");
        run.stdout.lines().filter(is_stable).collect::<Vec<_>>().join("\n")
    }

    /// `pg_dump` with data, and before it the roles that the dump grants to.
    pub fn dump_all(&self, database: &str) -> String {
        let mut dump = Command::new(self.postgres.bin_dir().join("pg_dump"));
        dump.args(["-d", &self.postgres.url_for(database)]);
        format!("{}\n{}", self.dump_roles(), finish(dump, "").succeed().stdout)
    }

    /// `pg_dump` of the rows and sequences alone.
    pub fn dump_data(&self, database: &str) -> String {
        let mut dump = Command::new(self.postgres.bin_dir().join("pg_dump"));
        dump.args(["--data-only", "-d", &self.postgres.url_for(database)]);
        finish(dump, "").succeed().stdout
    }

    /// The roles of the cluster but the one that every cluster has.
    pub fn dump_roles(&self) -> String {
        let mut roles = Command::new(self.postgres.bin_dir().join("pg_dumpall"));
        roles.args(["--roles-only", "-d", &self.postgres.url_for("shop")]);
        let roles = finish(roles, "").succeed().stdout;
        let is_new = |line: &&str| !line.ends_with("ROLE postgres;");
        roles.lines().filter(is_new).collect::<Vec<_>>().join("\n")
    }

    /// Dumps a database of this cluster and restores it into another one of it.
    pub fn restore(&self, from: &str, to: &str) {
        let bin = self.postgres.bin_dir();
        let mut dump = Command::new(bin.join("pg_dump"));
        dump.args(["--format=custom", "-d", &self.postgres.url_for(from)]);
        let mut dump = dump.stdout(Stdio::piped()).spawn().unwrap();
        let mut restore = Command::new(bin.join("pg_restore"));
        restore.args(["--exit-on-error", "-d", &self.postgres.url_for(to)]);
        let restored = restore.stdin(dump.stdout.take().unwrap()).status().unwrap();
        assert!(restored.success() && dump.wait().unwrap().success());
    }
}

/// Statements that change messages in the log, which nobody else may: as if these had been written so.
pub fn changing_the_log(sql: &str) -> String {
    format!(
        "begin; insert into postrider.log_change default values; {}; delete from postrider.log_change; commit",
        sql.trim_end().trim_end_matches(';')
    )
}

/// Runs the program on a database.
pub fn run(url: &str, arguments: &[&str], input: &str) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_postrider"));
    command.args(arguments).env("DATABASE_URL", url);
    finish(command, input)
}

fn finish(mut command: Command, input: &str) -> Run {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // Beside what it says: a program whose output nobody takes away does not read on.
    let Output { status, stdout, stderr } = std::thread::scope(|scope| {
        // A program that has refused its arguments does not read.
        scope.spawn(move || drop(stdin.write_all(input.as_bytes())));
        child.wait_with_output().unwrap()
    });
    Run {
        code: status.code().unwrap_or(-1),
        stdout: String::from_utf8(stdout).unwrap(),
        stderr: String::from_utf8(stderr).unwrap(),
    }
}

impl Run {
    #[track_caller]
    pub fn succeed(self) -> Self {
        assert_eq!(self.code, 0, "{self:?}");
        self
    }

    /// It ended with this code and said this on standard error.
    #[track_caller]
    pub fn fail(self, code: i32, text: &str) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        assert!(self.stderr.contains(text), "`{text}` is not in `{}`", self.stderr);
        self
    }

    #[track_caller]
    pub fn json(self) -> Value {
        let run = self.succeed();
        serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:?}"))
    }
}
