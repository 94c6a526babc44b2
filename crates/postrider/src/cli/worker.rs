//! `postrider worker`
//!
//! Runs a command for each execution. The command leads a process group of its own, which gets SIGTERM when
//! the execution is to stop, and SIGKILL when that has not helped, when the command has ended and has left
//! something behind, or when nobody waits for it any more. The kernel kills the command when this process
//! dies, however it dies.

use std::{
    collections::VecDeque,
    ffi::{OsStr, OsString},
    fs::Metadata,
    io::{ErrorKind, Write},
    os::unix::{ffi::OsStrExt, fs::PermissionsExt, process::ExitStatusExt},
    path::{Path, PathBuf},
    pin::pin,
    process::{ExitStatus, Stdio},
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures_util::FutureExt;
use postrider_client::{Execution, ExecutionError, WorkerEvent, WorkerTrouble};
use postrider_fleet::rabbitmq::read_authorities;
use postrider_store::{
    connect::Connector,
    migrate::{self, SchemaError},
};
use postrider_transport::options_as_json;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    process::{Child, Command},
    signal::unix::{SignalKind, signal},
    sync::watch,
    task::JoinHandle,
};
use tokio_postgres_rustls::MakeRustlsConnect;
use tracing::{debug, info, warn};

use super::{Context, Failure, worker_admin::WorkerCommand};
use crate::config::Config;

/// EX_TEMPFAIL of sysexits.h: another try may work.
const TEMPORARY_FAILURE: i32 = 75;
/// What is kept of the last that a command has written to standard error.
const ERROR_TAIL: usize = 4_096;
/// The most that a command may write to standard output: as much as max_payload_size may be.
const OUTPUT_MAX: usize = 64 << 20;
/// How long the pipes of a command may stay open when its process group is gone.
const PIPE_PATIENCE: Duration = Duration::from_secs(2);
/// How many buffers a pipe has at most, by the kernel's limit of 1 MiB.
const PIPE_READS: usize = 16;
/// What a stopped command may take to be reaped after SIGKILL.
const REAP_PATIENCE: Duration = Duration::from_secs(5);
/// The variables of ours that a command gets, and those that begin with `LC_`. None of them is a secret, and
/// programs need them to find their files, their language and their clock.
const PASSED_ON: [&str; 13] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "PWD",
    "TERM",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// Run a command for each execution, as a worker
///
/// The command gets the parameters on standard input, as JSON. What it writes to standard output is the
/// result: JSON, or else a text. Exit code 0: completed. 75: a transient error, which is retried if the
/// execution has retries left; so is a command that a signal kills. Any other: a permanent error. The last
/// 4 KiB of standard error are kept with the error.
///
/// The environment has POSTRIDER_EXECUTION_ID, POSTRIDER_ACTION, POSTRIDER_ATTEMPT, POSTRIDER_MAX_RETRIES,
/// POSTRIDER_CORRELATION_ID and POSTRIDER_DEADLINE (seconds since 1970), PATH, HOME and other variables that
/// are no secrets, and those that --pass-env names. When the execution is cancelled, or its time is over, the command's process group gets SIGTERM,
/// and SIGKILL after --kill-after-seconds.
///
/// The log says when the worker has registered, and once each when the database or the broker is lost and
/// back; with --log-level debug also when a command starts and ends.
///
/// SIGTERM and Ctrl-C stop the worker: it takes nothing new, lets commands go on for
/// --shutdown-timeout-seconds, stops the rest, and gives those executions back.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true,
    after_help = "\
Examples:
  postrider worker --exec ./handler
  postrider worker --pool images --capacity 8 --exec convert-image -- --quality 80
  postrider worker --action resize --label zone=a --exec ./resize
  postrider worker list --pool images
  postrider worker cordon big-one"
)]
pub struct Worker {
    #[command(subcommand)]
    command: Option<WorkerCommand>,
    /// The program that is run for each execution, without a shell; its arguments follow after --
    #[arg(long, value_name = "PROGRAM")]
    exec: Option<OsString>,
    /// The worker's name: the host's name and the process id unless set
    ///
    /// Give it one that it keeps when it is started again: a new name is a new worker, with a row and, by
    /// RabbitMQ, a queue of its own. No two processes may have the same.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The pool from which it takes executions
    #[arg(long, value_name = "POOL", default_value = "default")]
    pool: String,
    /// How many commands run at a time: 1 to 10000
    #[arg(long, value_name = "COUNT", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=10_000))]
    capacity: u32,
    /// Only executions of this action, others fail; can be given more than once
    #[arg(long, value_name = "NAME")]
    action: Vec<String>,
    /// Something worth knowing about the worker; can be given more than once
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_label)]
    label: Vec<(String, String)>,
    /// Get executions by RabbitMQ, from amqp://user@host:port/vhost
    ///
    /// Everybody on the machine can see the arguments of a process: put a password into the environment.
    #[arg(long, value_name = "URL", env = "POSTRIDER_AMQP_URL", hide_env_values = true)]
    amqp_url: Option<String>,
    /// With amqps://, trust the certificate authorities in this PEM file too
    #[arg(long, value_name = "FILE", env = "POSTRIDER_AMQP_CA_FILE")]
    amqp_ca_file: Option<PathBuf>,
    /// Let the command have this variable of ours too; can be given more than once
    #[arg(long, value_name = "NAME")]
    pass_env: Vec<String>,
    /// How long commands may go on when the worker is to stop
    #[arg(long, value_name = "SECONDS", default_value_t = 30,
        value_parser = clap::value_parser!(u64).range(..=86_400))]
    shutdown_timeout_seconds: u64,
    /// How long a command may take to stop after SIGTERM
    #[arg(long, value_name = "SECONDS", default_value_t = 10,
        value_parser = clap::value_parser!(u64).range(..=3_600))]
    kill_after_seconds: u64,
    /// Arguments of the program
    #[arg(last = true, value_name = "ARGUMENT")]
    arguments: Vec<OsString>,
}

fn parse_label(text: &str) -> Result<(String, String), String> {
    let label = text.split_once('=').filter(|(key, _)| !key.is_empty());
    let (key, value) = label.ok_or("a label is KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

/// What is run, and how.
struct Program {
    path: OsString,
    arguments: Vec<OsString>,
    pass_env: Vec<String>,
    kill_after: Duration,
}

impl Worker {
    pub async fn run(&self, context: &Context) -> Result<(), Failure> {
        if let Some(command) = &self.command {
            return command.run(context).await;
        }
        let program = Arc::new(self.program()?);
        hide_from_commands();
        let connector = self.connector(&context.config).await?;
        let database = connector.target().to_owned();
        let worker = self.build(connector, program)?;
        let carrier = if self.amqp_url.is_some() { "rabbitmq" } else { "postgres" };
        info!(
            name = worker.name(),
            pool = self.pool,
            carrier,
            capacity = self.capacity,
            database,
            "worker is starting"
        );
        let summary = worker.run_until(interrupted()?).await?;
        info!(
            completed = summary.completed,
            failed = summary.failed,
            retried = summary.retried,
            released = summary.released,
            "worker stopped"
        );
        Ok(())
    }

    fn program(&self) -> Result<Program, Failure> {
        let Some(path) = self.exec.clone() else {
            return Err(Failure::Usage("--exec is required: the program to run".to_owned()));
        };
        check_program(&path).map_err(Failure::Usage)?;
        let kill_after = Duration::from_secs(self.kill_after_seconds);
        let (arguments, pass_env) = (self.arguments.clone(), self.pass_env.clone());
        Ok(Program { path, arguments, pass_env, kill_after })
    }

    /// Says where the database is, and looks whether its schema fits.
    async fn connector(&self, config: &Config) -> Result<Connector, Failure> {
        let Config { database_url, database_ca_file, .. } = config;
        let session_name = match &self.name {
            Some(name) => format!("worker {name}"),
            None => "worker".to_owned(),
        };
        let connector = Connector::new(database_url, database_ca_file.as_deref(), &session_name)?;
        // A database that cannot be reached yet is waited for.
        if let Ok(session) = connector.connect().await {
            match migrate::check_version(&session.client, &options_as_json()).await {
                Ok(()) | Err(SchemaError::Unreadable(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(connector)
    }

    fn build(
        &self,
        connector: Connector,
        program: Arc<Program>,
    ) -> Result<postrider_client::Worker<MakeRustlsConnect>, Failure> {
        let (config, tls) = connector.into_parts();
        let mut worker = postrider_client::Worker::builder()
            .config(config)
            .tls(tls)
            .pool(&self.pool)
            .capacity(self.capacity)
            .version(env!("CARGO_PKG_VERSION"))
            .shutdown_timeout(Duration::from_secs(self.shutdown_timeout_seconds))
            .stop_grace(program.kill_after + REAP_PATIENCE)
            .on_trouble(report)
            .on_event(tell);
        if let Some(name) = &self.name {
            worker = worker.name(name);
        }
        if let Some(amqp_url) = &self.amqp_url {
            worker = worker.rabbitmq(amqp_url);
        }
        if let Some(path) = &self.amqp_ca_file {
            let authorities = read_authorities(path);
            let authorities = authorities.map_err(|error| Failure::Usage(error.to_string()))?;
            worker = worker.rabbitmq_authorities(authorities);
        }
        for (key, value) in &self.label {
            worker = worker.label(key, value);
        }
        let handler = move |execution| execute(Arc::clone(&program), execution);
        for action in &self.action {
            worker = worker.handle(action, handler.clone());
        }
        if self.action.is_empty() {
            worker = worker.handle_any(handler);
        }
        Ok(worker.build()?)
    }
}

fn report(trouble: &WorkerTrouble) {
    let trouble = trouble.to_string();
    warn!(trouble, "worker goes on");
}

fn tell(event: &WorkerEvent) {
    match event {
        WorkerEvent::Registered { worker_id } => info!(worker_id, "worker is registered"),
        other => info!(event = %other, "worker has recovered"),
    }
}

/// Whether there is such a program: without one every execution would fail, one after the other.
fn check_program(program: &OsStr) -> Result<(), String> {
    let is_program = |path: &Path| {
        let is_executable =
            |file: Metadata| file.is_file() && file.permissions().mode() & 0o111 != 0;
        path.metadata().is_ok_and(is_executable)
    };
    let is_found = if program.as_bytes().contains(&b'/') {
        is_program(Path::new(program))
    } else {
        // What is looked for without PATH differs from system to system.
        let folders = std::env::var_os("PATH");
        folders.is_none_or(|folders| {
            std::env::split_paths(&folders).any(|folder| is_program(&folder.join(program)))
        })
    };
    if is_found {
        return Ok(());
    }
    Err(format!("--exec {}: there is no such program, or it is not executable", program.display()))
}

/// Ready at the first SIGTERM or Ctrl-C. The second one ends the process at once.
fn interrupted() -> Result<impl Future<Output = ()>, Failure> {
    let failed = |error| Failure::Failed(format!("could not wait for signals: {error}"));
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    Ok(async move {
        tokio::select! { _ = terminate.recv() => {} _ = interrupt.recv() => {} }
        info!("worker is stopping");
        tokio::spawn(async move {
            tokio::select! { _ = terminate.recv() => {} _ = interrupt.recv() => {} }
            std::process::exit(1);
        });
    })
}

/// A process group that is killed when this goes.
struct Group(libc::pid_t);

impl Group {
    fn signal(&self, signal: i32) {
        // SAFETY: kill has no memory effects. The group is that of a child of ours.
        unsafe { libc::kill(-self.0, signal) };
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(libc::SIGKILL);
    }
}

/// Runs the program for an execution.
async fn execute(program: Arc<Program>, execution: Execution) -> Result<Value, ExecutionError> {
    let id = execution.id();
    debug!(
        execution = id,
        action = execution.action(),
        attempt = execution.attempt(),
        "command starts"
    );
    let mut child =
        program.command(&execution).spawn().map_err(|error| not_run(&program.path, &error))?;
    let group = Group(child.id().and_then(|id| i32::try_from(id).ok()).unwrap_or(libc::pid_t::MAX));
    let input = child.stdin.take();
    let parameters = execution.parameters().get().to_owned();
    // A program that does not read its input is no error.
    let feeding = tokio::spawn(async move {
        if let Some(mut input) = input {
            let _ = input.write_all(parameters.as_bytes()).await;
        }
    });
    let (ended, end) = watch::channel(false);
    let output = tokio::spawn(read_output(child.stdout.take(), end.clone()));
    let errors = tokio::spawn(read_errors(child.stderr.take(), end));

    let status = wait(&mut child, &group, &execution, program.kill_after).await;
    // What it has left behind.
    drop(group);
    feeding.abort();
    let status = status
        .map_err(|error| ExecutionError::transient(format!("could not wait for it: {error}")))?;
    ended.send_replace(true);
    let (output, errors) = (finish(output).await, finish(errors).await);
    debug!(execution = id, %status, "command has ended");
    conclude(status, output, &errors)
}

/// Whether another try may work depends on why: there may be too many processes or open files.
fn not_run(path: &OsStr, error: &std::io::Error) -> ExecutionError {
    let text = format!("could not run {}: {error}", path.display());
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::PermissionDenied | ErrorKind::InvalidInput => {
            ExecutionError::permanent(text)
        }
        _ if error.raw_os_error() == Some(libc::ENOEXEC) => ExecutionError::permanent(text),
        _ => ExecutionError::transient(text),
    }
}

impl Program {
    fn command(&self, execution: &Execution) -> Command {
        let deadline = execution.deadline().duration_since(SystemTime::UNIX_EPOCH);
        let deadline = deadline.map_or(0.0, |since| since.as_secs_f64());
        let correlation = execution.correlation_id().map(|id| id.to_string()).unwrap_or_default();
        let mut command = Command::new(&self.path);
        command
            .args(&self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .env_clear();
        for (name, value) in std::env::vars_os() {
            if self.passes_on(&name.to_string_lossy()) {
                command.env(name, value);
            }
        }
        command
            .env("POSTRIDER_EXECUTION_ID", execution.id().to_string())
            .env("POSTRIDER_ACTION", execution.action())
            .env("POSTRIDER_ATTEMPT", execution.attempt().to_string())
            .env("POSTRIDER_MAX_RETRIES", execution.max_retries().to_string())
            .env("POSTRIDER_CORRELATION_ID", correlation)
            .env("POSTRIDER_DEADLINE", format!("{deadline:.3}"));
        die_with_us(&mut command);
        command
    }

    fn passes_on(&self, name: &str) -> bool {
        PASSED_ON.contains(&name)
            || name.starts_with("LC_")
            || self.pass_env.iter().any(|passed| passed == name)
    }
}

/// Without it a command of the same user reads our environment and memory below /proc.
#[cfg(target_os = "linux")]
fn hide_from_commands() {
    // SAFETY: changes nothing but a mark of this process.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) };
}

#[cfg(not(target_os = "linux"))]
fn hide_from_commands() {}

/// The kernel kills the child when the thread that makes it ends: that is the main thread, for the
/// runtime of this command has no others.
#[cfg(target_os = "linux")]
fn die_with_us(command: &mut Command) {
    let parent = std::process::id();
    // SAFETY: between fork and exec, only system calls that may be made there.
    unsafe {
        command.pre_exec(move || {
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
                return Err(std::io::Error::last_os_error());
            }
            // We may have died before the kernel knew.
            if u32::try_from(libc::getppid()) != Ok(parent) {
                libc::_exit(1);
            }
            Ok(())
        });
    }
}

#[cfg(not(target_os = "linux"))]
fn die_with_us(_: &mut Command) {}

/// Waits for the end of the child. When the execution is to stop: SIGTERM, and SIGKILL in the end.
async fn wait(
    child: &mut Child,
    group: &Group,
    execution: &Execution,
    kill_after: Duration,
) -> std::io::Result<ExitStatus> {
    tokio::select! {
        status = child.wait() => return status,
        reason = execution.stopped() => {
            info!(execution = execution.id(), ?reason, "command is stopped");
            group.signal(libc::SIGTERM);
        }
    }
    if let Ok(status) = tokio::time::timeout(kill_after, child.wait()).await {
        return status;
    }
    group.signal(libc::SIGKILL);
    child.wait().await
}

/// Standard output, or nothing if it is too long.
async fn read_output(
    stream: Option<impl AsyncRead + Unpin>,
    end: watch::Receiver<bool>,
) -> Option<Vec<u8>> {
    let mut output = Vec::new();
    let mut is_too_long = false;
    pump(stream, end, |bytes| {
        is_too_long |= output.len() + bytes.len() > OUTPUT_MAX;
        if !is_too_long {
            output.extend_from_slice(bytes);
        }
    })
    .await;
    (!is_too_long).then_some(output)
}

/// The end of standard error, all of which goes to our own.
async fn read_errors(stream: Option<impl AsyncRead + Unpin>, end: watch::Receiver<bool>) -> String {
    let mut tail = VecDeque::new();
    pump(stream, end, |bytes| {
        // Where ours is closed nobody wants it.
        let _ = std::io::stderr().write_all(bytes);
        tail.extend(bytes);
        tail.drain(..tail.len().saturating_sub(ERROR_TAIL));
    })
    .await;
    String::from_utf8_lossy(tail.make_contiguous()).trim_end().to_owned()
}

/// Reads to the end of the stream, or for a little while when the command has ended: a process that has
/// left the group may keep a pipe open for ever.
async fn pump(
    stream: Option<impl AsyncRead + Unpin>,
    mut end: watch::Receiver<bool>,
    mut take: impl FnMut(&[u8]),
) {
    let Some(mut stream) = stream else { return };
    let mut buffer = vec![0; 64 << 10];
    let is_over = async {
        let _ = end.wait_for(|has_ended| *has_ended).await;
        tokio::time::sleep(PIPE_PATIENCE).await;
    };
    let mut is_over = pin!(is_over);
    loop {
        tokio::select! {
            biased;
            // First: what is outside of the group may write for ever, too.
            () = &mut is_over => break,
            read = stream.read(&mut buffer) => match read {
                Ok(count @ 1..) => take(&buffer[..count]),
                Ok(0) | Err(_) => return,
            },
        }
    }
    // What is in the pipe already may be the command's.
    for _ in 0..PIPE_READS {
        let Some(Ok(count @ 1..)) = stream.read(&mut buffer).now_or_never() else { return };
        take(&buffer[..count]);
    }
}

/// What was read.
async fn finish<O: Default>(reading: JoinHandle<O>) -> O {
    reading.await.unwrap_or_default()
}

/// What an exit code means.
fn conclude(
    status: ExitStatus,
    output: Option<Vec<u8>>,
    errors: &str,
) -> Result<Value, ExecutionError> {
    let error = match (status.code(), status.signal()) {
        (Some(0), _) => match output {
            Some(output) => return Ok(result(&output)),
            None => ExecutionError::permanent(format!(
                "the command wrote more than {OUTPUT_MAX} bytes to standard output"
            )),
        },
        (Some(code @ TEMPORARY_FAILURE), _) => {
            ExecutionError::transient(format!("the command ended with exit code {code}"))
        }
        (Some(code), _) => {
            ExecutionError::permanent(format!("the command ended with exit code {code}"))
        }
        (None, signal) => {
            let signal = signal.unwrap_or_default();
            ExecutionError::transient(format!("the command was killed by signal {signal}"))
        }
    };
    // A text in PostgreSQL has no zero bytes.
    let errors = errors.replace('\0', "");
    Err(error.details(json!({
        "exit_code": status.code(), "signal": status.signal(), "stderr": errors,
    })))
}

/// JSON as it is, nothing as null, anything else as a text.
fn result(output: &[u8]) -> Value {
    let text = String::from_utf8_lossy(output);
    let text = text.trim_end_matches(['\r', '\n']);
    if text.is_empty() {
        return Value::Null;
    }
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_json_or_a_text() {
        let cases = [
            ("", Value::Null),
            ("{\"a\": 1}\n", json!({ "a": 1 })),
            ("done\n", json!("done")),
            ("1 2", json!("1 2")),
        ];
        for (output, expected) in cases {
            assert_eq!(result(output.as_bytes()), expected, "{output}");
        }
    }

    #[test]
    fn an_exit_code_decides() {
        let cases = [
            (ExitStatus::from_raw(75 << 8), "transient_error"),
            (ExitStatus::from_raw(1 << 8), "permanent_error"),
            (ExitStatus::from_raw(9), "transient_error"),
        ];
        for (status, reason) in cases {
            let error = conclude(status, Some(Vec::new()), "why").unwrap_err();
            assert_eq!(error.reason().as_str(), reason, "{status}");
        }
        assert!(conclude(ExitStatus::from_raw(0), None, "").is_err());
    }
}
