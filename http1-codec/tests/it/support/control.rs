//! A control that is told what to command, and writes down what it hears.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::task::{Context, Waker};

use http::header::HeaderValue;
use http::{HeaderMap, StatusCode};
use http1_codec::interim_head;
use http1_codec::server::{Command, Control, Phase};

#[derive(Debug, Default)]
pub(crate) struct Script(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    commands: VecDeque<Command>,
    waker: Option<Waker>,
    phases: Vec<Phase>,
    interim: Option<Vec<u8>>,
    open_end: Vec<bool>,
}

// === impl Script ===

impl Script {
    /// Commands it, now or as soon as the driver asks.
    pub(crate) fn command(&self, command: Command) {
        let mut state = self.0.lock().unwrap();
        state.commands.push_back(command);
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }

    pub(crate) fn interim(&self, status: StatusCode) {
        self.interim_with(status, &HeaderMap::new());
    }

    pub(crate) fn interim_with(&self, status: StatusCode, headers: &HeaderMap) {
        let mut state = self.0.lock().unwrap();
        let to = state.interim.get_or_insert_default();
        interim_head(to, status, headers);
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }

    pub(crate) fn phase(&self) -> Option<Phase> {
        self.0.lock().unwrap().phases.last().copied()
    }

    pub(crate) fn phases(&self) -> Vec<Phase> {
        self.0.lock().unwrap().phases.clone()
    }

    /// What it heard of answers whose end is that of the connection.
    pub(crate) fn open_end(&self) -> Vec<bool> {
        self.0.lock().unwrap().open_end.clone()
    }
}

impl Control for Script {
    fn on_read(&self, bytes: usize) {
        assert!(bytes > 0);
    }

    fn on_write(&self, _: bool) {}

    fn on_phase(&self, phase: Phase) {
        self.0.lock().unwrap().phases.push(phase);
    }

    fn on_open_end(&self, under_way: bool) {
        self.0.lock().unwrap().open_end.push(under_way);
    }

    fn poll_command(&self, cx: &mut Context<'_>) -> Option<Command> {
        let mut state = self.0.lock().unwrap();
        state.waker = Some(cx.waker().clone());
        let strongest = state.commands.iter().max().copied();
        state.commands.retain(|command| *command != Command::TimeOut);
        strongest
    }

    fn take_interim(&self) -> Option<Vec<u8>> {
        self.0.lock().unwrap().interim.take()
    }

    fn date(&self) -> Option<HeaderValue> {
        None
    }
}
