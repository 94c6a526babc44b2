//! Executions by way of a RabbitMQ that speaks TLS, and whom dispatchers and workers do not trust.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use crate::shop::{Shop, serving::LONG};
use postrider_client::{Worker, WorkerTrouble};
use postrider_testkit::{
    process::{Dispatcher, DispatcherOptions},
    rabbitmq::{Options, PrivateRabbitmq, Tls},
};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

const SECRET: &str = "s3cret";

/// A dispatcher that is told of this broker, and tells all that it may.
fn serve(shop: &Shop, url: &str, ca_file: Option<&Path>) -> Dispatcher {
    let mut options = shop.serve_options().variable("POSTRIDER_AMQP_URL", url);
    options.arguments.extend(["--log-level", "trace"].map(str::to_owned));
    if let Some(path) = ca_file {
        options = options.variable("POSTRIDER_AMQP_CA_FILE", path.display().to_string());
    }
    Dispatcher::start(&options).unwrap()
}

/// What a worker of the library says when it cannot use the broker.
async fn refusal(shop: &Shop, url: &str, authorities: Option<&str>) -> String {
    let (said, mut heard) = mpsc::unbounded_channel();
    let (stop, stopped) = oneshot::channel::<()>();
    let mut worker = Worker::builder()
        .url(&shop.postgres.url_as("app", "shop"))
        .rabbitmq(url)
        .name("refused")
        .shutdown_timeout(Duration::ZERO)
        .on_trouble(move |trouble| {
            if let WorkerTrouble::Broker { .. } = trouble {
                let _ = said.send(trouble.to_string());
            }
        })
        .handle("resize", |_| async { Ok(Value::Null) });
    if let Some(pem) = authorities {
        worker = worker.rabbitmq_authorities(pem);
    }
    let running = tokio::spawn(worker.build().unwrap().run_until(async {
        let _ = stopped.await;
    }));
    let text = tokio::time::timeout(LONG, heard.recv()).await.unwrap().unwrap();
    drop(stop);
    tokio::time::timeout(LONG, running).await.unwrap().unwrap().unwrap();
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn executions_travel_over_tls_by_a_broker_that_is_trusted_and_by_no_other() {
    let shop = Shop::open_migrated().await;
    shop.execute(
        "create role app login in role postrider_application;
        select postrider.set_setting('execution_carrier', 'rabbitmq');
        select postrider.set_setting('worker_heartbeat_interval', '1')",
    )
    .await;
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (certificate, key) = (cert.pem(), signing_key.serialize_pem());
    let tls = Some(Tls { certificate: certificate.clone(), key });
    let server = PrivateRabbitmq::start(Options { tls, ..Options::default() }).unwrap();
    let port = server.tls_port().unwrap();
    let folder = Folder::create(port);
    let ca_file = folder.0.join("authority.pem");
    std::fs::write(&ca_file, &certificate).unwrap();

    // Nobody knows who has signed it; and somebody does, for a host of another name, or with another password.
    server.host().add_user("shop", SECRET).unwrap();
    let url = |user: &str, host: &str| format!("amqps://{user}@{host}:{port}");
    let shopper = format!("shop:{SECRET}");
    let stranger = format!("shop:{SECRET}-of-another");
    let cases = [
        (url(&shopper, "localhost"), None, "UnknownIssuer"),
        (url(&shopper, "127.0.0.1"), Some(&ca_file), "certificate not valid for name"),
        (url(&stranger, "localhost"), Some(&ca_file), "ACCESS_REFUSED"),
    ];
    for (url, ca_file, reason) in &cases {
        let dispatcher = serve(&shop, url, ca_file.map(PathBuf::as_path));
        let line = dispatcher.wait_for_log("executions are not published", LONG).await.unwrap();
        assert!(line.contains(reason), "{line}");
        shop.until(&format!(
            "select coalesce(bool_or(error like '%{reason}%' and error not like '%{SECRET}%'), false)
            from postrider.broker_report"
        ))
        .await;
        dispatcher.sigterm();
        assert!(dispatcher.wait(LONG).await.unwrap().success());
        let log = dispatcher.log_lines().join("\n");
        assert!(!log.contains(SECRET), "{log}");

        let authorities = ca_file.map(|_| certificate.as_str());
        let text = refusal(&shop, url, authorities).await;
        assert!(text.contains(reason) && !text.contains(SECRET), "{text}");
    }

    // With the authority and the right name all of it works, for the command line, too.
    let url = url(&shopper, "localhost");
    let dispatcher = serve(&shop, &url, Some(&ca_file));
    dispatcher.wait_for_log("connected to RabbitMQ", LONG).await.unwrap();
    let mut options = DispatcherOptions::serve(
        env!("CARGO_BIN_EXE_postrider"),
        &shop.postgres.url_as("app", "shop"),
    );
    let ca_file = ca_file.display().to_string();
    let arguments =
        ["worker", "--log-level", "trace", "--exec", "/bin/cat", "--amqp-ca-file", &ca_file];
    options.arguments = arguments.map(str::to_owned).to_vec();
    let worker = Dispatcher::start(&options.variable("POSTRIDER_AMQP_URL", &url)).unwrap();
    let id: i64 =
        shop.ask(r#"select postrider.submit_execution('resize', '{"card": "s3cret-card"}')"#).await;
    shop.until(&format!("select status = 'completed' from postrider.executions where id = {id}"))
        .await;
    let carrier: Value = shop
        .ask(
            "select jsonb_build_object('result', e.result, 'carrier', w.carrier)
            from postrider.executions e
            join postrider.workers w on w.name = e.worker",
        )
        .await;
    assert_eq!(carrier, json!({ "result": { "card": "s3cret-card" }, "carrier": "rabbitmq" }));
    // No level shows the password that was right, nor what went by the broker.
    for process in [&worker, &dispatcher] {
        process.sigterm();
        assert!(process.wait(LONG).await.unwrap().success());
        let lines = process.log_lines();
        let told: Vec<_> = lines.iter().filter(|line| line.contains(SECRET)).collect();
        assert!(!lines.is_empty() && told.is_empty(), "{told:#?}");
    }
}

/// A folder that goes with the value.
struct Folder(PathBuf);

impl Folder {
    fn create(port: u16) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("amqps-{port}"));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
