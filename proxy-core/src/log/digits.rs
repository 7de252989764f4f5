//! Numbers in decimal, without the machinery of formatting: every line of a log has several.

/// The most digits of a `u64`.
const MOST: usize = 20;

/// Appends `number`.
pub(crate) fn push_number(out: &mut String, number: u64) {
    push_padded(out, number, 1);
}

/// `number` as text.
pub(crate) fn text(number: u64) -> String {
    let mut out = String::with_capacity(MOST);
    push_number(&mut out, number);
    out
}

/// Appends `number` with zeros before it up to `width` digits, of which 20 at most are added.
pub(super) fn push_padded(out: &mut String, number: u64, width: usize) {
    let mut digits = [b'0'; MOST];
    let (mut rest, mut used) = (number, 0);
    for digit in digits.iter_mut().rev() {
        if rest == 0 {
            break;
        }
        // The remainder is below ten.
        *digit = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
        used += 1;
    }
    let wanted = used.max(width.min(MOST));
    // One by one: most numbers are short, and nobody need look whether the digits are text.
    for digit in digits.split_at(MOST - wanted).1 {
        out.push(char::from(*digit));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_the_standard_library_does() {
        for number in [
            0,
            1,
            9,
            10,
            99,
            100,
            12_345,
            1_796_044_641,
            u64::MAX - 1,
            u64::MAX,
        ] {
            let mut out = "n=".to_owned();
            push_number(&mut out, number);
            assert_eq!(out, format!("n={number}"));
            for width in [1, 2, 6, 9, 20] {
                let mut out = String::new();
                push_padded(&mut out, number, width);
                assert_eq!(out, format!("{number:0width$}"));
            }
        }
    }
}
