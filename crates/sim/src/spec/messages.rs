//! Serde's error messages in a user's words: `must be a number, got "nan"` for
//! ``invalid type: string "nan", expected f64``.

/// The same message for a person who knows TOML and no Rust; one that is in such words already stays as it is.
pub(super) fn in_words(message: &str) -> String {
    let unexpected = ["invalid type: ", "invalid value: ", "invalid length "]
        .iter()
        .find_map(|start| message.strip_prefix(start)?.split_once(", expected "));
    if let Some((got, allowed)) = unexpected {
        return format!("must be {}, got {}", allowed_in_words(allowed), given_in_words(got));
    }
    if let Some((name, names)) = unknown_name(message, "unknown field ") {
        return unknown_key(name, &names);
    }
    if let Some((name, names)) = unknown_name(message, "unknown variant ") {
        return unknown_choice(name, &names);
    }
    match message.strip_prefix("missing field ") {
        Some(name) => format!("must have {name}, which is missing"),
        None => message.to_owned(),
    }
}

/// That a table has no such key; where it stands is said by the path.
pub(super) fn unknown_key(name: &str, known: &[&str]) -> String {
    format!("unknown key{}; allowed are {}", did_you_mean(name, known), known.join(", "))
}

/// That there is no such choice.
pub(super) fn unknown_choice(name: &str, known: &[&str]) -> String {
    format!("unknown `{name}`{}: choose {}", did_you_mean(name, known), known.join(", "))
}

fn did_you_mean(name: &str, known: &[&str]) -> String {
    nearest(name, known).map_or(String::new(), |near| format!(" (did you mean `{near}`?)"))
}

/// The known name that differs from this one in the fewest letters, and in no more than one of three.
fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let most = name.chars().count().max(3) / 3;
    let near =
        known.iter().map(|other| (distance(name, other), *other)).min_by_key(|&(distance, _)| distance);
    near.filter(|&(distance, _)| distance <= most).map(|(_, other)| other)
}

/// Letters to insert, remove or replace until one text is the other (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, other) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// The name of ``unknown field `x`, expected one of `a`, `b` ``, and those that there are.
fn unknown_name<'a>(message: &'a str, start: &str) -> Option<(&'a str, Vec<&'a str>)> {
    let mut quoted = message.strip_prefix(start)?.split('`').skip(1).step_by(2);
    Some((quoted.next()?, quoted.collect()))
}

/// Returns the given value in words. Serde quotes numbers in backticks and names the kind before.
fn given_in_words(got: &str) -> String {
    match got {
        "null" | "unit value" => "nothing".into(),
        "sequence" => "a list".into(),
        "map" => "a table".into(),
        _ => match got.split_once('`') {
            Some((_, number)) => number.trim_end_matches('`').into(),
            None => got.strip_prefix("string ").unwrap_or(got).into(),
        },
    }
}

/// Returns the accepted values of a Rust type in words.
fn allowed_in_words(allowed: &str) -> String {
    let whole = |least: u8, most: u64| format!("a whole number from {least} to {most}");
    match allowed {
        "f64" | "f32" => "a number".into(),
        "u8" => whole(0, u8::MAX.into()),
        "u16" => whole(0, u16::MAX.into()),
        "u32" => whole(0, u32::MAX.into()),
        "u64" | "usize" => whole(0, u64::MAX),
        "a nonzero u32" => whole(1, u32::MAX.into()),
        "i32" | "i64" => "a whole number".into(),
        "a boolean" => "true or false".into(),
        "a string" => "a text".into(),
        "a sequence" => "a list".into(),
        "a map" => "a table".into(),
        "string or map" => "a name or a table".into(),
        "map with a single key" | "fewer elements in map" => "a table of exactly one entry".into(),
        "unit" | "unit variant" => "a name".into(),
        _ if allowed.starts_with("struct ") => "a table".into(),
        _ => match allowed.strip_prefix("an array of length ") {
            Some(length) => format!("a list of {length} values"),
            None => allowed.into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::{Value, from_value, json};

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "it is never read well")]
    struct Table {
        gain: f64,
    }

    fn told<T: std::fmt::Debug + for<'a> Deserialize<'a>>(given: Value) -> String {
        in_words(&from_value::<T>(given).unwrap_err().to_string())
    }

    #[test]
    fn what_serde_says_of_each_kind_of_mistake_has_no_word_of_rust() {
        assert_eq!(told::<f64>(json!("nan")), r#"must be a number, got "nan""#);
        assert_eq!(told::<f64>(json!(null)), "must be a number, got nothing");
        assert_eq!(told::<u32>(json!(1.5)), "must be a whole number from 0 to 4294967295, got 1.5");
        assert_eq!(told::<u32>(json!(-1)), "must be a whole number from 0 to 4294967295, got -1");
        assert_eq!(told::<u8>(json!(256)), "must be a whole number from 0 to 255, got 256");
        assert_eq!(
            told::<u64>(json!([])),
            "must be a whole number from 0 to 18446744073709551615, got a list"
        );
        assert_eq!(told::<bool>(json!("yes")), r#"must be true or false, got "yes""#);
        assert_eq!(told::<String>(json!({"a": 1})), "must be a text, got a table");
        assert_eq!(told::<Vec<u8>>(json!(true)), "must be a list, got true");
        assert_eq!(told::<Table>(json!(5)), "must be a table, got 5");
        assert_eq!(told::<Table>(json!({})), "must have `gain`, which is missing");
        assert_eq!(told::<[u32; 2]>(json!([1])), "must be a list of 2 values, got 1");
    }

    #[test]
    fn an_unknown_name_is_told_with_the_nearest_one_if_that_is_near() {
        let near = "unknown key (did you mean `gain`?); allowed are gain";
        assert_eq!(told::<Table>(json!({"gian": 1.0})), "unknown key; allowed are gain");
        assert_eq!(told::<Table>(json!({"gai": 1.0})), near);
        assert_eq!(told::<Table>(json!({"gains": 1.0})), near);
        assert_eq!(
            unknown_choice("lienar", &["linear", "cubic"]),
            "unknown `lienar` (did you mean `linear`?): choose linear, cubic"
        );
        assert_eq!(unknown_choice("x", &["linear"]), "unknown `x`: choose linear");
    }

    #[test]
    fn what_is_in_a_users_words_stays() {
        let message = r#""5": write a unit, such as "5 ms""#;
        assert_eq!(in_words(message), message);
    }
}
