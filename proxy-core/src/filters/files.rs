//! Files of a directory as answers: `static`.
//!
//! Nothing outside the directory is given away, whatever paths say and wherever links lead. Of a directory within it the
//! file `index.html` is given, and no list.

mod body;
mod head;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use eskip::Arg;
use eskip::filters::{Args, Body, Filter, FilterContext, Filters, Flow, Wants};
use eskip::routing::ArgsError;
use http::header::{ALLOW, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use http::{Method, Response, StatusCode};
use tokio::fs::{self, File};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tracing::warn;

use self::body::part;
use self::head::{Found, Part};
use super::Means;
use super::bodies::bare;
use crate::percent;

/// What stands for a directory.
const INDEX: &str = "index.html";

/// Files that may be open.
const MOST: usize = 1024;

/// Gives the files of a directory.
#[derive(Debug)]
struct Static {
    /// What paths begin with; the rest is that of a file.
    prefix: String,
    directory: PathBuf,
    room: Arc<Semaphore>,
}

/// What is asked for.
#[derive(Debug)]
struct Wanted {
    directory: PathBuf,
    /// Within the directory.
    path: PathBuf,
    /// The last part of the path, as the client wrote it.
    name: String,
    is_head: bool,
    headers: HeaderMap,
    permit: OwnedSemaphorePermit,
}

pub(super) fn add(all: &mut Filters, _means: &Means) {
    let room = Arc::new(Semaphore::new(MOST));
    all.add(
        "static",
        (
            "answers with the file of a directory that the path behind a prefix names",
            r#"static("/assets/", "/srv/www")"#,
        ),
        move |args: &[Arg]| {
            let mut args = Args::new(args);
            let (prefix, directory) = (args.text("the beginning of a path")?, args.text("a directory")?);
            args.end()?;
            if directory.is_empty() {
                return Err(ArgsError("argument 2: expected a directory".to_owned()));
            }
            Ok(Static {
                prefix: prefix.to_owned(),
                directory: directory.into(),
                room: Arc::clone(&room),
            })
        },
    );
}

// === impl Static ===

impl Filter for Static {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        let method = &cx.request.method;
        if method != Method::GET && method != Method::HEAD {
            let mut response = bare(StatusCode::METHOD_NOT_ALLOWED);
            let allowed = HeaderValue::from_static("GET, HEAD");
            response.headers_mut().insert(ALLOW, allowed);
            return Flow::serve(response);
        }
        let full = cx.request.uri.path();
        let rest = full.strip_prefix(&self.prefix).map(percent::decode);
        let Some(path) = rest.as_deref().and_then(within) else {
            return Flow::serve(bare(StatusCode::NOT_FOUND));
        };
        let Ok(permit) = Arc::clone(&self.room).try_acquire_owned() else {
            warn!("too many files are open");
            return Flow::serve(bare(StatusCode::SERVICE_UNAVAILABLE));
        };
        let wanted = Wanted {
            directory: self.directory.clone(),
            path,
            name: full.rsplit('/').next().unwrap_or_default().to_owned(),
            is_head: method == Method::HEAD,
            headers: head::conditions(&cx.request.headers),
            permit,
        };
        Flow::after(wanted.answer(), |response, _| Flow::serve(response))
    }

    fn wants(&self) -> Wants {
        Wants::REQUEST
    }
}

/// The path of a file within a directory; none if it leads out of it or could mean something else to the system.
fn within(rest: &str) -> Option<PathBuf> {
    let mut path = PathBuf::new();
    for part in rest.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." || part.contains(['\0', '\\', '\u{fffd}']) {
            return None;
        }
        path.push(part);
    }
    Some(path)
}

// === impl Wanted ===

impl Wanted {
    async fn answer(self) -> Response<Body> {
        let directory = self.directory.clone();
        match self.try_answer().await {
            Ok(response) => response,
            Err(error) => bare(match error.kind() {
                io::ErrorKind::PermissionDenied => StatusCode::FORBIDDEN,
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidFilename => {
                    StatusCode::NOT_FOUND
                }
                _ => {
                    warn!(%error, directory = %directory.display(), "a file cannot be read");
                    StatusCode::INTERNAL_SERVER_ERROR
                }
            }),
        }
    }

    async fn try_answer(self) -> io::Result<Response<Body>> {
        let directory = fs::canonicalize(&self.directory).await?;
        let mut path = inside(&directory, &self.path).await?;
        if fs::metadata(&path).await?.is_dir() {
            // Without the slash, what the page names would be looked for beside the directory.
            if !self.name.is_empty() {
                return moved(&self.name);
            }
            path = inside(&directory, &self.path.join(INDEX)).await?;
        }
        // Opening something else, such as a pipe, might never come to an end.
        if !fs::metadata(&path).await?.is_file() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let file = File::open(&path).await?;
        let metadata = file.metadata().await?;
        let found = Found {
            length: metadata.len(),
            modified: metadata.modified().ok(),
        };
        let (status, mut headers, wanted) = head::answer(&found, &self.headers);
        let length = wanted.map_or(0, |part| part.length);
        if wanted.is_some() {
            headers.insert(CONTENT_LENGTH, length.into());
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(head::kind(&path)));
        }
        let body = match wanted {
            Some(Part { from, length }) if !self.is_head && length > 0 => {
                Body::Stream(part(file, from, length, self.permit).await?)
            }
            _ => Body::Empty,
        };
        let mut response = Response::new(body);
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        Ok(response)
    }
}

/// Where a path leads, if that is inside the directory.
async fn inside(directory: &Path, path: &Path) -> io::Result<PathBuf> {
    let path = fs::canonicalize(directory.join(path)).await?;
    if path.starts_with(directory) {
        Ok(path)
    } else {
        Err(io::ErrorKind::NotFound.into())
    }
}

/// The answer to who left the slash out.
fn moved(name: &str) -> io::Result<Response<Body>> {
    // Relative, so that it leads to no other host.
    let location = HeaderValue::try_from(format!("./{name}/")).map_err(|_| io::ErrorKind::NotFound)?;
    let mut response = bare(StatusCode::MOVED_PERMANENTLY);
    response.headers_mut().insert(LOCATION, location);
    Ok(response)
}

#[cfg(test)]
mod tests;
