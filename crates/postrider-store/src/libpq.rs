//! What libpq would take from the environment and from a password file, for what the database's URL
//! leaves out.
//!
//! Guarantees: a variable that would change where or how safely we connect is honoured or refused, and no
//! error shows a password.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use postrider_core::environment::Environment;
use tokio_postgres::config::{Host, SslMode};

use super::connect;

/// Variables that say how to connect, and that nothing here understands, with the value that asks for what is done
/// anyway.
const REFUSED: [(&str, &str); 16] = [
    ("PGSERVICE", ""),
    ("PGSSLCERT", ""),
    ("PGSSLCERTMODE", "disable"),
    ("PGSSLKEY", ""),
    ("PGSSLCRL", ""),
    ("PGSSLCRLDIR", ""),
    ("PGSSLSNI", "1"),
    ("PGREQUIRESSL", "0"),
    ("PGREQUIREAUTH", ""),
    ("PGREQUIREPEER", ""),
    ("PGSSLMINPROTOCOLVERSION", "TLSv1.2"),
    ("PGSSLMAXPROTOCOLVERSION", "TLSv1.3"),
    ("PGMINPROTOCOLVERSION", "3.0"),
    ("PGMAXPROTOCOLVERSION", "3.0"),
    ("PGSSLNEGOTIATION", "postgres"),
    ("PGGSSENCMODE", "disable"),
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
/// A variable that is not honoured or not text, or a password file that cannot be used: a sentence for people.
pub fn complete(
    url: Option<&str>,
    environment: &Environment,
) -> Result<(Option<String>, Option<String>), String> {
    check_variables(environment)?;
    let names_host = ["PGHOST", "PGHOSTADDR"].iter().any(|name| environment.get(name).is_some());
    let mut text = match url {
        Some(url) => url.trim().to_owned(),
        None if names_host => String::new(),
        None => return Ok((None, None)),
    };
    // Connecting says what is wrong with it.
    let Ok(written) = connect::read(&text) else { return Ok((Some(text), None)) };
    // A URL that names a host without its port is read as with 5432.
    let is_read_as_usual = written.get_ports().iter().all(|port| *port == 5432);
    let has_ports = !written.get_ports().is_empty();
    let port = environment.get("PGPORT").filter(|port| *port != "5432");
    if has_ports && connect::is_url(&text) && is_read_as_usual && port.is_some() {
        return Err(
            "PGPORT is set beside a database_url that names a host with the usual port: write \
                    the port into the URL, or unset PGPORT"
                .to_owned(),
        );
    }
    for (variable, keyword) in HONOURED {
        let is_written = match keyword {
            "host" => !written.get_hosts().is_empty(),
            "hostaddr" => !written.get_hostaddrs().is_empty(),
            "port" => has_ports,
            "user" => written.get_user().is_some(),
            "password" => written.get_password().is_some(),
            "dbname" => written.get_dbname().is_some(),
            // What is written comes behind this, and counts.
            _ => false,
        };
        if let (false, Some(value)) = (is_written, environment.get(variable)) {
            put_before(&mut text, keyword, value);
        }
    }
    if let Ok(config) = connect::read(&text) {
        let (hosts, addresses) = (config.get_hosts().len(), config.get_hostaddrs().len());
        if hosts > 0 && addresses > 0 && hosts != addresses {
            return Err(format!(
                "{hosts} hosts and {addresses} addresses (hostaddr, PGHOSTADDR) do not fit together"
            ));
        }
    }
    // As in libpq: those that the system trusts are of use only where they are asked.
    if environment.get("PGSSLROOTCERT").is_some_and(|file| file == "system") {
        put_before(&mut text, "sslmode", "require");
        let is_verified =
            connect::read(&text).is_ok_and(|config| config.get_ssl_mode() == SslMode::Require);
        if !is_verified {
            return Err("PGSSLROOTCERT is system, which needs sslmode=require".to_owned());
        }
    }
    let warning = add_password(&mut text, environment)?;
    Ok((Some(text), warning))
}

/// Whether all variables are text, and none that is not honoured is set.
fn check_variables(environment: &Environment) -> Result<(), String> {
    let names = REFUSED.iter().chain(&HONOURED).map(|(name, _)| *name);
    for name in names.chain(["PGSSLROOTCERT", "PGPASSFILE"]) {
        environment.check(name)?;
    }
    let is_refused = |(name, done): &&(&str, &str)| {
        environment.get(name).is_some_and(|value| !value.is_empty() && value != done)
    };
    if let Some((name, _)) = REFUSED.iter().find(is_refused) {
        return Err(format!(
            "{name} is set, and is not honoured here: unset it, and write what it says into \
             database_url where that is possible"
        ));
    }
    Ok(())
}

/// Adds an option before those that are written: the last one counts.
fn put_before(text: &mut String, keyword: &str, value: &str) {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    if connect::is_url(text) {
        let encode = |byte: u8| match is_plain(&byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        };
        let value: String = value.bytes().map(encode).collect();
        *text = match text.split_once('?') {
            Some((address, "")) => format!("{address}?{keyword}={value}"),
            Some((address, options)) => format!("{address}?{keyword}={value}&{options}"),
            None => format!("{text}?{keyword}={value}"),
        };
    } else if !value.is_empty() && value.bytes().all(|byte| is_plain(&byte)) {
        *text = format!("{keyword}={value} {text}");
    } else {
        let value = value.replace('\\', r"\\").replace('\'', r"\'");
        *text = format!("{keyword}='{value}' {text}");
    }
}

/// The password file's word, where nothing else has said a password.
fn add_password(text: &mut String, environment: &Environment) -> Result<Option<String>, String> {
    let Ok(config) = connect::read(text) else { return Ok(None) };
    if config.get_password().is_some() {
        return Ok(None);
    }
    let named = environment.get("PGPASSFILE").map(PathBuf::from);
    if named.is_none() {
        environment.check("HOME")?;
    }
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
    if config.get_user().is_none() {
        environment.check("USER")?;
    }
    let user = config.get_user().map(str::to_owned);
    let user = user.or_else(|| environment.get("USER").cloned()).unwrap_or_default();
    let database = config.get_dbname().unwrap_or(&user);
    let ports = config.get_ports();
    let port = |index: usize| ports.get(index).or(ports.first()).copied().unwrap_or(5432);
    let name = |host: &Host| match host {
        Host::Tcp(name) => name.clone(),
        #[cfg(unix)]
        Host::Unix(_) => "localhost".to_owned(),
    };
    let mut hosts: Vec<String> = config.get_hosts().iter().map(name).collect();
    if hosts.is_empty() {
        hosts = config.get_hostaddrs().iter().map(ToString::to_string).collect();
    }
    let passwords = hosts
        .iter()
        .enumerate()
        .map(|(index, host)| find(&lines, [host, &port(index).to_string(), database, &user]));
    // One that has no password there must not get that of another.
    let mut passwords: Vec<Option<String>> = passwords.collect();
    passwords.dedup();
    match &passwords[..] {
        [] | [None] => {}
        [Some(password)] => put_before(text, "password", password),
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
    use std::{ffi::OsString, os::unix::ffi::OsStringExt};

    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        variables.iter().map(|&(name, value)| (name.into(), value.into())).collect()
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
        let keywords = r"sslmode=verify-full dbname=orders password='it\'s %40:\\' user=shop port=5433 host=db.test ";
        check(None, &all, keywords);
        let read = connect::read(keywords).unwrap();
        assert_eq!(read.get_password(), Some(r"it's %40:\".as_bytes()));
        // What is written counts, also where a value has the word in it.
        let url = "postgres://u:p@h:1/d?options=sslmode%3Dx";
        let (text, _) = complete(Some(url), &environment(&all)).unwrap();
        let read = connect::read(&text.unwrap()).unwrap();
        assert_eq!((read.get_user(), read.get_dbname()), (Some("u"), Some("d")));
        assert_eq!((read.get_password(), read.get_ports()), (Some(&b"p"[..]), &[1][..]));
        assert_eq!(read.get_hosts(), [Host::Tcp("h".to_owned())]);
        assert_eq!(read.get_ssl_mode(), SslMode::Require);
        let written = format!("{url}&sslmode=disable");
        let (text, _) = complete(Some(&written), &environment(&all)).unwrap();
        assert_eq!(connect::read(&text.unwrap()).unwrap().get_ssl_mode(), SslMode::Disable);
        let error = complete(Some("postgres://h/d"), &environment(&all)).unwrap_err();
        assert!(error.starts_with("PGPORT is set"), "{error}");
        check(
            Some("postgres://h/d"),
            &all[2..],
            "postgres://h/d?sslmode=verify-full&password=it%27s%20%2540%3A%5C&user=shop",
        );
        check(None, &[("PGUSER", "shop")], "");
        // Keywords and values, whatever is in a value.
        check(
            Some("host=h password='a://b?c'"),
            &[("PGSSLMODE", "require"), ("PGPORT", "5433")],
            "sslmode=require port=5433 host=h password='a://b?c'",
        );
        check(Some("postgres:///d?host=h"), &[("PGUSER", "u")], "postgres:///d?user=u&host=h");
    }

    #[test]
    fn an_address_from_the_environment_is_that_of_the_host_that_is_written() {
        let address = ("PGHOSTADDR", "192.0.2.7");
        let read = |url| {
            let (text, _) = complete(Some(url), &environment(&[address, ("PGHOST", "other")]))?;
            Ok::<_, String>(connect::read(&text.unwrap()).unwrap())
        };
        for url in ["postgres://u@h:1/d", "host=h port=1 user=u dbname=d"] {
            let config = read(url).unwrap();
            assert_eq!(config.get_hosts(), [Host::Tcp("h".to_owned())], "{url}");
            assert_eq!(config.get_hostaddrs(), ["192.0.2.7".parse::<std::net::IpAddr>().unwrap()]);
        }
        let config = read("hostaddr=192.0.2.8").unwrap();
        assert_eq!(config.get_hosts(), [Host::Tcp("other".to_owned())]);
        assert_eq!(config.get_hostaddrs(), ["192.0.2.8".parse::<std::net::IpAddr>().unwrap()]);
        let error = read("postgres://a,b/d").unwrap_err();
        assert!(error.starts_with("2 hosts and 1 addresses"), "{error}");
    }

    #[test]
    fn what_decides_about_the_channel_is_honoured() {
        use tokio_postgres::config::{ChannelBinding, TargetSessionAttrs};
        for url in ["postgres://u@h/d", "host=h"] {
            let variables =
                [("PGCHANNELBINDING", "require"), ("PGTARGETSESSIONATTRS", "read-write")];
            let (text, _) = complete(Some(url), &environment(&variables)).unwrap();
            let config = connect::read(&text.unwrap()).unwrap();
            assert_eq!(config.get_channel_binding(), ChannelBinding::Require);
            assert_eq!(config.get_target_session_attrs(), TargetSessionAttrs::ReadWrite);
        }
    }

    #[test]
    fn authorities_of_the_system_are_asked() {
        let system = ("PGSSLROOTCERT", "system");
        check(Some("host=h"), &[system], "sslmode=require host=h");
        check(
            Some("host=h"),
            &[system, ("PGSSLMODE", "verify-full")],
            "sslmode=require sslmode=verify-full host=h",
        );
        for weak in ["disable", "prefer"] {
            let error = complete(Some("host=h"), &environment(&[system, ("PGSSLMODE", weak)]));
            assert!(error.unwrap_err().contains("sslmode=require"));
        }
    }

    #[test]
    fn what_is_not_honoured_is_refused() {
        for (variable, done) in REFUSED {
            for url in [None, Some("postgres://u:p@h/d")] {
                let error = complete(url, &environment(&[(variable, "s3cret")])).unwrap_err();
                assert!(error.contains(variable) && !error.contains("s3cret"), "{error}");
            }
            check(Some("host=h"), &[(variable, done)], "host=h");
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
        check(url, &variables, "password='s3:cret:x' user=shop host=d:b dbname=orders");
        check(Some("host=a user=b"), &variables, "host=a user=b");
        let expected = "password=s3cret host=a user=b port=1";
        check(Some("host=a user=b port=1"), &variables, expected);
        check(
            Some("hostaddr=::1 port=1"),
            &variables,
            "password=s3cret user=shop hostaddr=::1 port=1",
        );
        let error = complete(Some("host=a,b port=1,2 user=b"), &environment(&variables));
        assert!(error.unwrap_err().contains("different passwords"), "b has none");
        check(Some("host=d:b password=p"), &variables, "user=shop host=d:b password=p");
        let error = complete(Some("host=d:b,other"), &environment(&variables)).unwrap_err();
        assert!(error.contains("different passwords"), "{error}");

        let no_text = OsString::from_vec(b"shop\xff".to_vec());
        let variables = variables.map(|(name, value)| (name.into(), OsString::from(value)));
        let [file, _] = variables;
        let variables: Environment = [file, ("USER".into(), no_text)].into_iter().collect();
        let error = complete(Some("host=a port=1"), &variables).unwrap_err();
        assert!(error.starts_with("USER is set to something") && !error.contains("shop"));

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
        assert_eq!(text.as_deref(), Some("password=s3cret host=a user=b port=1"));
        assert_eq!(warning, None);
        fs::remove_dir_all(home).unwrap();
    }
}
