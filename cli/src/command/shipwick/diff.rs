//! How a configuration that runs differs from the desired one, for people.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::ROUTES;

/// The marker of the last route, which is another one whenever anything is.
const MARKER: &str = "@id";

/// What is said of a configuration.
#[derive(Debug, Default)]
struct Facts {
    /// Of each of its parts, by its place.
    parts: BTreeMap<String, String>,
    /// The places of the routes, in their order.
    order: Vec<String>,
}

/// A line for each part that is otherwise, `-` before what runs and `+` before what is desired; nothing if all is the
/// same.
pub(super) fn lines(running: &Value, wanted: &Value) -> String {
    let (running, wanted) = (facts(running), facts(wanted));
    let mut text = String::new();
    let mut say = |sign, (place, fact): (&String, &String)| text.push_str(&format!("{sign} {place}{fact}\n"));
    let places: BTreeSet<&String> = running.parts.keys().chain(wanted.parts.keys()).collect();
    for place in places {
        let (before, after) = (running.parts.get(place), wanted.parts.get(place));
        if before != after {
            before.into_iter().for_each(|fact| say('-', (place, fact)));
            after.into_iter().for_each(|fact| say('+', (place, fact)));
        }
    }
    // The first that matches answers. Where a route is missing, the lines say so.
    let mut pairs = running.order.iter().zip(&wanted.order).enumerate();
    if text.is_empty()
        && let Some((at, (before, after))) = pairs.find(|(_, (before, after))| before != after)
    {
        let number = at.saturating_add(1);
        text = format!("- route {number} is {before}\n+ route {number} is {after}\n");
    }
    text
}

fn facts(config: &Value) -> Facts {
    let mut facts = Facts::default();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut rest = config.clone();
    let routes = rest.pointer_mut(ROUTES).map(Value::take);
    for route in routes.as_ref().and_then(Value::as_array).into_iter().flatten() {
        let (mut place, fact) = describe(route);
        let count = counts.entry(place.clone()).or_default();
        *count = count.saturating_add(1);
        // Only one route has a host, unless somebody else has added another.
        if *count > 1 {
            place.push_str(&format!(" ({count})"));
        }
        facts.order.push(place.clone());
        facts.parts.insert(place, fact);
    }
    flatten("", &rest, &mut facts.parts);
    facts
}

/// `web.example.com -> web_1:8080`, and all that it says beside that, so that nothing goes unnoticed.
fn describe(route: &Value) -> (String, String) {
    let mut rest = route.clone();
    let texts = |value: Option<&Value>| -> Vec<String> {
        let all = value.and_then(Value::as_array).into_iter().flatten();
        all.filter_map(|text| text.as_str().map(str::to_owned)).collect()
    };
    let hosts = texts(route.pointer("/match/0/host")).join(",");
    let path = texts(route.pointer("/match/0/path"))
        .into_iter()
        .next()
        .unwrap_or_default();
    let place = if hosts.is_empty() {
        "every other host".to_owned()
    } else {
        format!("{hosts}{path}")
    };
    let handlers = route.get("handle").and_then(Value::as_array).map_or(0, Vec::len);
    let last = format!("/handle/{}", handlers.saturating_sub(1));
    let handler = route.pointer(&last);
    let dials = handler.and_then(|handler| handler.get("upstreams")?.as_array());
    let mut fact = match (dials, handler.and_then(|handler| handler.get("status_code"))) {
        (Some(dials), _) => {
            let dials = dials.iter().filter_map(|upstream| upstream.get("dial")?.as_str());
            dials.collect::<Vec<_>>().join(", ")
        }
        (None, Some(status)) => status.to_string(),
        (None, None) => "something else".to_owned(),
    };
    for known in ["upstreams", "status_code"] {
        if let Some(handler) = rest.pointer_mut(&last).and_then(Value::as_object_mut) {
            handler.remove(known);
        }
    }
    let matched = rest.get("match").and_then(|matches| beside(matches, &path));
    if let Some(route) = rest.as_object_mut() {
        route.remove("match");
        route.extend(matched.map(|matched| ("match".to_owned(), matched)));
        route.remove(MARKER);
    }
    fact.push_str(&format!(" {rest}"));
    (place, format!(" -> {fact}"))
}

/// What is matched beside the hosts and the path with everything below it, which are a route's place.
fn beside(matches: &Value, path: &str) -> Option<Value> {
    let mut rest = matches.clone();
    if let Some(first) = rest.get_mut(0).and_then(Value::as_object_mut) {
        first.remove("host");
        if first.get("path") == Some(&json!([path, format!("{path}/*")])) {
            first.remove("path");
        }
    }
    (rest != json!([{}])).then_some(rest)
}

fn flatten(place: &str, value: &Value, facts: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(object) if !object.is_empty() => {
            for (key, value) in object {
                flatten(&format!("{place}/{key}"), value, facts);
            }
        }
        Value::Null => {}
        other => {
            facts.insert(place.to_owned(), format!(" = {other}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(listen: &str, routes: &Value) -> Value {
        json!({"admin": {"listen": listen}, "apps": {"http": {"servers": {"shipwick": {"routes": routes}}}}})
    }

    fn proxy(host: &str, dial: &str) -> Value {
        json!({"match": [{"host": [host]}], "handle": [{"handler": "reverse_proxy", "upstreams": [{"dial": dial}]}]})
    }

    #[test]
    fn what_differs_is_said_and_nothing_else() {
        let last = |marker: &str| json!({"@id": marker, "handle": [{"handler": "static_response", "status_code": 404}]});
        let running = config(
            "a",
            &json!([proxy("a.com", "a:1"), proxy("b.com", "b:1"), last("x")]),
        );
        let wanted = config(
            "b",
            &json!([proxy("b.com", "b:2"), proxy("c.com", "c:1"), last("y")]),
        );
        let beside = r#"{"handle":[{"handler":"reverse_proxy"}]}"#;
        assert_eq!(
            lines(&running, &wanted),
            format!(
                "- /admin/listen = \"a\"\n+ /admin/listen = \"b\"\n- a.com -> a:1 {beside}\n- b.com -> b:1 {beside}\n\
                 + b.com -> b:2 {beside}\n+ c.com -> c:1 {beside}\n"
            )
        );
        assert_eq!(lines(&running, &running), "");
    }

    #[test]
    fn a_proxy_without_a_configuration_lacks_everything() {
        let wanted = config("a", &json!([proxy("a.com", "a:1")]));
        let said = lines(&Value::Null, &wanted);
        assert!(
            said.lines().all(|line| line.starts_with("+ ")) && said.contains("a.com -> a:1"),
            "{said}"
        );
    }

    #[test]
    fn nothing_that_was_added_by_hand_goes_unnoticed() {
        let routes = || json!([proxy("a.com", "a:1"), proxy("b.com", "b:1")]);
        let wanted = config("a", &routes());
        let mut other = json!([proxy("b.com", "b:1"), proxy("a.com", "a:1")]);
        let said = lines(&config("a", &other), &wanted);
        assert_eq!(said, "- route 1 is b.com\n+ route 1 is a.com\n");
        // The first answers, though the second is the desired one.
        other = routes();
        other.as_array_mut().unwrap().insert(0, proxy("b.com", "x:1"));
        let said = lines(&config("a", &other), &wanted);
        assert!(
            said.contains("- b.com -> x:1") && said.contains("- b.com (2) -> b:1"),
            "{said}"
        );
        for (place, value) in [
            ("/0/match/0/method", json!(["GET"])),
            ("/0/match/0/path", json!(["/x", "/y"])),
            ("/0/match/1", json!({"host": ["c.com"]})),
        ] {
            other = routes();
            let (parent, key) = place.rsplit_once('/').unwrap();
            match other.pointer_mut(parent).unwrap() {
                Value::Array(list) => list.push(value),
                object => object[key] = value,
            }
            assert_ne!(lines(&config("a", &other), &wanted), "", "{place}");
        }
        let mut logging = wanted.clone();
        logging["apps"]["http"]["servers"]["shipwick"]["logs"] = json!({});
        assert_eq!(
            lines(&logging, &wanted),
            "- /apps/http/servers/shipwick/logs = {}\n"
        );
    }

    #[test]
    fn a_path_is_part_of_the_place() {
        let mut route = proxy("a.com", "a:1");
        route["match"][0]["path"] = json!(["/api", "/api/*"]);
        let said = lines(&Value::Null, &config("a", &json!([route])));
        assert!(
            said.contains("+ a.com/api -> a:1 {\"handle\":[{\"handler\":\"reverse_proxy\"}]}\n"),
            "{said}"
        );
    }

    #[test]
    fn a_setting_by_hand_is_noticed() {
        let (running, mut wanted) = (
            config("a", &json!([proxy("a.com", "a:1")])),
            config("a", &json!([proxy("a.com", "a:1")])),
        );
        wanted.pointer_mut(ROUTES).unwrap()[0]["handle"][0]["flush_interval"] = json!(-1);
        assert_eq!(lines(&running, &wanted).lines().count(), 2);
    }
}
