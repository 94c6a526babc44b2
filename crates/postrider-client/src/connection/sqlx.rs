//! sqlx: a query that is not persistent uses the unnamed statement.

use ::sqlx::postgres::{PgArguments, PgConnection, PgDatabaseError, Postgres};
use ::sqlx::{Arguments, Transaction};

use super::{Connection, Execute, Parameter};
use crate::error::{Failure, Refusal};

impl Connection for PgConnection {}

impl Execute for PgConnection {
    async fn execute(
        &mut self,
        sql: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<i64>, Failure> {
        let mut arguments = PgArguments::default();
        for parameter in parameters {
            let added = match *parameter {
                Parameter::Text(value) => arguments.add(value),
                Parameter::Texts(value) => arguments.add(value),
                Parameter::Bytes(value) => arguments.add(value),
                Parameter::Smallint(value) => arguments.add(value),
                Parameter::Bigint(value) => arguments.add(value),
                Parameter::Bigints(value) => arguments.add(value),
            };
            added.map_err(|source| Failure { refusal: None, source })?;
        }
        ::sqlx::query_scalar_with(sql, arguments)
            .persistent(false)
            .fetch_one(self)
            .await
            .map_err(failure)
    }
}

impl Connection for Transaction<'_, Postgres> {}

impl Execute for Transaction<'_, Postgres> {
    async fn execute(
        &mut self,
        sql: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<i64>, Failure> {
        let connection: &mut PgConnection = self;
        connection.execute(sql, parameters).await
    }
}

fn failure(error: ::sqlx::Error) -> Failure {
    let refused = error.as_database_error();
    let refused = refused.and_then(|refused| refused.try_downcast_ref::<PgDatabaseError>());
    let refusal = refused.map(|refused| Refusal {
        code: refused.code().to_owned(),
        message: refused.message().to_owned(),
        hint: refused.hint().map(str::to_owned),
    });
    Failure { refusal, source: Box::new(error) }
}
