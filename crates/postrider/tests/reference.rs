//! The documentation against the database: what the pages say is what is installed, and every example
//! in them runs.

use std::collections::{BTreeMap, BTreeSet};

use crate::book::{
    Page, Reader, code_spans, names_in, paths_below, roles_of, squeeze, table, text_of,
};
use crate::shop::Shop;
use tokio_postgres::{Client, types::ToSql};

const FUNCTIONS: &str = "docs/reference/functions";
const ROLES: [&str; 7] =
    ["producer", "consumer", "worker", "application", "operator", "admin", "monitor"];

/// What the examples of the reference are tried out on.
const PREPARE: &str = r#"
    select postrider.create_endpoint(e.name, 'http', format('{"url": "https://%s.example.com/"}', e.name)::jsonb)
    from (values ('warehouse'), ('billing'), ('hooks')) e (name);
    select postrider.create_event_type(t.name)
    from (values ('order.created'), ('order.cancelled'), ('customer.created')) t (name);
    select postrider.subscribe('order.*', 'billing'), postrider.subscribe('*', 'hooks');
    create table orders (id bigint primary key, item text not null);
    grant all on orders to public;
    create role shop;
    insert into postrider.dead_letter (
        message_id, target, endpoint_id, endpoint_name, cause, retry_count, last_error,
        message_created_at, priority, payload)
    select
        postrider.send(e.name, '{"order": 6}'), e.direct_subscription_id, e.id, e.name, l.cause,
        l.retry_count, l.last_error, now(), 0, '{"order": 6}'
    from postrider.endpoints e
    join (values
        ('warehouse', 'rejected', 0, '[PERMANENT] HTTP 400 Bad Request'),
        ('billing', 'retries_exhausted', 10, '[RETRYABLE] HTTP 503 Service Unavailable')
    ) l (name, cause, retry_count, last_error) on l.name = e.name
    order by e.id;
    select postrider.create_consumer('projection');
"#;

/// Fails with all that is wrong at once.
#[track_caller]
fn report(problems: &[String]) {
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

async fn lists(
    client: &Client,
    sql: &str,
    parameters: &[&(dyn ToSql + Sync)],
) -> BTreeMap<String, Vec<String>> {
    let rows = client.query(sql, parameters).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_function_has_a_page_that_says_what_the_database_says() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let sql = "select p.proname::text, array[format('postrider.%s(%s) returns %s',
            p.proname, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid))]
            || array(
                select r.role
                from unnest($1::text[]) with ordinality r (role, position)
                where has_function_privilege('postrider_' || r.role, p.oid, 'execute')
                order by r.position)
        from pg_proc p
        where p.pronamespace = 'postrider'::regnamespace";
    let rows = client.query(sql, &[&ROLES.as_slice()]).await.unwrap();
    let all = rows.iter().map(|row| (row.get::<_, String>(0), row.get::<_, Vec<String>>(1)));
    // Those that roles may call only because views or our program call them are nobody's interface.
    let files = paths_below("sql/functions", ".sql");
    let is_for_views = |name: &str| {
        let header = files.get(name).map(|path| text_of(path)).unwrap_or_default();
        ["views call it", "the view ", "the command line calls it"]
            .iter()
            .any(|words| header.contains(words))
    };
    let functions: BTreeMap<_, _> =
        all.filter(|(name, said)| said.len() > 1 && !is_for_views(name)).collect();
    let pages = names_in(FUNCTIONS, ".md").into_iter().filter(|name| name != "README");
    let pages: BTreeSet<String> = pages.collect();
    let index = Page::read(&format!("{FUNCTIONS}/README.md"));
    let index: BTreeMap<String, String> = index
        .sections()
        .iter()
        .flat_map(|section| table(index.section(section)))
        .map(|row| (row[0].clone(), row[2].clone()))
        .collect();

    let mut problems = Vec::new();
    for name in functions.keys().filter(|name| !pages.contains(*name)) {
        problems.push(format!("postrider.{name} has no page {FUNCTIONS}/{name}.md"));
    }
    for name in &pages {
        let page = Page::read(&format!("{FUNCTIONS}/{name}.md"));
        let mut wrong = |what: String| problems.push(format!("{}: {what}", page.path));
        let Some(said) = functions.get(name) else {
            wrong(format!(
                "no role may execute postrider.{name}, or the database has no such function"
            ));
            continue;
        };
        let (signature, roles) = (squeeze(&said[0]), &said[1..]);
        let written = page.blocks().first().map(|block| squeeze(&block.text)).unwrap_or_default();
        let written = written.replace("( ", "(").replace(" )", ")");
        if written != signature {
            wrong(format!("the signature is\n    {signature}\nand not\n    {written}"));
        }
        if page.roles() != roles {
            wrong(format!("the roles are {roles:?}, not {:?}", page.roles()));
        }
        if page.title() != name {
            wrong(format!("the title is `{}`", page.title()));
        }
        if page.section("Errors").is_empty() || page.examples().is_empty() {
            wrong("no errors or no examples".to_owned());
        }
        let row = (format!("[{name}]({name}.md)"), roles.join(", "));
        if index.get(&row.0) != Some(&row.1) {
            wrong(format!("the index has no row {row:?}"));
        }
    }
    if index.len() != pages.len() {
        problems.push(format!("{} pages, and {} rows in the index", pages.len(), index.len()));
    }
    report(&problems);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_setting_is_described_with_its_default_range_and_unit() {
    let shop = Shop::open_migrated().await;
    let sql = "select s.name, array[
            concat_ws(' ', s.default_value, s.unit),
            case s.kind
                when 'integer' then format('%s to %s', s.minimum, s.maximum)
                when 'choice' then array_to_string(s.choices, ', ')
                when 'switch' then 'on, off'
                when 'networks' then 'off, on, or up to 1000 networks'
                when 'name' then 'a name'
                when 'uri' then 'a URI reference of 1 to 255 characters'
            end]
        from postrider.setting s";
    let settings = lists(&shop.client().await, sql, &[]).await;
    let page = Page::read("docs/reference/settings.md");
    let rows = table(page.text()).into_iter();
    let written: BTreeMap<String, Vec<String>> =
        rows.map(|row| (row[0].trim_matches('`').to_owned(), row[1..3].to_vec())).collect();
    let names: BTreeSet<&String> = settings.keys().chain(written.keys()).collect();
    let differing = names.into_iter().filter(|name| settings.get(*name) != written.get(*name));
    let problem = |name: &String| {
        let (is, said) = (settings.get(name), written.get(name));
        format!("{}: `{name}` is {is:?}, and the page says {said:?}", page.path)
    };
    report(&differing.map(problem).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_view_is_described_with_its_columns_and_roles() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let sql = "select c.relname::text, array_agg(a.attname::text order by a.attnum)
        from pg_class c
        join pg_attribute a on a.attrelid = c.oid
        where c.relnamespace = 'postrider'::regnamespace
        and c.relkind = 'v'
        and a.attnum > 0
        group by c.relname";
    let views = lists(&client, sql, &[]).await;
    let sql = "select c.relname::text, array(
            select r.role
            from unnest($1::text[]) with ordinality r (role, position)
            where has_any_column_privilege('postrider_' || r.role, c.oid, 'select')
            order by r.position)
        from pg_class c
        where c.relnamespace = 'postrider'::regnamespace
        and c.relkind in ('r', 'p', 'v')";
    let readers = lists(&client, sql, &[&ROLES.as_slice()]).await;

    let page = Page::read("docs/reference/views.md");
    let mut written = page.sections();
    assert_eq!(written.pop(), Some("Tables"), "the last section of {}", page.path);
    let mut problems = Vec::new();
    for name in views.keys().filter(|name| !written.contains(&name.as_str())) {
        problems.push(format!("{} has no section for postrider.{name}", page.path));
    }
    for name in written {
        let section = page.section(name);
        let column = |row: Vec<String>| row[0].trim_matches('`').to_owned();
        let said: Vec<_> = table(section).into_iter().map(column).collect();
        match views.get(name) {
            None => problems.push(format!("{}: there is no view postrider.{name} yet", page.path)),
            Some(columns) if *columns != said => {
                problems.push(format!(
                    "postrider.{name} has\n    {columns:?}\nand the page\n    {said:?}"
                ));
            }
            Some(_) if readers[name] != roles_of(section) => {
                problems.push(format!("postrider.{name} may be read by {:?}", readers[name]));
            }
            Some(_) => {}
        }
    }
    for row in table(page.section("Tables")) {
        let name = row[0].trim_matches('`');
        if readers.get(name).is_none_or(Vec::is_empty) {
            problems.push(format!("{}: nobody may read a table postrider.{name}", page.path));
        }
    }
    report(&problems);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_example_of_the_reference_runs() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    client.batch_execute(PREPARE).await.unwrap();
    // In a transaction of its own.
    client.batch_execute("select postrider.tick()").await.unwrap();
    let mut reader = Reader::new(&client);
    let paths = |folder: &str| {
        let folder = folder.to_owned();
        names_in(&folder, ".md").into_iter().map(move |name| format!("{folder}/{name}.md"))
    };
    let mut problems = Vec::new();
    let mut count = 0;
    let operations = "docs/operations.md".to_owned();
    for path in paths(FUNCTIONS).chain(paths("docs/reference")).chain([operations]) {
        for example in Page::read(&path).examples() {
            count += 1;
            if let Err(problem) = reader.try_out(&example).await {
                problems.push(format!("{path}:{}: {problem}", example.block.line));
            }
        }
    }
    println!("{count} examples");
    report(&problems);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_guide_runs_from_its_beginning_to_its_end() {
    for path in
        ["docs/messages.md", "docs/consumers.md", "docs/schedules.md", "docs/webhooks/receiving.md"]
    {
        let shop = Shop::open_migrated().await;
        let client = shop.client().await;
        let mut reader = Reader::new(&client);
        let page = Page::read(path);
        let mut problems = Vec::new();
        for example in page.examples() {
            if let Err(problem) = reader.run(&example).await {
                problems.push(format!("{path}:{}: {problem}", example.block.line));
            }
        }
        println!("{path}: {} examples", page.examples().len());
        report(&problems);
    }
}

/// Links between the pages, and to their sections.
#[test]
fn every_link_leads_somewhere() {
    let folders = ["docs", "docs/reference", "docs/webhooks", "docs/internals", FUNCTIONS];
    let inside = folders.into_iter().flat_map(|folder| {
        names_in(folder, ".md").into_iter().map(move |name| format!("{folder}/{name}.md"))
    });
    let outside = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(str::to_owned);
    let mut problems = Vec::new();
    for path in inside.chain(outside) {
        let page = Page::read(&path);
        for link in page.links().into_iter().filter(|link| !link.contains("://")) {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let target =
                if file.is_empty() { path.clone() } else { crate::book::join(folder, file) };
            let found = if target.ends_with(".md") && crate::book::exists(&target) {
                anchor.is_empty() || Page::read(&target).anchors().iter().any(|a| a == anchor)
            } else {
                crate::book::exists(&target) && anchor.is_empty()
            };
            if !found {
                problems.push(format!("{path}: {link} leads nowhere"));
            }
        }
    }
    report(&problems);
}

/// A text that a function raises stands in docs/errors.md, and what a page says of an error too.
#[test]
fn every_error_is_listed() {
    let page = Page::read("docs/errors.md");
    let by_code: BTreeMap<&str, Vec<String>> = page
        .sections()
        .into_iter()
        .filter_map(|name| Some((name.split_once(", ")?.0, code_spans(page.section(name)))))
        .collect();
    let mut problems = Vec::new();
    for path in paths_below("sql/functions", ".sql").into_values() {
        for (text, code) in raised(&crate::book::text_of(&path)) {
            let spans = by_code.get(code.as_str()).map(Vec::as_slice).unwrap_or_default();
            if !spans.iter().any(|span| has_pieces(span, &text)) {
                problems.push(format!("{path}: {} has no {code} `{text}`", page.path));
            }
        }
    }
    for name in names_in(FUNCTIONS, ".md") {
        let path = format!("{FUNCTIONS}/{name}.md");
        for row in table(Page::read(&path).section("Errors")) {
            let spans = by_code.get(row[0].as_str()).map(Vec::as_slice).unwrap_or_default();
            let is_span = row[1].starts_with('`');
            for text in code_spans(&row[1]).iter().filter(|_| is_span) {
                if !spans.contains(text) {
                    problems.push(format!("{path}: {} has no {} `{text}`", page.path, row[0]));
                }
            }
        }
    }
    report(&problems);
}

/// The texts of `raise exception` with their SQLSTATE.
fn raised(sql: &str) -> Vec<(String, String)> {
    let raises = sql.split("raise exception").skip(1);
    let parse = |raise: &str| {
        let text = raise.split_once('\'')?.1;
        // `''` is a quote in the text.
        let text = text.replace("''", "\u{1}");
        let (text, rest) = text.split_once('\'')?;
        let code = rest.split_once("errcode = '")?.1;
        Some((text.replace('\u{1}', "'"), code.get(..5)?.to_owned()))
    };
    raises.filter_map(parse).collect()
}

/// Whether what stands between the `%` of a text follows each other in the span.
fn has_pieces(span: &str, text: &str) -> bool {
    let mut rest = span;
    for piece in text.split('%').map(str::trim).filter(|piece| !piece.is_empty()) {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    true
}
