//! Which paths a pattern matches, which of several patterns is asked first, and what wildcards stand for.

use eskip::routing::{PathPattern, PathTree, PatternError};
use proptest::prelude::*;

/// One row of the table: a predicate, a path, and what the wildcards are, if it matches, without and with slashes at the
/// end being ignored.
type Row = (
    &'static str,
    &'static str,
    Option<&'static str>,
    Option<&'static str>,
);

const ROWS: &[Row] = &[
    ("Path /", "/", Some(""), Some("")),
    ("Path ", "", Some(""), Some("")),
    ("Path /foo", "/foo", Some(""), Some("")),
    ("Path /foo", "/foo/", None, Some("")),
    ("Path /foo/", "/foo", None, Some("")),
    ("Path /foo/", "/foo/", Some(""), Some("")),
    ("Path /foo", "/Foo", None, None),
    ("Path /foo", "/foobar", None, None),
    ("Path /:a", "/", None, None),
    ("Path /:a", "/foo", Some("a=foo"), Some("a=foo")),
    ("Path /:a", "/foo/", None, Some("a=foo")),
    ("Path /:a", "/foo/bar", None, None),
    (
        "Path /:a/bar/:b/",
        "/foo/bar/baz/",
        Some("a=foo b=baz"),
        Some("a=foo b=baz"),
    ),
    ("Path /:a/bar/:b/", "/foo/bar/baz", None, Some("a=foo b=baz")),
    ("Path /*x", "/", None, None),
    ("Path /*x", "", None, None),
    ("Path /*x", "/foo/", Some("x=/foo/"), Some("x=/foo")),
    ("Path /foo/*x", "/foo", None, None),
    ("Path /foo/*x", "/foo/", None, None),
    (
        "Path /foo/*x",
        "/foo/bar/baz",
        Some("x=/bar/baz"),
        Some("x=/bar/baz"),
    ),
    ("Subtree /", "/", Some("*=/"), Some("*=/")),
    ("Subtree ", "/", Some("*=/"), Some("*=/")),
    ("Subtree /", "/foo/bar", Some("*=/foo/bar"), Some("*=/foo/bar")),
    ("Subtree /foo", "/foo", Some("*=/"), Some("*=/")),
    ("Subtree /foo", "/foo/", Some("*=/"), Some("*=/")),
    ("Subtree /foo/", "/foo", Some("*=/"), Some("*=/")),
    ("Subtree /foo/", "/foo/", Some("*=/"), Some("*=/")),
    ("Subtree /foo", "/foobar", None, None),
    ("Subtree /foo", "/", None, None),
    ("Subtree /foo", "/foo/bar/", Some("*=/bar/"), Some("*=/bar")),
    ("Subtree /foo/**", "/foo/bar", Some("*=/bar"), Some("*=/bar")),
    ("Subtree /foo/**", "/foo", Some("*=/"), Some("*=/")),
    ("Subtree /foo/*rest", "/foo", Some("rest=/"), Some("rest=/")),
    (
        "Subtree /foo/*rest",
        "/foo/a/b",
        Some("rest=/a/b"),
        Some("rest=/a/b"),
    ),
    (
        "Subtree /:a/bar",
        "/foo/bar/baz",
        Some("a=foo *=/baz"),
        Some("a=foo *=/baz"),
    ),
    (
        "Subtree /:a/bar",
        "/foo/bar",
        Some("a=foo *=/"),
        Some("a=foo *=/"),
    ),
    // Segments are decoded one by one, once.
    ("Path /foo%2Fbar", "/foo/bar", None, None),
    ("Path /foo%2Fbar", "/foo%2fbar", Some(""), Some("")),
    ("Path /a/b", "/a%2Fb", None, None),
    ("Path /:a", "/a%2Fb", Some("a=a/b"), Some("a=a/b")),
    ("Path /~me", "/%7Eme", Some(""), Some("")),
    ("Path /%41", "/A", Some(""), Some("")),
    ("Path /100%", "/100%25", Some(""), Some("")),
    ("Path /%3Aa", "/:a", Some(""), Some("")),
    ("Path /%3Aa", "/b", None, None),
    ("Path /é", "/%C3%A9", Some(""), Some("")),
    ("Path /:a", "/%00", Some("a=\0"), Some("a=\0")),
    (
        "Path /return/:echo",
        "/return/Hello,+world!",
        Some("echo=Hello, world!"),
        Some("echo=Hello, world!"),
    ),
    // Two slashes are an empty segment.
    ("Path /a/b", "/a//b", None, None),
    ("Path /:a/b", "//b", None, None),
    ("Path /*x", "//", Some("x=//"), None),
    ("Path /*x", "*", None, None),
];

fn pattern(text: &str) -> Result<PathPattern, PatternError> {
    match text.split_once(' ').unwrap() {
        ("Path", text) => PathPattern::path(text),
        (_, text) => PathPattern::subtree(text),
    }
}

fn patterns(texts: &[&str]) -> Vec<PathPattern> {
    texts.iter().map(|text| pattern(text).unwrap()).collect()
}

/// Those that are asked, in their order.
fn asked(tree: &PathTree, path: &str) -> Vec<u32> {
    let mut all = Vec::new();
    let found = tree.find(path, |numbers| {
        all.extend_from_slice(numbers);
        None::<()>
    });
    assert_eq!(found, None);
    all
}

#[test]
fn each_pattern_matches_its_paths() {
    for (text, path, strict, lenient) in ROWS {
        for (ignores, expected) in [(false, strict), (true, lenient)] {
            let pattern = pattern(text).unwrap();
            let tree = PathTree::new([&pattern], ignores);
            let matches = !asked(&tree, path).is_empty();
            let params = pattern.params(tree.compared(path));
            let shown: Vec<String> = params.map(|(name, value)| format!("{name}={value}")).collect();
            let found = matches.then(|| shown.join(" "));
            assert_eq!(
                found.as_deref(),
                *expected,
                "{text} of {path}, ignoring: {ignores}"
            );
        }
    }
}

#[test]
fn what_is_no_pattern_says_why() {
    for (text, error) in [
        ("Path /foo*n", PatternError::WithinSegment),
        ("Path /foo:n", PatternError::WithinSegment),
        ("Path /:a:b", PatternError::WithinSegment),
        ("Path /:a*", PatternError::WithinSegment),
        ("Path :n", PatternError::NoSlash),
        ("Path *", PatternError::NoSlash),
        ("Path foo", PatternError::NoSlash),
        ("Path /*x/", PatternError::NotLast),
        ("Path /*x/bar", PatternError::NotLast),
        ("Subtree /*x/bar", PatternError::NotLast),
        ("Path /foo/*", PatternError::Nameless),
        ("Path /:/foo", PatternError::Nameless),
        ("Subtree foo", PatternError::NoSlash),
    ] {
        assert_eq!(pattern(text), Err(error), "{text}");
    }
    let long = "/a".repeat(257);
    assert_eq!(PathPattern::path(&long), Err(PatternError::TooLong));
    assert!(PathPattern::path(long.strip_prefix("/a").unwrap()).is_ok());
}

#[test]
fn the_most_specific_comes_first_segment_by_segment() {
    let texts = [
        "Path /*all",
        "Path /:z/bar",
        "Path /foo/*y",
        "Path /foo/:x",
        "Path /foo/bar",
    ];
    let patterns = patterns(&texts);
    assert_eq!(
        asked(&PathTree::new(&patterns, false), "/foo/bar"),
        [4, 3, 2, 1, 0]
    );
    assert_eq!(asked(&PathTree::new(&patterns, false), "/foo/qux"), [3, 2, 0]);
    assert_eq!(asked(&PathTree::new(&patterns, false), "/x/bar"), [1, 0]);
}

#[test]
fn a_path_and_a_subtree_at_one_place_are_asked_together() {
    let patterns = patterns(&["Subtree /x", "Path /x", "Subtree /x", "Path /x/", "Path /x/*y"]);
    let tree = PathTree::new(&patterns, false);
    assert_eq!(asked(&tree, "/x"), [0, 1, 2]);
    assert_eq!(asked(&tree, "/x/"), [0, 2, 3]);
    assert_eq!(asked(&tree, "/x/z"), [0, 2, 4]);
}

#[test]
fn wildcards_at_one_place_have_their_own_names() {
    let patterns = patterns(&["Path /a/:x", "Path /a/:y/b"]);
    let tree = PathTree::new(&patterns, false);
    assert_eq!(asked(&tree, "/a/1"), [0]);
    assert_eq!(asked(&tree, "/a/1/b"), [1]);
    let names = |number: usize, path| {
        patterns[number]
            .params(path)
            .map(|(name, _)| name)
            .collect::<Vec<_>>()
    };
    assert_eq!((names(0, "/a/1"), names(1, "/a/1/b")), (vec!["x"], vec!["y"]));
}

#[test]
fn a_choice_ends_the_search() {
    let patterns = patterns(&["Path /*all", "Path /a", "Path /:x"]);
    let tree = PathTree::new(&patterns, false);
    let first = tree.find("/a", |numbers| numbers.first().copied());
    assert_eq!(first, Some(1));
    let other = tree.find("/a", |numbers| {
        numbers.iter().copied().find(|number| *number != 1)
    });
    assert_eq!(other, Some(2));
    assert_eq!(PathTree::default().find("/", |_| Some(())), None);
    assert_eq!(PathTree::new([], false).find("/", |_| Some(())), None);
}

/// What the tree does, one pattern at a time: how specific a match is, segment by segment.
fn matched(text: &str, path: &str) -> Option<Vec<u8>> {
    let (kind, text) = text.split_once(' ').unwrap();
    let wanted: Vec<&str> = text
        .trim_start_matches('/')
        .split('/')
        .filter(|part| !part.is_empty())
        .collect();
    let given: Vec<&str> = path.split('/').skip(1).collect();
    let mut rank = Vec::new();
    for (at, part) in wanted.iter().enumerate() {
        if part.starts_with('*') {
            return (!given[at.min(given.len())..].join("/").is_empty() && at < given.len())
                .then(|| [rank, vec![2]].concat());
        }
        let segment = given.get(at)?;
        match part.strip_prefix(':') {
            Some(_) if segment.is_empty() => return None,
            Some(_) => rank.push(1),
            None if part != segment => return None,
            None => rank.push(0),
        }
    }
    let left = &given[wanted.len()..];
    match (kind, left) {
        ("Path", []) => Some(rank),
        ("Subtree", [] | [""]) => Some([rank, vec![0; left.len()]].concat()),
        ("Subtree", _) => Some([rank, vec![2]].concat()),
        _ => None,
    }
}

proptest! {
    #[test]
    fn the_tree_finds_what_each_pattern_matches(
        texts in prop::collection::vec("(Path|Subtree) (/(a|b|ab|:x)){1,4}(/\\*y)?", 0..30),
        path in "(/(a|b|ab|c|)){1,5}",
    ) {
        let texts: Vec<&str> = texts.iter().map(String::as_str).filter(|text| !(text.starts_with("Subtree") && text.contains('*'))).collect();
        let tree = PathTree::new(&patterns(&texts), false);
        let mut expected: Vec<(Vec<u8>, u32)> = texts
            .iter()
            .zip(0..)
            .filter_map(|(text, number)| Some((matched(text, &path)?, number)))
            .collect();
        expected.sort();
        let expected: Vec<u32> = expected.into_iter().map(|(_, number)| number).collect();
        prop_assert_eq!(asked(&tree, &path), expected, "{:?} {}", texts, path);
    }

    #[test]
    fn no_path_makes_it_panic(
        texts in prop::collection::vec("\\PC{0,8}", 0..10),
        path in "\\PC{0,20}",
    ) {
        let patterns: Vec<PathPattern> = texts
            .iter()
            .flat_map(|text| [PathPattern::path(text), PathPattern::subtree(text), PathPattern::path(&format!("/{text}"))])
            .flatten()
            .collect();
        for ignores in [false, true] {
            let tree = PathTree::new(&patterns, ignores);
            for number in asked(&tree, &path) {
                let params = patterns[usize::try_from(number).unwrap()].params(tree.compared(&path));
                prop_assert!(params.count() <= 21);
            }
        }
    }
}

#[test]
fn a_look_up_allocates_nothing() {
    let texts = [
        "Path /*all",
        "Path /:z/bar",
        "Path /foo/*y",
        "Path /foo/:x",
        "Path /foo/bar/:a/:b/:c",
    ];
    let patterns = patterns(&texts);
    let tree = PathTree::new(&patterns, false);
    let counted = allocation_counter::measure(|| {
        for path in ["/foo/bar/1/2/3", "/none", "/x/bar", "/foo/bar/1/2/3/4"] {
            std::hint::black_box(
                tree.find(path, |numbers| numbers.iter().copied().find(|number| *number > 9)),
            );
        }
    });
    assert_eq!(counted.count_total, 0);
}
