//! A proxy that ends, hangs or comes back with something else is at the desired routes again at the next look.

use std::time::Duration;

use shipwick_routes::sync::Synced;

use super::app;
use super::pod::{Manner, Pod};
use super::proxies::{Proxy, each};

fn serves(proxy: &Proxy, pod: &Pod) -> bool {
    proxy.get("web.example.com").body == pod.port().to_string()
}

#[test]
fn one_that_was_killed_is_at_the_routes_with_the_next_look() {
    each(|proxy| {
        let pod = Pod::start(Manner::Answers);
        proxy.route_app("web", app("web.example.com", &[pod.port()]));
        assert_eq!(proxy.look().unwrap(), Synced::Unchanged);
        // It comes back with nothing, before anybody has noticed.
        proxy.kill();
        proxy.start_again(&["--config", "bootstrap.json"]);
        assert_eq!(proxy.look().unwrap(), Synced::Loaded, "{:?}", proxy.kind);
        assert!(serves(proxy, &pod));
    });
}

#[test]
fn one_that_comes_back_with_an_older_configuration_gets_the_newer() {
    each(|proxy| {
        let (old, new) = (Pod::start(Manner::Answers), Pod::start(Manner::Answers));
        proxy.route_app("web", app("web.example.com", &[old.port()]));
        proxy.directory.write("older.json", &proxy.rendered());
        proxy.route_app("web", app("web.example.com", &[new.port()]));
        proxy.kill();
        // While it is away each look says so.
        proxy.change(|desired| {
            desired
                .apps
                .insert("web".to_owned(), app("web.example.com", &[new.port(), 1]));
        });
        for _ in 0..2 {
            let error = proxy.look().unwrap_err().to_string();
            assert!(
                error.starts_with("cannot reach the proxy's admin endpoint: "),
                "{error}"
            );
        }
        proxy.change(|desired| {
            desired
                .apps
                .insert("web".to_owned(), app("web.example.com", &[new.port()]));
        });
        proxy.start_serving(&["--config", "older.json"]);
        assert!(serves(proxy, &old));
        assert_eq!(proxy.look().unwrap(), Synced::Loaded, "{:?}", proxy.kind);
        assert!(serves(proxy, &new));
    });
}

#[test]
fn one_that_resumes_has_them_already() {
    each(|proxy| {
        let pod = Pod::start(Manner::Answers);
        proxy.route_app("web", app("web.example.com", &[pod.port()]));
        proxy.wait_for_autosave();
        let running = proxy.running.take().unwrap();
        running.signal("TERM");
        running.end();
        proxy.start_serving(&["--config", "bootstrap.json", "--resume"]);
        assert!(serves(proxy, &pod), "{:?}", proxy.kind);
        assert_eq!(proxy.look().unwrap(), Synced::Verified, "{:?}", proxy.kind);
    });
}

#[test]
fn one_that_hangs_is_given_up_and_found_again() {
    each(|proxy| {
        let pod = Pod::start(Manner::Answers);
        proxy.be_impatient(Duration::from_millis(200));
        proxy.running.as_ref().unwrap().freeze();
        proxy.change(|desired| {
            desired
                .apps
                .insert("web".to_owned(), app("web.example.com", &[pod.port()]));
        });
        let error = proxy.look().unwrap_err().to_string();
        assert!(error.ends_with("no answer within 200ms"), "{error}");
        proxy.running.as_ref().unwrap().signal("CONT");
        proxy.be_impatient(crate::support::PATIENCE);
        proxy.change(|desired| {
            desired
                .apps
                .insert("web".to_owned(), app("web.example.com", &[pod.port()]));
        });
        proxy.look().unwrap();
        assert!(serves(proxy, &pod), "{:?}", proxy.kind);
    });
}
