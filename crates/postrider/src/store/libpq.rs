//! What libpq would take from the environment and from a password file, for what the database's URL
//! leaves out.
//!
//! Guarantees: a variable that would change where or how safely we connect is honoured or refused, and no
//! error shows a password.

use std::{collections::HashMap, fs, os::unix::fs::PermissionsExt, path::PathBuf};

use tokio_postgres::config::{Host, SslMode};

use super::connect;

/// Variables that say how to connect, and that nothing here understands.
const REFUSED: [&str; 12] = [
    "PGSERVICE",
    "PGSSLCERT",
    "PGSSLKEY",
    "PGSSLCRL",
    "PGSSLCRLDIR",
    "PGREQUIRESSL",
    "PGREQUIREAUTH",
    "PGREQUIREPEER",
    "PGSSLMINPROTOCOLVERSION",
    "PGSSLMAXPROTOCOLVERSION",
    "PGSSLNEGOTIATION",
    "PGGSSENCMODE",
];

/// Variables and the keywords that they stand for.
const HONOURED: [(&str, &str); 12] = [
    ("PGHOST", "host"),
    ("PGHOSTADDR", "hostaddr"),
    ("PGPORT", "port"),
    ("PGUSER", "user"),
    ("PGPASSWORD", "password"),
    ("PGDATABASE", "dbname"),
    ("PGSSLMODE", "sslmode"),
    ("PGOPTIONS", "options"),
    ("PGCONNECT_TIMEOUT", "connect_timeout"),
    ("PGTARGETSESSIONATTRS", "target_session_attrs"),
    ("PGCHANNELBINDING", "channel_binding"),
    ("PGLOADBALANCEHOSTS", "load_balance_hosts"),
];

/// The URL, or what stands for it, with what the environment and the password file add; `None` when
/// neither names a host. The second value is a warning.
///
/// # Errors
///
/// A variable that is not honoured, or a password file that cannot be used: a sentence for people.
pub fn complete(
    url: Option<&str>,
    environment: &HashMap<String, String>,
) -> Result<(Option<String>, Option<String>), String> {
    if let Some(name) = REFUSED.iter().find(|name| environment.contains_key(**name)) {
        return Err(format!(
            "{name} is set, and is not honoured here: unset it, and write what it says into \
             database_url where that is possible"
        ));
    }
    let names_host = ["PGHOST", "PGHOSTADDR"].iter().any(|name| environment.contains_key(*name));
    let mut text = match url {
        Some(url) => url.trim().to_owned(),
        None if names_host => String::new(),
        None => return Ok((None, None)),
    };
    // Connecting says what is wrong with it.
    let Ok(written) = connect::read(&text) else { return Ok((Some(text), None)) };
    let has_host = !written.get_hosts().is_empty() || !written.get_hostaddrs().is_empty();
    // A URL that names a host without its port is read as with 5432.
    let is_read_as_usual = written.get_ports().iter().all(|port| *port == 5432);
    let port = environment.get("PGPORT").filter(|port| *port != "5432");
    if has_host && text.contains("://") && is_read_as_usual && port.is_some() {
        return Err(
            "PGPORT is set beside a database_url that names a host with the usual port: write \
                    the port into the URL, or unset PGPORT"
                .to_owned(),
        );
    }
    for (variable, keyword) in HONOURED {
        let is_written = match keyword {
            "host" | "hostaddr" => has_host,
            "port" => !written.get_ports().is_empty(),
            "user" => written.get_user().is_some(),
            "password" => written.get_password().is_some(),
            "dbname" => written.get_dbname().is_some(),
            other => text.contains(&format!("{other}=")),
        };
        if let (false, Some(value)) = (is_written, environment.get(variable)) {
            append(&mut text, keyword, value);
        }
    }
    // As in libpq: those that the system trusts are of use only where they are asked.
    if environment.get("PGSSLROOTCERT").is_some_and(|file| file == "system") {
        if !text.contains("sslmode=") {
            append(&mut text, "sslmode", "require");
        }
        let is_verified =
            connect::read(&text).is_ok_and(|config| config.get_ssl_mode() == SslMode::Require);
        if !is_verified {
            return Err("PGSSLROOTCERT is system, which needs sslmode=require".to_owned());
        }
    }
    let warning = add_password(&mut text, environment)?;
    Ok((Some(text), warning))
}

fn append(text: &mut String, keyword: &str, value: &str) {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    if text.contains("://") {
        let separator = if text.contains('?') { '&' } else { '?' };
        let encode = |byte: u8| match is_plain(&byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        };
        let value: String = value.bytes().map(encode).collect();
        text.push_str(&format!("{separator}{keyword}={value}"));
    } else if !value.is_empty() && value.bytes().all(|byte| is_plain(&byte)) {
        text.push_str(&format!(" {keyword}={value}"));
    } else {
        let value = value.replace('\\', r"\\").replace('\'', r"\'");
        text.push_str(&format!(" {keyword}='{value}'"));
    }
}

/// The password file's word, where nothing else has said a password.
fn add_password(
    text: &mut String,
    environment: &HashMap<String, String>,
) -> Result<Option<String>, String> {
    let Ok(config) = connect::read(text) else { return Ok(None) };
    if config.get_password().is_some() {
        return Ok(None);
    }
    let named = environment.get("PGPASSFILE").map(PathBuf::from);
    let usual = environment.get("HOME").map(|home| PathBuf::from(home).join(".pgpass"));
    let Some(path) = named.clone().or(usual) else { return Ok(None) };
    let file = match fs::metadata(&path) {
        Ok(file) if file.is_file() => file,
        _ if named.is_none() => return Ok(None),
        _ => return Err(format!("PGPASSFILE: {} is not a file that can be read", path.display())),
    };
    if file.permissions().mode() & 0o077 != 0 {
        let text = format!("the password file {} may be read by others: chmod 600", path.display());
        return match named {
            Some(_) => Err(text),
            None => Ok(Some(format!("{text}; it is not used"))),
        };
    }
    let lines = match fs::read_to_string(&path) {
        Ok(lines) => lines,
        Err(_) if named.is_none() => return Ok(None),
        Err(error) => return Err(format!("PGPASSFILE: {}: {error}", path.display())),
    };
    let user = config.get_user().map(str::to_owned);
    let user = user.or_else(|| environment.get("USER").cloned()).unwrap_or_default();
    let database = config.get_dbname().unwrap_or(&user);
    let ports = config.get_ports();
    let port = |index: usize| ports.get(index).or(ports.first()).copied().unwrap_or(5432);
    let passwords = config.get_hosts().iter().enumerate().map(|(index, host)| {
        let host = match host {
            Host::Tcp(name) => name.as_str(),
            #[cfg(unix)]
            Host::Unix(_) => "localhost",
        };
        find(&lines, [host, &port(index).to_string(), database, &user])
    });
    // One that has no password there must not get that of another.
    let mut passwords: Vec<Option<String>> = passwords.collect();
    passwords.dedup();
    match &passwords[..] {
        [] | [None] => {}
        [Some(password)] => append(text, "password", password),
        _ => {
            return Err(format!(
                "the password file {} has different passwords for the hosts of one database",
                path.display()
            ));
        }
    }
    Ok(None)
}

/// The password of the first line whose host, port, database and user fit; `*` fits all, and `\` takes a
/// `:` or `\` as it is.
fn find(lines: &str, wanted: [&str; 4]) -> Option<String> {
    lines.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let mut fields = vec![(String::new(), false)];
        let mut characters = line.chars();
        while let Some(character) = characters.next() {
            let count = fields.len();
            let (field, is_escaped) = fields.last_mut()?;
            match character {
                '\\' => {
                    field.extend(characters.next());
                    *is_escaped = true;
                }
                ':' if count < 5 => fields.push((String::new(), false)),
                other => field.push(other),
            }
        }
        let fits = |((field, is_escaped), wanted): (&(String, bool), &str)| {
            (field == "*" && !is_escaped) || field == wanted
        };
        let is_it = fields.len() == 5 && fields.iter().zip(wanted).all(fits);
        is_it.then(|| fields.pop().map(|(password, _)| password)).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> HashMap<String, String> {
        variables.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    #[track_caller]
    fn check(url: Option<&str>, variables: &[(&str, &str)], expected: &str) {
        let (text, _) = complete(url, &environment(variables)).unwrap();
        assert_eq!(text.as_deref().unwrap_or_default(), expected);
    }

    #[test]
    fn the_environment_fills_in_what_the_url_leaves_out() {
        let all = [
            ("PGHOST", "db.test"),
            ("PGPORT", "5433"),
            ("PGUSER", "shop"),
            ("PGPASSWORD", "it's %40:\\"),
            ("PGDATABASE", "orders"),
            ("PGSSLMODE", "verify-full"),
        ];
        let keywords = r"host=db.test port=5433 user=shop password='it\'s %40:\\' dbname=orders sslmode=verify-full";
        check(None, &all, &format!(" {keywords}"));
        let read = connect::read(&format!(" {keywords}")).unwrap();
        assert_eq!(read.get_password(), Some(r"it's %40:\".as_bytes()));
        let url = "postgres://u:p@h:1/d?sslmode=disable";
        check(Some(url), &all, url);
        let error = complete(Some("postgres://h/d"), &environment(&all)).unwrap_err();
        assert!(error.starts_with("PGPORT is set"), "{error}");
        check(
            Some("postgres://h/d"),
            &all[2..],
            "postgres://h/d?user=shop&password=it%27s%20%2540%3A%5C&sslmode=verify-full",
        );
        check(None, &[("PGUSER", "shop")], "");
    }

    #[test]
    fn authorities_of_the_system_are_asked() {
        let system = ("PGSSLROOTCERT", "system");
        check(Some("host=h"), &[system], "host=h sslmode=require");
        check(
            Some("host=h"),
            &[system, ("PGSSLMODE", "verify-full")],
            "host=h sslmode=verify-full",
        );
        for weak in ["disable", "prefer"] {
            let error = complete(Some("host=h"), &environment(&[system, ("PGSSLMODE", weak)]));
            assert!(error.unwrap_err().contains("sslmode=require"));
        }
    }

    #[test]
    fn what_is_not_honoured_is_refused() {
        for variable in REFUSED {
            for url in [None, Some("postgres://u:p@h/d")] {
                let error = complete(url, &environment(&[(variable, "s3cret")])).unwrap_err();
                assert!(error.contains(variable) && !error.contains("s3cret"), "{error}");
            }
        }
    }

    #[test]
    fn a_password_file_is_used_only_if_nobody_else_reads_it() {
        let path = std::env::temp_dir().join(format!("postrider-pgpass-{}", fastrand::u64(..)));
        let lines = "# db:5432:orders:shop:comment\nother:*:*:*:no\n\
                     d\\:b:5432:*:shop:s3\\:cret:x\n*:1:*:*:s3cret\n";
        fs::write(&path, lines).unwrap();
        let variables = [("PGPASSFILE", path.to_str().unwrap()), ("PGUSER", "shop")];
        let set = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        set(0o640);
        let url = Some("host=d:b dbname=orders");
        let error = complete(url, &environment(&variables)).unwrap_err();
        assert!(error.contains("may be read by others") && !error.contains("s3"), "{error}");
        set(0o600);
        check(url, &variables, "host=d:b dbname=orders user=shop password='s3:cret:x'");
        check(Some("host=a user=b"), &variables, "host=a user=b");
        check(Some("host=a user=b port=1"), &variables, "host=a user=b port=1 password=s3cret");
        let error = complete(Some("host=a,b port=1,2 user=b"), &environment(&variables));
        assert!(error.unwrap_err().contains("different passwords"), "b has none");
        check(Some("host=d:b password=p"), &variables, "host=d:b password=p user=shop");
        let error = complete(Some("host=d:b,other"), &environment(&variables)).unwrap_err();
        assert!(error.contains("different passwords"), "{error}");

        // The usual one is passed over, as by libpq.
        let home = std::env::temp_dir().join(format!("postrider-home-{}", fastrand::u64(..)));
        fs::create_dir(&home).unwrap();
        fs::rename(&path, home.join(".pgpass")).unwrap();
        let set = |mode| {
            fs::set_permissions(home.join(".pgpass"), fs::Permissions::from_mode(mode)).unwrap();
        };
        let variables = environment(&[("HOME", home.to_str().unwrap())]);
        set(0o604);
        let (text, warning) = complete(Some("host=a user=b port=1"), &variables).unwrap();
        assert_eq!(text.as_deref(), Some("host=a user=b port=1"));
        assert!(warning.unwrap().contains("it is not used"));
        set(0o600);
        let (text, warning) = complete(Some("host=a user=b port=1"), &variables).unwrap();
        assert_eq!(text.as_deref(), Some("host=a user=b port=1 password=s3cret"));
        assert_eq!(warning, None);
        fs::remove_dir_all(home).unwrap();
    }
}
