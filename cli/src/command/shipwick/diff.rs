//! How a configuration that runs differs from the desired one, for people.

use std::collections::BTreeMap;

use serde_json::Value;

use super::ROUTES;

/// The marker of the last route, which is another one whenever anything is.
const MARKER: &str = "@id";

/// What is said of a part of a configuration, by its place.
type Facts = BTreeMap<String, String>;

/// A line for each part that is otherwise, `-` before what runs and `+` before what is desired; nothing if all is the
/// same.
pub(super) fn lines(running: &Value, wanted: &Value) -> String {
    let (running, wanted) = (facts(running), facts(wanted));
    let mut text = String::new();
    let mut say = |sign, (place, fact): (&String, &String)| text.push_str(&format!("{sign} {place}{fact}\n"));
    let places: std::collections::BTreeSet<&String> = running.keys().chain(wanted.keys()).collect();
    for place in places {
        let (before, after) = (running.get(place), wanted.get(place));
        if before != after {
            before.into_iter().for_each(|fact| say('-', (place, fact)));
            after.into_iter().for_each(|fact| say('+', (place, fact)));
        }
    }
    text
}

fn facts(config: &Value) -> Facts {
    let mut facts = Facts::new();
    let mut rest = config.clone();
    let routes = rest.pointer_mut(ROUTES).map(Value::take);
    for route in routes.as_ref().and_then(Value::as_array).into_iter().flatten() {
        let (place, fact) = describe(route);
        facts.insert(place, fact);
    }
    flatten("", &rest, &mut facts);
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
    if let Some(route) = rest.as_object_mut() {
        route.remove("match");
        route.remove(MARKER);
    }
    fact.push_str(&format!(" {rest}"));
    (place, format!(" -> {fact}"))
}

fn flatten(place: &str, value: &Value, facts: &mut Facts) {
    match value {
        Value::Object(object) => {
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
    use serde_json::json;

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
    fn a_setting_by_hand_is_noticed() {
        let (running, mut wanted) = (
            config("a", &json!([proxy("a.com", "a:1")])),
            config("a", &json!([proxy("a.com", "a:1")])),
        );
        wanted.pointer_mut(ROUTES).unwrap()[0]["handle"][0]["flush_interval"] = json!(-1);
        assert_eq!(lines(&running, &wanted).lines().count(), 2);
    }
}
