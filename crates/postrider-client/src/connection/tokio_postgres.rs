//! tokio-postgres: `query_typed` parses, binds and runs an unnamed statement in one step.

use ::tokio_postgres::types::{ToSql, Type};
use ::tokio_postgres::{Client, GenericClient, Transaction};

use super::{Connection, Execute, Parameter};
use crate::error::{Failure, Refusal};

impl Connection for Transaction<'_> {}

impl Execute for Transaction<'_> {
    async fn execute(
        &mut self,
        sql: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<i64>, Failure> {
        execute(self, sql, parameters).await
    }
}

impl Connection for Client {}

impl Execute for Client {
    async fn execute(
        &mut self,
        sql: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<i64>, Failure> {
        execute(self, sql, parameters).await
    }
}

async fn execute(
    client: &impl GenericClient,
    sql: &str,
    parameters: &[Parameter<'_>],
) -> Result<Vec<i64>, Failure> {
    let parameters: Vec<_> = parameters.iter().map(typed).collect();
    let row = client.query_typed_one(sql, &parameters).await.map_err(failure)?;
    row.try_get(0).map_err(failure)
}

fn typed<'a>(parameter: &'a Parameter<'_>) -> (&'a (dyn ToSql + Sync), Type) {
    match parameter {
        Parameter::Text(value) => (value, Type::TEXT),
        Parameter::Texts(value) => (value, Type::TEXT_ARRAY),
        Parameter::Bytes(value) => (value, Type::BYTEA),
        Parameter::Smallint(value) => (value, Type::INT2),
        Parameter::Bigint(value) => (value, Type::INT8),
        Parameter::Bigints(value) => (value, Type::INT8_ARRAY),
    }
}

pub(crate) fn failure(error: ::tokio_postgres::Error) -> Failure {
    let refusal = error.as_db_error().map(|refused| Refusal {
        code: refused.code().code().to_owned(),
        message: refused.message().to_owned(),
        hint: refused.hint().map(str::to_owned),
    });
    Failure { refusal, source: Box::new(error) }
}
