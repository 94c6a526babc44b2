//! The command line: understands arguments, calls the library, and shows what came of it.
//!
//! Results go to standard output, as tables for people or with `--json` for programs; errors,
//! notices and logs go to standard error. Exit codes: 0 it worked, 1 it did not, 2 the arguments or
//! the configuration are wrong, 3 the database cannot be reached, has not the right schema, or its log is from
//! another one; those of `health` say what was found.

mod action;
mod adopt;
mod batch;
mod cancel;
mod consumer;
mod dead_letter;
mod endpoint;
mod event;
mod event_type;
mod example;
mod execution;
mod failure;
mod health;
mod input;
mod job;
mod listen;
mod logging;
mod message;
mod message_options;
mod metrics;
mod migrate;
mod output;
mod partition;
mod policy;
mod publish;
mod queue;
mod replay;
mod schedule;
mod send;
mod serve;
mod setting;
mod signing_key;
mod status;
mod subscription;
mod suggest;
mod tail;
mod token;
mod worker;
mod worker_admin;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use failure::Failure;
use output::Output;
use serde_json::Value;
use tokio_postgres::{Client, types::ToSql};
use tracing::warn;

use crate::{
    config::{Config, Flags, ServeFlags},
    store::{
        connect::{Connector, Session},
        migrate as migrate_store,
    },
};

/// What `pg_stat_activity` shows while a command runs.
const APPLICATION_NAME: &str = "postrider command line";

/// Reliable message delivery for applications that live on PostgreSQL.
///
/// Applications send messages in SQL, inside their own transactions; `postrider serve` delivers them.
#[derive(Debug, Parser)]
#[command(name = "postrider", version, max_term_width = 100, after_help = EXAMPLES)]
struct Arguments {
    #[command(flatten)]
    flags: Flags,
    /// Print results as JSON
    #[arg(long, global = true, help_heading = "Options of every command")]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
First steps:
  export DATABASE_URL=postgres://shop@localhost/shop
  postrider migrate
  postrider endpoint create orders --protocol http --set url=https://example.com/hook
  postrider send orders '{\"order\": 1}'
  postrider serve

Exit codes: 0 it worked; 1 it did not; 2 wrong arguments or configuration; 3 the database cannot be
reached, its schema is missing or of another version, or its log is from another database.";

#[derive(Debug, Subcommand)]
enum Command {
    Migrate(migrate::Migrate),
    Adopt(adopt::Adopt),
    Serve(serve::Serve),
    Send(send::Send),
    Publish(publish::Publish),
    Cancel(cancel::Cancel),
    Endpoint(endpoint::Endpoint),
    EventType(event_type::EventType),
    Subscription(subscription::Subscription),
    Setting(setting::Setting),
    Policy(policy::Policy),
    Status(status::Status),
    Health(health::Health),
    Metrics(metrics::Metrics),
    Events(event::Events),
    Queue(queue::Queue),
    Message(message::Message),
    #[command(alias = "dead-letter")]
    Dlq(dead_letter::DeadLetter),
    Replay(replay::Replay),
    Schedule(schedule::Schedule),
    Job(job::Job),
    Consumer(consumer::Consumer),
    Tail(tail::Tail),
    Listen(listen::Listen),
    Execution(execution::Execution),
    Worker(worker::Worker),
    Action(action::Action),
    Partition(partition::Partition),
    Token(token::Token),
}

/// What every command gets.
struct Context {
    config: Config,
    output: Output,
}

/// Runs the command that the arguments of this process ask for.
pub fn run() -> ExitCode {
    let Arguments { flags, json, command } = Arguments::parse();
    let output = Output::new(json);
    match execute(flags, output, command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Shown(code)) => ExitCode::from(code),
        Err(failure) => {
            output.failure(&failure);
            failure.exit_code()
        }
    }
}

fn execute(flags: Flags, output: Output, command: Command) -> Result<(), Failure> {
    let variables = std::env::vars_os();
    // Printing the script needs no database, and neither does arithmetic.
    if let Command::Migrate(migrate) = &command
        && migrate.print
    {
        Config::check_logging(&flags, variables)?;
        return migrate.print_script(output);
    }
    if let Command::Policy(policy) = &command
        && !policy.needs_database()
    {
        Config::check_logging(&flags, variables)?;
        return policy.explain(output);
    }
    if let Command::Listen(listen) = &command {
        Config::check_logging(&flags, variables)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let failed = |error| Failure::Failed(format!("could not start the runtime: {error}"));
        return runtime.map_err(failed)?.block_on(listen.run(output));
    }
    let serve_flags = match &command {
        Command::Serve(serve) => serve.flags.clone(),
        _ => ServeFlags::default(),
    };
    let config = Config::load(&flags, &serve_flags, variables)?;
    logging::start(config.log_format, &config.log_level);
    for text in &config.warnings {
        warn!(text, "configuration");
    }

    let runtime = match &command {
        Command::Serve(_) => tokio::runtime::Builder::new_multi_thread()
            .worker_threads(config.serve.threads)
            .thread_name("postrider")
            .enable_all()
            .build(),
        _ => tokio::runtime::Builder::new_current_thread().enable_all().build(),
    };
    let runtime = runtime
        .map_err(|error| Failure::Failed(format!("could not start the runtime: {error}")))?;
    let context = Context { config, output };
    runtime.block_on(async {
        let result = match command {
            Command::Migrate(migrate) => migrate.run(&context).await,
            Command::Adopt(adopt) => adopt.run(&context).await,
            Command::Serve(serve) => serve.run(&context).await,
            Command::Send(send) => send.run(&context).await,
            Command::Publish(publish) => publish.run(&context).await,
            Command::Cancel(cancel) => cancel.run(&context).await,
            Command::Endpoint(endpoint) => endpoint.run(&context).await,
            Command::EventType(event_type) => event_type.run(&context).await,
            Command::Subscription(subscription) => subscription.run(&context).await,
            Command::Setting(setting) => setting.run(&context).await,
            Command::Policy(policy) => policy.run(&context).await,
            Command::Status(status) => status.run(&context).await,
            Command::Health(health) => health.run(&context).await,
            Command::Metrics(metrics) => metrics.run(&context).await,
            Command::Events(events) => events.run(&context).await,
            Command::Queue(queue) => queue.run(&context).await,
            Command::Message(message) => message.run(&context).await,
            Command::Dlq(dead_letter) => dead_letter.run(&context).await,
            Command::Replay(replay) => replay.run(&context).await,
            Command::Schedule(schedule) => schedule.run(&context).await,
            Command::Job(job) => job.run(&context).await,
            Command::Consumer(consumer) => consumer.run(&context).await,
            Command::Tail(tail) => tail.run(&context).await,
            Command::Listen(listen) => listen.run(output).await,
            Command::Execution(execution) => execution.run(&context).await,
            Command::Worker(worker) => worker.run(&context).await,
            Command::Action(action) => action.run(&context).await,
            Command::Partition(partition) => partition.run(&context).await,
            Command::Token(token) => token.run(&context).await,
        };
        match result {
            Err(Failure::Denied(text)) => Err(Failure::Denied(context.with_grant(text).await)),
            other => other,
        }
    })
}

impl Context {
    /// A connection to a schema of this version.
    async fn connect(&self) -> Result<Session, Failure> {
        let session = self.connect_to_any().await?;
        migrate_store::check_version(&session.client).await?;
        Ok(session)
    }

    /// A connection, whatever schema there is.
    async fn connect_to_any(&self) -> Result<Session, Failure> {
        let Config { database_url, database_ca_file, .. } = &self.config;
        let connector = Connector::new(database_url, database_ca_file.as_deref(), APPLICATION_NAME);
        Ok(connector?.connect().await?)
    }

    /// The text of a denial, and which role would help.
    async fn with_grant(&self, text: String) -> String {
        let roles = async {
            let session = self.connect_to_any().await.ok()?;
            let name = failure::denied_name(&text)?;
            let sql = include_str!("../../../../sql/queries/entitled_roles.sql");
            let rows = session.client.query(sql, &[&name]).await.ok()?;
            let denied: String = rows.first()?.get("denied");
            let roles: Vec<String> = rows.iter().map(|row| row.get("role")).collect();
            Some(match name {
                "postrider" => format!("grant \"{denied}\" one of {}", roles.join(", ")),
                _ => format!("grant {} to \"{denied}\"", roles[0]),
            })
        };
        match roles.await {
            Some(hint) => {
                format!("{text}\nhint: {hint} (as somebody who may), or a role that may more")
            }
            None => text,
        }
    }
}

/// The first of two queries, or, where the role may not read all that it shows, the second one.
async fn json_rows_or(
    client: &Client,
    [query, masked]: [&str; 2],
    parameters: &[&(dyn ToSql + Sync)],
) -> Result<Vec<Value>, Failure> {
    match json_rows(client, query, parameters).await {
        Err(Failure::Denied(_)) => json_rows(client, masked, parameters).await,
        other => other,
    }
}

/// Runs a query whose rows are one JSON value each.
async fn json_rows(
    client: &Client,
    query: &str,
    parameters: &[&(dyn ToSql + Sync)],
) -> Result<Vec<Value>, Failure> {
    let rows = client.query(query, parameters).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}
