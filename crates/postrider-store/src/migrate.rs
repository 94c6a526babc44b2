//! Installs and upgrades the schema `postrider`, and tells whether a database has the right one.
//!
//! Everything in `sql/` is held in the binary and put together as one list of steps. `postrider
//! migrate` runs them in one transaction, `postrider migrate --print` prints the same text: what
//! decides (is this pending? was that changed?) stands in the SQL, so both do the same.
//!
//! Guarantees: all or nothing; running it again changes nothing, and waits for nobody; several at once
//! wait for each other; no superuser is needed. What is locked by others is waited for briefly, since
//! whoever wants the same waits behind us: then everything is undone, and tried again for some time.
//!
//! An index of a table that may be large would keep senders waiting for as long as it is built. Such an index
//! is built before the migration that needs it, on each partition, beside senders and outside of the
//! transaction (`sql/beforehand/NNNN_table.name.sql`); the migration finds it and makes it a part of its own. One
//! that is left over when that was stopped is of no use to anybody, and is built anew by the next migrate. The
//! printed script builds it in its transaction.
//!
//! The options of transports are installed with the rest, and tell two builds apart. What transports there are is not
//! known here: callers hand their options in, as rows of the table `postrider.transport_option`.

use std::{
    fmt::{self, Write},
    str::FromStr,
    time::{Duration, Instant},
};

use serde_json::Value;
use tokio_postgres::{Client, IsolationLevel, Row, error::SqlState};

include!(concat!(env!("OUT_DIR"), "/sql.rs"));

const BEGIN: &str = include_str!("../../../sql/install/begin.sql");
const MIGRATION: &str = include_str!("../../../sql/install/migration.sql");
const BEFORE_BUILD: &str = include_str!("../../../sql/install/before_build.sql");
const HOLD_BUILDS: &str = include_str!("../../../sql/install/hold_builds.sql");
const LET_BUILDS_GO: &str = include_str!("../../../sql/queries/install/commit.sql");
const AFTER_BUILD: &str = include_str!("../../../sql/install/after_build.sql");
const DROP_LEFT_OVER: &str = include_str!("../../../sql/install/drop_left_over.sql");
const MISSING_INDEXES: &str = include_str!("../../../sql/queries/install/missing_indexes.sql");
const UNLESS_SAME: &str = include_str!("../../../sql/install/unless_same.sql");
const TRANSPORT_OPTIONS: &str = include_str!("../../../sql/install/transport_options.sql");
const SETTINGS: &str = include_str!("../../../sql/settings.sql");
const FINISH: &str = include_str!("../../../sql/install/finish.sql");
const GRANTS: &str = include_str!("../../../sql/grants.sql");
const APPLIED_MIGRATIONS: &str =
    include_str!("../../../sql/queries/install/applied_migrations.sql");
const SCHEMA_STATE: &str = include_str!("../../../sql/queries/install/schema_state.sql");
const SCHEMA_VERSION: &str = include_str!("../../../sql/queries/install/schema_version.sql");
const INSTALLED_VERSION: &str = include_str!("../../../sql/queries/install/installed_version.sql");

const BACKEND_PID: &str = include_str!("../../../sql/queries/install/backend_pid.sql");
const LOCK_HOLDERS: &str = include_str!("../../../sql/queries/install/lock_holders.sql");

/// How long one try waits for a lock, and the script, which is not tried again by itself.
const LOCK_WAIT: &str = "200ms";
const LOCK_WAIT_OF_SCRIPT: &str = "2s";
/// How long and how often at least it is tried, and how far the tries are apart.
const TRY_FOR: Duration = Duration::from_secs(10);
const TRIES_MIN: u32 = 5;
const TRY_PAUSE: Duration = Duration::from_millis(300);
/// How long others may build, or read what is left of an index. Our own building takes as long as it takes.
const OTHERS_BUILD_FOR: Duration = Duration::from_secs(3_600);
/// How often we look whom we wait for.
const LOOK: Duration = Duration::from_millis(20);
/// Where a function's file goes on with what locks its table.
const TRIGGER: &str = "\ncreate or replace trigger ";

/// The version of this program.
pub const PRODUCT_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The most shards that a database can be installed with.
pub const SHARDS_MAX: u16 = 64;

/// The heading of the printed script.
const SCRIPT_HEADING: &str = "\
-- Postrider: installs or upgrades the schema \"postrider\" in the current database.
-- Can be run any number of times. Run it as the role that dispatchers connect as:
--
--     psql -v ON_ERROR_STOP=1 -1 -f postrider.sql

";

/// A file below `sql/`.
#[derive(Debug, Clone, Copy)]
struct File {
    path: &'static str,
    name: &'static str,
    text: &'static str,
}

/// A piece of the script: small enough that an error can say where it comes from.
struct Step {
    path: String,
    text: String,
}

/// What [`migrate`] did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The database.
    pub database: String,
    /// The migrations that were applied now.
    pub applied: Vec<String>,
    /// The latest migration that the database has.
    pub latest: String,
    /// The number of shards of the database.
    pub shard_count: u16,
}

/// Why [`migrate`] left everything as it was.
#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    /// One of the steps was refused by the server, or the connection was lost in it.
    #[error("could not run sql/{path}")]
    Step {
        /// The file below `sql/`.
        path: String,
        /// What the server said. What our own checks raise is written for people.
        source: tokio_postgres::Error,
    },
    /// Somebody holds what has to be changed.
    #[error("{holder}: nothing was changed; migrate again when that transaction has ended")]
    Held {
        /// Who, and what.
        holder: Holder,
    },
    /// The transaction could not be begun or committed.
    #[error("could not complete the migration")]
    Transaction(#[from] tokio_postgres::Error),
}

/// Whom a migration has waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    pid: i32,
    role: Option<String>,
    application_name: Option<String>,
    since: Option<String>,
    relation: Option<String>,
}

impl fmt::Display for Holder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pid, role, application_name, since, relation } = self;
        match pid {
            0 => write!(formatter, "a prepared transaction")?,
            pid => write!(formatter, "pid {pid}")?,
        }
        if let Some(role) = role {
            write!(formatter, " (role \"{role}\"")?;
            if let Some(name) = application_name.as_ref().filter(|name| !name.is_empty()) {
                write!(formatter, ", application \"{name}\"")?;
            }
            if let Some(since) = since {
                write!(formatter, ", its transaction open since {since}")?;
            }
            write!(formatter, ")")?;
        }
        match relation {
            Some(relation) => write!(formatter, " holds {relation}"),
            None => write!(formatter, " holds a row that has to change"),
        }
    }
}

/// Why a program cannot work with the schema of a database.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// There is none.
    #[error(
        "the schema \"postrider\" is missing in database \"{database}\"; run `postrider migrate`"
    )]
    Missing {
        /// The database.
        database: String,
    },
    /// It belongs to a role that we cannot act as.
    #[error(
        "the schema \"postrider\" in database \"{database}\" belongs to role \"{owner}\", which role \
         \"{role}\" is not a member of; dispatchers connect as the schema's owner"
    )]
    NotOwner {
        /// The database.
        database: String,
        /// The role that we connected as.
        role: String,
        /// The role that owns the schema.
        owner: String,
    },
    /// The database is behind this program.
    #[error(
        "the schema \"postrider\" in database \"{database}\" is of {installed}, this is {expected}; \
         run `postrider migrate` of this version"
    )]
    Outdated {
        /// The database.
        database: String,
        /// What the database has.
        installed: String,
        /// What this program needs.
        expected: String,
    },
    /// This program is behind the database.
    #[error(
        "the schema \"postrider\" in database \"{database}\" is of {installed}, this is {expected}; \
         upgrade this program"
    )]
    TooNew {
        /// The database.
        database: String,
        /// What the database has.
        installed: String,
        /// What this program knows.
        expected: String,
    },
    /// The question could not be asked.
    #[error("could not look at the schema \"postrider\"")]
    Unreadable(#[from] tokio_postgres::Error),
}

/// What a database is migrated with.
#[derive(Debug, Clone, Default)]
pub struct Choices {
    /// 1 to 64, for the first installation: without it a new database gets the default of 16. Later it
    /// has to be what the database has, or absent.
    pub shard_count: Option<u16>,
    /// What the names of the roles begin with. Without it the database keeps the one it has; a new one
    /// gets `postrider`.
    pub role_prefix: Option<RolePrefix>,
}

/// What the names of a database's roles begin with: 1 to 48 letters, digits and `_`, all lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RolePrefix(String);

impl FromStr for RolePrefix {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_letter = |byte: u8| byte.is_ascii_lowercase();
        let is_part = |byte: u8| is_letter(byte) || byte.is_ascii_digit() || byte == b'_';
        let begins = text.bytes().next().is_some_and(is_letter) && !text.starts_with("pg_");
        if !begins || !text.bytes().all(is_part) || text.len() > 48 {
            return Err("it has to be 1 to 48 lower case letters, digits or _, beginning with a \
                        letter and not with pg_");
        }
        Ok(Self(text.to_owned()))
    }
}

/// The whole script, to be run by `psql -1 -f`.
pub fn script(choices: &Choices, options: &Value) -> String {
    let mut script = SCRIPT_HEADING.to_owned();
    for step in steps(choices, options, LOCK_WAIT_OF_SCRIPT) {
        let Step { path, text } = step;
        writeln!(script, "-- sql/{path}\n\n{}\n", text.trim_end()).expect("a String takes all");
    }
    script
}

/// Brings the database to the version of this program, in one transaction.
///
/// The server's notices tell what was skipped and what to do about it.
///
/// `watcher` is a second connection, which says whom the first one waits for.
///
/// # Errors
///
/// When the database cannot be migrated, is a standby, is of a newer version, or holds a migration
/// that was changed since, or when somebody keeps a lock for too long; nothing has happened then.
pub async fn migrate(
    client: &mut Client,
    watcher: &Client,
    choices: &Choices,
    options: &Value,
) -> Result<Report, MigrateError> {
    build_beforehand(client, watcher).await?;
    let began = Instant::now();
    let pid: i32 = client.query_one(BACKEND_PID, &[]).await?.get("pid");
    let mut holder = None;
    for number in 1.. {
        let tried_at = Instant::now();
        let tried = tokio::select! {
            tried = try_to_migrate(client, choices, options) => tried,
            never = watch(watcher, pid, &mut holder) => match never {},
        };
        let is_over = number >= TRIES_MIN && began.elapsed() >= TRY_FOR;
        match tried {
            Err(MigrateError::Step { source, .. })
                if source.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) && !is_over => {}
            Err(MigrateError::Step { path, source })
                if source.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) =>
            {
                return Err(match holder {
                    Some(holder) => MigrateError::Held { holder },
                    None => MigrateError::Step { path, source },
                });
            }
            tried => return tried,
        }
        // What a try had locked others have waited for: most of the time is theirs.
        tokio::time::sleep(TRY_PAUSE.max(tried_at.elapsed() * 2)).await;
    }
    unreachable!("it is tried until it is over")
}

/// Builds the indexes that pending migrations need on tables which may be large.
async fn build_beforehand(client: &Client, watcher: &Client) -> Result<(), MigrateError> {
    let state = client.query_one(SCHEMA_STATE, &[]).await?;
    // Who may not do it hears why from the first step.
    if !state.get::<_, bool>("is_installed") || !state.get::<_, bool>("is_owner") {
        return Ok(());
    }
    if wanted_indexes(client).await?.is_empty() {
        return Ok(());
    }
    // Two that build on the same table would wait for each other.
    let began = Instant::now();
    while let Err(error) = watcher.batch_execute(HOLD_BUILDS).await {
        watcher.batch_execute(LET_BUILDS_GO).await?;
        let is_held = error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE);
        if !is_held || began.elapsed() > OTHERS_BUILD_FOR {
            return Err(error.into());
        }
        tokio::time::sleep(TRY_PAUSE).await;
    }
    let built = async {
        for file in wanted_indexes(client).await? {
            build_index(client, file).await?;
        }
        Ok(client.batch_execute(AFTER_BUILD).await?)
    }
    .await;
    watcher.batch_execute(LET_BUILDS_GO).await?;
    built
}

/// What is to be built before migrations that are pending in a database that has others.
async fn wanted_indexes(client: &Client) -> Result<Vec<&'static File>, tokio_postgres::Error> {
    let rows = client.query(APPLIED_MIGRATIONS, &[]).await?;
    let latest = rows.iter().map(|row| number_of(row.get(0))).max();
    let is_wanted = |file: &&File| latest.is_some_and(|latest| number(file) > latest);
    Ok(BEFOREHAND.iter().filter(is_wanted).collect())
}

/// Builds an index on each partition that has not got it.
async fn build_index(client: &Client, file: &File) -> Result<(), MigrateError> {
    let began = Instant::now();
    let (_, place) = file.name.split_once('_').expect("it is called NNNN_table.name.sql");
    let (table, name) = place.split_once('.').expect("it is called NNNN_table.name.sql");
    loop {
        let missing = client.query(MISSING_INDEXES, &[&table, &name]).await?;
        let Some(row) = missing.first() else {
            return Ok(());
        };
        let values = ["partition", "index", "index_path"].map(|value| (value, row.get(value)));
        let (template, lock_timeout) = match row.get("is_left_over") {
            true => (DROP_LEFT_OVER, LOCK_WAIT),
            false => (file.text, "0"),
        };
        for template in [BEFORE_BUILD, template] {
            let values = values.into_iter().chain([("lock_timeout", lock_timeout)]);
            let step = Step::fill(file.path, template, &values.collect::<Vec<_>>());
            match client.batch_execute(&step.text).await {
                Ok(()) => {}
                // Somebody reads what is left over.
                Err(error)
                    if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE)
                        && began.elapsed() < OTHERS_BUILD_FOR =>
                {
                    tokio::time::sleep(TRY_PAUSE).await;
                    break;
                }
                // A migration before that one adds the column: it builds the index itself.
                Err(error) if error.code() == Some(&SqlState::UNDEFINED_COLUMN) => return Ok(()),
                Err(source) => return Err(MigrateError::Step { path: step.path, source }),
            }
        }
    }
}

/// Notes whom the session waits for, as long as it is asked to.
async fn watch(
    watcher: &Client,
    pid: i32,
    holder: &mut Option<Holder>,
) -> std::convert::Infallible {
    loop {
        if let Ok(Some(row)) = watcher.query_opt(LOCK_HOLDERS, &[&pid]).await {
            *holder = Some(Holder {
                pid: row.get("pid"),
                role: row.get("role"),
                application_name: row.get("application_name"),
                since: row.get("since"),
                relation: row.get("relation"),
            });
        }
        tokio::time::sleep(LOOK).await;
    }
}

async fn try_to_migrate(
    client: &mut Client,
    choices: &Choices,
    options: &Value,
) -> Result<Report, MigrateError> {
    let transaction =
        client.build_transaction().isolation_level(IsolationLevel::ReadCommitted).start().await?;
    let mut steps = steps(choices, options, LOCK_WAIT).into_iter();
    let run = async |step: Step| {
        let result = transaction.batch_execute(&step.text).await;
        result.map_err(|source| MigrateError::Step { path: step.path, source })
    };

    run(steps.next().expect("the first step is begin.sql")).await?;
    let before = applied(&transaction).await?;
    for step in steps {
        run(step).await?;
    }
    let mut after = applied(&transaction).await?;
    let state = transaction.query_one(SCHEMA_STATE, &[]).await?;
    let installed = transaction.query_one(INSTALLED_VERSION, &[]).await?;
    transaction.commit().await?;

    let latest = after.last().cloned().unwrap_or_default();
    after.retain(|name| !before.contains(name));
    let shard_count: i32 = installed.get("shard_count");
    Ok(Report {
        database: state.get("database"),
        applied: after,
        latest,
        shard_count: u16::try_from(shard_count).expect("the migration checks 1 to 64"),
    })
}

/// Whether this program can dispatch with the schema of the database that `client` is connected to.
///
/// # Errors
///
/// When it cannot, with a text that says what to do.
pub async fn check(client: &Client, options: &Value) -> Result<(), SchemaError> {
    let state = client.query_one(SCHEMA_STATE, &[]).await?;
    check_state(client, &state, options).await?;
    if !state.get::<_, bool>("is_owner") {
        let database = state.get("database");
        let (role, owner) = (state.get("role"), state.get("schema_owner"));
        return Err(SchemaError::NotOwner { database, role, owner });
    }
    Ok(())
}

/// Whether this program can call the functions of the schema of the database that `client` is connected to,
/// as whatever role.
///
/// A database that was migrated by a newer program with the same migrations is fine: whatever
/// changes how its functions are called comes with a migration.
///
/// # Errors
///
/// When it cannot, with a text that says what to do.
pub async fn check_version(client: &Client, options: &Value) -> Result<(), SchemaError> {
    check_state(client, &client.query_one(SCHEMA_STATE, &[]).await?, options).await
}

async fn check_state(client: &Client, state: &Row, options: &Value) -> Result<(), SchemaError> {
    let database: String = state.get("database");
    if !state.get::<_, bool>("is_installed") {
        return Err(SchemaError::Missing { database });
    }
    let row = match client.query_opt(SCHEMA_VERSION, &[]).await {
        // A stranger, who will hear what it may not do.
        Err(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => return Ok(()),
        row => row?,
    };
    let Some(row) = row else {
        return Err(SchemaError::Missing { database });
    };
    let installed = Version {
        product: row.get("product_version"),
        fingerprint: row.get("fingerprint"),
        migration: row.get::<_, Option<i32>>("latest_migration").unwrap_or_default(),
    };
    compare(database, &installed, &Version::of_this_program(options))
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Version {
    product: String,
    fingerprint: String,
    migration: i32,
}

impl Version {
    fn of_this_program(options: &Value) -> Self {
        Self {
            product: PRODUCT_VERSION.to_owned(),
            fingerprint: fingerprint(&options.to_string()),
            migration: latest_migration(),
        }
    }

    fn describe(&self) -> String {
        let Self { product, fingerprint, migration } = self;
        format!("Postrider {product} (migration {migration}, build {fingerprint})")
    }

    /// Numbers that compare as versions do; what is not a number counts as 0.
    fn numbers(&self) -> Vec<u64> {
        let release = self.product.split('-').next().unwrap_or_default();
        release.split('.').map(|part| part.parse().unwrap_or_default()).collect()
    }
}

fn compare(database: String, installed: &Version, expected: &Version) -> Result<(), SchemaError> {
    let is_older =
        (installed.migration, installed.numbers()) < (expected.migration, expected.numbers());
    let is_other_build =
        installed.product == expected.product && installed.fingerprint != expected.fingerprint;
    let texts = || (installed.describe(), expected.describe());
    if installed.migration > expected.migration {
        let (installed, expected) = texts();
        return Err(SchemaError::TooNew { database, installed, expected });
    }
    if is_older || is_other_build {
        let (installed, expected) = texts();
        return Err(SchemaError::Outdated { database, installed, expected });
    }
    Ok(())
}

async fn applied(
    transaction: &tokio_postgres::Transaction<'_>,
) -> Result<Vec<String>, tokio_postgres::Error> {
    let rows = transaction.query(APPLIED_MIGRATIONS, &[]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// All that is run, in order.
fn steps(choices: &Choices, options: &Value, lock_timeout: &str) -> Vec<Step> {
    let options = options.to_string();
    let shard_count = choices.shard_count.map(|count| count.to_string()).unwrap_or_default();
    let role_prefix = choices.role_prefix.as_ref().map(|prefix| prefix.0.as_str());
    let (latest, fingerprint) = (latest_migration().to_string(), fingerprint(&options));

    let mut steps = vec![Step::fill(
        "install/begin.sql",
        BEGIN,
        &[
            ("shard_count", &shard_count),
            ("role_prefix", role_prefix.unwrap_or_default()),
            ("latest_migration", &latest),
            ("product_version", PRODUCT_VERSION),
            ("fingerprint", &fingerprint),
            ("lock_timeout", lock_timeout),
        ],
    )];
    for migration in MIGRATIONS {
        let version = number(migration).to_string();
        steps.push(Step::fill(
            migration.path,
            MIGRATION,
            &[("version", &version), ("name", migration.name), ("text", migration.text)],
        ));
    }
    steps.push(Step::fill(
        "install/transport_options.sql",
        TRANSPORT_OPTIONS,
        &[("transport_options", &options)],
    ));
    steps.push(Step::fill("settings.sql", SETTINGS, &[]));
    for file in FUNCTIONS {
        let (function, trigger) = split_trigger(file.text);
        steps.push(Step::fill(file.path, function, &[]));
        let trigger = trigger.map(|text| Step::fill(file.path, UNLESS_SAME, &[("text", text)]));
        steps.extend(trigger);
    }
    let unless_same = |file: &File| Step::fill(file.path, UNLESS_SAME, &[("text", file.text)]);
    steps.extend(VIEWS.iter().map(unless_same));
    steps.push(Step::fill(
        "install/finish.sql",
        FINISH,
        &[("product_version", PRODUCT_VERSION), ("fingerprint", &fingerprint)],
    ));
    steps.push(Step::fill("grants.sql", GRANTS, &[]));
    steps
}

impl Step {
    /// Puts values in the places of a template. They stand inside dollar quotes or are our own
    /// numbers and names, so nothing is escaped.
    fn fill(path: &str, template: &str, values: &[(&str, &str)]) -> Self {
        let mut text = template.to_owned();
        for (name, value) in values {
            let quotes = ["$migration_text$", "$transport_options$", "$unless_same$"];
            assert!(!quotes.iter().any(|quote| value.contains(quote)));
            text = text.replace(&format!("{{{{{name}}}}}"), value);
        }
        Self { path: path.to_owned(), text }
    }
}

/// A function, and the trigger that calls it.
fn split_trigger(text: &str) -> (&str, Option<&str>) {
    match text.find(TRIGGER) {
        Some(at) => (&text[..at], Some(&text[at..])),
        None => (text, None),
    }
}

/// The number that a migration's file name begins with.
fn number(migration: &File) -> i32 {
    number_of(migration.name)
}

fn number_of(name: &str) -> i32 {
    let digits = name.split('_').next().unwrap_or_default();
    digits.parse().expect("a migration is called NNNN_name.sql")
}

fn latest_migration() -> i32 {
    MIGRATIONS.last().map(number).unwrap_or_default()
}

/// The names of the indexes that migrations make, in their order.
pub fn index_names() -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for migration in MIGRATIONS {
        for statement in migration.text.lines() {
            let words: Vec<&str> =
                statement.split_whitespace().filter(|word| *word != "unique").collect();
            match words.as_slice() {
                ["create", "index", name, ..] => names.push((*name).to_owned()),
                ["drop", "index", .., name] => {
                    let name = name.trim_end_matches(';').trim_start_matches("postrider.");
                    names.retain(|known| known != name);
                }
                _ => {}
            }
        }
    }
    names
}

/// Tells two builds of one version apart: FNV-1a over everything that a migration installs.
fn fingerprint(options: &str) -> String {
    let files = MIGRATIONS.iter().chain(FUNCTIONS).chain(VIEWS).map(|file| file.text);
    let texts = files.chain([SETTINGS, GRANTS, TRANSPORT_OPTIONS, UNLESS_SAME, FINISH, options]);
    let hash = texts.flat_map(str::bytes).fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(product: &str, migration: i32, fingerprint: &str) -> Version {
        Version { product: product.to_owned(), fingerprint: fingerprint.to_owned(), migration }
    }

    #[track_caller]
    fn check(installed: (&str, i32, &str), expected: &str) {
        let (product, migration, fingerprint) = installed;
        let installed = version(product, migration, fingerprint);
        let found = match compare("shop".to_owned(), &installed, &version("0.10.0", 3, "a")) {
            Ok(()) => "fine",
            Err(SchemaError::Outdated { .. }) => "outdated",
            Err(SchemaError::TooNew { .. }) => "too new",
            Err(error) => panic!("{error}"),
        };
        assert_eq!(found, expected, "{installed:?}");
    }

    #[test]
    fn a_program_works_with_its_own_schema_and_with_newer_functions() {
        check(("0.10.0", 3, "a"), "fine");
        check(("0.10.0", 3, "b"), "outdated");
        check(("0.9.1", 3, "a"), "outdated");
        check(("0.9.1", 2, "a"), "outdated");
        check(("0.11.0", 3, "b"), "fine");
        check(("0.11.0", 4, "b"), "too new");
        check(("0.9.0", 4, "b"), "too new");
        check(("0.11.0", 2, "b"), "outdated");
    }

    #[test]
    fn migrations_are_numbered_without_gaps() {
        let numbers: Vec<_> = MIGRATIONS.iter().map(number).collect();
        let expected: Vec<_> = (1..).take(numbers.len()).collect();
        assert_eq!(numbers, expected);
    }

    #[test]
    fn no_place_of_a_template_stays_empty() {
        let is_left = |step: &Step| step.text.contains("{{") && !step.path.starts_with("functions");
        let left: Vec<_> = steps(&Choices::default(), &Value::Null, "1s")
            .into_iter()
            .filter(is_left)
            .map(|step| step.path)
            .collect();
        assert_eq!(left, [""; 0]);
    }
}
