//! `map`: variables that follow another value.

use regex::Regex;

use super::template::Template;

/// A compiled `map`. It is asked each time that one of its destinations is read.
#[derive(Debug, Default)]
pub(crate) struct Map {
    /// What is compared.
    pub(crate) source: Template,
    /// Tried in order.
    pub(crate) mappings: Vec<Mapping>,
    /// For each destination what it is if no mapping fits; or none at all.
    pub(crate) defaults: Vec<Template>,
}

/// One line of a `map`.
#[derive(Debug)]
pub(crate) struct Mapping {
    pub(crate) input: Input,
    /// For each destination; `None` leaves it to later mappings.
    pub(crate) outputs: Vec<Option<Output>>,
}

/// What the source must be.
#[derive(Debug)]
pub(crate) enum Input {
    Exactly(String),
    Like(Regex),
}

/// What a destination becomes.
#[derive(Debug)]
pub(crate) enum Output {
    Template(Template),
    /// With groups of the expression, `$1` or `${name}`.
    Expand(String),
}

/// What a `map` gives.
#[derive(Debug)]
pub(crate) enum Given<'m> {
    Template(&'m Template),
    Text(String),
    Nothing,
}

// === impl Map ===

impl Map {
    /// What the destination of this number is while the source is `input`.
    pub(crate) fn give(&self, number: usize, input: &str) -> Given<'_> {
        for mapping in &self.mappings {
            let Some(Some(output)) = mapping.outputs.get(number) else {
                continue;
            };
            match (&mapping.input, output) {
                (Input::Exactly(text), Output::Template(output)) if text == input => {
                    return Given::Template(output);
                }
                (Input::Like(regex), Output::Template(output)) if regex.is_match(input) => {
                    return Given::Template(output);
                }
                (Input::Like(regex), Output::Expand(output)) => {
                    if let Some(captures) = regex.captures(input) {
                        let mut text = String::new();
                        captures.expand(output, &mut text);
                        return Given::Text(text);
                    }
                }
                (Input::Exactly(_) | Input::Like(_), _) => {}
            }
        }
        self.defaults.get(number).map_or(Given::Nothing, Given::Template)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(map: &Map, number: usize, input: &str) -> Option<String> {
        match map.give(number, input) {
            Given::Template(template) => template.as_static().map(str::to_owned),
            Given::Text(text) => Some(text),
            Given::Nothing => None,
        }
    }

    #[test]
    fn the_first_mapping_that_fits_and_has_an_output_gives_it() {
        let text = |text: &str| Some(Output::Template(Template::text(text)));
        let mut map = Map {
            mappings: vec![
                Mapping {
                    input: Input::Exactly("a".to_owned()),
                    outputs: vec![text("first"), None],
                },
                Mapping {
                    input: Input::Like(Regex::new("^(.)").unwrap()),
                    outputs: vec![Some(Output::Expand("<$1>".to_owned())), text("any")],
                },
            ],
            ..Map::default()
        };
        let all = |map: &Map, input| (given(map, 0, input), given(map, 1, input), given(map, 2, input));
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(all(&map, "a"), (some("first"), some("any"), None));
        assert_eq!(all(&map, "b"), (some("<b>"), some("any"), None));
        assert_eq!(all(&map, ""), (None, None, None));
        map.defaults = vec![Template::text("x"), Template::text("y")];
        assert_eq!(all(&map, ""), (some("x"), some("y"), None));
    }
}
