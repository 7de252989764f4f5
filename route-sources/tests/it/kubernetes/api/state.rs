//! What the server holds, and how it is to fail.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

/// A request that was made.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: BTreeMap<String, String>,
}

/// One line of a watch.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) version: u64,
    pub(crate) plural: String,
    pub(crate) namespace: String,
    pub(crate) text: String,
}

/// Everything.
#[derive(Default)]
pub(crate) struct State {
    version: u64,
    objects: BTreeMap<(String, String, String), Value>,
    pub(crate) lines: Vec<Line>,
    pub(crate) asked: Vec<Asked>,
    /// Connections are closed as soon as they come.
    pub(crate) is_down: bool,
    /// Statuses that lists and watches of a kind get instead.
    pub(crate) fails: BTreeMap<String, u16>,
    /// The status that watches alone get instead.
    pub(crate) watch_fails: BTreeMap<String, u16>,
    /// Kinds whose lists are not answered yet.
    pub(crate) held: BTreeSet<String>,
    /// Kinds whose lists are no JSON.
    pub(crate) garbage: BTreeSet<String>,
    /// How many objects a page has at most; 0 is as many as asked for.
    pub(crate) page: usize,
    /// Watches from before this version are gone.
    pub(crate) oldest: u64,
    /// How often watches were ended from here: an odd number cuts them, an even one ends them well.
    pub(crate) cuts: u64,
    /// How many more writes of status meet another.
    pub(crate) conflicts: u32,
    /// Writes of status are forbidden.
    pub(crate) no_status: bool,
    /// Bodies go out byte by byte.
    pub(crate) is_slow: bool,
}

impl State {
    pub(crate) fn put(&mut self, plural: &str, mut object: Value) {
        let name = text(&object["metadata"]["name"]);
        let namespace = text(&object["metadata"]["namespace"]);
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let key = (plural.to_owned(), namespace, name);
        let kind = if self.objects.contains_key(&key) {
            "MODIFIED"
        } else {
            "ADDED"
        };
        self.say(
            plural,
            &key.1,
            &json!({ "type": kind, "object": object }).to_string(),
        );
        self.objects.insert(key, object);
    }

    pub(crate) fn delete(&mut self, plural: &str, namespace: &str, name: &str) {
        let key = (plural.to_owned(), namespace.to_owned(), name.to_owned());
        let mut object = self.objects.remove(&key).unwrap();
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.say(
            plural,
            namespace,
            &json!({ "type": "DELETED", "object": object }).to_string(),
        );
    }

    /// Removes something of which no watch is told any more.
    pub(crate) fn lose(&mut self, plural: &str, namespace: &str, name: &str) {
        self.delete(plural, namespace, name);
        self.lines.pop();
        self.oldest = self.version;
    }

    /// A line in all watches of a kind.
    pub(crate) fn say(&mut self, plural: &str, namespace: &str, text: &str) {
        self.lines.push(Line {
            version: self.version,
            plural: plural.to_owned(),
            namespace: namespace.to_owned(),
            text: format!("{text}\n"),
        });
    }

    /// A bookmark of a version that no object has.
    pub(crate) fn bookmark(&mut self, plural: &str) -> String {
        self.version += 1;
        let version = self.version.to_string();
        let line = json!({ "type": "BOOKMARK", "object": { "metadata": { "resourceVersion": version } } });
        self.say(plural, "", &with_kind(line, plural).to_string());
        version
    }

    pub(crate) fn get(&self, plural: &str, namespace: &str, name: &str) -> Option<&Value> {
        self.objects
            .get(&(plural.to_owned(), namespace.to_owned(), name.to_owned()))
    }

    pub(crate) fn list(&self, plural: &str, namespace: Option<&str>) -> Vec<&Value> {
        let all = self.objects.iter().filter(|((kind, place, _), _)| {
            kind == plural && namespace.is_none_or(|namespace| namespace == place)
        });
        all.map(|(_, object)| object).collect()
    }

    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// How often something was asked for: `list`, `watch` or a method.
    pub(crate) fn count(&self, what: &str, ending: &str) -> usize {
        let is_so = |asked: &&Asked| {
            let is_watch = asked.query.contains_key("watch");
            let is_kind = match what {
                "list" => asked.method == "GET" && !is_watch,
                "watch" => is_watch,
                method => asked.method == method,
            };
            is_kind && asked.path.ends_with(ending)
        };
        self.asked.iter().filter(is_so).count()
    }
}

/// kube wants to know of what kind a bookmark is.
fn with_kind(mut line: Value, plural: &str) -> Value {
    let (version, kind) = match plural {
        "ingresses" => ("networking.k8s.io/v1", "Ingress"),
        "ingressclasses" => ("networking.k8s.io/v1", "IngressClass"),
        "endpointslices" => ("discovery.k8s.io/v1", "EndpointSlice"),
        "services" => ("v1", "Service"),
        _ => ("v1", "Secret"),
    };
    line["object"]["apiVersion"] = json!(version);
    line["object"]["kind"] = json!(kind);
    line
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
