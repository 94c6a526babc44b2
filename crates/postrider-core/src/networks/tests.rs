use super::*;

fn check(setting: &str, address: &str, expected: bool) {
    let setting: InternalDestinations = setting.parse().unwrap();
    let address = address.parse().unwrap();
    assert_eq!(setting.allows(address), expected, "{address} with `{setting}`");
}

#[test]
fn internal_addresses_are_refused_and_public_ones_are_not() {
    let internal = [
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.0",
        "10.255.255.255",
        "100.64.0.1",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.254",
        "169.254.0.1",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.1",
        "192.0.0.170",
        "192.0.2.1",
        "192.31.196.1",
        "192.52.193.1",
        "192.88.99.1",
        "192.175.48.1",
        "161.26.0.10",
        "166.8.0.1",
        "166.11.255.255",
        "168.63.129.16",
        "::ffff:168.63.129.16",
        "192.168.1.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.7",
        "203.0.113.7",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::10.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:10.1.2.3",
        "::ffff:169.254.169.254",
        "::ffff:100.64.0.1",
        "::ffff:0:192.168.0.1",
        "64:ff9b::127.0.0.1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::8.8.8.8",
        "100::1",
        "2001::1",
        "2001:0:4136:e378:8000:63bf:3fff:fdd2",
        "2001:20::1",
        "2001:db8::1",
        "2002:7f00:1::1",
        "2002:a9fe:a9fe::",
        "2002:c0a8:101::1",
        "2002:101:101::5efe:a00:1",
        "2002:101:101:0:200:5efe:127.0.0.1",
        "2002:a00:1::5efe:8.8.8.8",
        "2620:4f:8000::1",
        "2a00:1450::5efe:127.0.0.1",
        "2a00:1450::200:5efe:10.1.2.3",
        "3fff::1",
        "5f00::1",
        "fc00::1",
        "fd00:ec2::254",
        "fdff:ffff::1",
        "fe80::1",
        "febf::1",
        "fec0::1",
        "ff02::1",
    ];
    for address in internal {
        check("off", address, false);
        check("on", address, true);
    }
    let public = [
        "1.1.1.1",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.1",
        "169.253.255.255",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.1.1",
        "192.167.255.255",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "::8.8.8.8",
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
        "2002:808:808::1",
        "2002:101:101::5efe:8.8.8.8",
        "2001:4860:4860::8888",
        "2606:4700:4700::1111",
        "2a00:1450::5efe:8.8.8.8",
        "168.63.129.17",
        "161.25.255.255",
        "166.12.0.1",
        "2a00:1450:4001:81b::200e",
    ];
    for address in public {
        check("off", address, true);
        check("on", address, true);
        check("10.0.0.0/8", address, true);
    }
}

#[test]
fn a_list_allows_what_it_names() {
    let list = "10.0.0.0/8, 127.0.0.1/32,fd00::/8 , 192.168.7.9, 64:ff9b::/96";
    let cases = [
        ("10.200.3.4", true),
        ("::ffff:10.200.3.4", true),
        ("2002:a01:203::1", true),
        ("2002:101:101::5efe:a00:1", false),
        ("127.0.0.1", true),
        ("127.0.0.2", false),
        ("192.168.7.9", true),
        ("192.168.7.8", false),
        ("fd12::1", true),
        ("fc00::1", false),
        ("64:ff9b::7f00:2", true),
        ("::1", false),
        ("169.254.169.254", false),
    ];
    for (address, expected) in cases {
        check(list, address, expected);
    }
    check("0.0.0.0/0", "127.0.0.1", true);
    check("0.0.0.0/0", "::1", false);
    check("::/0", "::1", true);
    check("::/0", "127.0.0.1", false);
    check("10.1.2.3/8", "10.9.9.9", true);
}

#[test]
fn the_error_names_the_bad_element() {
    let cases = [
        ("", ""),
        ("yes", "yes"),
        ("On", "On"),
        ("10.0.0.0/8,", ""),
        ("10.0.0.0/8, off", "off"),
        ("10.0.0.0/33", "10.0.0.0/33"),
        ("10.0.0.0/", "10.0.0.0/"),
        ("10.0.0.0/+8", "10.0.0.0/+8"),
        ("10.0.0/8", "10.0.0/8"),
        ("127.0.0.1/32, ::1/129", "::1/129"),
        ("localhost", "localhost"),
        ("0x7f000001", "0x7f000001"),
    ];
    for (value, element) in cases {
        let error = value.parse::<InternalDestinations>().unwrap_err();
        assert_eq!(error, NetworksError::Element { element: element.to_owned() }, "{value:?}");
    }
    let long = vec!["10.0.0.1"; NETWORKS_MAX + 1].join(",");
    assert_eq!(long.parse::<InternalDestinations>(), Err(NetworksError::TooMany));
}

#[test]
fn a_setting_prints_as_it_is_parsed() {
    for value in ["off", "on", "10.0.0.0/8, 127.0.0.1/32, fd00::/8"] {
        assert_eq!(value.parse::<InternalDestinations>().unwrap().to_string(), value);
    }
}

#[test]
fn a_host_is_an_address_in_any_spelling() {
    let spellings = [
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.1.", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("0x7f000001", "127.0.0.1"),
        ("0X7F.1", "127.0.0.1"),
        ("0177.0.0.1", "127.0.0.1"),
        ("017700000001", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("127.0.1", "127.0.0.1"),
        ("0", "0.0.0.0"),
        ("0x", "0.0.0.0"),
        ("4294967295", "255.255.255.255"),
        ("10.0xffffff", "10.255.255.255"),
        ("::1", "::1"),
        ("[::1]", "::1"),
        ("[::FFFF:127.0.0.1]", "::ffff:127.0.0.1"),
        ("[0:0:0:0:0:ffff:7f00:1]", "::ffff:127.0.0.1"),
    ];
    for (host, address) in spellings {
        assert_eq!(literal(host), address.parse().ok(), "{host}");
    }
    let names = [
        "",
        ".",
        "localhost",
        "example.com",
        "1.example",
        "127.0.0.1..",
        "127..1",
        "256.0.0.1",
        "127.0.0.256",
        "127.0.65536",
        "127.16777216",
        "4294967296",
        "99999999999999999999999",
        "1.2.3.4.5",
        "08",
        "0x7g",
        "+1",
        "-1",
        "1e3",
        "[127.0.0.1",
        "[fe80::1%25eth0]",
        "fe80::1%eth0",
    ];
    for host in names {
        assert_eq!(literal(host), None, "{host}");
    }
}

#[test]
fn two_rules_allow_what_both_allow() {
    let cases = [
        ("on", "on", "on"),
        ("on", "off", "off"),
        ("off", "on", "off"),
        ("on", "10.0.0.0/8", "10.0.0.0/8"),
        ("10.1.0.0/16", "on", "10.1.0.0/16"),
        ("10.1.0.0/16, 127.0.0.1", "10.0.0.0/8", "10.1.0.0/16"),
        ("10.0.0.0/8", "10.1.0.0/16, 10.2.0.0/16", "10.1.0.0/16, 10.2.0.0/16"),
        ("::/0", "fd00::/8", "fd00::/8"),
        ("10.0.0.0/8", "10.0.0.0/8", "10.0.0.0/8"),
        ("10.0.0.0/8", "off", "off"),
    ];
    for (setting, bound, expected) in cases {
        let parse = |text: &str| text.parse::<InternalDestinations>().unwrap();
        assert_eq!(parse(setting).within(&parse(bound)), parse(expected), "{setting}, {bound}");
    }
    let parse = |text: &str| text.parse::<InternalDestinations>().unwrap();
    let nothing = parse("127.0.0.0/8").within(&parse("10.0.0.0/8"));
    assert!(!nothing.allows("127.0.0.1".parse().unwrap()));
    assert!(nothing.allows("1.1.1.1".parse().unwrap()));
}
