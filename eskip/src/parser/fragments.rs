//! Filters and predicates without a route.

use super::{Failed, Parser, Wanted};
use crate::{ast::Call, token::Kind};

// === impl Parser ===

impl Parser<'_> {
    pub(super) fn lone_filters(&mut self) -> Result<Vec<Call>, Failed> {
        let mut filters = Vec::new();
        if matches!(self.token.kind, Kind::End) {
            return Ok(filters);
        }
        loop {
            let Kind::Symbol(name) = self.token.kind else {
                return self.fail(if filters.is_empty() {
                    Wanted::FirstFilter
                } else {
                    Wanted::Filter
                });
            };
            self.advance();
            filters.push(self.call(name)?);
            match self.token.kind {
                Kind::End => return Ok(filters),
                Kind::Arrow => self.advance(),
                _ => return self.fail(Wanted::MoreFilters),
            };
        }
    }

    pub(super) fn lone_predicates(&mut self) -> Result<Vec<Call>, Failed> {
        let mut predicates = Vec::new();
        let mut first = true;
        if matches!(self.token.kind, Kind::End) {
            return Ok(predicates);
        }
        loop {
            match self.token.kind {
                Kind::Any => {
                    self.advance();
                }
                Kind::Symbol(name) => {
                    self.advance();
                    predicates.push(self.call(name)?);
                }
                _ => {
                    return self.fail(if first {
                        Wanted::FirstPredicate
                    } else {
                        Wanted::Predicate
                    });
                }
            }
            first = false;
            match self.token.kind {
                Kind::End => return Ok(predicates),
                Kind::And => self.advance(),
                _ => return self.fail(Wanted::MorePredicates),
            };
        }
    }
}
