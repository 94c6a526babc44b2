//! Why a command failed, and the exit code that follows.

use std::{error::Error, process::ExitCode};

use postrider_client::Error as ClientError;
use postrider_engine::RunError;
use postrider_store::{
    StoreError,
    connect::{ConnectError, error_text},
    migrate::{MigrateError, SchemaError},
};
use tokio_postgres::error::SqlState;

use crate::{api::ListenError, config::ConfigError, serve::ServeError};

/// Why a command failed; the text is for the user.
#[derive(Debug)]
pub enum Failure {
    /// It was asked for and could not be done.
    Failed(String),
    /// The arguments, the input or the configuration are wrong, whether we or the database have noticed.
    Usage(String),
    /// The database cannot be reached, has not the schema of this version, or its log is from elsewhere.
    Database(String),
    /// The role may not: what the database says, which names the function or the relation.
    Denied(String),
    /// What there is to say was shown; this is the code that says the same.
    Shown(u8),
}

impl Failure {
    /// The code of the process.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Failed(_) | Self::Denied(_) => 1,
            Self::Usage(_) => 2,
            Self::Database(_) => 3,
            Self::Shown(code) => *code,
        })
    }

    /// What a refusal of the database means; `text` says why.
    fn refused(code: &str, text: String) -> Self {
        let schema_is_wrong = [
            SqlState::INVALID_SCHEMA_NAME,
            SqlState::UNDEFINED_TABLE,
            SqlState::UNDEFINED_COLUMN,
            SqlState::UNDEFINED_FUNCTION,
        ];
        // Of roles and passwords, and databases that are not there: nobody has been let in.
        let is_shut_out = ["28", "3D"].iter().any(|class| code.starts_with(class));
        if schema_is_wrong.iter().any(|wrong| wrong.code() == code) {
            return Self::Database(format!(
                "the schema \"postrider\" is missing or not of this version ({text}); run `postrider \
                 migrate`"
            ));
        }
        if code == SqlState::INSUFFICIENT_PRIVILEGE.code() {
            return Self::Denied(text);
        }
        // Class 22 is that of values that are not valid.
        match code.starts_with("22") {
            true => Self::Usage(text),
            false if is_shut_out => Self::Database(text),
            false => Self::Failed(text),
        }
    }

    /// What happened.
    pub fn text(&self) -> &str {
        match self {
            Self::Failed(text) | Self::Usage(text) | Self::Database(text) | Self::Denied(text) => {
                text
            }
            Self::Shown(_) => "",
        }
    }
}

/// An error and its causes, in one line.
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = String::new();
    let mut cause = Some(error);
    while let Some(error) = cause {
        if !text.is_empty() {
            text.push_str(": ");
        }
        if let Some(error) = error.downcast_ref::<tokio_postgres::Error>() {
            // It knows its own causes.
            text.push_str(&error_text(error));
            break;
        }
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::Usage(chain(&error))
    }
}

/// What a denial is about: `permission denied for function send`.
pub fn denied_name(text: &str) -> Option<&str> {
    let name = text.lines().next()?.rsplit(' ').next()?;
    Some(name.trim_matches('"'))
}

impl From<ConnectError> for Failure {
    fn from(error: ConnectError) -> Self {
        let text = chain(&error);
        if error.is_configuration() { Self::Usage(text) } else { Self::Database(text) }
    }
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        match error {
            ServeError::Run(error) => error.into(),
            error @ (ServeError::Broker(_) | ServeError::HttpCaFile { .. }) => {
                Self::Usage(chain(&error))
            }
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Connect(error) => error.into(),
            RunError::Schema(error) => error.into(),
            RunError::Store(error @ (StoreError::Standby | StoreError::Foreign { .. })) => {
                Self::Database(chain(&error))
            }
            RunError::Store(error) => Self::Failed(chain(&error)),
            error @ RunError::Thread(_) => Self::Failed(chain(&error)),
        }
    }
}

impl From<ListenError> for Failure {
    fn from(error: ListenError) -> Self {
        match error {
            ListenError::Connect(error) => error.into(),
            error @ ListenError::Bind { .. } => Self::Usage(chain(&error)),
            error @ ListenError::Thread(_) => Self::Failed(chain(&error)),
        }
    }
}

impl From<SchemaError> for Failure {
    fn from(error: SchemaError) -> Self {
        Self::Database(chain(&error))
    }
}

impl From<MigrateError> for Failure {
    fn from(error: MigrateError) -> Self {
        let MigrateError::Step { path, source } = &error else {
            return Self::Failed(chain(&error));
        };
        // What begin.sql, finish.sql and the wrapper of a migration raise is written for people.
        let is_refusal = source.code().is_some_and(|code| {
            let ours = [
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                SqlState::FEATURE_NOT_SUPPORTED,
                SqlState::INSUFFICIENT_PRIVILEGE,
                SqlState::INVALID_PARAMETER_VALUE,
                SqlState::READ_ONLY_SQL_TRANSACTION,
            ];
            ours.contains(code)
        });
        let is_ours = path.starts_with("install/") || path.starts_with("migrations/");
        match source.as_db_error() {
            Some(_) if is_refusal && is_ours => Self::Failed(error_text(source)),
            Some(_) => Self::Failed(chain(&error)),
            None => Self::Database(chain(&error)),
        }
    }
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.code() {
            Some(code) => Self::refused(code.code(), error_text(&error)),
            None if error.is_closed() => {
                Self::Database("the connection to the database was lost".to_owned())
            }
            None => Self::Failed(error_text(&error)),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Database { source, .. } => source.into(),
            other => Self::Failed(chain(&other)),
        }
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let text = chain(&error);
        match (&error, error.code()) {
            (ClientError::Misconfigured(_), _) => Self::Usage(text),
            (ClientError::WorkerReplaced { .. }, _) => Self::Failed(text),
            (_, Some(code)) => Self::refused(code, text),
            (_, None) => Self::Database(text),
        }
    }
}
