//! Every document in the README is one.

const README: &str = include_str!("../../README.md");

#[test]
fn every_document_in_the_readme_is_read() {
    let blocks: Vec<&str> = README
        .split("```json document\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    assert_eq!(blocks.len(), 2);
    for block in blocks {
        let document = route_store::document::read(block).unwrap_or_else(|error| panic!("{error}: {block}"));
        assert_eq!(document.host().as_str(), "shop.test");
    }
}
