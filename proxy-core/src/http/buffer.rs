//! Bodies that are read before they are passed on, for those who configure that.

use bytes::{Bytes, BytesMut};
use http_body::Body as _;
use http_body_util::{BodyExt as _, Empty};

use crate::body::{Body, BoxError};

/// The same body, after at least `most` bytes of it were read or all of it was. One that is whole by then, and has no
/// trailers, is of one piece: its length is known, and it can be copied.
///
/// # Errors
///
/// The body failed before that.
pub(crate) async fn ahead(mut body: Body, most: u64) -> Result<Body, BoxError> {
    if body.is_whole() {
        return Ok(body);
    }
    let mut read = BytesMut::new();
    while (read.len() as u64) < most {
        let Some(frame) = body.frame().await else {
            return Ok(Body::full(read.freeze()));
        };
        match frame?.into_data() {
            Ok(data) => read.extend_from_slice(&data),
            Err(frame) => {
                let trailers = frame.into_trailers().map(Ok).ok();
                let end = Empty::<Bytes>::new().with_trailers(std::future::ready(trailers));
                return Ok(Body::rejoined(read.freeze(), Body::new(end)));
            }
        }
        if body.is_end_stream() {
            return Ok(Body::full(read.freeze()));
        }
    }
    Ok(Body::rejoined(read.freeze(), body))
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use http::{HeaderMap, HeaderValue};
    use http_body::Frame;
    use http_body_util::StreamBody;

    use super::*;
    use crate::body::read_all;

    fn body(frames: Vec<Result<Frame<Bytes>, BoxError>>) -> Body {
        Body::new(StreamBody::new(stream::iter(frames)))
    }

    fn data(text: &'static str) -> Result<Frame<Bytes>, BoxError> {
        Ok(Frame::data(Bytes::from_static(text.as_bytes())))
    }

    #[tokio::test]
    async fn a_body_that_fits_is_whole_and_can_be_copied() {
        let read = ahead(body(vec![data("ab"), data("cd")]), 5).await.unwrap();

        assert_eq!((read.is_whole(), read.size_hint().exact()), (true, Some(4)));
        assert_eq!(read_all(read.copy().unwrap()).await.unwrap().0, b"abcd");
        assert_eq!(read_all(read).await.unwrap().0, b"abcd");
    }

    #[tokio::test]
    async fn the_rest_of_a_longer_body_comes_behind_what_was_read() {
        let frames = vec![data("ab"), data("cd"), Err("cut".into())];
        let mut read = ahead(body(frames), 3).await.unwrap();

        assert!(!read.is_whole() && read.copy().is_none());
        assert_eq!(read.frame().await.unwrap().unwrap().into_data().unwrap(), "abcd");
        assert!(read.frame().await.unwrap().is_err());
    }

    #[tokio::test]
    async fn a_body_that_fails_while_it_is_read_fails() {
        assert!(ahead(body(vec![data("ab"), Err("cut".into())]), 9).await.is_err());
    }

    #[tokio::test]
    async fn trailers_stay_behind_the_body() {
        let mut trailers = HeaderMap::new();
        trailers.insert("x-checksum-a", HeaderValue::from_static("1"));
        let read = ahead(body(vec![data("ab"), Ok(Frame::trailers(trailers.clone()))]), 9)
            .await
            .unwrap();

        assert_eq!(read_all(read).await.unwrap(), (b"ab".to_vec(), Some(trailers)));
    }

    #[tokio::test]
    async fn an_empty_body_stays_empty() {
        assert!(ahead(Body::empty(), 9).await.unwrap().is_end_stream());
        assert!(ahead(body(vec![]), 9).await.unwrap().is_end_stream());
    }
}
