//! The pages about worker fleets: their SQL runs, and so does their worker in Python.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::book::{Page, Reader};
use crate::shop::Shop;
use postrider_testkit::examples;

const TABLE: &str = "create table thumbnail (image bigint primary key, width int not null)";

#[tokio::test(flavor = "multi_thread")]
async fn the_guide_runs_from_its_beginning_to_its_end() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let mut reader = Reader::new(&client);
    let page = Page::read("docs/fleets.md");
    let mut problems = Vec::new();
    for example in page.examples() {
        if let Err(problem) = reader.run(&example).await {
            problems.push(format!("{}:{}: {problem}", page.path, example.block.line));
        }
    }
    assert!(page.examples().len() > 10, "{}", page.examples().len());
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// What the queries of the page find something in: executions in each state, a worker that has left.
const TROUBLE: &str = r#"
    select postrider.create_event_type('postrider.execution_ended');
    select postrider.set_action('resize', p_concurrency => 1);
    select postrider.register_worker('resizer-1', p_pool => 'images', p_capacity => 10);
    select postrider.register_worker('resizer-2', p_pool => 'images');
    select postrider.deregister_worker(w.id) from postrider.worker w where w.name = 'resizer-2';
    select postrider.submit_execution('resize', p_pool => 'images') from generate_series(1, 3);
    select postrider.submit_execution('print', p_worker => 'printer-9');
    do $$
    declare
        taken record;
    begin
        for taken in
            select t.* from postrider.worker w, postrider.take_executions(w.id, 1) t
            where w.name = 'resizer-1'
        loop
            perform postrider.fail_execution(s.execution_id, s.fence, 'permanent_error', '{"error": "x"}')
            from postrider.start_execution(taken.execution_id, taken.fence) s;
        end loop;
        perform postrider.expire_execution(l, 'postgres', null, '{}')
        from postrider.live_execution l
        where l.action = 'print';
    end $$;
"#;

#[tokio::test(flavor = "multi_thread")]
async fn the_queries_of_the_troubleshooting_page_run() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    client.batch_execute(TROUBLE).await.unwrap();
    let mut reader = Reader::new(&client);
    let page = Page::read("docs/fleets-troubleshooting.md");
    let mut problems = Vec::new();
    for example in page.examples() {
        if let Err(problem) = reader.try_out(&example).await {
            problems.push(format!("{}:{}: {problem}", page.path, example.block.line));
        }
    }
    assert!(page.examples().len() > 10, "{}", page.examples().len());
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// A worker in Python, which is told to stop when this goes.
struct Worker(Child);

impl Worker {
    /// Waits until it has registered.
    fn start(shop: &Shop, name: &str) -> Self {
        let mut command = Command::new(examples::python().unwrap());
        command.arg(examples::folder().join("python/worker.py")).arg(name);
        command.env("DATABASE_URL", shop.url()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "registered\n");
        Self(child)
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.0.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Its exit code.
    fn end(mut self) -> Option<i32> {
        self.0.wait().unwrap().code()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn is(status: &str, id: i64) -> String {
    format!("select status = '{status}' from postrider.executions where id = {id}")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_python_worker_completes_fails_and_cancels() {
    let shop = Shop::open_migrated().await;
    shop.execute(TABLE).await;
    shop.execute("select postrider.set_setting('worker_heartbeat_interval', '1')").await;
    let submit = async |parameters: &str| {
        let sql = format!("select postrider.submit_execution('resize', '{parameters}')");
        shop.ask::<i64>(&sql).await
    };
    let worker = Worker::start(&shop, "resizer-1");

    let done = submit(r#"{"image": 7, "width": 200}"#).await;
    shop.until(&is("completed", done)).await;
    let sql = format!("select result ->> 'bytes' from postrider.executions where id = {done}");
    assert_eq!(shop.ask::<String>(&sql).await, "20000");
    // The image is there already: what the handler wrote is undone, and the failure on record.
    let twice = submit(r#"{"image": 7, "width": 300}"#).await;
    shop.until(&is("failed", twice)).await;
    let sql = format!(
        "select reason || ' ' || (error ->> 'error') from postrider.executions where id = {twice}"
    );
    assert_eq!(shop.ask::<String>(&sql).await, "permanent_error UniqueViolation");
    assert_eq!(shop.ask::<i32>("select width from thumbnail").await, 200);

    let long = submit(r#"{"image": 8, "width": 200, "seconds": 300}"#).await;
    shop.until(&is("running", long)).await;
    let cancel = format!("select postrider.cancel_execution({long})");
    assert_eq!(shop.ask::<String>(&cancel).await, "cancelling");
    shop.until(&is("cancelled", long)).await;
    let sql = format!("select error is null from postrider.executions where id = {long}");
    assert!(shop.ask::<bool>(&sql).await, "the worker stopped it, not the monitor");

    worker.signal("-TERM");
    assert_eq!(worker.end(), Some(0));
    assert_eq!(shop.ask::<String>("select status from postrider.workers").await, "inactive");
    assert_eq!(shop.ask::<i64>("select count(*) from thumbnail").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_python_worker_whose_name_is_taken_ends_and_its_execution_runs_elsewhere() {
    let shop = Shop::open_migrated().await;
    shop.execute(TABLE).await;
    shop.execute("select postrider.set_setting('worker_heartbeat_interval', '1')").await;
    let sql = r#"select postrider.submit_execution(
        'resize', '{"image": 7, "width": 200, "seconds": 300}', p_max_retries => 1)"#;
    let first = Worker::start(&shop, "resizer-1");
    let id: i64 = shop.ask(sql).await;
    shop.until(&is("running", id)).await;
    let second = Worker::start(&shop, "resizer-1");
    assert_ne!(first.end(), Some(0));
    let sql = format!(
        "select attempt = 2 and status = 'running' from postrider.executions where id = {id}"
    );
    shop.until(&sql).await;
    shop.execute(&format!("select postrider.cancel_execution({id})")).await;
    shop.until(&is("cancelled", id)).await;
    second.signal("-TERM");
    assert_eq!(second.end(), Some(0));
}
