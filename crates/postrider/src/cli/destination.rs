//! Whether a new endpoint's address is one that dispatchers refuse to connect to.

use std::{net::IpAddr, sync::Arc, time::Duration};

use http::Uri;
use postrider_core::networks::{InternalDestinations, literal};
use postrider_transport::names::Names;
use serde_json::Value;
use tokio_postgres::Client;

use super::json_rows;

const ENDPOINTS: &str = include_str!("../../../../sql/queries/endpoints/endpoints.sql");
const SETTINGS: &str = include_str!("../../../../sql/queries/settings/settings.sql");
const SETTING: &str = "allow_internal_destinations";
/// How long a name server may take before we say nothing.
const LOOK_UP: Duration = Duration::from_secs(2);

/// What is to be said of the address of an endpoint that was made just now. Nothing, where it is allowed, or where
/// that cannot be told from here.
pub async fn warning(client: &Client, name: &str) -> Option<String> {
    let endpoint = json_rows(client, ENDPOINTS, &[&Some(name)]).await.ok()?;
    let uri: Uri = endpoint.first()?["config"]["url"].as_str()?.parse().ok()?;
    let host = uri.host()?;
    let setting = json_rows(client, SETTINGS, &[&Some(SETTING)]).await.ok()?;
    let allowed = setting.first()?["value"].as_str()?.parse().ok()?;
    let refused = refused(&look_up(host).await?, &allowed)?;
    Some(format!(
        "{host} is {refused}, an internal address, and the setting {SETTING} does not allow it: nothing will \
         be delivered. If that is meant: `postrider setting set {SETTING} {}`",
        with_network(setting.first()?, refused)
    ))
}

async fn look_up(host: &str) -> Option<Vec<IpAddr>> {
    if let Some(address) = literal(host) {
        return Some(vec![address]);
    }
    let names = Arc::new(Names::new(Vec::new()));
    tokio::time::timeout(LOOK_UP, names.look_up(host)).await.ok()?.ok()
}

/// The first address, if none is allowed: of a name that has others too, those are used.
fn refused(addresses: &[IpAddr], allowed: &InternalDestinations) -> Option<IpAddr> {
    let is_refused = addresses.iter().all(|address| !allowed.allows(*address));
    if is_refused { addresses.first().copied() } else { None }
}

/// The setting's value with this address among the others.
fn with_network(setting: &Value, address: IpAddr) -> String {
    let network = format!("{address}/{}", if address.is_ipv4() { 32 } else { 128 });
    match setting["value"].as_str() {
        Some("off") | None => network,
        Some(others) => format!("'{others}, {network}'"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_no_address_allows_is_warned_of() {
        for (addresses, allowed, expected) in [
            ("127.0.0.1", "off", Some("127.0.0.1")),
            ("127.0.0.1", "on", None),
            ("127.0.0.1", "127.0.0.0/8", None),
            ("10.0.0.1", "127.0.0.0/8", Some("10.0.0.1")),
            ("1.1.1.1", "off", None),
            ("10.0.0.1 1.1.1.1", "off", None),
            ("10.0.0.1 ::1", "off", Some("10.0.0.1")),
            ("", "off", None),
        ] {
            let parsed: Vec<IpAddr> =
                addresses.split_whitespace().map(|address| address.parse().unwrap()).collect();
            let found = refused(&parsed, &allowed.parse().unwrap());
            assert_eq!(
                found,
                expected.map(|address| address.parse().unwrap()),
                "{addresses} {allowed}"
            );
        }
        let address = "10.0.0.1".parse().unwrap();
        assert_eq!(with_network(&json!({"value": "off"}), address), "10.0.0.1/32");
        assert_eq!(
            with_network(&json!({"value": "127.0.0.0/8"}), address),
            "'127.0.0.0/8, 10.0.0.1/32'"
        );
    }
}
