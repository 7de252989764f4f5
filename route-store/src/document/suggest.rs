//! Which known name an unknown one was meant to be.

/// Longer names are not compared: nobody mistypes those, and the work grows with the square.
const LONGEST: usize = 40;

/// ``; did you mean `...`?`` for the known name that is nearest, or nothing.
pub(super) fn did_you_mean(name: &str, known: &[&str]) -> String {
    nearest(name, known).map_or_else(String::new, |nearest| format!("; did you mean `{nearest}`?"))
}

fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    if name.len() > LONGEST {
        return None;
    }
    let tolerance = name.chars().count().div_ceil(3).min(3);
    let distances = known.iter().map(|known| (distance(name, known), *known));
    let near = distances.filter(|(distance, _)| *distance <= tolerance);
    near.min_by_key(|(distance, _)| *distance).map(|(_, known)| known)
}

/// How many characters must be put in, taken out or changed to come from one to the other; upper and lower case are alike.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (number, char) in from.to_lowercase().chars().enumerate() {
        let mut above_left = number;
        let mut left = number.saturating_add(1);
        let Some((first, rest)) = row.split_first_mut() else {
            return 0;
        };
        *first = left;
        for (cell, other) in rest.iter_mut().zip(&to) {
            let changed = above_left.saturating_add(usize::from(char != *other));
            above_left = *cell;
            left = changed.min(left.saturating_add(1)).min(cell.saturating_add(1));
            *cell = left;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::did_you_mean;

    #[test]
    fn only_near_names_are_suggested() {
        let known = ["upstreams", "handlers", "host"];
        for (name, meant) in [
            ("upstream", "; did you mean `upstreams`?"),
            ("Hnadlers", "; did you mean `handlers`?"),
            ("hots", "; did you mean `host`?"),
            ("zebra", ""),
            ("", ""),
        ] {
            assert_eq!(did_you_mean(name, &known), meant, "{name}");
        }
        assert_eq!(did_you_mean(&"upstreams".repeat(9), &known), "");
    }
}
