//! The official Rust client, driven by lines of JSON: interop/grpc/clients.py says which.
//!
//! Its own peculiarities end here: it has no push consumer, so a loop stands for one that receives with a simple
//! consumer and acknowledges; times of delivery are in whole seconds; errors carry the name of a code alone.

mod clients;

use std::io::{BufRead, Write};
use std::sync::Arc;

use rocketmq::error::ClientError;
use serde::Deserialize;
use serde_json::{json, Value};

use clients::Clients;

/// What an answer looks like: words, or why there are none.
pub type Answer = Result<Value, Failure>;

/// An error as the caller wants it.
pub struct Failure {
    kind: String,
    text: String,
    code: Option<i32>,
}

impl Failure {
    /// One that is not the client's own.
    pub fn new(text: impl Into<String>) -> Self {
        Failure {
            kind: "Failure".into(),
            text: text.into(),
            code: None,
        }
    }
}

impl From<ClientError> for Failure {
    fn from(problem: ClientError) -> Self {
        let code = problem
            .context()
            .iter()
            .find(|(key, _)| *key == "code")
            .and_then(|(_, name)| number(name));
        Failure {
            kind: format!("{:?}", problem.kind()),
            text: problem.to_string(),
            code,
        }
    }
}

/// The number of a code that tests look at.
fn number(name: &str) -> Option<i32> {
    match name {
        "INVALID_RECEIPT_HANDLE" => Some(40013),
        "UNAUTHORIZED" => Some(40100),
        "TOPIC_NOT_FOUND" => Some(40402),
        _ => None,
    }
}

#[derive(Deserialize)]
pub struct Options {
    pub endpoint: String,
    pub tls: bool,
    pub access_key: Option<String>,
    pub secret_key: Option<String>,
    pub request_timeout_ms: u64,
}

#[derive(Deserialize)]
pub struct Sending {
    pub topic: String,
    pub body: String,
    pub tag: Option<String>,
    pub keys: Vec<String>,
    pub properties: std::collections::HashMap<String, String>,
    pub group: Option<String>,
    pub delay_ms: Option<u64>,
    pub transaction: bool,
}

/// Topics with the kinds and the texts of their filters.
pub type Subscriptions = std::collections::BTreeMap<String, (String, String)>;

/// A line of input: what it wants, by `do`.
#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Command {
    OpenProducer {
        client: u64,
        options: Options,
        topics: Vec<String>,
        checker: bool,
    },
    OpenPush {
        client: u64,
        options: Options,
        group: String,
        subscriptions: Subscriptions,
    },
    OpenSimple {
        client: u64,
        options: Options,
        group: String,
        subscriptions: Subscriptions,
        await_ms: u64,
    },
    Send {
        client: u64,
        message: Sending,
    },
    End {
        id_of_message: String,
        decision: String,
    },
    Receive {
        client: u64,
        max: i32,
        invisible_ms: u64,
    },
    Ack {
        client: u64,
        number: u64,
    },
    Close {
        client: u64,
    },
    Quit,
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
struct Line {
    id: u64,
    #[serde(flatten)]
    command: Command,
}

pub fn say(words: &Value) {
    let mut output = std::io::stdout().lock();
    // Whoever listened has gone.
    if writeln!(output, "{words}")
        .and_then(|()| output.flush())
        .is_err()
    {
        std::process::exit(1);
    }
}

async fn carry_out(clients: &Clients, command: Command) -> Answer {
    match command {
        Command::OpenProducer {
            client,
            options,
            topics,
            checker,
        } => {
            clients
                .open_producer(client, &options, topics, checker)
                .await
        }
        Command::OpenPush {
            client,
            options,
            group,
            subscriptions,
        } => {
            clients
                .open_push(client, &options, group, subscriptions)
                .await
        }
        Command::OpenSimple {
            client,
            options,
            group,
            subscriptions,
            await_ms,
        } => {
            clients
                .open_simple(client, &options, group, subscriptions, await_ms)
                .await
        }
        Command::Send { client, message } => clients.send(client, message).await,
        Command::End {
            id_of_message,
            decision,
        } => clients.end(&id_of_message, &decision).await,
        Command::Receive {
            client,
            max,
            invisible_ms,
        } => clients.receive(client, max, invisible_ms).await,
        Command::Ack { client, number } => clients.ack(client, number).await,
        Command::Close { client } => clients.close(client).await,
        Command::Quit | Command::Unknown => Err(Failure::new("this client has no such command")),
    }
}

#[tokio::main]
async fn main() {
    let clients = Arc::new(Clients::default());
    // Reading waits, which a worker must not.
    let (lines, mut read) = tokio::sync::mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if lines.send(line).is_err() {
                return;
            }
        }
    });
    while let Some(line) = read.recv().await {
        let Line { id, command } = serde_json::from_str(&line).expect("a command");
        if matches!(command, Command::Quit) {
            break;
        }
        let clients = clients.clone();
        tokio::spawn(async move {
            say(&match carry_out(&clients, command).await {
                Ok(words) => json!({"id": id, "ok": words}),
                Err(Failure { kind, text, code }) => {
                    json!({"id": id, "error": {"kind": kind, "text": text, "code": code}})
                }
            });
        });
    }
    // What nobody closed is not waited for.
    std::process::exit(0);
}
