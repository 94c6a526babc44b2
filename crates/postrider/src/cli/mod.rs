//! The command line: understands arguments, calls the library, and shows what came of it.
//!
//! Results go to standard output, as tables for people or with `--json` for programs; errors,
//! notices and logs go to standard error. Exit codes: 0 it worked, 1 it did not, 2 the arguments or
//! the configuration are wrong, 3 the database cannot be reached, has not the right schema, or its log is from
//! another one; those of `health` say what was found, or 3 that it could not be asked.

mod action;
mod adopt;
mod age;
mod batch;
mod cancel;
mod confirm;
mod consumer;
mod dead_letter;
mod destination;
mod doctor;
mod endpoint;
mod event;
mod event_type;
mod example;
mod execution;
mod failure;
mod grammar;
mod health;
mod hint;
mod input;
mod job;
mod listen;
mod logging;
mod manual;
mod message;
mod message_options;
mod metrics;
mod migrate;
mod output;
mod partition;
mod past;
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
mod story;
mod subscription;
mod suggest;
mod table;
mod tail;
mod token;
mod tone;
mod top;
mod worker;
mod worker_admin;

use std::{process::ExitCode, time::Duration};

use clap::{ColorChoice, FromArgMatches, Parser, Subcommand};
use failure::Failure;
use grammar::Manner;
use output::{Format, Output};
use postrider_store::{
    connect::{Connector, Session},
    migrate as migrate_store,
};
use postrider_transport::options_as_json;
use serde_json::Value;
use tokio_postgres::{Client, types::ToSql};
use tracing::warn;

use crate::config::{Config, Flags, ServeFlags};

/// The heading of what every command takes.
const EVERYWHERE: &str = "Options of every command";
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
    /// How to print results
    #[arg(long, global = true, value_enum, value_name = "FORMAT", default_value = "table", hide_possible_values = true, help_heading = EVERYWHERE, help = "How to print results: table, json, or jsonl for a JSON value a row")]
    output: Format,
    /// The same as --output json
    #[arg(long, global = true, conflicts_with = "output", help_heading = EVERYWHERE)]
    json: bool,
    /// Whether to colour: auto, always or never. Auto colours on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_possible_values = true, hide_default_value = true, help_heading = EVERYWHERE)]
    color: ColorChoice,
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
    Top(top::Top),
    Health(health::Health),
    Doctor(doctor::Doctor),
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
    Completions(manual::Completions),
    Man(manual::Man),
}

/// What every command gets.
struct Context {
    config: Config,
    output: Output,
}

/// Every command there is, as clap has it.
pub fn command() -> clap::Command {
    grammar::command()
}

/// Runs the command that the arguments of this process ask for.
pub fn run() -> ExitCode {
    let matches = grammar::command().get_matches();
    let manner = grammar::manner(&matches);
    let arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let Arguments { flags, output: format, json, color, command } = arguments;
    let output = Output::new(if json { Format::Json } else { format }, color);
    match execute(&flags, output, &command, &manner) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Shown(code)) => ExitCode::from(code),
        Err(failure) => {
            output.failure(&failure);
            match (command, &failure) {
                // What it has found ends with 1, too.
                (Command::Health(_), Failure::Failed(_) | Failure::Denied(_)) => {
                    ExitCode::from(health::NOT_ASKED)
                }
                _ => failure.exit_code(),
            }
        }
    }
}

fn execute(
    flags: &Flags,
    output: Output,
    command: &Command,
    manner: &Manner,
) -> Result<(), Failure> {
    if command.is_local() {
        Config::check_logging(flags, std::env::vars_os())?;
        return command.run_locally(output);
    }
    let serve_flags = match command {
        Command::Serve(serve) => serve.flags.clone(),
        _ => ServeFlags::default(),
    };
    let config = Config::load(flags, &serve_flags, std::env::vars_os())?;
    logging::start(config.log_format, &config.log_level, output.colour());
    for text in &config.warnings {
        warn!(text, "configuration");
    }
    if let Some(question) = &manner.question {
        confirm::ask(question)?;
    }

    let runtime = match command {
        Command::Serve(_) => tokio::runtime::Builder::new_multi_thread()
            .worker_threads(config.serve.threads)
            .thread_name("postrider")
            .enable_all()
            .build(),
        _ => tokio::runtime::Builder::new_current_thread().enable_all().build(),
    };
    let mut context = Context { config, output };
    runtime.map_err(|error| no_runtime(&error))?.block_on(async {
        let result = match manner.watch {
            Some(pause) => tail::until_interrupted(command.watch(&mut context, pause)).await,
            None => command.run(&context).await,
        };
        match result {
            Err(Failure::Denied(text)) => Err(Failure::Denied(context.with_grant(text).await)),
            other => other,
        }
    })
}

fn no_runtime(error: &std::io::Error) -> Failure {
    Failure::Failed(format!("could not start the runtime: {error}"))
}

impl Command {
    /// Whether it needs no database: printing needs none, and neither does arithmetic.
    fn is_local(&self) -> bool {
        match self {
            Self::Migrate(migrate) => migrate.print,
            Self::Policy(policy) => !policy.needs_database(),
            Self::Completions(_) | Self::Man(_) | Self::Listen(_) => true,
            _ => false,
        }
    }

    fn run_locally(&self, output: Output) -> Result<(), Failure> {
        match self {
            Self::Migrate(migrate) => migrate.print_script(output),
            Self::Policy(policy) => policy.explain(output),
            Self::Completions(completions) => completions.run(output),
            Self::Man(man) => man.run(output),
            Self::Listen(listen) => {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.map_err(|error| no_runtime(&error))?.block_on(listen.run(output))
            }
            _ => Ok(()),
        }
    }

    async fn run(&self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::Migrate(migrate) => migrate.run(context).await,
            Self::Adopt(adopt) => adopt.run(context).await,
            Self::Serve(serve) => serve.run(context).await,
            Self::Send(send) => send.run(context).await,
            Self::Publish(publish) => publish.run(context).await,
            Self::Cancel(cancel) => cancel.run(context).await,
            Self::Endpoint(endpoint) => endpoint.run(context).await,
            Self::EventType(event_type) => event_type.run(context).await,
            Self::Subscription(subscription) => subscription.run(context).await,
            Self::Setting(setting) => setting.run(context).await,
            Self::Policy(policy) => policy.run(context).await,
            Self::Status(status) => status.run(context).await,
            Self::Top(top) => top.run(context).await,
            Self::Health(health) => health.run(context).await,
            Self::Doctor(doctor) => doctor.run(context).await,
            Self::Metrics(metrics) => metrics.run(context).await,
            Self::Events(events) => events.run(context).await,
            Self::Queue(queue) => queue.run(context).await,
            Self::Message(message) => message.run(context).await,
            Self::Dlq(dead_letter) => dead_letter.run(context).await,
            Self::Replay(replay) => replay.run(context).await,
            Self::Schedule(schedule) => schedule.run(context).await,
            Self::Job(job) => job.run(context).await,
            Self::Consumer(consumer) => consumer.run(context).await,
            Self::Tail(tail) => tail.run(context).await,
            Self::Execution(execution) => execution.run(context).await,
            Self::Worker(worker) => worker.run(context).await,
            Self::Action(action) => action.run(context).await,
            Self::Partition(partition) => partition.run(context).await,
            Self::Token(token) => token.run(context).await,
            Self::Listen(_) | Self::Completions(_) | Self::Man(_) => Ok(()),
        }
    }

    /// Shows the same again and again. A database that has been there is waited for.
    async fn watch(&self, context: &mut Context, pause: Duration) -> Result<(), Failure> {
        let mut was_there = false;
        loop {
            context.output = context.output.again();
            match self.run(context).await {
                Ok(()) | Err(Failure::Shown(_)) => was_there = true,
                Err(failure @ Failure::Database(_)) if was_there => {
                    context.output.failure(&failure);
                }
                Err(failure) => return Err(failure),
            }
            tokio::time::sleep(pause).await;
        }
    }
}

impl Context {
    /// A connection to a schema of this version.
    async fn connect(&self) -> Result<Session, Failure> {
        let session = self.connect_to_any().await?;
        migrate_store::check_version(&session.client, &options_as_json()).await?;
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
            let sql = include_str!("../../../../sql/queries/access/entitled_roles.sql");
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
