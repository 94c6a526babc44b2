//! How much an endpoint takes: the options that every protocol has.

use postrider_core::{flow::Flow, rate::Rate};

use super::{ConfigOption, DefaultValue, OptionKind, config::Checked};

/// The options besides `concurrency`, whose range and default are the protocol's.
pub const OPTIONS: &[ConfigOption] = &[
    ConfigOption {
        name: "rate_limit_per_second",
        kind: OptionKind::Integer { min: 1, max: 100_000 },
        required: false,
        default: DefaultValue::None,
        description: "How many messages may be sent per second, by all dispatchers together. \
                      Default: no limit.",
        secret: false,
    },
    ConfigOption {
        name: "rate_limit_burst",
        kind: OptionKind::Integer { min: 1, max: 100_000 },
        required: false,
        default: DefaultValue::None,
        description: "How many messages may be sent at once after a rest, where there is a rate \
                      limit. At least, and by default, a tenth of the rate.",
        secret: false,
    },
    ConfigOption {
        name: "max_in_memory",
        kind: OptionKind::Integer { min: 1, max: 65_536 },
        required: false,
        default: DefaultValue::None,
        description: "How many messages a dispatcher keeps in memory for the endpoint; the others \
                      wait in the database. Default: four times its concurrency, 1,024 at least.",
        secret: false,
    },
    ConfigOption {
        name: "max_queue_size",
        kind: OptionKind::Integer { min: 0, max: 2_147_483_647 },
        required: false,
        default: DefaultValue::None,
        description: "How many deliveries may wait for the endpoint: when there are so many, sending to it \
                      is refused. Default, and 0: no limit but the one for all.",
        secret: false,
    },
];

/// The options of a protocol, and these.
pub const fn with_flow<const N: usize>(own: &[ConfigOption]) -> [ConfigOption; N] {
    assert!(N == own.len() + OPTIONS.len());
    let mut all = [own[0]; N];
    let mut i = 0;
    while i < N {
        all[i] = if i < own.len() { own[i] } else { OPTIONS[i - own.len()] };
        i += 1;
    }
    all
}

/// What a checked config says, of a protocol that has these options.
pub fn read(config: &Checked<'_>) -> Flow {
    let count = |name| config.integer(name).and_then(|count| count.try_into().ok());
    let number = |name| config.integer(name).and_then(|count| u32::try_from(count).ok());
    Flow {
        concurrency: count("concurrency").expect("checked, and has a default"),
        rate: number("rate_limit_per_second")
            .map(|per_second| Rate::new(per_second, number("rate_limit_burst"))),
        max_in_memory: count("max_in_memory"),
        is_limited: config.integer("max_queue_size").is_some_and(|limit| limit > 0),
    }
}
