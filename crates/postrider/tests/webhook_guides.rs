//! docs/webhooks: each guide is worked through, every command and every statement of it in order.

use std::path::PathBuf;

use postrider_testkit::verifiers;

use crate::book::guide::work_through;

/// A Python that has the packages of receivers.
fn python() -> PathBuf {
    let command = verifiers::python().unwrap();
    PathBuf::from(command.get_program()).parent().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_guide_to_sending_can_be_worked_through() {
    work_through("docs/webhooks/sending.md", &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_guide_to_moving_can_be_worked_through() {
    work_through("docs/webhooks/moving.md", &[python()]).await;
}
