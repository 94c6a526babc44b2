//! How this process is called in the database, among all that use it.

/// Host and process id.
pub fn process_name() -> String {
    format!("{}:{}", host_name(), std::process::id())
}

/// The name of the machine, as its kernel or the environment has it.
pub fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .ok()
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .or_else(|| std::env::var("HOSTNAME").ok())
        .unwrap_or_else(|| "unknown".to_owned())
}
