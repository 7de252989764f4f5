//! What imports bring, and what they refuse.

use std::{cell::RefCell, fmt::Write as _, path::Path};

use crate::{
    caddyfile::{parser::Line, read},
    source::{Report, Sources},
    surroundings::{FileError, Surroundings},
};

/// Files by path, and how often each was read.
#[derive(Default)]
struct Files {
    files: Vec<(&'static str, String)>,
    reads: RefCell<Vec<String>>,
}

impl Files {
    fn new(files: &[(&'static str, &str)]) -> Self {
        Self {
            files: files
                .iter()
                .map(|(path, text)| (*path, (*text).to_owned()))
                .collect(),
            reads: RefCell::default(),
        }
    }
}

impl Surroundings for Files {
    fn variable(&self, name: &str) -> Option<String> {
        (name == "X").then(|| "value".to_owned())
    }

    fn read(&self, path: &Path, limit: usize) -> Result<Vec<u8>, FileError> {
        let path = path.to_str().unwrap();
        self.reads.borrow_mut().push(path.to_owned());
        match self.files.iter().find(|(name, _)| *name == path) {
            Some((_, text)) if text.len() > limit => Err(FileError::TooLong),
            Some((_, text)) => Ok(text
                .replace("<ff>", "\u{0}")
                .into_bytes()
                .iter()
                .map(|b| if *b == 0 { 255 } else { *b })
                .collect()),
            None if path.ends_with("sites") => Err(FileError::Directory),
            None if path.ends_with("locked") => Err(FileError::Other("permission denied".to_owned())),
            None => Err(FileError::NotFound),
        }
    }

    fn list(&self, directory: &Path) -> Result<Vec<String>, FileError> {
        let inside = self.files.iter().filter_map(|(path, _)| {
            let path = Path::new(path);
            (path.parent()? == directory).then(|| path.file_name().unwrap().to_str().unwrap().to_owned())
        });
        Ok(inside.rev().collect())
    }
}

/// The tree as one line, and what was found on the way.
fn outline(text: &str, files: &Files) -> (String, Vec<String>) {
    let mut sources = Sources::new("etc/Caddyfile", text);
    let mut report = Report::default();
    let mut out = String::new();
    for block in read(&mut sources, files, &mut report) {
        let keys: Vec<&str> = block.keys.iter().map(|key| key.text.as_str()).collect();
        out.push_str(&keys.join("|"));
        write_lines(&mut out, &block.lines);
        out.push(';');
    }
    let findings = match report.finish((), &sources) {
        Ok(((), warnings)) => warnings,
        Err(findings) => findings.into_iter().collect(),
    };
    let short = |finding: &crate::Diagnostic| {
        let imports: String = finding
            .imports()
            .iter()
            .map(|place| format!(" < {place}"))
            .collect();
        format!("{}: {}{imports}", finding.place(), finding.message())
    };
    (out, findings.iter().map(short).collect())
}

fn write_lines(out: &mut String, lines: &[Line]) {
    out.push('{');
    for line in lines {
        out.push_str(&line.name.text);
        for arg in &line.args {
            write!(out, " {}", arg.text).unwrap();
        }
        if let Some(block) = &line.block {
            write_lines(out, block);
        }
        out.push(',');
    }
    out.push('}');
}

fn parsed(text: &str, files: &[(&'static str, &str)]) -> String {
    let (out, findings) = outline(text, &Files::new(files));
    assert!(findings.is_empty(), "{text}\n{findings:?}");
    out
}

fn findings(text: &str, files: &[(&'static str, &str)]) -> Vec<String> {
    outline(text, &Files::new(files)).1
}

#[test]
fn a_snippet_stands_wherever_a_line_does() {
    let cases = [
        ("a {\n import s\n}", "a{x,y{z,},};"),
        ("a {\n h {\n  import s\n  i\n }\n}", "a{h{x,y{z,},i,},};"),
        ("a\nimport s\nb", "a{x,y{z,},b,};"),
        ("{\n import s\n}\na {\n}", "{x,y{z,},};a{};"),
        ("&(r) {\n import s\n}", "&(r){x,y{z,},};"),
        ("a {\n \"import\" s\n}", "a{x,y{z,},};"),
        ("a {\n b import s\n}", "a{b import s,};"),
    ];
    for (text, expected) in cases {
        assert_eq!(
            parsed(&format!("(s) {{\n x\n y {{\n  z\n }}\n}}\n{text}"), &[]),
            expected,
            "{text}"
        );
    }
}

#[test]
fn at_the_top_sites_addresses_and_definitions_may_come_from_an_import() {
    let cases = [
        ("(s) {\n a {\n  b\n }\n c {\n }\n}\nimport s", "a{b,};c{};"),
        ("(s) {\n {\n  debug\n }\n}\nimport s\na {\n}", "{debug,};a{};"),
        ("(s) {\n a,\n b\n}\nimport s", "a|b{};"),
        ("(s) {\n b {\n  c\n }\n}\na,\nimport s", "a|b{c,};"),
        (
            "(s) {\n (t) {\n  x {args[0]}\n }\n y {\n  {args[0]}\n }\n}\nimport s 1\na {\n import t 2\n}",
            "y{1,};a{x 2,};",
        ),
        (
            "(s) {\n (t) {\n  {block}\n }\n}\nimport s {\n no\n}\na {\n import t {\n  yes\n }\n}",
            "a{yes,};",
        ),
        ("(s)\n{\n x\n}\na {\n import s\n}", "a{x,};"),
        ("(s) {\n}\na {\n import s\n import s\n}", "a{};"),
    ];
    for (text, expected) in cases {
        assert_eq!(parsed(text, &[]), expected, "{text}");
    }
}

#[test]
fn arguments_are_put_in() {
    let text = "(s) {\n x {args[0]} -{args[1]}- {args[:]} \"{args[1:]}\" z\n {args[0]} {args[1:1]}\n}\na {\n import s 1 \"2 3\"\n}";
    assert_eq!(parsed(text, &[]), "a{x 1 -2 3- 1 2 3 2 3 z,1,};");
    let nested =
        "(t) {\n x {args[0]} {args[1]}\n}\n(s) {\n import t {args[1]} {args[0]}\n}\na {\n import s 1 2\n}";
    assert_eq!(parsed(nested, &[]), "a{x 2 1,};");
    let word = "(t) {\n x\n}\n(s) {\n {args[0]} {args[1]}\n}\na {\n import s import t\n}";
    assert_eq!(parsed(word, &[]), "a{x,};");
}

#[test]
fn an_argument_is_never_a_brace_of_the_structure() {
    let text = "(s) {\n x {args[0]}\n y {args[1]}\n}\na {\n import s \"{\" \"}\"\n}";
    assert_eq!(parsed(text, &[]), "a{x {,y },};");
}

#[test]
fn blocks_are_put_in_line_by_line() {
    let text = "(s) {\n h {\n  {block}\n }\n {blocks.one} i\n {blocks.two}\n {blocks.three}\n}\n";
    let cases = [
        ("import s", "h{},i,"),
        ("import s {\n }", "h{},i,"),
        ("import s { x }", "h{x,},i,"),
        ("import s {\n  x 1\n  y {\n   z\n  }\n }", "h{x 1,y{z,},},i,"),
        (
            "import s {\n  one a b {\n   c\n   d\n  }\n  two {\n   e {\n    f\n   }\n  }\n }",
            "h{one a b{c,d,},two{e{f,},},},a b,c,d,i,e{f,},",
        ),
        ("import s {\n  import s {\n   x\n  }\n }", "h{h{x,},i,},i,"),
    ];
    for (import, expected) in cases {
        assert_eq!(
            parsed(&format!("{text}a {{\n {import}\n}}"), &[]),
            format!("a{{{expected}}};"),
            "{import}"
        );
    }
}

#[test]
fn what_two_imports_bring_never_shares_a_line() {
    let twice = "(t) {\n x\n}\n(s) {\n import t\n}\na {\n import s\n import s\n}";
    assert_eq!(parsed(twice, &[]), "a{x,x,};");
    let block = "(s) {\n {block}\n {block}\n {blocks.x}\n}\na {\n import s {\n  x y\n }\n}";
    assert_eq!(parsed(block, &[]), "a{x y,x y,y,};");
}

#[test]
fn files_are_looked_for_from_the_file_that_imports_them() {
    let files = [
        ("etc/sites/a.conf", "import ../b.conf 1\n"),
        ("etc/b.conf", "x {args[0]} {$X}\nimport /abs/c\n"),
        ("/abs/c", "z"),
    ];
    assert_eq!(parsed("a {\n import sites/a.conf\n}", &files), "a{x 1 value,z,};");
    assert_eq!(
        parsed("a {\n import ./sites/../sites/a.conf\n}", &files),
        "a{x 1 value,z,};"
    );
}

#[test]
fn a_snippet_goes_before_a_file_and_looks_for_files_from_its_own() {
    let files = [
        ("etc/s", "file"),
        ("etc/d/s", "other"),
        ("etc/d/f", "(s) {\n import s\n}\n(t) {\n import x\n}"),
        ("etc/d/x", "deep"),
    ];
    assert_eq!(parsed("a {\n import s\n}", &files), "a{file,};");
    assert_eq!(
        parsed("(s) {\n snippet\n}\na {\n import s\n}", &files),
        "a{snippet,};"
    );
    assert_eq!(parsed("import d/f\na {\n import t\n}", &files), "a{deep,};");
}

#[test]
fn patterns_bring_files_by_name() {
    let files = [
        ("etc/sites/b", "b {\n}"),
        ("etc/sites/a", "a {\n x\n}"),
        ("etc/sites/.hidden", "hidden {\n}"),
    ];
    assert_eq!(parsed("import sites/*", &files), "a{x,};b{};");
    assert_eq!(parsed("import sites/?", &files), "a{x,};b{};");
    assert_eq!(parsed("import sites/.*", &files), "hidden{};");
    assert_eq!(
        findings("import sites/*.conf\na {\n}", &files),
        ["etc/Caddyfile:1:8: no file is like `etc/sites/*.conf`, so nothing is imported"]
    );
}

#[test]
fn a_file_is_read_once_and_what_was_read_is_told() {
    let files = Files::new(&[("etc/a", "x"), ("etc/sites/b", "y")]);
    let text = "h {\n import a\n import a\n import sites/*\n import sites/b\n}";
    let mut sources = Sources::new("etc/Caddyfile", text);
    read(&mut sources, &files, &mut Report::default());
    assert_eq!(files.reads.borrow().as_slice(), ["etc/a", "etc/sites/b"]);
    let paths = |paths: &std::collections::BTreeSet<std::path::PathBuf>| {
        paths
            .iter()
            .map(|path| path.display().to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(paths(&sources.inputs.files), ["etc/a", "etc/sites/b"]);
    assert_eq!(paths(&sources.inputs.directories), ["etc/sites"]);
}

#[test]
fn what_cannot_be_imported_says_why() {
    let files = [
        ("etc/empty", " \n"),
        ("etc/binary", "ok\nno <ff>"),
        ("etc/broken", "x \"y"),
    ];
    let cases = [
        ("import", "1:1: `import` needs the name of a snippet or file"),
        ("import \"\"", "1:1: `import` needs the name of a snippet or file"),
        (
            "import nope x",
            "1:8: there is no snippet `(nope)` above, and no file `etc/nope`",
        ),
        ("import sites", "1:8: `etc/sites` is a directory"),
        (
            "import locked",
            "1:8: `etc/locked` cannot be read: permission denied",
        ),
        ("import a*/*", "1:8: a pattern may have only one `*` and one `?`"),
        ("import ?/?", "1:8: a pattern may have only one `*` and one `?`"),
        (
            "import empty",
            "1:8: the file `etc/empty` is empty, so nothing is imported",
        ),
        ("import nope {\n {\n }\n}", "2:2: a block without a name"),
        ("import nope {\n x\n {\n }\n}", "3:2: a block without a name"),
    ];
    for (text, expected) in cases {
        let found = findings(&format!("{text}\na {{\n}}"), &files);
        assert!(
            found.contains(&format!("etc/Caddyfile:{expected}")),
            "{text}: {found:?}"
        );
    }
    assert_eq!(
        findings("a {\n import binary\n}", &files),
        ["etc/binary:2:4: this is not UTF-8 < etc/Caddyfile:2:9"]
    );
    assert_eq!(
        findings("a {\n import broken\n}", &files),
        ["etc/broken:1:3: this quote is never closed < etc/Caddyfile:2:9"]
    );
    assert_eq!(
        findings("a {\n import s\n}\n(s) {\n}", &[]),
        ["etc/Caddyfile:2:9: there is no snippet `(s)` above, and no file `etc/s`"]
    );
    assert_eq!(
        findings("(s) {\n}\n(s) {\n}", &[]),
        ["etc/Caddyfile:3:1: the snippet `(s)` has a definition already, on line 1"]
    );
}

#[test]
fn an_import_that_leads_back_to_itself_is_refused() {
    let files = [
        ("etc/a", "import b"),
        ("etc/b", "import a"),
        ("etc/main", "import Caddyfile"),
        ("etc/s", "import s"),
    ];
    let cases = [
        (
            "h {\n import a\n}",
            "etc/b:1:8: this import leads back to itself: etc/a -> etc/b -> etc/a < etc/a:1:8 < etc/Caddyfile:2:9",
        ),
        (
            "h {\n import Caddyfile\n}",
            "etc/Caddyfile:2:9: this import leads back to itself: etc/Caddyfile -> etc/Caddyfile",
        ),
        (
            "h {\n import main\n}",
            "etc/main:1:8: this import leads back to itself: etc/Caddyfile -> etc/main -> etc/Caddyfile < etc/Caddyfile:2:9",
        ),
        (
            "(t) {\n import t\n}\nh {\n import t\n}",
            "etc/Caddyfile:2:9: this import leads back to itself: (t) -> (t) < etc/Caddyfile:5:9",
        ),
        (
            "h {\n import s\n}",
            "etc/s:1:8: this import leads back to itself: etc/s -> etc/s < etc/Caddyfile:2:9",
        ),
        (
            "(w) {\n {block}\n}\n(t) {\n import w {\n  import t\n }\n}\nh {\n import t\n}",
            "etc/Caddyfile:6:10: this import leads back to itself: (t) -> (t) < etc/Caddyfile:2:2 < etc/Caddyfile:5:9 < etc/Caddyfile:10:9",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(findings(text, &files), [expected], "{text}");
    }
}

#[test]
fn a_finding_tells_every_import_that_led_to_it() {
    let files = [
        ("etc/inner", "\n  x {}\n"),
        ("etc/outer", "(s) {\n import inner\n}"),
    ];
    assert_eq!(
        findings("import outer\na {\n import s\n}", &files),
        ["etc/inner:2:5: `{}` is a word, not an empty block < etc/outer:2:9 < etc/Caddyfile:3:9"]
    );
}

#[test]
fn references_to_arguments_that_are_not_there_are_warnings() {
    let text = "(s) {\n x {args[0]}\n}\na {\n import s\n import s\n}";
    assert_eq!(
        findings(text, &[]),
        [
            "etc/Caddyfile:2:4: `{args[0]}` stands for nothing: the import has no arguments < etc/Caddyfile:5:9"
        ]
    );
}
