//! What each role is able to hold, read from the catalog: every function that it may call, every relation
//! that it may lock, every row that it may change. And what the owner may do with the rows that dispatchers work on
//! all the time.

use anyhow::{Context, Result, ensure};
use postrider_testkit::postgres::LOCK_MODES;
use tokio_postgres::{Client, error::SqlState};

use super::values;

/// A login with the rights of the owner.
pub const OWNER: &str = "stranger_owner";
/// Our roles lock rows of few tables, the owner those of any. What waits is passed over by whoever finds it locked.
const OWNER_STATEMENTS: &[&str] = &[
    "select 1 from postrider.deferred for update",
    "select 1 from postrider.deferred for key share",
    "update postrider.deferred set run_at = run_at",
    "delete from postrider.deferred",
];

/// Keys of advisory locks of a class that Postrider uses or has used, and their neighbours.
const ADVISORY: &str = "select count(*) filter (where LOCK)
    from (select generate_series(0, 255) union all select generate_series(1000, 1006)) s (k)";
const CLASSES: std::ops::RangeInclusive<i32> = 1_886_352_244..=1_886_352_252;

const FUNCTIONS: &str = "select
        p.proname::text, coalesce(p.proargnames[1:p.pronargs - p.pronargdefaults], '{}'),
        p.provolatile = 'v'
    from pg_proc p
    where p.pronamespace = 'postrider'::regnamespace
    and has_function_privilege($1, p.oid, 'execute')
    order by p.proname, p.oid";

const RELATIONS: &str = "select
        c.relname::text, has_any_column_privilege($1, c.oid, 'update') or has_table_privilege($1, c.oid, 'update'),
        array(
            select quote_ident(a.attname)
            from pg_attribute a
            where a.attrelid = c.oid
            and a.attnum > 0
            and not a.attisdropped
            and has_column_privilege($1, c.oid, a.attnum, 'update')
            order by a.attnum
        )
    from pg_class c
    where c.relnamespace = 'postrider'::regnamespace
    and c.relkind in ('r', 'p', 'v')
    and (has_table_privilege($1, c.oid, 'select, insert, update, delete, truncate')
        or has_any_column_privilege($1, c.oid, 'select, insert, update'))
    order by c.relname";

/// What a statement leaves behind in its transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaves {
    /// A transaction id, which changed or locked rows have, or a lock on a relation that stands in somebody's way.
    Something,
    /// Advisory locks.
    AdvisoryLocks,
    /// Nothing but the weakest lock, which shows that it should not stand among what holds something.
    Nothing,
    /// The lock that it is about, or what only reads: nobody has to look.
    Unasked,
}

/// What a login may do, and what is held then.
#[derive(Debug, Clone)]
pub struct Statement {
    pub sql: String,
    pub leaves: Leaves,
    /// What the owner does before, so that there is something to hold.
    pub before: Option<&'static str>,
}

impl Statement {
    fn new(sql: String, leaves: Leaves) -> Statement {
        Statement { sql, leaves, before: None }
    }
}

/// Something that a role does in a transaction that it leaves open.
#[derive(Debug, Clone)]
pub struct Hold {
    /// The login: `stranger` and a role of ours, or a login that may only connect.
    pub login: String,
    pub statement: Statement,
    /// Runs another statement afterwards instead of idling.
    pub is_busy: bool,
}

impl Hold {
    /// What it is called in a table.
    pub fn name(&self) -> String {
        let words = self.statement.sql.split_whitespace().collect::<Vec<_>>().join(" ");
        let words: String = words.chars().take(110).collect();
        let pace = if self.is_busy { "busy" } else { "idle" };
        format!("{} ({pace}): {words}", self.login)
    }
}

/// A login for each role of ours; beside these one without any, and one of the owner.
pub async fn make_logins(client: &Client) -> Result<Vec<(String, String)>> {
    let roles = "select r.rolname::text from pg_roles r
        where r.rolname like 'postrider\\_%' and not r.rolcanlogin order by 1";
    let mut logins = Vec::new();
    for row in client.query(roles, &[]).await? {
        let role: String = row.get(0);
        let login = format!("stranger_{}", role.trim_start_matches("postrider_"));
        client.batch_execute(&format!("create role {login} login in role {role}")).await?;
        logins.push((login, role));
    }
    client.batch_execute("create role stranger login").await?;
    let owner = format!("select format('create role {OWNER} login in role %I', current_user)");
    let owner: String = client.query_one(&owner, &[]).await?.get(0);
    client.batch_execute(&owner).await?;
    Ok(logins)
}

/// Everything that the role is able to hold. `as_login` is a connection of the login.
pub async fn holds_of(owner: &Client, as_login: &Client, login: &str) -> Result<Vec<Statement>> {
    let mut statements = functions_of(owner, login).await?;
    for row in owner.query(RELATIONS, &[&login]).await? {
        let (relation, is_updatable): (String, bool) = (row.get(0), row.get(1));
        if let Some(mode) = strongest_mode(as_login, &relation).await? {
            let lock = format!("lock table postrider.{relation} in {mode} mode");
            statements.push(Statement::new(lock, Leaves::Unasked));
        }
        if is_updatable {
            let columns: Vec<String> = row.get(2);
            let sets: Vec<String> = columns.iter().map(|name| format!("{name} = {name}")).collect();
            for sql in [
                format!("select 1 from postrider.{relation} for update"),
                format!("update postrider.{relation} set {}", sets.join(", ")),
            ] {
                statements.push(Statement::new(sql, Leaves::Something));
            }
        }
    }
    Ok(statements)
}

/// What a login without any right of ours is able to hold.
pub fn holds_of_nobody() -> Vec<Statement> {
    let locks = ["pg_try_advisory_lock", "pg_try_advisory_lock_shared"];
    let hold = |class: i32, lock: &str| {
        let sql = ADVISORY.replace("LOCK", &format!("{lock}({class}, k)"));
        Statement::new(sql, Leaves::AdvisoryLocks)
    };
    CLASSES.flat_map(|class| locks.map(|lock| hold(class, lock))).collect()
}

/// What the owner of the schema holds.
pub fn holds_of_owner() -> Vec<Statement> {
    let hold = |sql: &&str| Statement::new((*sql).to_owned(), Leaves::Something);
    OWNER_STATEMENTS.iter().map(hold).collect()
}

async fn functions_of(owner: &Client, login: &str) -> Result<Vec<Statement>> {
    let mut statements = Vec::new();
    for row in owner.query(FUNCTIONS, &[&login]).await? {
        let (function, parameters): (String, Vec<String>) = (row.get(0), row.get(1));
        let leaves = leaves(&function, row.get(2))?;
        let before = values::before(&function);
        let statement = |sql| Statement { sql, leaves, before };
        let is_own = |statement: &&(&str, &str)| statement.0 == function;
        let more = values::ALSO.iter().filter(is_own);
        for (_, sql) in values::STATEMENTS.iter().filter(is_own).chain(more) {
            statements.push(statement(fill(owner, &function, &parameters, sql).await?));
        }
        if values::STATEMENTS.iter().any(|statement| is_own(&statement)) {
            continue;
        }
        let mut values = Vec::new();
        for parameter in parameters {
            let value = value(owner, &function, &parameter).await?;
            values.push(format!("{parameter} => {value}"));
        }
        let sql = format!("select * from postrider.{function}({})", values.join(", "));
        statements.push(statement(sql));
    }
    Ok(statements)
}

/// What a function leaves behind: what is not volatile can hold nothing, and is in no list.
fn leaves(function: &str, is_volatile: bool) -> Result<Leaves> {
    let is_listed = values::HOLD_NOTHING.iter().any(|(name, _)| *name == function);
    ensure!(is_volatile || !is_listed, "postrider.{function} is not volatile, and listed");
    Ok(match (is_volatile, is_listed) {
        (false, _) => Leaves::Unasked,
        (true, true) => Leaves::Nothing,
        (true, false) => Leaves::Something,
    })
}

/// A statement with literals where it names parameters.
async fn fill(
    owner: &Client,
    function: &str,
    parameters: &[String],
    statement: &str,
) -> Result<String> {
    let mut filled = statement.to_owned();
    for parameter in parameters {
        let name = format!("{{{parameter}}}");
        if filled.contains(&name) {
            filled = filled.replace(&name, &value(owner, function, parameter).await?);
        }
    }
    Ok(filled)
}

/// The literal for a parameter.
async fn value(owner: &Client, function: &str, parameter: &str) -> Result<String> {
    let value = values::value_of(function, parameter).with_context(|| {
        format!("the matrix has no value for {parameter} of postrider.{function}")
    })?;
    let ask = format!("select quote_literal(({value})::text)");
    let value: Option<String> =
        owner.query_one(&ask, &[]).await.with_context(|| ask.clone())?.get(0);
    value.with_context(|| format!("the scene has nothing for {parameter} of postrider.{function}"))
}

/// The strongest mode in which this login may lock the relation; none if it may not at all.
async fn strongest_mode(as_login: &Client, relation: &str) -> Result<Option<&'static str>> {
    for mode in LOCK_MODES {
        let lock = format!(
            "begin; set local lock_timeout = '20ms'; lock table postrider.{relation} in {mode} mode"
        );
        let locked = as_login.batch_execute(&lock).await;
        as_login.batch_execute("rollback").await?;
        match locked {
            Ok(()) => return Ok(Some(mode)),
            Err(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {}
            // It is allowed, and somebody has it at the moment.
            Err(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => {
                return Ok(Some(mode));
            }
            Err(error) => return Err(error).with_context(|| lock),
        }
    }
    Ok(None)
}
