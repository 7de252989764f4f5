//! What the Ingresses of one namespace can do to a host of another.

use super::*;
use crate::kubernetes::settings::Check;

/// Takes an Ingress into another namespace.
fn elsewhere(mut world: World, name: &str) -> World {
    let mut ingress = world.cluster.ingresses.remove(&Key::new("shop", name)).unwrap();
    ingress.metadata.namespace = Some("other".to_owned());
    world.cluster.ingresses.insert(key(&ingress.metadata), ingress);
    world
}

fn home() -> World {
    world()
        .service("web", &["10.0.0.1"])
        .ingress("home", 3000, json!({}), one_rule("a.test", "web"))
}

fn many(start: usize, count: usize) -> Value {
    let paths: Vec<String> = (start..start + count)
        .map(|number| format!("/{number}"))
        .collect();
    let paths: Vec<_> = paths.iter().map(|path| ("Exact", path.as_str(), "web")).collect();
    json!({ "rules": [rule("a.test", &paths)] })
}

#[test]
fn claiming_more_than_fits_takes_no_host_from_its_owner() {
    let mut world = home();
    for (number, name) in ["x", "y", "z"].into_iter().enumerate() {
        world = world.ingress(name, 100 - number as u64, json!({}), many(number * 400, 400));
        world = elsewhere(world, name);
    }
    let translation = world.translate();
    let document = document(&translation, "a.test");
    assert_eq!(addresses(&document.target), ["10.0.0.1:8080"]);
    assert_eq!(document.paths.len(), 800, "the older two fit");
    let reasons = reasons(&translation);
    let told: Vec<_> = reasons
        .iter()
        .filter(|reason| reason.contains("older Ingresses"))
        .collect();
    assert!(told.len() == 1 && told[0].contains("other/z"), "{told:?}");
}

#[test]
fn too_much_of_one_namespace_stays_closed_rather_than_open_in_part() {
    let world = home()
        .ingress("x", 100, json!({}), many(0, 600))
        .ingress("y", 99, json!({}), many(600, 600));
    let translation = world.translate();
    assert!(matches!(translation.routes[0], Route::Held(_)));
}

#[test]
fn letters_that_grow_when_they_get_small_leave_no_path_without_patterns() {
    let paths = [("Exact", "/\u{130}", "web"), ("Prefix", "/i\u{307}", "web")];
    let spec = json!({ "rules": [rule("a.test", &paths)] });
    let world = elsewhere(home().ingress("x", 1, json!({}), spec), "x");
    let document = document(&world.translate(), "a.test");
    assert_eq!(addresses(&document.target), ["10.0.0.1:8080"]);
}

#[test]
fn what_the_proxy_cannot_serve_closes_the_ingress_of_the_stranger_alone() {
    let annotations = json!({ "doorway.dev/response-headers": r#"{"set":{"X":"{http.request.body}"}}"# });
    let spec = json!({ "rules": [rule("a.test", &[("Prefix", "/x", "web")])] });
    let mut world = elsewhere(home().ingress("x", 1, annotations, spec), "x");
    world.settings.check = Check::new(|document| {
        let text = document.to_json();
        if text.contains("http.request.body") {
            Err("no such placeholder".to_owned())
        } else {
            Ok(())
        }
    });
    let translation = world.translate();
    let document = document(&translation, "a.test");
    assert_eq!(addresses(&document.target), ["10.0.0.1:8080"]);
    assert_eq!(document.paths.len(), 1);
    assert!(is_closed(&document.paths[0].target) && document.paths[0].headers.is_none());
    let reasons = reasons(&translation).concat();
    assert!(
        reasons.contains("other/x") && reasons.contains("no such placeholder"),
        "{reasons}"
    );
}

#[test]
fn a_stranger_gives_a_host_no_certificate_and_no_redirect() {
    let annotations = json!({ "doorway.dev/redirect": "false" });
    let mut spec = json!({ "rules": [rule("a.test", &[("Prefix", "/x", "web")])] });
    spec["tls"] = json!([{ "hosts": ["a.test"], "secretName": "own" }]);
    let mut world = elsewhere(home().ingress("x", 1, annotations, spec.clone()), "x");
    world = world.certificate("own", true, None);
    let files = world.certificates.get(&Key::new("shop", "own")).unwrap().clone();
    world.certificates.insert(Key::new("other", "own"), files);
    let translation = world.translate();
    let raw = document(&translation, "a.test");
    assert!(raw.tls.is_none() && !is_closed(&raw.target));
    assert!(
        is_closed(&raw.paths[0].target),
        "it is not served without what it wants"
    );
    let told = reasons(&translation).concat();
    assert!(told.contains("oldest Ingress can give it one"), "{told}");
    // The namespace of the host can, and the stranger is served over it.
    let world = world.ingress("y", 2, json!({}), spec);
    let raw = document(&world.translate(), "a.test");
    assert_eq!(raw.tls.unwrap().redirect, None);
}
