//! Rows, independent of the database that they are from.

use sqlx::{ColumnIndex, Database, Decode, Row as _, Type, TypeInfo, ValueRef};

/// One field of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Null,
    Integer(i64),
    Text(String),
    Bytes(Vec<u8>),
}

/// A row, to be taken apart from its first column on.
#[derive(Debug)]
pub(crate) struct Row(std::vec::IntoIter<Cell>);

/// A row is not what the statement that asked for it promises.
#[derive(Debug, thiserror::Error)]
#[error("a row of the database is not what this program writes: {0} expected")]
pub(crate) struct Odd(pub(crate) &'static str);

// === impl Row ===

impl Row {
    /// Takes a row of a database over.
    pub(crate) fn read<DB>(row: &DB::Row) -> Result<Self, sqlx::Error>
    where
        DB: Database,
        usize: ColumnIndex<DB::Row>,
        for<'r> i64: Decode<'r, DB> + Type<DB>,
        for<'r> String: Decode<'r, DB> + Type<DB>,
        for<'r> Vec<u8>: Decode<'r, DB> + Type<DB>,
    {
        let mut cells = Vec::with_capacity(row.len());
        for index in 0..row.len() {
            let raw = row.try_get_raw(index)?;
            let cell = if raw.is_null() {
                Cell::Null
            } else {
                match raw.type_info().name() {
                    "INTEGER" | "BIGINT" | "INT8" => Cell::Integer(row.try_get(index)?),
                    "BLOB" | "BYTEA" => Cell::Bytes(row.try_get(index)?),
                    _ => Cell::Text(row.try_get(index)?),
                }
            };
            cells.push(cell);
        }
        Ok(Self(cells.into_iter()))
    }

    /// The next column, which is a number that is not negative.
    pub(crate) fn number(&mut self) -> Result<u64, Odd> {
        self.optional_number()?.ok_or(Odd("a number"))
    }

    pub(crate) fn optional_number(&mut self) -> Result<Option<u64>, Odd> {
        match self.0.next() {
            Some(Cell::Null) => Ok(None),
            Some(Cell::Integer(number)) => u64::try_from(number)
                .map(Some)
                .map_err(|_| Odd("a number from 0")),
            _ => Err(Odd("a number")),
        }
    }

    pub(crate) fn text(&mut self) -> Result<String, Odd> {
        self.optional_text()?.ok_or(Odd("a text"))
    }

    pub(crate) fn optional_text(&mut self) -> Result<Option<String>, Odd> {
        match self.0.next() {
            Some(Cell::Null) => Ok(None),
            Some(Cell::Text(text)) => Ok(Some(text)),
            _ => Err(Odd("a text")),
        }
    }

    pub(crate) fn bytes(&mut self) -> Result<Vec<u8>, Odd> {
        match self.0.next() {
            Some(Cell::Bytes(bytes)) => Ok(bytes),
            _ => Err(Odd("bytes")),
        }
    }
}
