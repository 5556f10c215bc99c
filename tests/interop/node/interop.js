// A RocketMQ client that the tests drive from outside: one tab-separated line per fact.
//
// Its arguments are a command, the address of the name server, a topic (or several, with commas between), what
// the command wants beside these, and options, name=value.
'use strict';

const { Consumer, Message, Producer } = require('ali-ons');

const TEXT = 'größer € 订单';
const SHORT_MS = 250;

function say(...words) {
  process.stdout.write(`fact\t${words.join('\t')}\n`);
}

function untilInputEnds() {
  return new Promise(resolve => process.stdin.on('end', resolve).resume());
}

function parse(words) {
  const options = Object.fromEntries(words.filter(word => word.includes('=')).map(word => {
    const at = word.indexOf('=');
    return [ word.slice(0, at), word.slice(at + 1) ];
  }));
  const [ nameserver, topics, ...rest ] = words.filter(word => !word.includes('='));
  return { nameserver, topics: topics.split(','), rest, options };
}

// What producers and consumers are made with.
function settings({ nameserver, options }) {
  const silent = () => {};
  return {
    nameSrv: nameserver,
    httpclient: {}, // It is asked for, though only addresses without nameSrv come by HTTP.
    logger: { info: silent, debug: silent, warn: silent, error: silent },
    accessKey: options.access,
    secretKey: options.secret,
    pollNameServerInteval: SHORT_MS,
    persistConsumerOffsetInterval: SHORT_MS,
    rebalanceInterval: SHORT_MS,
  };
}

function message({ topics, options }, mode, number) {
  let body = `${mode}-${number}`;
  if (mode === 'big') body += '-' + '0123456789'.repeat(Number(options.tens || 2000));
  const made = new Message(topics[number % topics.length], `tag${number % 3}`, body);
  made.keys = [ `key${number}`, 'all' ];
  made.properties.number = String(number);
  made.properties.text = TEXT;
  if (mode === 'keyed') made.shardingKey = `customer-${number % 5}`;
  if (options.level) made.delayTimeLevel = Number(options.level);
  return made;
}

// send MODE COUNT: sync, async (all at once), keyed (with sharding keys), big (of tens= times ten bytes).
async function send(asked) {
  const [ mode, count ] = asked.rest;
  const producer = new Producer({ ...settings(asked), producerGroup: 'node_producer' });
  await producer.ready();
  const sendOne = async number => {
    try {
      const { sendStatus, msgId, messageQueue, queueOffset } =
        await producer.send(message(asked, mode, number));
      say('sent', sendStatus, msgId, messageQueue.queueId, queueOffset, `${mode}-${number}`);
    } catch (problem) {
      say('refused', problem.code, problem.message);
    }
  };
  const numbers = [ ...Array(Number(count)).keys() ];
  if (mode === 'async') {
    await Promise.all(numbers.map(sendOne));
  } else {
    for (const number of numbers) await sendOne(number);
  }
  await producer.close();
}

// consume GROUP works until standard input closes; it fails each message fails= times.
async function consume(asked) {
  const { rest: [ consumerGroup ], options } = asked;
  const consumer = new Consumer({
    ...settings(asked),
    consumerGroup,
    consumeFromWhere: 'CONSUME_FROM_FIRST_OFFSET',
    isBroadcast: options.model === 'broadcasting',
    maxReconsumeTimes: Number(options.most || 16),
  });
  consumer.on('error', problem => process.stderr.write(`${problem.stack}\n`));
  const heard = async m => {
    say('got', m.msgId, m.queueId, m.queueOffset, m.tags || '', m.keys || '', m.properties.number, m.body,
      m.properties.text || '', m.originMessageId || '', m.reconsumeTimes, m.topic);
    if (m.reconsumeTimes < Number(options.fails || 0)) throw new Error('it was to fail');
  };
  for (const topic of asked.topics) {
    const what = options.sql ? { expressionType: 'SQL92', subString: options.sql } : options.tags || '*';
    consumer.subscribe(topic, what, heard);
  }
  await consumer.ready();
  say('started');
  await untilInputEnds();
  await consumer.close();
  say('stopped');
}

const [ command, ...words ] = process.argv.slice(2);
({ send, consume })[command](parse(words)).then(
  () => process.exit(0),
  problem => {
    process.stderr.write(`${problem.stack}\n`);
    process.exit(1);
  }
);
