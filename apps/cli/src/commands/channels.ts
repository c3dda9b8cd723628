// `beaver channels`: shows what waits in the queues of the channels and what was given up, and opens a chat
// at this terminal.
import { randomUUID } from 'node:crypto'
import { createInterface } from 'node:readline'
import { ConsoleChannel, startChannels } from '@beaver/channels'
import type { BusLoad, DeadLetter, MessageBus, UncertainSends } from '@beaver/contracts'
import { BeaverError } from '@beaver/core'
import { natsMessageBus } from '@beaver/nats'
import { stderrLogger } from '@beaver/platform'
import { osUser } from '@beaver/platform/os-user'
import { commandName } from '../command-name.ts'
import { connect, type Connection } from '../connection.ts'
import { type Context, contextOf, type GlobalOptions } from '../context.ts'
import { listenForInterrupts } from '../interrupts.ts'
import type { Screen } from '../screen.ts'
import { findSystem } from '../system/find-system.ts'
import { count, counted, moment } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { table } from '../text/table.ts'

export interface ChannelsOptions {
  readonly limit?: number
  readonly chat?: string
  readonly json?: true
}
export type ChannelAction = 'list' | 'dead' | 'send-again' | 'console'

export async function channels(
  what: ChannelAction,
  id: string | undefined,
  options: ChannelsOptions,
  globals: GlobalOptions,
): Promise<number> {
  const context = contextOf(globals)
  // A list does not wait for an absent daemon or projector, because it shows the queues without them.
  await using connection = await connect(
    findSystem(context.config, 'gateway'),
    what === 'list' ? { daemonMs: 0 } : {},
  )
  const bus = await natsMessageBus(connection.nc, connection.subjects, {
    leaseMs: context.config.gateway.channels_lease_ms,
  })
  const { screen } = context
  switch (what) {
    case 'list':
      return await list(bus, connection.client, screen, options)
    case 'dead':
      return await dead(bus, screen, options)
    case 'send-again':
      return await sendAgain(bus, screen, id, options)
    case 'console':
      return await chat(bus, connection, context, options)
    default:
      return what satisfies never
  }
}

const deadMax = 1_000

async function list(
  bus: MessageBus,
  client: Connection['client'],
  screen: Screen,
  { json }: ChannelsOptions,
): Promise<number> {
  const loads = await bus.loads()
  const deadCount = (await bus.deadLetters(deadMax)).length
  const uncertain = await bus.uncertain()
  if (json === true) screen.json({ waiting: loads, dead: deadCount, uncertain })
  else {
    const waitsFor = loads.length === 0 ? () => '' : await waitsForPerson(client)
    const columns = [
      { title: 'CHANNEL', cell: (each: BusLoad) => oneLine(each.channel, 32), paint: screen.style.cyan },
      { title: 'CHAT', cell: (each: BusLoad) => oneLine(each.chat_id, 90), flexible: true as const },
      {
        title: 'WAITS FOR',
        cell: (each: BusLoad) => (each.queue === 'inbound' ? (waitsFor(each) ?? 'a task') : 'its delivery'),
      },
      { title: 'MESSAGES', cell: (each: BusLoad) => count(each.messages), align: 'right' as const },
    ]
    screen.print(
      ...(loads.length === 0
        ? ['No message waits.']
        : table<BusLoad>(columns, loads, { width: screen.columns, title: screen.style.dim })),
    )
    for (const each of uncertain) screen.print(...uncertainLines(each))
    if (deadCount > 0)
      screen.print('', `${counted(deadCount, 'dead letter')}. See them: ${commandName()} channels dead`)
  }
  return 0
}

const waitingMax = 200

/**
 * Returns a function that says what a chat waits for, if it waits for a person. If the read model does not
 * answer, the function knows nothing.
 */
async function waitsForPerson(
  client: Connection['client'],
): Promise<(load: Pick<BusLoad, 'channel' | 'chat_id'>) => string | undefined> {
  const [calls, questions] = await Promise.all([
    client.query('approvals', { limit: waitingMax }).then(
      (found) => found.calls,
      () => [],
    ),
    client.query('questions', { limit: waitingMax }).then(
      (found) => found.questions,
      () => [],
    ),
  ])
  const waits = new Map<string, string>()
  for (const { session_id } of questions) waits.set(session_id, 'an answer')
  for (const { session_id } of calls) waits.set(session_id, 'a decision')
  return ({ channel, chat_id }) => waits.get(`${channel}:${chat_id}`)
}

/** The lines about messages that may have arrived twice. */
function uncertainLines({ channel, tries, latest: [newest] }: UncertainSends): readonly string[] {
  const last =
    newest === undefined
      ? ''
      : ` The last one: ${oneLine(newest.id)} to ${oneLine(newest.chat_id, 90)}, ${moment(newest.at, Date.now())}.`
  return [
    '',
    `${counted(tries, 'message')} of the channel ${oneLine(channel, 32)} may have arrived twice.${last}`,
  ]
}

async function dead(bus: MessageBus, screen: Screen, { limit = 50, json }: ChannelsOptions): Promise<number> {
  const letters = await bus.deadLetters(limit)
  if (json === true) screen.json({ letters })
  else if (letters.length === 0) screen.print('There are no dead letters.')
  else
    screen.print(
      ...table<DeadLetter>(
        [
          { title: 'LETTER', cell: (each) => oneLine(each.id), paint: screen.style.cyan },
          { title: 'CHANNEL', cell: (each) => oneLine(each.channel, 32) },
          { title: 'DIED', cell: (each) => moment(each.died_at, Date.now()), optional: 1 },
          { title: 'WHY', cell: (each) => oneLine(each.reason), flexible: true },
        ],
        letters,
        { width: screen.columns, title: screen.style.dim },
      ),
      '',
      `Send one again: ${commandName()} channels send-again ${letters[0]?.id ?? ''}`,
    )
  return 0
}

async function sendAgain(
  bus: MessageBus,
  screen: Screen,
  id: string | undefined,
  { json }: ChannelsOptions,
): Promise<number> {
  if (id === undefined)
    throw new BeaverError(
      'invalid_arguments',
      `Name the dead letter: ${commandName()} channels send-again <letter>`,
    )
  const letter = await bus.sendAgain(id)
  if (json === true) screen.json({ id, queue: letter.queue, channel: letter.channel })
  else
    screen.print(
      `${screen.symbols.done} ${oneLine(id)} waits again in the channel ${oneLine(letter.channel, 32)}. A gateway takes it.`,
    )
  return 0
}

const triesMax = 20

async function chat(
  bus: MessageBus,
  { client }: Connection,
  { config, screen }: Context,
  { chat: chatId }: ChannelsOptions,
): Promise<number> {
  const user = osUser()
  const input = createInterface({ input: process.stdin, terminal: false })
  const channel = new ConsoleChannel({
    // Each user has a channel of their own, because messages for one user must not be shown to another.
    name: `console-${user}`.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 32),
    chat_id: chatId ?? user,
    user,
    lines: input,
    print: (lines) => screen.print(...lines),
    newId: () => randomUUID(),
  })
  using interrupts = listenForInterrupts()
  const settings = {
    users: { [user]: user },
    unknown_users: 'refuse',
    approvers: [user],
    tries_max: triesMax,
  } as const
  const logger = stderrLogger({ level: config.log.level, secrets: config.secrets })
  const host = await startChannels({ bus, client, channels: [{ channel, settings }], logger })
  try {
    await Promise.race([
      channel.over,
      new Promise<void>((resolve) =>
        interrupts.asked.addEventListener('abort', () => resolve(), { once: true }),
      ),
    ])
  } finally {
    input.close()
    await host.stop()
  }
  return interrupts.exitCode
}
