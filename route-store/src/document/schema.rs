//! The JSON schema of documents.

use serde_json::Value;

use super::Raw;

/// The JSON schema of a document of the newest version, for editors and for those who write documents. It says less than the
/// check: names, addresses and patterns are texts in it.
pub fn schema() -> Value {
    schemars::schema_for!(Raw).to_value()
}

#[cfg(test)]
mod tests {
    use super::schema;

    #[test]
    fn the_schema_names_every_field_and_refuses_others() {
        let schema = schema();
        let properties = schema["properties"].as_object().unwrap();
        for name in [
            "schema_version",
            "host",
            "aliases",
            "tls",
            "headers",
            "paths",
            "upstreams",
            "load_balancing",
            "handlers",
            "eskip",
        ] {
            assert!(properties.contains_key(name), "{name}");
        }
        assert_eq!(schema["required"], serde_json::json!(["host"]));
        let closed = |schema: &serde_json::Value| {
            schema["additionalProperties"] == false || schema["unevaluatedProperties"] == false
        };
        assert!(closed(&schema), "{schema:#}");
        for (name, part) in schema["$defs"].as_object().unwrap() {
            assert!(closed(part), "{name}");
        }
    }
}
