//! Tests of annotations.

use super::*;

fn read(pairs: &[(&str, &str)]) -> Result<Annotations, Vec<String>> {
    let given = pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    Annotations::read(&given, true).map_err(|errors| errors.iter().map(ToString::to_string).collect())
}

#[test]
fn annotations_of_others_are_left_alone() {
    let read = read(&[
        ("kubernetes.io/ingress.class", "x"),
        ("nginx.ingress.kubernetes.io/doors", "y"),
    ]);
    assert_eq!(read, Ok(Annotations::default()));
}

#[test]
fn an_unknown_annotation_of_ours_is_an_error_with_a_suggestion() {
    assert_eq!(
        read(&[("doorway.dev/basic-auth-secert", "a")]),
        Err(vec![
            "there is no annotation `doorway.dev/basic-auth-secert`; did you mean `doorway.dev/basic-auth-secret`?"
                .to_owned()
        ])
    );
    let far = read(&[("doorway.dev/quite-another-thing", "a")]).unwrap_err();
    assert!(far.concat().contains("there are basic-auth-secret, "), "{far:?}");
}

#[test]
fn every_wrong_value_is_reported_without_being_shown() {
    let errors = read(&[
        ("doorway.dev/redirect", "hidden"),
        ("doorway.dev/load-balancing", "hid den"),
        ("doorway.dev/handlers", "{}"),
        ("doorway.dev/request-headers", r#"{"hidden":1}"#),
        ("doorway.dev/response-headers", "["),
        ("doorway.dev/basic-auth-secret", ""),
        ("doorway.dev/doors-secret", "a"),
        ("doorway.dev/doors-cidrs", "10.0.0.0/33"),
    ])
    .unwrap_err();
    assert_eq!(errors.len(), 7, "{errors:#?}");
    assert!(!errors.concat().contains("hid"));
}

#[test]
fn handlers_are_refused_unless_they_are_allowed() {
    let given = [(
        "doorway.dev/handlers".to_owned(),
        r#"[{"handler":"rewrite"}]"#.to_owned(),
    )];
    let given = given.into_iter().collect();
    assert_eq!(
        Annotations::read(&given, false),
        Err(vec![AnnotationError::Handlers])
    );
    assert_eq!(Annotations::read(&given, true).unwrap().handlers.len(), 1);
}

#[test]
fn fields_cannot_show_what_only_the_proxy_may_read() {
    for value in ["{env.TOKEN}", "a{file./etc/passwd}", "{system.hostname}"] {
        let json = serde_json::json!({ "set": { "X": value } });
        let given = [("doorway.dev/response-headers".to_owned(), json.to_string())];
        let given = given.into_iter().collect();
        let name = RESPONSE_HEADERS;
        assert_eq!(
            Annotations::read(&given, false),
            Err(vec![AnnotationError::Placeholder { name }])
        );
    }
}

#[test]
fn networks_belong_to_a_service_or_to_all() {
    let doors = read(&[
        ("doorway.dev/doors-secret", "key"),
        ("doorway.dev/doors-cidrs", "a=10.0.0.0/24, fd00::/64"),
        ("doorway.dev/doors-cookie", "server"),
    ])
    .unwrap()
    .doors
    .unwrap();
    assert_eq!(
        doors.cidrs,
        [
            (Some("a".to_owned()), "10.0.0.0/24".parse().unwrap()),
            (None, "fd00::/64".parse().unwrap())
        ]
    );
    assert_eq!(doors.cookie.as_deref(), Some("server"));
}

#[test]
fn networks_of_the_machine_itself_are_none_of_pods() {
    for network in [
        "127.0.0.0/8",
        "127.0.0.1/32",
        "0.0.0.0/0",
        "169.254.169.254/32",
        "::1/128",
        "::/0",
        "fe80::/64",
        "::ffff:10.0.0.0/104",
    ] {
        let given = [
            ("doorway.dev/doors-secret", "key"),
            ("doorway.dev/doors-cidrs", network),
        ];
        let errors = read(&given).unwrap_err();
        assert!(errors[0].contains("networks of pods"), "{network}: {errors:?}");
    }
}

#[test]
fn what_belongs_to_doors_comes_together() {
    assert_eq!(read(&[("doorway.dev/doors-secret", "a")]).unwrap_err().len(), 1);
    let lost = [
        ("doorway.dev/doors-cookie", "a"),
        ("doorway.dev/doors-cidrs", "10.0.0.0/8"),
    ];
    assert_eq!(read(&lost).unwrap_err().len(), 2);
}
