//! What differs between two texts, line by line.

/// Larger comparisons are not made: everything between the first and the last difference counts as changed.
const MAX_CELLS: usize = 16 * 1024 * 1024;

/// Every line of both texts, in order: `- ` before one that only `before` has, `+ ` before one that only `after` has,
/// two spaces before one that both have.
pub(super) fn lines(before: &str, after: &str) -> String {
    let before: Vec<&str> = before.split('\n').collect();
    let after: Vec<&str> = after.split('\n').collect();
    let same = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| pairs.take_while(|(a, b)| a == b).count();
    let start = same(&mut before.iter().zip(&after));
    let most = before.len().min(after.len()) - start;
    let end = same(&mut before.iter().rev().zip(after.iter().rev()).take(most));
    let (left, right) = (
        &before[start..before.len() - end],
        &after[start..after.len() - end],
    );

    let mut out = String::new();
    write(&mut out, "  ", &before[..start]);
    if left.len().saturating_mul(right.len()) > MAX_CELLS {
        write(&mut out, "- ", left);
        write(&mut out, "+ ", right);
    } else {
        for (mark, line) in compared(left, right) {
            write(&mut out, mark, &[line]);
        }
    }
    write(&mut out, "  ", &before[before.len() - end..]);
    out
}

fn write(out: &mut String, mark: &str, lines: &[&str]) {
    for line in lines {
        out.push_str(mark);
        out.push_str(line);
        out.push('\n');
    }
}

/// The lines along a longest sequence that both have.
fn compared<'t>(left: &[&'t str], right: &[&'t str]) -> Vec<(&'static str, &'t str)> {
    let common = common_lengths(left, right);
    let (mut i, mut j) = (left.len(), right.len());
    let mut lines = Vec::new();
    // From the end, what comes first: lines that go stand before those that come.
    while i > 0 || j > 0 {
        if i > 0 && j > 0 && left[i - 1] == right[j - 1] {
            (i, j) = (i - 1, j - 1);
            lines.push(("  ", left[i]));
        } else if j > 0 && (i == 0 || common[i][j - 1] >= common[i - 1][j]) {
            j -= 1;
            lines.push(("+ ", right[j]));
        } else {
            i -= 1;
            lines.push(("- ", left[i]));
        }
    }
    lines.reverse();
    lines
}

/// For each two beginnings of the texts, how many lines they have in common in the same order.
fn common_lengths(left: &[&str], right: &[&str]) -> Vec<Vec<u32>> {
    let mut common = vec![vec![0; right.len() + 1]; left.len() + 1];
    for (i, a) in left.iter().enumerate() {
        for (j, b) in right.iter().enumerate() {
            common[i + 1][j + 1] = if a == b {
                common[i][j] + 1
            } else {
                common[i][j + 1].max(common[i + 1][j])
            };
        }
    }
    common
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_marked_by_the_text_that_has_them() {
        assert_eq!(lines("a\nb\nc\n", "a\nx\nc\n"), "  a\n- b\n+ x\n  c\n  \n");
        assert_eq!(lines("a", "a\n"), "  a\n+ \n");
        assert_eq!(lines("", ""), "  \n");
        assert_eq!(lines("a\na\nb", "a\nb"), "  a\n- a\n  b\n");
        assert_eq!(lines("b\na\nb\nc", "a\nb\nd\nc"), "- b\n  a\n  b\n+ d\n  c\n");
    }

    #[test]
    fn very_long_texts_are_changed_as_a_whole() {
        let before = "a\n".repeat(5000) + &"b\n".repeat(5000) + "end";
        let after = "b\n".repeat(5000) + &"a\n".repeat(5000) + "end";
        let lines = lines(&before, &after);
        assert!(lines.starts_with("- a\n") && lines.ends_with("+ a\n  end\n"));
        assert_eq!(lines.lines().count(), 20_001);
    }
}
