//! The program `postrider`. Everything it does is in [`postrider::cli`].

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    rustls::crypto::ring::default_provider()
        .install_default()
        .expect("nothing has chosen a TLS provider before main");
    postrider::cli::run()
}
