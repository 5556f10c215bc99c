//! What runs, by number.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use rocketmq::conf::{ClientOption, ProducerOption, SimpleConsumerOption};
use rocketmq::error::ClientError;
use rocketmq::model::common::{FilterExpression, FilterType};
use rocketmq::model::message::{MessageBuilder, MessageView};
use rocketmq::model::transaction::{Transaction, TransactionResolution};
use rocketmq::{Producer, SimpleConsumer};
use serde_json::{json, Value};
use tokio::sync::RwLock;
use tokio::task::JoinHandle;

use crate::{say, Answer, Failure, Options, Sending, Subscriptions};

/// For how long the loop that stands for a push consumer hides a message: what it fails comes again after that.
const HIDDEN: Duration = Duration::from_secs(10);
const PUSH_AWAIT_MS: u64 = 20_000;
/// How many receives of a topic the loop has at a time: each asks one queue's broker alone.
const RECEIVES: usize = 8;

enum Running {
    Producer(Producer),
    Simple(SimpleConsumer, Subscriptions),
    Push(Arc<SimpleConsumer>, Vec<JoinHandle<()>>),
}

type Ended = Pin<Box<dyn Future<Output = Result<(), ClientError>> + Send>>;
/// Commits a transaction, or rolls it back.
type End = Box<dyn FnOnce(bool) -> Ended + Send>;

#[derive(Default)]
pub struct Clients {
    /// Each with a lock, for whoever closes a client needs it for himself.
    running: Mutex<HashMap<u64, Arc<RwLock<Option<Running>>>>>,
    half: Mutex<HashMap<String, End>>,
    received: Mutex<HashMap<u64, Arc<MessageView>>>,
    count: AtomicU64,
}

impl Clients {
    pub async fn open_producer(
        &self,
        client: u64,
        options: &Options,
        topics: Vec<String>,
        checker: bool,
    ) -> Answer {
        let mut option = ProducerOption::default();
        option.set_topics(topics);
        let mut producer = if checker {
            let check = checking(client);
            Producer::new_transaction_producer(option, configuration(options), Box::new(check))?
        } else {
            Producer::new(option, configuration(options))?
        };
        producer.start().await?;
        self.keep(client, Running::Producer(producer))
    }

    pub async fn open_simple(
        &self,
        client: u64,
        options: &Options,
        group: String,
        subscriptions: Subscriptions,
        await_ms: u64,
    ) -> Answer {
        let consumer = started(options, group, &subscriptions, await_ms).await?;
        self.keep(client, Running::Simple(consumer, subscriptions))
    }

    pub async fn open_push(
        &self,
        client: u64,
        options: &Options,
        group: String,
        subscriptions: Subscriptions,
    ) -> Answer {
        let consumer = Arc::new(started(options, group, &subscriptions, PUSH_AWAIT_MS).await?);
        let seen = Arc::new(Mutex::new(HashMap::new()));
        let mut loops = Vec::new();
        for (topic, filter) in subscriptions {
            for _ in 0..RECEIVES {
                let (topic, filter, seen) = (topic.clone(), filter.clone(), seen.clone());
                loops.push(tokio::spawn(listen(
                    client,
                    consumer.clone(),
                    topic,
                    filter,
                    seen,
                )));
            }
        }
        self.keep(client, Running::Push(consumer, loops))
    }

    pub async fn send(&self, client: u64, sent: Sending) -> Answer {
        let running = self.running(client)?;
        let running = running.read().await;
        let Some(Running::Producer(producer)) = &*running else {
            return Err(Failure::new("not a producer"));
        };
        let mut builder = MessageBuilder::builder()
            .set_topic(sent.topic)
            .set_body(STANDARD.decode(sent.body).expect("base64"))
            .set_keys(sent.keys)
            .set_properties(sent.properties);
        if let Some(tag) = sent.tag {
            builder = builder.set_tag(tag);
        }
        if let Some(group) = sent.group {
            builder = builder.set_message_group(group);
        }
        if let Some(delay_ms) = sent.delay_ms {
            let at = SystemTime::now() + Duration::from_millis(delay_ms);
            let since = at.duration_since(UNIX_EPOCH).expect("a time of today");
            builder = builder.set_delivery_timestamp(since.as_secs_f64().ceil() as i64);
        }
        let id = if sent.transaction {
            let transaction = producer
                .send_transaction_message(builder.enable_transaction().build()?)
                .await?;
            let id = transaction.message_id().to_string();
            let end: End = Box::new(move |commit| {
                Box::pin(async move {
                    if commit {
                        transaction.commit().await
                    } else {
                        transaction.rollback().await
                    }
                })
            });
            self.half.lock().unwrap().insert(id.clone(), end);
            id
        } else {
            producer
                .send(builder.build()?)
                .await?
                .message_id()
                .to_string()
        };
        Ok(json!({"id": id, "recall_handle": null, "offset": null}))
    }

    pub async fn end(&self, id: &str, decision: &str) -> Answer {
        let end = self.half.lock().unwrap().remove(id);
        end.ok_or_else(|| Failure::new("no such transaction"))?(decision == "commit").await?;
        Ok(json!({}))
    }

    pub async fn receive(&self, client: u64, max: i32, invisible_ms: u64) -> Answer {
        let running = self.running(client)?;
        let running = running.read().await;
        let Some(Running::Simple(consumer, subscriptions)) = &*running else {
            return Err(Failure::new("not a simple consumer"));
        };
        let mut told = Vec::new();
        for (topic, filter) in subscriptions {
            let invisible = Duration::from_millis(invisible_ms);
            for message in consumer
                .receive_with(topic, &expression(filter), max, invisible)
                .await?
            {
                let number = self.count.fetch_add(1, Ordering::Relaxed) + 1;
                let mut words = described(&message);
                words["number"] = json!(number);
                told.push(words);
                self.received
                    .lock()
                    .unwrap()
                    .insert(number, Arc::new(message));
            }
        }
        Ok(json!({"messages": told}))
    }

    pub async fn ack(&self, client: u64, number: u64) -> Answer {
        let running = self.running(client)?;
        let running = running.read().await;
        let message = self.received.lock().unwrap().get(&number).cloned();
        let (Some(Running::Simple(consumer, _)), Some(message)) = (&*running, message) else {
            return Err(Failure::new("not a simple consumer, or not its message"));
        };
        consumer.ack(&*message).await?;
        Ok(json!({}))
    }

    pub async fn close(&self, client: u64) -> Answer {
        let running = self.running(client)?;
        self.running.lock().unwrap().remove(&client);
        let running = running.write().await.take();
        match running {
            Some(Running::Producer(producer)) => producer.shutdown().await?,
            Some(Running::Simple(consumer, _)) => consumer.shutdown().await?,
            Some(Running::Push(consumer, loops)) => {
                for each in loops {
                    each.abort();
                    // It says that it was aborted, and lets go of the consumer.
                    let _ = each.await;
                }
                Arc::into_inner(consumer)
                    .expect("the last loop has ended")
                    .shutdown()
                    .await?;
            }
            None => {}
        }
        Ok(json!({}))
    }

    fn keep(&self, client: u64, made: Running) -> Answer {
        self.running
            .lock()
            .unwrap()
            .insert(client, Arc::new(RwLock::new(Some(made))));
        Ok(json!({}))
    }

    fn running(&self, client: u64) -> Result<Arc<RwLock<Option<Running>>>, Failure> {
        let found = self.running.lock().unwrap().get(&client).cloned();
        found.ok_or_else(|| Failure::new("no such client"))
    }
}

fn configuration(options: &Options) -> ClientOption {
    let mut made = ClientOption::default();
    made.set_access_url(&options.endpoint);
    made.set_enable_tls(options.tls);
    made.set_timeout(Duration::from_millis(options.request_timeout_ms));
    if let Some(key) = &options.access_key {
        made.set_access_key(key);
    }
    if let Some(key) = &options.secret_key {
        made.set_secret_key(key);
    }
    made
}

async fn started(
    options: &Options,
    group: String,
    subscriptions: &Subscriptions,
    await_ms: u64,
) -> Result<SimpleConsumer, ClientError> {
    let mut configuration = configuration(options);
    // It is the deadline of the call, too: a door that waits for all of it answers too late.
    let polling = Duration::from_millis(await_ms + options.request_timeout_ms);
    configuration.set_long_polling_timeout(polling);
    let mut option = SimpleConsumerOption::default();
    option.set_consumer_group(group);
    option.set_topics(subscriptions.keys().collect());
    let mut consumer = SimpleConsumer::new(option, configuration)?;
    consumer.start().await?;
    Ok(consumer)
}

fn expression((kind, text): &(String, String)) -> FilterExpression {
    FilterExpression::new(
        if kind == "SQL92" {
            FilterType::Sql
        } else {
            FilterType::Tag
        },
        text,
    )
}

/// Receives for ever, one message at a time, as order wants; does with it what its properties say.
async fn listen(
    client: u64,
    consumer: Arc<SimpleConsumer>,
    topic: String,
    filter: (String, String),
    seen: Arc<Mutex<HashMap<String, u64>>>,
) {
    loop {
        let messages = match consumer
            .receive_with(&topic, &expression(&filter), 1, HIDDEN)
            .await
        {
            Ok(messages) => messages,
            Err(problem) => {
                eprintln!("{problem}");
                tokio::time::sleep(Duration::from_secs(1)).await;
                continue;
            }
        };
        for message in messages {
            let property = |name| {
                message
                    .properties()
                    .get(name)
                    .and_then(|text| text.parse().ok())
                    .unwrap_or(0)
            };
            let times = next(&mut seen.lock().unwrap(), message.message_id())
                .max(message.delivery_attempt() as u64);
            say(&json!({"client": client, "got": described(&message)}));
            tokio::time::sleep(Duration::from_millis(property("hangs_ms"))).await;
            if times > property("fails") {
                if let Err(problem) = consumer.ack(&message).await {
                    eprintln!("{problem}");
                }
            }
        }
    }
}

/// Decides as the message's property says: one word for each time that it is asked, the last for ever.
fn checking(client: u64) -> impl Fn(String, MessageView) -> TransactionResolution + Send + Sync {
    let asked = Mutex::new(HashMap::new());
    move |_, message| {
        let check = message
            .properties()
            .get("check")
            .map_or("unknown", String::as_str);
        let words: Vec<_> = check.split(',').collect();
        let times = next(&mut asked.lock().unwrap(), message.message_id()) as usize;
        let word = words[times.min(words.len()) - 1];
        say(&json!({"client": client, "checked": described(&message), "decision": word}));
        match word {
            "commit" => TransactionResolution::COMMIT,
            "rollback" => TransactionResolution::ROLLBACK,
            _ => TransactionResolution::UNKNOWN,
        }
    }
}

/// How often something has come by now.
fn next(counts: &mut HashMap<String, u64>, id: &str) -> u64 {
    let count = counts.entry(id.to_string()).or_insert(0);
    *count += 1;
    *count
}

fn described(message: &MessageView) -> Value {
    json!({
        "topic": message.topic(),
        "body": STANDARD.encode(message.body()),
        "tag": message.tag(),
        "keys": message.keys(),
        "properties": message.properties(),
        "group": message.message_group(),
        "id": message.message_id(),
        "attempt": message.delivery_attempt(),
        "delivery_ms": message.delivery_timestamp().map(|seconds| seconds * 1000),
        "born_ms": message.born_timestamp() * 1000,
    })
}
