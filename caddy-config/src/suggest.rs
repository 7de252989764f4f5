//! "Did you mean ...?"

/// Longer words are not compared: nobody mistypes those, and the work grows with the square.
const MAX_WORD: usize = 40;

/// The one of `known` that `word` was most likely meant to be, if any is near enough.
pub(crate) fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    if word.len() > MAX_WORD {
        return None;
    }
    let tolerance = word.chars().count().div_ceil(3).min(3);
    let distances = known
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate));
    distances
        .filter(|(distance, _)| *distance <= tolerance)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, k)| k)
}

/// `did you mean ...?` for [`nearest`].
pub(crate) fn did_you_mean<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<String> {
    nearest(word, known).map(|name| format!("did you mean `{name}`?"))
}

/// Insertions, deletions and changes of one character that lead from `a` to `b`, ignoring case.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().flat_map(char::to_lowercase).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (index, from) in a.chars().flat_map(char::to_lowercase).enumerate() {
        let mut diagonal = index;
        let mut left = index.saturating_add(1);
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (cell, to) in row.iter_mut().skip(1).zip(&b) {
            let change = diagonal.saturating_add(usize::from(from != *to));
            diagonal = *cell;
            left = change.min(left.saturating_add(1)).min(cell.saturating_add(1));
            *cell = left;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{distance, nearest};

    #[test]
    fn the_distance_counts_single_changes() {
        for (a, b, expected) in [
            ("", "", 0),
            ("abc", "abc", 0),
            ("respnd", "respond", 1),
            ("", "ab", 2),
        ] {
            assert_eq!(distance(a, b), expected, "{a} {b}");
        }
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn a_near_word_is_suggested_and_a_far_one_is_not() {
        let known = ["respond", "redir", "reverse_proxy"];
        assert_eq!(nearest("respnd", known), Some("respond"));
        assert_eq!(nearest("Redir", known), Some("redir"));
        assert_eq!(nearest("file_server", known), None);
    }
}
