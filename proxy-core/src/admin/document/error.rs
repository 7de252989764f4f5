//! Why a document cannot be read or edited as asked. The words are Caddy's, which its clients may look for.

use http::StatusCode;
use thiserror::Error;

/// A path or an edit that makes no sense for the document.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum EditError {
    /// The body is not JSON.
    #[error("decoding request body: {0}")]
    Body(String),
    /// The path names nothing.
    #[error("no traversable path")]
    NoPath,
    /// The path is longer than any document is deep.
    #[error("the path has too many parts")]
    Depth,
    /// The way ends before the path does.
    #[error("invalid traversal path at: {0}")]
    Traversal(String),
    /// A path goes into an array by something that is no index.
    #[error("[{path}] invalid array index '{index}': {reason}")]
    Index {
        /// The path to the array's element.
        path: String,
        /// What stands for the index.
        index: String,
        /// Why it is none.
        reason: String,
    },
    /// An index is not of the array.
    #[error("[{path}] array index out of bounds: {index}")]
    Bounds {
        /// The path to the array's element.
        path: String,
        /// The index.
        index: String,
    },
    /// A value that is to be made exists.
    #[error("[{path}] key already exists: {key}")]
    Exists {
        /// The path to it.
        path: String,
        /// Its key.
        key: String,
    },
    /// A value that is to be changed or removed does not exist.
    #[error("[{path}] key does not exist: {key}")]
    Missing {
        /// The path to it.
        path: String,
        /// Its key.
        key: String,
    },
    /// What is to be appended element by element is no array.
    #[error("final element is not an array")]
    NotArray,
    /// The ids of the edited document.
    #[error("indexing config: {0}")]
    Id(#[from] IdError),
}

/// Something is wrong with an `@id`.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum IdError {
    /// Two objects have it.
    #[error("duplicate ID '{id}' found at {first} and {second}")]
    Duplicate {
        /// The id.
        id: String,
        /// The path to one object.
        first: String,
        /// The path to the other.
        second: String,
    },
    /// Arrays and objects are nested too deep for anybody to read them again.
    #[error("it is nested too deep")]
    Depth,
    /// There are more values than anybody reads.
    #[error("it has too many values")]
    Values,
    /// It is neither text nor number.
    #[error("{0}: @id field must be a string or number")]
    Kind(String),
}

/// Why an edit is not to be made in this state.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum MatchError {
    /// The field is not one quoted string.
    #[error("malformed If-Match header; expect quoted string")]
    Unquoted,
    /// The field is not a path and a hash.
    #[error("malformed If-Match header; expect format \"<path> <hash>\"")]
    Parts,
    /// The document, or that part of it, is another by now.
    #[error("If-Match header did not match current config hash")]
    Differs,
    /// The path in the field.
    #[error(transparent)]
    Path(#[from] EditError),
}

// === impl EditError ===

impl EditError {
    /// The status of an answer that says so. Caddy answers some of these with 500, though the client is at fault.
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Exists { .. } => StatusCode::CONFLICT,
            Self::Missing { .. } => StatusCode::NOT_FOUND,
            Self::Body(_)
            | Self::NoPath
            | Self::Depth
            | Self::Traversal(_)
            | Self::Index { .. }
            | Self::Bounds { .. }
            | Self::NotArray
            | Self::Id(_) => StatusCode::BAD_REQUEST,
        }
    }
}

// === impl MatchError ===

impl MatchError {
    /// The status of an answer that says so.
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Differs => StatusCode::PRECONDITION_FAILED,
            Self::Unquoted | Self::Parts => StatusCode::BAD_REQUEST,
            Self::Path(error) => error.status(),
        }
    }
}
