//! Runs an operation for a request, and writes what it returns.

use axum::{
    Router,
    extract::{FromRequest, FromRequestParts, Request, State, path::RawPathParams},
    routing::{MethodFilter, on},
};
use http::{Method, StatusCode, header};
use tokio_postgres::{Row, types::ToSql};

use super::{
    Api,
    answer::Json,
    arguments::{self, Arguments, Asked},
    bound::{Bound, Written},
    idempotency::Idempotency,
    operation::{Answer, Operation},
    operations,
    problem::{Code, Problem},
    request::JsonBody,
    token::{Caller, Secret},
};

/// A page ends before it is longer than this, but for its first item.
const PAGE_BYTES: usize = 8 * 1024 * 1024;
/// Where the hash of a new token stands among the parameters.
const HASH: usize = 2;

/// Every operation at its path.
pub fn serve(router: Router<Api>) -> Router<Api> {
    operations::all().fold(router, |router, operation| {
        let answering =
            move |State(api): State<Api>, request: Request| answer(operation, api, request);
        router.route(operation.path, on(filter(&operation.method), answering))
    })
}

fn filter(method: &Method) -> MethodFilter {
    MethodFilter::try_from(method.clone()).expect("operations have methods that axum knows")
}

async fn answer(
    operation: &'static Operation,
    api: Api,
    request: Request,
) -> Result<Json, Problem> {
    let (mut parts, body) = request.into_parts();
    let caller = Caller::from_request_parts(&mut parts, &api).await?;
    let idempotency = Idempotency::from_request_parts(&mut parts, &api).await?;
    let path = RawPathParams::from_request_parts(&mut parts, &())
        .await
        .map_err(|_| Problem::invalid(Code::InvalidParameter, "The path is no UTF-8."))?;
    let whole = Request::from_parts(parts.clone(), body);
    let body = JsonBody::from_request(whole, &api).await?;
    let asked = Asked {
        path: path.iter().collect(),
        query: parts.uri.query(),
        headers: &parts.headers,
        body: &body,
    };
    let mut arguments = arguments::read(operation, &asked)?;
    if operation.is_secret {
        idempotency.refuse()?;
    }
    match operation.answer {
        Answer::Page { .. } => page(operation, &api, &caller, &arguments).await,
        Answer::Token(_) => token(operation, &api, &caller, &mut arguments).await,
        Answer::One(_) if operation.method == Method::POST && !operation.is_secret => {
            let parameters = parameters(&arguments.values);
            let statement = (operation.statement, parameters.as_slice());
            let status = status(operation);
            // Only as long as an answer has no headers: those are not kept.
            api.once(&caller, &idempotency, &body.bytes, statement, (status, item)).await
        }
        Answer::One(_) => one(operation, &api, &caller, &arguments).await,
    }
}

fn parameters(values: &[Bound]) -> Vec<&(dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

fn status(operation: &Operation) -> StatusCode {
    StatusCode::from_u16(operation.status).unwrap_or(StatusCode::OK)
}

/// The item of the only row.
fn item(rows: &[Row]) -> Result<String, Problem> {
    let row = rows.first().ok_or_else(Problem::undefined)?;
    let item: Option<Written> = row.get(0);
    item.map(|item| item.0).ok_or_else(Problem::precondition_failed)
}

async fn one(
    operation: &Operation,
    api: &Api,
    caller: &Caller,
    arguments: &Arguments,
) -> Result<Json, Problem> {
    let parameters = parameters(&arguments.values);
    let rows = api.pool.query(caller, operation.statement, &parameters).await?;
    let answer = Json::text(status(operation), item(&rows)?);
    let tag = rows.first().and_then(|row| row.try_get::<_, &str>(ETAG).ok());
    Ok(match tag {
        Some(tag) => answer.with(header::ETAG, format!("\"{tag}\"")),
        None => answer,
    })
}

/// The column of a version.
const ETAG: &str = "etag";

/// As many items as were wanted and fit, and a cursor where there may be more.
async fn page(
    operation: &Operation,
    api: &Api,
    caller: &Caller,
    arguments: &Arguments,
) -> Result<Json, Problem> {
    let parameters = parameters(&arguments.values);
    let asked = &parameters[..operation.takes.len()];
    let check = operation.check.filter(|_| arguments.is_first).map(|sql| (sql, asked));
    let statement = (operation.statement, parameters.as_slice());
    let rows = api.pool.query_or_check(caller, statement, check).await?;
    let mut body = "{\"items\":[".to_owned();
    let (mut count, mut next) = (0, None);
    let mut last: Option<&str> = None;
    for row in &rows {
        let (item, key): (Option<Written>, &str) = (row.get(0), row.get(1));
        let Some(Written(item)) = item else {
            // So far was looked.
            next = Some(key);
            break;
        };
        if count == arguments.limit || count > 0 && body.len() + item.len() > PAGE_BYTES {
            next = last;
            break;
        }
        if count > 0 {
            body.push(',');
        }
        body.push_str(&item);
        (count, last) = (count + 1, Some(key));
    }
    let next = next.map(|key| arguments::cursor(operation, key));
    body.push_str("],\"next\":");
    body.push_str(&serde_json::json!(next).to_string());
    body.push('}');
    Ok(Json::text(StatusCode::OK, body))
}

async fn token(
    operation: &Operation,
    api: &Api,
    caller: &Caller,
    arguments: &mut Arguments,
) -> Result<Json, Problem> {
    let secret = Secret::generate().ok_or_else(Problem::internal)?;
    arguments.values.insert(HASH, Bound::Bytes(secret.hash.clone()));
    let parameters = parameters(&arguments.values);
    let rows = api.pool.query(caller, operation.statement, &parameters).await?;
    let id: i32 = rows.first().ok_or_else(Problem::internal)?.get(0);
    let body = serde_json::json!({ "id": id, "token": secret.token(id) });
    Ok(Json::new(status(operation), &body))
}
