//! Policies as people write them. `sql/functions/policy/api/validate_retry_policy.sql` refuses the same with the
//! same words; `testdata/retry_policy.json` holds the cases for both.

use std::{fmt, time::Duration};

use serde_json::{Map, Value};

use super::{
    Backoff, DEFAULT_JITTER, Listed, Policy, RETRIES_MAX, Simple, TOTAL_WAIT_MAX,
    phases::{Curve, Phases},
};
use crate::spelling::{LENGTH_MAX, nearest};

/// The longest single delay of a list, in seconds: a day.
const DELAY_MAX: i64 = 86_400;
/// At which pace the preset `sns-managed` goes on when its phases are over, in seconds.
const MANAGED_PACE: u64 = 20;

/// What is wrong with a policy: the field, the rule and the bound.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PolicyError(String);

/// Where a policy stands, which says what it is when it says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// An endpoint: all from the settings.
    Endpoint,
    EventType,
    /// As on an event type: the phases with their defaults.
    Subscription,
}

/// A policy of somebody's own.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnPolicy {
    /// On an event type: subscriptions do not override it.
    pub ignores_subscription: bool,
    form: OwnForm,
}

#[derive(Debug, Clone, PartialEq)]
enum OwnForm {
    /// What is missing comes from the settings.
    Simple {
        max_retries: Option<u32>,
        backoff: Option<Backoff>,
        base_delay: Option<Duration>,
        max_delay: Option<Duration>,
        increment: Option<Duration>,
        jitter: Option<f64>,
    },
    Listed(Listed),
}

/// The vocabularies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Those of `Healthy` one level down.
    Nested,
    Healthy,
    Schedule,
    Preset,
    Phased,
    Simple,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Integer(i64, i64),
    Fraction,
    Boolean,
    Word(&'static [&'static str]),
    Schedule,
    Object,
}

struct Key {
    form: Form,
    name: &'static str,
    kind: Kind,
}

const fn key(form: Form, name: &'static str, kind: Kind) -> Key {
    Key { form, name, kind }
}

const RETRIES: Kind = Kind::Integer(0, RETRIES_MAX as i64);
const CURVES: Kind = Kind::Word(&["linear", "arithmetic", "geometric", "exponential"]);
const NESTED: &str = "healthyRetryPolicy";
/// Known in every form.
const IGNORE: &str = "ignore_subscription_override";

/// In the order in which forms are recognised.
const KEYS: &[Key] = &[
    key(Form::Nested, NESTED, Kind::Object),
    key(Form::Healthy, "minDelayTarget", Kind::Integer(0, 3_600)),
    key(Form::Healthy, "maxDelayTarget", Kind::Integer(0, DELAY_MAX)),
    key(Form::Healthy, "numRetries", RETRIES),
    key(Form::Healthy, "numNoDelayRetries", RETRIES),
    key(Form::Healthy, "numMinDelayRetries", RETRIES),
    key(Form::Healthy, "numMaxDelayRetries", RETRIES),
    key(Form::Healthy, "backoffFunction", CURVES),
    key(Form::Schedule, "schedule_seconds", Kind::Schedule),
    key(Form::Schedule, "jitter", Kind::Fraction),
    key(
        Form::Preset,
        "preset",
        Kind::Word(&["standard-webhooks", "sns", "sns-managed", "sns-customer"]),
    ),
    key(Form::Preset, "max_retries", RETRIES),
    key(Form::Preset, "jitter", Kind::Fraction),
    key(Form::Phased, "retries_with_no_delay", RETRIES),
    key(Form::Phased, "minimum_delay_retries", RETRIES),
    key(Form::Phased, "minimum_delay", Kind::Integer(0, 3_600)),
    key(Form::Phased, "maximum_delay", Kind::Integer(0, DELAY_MAX)),
    key(Form::Phased, "maximum_delay_retries", RETRIES),
    key(Form::Phased, "retry_backoff_function", CURVES),
    key(Form::Phased, "backoff_retries", RETRIES),
    key(Form::Simple, "max_retries", RETRIES),
    key(Form::Simple, "backoff", Kind::Word(&["exponential", "linear", "fixed"])),
    key(Form::Simple, "base_delay_seconds", Kind::Integer(1, 3_600)),
    key(Form::Simple, "max_delay_seconds", Kind::Integer(1, DELAY_MAX)),
    key(Form::Simple, "increment_seconds", Kind::Integer(1, 3_600)),
    key(Form::Simple, "jitter", Kind::Fraction),
];

/// Seconds of `{"preset": "standard-webhooks"}`.
const STANDARD_WEBHOOKS: [u64; 9] = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];

impl OwnPolicy {
    /// Reads a policy that stands in this place.
    ///
    /// # Errors
    ///
    /// The first rule that it breaks, keys in order of their bytes.
    pub fn parse(value: &Value, place: Place) -> Result<OwnPolicy, PolicyError> {
        let map = object(value, "retry_policy")?;
        let form = form_of(map);
        check(map, form, "retry_policy")?;
        let ignores_subscription = map.get(IGNORE).and_then(Value::as_bool).unwrap_or(false);
        let form = match (form, place) {
            (Some(Form::Simple), _) | (None, Place::Endpoint) => simple(map),
            (Some(Form::Schedule), _) => listed(schedule(map), fraction(map))?,
            (Some(Form::Preset), _) => listed(preset(map)?, fraction(map))?,
            (Some(Form::Phased) | None, _) => phased(&PHASED, map, "retry_policy")?,
            (Some(Form::Healthy), _) => phased(&HEALTHY, map, "retry_policy")?,
            (Some(Form::Nested), _) => {
                let path = format!("retry_policy.{NESTED}");
                let map = object(&map[NESTED], &path)?;
                check(map, Some(Form::Healthy), &path)?;
                phased(&HEALTHY, map, &path)?
            }
        };
        Ok(OwnPolicy { ignores_subscription, form })
    }

    /// The policy with what it leaves out taken from the settings.
    pub fn complete(&self, settings: &Simple) -> Policy {
        match &self.form {
            OwnForm::Listed(listed) => Policy::Listed(listed.clone()),
            OwnForm::Simple { max_retries, backoff, base_delay, max_delay, increment, jitter } => {
                Policy::Simple(Simple {
                    max_retries: max_retries.unwrap_or(settings.max_retries),
                    backoff: backoff.unwrap_or(settings.backoff),
                    base_delay: base_delay.unwrap_or(settings.base_delay),
                    max_delay: max_delay.unwrap_or(settings.max_delay),
                    increment: increment.unwrap_or(settings.increment),
                    jitter: jitter.unwrap_or(settings.jitter),
                })
            }
        }
    }
}

// Keys and their values -----------------------------------------------------------------------------

fn object<'a>(value: &'a Value, path: &str) -> Result<&'a Map<String, Value>, PolicyError> {
    value.as_object().ok_or_else(|| PolicyError(format!("{path} must be an object")))
}

/// The form that a policy is written in; `None`: it has no key that tells.
fn form_of(map: &Map<String, Value>) -> Option<Form> {
    let is_schedule = map.contains_key("schedule_seconds");
    let is_preset = map.contains_key("preset");
    let known = KEYS.iter().find(|key| match key.form {
        // Their other keys are those of simple policies, too.
        Form::Schedule => is_schedule,
        Form::Preset => is_preset,
        _ => map.contains_key(key.name),
    });
    known.map(|key| key.form)
}

/// Keys of one form, or of all when there is no telling.
fn keys_of(form: Option<Form>, path: &str) -> impl Iterator<Item = (&'static str, Kind)> {
    let own = KEYS.iter().filter(move |key| form.is_none_or(|form| key.form == form));
    // One level down it means nothing.
    let common = (!path.contains('.')).then_some((IGNORE, Kind::Boolean));
    own.map(|key| (key.name, key.kind)).chain(common)
}

fn check(map: &Map<String, Value>, form: Option<Form>, path: &str) -> Result<(), PolicyError> {
    let mut given: Vec<_> = map.iter().collect();
    given.sort_unstable_by_key(|(name, _)| name.as_str());
    for (name, value) in given {
        let Some((_, kind)) = keys_of(form, path).find(|(known, _)| known == name) else {
            let known = keys_of(form, path).map(|(known, _)| known);
            let nearest = nearest(name, known).unwrap_or_default();
            let name: String = name.chars().take(LENGTH_MAX).collect();
            return Err(PolicyError(format!(
                "{path}.{name} is not a known key (did you mean {nearest}?)"
            )));
        };
        kind.check(value, format_args!("{path}.{name}"))?;
    }
    Ok(())
}

impl Kind {
    fn check(self, value: &Value, path: fmt::Arguments<'_>) -> Result<(), PolicyError> {
        let must_be = |rule: String| Err(PolicyError(format!("{path} must be {rule}")));
        match self {
            Kind::Integer(minimum, maximum) => check_integer(value, minimum, maximum, path),
            Kind::Fraction => match value.as_f64() {
                None => must_be("a number".to_owned()),
                Some(number) if !(0.0..=1.0).contains(&number) => {
                    must_be(format!("between 0 and 1, got {}", short(value)))
                }
                Some(_) => Ok(()),
            },
            Kind::Boolean if !value.is_boolean() => must_be("true or false".to_owned()),
            Kind::Word(words) if !value.as_str().is_some_and(|word| words.contains(&word)) => {
                must_be(format!("one of {}", words.join(", ")))
            }
            Kind::Schedule => {
                let Some(entries) = value.as_array() else {
                    return must_be("an array of integers".to_owned());
                };
                if entries.len() > RETRIES_MAX as usize {
                    return Err(PolicyError(format!(
                        "{path} must have at most {RETRIES_MAX} entries, got {}",
                        entries.len()
                    )));
                }
                entries.iter().enumerate().try_for_each(|(place, entry)| {
                    check_integer(entry, 0, DELAY_MAX, format_args!("{path}[{place}]"))
                })
            }
            Kind::Boolean | Kind::Word(_) | Kind::Object => Ok(()),
        }
    }
}

fn check_integer(
    value: &Value,
    minimum: i64,
    maximum: i64,
    path: fmt::Arguments<'_>,
) -> Result<(), PolicyError> {
    // Whatever is too large for 64 bits comes as a fraction.
    let is_huge = |number: f64| number.fract() == 0.0 && number.abs() >= 2f64.powi(63);
    let is_integer = value.is_i64() || value.is_u64() || value.as_f64().is_some_and(is_huge);
    if !is_integer {
        return Err(PolicyError(format!("{path} must be an integer")));
    }
    if !value.as_i64().is_some_and(|number| (minimum..=maximum).contains(&number)) {
        let got = short(value);
        return Err(PolicyError(format!(
            "{path} must be between {minimum} and {maximum}, got {got}"
        )));
    }
    Ok(())
}

/// A number as it is repeated in an error.
fn short(value: &Value) -> String {
    let text = match value.as_f64() {
        Some(number) if !value.is_i64() && !value.is_u64() => number.to_string(),
        _ => value.to_string(),
    };
    text.chars().take(LENGTH_MAX).collect()
}

fn integer(map: &Map<String, Value>, name: &str) -> Option<u32> {
    map.get(name)?.as_u64().map(|number| number as u32)
}

fn fraction(map: &Map<String, Value>) -> f64 {
    map.get("jitter").and_then(Value::as_f64).unwrap_or(DEFAULT_JITTER)
}

// Forms ---------------------------------------------------------------------------------------------

fn simple(map: &Map<String, Value>) -> OwnForm {
    let seconds = |name| integer(map, name).map(|seconds| Duration::from_secs(seconds.into()));
    OwnForm::Simple {
        max_retries: integer(map, "max_retries"),
        backoff: map.get("backoff").and_then(Value::as_str).map(|word| match word {
            "linear" => Backoff::Linear,
            "fixed" => Backoff::Fixed,
            _ => Backoff::Exponential,
        }),
        base_delay: seconds("base_delay_seconds"),
        max_delay: seconds("max_delay_seconds"),
        increment: seconds("increment_seconds"),
        jitter: map.get("jitter").and_then(Value::as_f64),
    }
}

fn listed(waits: Vec<Duration>, jitter: f64) -> Result<OwnForm, PolicyError> {
    let total: Duration = waits.iter().sum();
    if total > TOTAL_WAIT_MAX {
        return Err(PolicyError(format!(
            "retry_policy: the waits add up to {} s, at most {} s are allowed",
            total.as_millis().div_ceil(1_000),
            TOTAL_WAIT_MAX.as_secs()
        )));
    }
    Ok(OwnForm::Listed(Listed { waits: waits.into(), jitter }))
}

fn schedule(map: &Map<String, Value>) -> Vec<Duration> {
    let entries = map["schedule_seconds"].as_array().into_iter().flatten();
    entries.filter_map(Value::as_u64).map(Duration::from_secs).collect()
}

fn preset(map: &Map<String, Value>) -> Result<Vec<Duration>, PolicyError> {
    let preset = map["preset"].as_str().unwrap_or_default();
    let max_retries = integer(map, "max_retries");
    if preset != "sns-managed" && max_retries.is_some() {
        let text = "retry_policy.max_retries goes with the preset sns-managed only";
        return Err(PolicyError(text.to_owned()));
    }
    let geometric =
        |minimum_delay_retries, minimum_delay, maximum_delay, maximum_delay_retries| Phases {
            retries_with_no_delay: 0,
            minimum_delay_retries,
            minimum_delay,
            maximum_delay,
            maximum_delay_retries,
            curve: Curve::Geometric,
            backoff_retries: Some(10),
        };
    Ok(match preset {
        "sns" => vec![Duration::from_secs(20); 3],
        "sns-managed" => {
            let count = max_retries.unwrap_or(RETRIES_MAX) as usize;
            let start = Phases { retries_with_no_delay: 3, ..geometric(2, 1, 20, 0) };
            let mut waits = start.waits();
            waits.resize(count, Duration::from_secs(MANAGED_PACE));
            waits
        }
        "sns-customer" => geometric(2, 10, 600, 38).waits(),
        _ => STANDARD_WEBHOOKS.into_iter().map(Duration::from_secs).collect(),
    })
}

/// What a vocabulary calls the parts of a phased policy.
struct Names {
    retries_with_no_delay: &'static str,
    minimum_delay_retries: &'static str,
    minimum_delay: &'static str,
    maximum_delay: &'static str,
    maximum_delay_retries: &'static str,
    curve: &'static str,
    /// The number of retries of the backoff phase.
    backoff_retries: Option<&'static str>,
    /// The number of retries of all phases together.
    all_retries: Option<&'static str>,
}

const PHASED: Names = Names {
    retries_with_no_delay: "retries_with_no_delay",
    minimum_delay_retries: "minimum_delay_retries",
    minimum_delay: "minimum_delay",
    maximum_delay: "maximum_delay",
    maximum_delay_retries: "maximum_delay_retries",
    curve: "retry_backoff_function",
    backoff_retries: Some("backoff_retries"),
    all_retries: None,
};

const HEALTHY: Names = Names {
    retries_with_no_delay: "numNoDelayRetries",
    minimum_delay_retries: "numMinDelayRetries",
    minimum_delay: "minDelayTarget",
    maximum_delay: "maxDelayTarget",
    maximum_delay_retries: "numMaxDelayRetries",
    curve: "backoffFunction",
    backoff_retries: None,
    all_retries: Some("numRetries"),
};

fn phased(names: &Names, map: &Map<String, Value>, path: &str) -> Result<OwnForm, PolicyError> {
    let value = |name, default| integer(map, name).unwrap_or(default);
    let mut phases = Phases {
        retries_with_no_delay: value(names.retries_with_no_delay, 3),
        minimum_delay_retries: value(names.minimum_delay_retries, 3),
        minimum_delay: value(names.minimum_delay, 5),
        maximum_delay: value(names.maximum_delay, 30),
        maximum_delay_retries: value(names.maximum_delay_retries, 3),
        curve: match map.get(names.curve).and_then(Value::as_str) {
            Some("arithmetic") => Curve::Arithmetic,
            Some("geometric" | "exponential") => Curve::Geometric,
            _ => Curve::Linear,
        },
        backoff_retries: names.backoff_retries.and_then(|name| integer(map, name)),
    };
    if phases.minimum_delay > phases.maximum_delay {
        return Err(PolicyError(format!(
            "{path}.{} must not be greater than {}",
            names.minimum_delay, names.maximum_delay
        )));
    }
    if let Some(total) = names.all_retries.and_then(|name| integer(map, name)) {
        let others = phases.retries_with_no_delay
            + phases.minimum_delay_retries
            + phases.maximum_delay_retries;
        let Some(left) = total.checked_sub(others) else {
            return Err(PolicyError(format!(
                "retry_policy: the phases have {others} retries, numRetries allows {total}"
            )));
        };
        phases.backoff_retries = Some(left);
    }
    let count = phases.retry_count();
    if count > u64::from(RETRIES_MAX) {
        return Err(PolicyError(format!(
            "retry_policy: the phases have {count} retries, at most {RETRIES_MAX} are allowed"
        )));
    }
    listed(phases.waits(), 0.0)
}
