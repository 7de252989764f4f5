//! Caddyfiles that nobody writes by hand: each is an error or a small answer, in bounded memory. That each ends is the
//! bound on its time.

use std::{cell::Cell, path::Path};

use caddy_config::{FileError, Surroundings, format, from_caddyfile, from_caddyfile_in, text_from_bytes};

/// What must come of a text.
enum Outcome {
    /// An error with this among its words.
    Error(&'static str),
    /// A configuration, whose JSON is at most so many times as long as the text.
    Fine(usize),
}

use Outcome::{Error, Fine};

fn site(lines: &str) -> String {
    format!(":80 {{\n{lines}\n}}\n")
}

/// One line for each number.
fn numbered(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(|number| line(number) + "\n").collect()
}

/// Snippets that each bring the one before, in a way that `bring` tells.
fn tower(height: usize, ground: &str, bring: impl Fn(usize) -> String) -> String {
    let floors = numbered(height, |number| {
        format!("(s{}) {{\n{}\n}}", number + 1, bring(number))
    });
    format!("(s0) {{\n{ground}\n}}\n{floors}")
}

fn check(name: &str, text: &str, outcome: &Outcome) {
    let adapted = from_caddyfile("t", text, &|name| (name == "X").then(|| "value".to_owned()));
    match (adapted, outcome) {
        (Ok(adapted), Fine(most)) => {
            let length = adapted.config.to_json().len();
            assert!(length <= most * text.len(), "{name}: {length} bytes");
            assert!(adapted.warnings.len() <= 100, "{name}");
        }
        (Err(findings), Error(expected)) => {
            let shown = findings.to_string();
            assert!(shown.contains(expected), "{name}: {shown}");
            assert!(
                findings.iter().count() <= 200 && shown.len() < 200_000,
                "{name}: {} bytes",
                shown.len()
            );
        }
        (Ok(_), Error(expected)) => panic!("{name} should say: {expected}"),
        (Err(findings), Fine(_)) => panic!("{name}: {findings}"),
    }
    let formatted = format(text);
    assert!(formatted.len() <= 12 * text.len() + 1, "{name}");
}

fn check_all(cases: Vec<(&str, String, Outcome)>) {
    for (name, text, outcome) in cases {
        check(name, &text, &outcome);
    }
}

#[test]
fn braces_in_masses_end_in_an_error() {
    const MANY: usize = 30_000;
    let nested = format!("{}{}", "handle {\n".repeat(MANY), "}\n".repeat(MANY));
    check_all(vec![
        (
            "opened",
            site(&"handle {\n".repeat(MANY)),
            Error("blocks nested more than 24 deep"),
        ),
        (
            "opened and closed",
            site(&nested),
            Error("blocks nested more than 24 deep"),
        ),
        (
            "opened at the top",
            "{\n".repeat(MANY),
            Error("this block is never closed"),
        ),
        (
            "closed at the top",
            "}\n".repeat(MANY),
            Error("nothing is open that this brace could close"),
        ),
        (
            "closed on a line",
            "} ".repeat(MANY),
            Error("nothing is open that this brace could close"),
        ),
        (
            "opened on a line",
            "{ ".repeat(MANY),
            Error("text behind `{` on the same line"),
        ),
        (
            "glued",
            "{".repeat(MANY),
            Error("a brace directly behind an address"),
        ),
        (
            "glued and closed",
            "}".repeat(MANY),
            Error("this is not an address of a site"),
        ),
        (
            "empty",
            site(&"handle {}\n".repeat(MANY)),
            Error("`{}` is a word, not an empty block"),
        ),
        (
            "without names",
            site(&"{\n}\n".repeat(MANY)),
            Error("a block without a name"),
        ),
        (
            "on the next line",
            site(&"handle\n{\n}\n".repeat(MANY)),
            Error("this brace stands on a line of its own"),
        ),
    ]);
}

#[test]
fn braces_in_masses_elsewhere_do_not_count_or_end_in_an_error() {
    const MANY: usize = 30_000;
    let nested = format!("{}{}", "handle {\n".repeat(MANY), "}\n".repeat(MANY));
    check_all(vec![
        (
            "in quotes",
            site(&format!("respond \"{}\"", "{".repeat(MANY))),
            Fine(2),
        ),
        (
            "in a snippet",
            format!("(s) {{\n{nested}}}\n{}", site("import s")),
            Error("blocks nested more than 24 deep"),
        ),
        (
            "in a snippet, open",
            format!("(s) {{\n{}", "a {\n".repeat(MANY)),
            Error("this block is never closed"),
        ),
        (
            "in a named route",
            format!("&(s) {{\n{nested}}}\n"),
            Error("blocks nested more than 24 deep"),
        ),
        (
            "in options",
            format!("{{\n{nested}}}\n"),
            Error("blocks nested more than 24 deep"),
        ),
    ]);
}

#[test]
fn the_longest_texts_are_refused_or_looked_through_once() {
    const LONGEST: usize = 32 << 20;
    let findings = from_caddyfile("t", &"{".repeat(LONGEST + 1), &|_| None).unwrap_err();
    assert!(findings.to_string().contains("the text is longer than"));
    let findings = from_caddyfile("t", &"} ".repeat(LONGEST / 2), &|_| None).unwrap_err();
    assert!(
        findings.to_string().contains("more than 2000000 words"),
        "{findings}"
    );
    assert_eq!(format(&" {".repeat(LONGEST)).len(), 2 * LONGEST);
}

#[test]
fn words_in_masses_are_read_once() {
    const MANY: usize = 60_000;
    check_all(vec![
        ("one word", "a".repeat(20 * MANY), Fine(2)),
        (
            "one line",
            site(&format!("respond {}", "a ".repeat(MANY))),
            Error("unexpected argument `a`"),
        ),
        (
            "one quote",
            "\"".repeat(2 * MANY + 1),
            Error("this quote is never closed"),
        ),
        (
            "quotes",
            site(&format!("respond \"{}\"", "\\\"".repeat(MANY))),
            Fine(2),
        ),
        (
            "backquotes",
            "`".repeat(2 * MANY + 1),
            Error("this backquote is never closed"),
        ),
        (
            "backslashes",
            "\\".repeat(MANY),
            Error("this is not an address of a site"),
        ),
        (
            "joined lines",
            site(&format!("respond a {}", "\\\n".repeat(MANY))),
            Fine(1),
        ),
        ("comments", "#\n".repeat(MANY), Fine(1)),
        ("line feeds", "\n".repeat(20 * MANY), Error("the file is empty")),
        ("spaces", " ".repeat(20 * MANY), Error("the file is empty")),
        (
            "carriage returns",
            "\r".repeat(20 * MANY),
            Error("the file is empty"),
        ),
    ]);
}

#[test]
fn heredocs_and_odd_words_in_masses_are_read_once() {
    const MANY: usize = 60_000;
    check_all(vec![
        (
            "heredocs",
            site(&"respond /a <<E\nE\n".repeat(MANY / 10)),
            Fine(10),
        ),
        (
            "heredocs in a heredoc",
            "<<E\n".repeat(MANY),
            Error("this heredoc is never closed"),
        ),
        (
            "a long heredoc",
            site(&format!("respond <<E\n{} E", " a\n".repeat(MANY))),
            Fine(2),
        ),
        (
            "a heredoc without its indent",
            site(&format!("respond <<E\n{} E", "a\n".repeat(MANY))),
            Error("indented less"),
        ),
        (
            "a long marker",
            format!("<<{}\n{}", "E".repeat(1000), "a\n".repeat(MANY)),
            Error("this heredoc is never closed"),
        ),
        ("commas", ",".repeat(MANY), Error("a comma inside an address")),
        (
            "spaced commas",
            ", ".repeat(MANY),
            Error("another address is missing"),
        ),
        ("NULs", "\0".repeat(MANY), Error("a NUL character")),
        ("spaced NULs", "\0 ".repeat(MANY), Error("a NUL character")),
        (
            "unknown directives",
            site(&numbered(MANY / 4, |number| format!("x{number}"))),
            Error("unknown directive"),
        ),
        (
            "secrets",
            site(&"secret a\n".repeat(MANY / 4)),
            Error("unknown directive"),
        ),
    ]);
}

#[test]
fn variables_in_masses_are_replaced_once() {
    const MANY: usize = 200_000;
    check_all(vec![
        (
            "set",
            site(&format!("respond \"{}\"", "{$X}".repeat(1_000_000))),
            Fine(2),
        ),
        (
            "not set",
            site(&format!("respond \"{}\"", "{$NO}".repeat(MANY))),
            Fine(1),
        ),
        (
            "with a default",
            site(&format!("respond \"{}\"", "{$NO:d}".repeat(MANY))),
            Fine(1),
        ),
        (
            "opened",
            "{$".repeat(MANY),
            Error("this is not an address of a site"),
        ),
        (
            "never closed",
            "{$X:".repeat(MANY),
            Error("this is not an address of a site"),
        ),
    ]);
    let big = |_: &str| Some("x".repeat(1 << 20));
    let findings =
        from_caddyfile("t", &site("respond \"{$A}{$B}\"\n".repeat(100).as_str()), &big).unwrap_err();
    assert!(
        findings.to_string().contains("the text grows beyond"),
        "{findings}"
    );
}

#[test]
fn imports_that_multiply_end_in_an_error() {
    const BOMB: &str = "do snippets import others twice, again and again?";
    let twice = |number: usize| format!("import s{number}\nimport s{number}");
    let longer = |number: usize| format!("import s{number} {{args[0]}}{{args[0]}}");
    let more = |number: usize| format!("import s{number} {{args[:]}} {{args[:]}}");
    let blocks = |number: usize| format!("import s{number} {{\n{{block}}\n{{block}}\n}}");
    let named = |number: usize| format!("import s{number} {{\na {{blocks.a}}\nb {{blocks.a}}\n}}");
    check_all(vec![
        (
            "twice",
            tower(30, "header A 1", twice) + &site("import s30"),
            Error(BOMB),
        ),
        (
            "twice, of nothing",
            tower(30, "", twice) + &site("import s30"),
            Error(BOMB),
        ),
        (
            "twice at the top",
            tower(30, "", twice) + "import s30\n:80 {\n}\n",
            Error(BOMB),
        ),
        (
            "longer arguments",
            tower(30, "respond {args[0]}", longer) + &site("import s30 abcdefgh"),
            Error(BOMB),
        ),
        (
            "more arguments",
            tower(30, "respond {args[0]}", more) + &site("import s30 a b c"),
            Error(BOMB),
        ),
        (
            "blocks in blocks",
            tower(30, "{block}", blocks) + &site("import s30 {\nheader A 1\n}"),
            Error(BOMB),
        ),
        (
            "named blocks",
            tower(30, "{blocks.a}", named) + &site("import s30 {\na header A 1\n}"),
            Fine(1),
        ),
        (
            "many arguments, often",
            "(s) {\nrespond {args[:]}\n}\n".to_owned()
                + &site(&format!("import s {}\n", "a ".repeat(1000)).repeat(2000)),
            Error(BOMB),
        ),
        (
            "one argument, often",
            format!("(s) {{\nrespond \"{}\"\n}}\n", "{args[0]}".repeat(100_000))
                + &site(&format!("import s {}", "a".repeat(1000))),
            Error(BOMB),
        ),
    ]);
}

#[test]
fn imports_that_lead_nowhere_end_in_an_error() {
    let ring = numbered(1000, |number| {
        format!("(s{number}) {{\nimport s{}\n}}", (number + 1) % 1000)
    });
    let next = |number: usize| format!("import s{number}");
    check_all(vec![
        (
            "itself",
            format!("(s) {{\nimport s\n}}\n{}", site("import s")),
            Error("leads back to itself: (s) -> (s)"),
        ),
        (
            "each other",
            format!("(s) {{\nimport t\n}}\n(t) {{\nimport s\n}}\n{}", site("import s")),
            Error("leads back to itself: (s) -> (t) -> (s)"),
        ),
        (
            "by its block",
            format!(
                "(w) {{\n{{block}}\n}}\n(s) {{\nimport w {{\nimport s\n}}\n}}\n{}",
                site("import s")
            ),
            Error("leads back"),
        ),
        (
            "by its argument",
            format!(
                "(s) {{\nimport {{args[0]}} {{args[0]}}\n}}\n{}",
                site("import s s")
            ),
            Error("leads back"),
        ),
        (
            "in a ring",
            ring + &site("import s0"),
            Error("imports within imports, more than 100 deep"),
        ),
        (
            "in a chain",
            tower(5000, "respond 1", next) + &site("import s5000"),
            Error("more than 100 deep"),
        ),
        (
            "in a chain that is short enough",
            tower(99, "respond 1", next) + &site("import s99"),
            Fine(1),
        ),
    ]);
}

#[test]
fn imports_in_masses_bring_what_they_bring() {
    const MANY: usize = 20_000;
    check_all(vec![
        (
            "what is not there",
            site(&"import x\n".repeat(MANY)),
            Error("there is no snippet `(x)`"),
        ),
        (
            "nothing, often",
            format!("(s) {{\n}}\n{}", site(&"import s\n".repeat(MANY))),
            Fine(1),
        ),
        (
            "in blocks of imports",
            format!(
                "(s) {{\n{{block}}\n}}\n{}",
                site(&format!("{}{}", "import s {\n".repeat(MANY), "}\n".repeat(MANY)))
            ),
            Error("bring more than 100000 words"),
        ),
        (
            "in blocks that nobody puts in",
            format!(
                "(s) {{\n}}\n{}",
                site(&format!("{}{}", "import s {\n".repeat(MANY), "}\n".repeat(MANY)))
            ),
            Fine(1),
        ),
        (
            "arguments that never end",
            format!(
                "(s) {{\nrespond \"{}\"\n}}\n{}",
                "{args[".repeat(MANY),
                site("import s x")
            ),
            Fine(2),
        ),
        (
            "snippets of one name",
            "(s) {\n}\n".repeat(MANY),
            Error("has a definition already"),
        ),
        (
            "many snippets",
            numbered(MANY, |number| format!("(s{number}) {{\n}}")),
            Fine(1),
        ),
    ]);
}

/// Files whose contents `read` makes; it counts what is asked for.
struct Endless<F> {
    read: F,
    asked: Cell<usize>,
}

impl<F: Fn(&Path, usize) -> Result<Vec<u8>, FileError>> Surroundings for Endless<F> {
    fn variable(&self, _: &str) -> Option<String> {
        None
    }

    fn read(&self, path: &Path, limit: usize) -> Result<Vec<u8>, FileError> {
        self.asked.set(self.asked.get() + 1);
        (self.read)(path, limit)
    }

    fn list(&self, _: &Path) -> Result<Vec<String>, FileError> {
        self.asked.set(self.asked.get() + 1);
        Ok((0..50_000).map(|number| format!("{number}.conf")).collect())
    }
}

/// What comes of a text with such files, and how often they were asked for.
fn with_files(text: &str, read: impl Fn(&Path, usize) -> Result<Vec<u8>, FileError>) -> (String, usize) {
    let files = Endless {
        read,
        asked: Cell::new(0),
    };
    let found = match from_caddyfile_in("t", text, &files) {
        Ok(adapted) => format!("fine, {} bytes", adapted.config.to_json().len()),
        Err(findings) => findings.to_string(),
    };
    (found, files.asked.get())
}

#[test]
fn files_without_end_are_not_read_to_it() {
    let (found, asked) = with_files(&site("import zero"), |_, limit| Ok(vec![b'a'; limit + 1]));
    assert!(
        found.contains("with `zero` the configuration is longer than") && asked == 1,
        "{found}"
    );
    // Each file imports the next, each in a directory below.
    let deeper =
        |path: &Path, _| Ok(format!("import x/{}", path.file_name().unwrap().to_str().unwrap()).into_bytes());
    let (found, asked) = with_files(&site("import a"), deeper);
    assert!(found.contains("more than 100 deep") && asked < 200, "{found}");
    let (found, asked) = with_files("import *.conf", |_, _| Ok(b"# nothing\n".to_vec()));
    assert!(
        found.contains("more than 20000 files are imported") && asked < 20_010,
        "{asked} {found}"
    );
    let (found, _) = with_files("import *.conf", |_, limit| {
        let bytes = (limit >= 1 << 20).then(|| vec![b'#'; 1 << 20]);
        bytes.ok_or(FileError::TooLong)
    });
    assert!(found.contains("the configuration is longer than"), "{found}");
    let (found, asked) = with_files(&site(&"import a\n".repeat(1000)), |_, _| {
        Ok(b"header A 1".to_vec())
    });
    assert!(found.starts_with("fine") && asked == 1, "{found}");
    let (found, _) = with_files(&site("import a"), |_, _| Ok(b"respond \xff".to_vec()));
    assert!(found.starts_with("a:1:9: this is not UTF-8"), "{found}");
    let (found, _) = with_files(&site("import a"), |_, limit| Ok(b"x ".repeat(limit / 2)));
    assert!(found.contains("more than 2000000 words"), "{found}");
}

#[test]
fn named_routes_in_masses_are_bounded() {
    const MANY: usize = 10_000;
    let chain = |ring: usize| {
        numbered(MANY, |number| {
            format!("&(r{number}) {{\ninvoke r{}\n}}", (number + 1) % ring)
        })
    };
    let dense = numbered(200, |number| {
        format!(
            "&(r{number}) {{\n{}}}",
            numbered(number, |other| format!("invoke r{other}"))
        )
    });
    let everywhere = numbered(2000, |number| format!(":{} {{\ninvoke r\n}}", number + 1));
    let large = format!("&(r) {{\n{}}}\n", "respond 1\n".repeat(2000));
    check_all(vec![
        (
            "a ring",
            chain(MANY) + &site("invoke r0"),
            Error("leads back to itself"),
        ),
        (
            "itself",
            "&(r) {\ninvoke r\n}\n".to_owned() + &site("invoke r"),
            Error("leads back to itself"),
        ),
        (
            "a chain",
            chain(MANY + 1) + &format!("&(r{MANY}) {{\n}}\n") + &site("invoke r0"),
            Fine(8),
        ),
        ("each all before", dense + &site("invoke r199"), Fine(8)),
        (
            "one name",
            "&(r) {\n}\n".repeat(MANY),
            Error("has a definition already"),
        ),
        (
            "for every server",
            large + &everywhere,
            Error("have more than 200000 handlers here"),
        ),
        (
            "not there",
            site(&"invoke r\n".repeat(MANY)),
            Error("there is no named route `r`"),
        ),
    ]);
}

#[test]
fn sites_in_masses_are_told_apart() {
    const MANY: usize = 8_000;
    let hosts = |text: &str| {
        (0..MANY)
            .map(|number| format!("http://h{number}{text}, "))
            .collect::<String>()
    };
    check_all(vec![
        ("hosts", hosts(".example.com") + "http://z {\n}\n", Fine(2)),
        (
            "hosts outside ASCII",
            hosts("ü.example") + "http://z {\n}\n",
            Fine(2),
        ),
        (
            "hosts with placeholders",
            hosts("{env.X}") + "http://z {\n}\n",
            Fine(2),
        ),
        (
            "paths",
            hosts("").replace("http://h", "http://a/") + "http://z {\n}\n",
            Fine(10),
        ),
        ("one host", "http://a, ".repeat(MANY) + "http://a {\n}\n", Fine(1)),
        (
            "one site",
            "http://a {\n}\n".repeat(MANY),
            Error("this address has a site already"),
        ),
        (
            "a long host",
            format!("http://{} {{\n}}\n", "ü".repeat(MANY)),
            Error("this is not an address of a site"),
        ),
        (
            "a host of placeholders",
            format!("http://{} {{\n}}\n", "{a}".repeat(MANY)),
            Fine(2),
        ),
    ]);
}

#[test]
fn options_and_blocks_in_masses_are_told_apart() {
    const MANY: usize = 8_000;
    check_all(vec![
        (
            "orders",
            format!("{{\n{}}}\n", "order respond first\n".repeat(MANY)) + &site("respond 1"),
            Fine(1),
        ),
        (
            "wrong orders",
            format!("{{\n{}}}\n", "order nope first\n".repeat(MANY)),
            Error("`nope` is no directive"),
        ),
        (
            "options",
            format!("{{\n{}}}\n", numbered(MANY, |number| format!("x{number}"))),
            Error("unknown global option"),
        ),
        (
            "one option",
            format!("{{\n{}}}\n", "debug\n".repeat(MANY)),
            Error("is given twice"),
        ),
        (
            "codes",
            site(&format!("handle_errors {} {{\n}}", "404 ".repeat(MANY))),
            Fine(3),
        ),
        (
            "wrong codes",
            site(&format!("handle_errors {} {{\n}}", "x ".repeat(MANY))),
            Error("is not a status code"),
        ),
        ("errors", site(&"handle_errors 500 {\n}\n".repeat(MANY)), Fine(20)),
        (
            "handles",
            site(&numbered(MANY, |number| {
                format!("handle /{} {{\n}}", number * 7919 % 20_011)
            })),
            Fine(20),
        ),
        (
            "handle_paths",
            site(&"handle_path /a* {\n}\n".repeat(MANY)),
            Fine(20),
        ),
    ]);
}

#[test]
fn bytes_that_are_no_text_are_refused_before_anything_else() {
    for bytes in [
        &b"\xff\xfe:80 {\n}\n"[..],
        b":80 {\n\trespond \"\xc0\x80\"\n}\n",
        b"\xed\xa0\x80",
        b"a\x80",
    ] {
        let findings = text_from_bytes("t", bytes).unwrap_err().to_string();
        assert!(findings.contains("this is not UTF-8"), "{findings}");
    }
}
