// The official Node client, driven by lines of JSON: interop/grpc/clients.py says which.
'use strict';

const { createInterface } = require('node:readline');
const {
  ConsumeResult, FilterExpression, Producer, PushConsumer, SimpleConsumer,
} = require('rocketmq-client-nodejs');
const { FilterType, TransactionResolution } =
  require('rocketmq-client-nodejs/proto/apache/rocketmq/v2/definition_pb');

const TYPES = { TAG: FilterType.TAG, SQL92: FilterType.SQL };
const DECISIONS = {
  commit: TransactionResolution.COMMIT,
  rollback: TransactionResolution.ROLLBACK,
  unknown: TransactionResolution.TRANSACTION_RESOLUTION_UNSPECIFIED,
};
const running = new Map();
const half = new Map();
const received = new Map();

function say(words) {
  process.stdout.write(`${JSON.stringify(words)}\n`);
}

function described(message) {
  return {
    topic: message.topic,
    body: message.body.toString('base64'),
    tag: message.tag,
    keys: message.keys,
    properties: Object.fromEntries(message.properties),
    group: message.messageGroup,
    id: message.messageId,
    attempt: message.deliveryAttempt,
    delivery_ms: message.deliveryTimestamp?.getTime() ?? null,
    born_ms: message.bornTimestamp?.getTime() ?? null,
  };
}

function counter() {
  const times = new Map();
  return id => {
    times.set(id, (times.get(id) ?? 0) + 1);
    return times.get(id);
  };
}

// Does with a message what the message's properties say.
function listener(client) {
  const seen = counter();
  return {
    async consume(message) {
      const times = Math.max(seen(message.messageId), message.deliveryAttempt ?? 0);
      say({ client, got: described(message) });
      await new Promise(done => setTimeout(done, Number(message.properties.get('hangs_ms') ?? 0)));
      return times <= Number(message.properties.get('fails') ?? 0) ? ConsumeResult.FAILURE : ConsumeResult.SUCCESS;
    },
  };
}

// Decides as the message's property says: one word for each time that it is asked, the last for ever.
function checker(client) {
  const asked = counter();
  return {
    async check(message) {
      const words = (message.properties.get('check') ?? 'unknown').split(',');
      const word = words[Math.min(asked(message.messageId), words.length) - 1];
      say({ client, checked: described(message), decision: word });
      return DECISIONS[word];
    },
  };
}

function settings({ options, group, subscriptions }) {
  const silent = () => {};
  return {
    endpoints: options.endpoint,
    namespace: '',
    sslEnabled: options.tls,
    requestTimeout: options.request_timeout_ms,
    logger: { info: silent, debug: silent, warn: silent, error: silent, close: silent },
    sessionCredentials: options.access_key ?
      { accessKey: options.access_key, accessSecret: options.secret_key } : undefined,
    consumerGroup: group,
    subscriptions: new Map(Object.entries(subscriptions ?? {})
      .map(([ topic, [ type, text ]]) => [ topic, new FilterExpression(text, TYPES[type]) ])),
  };
}

async function start(client, made) {
  await made.startup();
  running.set(client, made);
  return {};
}

const commands = {
  open_producer(asked) {
    const { client, topics } = asked;
    const made = { ...settings(asked), topics, checker: asked.checker ? checker(client) : undefined };
    return start(client, new Producer(made));
  },

  open_push(asked) {
    return start(asked.client, new PushConsumer({ ...settings(asked), messageListener: listener(asked.client) }));
  },

  open_simple(asked) {
    return start(asked.client, new SimpleConsumer({ ...settings(asked), awaitDuration: asked.await_ms }));
  },

  async send({ client, message }) {
    const producer = running.get(client);
    const sent = {
      topic: message.topic,
      body: Buffer.from(message.body, 'base64'),
      tag: message.tag ?? undefined,
      keys: message.keys,
      properties: new Map(Object.entries(message.properties)),
      messageGroup: message.group ?? undefined,
      delay: message.delay_ms ?? undefined,
    };
    const transaction = message.transaction ? producer.beginTransaction() : undefined;
    const receipt = await producer.send(sent, transaction);
    if (transaction) half.set(receipt.messageId, transaction);
    return { id: receipt.messageId, recall_handle: receipt.recallHandle || null, offset: receipt.offset };
  },

  async end({ id_of_message: id, decision }) {
    const transaction = half.get(id);
    half.delete(id);
    await (decision === 'commit' ? transaction.commit() : transaction.rollback());
    return {};
  },

  async recall({ client, topic, handle }) {
    return { id: (await running.get(client).recallMessage(topic, handle)).messageId };
  },

  async receive({ client, max, invisible_ms: invisible }) {
    const messages = [];
    for (const message of await running.get(client).receive(max, invisible)) {
      const number = received.size + 1;
      received.set(number, message);
      messages.push({ ...described(message), number });
    }
    return { messages };
  },

  async ack({ client, number }) {
    await running.get(client).ack(received.get(number));
    return {};
  },

  async change({ client, number, invisible_ms: invisible }) {
    await running.get(client).changeInvisibleDuration(received.get(number), invisible);
    return {};
  },

  async close({ client }) {
    const made = running.get(client);
    running.delete(client);
    await made.shutdown();
    return {};
  },
};

async function answer(asked) {
  try {
    say({ id: asked.id, ok: await commands[asked.do](asked) });
  } catch (problem) {
    const code = Number.isInteger(problem.code) ? problem.code : null;
    say({ id: asked.id, error: { kind: problem.constructor.name, text: String(problem.message), code } });
  }
}

createInterface({ input: process.stdin, crlfDelay: Infinity })
  .on('line', line => {
    const asked = JSON.parse(line);
    if (asked.do === 'quit') process.exit(0);
    answer(asked);
  })
  .on('close', () => process.exit(0));
