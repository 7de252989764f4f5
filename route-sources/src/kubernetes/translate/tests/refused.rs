//! What cannot be served as it is asked for is not served in another way.

use super::*;

const HASH: &str = "$2y$14$Zkx19XLiW6VYouLHR5NmfOFU0z2GTNmpkT/5qqR7hx4IjWJPDhjvG";

fn with_auth(world: World) -> World {
    let annotations = json!({ "doorway.dev/basic-auth-secret": "staff" });
    let spec = json!({ "rules": [rule("a.test", &[("Prefix", "/admin", "web")])] });
    world
        .service("web", &["10.0.0.1"])
        .ingress("open", 50, json!({}), one_rule("a.test", "web"))
        .ingress("admin", 10, annotations, spec)
}

#[test]
fn accounts_of_a_secret_keep_strangers_out() {
    let accounts = format!("anna:{HASH}");
    let world = with_auth(world()).secret("staff", &[("auth", &accounts)]);
    let document = document(&world.translate(), "a.test");
    let handlers = &document.paths[0].target.handlers;
    assert_eq!(handlers[0]["handler"], "authentication");
    assert_eq!(addresses(&document.paths[0].target), ["10.0.0.1:8080"]);
}

#[test]
fn accounts_run_before_handlers_of_the_ingress() {
    let accounts = format!("anna:{HASH}");
    let mut world = with_auth(world()).secret("staff", &[("auth", &accounts)]);
    world.settings.allow_handlers = true;
    let ingress = world
        .cluster
        .ingresses
        .get_mut(&Key::new("shop", "admin"))
        .unwrap();
    let annotations = ingress.metadata.annotations.as_mut().unwrap();
    let handlers = r#"[{"handler":"static_response","status_code":200}]"#;
    annotations.insert("doorway.dev/handlers".to_owned(), handlers.to_owned());
    let document = document(&world.translate(), "a.test");
    let names: Vec<_> = document.paths[0]
        .target
        .handlers
        .iter()
        .map(|handler| &handler["handler"])
        .collect();
    assert_eq!(names, ["authentication", "static_response"]);
}

#[test]
fn unreadable_accounts_close_the_paths_and_no_other_ingress_opens_them() {
    for world in [
        with_auth(world()),
        with_auth(world()).secret("staff", &[("auth", "anna:plain")]),
        with_auth(world()).secret("staff", &[("other", "")]),
    ] {
        let translation = world.translate();
        let document = document(&translation, "a.test");
        assert_eq!(document.paths[0].patterns, ["/admin", "/admin/*"]);
        assert!(is_closed(&document.paths[0].target));
        assert_eq!(
            addresses(&document.target),
            ["10.0.0.1:8080"],
            "the other Ingress is served on"
        );
        let reasons = reasons(&translation);
        assert!(
            reasons[0].contains("shop/admin") && reasons[0].contains("503"),
            "{reasons:?}"
        );
        assert!(!reasons.concat().contains("plain"));
    }
}

#[test]
fn a_misspelt_annotation_closes_its_ingress() {
    let annotations = json!({ "doorway.dev/basic-auth-secrets": "staff" });
    let world = world()
        .service("web", &["10.0.0.1"])
        .ingress("a", 1, annotations, one_rule("a.test", "web"));
    let translation = world.translate();
    assert!(is_closed(&document(&translation, "a.test").target));
    assert!(reasons(&translation)[0].contains("did you mean `doorway.dev/basic-auth-secret`?"));
}

#[test]
fn a_path_that_cannot_be_read_stays_closed_below_its_literal_part() {
    let annotations = json!({ "doorway.dev/basic-auth-secret": "staff" });
    let spec = json!({ "rules": [rule("a.test", &[("Prefix", "/admin/*", "web")])] });
    let world = with_auth(world()).ingress("admin", 10, annotations, spec);
    let translation = world.translate();
    let document = document(&translation, "a.test");
    assert_eq!(document.paths[0].patterns, ["/admin", "/admin/*"]);
    assert!(is_closed(&document.paths[0].target));
}

#[test]
fn hosts_that_are_none_are_reported_and_the_others_are_served() {
    let rules = json!({ "rules": [
        rule("a b", &[("Prefix", "/", "web")]),
        rule("good.test", &[("Prefix", "/", "web")]),
        { "host": "empty.test" },
    ] });
    let world = world()
        .service("web", &["10.0.0.1"])
        .ingress("a", 1, json!({}), rules);
    let translation = world.translate();
    assert_eq!(translation.routes.len(), 1);
    let reasons = reasons(&translation);
    assert!(reasons[0].starts_with("a b ingress shop/a"), "{reasons:?}");
    assert!(
        reasons[1].starts_with("empty.test ingress shop/a the rule has no paths"),
        "{reasons:?}"
    );
}

#[test]
fn an_ingress_with_nothing_in_it_is_reported() {
    let world = world().ingress("a", 1, json!({}), json!({}));
    assert!(reasons(&world.translate())[0].contains("neither rules nor a default backend"));
}
