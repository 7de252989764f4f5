//! Which routes of two lists are not the same values in the same order.

use crate::snapshot::Route;

/// How far ahead is looked for where two lists go on together.
const WINDOW: usize = 32;

/// What is only in the old list, and what is only in the new one.
#[derive(Debug, Default)]
pub(super) struct Diff<'r> {
    pub(super) gone: Vec<&'r Route>,
    pub(super) come: Vec<&'r Route>,
}

/// Walks both lists together and pairs what is the same value. What is paired is in the same order in both, so a host with no route
/// in the result has the same routes in the same order as before. That there are more in it than need be does no harm but
/// takes time, as after a list was sorted anew.
pub(super) fn diff<'r>(mut old: &'r [Route], mut new: &'r [Route]) -> Diff<'r> {
    let mut diff = Diff::default();
    loop {
        let same = old
            .iter()
            .zip(new)
            .take_while(|(old, new)| old.is_same(new))
            .count();
        (old, new) = (rest(old, same), rest(new, same));
        let (Some(first_old), Some(first_new)) = (old.first(), new.first()) else {
            diff.gone.extend(old);
            diff.come.extend(new);
            return diff;
        };
        let (gone, come) = if first_old.host() == first_new.host() {
            (1, 1)
        } else if let Some(come) = ahead(new, first_old) {
            (0, come)
        } else if let Some(gone) = ahead(old, first_new) {
            (gone, 0)
        } else {
            (1, 1)
        };
        diff.gone.extend(old.iter().take(gone));
        diff.come.extend(new.iter().take(come));
        (old, new) = (rest(old, gone), rest(new, come));
    }
}

/// How many routes come before `sought`, or one for its host, if it is near.
fn ahead(list: &[Route], sought: &Route) -> Option<usize> {
    list.iter()
        .take(WINDOW)
        .position(|route| route.is_same(sought) || route.host() == sought.host())
}

fn rest(list: &[Route], from: usize) -> &[Route] {
    list.get(from..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes(names: &[&str]) -> Vec<Route> {
        names
            .iter()
            .map(|name| Route::Configured(std::sync::Arc::new(name.parse().unwrap())))
            .collect()
    }

    /// What goes and what comes, by name.
    fn hosts(old: &[&str], new: &[&str]) -> (Vec<String>, Vec<String>) {
        let (old, new) = (routes(old), routes(new));
        let diff = diff(&old, &new);
        let names = |routes: &[&Route]| routes.iter().map(|route| route.host().to_string()).collect();
        (names(&diff.gone), names(&diff.come))
    }

    #[test]
    fn one_change_costs_no_more_than_one() {
        let all = ["a", "b", "c", "d"];
        let none = Vec::<String>::new();
        assert_eq!(hosts(&all, &all), (none.clone(), none.clone()));
        assert_eq!(
            hosts(&all, &["a", "x", "b", "c", "d"]),
            (none.clone(), vec!["x".to_owned()])
        );
        assert_eq!(
            hosts(&all, &["a", "c", "d"]),
            (vec!["b".to_owned()], none.clone())
        );
        assert_eq!(
            hosts(&["b", "c"], &["a", "b", "c", "d"]),
            (none, vec!["a".to_owned(), "d".to_owned()])
        );
        assert_eq!(
            hosts(&all, &["a", "x", "c", "d"]),
            (vec!["b".to_owned()], vec!["x".to_owned()])
        );
        assert_eq!(hosts(&all, &[]).0, all);
    }

    #[test]
    fn lists_in_another_order_are_gone_through_to_their_ends() {
        let (gone, come) = hosts(&["a", "b", "c"], &["c", "b", "a"]);
        assert_eq!(gone.len(), come.len());
        assert!(
            gone.len() < 3,
            "one of them at least is where it was, beside the others"
        );
    }
}
