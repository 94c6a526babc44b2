//! What an operation of the API is, as data: a row of a table from which router and document are both made.
//!
//! Each is one statement. Who may run it is what the grants of the database say of the role of the token; `may` says
//! who that is after an installation, for readers, and a test holds the two together.

use std::borrow::Cow;

use http::Method;
use utoipa::{
    ToSchema,
    openapi::{RefOr, schema::Schema},
};

use super::{pool::Statement, token::Role};

pub const WATCHING: &[Role] = &[Role::Viewer, Role::Operator, Role::Admin];
pub const OPERATING: &[Role] = &[Role::Operator, Role::Admin];
pub const MANAGING: &[Role] = &[Role::Admin];
pub const SENDING: &[Role] = &[Role::Admin, Role::Producer];

/// The most items of a page, and how many there are of one that says nothing about it.
pub const PAGE_MAX: i64 = 1_000;
pub const PAGE_DEFAULT: i64 = 100;

/// Schemas by their names.
pub type Schemas = Vec<(String, RefOr<Schema>)>;

/// Adds a schema and what it refers to, and says its name.
pub type Shape = fn(&mut Schemas) -> Cow<'static, str>;

pub fn shape<T: ToSchema>(schemas: &mut Schemas) -> Cow<'static, str> {
    T::schemas(schemas);
    schemas.push((T::name().into_owned(), T::schema()));
    T::name()
}

/// One operation.
#[derive(Debug)]
pub struct Operation {
    pub method: Method,
    pub path: &'static str,
    /// Its name in clients.
    pub id: &'static str,
    /// A sentence.
    pub summary: &'static str,
    pub may: &'static [Role],
    /// In the order of the statement's parameters.
    pub takes: &'static [Parameter],
    pub statement: Statement,
    /// What refuses names that nothing has or had, where the first page of a list shows nothing. It has the parameters of
    /// `takes`.
    pub check: Option<&'static str>,
    pub answer: Answer,
    pub status: u16,
    /// Its answer has a secret, and is never kept.
    pub is_secret: bool,
}

/// What is made of the rows.
#[derive(Debug, Clone, Copy)]
pub enum Answer {
    /// The item of the only row. Without a row there is no such thing; without an item it has another version.
    One(Shape),
    /// Items and, where there may be more, a cursor. Its statement has two parameters more: behind what, and how many.
    Page { item: Shape, most: i64 },
    /// A new token, whose hash is the statement's third parameter.
    Token(Shape),
}

/// What an operation reads of a request.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    pub name: &'static str,
    pub place: Place,
    pub kind: Kind,
    pub summary: &'static str,
    pub is_required: bool,
    /// Whether null takes it away. Elsewhere null is refused.
    pub is_nullable: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Path,
    Query,
    Body,
    /// The versions of `If-Match`.
    Precondition,
}

/// What a value is. What it may be beyond that, the function says that is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    /// 1 and more.
    Id,
    /// The id of a message, also as receivers see it: `msg_1024`.
    MessageId,
    Integer,
    Boolean,
    /// RFC 3339, with its offset.
    Moment,
    /// ISO 8601, or as PostgreSQL reads it.
    Interval,
    Uuid,
    Object,
    Texts,
    /// A text, number or boolean, which is stored as text.
    Scalar,
}

impl Operation {
    const fn new(
        method: Method,
        path: &'static str,
        id: &'static str,
        summary: &'static str,
        shape: Shape,
    ) -> Operation {
        let statement = Statement { sql: "", masked: None };
        let answer = Answer::One(shape);
        Operation {
            method,
            path,
            id,
            summary,
            may: MANAGING,
            takes: &[],
            statement,
            check: None,
            answer,
            status: 200,
            is_secret: false,
        }
    }

    pub const fn may(mut self, roles: &'static [Role]) -> Operation {
        self.may = roles;
        self
    }

    pub const fn takes(mut self, parameters: &'static [Parameter]) -> Operation {
        self.takes = parameters;
        self
    }

    pub const fn runs(mut self, sql: &'static str) -> Operation {
        self.statement.sql = sql;
        self
    }

    /// What it runs for who may not read what an application wrote.
    pub const fn masked(mut self, sql: &'static str) -> Operation {
        self.statement.masked = Some(sql);
        self
    }

    /// What it runs beside, where the first page shows nothing.
    pub const fn checks(mut self, sql: &'static str) -> Operation {
        self.check = Some(sql);
        self
    }

    /// It makes something.
    pub const fn creates(mut self) -> Operation {
        self.status = 201;
        self
    }

    pub const fn secret(mut self) -> Operation {
        self.is_secret = true;
        self
    }

    /// A page of at most so many items.
    pub const fn at_most(mut self, most: i64) -> Operation {
        if let Answer::Page { item, .. } = self.answer {
            self.answer = Answer::Page { item, most };
        }
        self
    }

    /// It makes a token.
    pub const fn token(mut self) -> Operation {
        if let Answer::One(shape) = self.answer {
            self.answer = Answer::Token(shape);
        }
        self
    }

    /// Where it is in the document: the first piece of its path.
    pub fn tag(&self) -> &'static str {
        let rest = self.path.trim_start_matches("/api/v1/");
        rest.split('/').next().unwrap_or_default()
    }

    pub fn parameters(&self, place: Place) -> impl Iterator<Item = &'static Parameter> {
        self.takes.iter().filter(move |parameter| parameter.place == place)
    }

    pub fn has_body(&self) -> bool {
        self.parameters(Place::Body).next().is_some()
    }
}

pub const fn get(
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    shape: Shape,
) -> Operation {
    Operation::new(Method::GET, path, id, summary, shape).may(WATCHING)
}

pub const fn list(
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    item: Shape,
) -> Operation {
    let mut operation = get(path, id, summary, item);
    operation.answer = Answer::Page { item, most: PAGE_MAX };
    operation
}

pub const fn post(
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    shape: Shape,
) -> Operation {
    Operation::new(Method::POST, path, id, summary, shape)
}

pub const fn put(
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    shape: Shape,
) -> Operation {
    Operation::new(Method::PUT, path, id, summary, shape)
}

pub const fn patch(
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    shape: Shape,
) -> Operation {
    Operation::new(Method::PATCH, path, id, summary, shape)
}

pub const fn delete(
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    shape: Shape,
) -> Operation {
    Operation::new(Method::DELETE, path, id, summary, shape)
}

impl Parameter {
    pub const fn required(mut self) -> Parameter {
        self.is_required = true;
        self
    }

    pub const fn nullable(mut self) -> Parameter {
        self.is_nullable = true;
        self
    }
}

const fn parameter(
    name: &'static str,
    place: Place,
    kind: Kind,
    summary: &'static str,
) -> Parameter {
    Parameter { name, place, kind, summary, is_required: false, is_nullable: false }
}

pub const fn path(name: &'static str, kind: Kind, summary: &'static str) -> Parameter {
    parameter(name, Place::Path, kind, summary).required()
}

pub const fn query(name: &'static str, kind: Kind, summary: &'static str) -> Parameter {
    parameter(name, Place::Query, kind, summary)
}

pub const fn field(name: &'static str, kind: Kind, summary: &'static str) -> Parameter {
    parameter(name, Place::Body, kind, summary)
}

pub const IF_MATCH: Parameter = parameter(
    "If-Match",
    Place::Precondition,
    Kind::Texts,
    "An ETag that was read before, or * for any version",
);
