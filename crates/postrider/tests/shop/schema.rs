//! Holds an answer against the document: the words of JSON Schema that `openapi.json` uses.

use serde_json::Value;

/// What is wrong with a value, by the schema of a document. A word that is not known here is wrong as well.
pub fn wrongs(document: &Value, schema: &Value, value: &Value, place: &str) -> Vec<String> {
    let Some(words) = schema.as_object() else { return Vec::new() };
    let mut wrong = Vec::new();
    let mut say = |what: String| wrong.push(format!("{place}: {what}: {value}"));
    for (word, rule) in words {
        let found = match word.as_str() {
            "description" | "minItems" | "maxItems" | "default" | "examples" | "title"
            | "contentEncoding" => continue,
            "$ref" => {
                let pointer = rule.as_str().unwrap().trim_start_matches('#');
                let target = document.pointer(pointer);
                match target {
                    Some(target) => wrongs(document, target, value, place),
                    None => vec![format!("{place}: there is no {rule}")],
                }
            }
            "type" => match is_of(rule, value) {
                true => continue,
                false => return vec![format!("{place}: it is no {rule}: {value}")],
            },
            "enum" => match rule.as_array().unwrap().contains(value) {
                true => continue,
                false => vec![format!("{place}: it is none of {rule}: {value}")],
            },
            "oneOf" | "anyOf" => {
                let fits = |one: &&Value| wrongs(document, one, value, place).is_empty();
                let count = rule.as_array().unwrap().iter().filter(fits).count();
                let is_right = if word == "oneOf" { count == 1 } else { count > 0 };
                if is_right { continue } else { vec![format!("{place}: {count} fit: {value}")] }
            }
            "allOf" => {
                let all = rule.as_array().unwrap().iter();
                all.flat_map(|one| wrongs(document, one, value, place)).collect()
            }
            "items" => {
                let items = value.as_array().into_iter().flatten().enumerate();
                items
                    .flat_map(|(n, item)| wrongs(document, rule, item, &format!("{place}/{n}")))
                    .collect()
            }
            "properties" => {
                let fields = rule.as_object().unwrap().iter();
                let there = fields.filter_map(|(name, rule)| Some((name, rule, value.get(name)?)));
                there
                    .flat_map(|(name, rule, field)| {
                        wrongs(document, rule, field, &format!("{place}/{name}"))
                    })
                    .collect()
            }
            "required" => {
                let names = rule.as_array().unwrap().iter().map(|name| name.as_str().unwrap());
                let missing = names.filter(|name| value.is_object() && value.get(name).is_none());
                missing.map(|name| format!("{place}: {name} is missing: {value}")).collect()
            }
            "additionalProperties" => {
                let known = schema["properties"].as_object();
                let is_known =
                    |name: &&String| known.is_some_and(|known| known.contains_key(*name));
                let fields = value.as_object().into_iter().flatten().map(|(name, _)| name);
                let others: Vec<&String> = fields.filter(|name| !is_known(name)).collect();
                match rule == false && !others.is_empty() {
                    true => vec![format!("{place}: {others:?} are not known")],
                    false => continue,
                }
            }
            "minimum" => match value.as_f64().is_none_or(|number| number >= rule.as_f64().unwrap())
            {
                true => continue,
                false => vec![format!("{place}: it is below {rule}: {value}")],
            },
            "format" => match value.as_str().is_none_or(|text| has_format(rule, text)) {
                true => continue,
                false => vec![format!("{place}: it is no {rule}: {value}")],
            },
            other => vec![format!("{place}: the schema has the word {other}")],
        };
        found.into_iter().for_each(&mut say);
    }
    wrong
}

fn is_of(rule: &Value, value: &Value) -> bool {
    match rule {
        Value::Array(rules) => rules.iter().any(|rule| is_of(rule, value)),
        rule => match rule.as_str().unwrap() {
            "null" => value.is_null(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            "string" => value.is_string(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            other => panic!("no type {other}"),
        },
    }
}

fn has_format(rule: &Value, text: &str) -> bool {
    match rule.as_str().unwrap() {
        "date-time" => {
            let bytes = text.as_bytes();
            let is_dated = bytes.len() >= 20 && bytes[10] == b'T' && bytes[4] == b'-';
            let offset = text.get(text.len().saturating_sub(6)..).unwrap_or_default();
            is_dated
                && (text.ends_with('Z') || offset.starts_with(['+', '-']) && offset.contains(':'))
        }
        "duration" => text.starts_with('P') || text.starts_with("-P"),
        "uuid" => text.len() == 36 && text.bytes().filter(|byte| *byte == b'-').count() == 4,
        _ => true,
    }
}
