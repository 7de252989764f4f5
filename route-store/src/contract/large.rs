//! Many routes.

use std::sync::Arc;

use futures_util::future::{join, join_all};

use super::{Subject, by, document, list_cases, put};
use crate::store::Changes;

list_cases![
    ten_thousand_routes_are_loaded_whole_and_followed_one_by_one,
    what_is_loaded_among_writes_is_of_one_revision,
];

async fn ten_thousand_routes_are_loaded_whole_and_followed_one_by_one(subject: Arc<dyn Subject>) {
    let store = subject.store();
    let hosts: Vec<String> = (0..10_000).map(|number| format!("h{number:05}.test")).collect();
    for some in hosts.chunks(50) {
        let mut writes = Vec::new();
        for host in some {
            writes.push(store.put(host, document(DOCUMENT), by("tester")));
        }
        for answer in join_all(writes).await {
            answer.unwrap();
        }
    }
    let all = store.routes().await.unwrap();
    assert_eq!(all.revision.number, 10_000);
    assert!(
        all.routes.iter().map(|route| &route.host).eq(&hosts),
        "every host, sorted"
    );
    let changed = put(&*store, "h05000.test", "other").await;
    let Changes::Some {
        revision,
        routes,
        deleted,
    } = store.changes(all.revision).await.unwrap()
    else {
        panic!("all routes for one change");
    };
    assert_eq!((revision, routes.len(), deleted.len()), (changed, 1, 0));
}

/// A writer takes a route away and puts another one in, so how many there are tells the revision.
async fn what_is_loaded_among_writes_is_of_one_revision(subject: Arc<dyn Subject>) {
    let (store, writer) = (subject.store(), subject.other());
    for number in 0..1200 {
        put(&*store, &format!("old{number:04}.test"), "{}").await;
    }
    let writes = async {
        for number in 0..60 {
            writer
                .delete(&format!("old{:04}.test", number * 20), by("tester"))
                .await
                .unwrap();
            put(&*writer, &format!("new{number}.test"), "{}").await;
        }
    };
    let loads = async {
        let mut known = store.revision().await.unwrap();
        while known.number < 1320 {
            let all = store.routes().await.unwrap();
            let at = all.revision.number;
            assert_eq!(all.routes.len(), if at % 2 == 0 { 1200 } else { 1199 }, "at {at}");
            assert!(all.routes.iter().all(|route| route.revision <= at));
            let Changes::Some {
                revision,
                routes,
                deleted,
            } = store.changes(known).await.unwrap()
            else {
                panic!("all routes for a few changes");
            };
            let written = usize::try_from(revision.number - known.number).unwrap();
            assert_eq!(
                routes.len() + deleted.len(),
                written,
                "from {known} to {revision}"
            );
            known = revision;
        }
    };
    join(writes, loads).await;
}

/// As long as a plain site's.
const DOCUMENT: &str = r#"{"schema_version":1,"host":"shop.test","paths":[{"path":"/*","upstreams":[{"address":"10.0.0.1:8080"},{"address":"10.0.0.2:8080"}]}],"headers":{"add":[{"name":"x-edge","value":"1"}]}}"#;
